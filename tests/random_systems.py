"""Seeded random small systems: scalar and planar; linear, bilinear and cubic fields."""

from __future__ import annotations

import random
from collections.abc import Iterator

from dynamic_questions import polynomial_question
from lifted_questions import L1, L2, LINF

from qreplace.question.model import Norm, Question

NORMS: list[Norm] = [L1, L2, LINF]
SHAPES = ("linear", "bilinear", "cubic")
_MONOMIALS = {
    ("linear", 1): ("1", "z1"),
    ("bilinear", 1): ("1", "z1", "z1^2"),
    ("cubic", 1): ("1", "z1", "z1^3"),
    ("linear", 2): ("1", "z1", "z2"),
    ("bilinear", 2): ("1", "z1", "z2", "z1*z2"),
    ("cubic", 2): ("1", "z1", "z2", "z1^3", "z1*z2"),
}


def random_question(shape: str, dimension: int, seed: int) -> Question:
    """Two or three atoms with coefficients that are multiples of 1/4 up to 1, horizon 1."""
    draw = random.Random(f"{shape}/{dimension}/{seed}")

    def number() -> str:
        return f"{draw.randint(-4, 4)}/4"

    atoms = [
        [
            " + ".join(f"({number()})*{m}" for m in _MONOMIALS[shape, dimension])
            for _ in range(dimension)
        ]
        for _ in range(draw.randint(2, 3))
    ]
    return polynomial_question(
        atoms,
        [f"{draw.randint(-6, 6)}/4" for _ in range(dimension)],
        [f"{draw.randint(-2, 2)}/4" for _ in range(dimension)],
        draw.choice(NORMS),
    )


def random_questions(count: int) -> Iterator[tuple[str, Question]]:
    """``count`` of every shape and dimension, with a name each."""
    for shape in SHAPES:
        for dimension in (1, 2):
            for seed in range(count):
                yield f"{shape}-{dimension}-{seed}", random_question(shape, dimension, seed)

"""Random studies that declare registers, with codes at every depth or at some."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from corpora.lattice import execution, grid
from declared_questions import depths, lifted, tolerance

from qreplace.question import model as q

LAST = 24
"""The deepest depth that is searched."""


def random_registers(rng: random.Random, semantics: str) -> q.Registers:
    """Some widths, often too narrow."""
    mode = rng.choice(["wrap", "saturate"])
    state, increment, carry, accumulator = (
        rng.choice([None, 2, 3, 4, 6, 9]) if rng.random() < 0.7 else None for _ in range(4)
    )
    if semantics == "write_back":
        increment = None
    if semantics != "error_feedback":
        carry = None
    if not any((state, increment, carry, accumulator)):
        state = rng.choice([2, 4, 8])
    return q.Registers("registers", mode, state, increment, carry, accumulator)


def random_study(rng: random.Random, overflow: str) -> q.Question:
    """State-independent atoms on quarters; grids that go as 1/D, or fixed ones."""
    size, count = rng.randint(1, 2), rng.randint(1, 3)
    atoms = [[Fraction(rng.randint(-3, 4), 4) for _ in range(size)] for _ in range(count)]
    target = [sum(own, Fraction(0)) / count for own in zip(*atoms, strict=True)]
    semantics = rng.choice(["write_back", "increment", "error_feedback"])
    power = rng.choice([0, 1])
    cell = Fraction(rng.choice([1, 1, 2, 3]), 4)
    if power == 0:
        cell /= rng.choice([4, 8])
    limit = str(cell * rng.choice([1, 2, 5, 40])) if overflow != "registers" else None
    feeds = semantics == "error_feedback"
    carry = grid(str(Fraction(1, 4)), 1) if feeds and power and rng.random() < 0.7 else None
    own: Any = {
        "registers": lambda: random_registers(rng, semantics),
        "wrap": lambda: q.Wrapping("wrap", None),
        "saturate": lambda: q.Saturating("saturate", None),
    }[overflow]()
    return lifted(
        target,
        atoms,
        objective=tolerance(rng.choice(["1/4", "1/2", 1])),
        execution=execution(
            grid(str(cell), power, rng.choice(["nearest", "directed", "stochastic"]), limit),
            carry, own, semantics,
        ),
        search=depths(1, LAST),
    )  # fmt: skip

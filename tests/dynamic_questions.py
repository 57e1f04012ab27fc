"""Small questions about affine and polynomial dynamics, built without the specification."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from lifted_questions import L2, Numbers, make_question, vector

from qreplace.exact.polynomial import Polynomial
from qreplace.exact.polynomial_text import parse_polynomial, state_names
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    AffineDynamicsSystem,
    ComputedFloor,
    Engine,
    ForcingAtom,
    ForcingPiece,
    InlineArray,
    ListedDictionary,
    Norm,
    PolynomialAtom,
    PolynomialSystem,
    Question,
    VectorAtom,
    VectorTarget,
)

Number = Fraction | int | str


def polynomial(text: str, dimension: int) -> Polynomial:
    """A polynomial in ``t, z1 .. zn``."""
    return parse_polynomial(text, state_names(dimension))


def matrix(rows: Sequence[Numbers]) -> InlineArray:
    """A two-dimensional inline array."""
    width = len(rows[0])
    return inline_array((len(rows), width), [Fraction(x) for row in rows for x in row])


def listed(*atoms: Any) -> ListedDictionary:
    """Atoms of four bits each."""
    return ListedDictionary("listed", tuple(atoms), 4, learned=False, shared_schedule=True)


def polynomial_question(
    atoms: Sequence[Sequence[str]],
    target: Numbers,
    initial: Numbers | None = None,
    norm: Norm = L2,
    *,
    horizon: Number = 1,
    engine: Engine = "auto",
    order: int | None = None,
    region: Sequence[str] = (),
    blocks: Sequence[Sequence[int]] = (),
    **fields: Any,
) -> Question:
    """``z' = G_j(t, z)`` with one text a coordinate of each atom, such as ``"1 - z1*z2"``."""
    size = len(target)
    floor = ComputedFloor(
        "compute",
        engine,
        order,
        tuple(polynomial(text, size) for text in region),
        tuple(map(tuple, blocks)),
    )
    question = dataclasses.replace(
        make_question(target, [[0] * size], norm),
        horizon=Fraction(horizon),
        system=PolynomialSystem("polynomial", size),
        initial=None if initial is None else vector(initial),
        target=VectorTarget("vector", vector(target)),
        dictionary=listed(
            *(
                PolynomialAtom("polynomial", tuple(polynomial(text, size) for text in field))
                for field in atoms
            )
        ),
        tube=None,
        synthesis=None,
        floor=floor,
    )
    return dataclasses.replace(question, **fields)


def affine_question(
    atoms: Sequence[Numbers | ForcingAtom],
    target: Numbers,
    initial: Numbers | None = None,
    norm: Norm = L2,
    *,
    rate: Number = 0,
    state_matrix: Sequence[Numbers] | None = None,
    horizon: Number = 1,
    engine: Engine = "auto",
    **fields: Any,
) -> Question:
    """``z' = (rate I + A) z + b_j(t)`` with constant vectors or forcings as atoms."""
    system = AffineDynamicsSystem(
        "affine_dynamics",
        Fraction(rate),
        None if state_matrix is None else matrix(state_matrix),
    )
    question = dataclasses.replace(
        make_question(target, [[0] * len(target)], norm),
        horizon=Fraction(horizon),
        system=system,
        initial=None if initial is None else vector(initial),
        dictionary=listed(
            *(
                atom if isinstance(atom, ForcingAtom) else VectorAtom("vector", vector(atom))
                for atom in atoms
            )
        ),
        tube=None,
        synthesis=None,
        floor=ComputedFloor("compute", engine),
    )
    return dataclasses.replace(question, **fields)


def forcing(*pieces: tuple[Number, Sequence[Numbers]]) -> ForcingAtom:
    """Pieces ``(start, coefficient vectors of 1, t, t^2, ..)``."""
    return ForcingAtom(
        "forcing", tuple(ForcingPiece(Fraction(start), matrix(rows)) for start, rows in pieces)
    )

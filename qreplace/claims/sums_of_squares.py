"""Sums of squares and their combinations with constraint polynomials (theory T7.4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.exact.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class Squares:
    """``sum of weights[k] * polynomials[k] ** 2`` with weights that are not negative."""

    kind: Literal["squares"]
    weights: tuple[Fraction, ...]
    polynomials: tuple[Polynomial, ...]


@dataclass(frozen=True, slots=True)
class Gram:
    """``b^T Q b`` for the monomials b of ``basis`` and a positive semidefinite Q.

    ``lower`` holds the integer numerators of Q's lower triangle, row by row, over ``denominator``.
    """

    kind: Literal["gram"]
    basis: tuple[tuple[int, ...], ...]
    denominator: Fraction
    lower: tuple[Fraction, ...]


SumOfSquares = Squares | Gram

NO_SQUARES = Squares("squares", (), ())
"""The zero polynomial as an (empty) sum of squares."""


@dataclass(frozen=True, slots=True)
class Multiplier:
    """A sum of squares that multiplies the constraint polynomial ``g_constraint``."""

    constraint: int
    sos: SumOfSquares


@dataclass(frozen=True, slots=True)
class Combination:
    """``free + sum of sos_i * g_i``: not negative wherever every named ``g_i`` is not negative.

    The multipliers name their constraints in ascending order, each at most once.
    """

    free: SumOfSquares
    multipliers: tuple[Multiplier, ...]

"""Sums of squares, combinations and regions written out by hand, for tests and the corpus."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, polynomial

from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.region import BoxPart, ImpliedPart, InvariantPart, Region, TimePart
from qreplace.claims.sums_of_squares import (
    NO_SQUARES,
    Combination,
    Gram,
    Multiplier,
    Squares,
    SumOfSquares,
)
from qreplace.exact.polynomial import ZERO

Weighted = tuple[Number, str]

TINY = Fraction(1, 10**40)


class Hand:
    """Parts of a claim about a system with ``dimension`` coordinates, from texts."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def squares(self, *parts: Weighted) -> Squares:
        """``sum of weight * polynomial ** 2``."""
        weights = tuple(Fraction(weight) for weight, _ in parts)
        polynomials = tuple(polynomial(text, self.dimension) for _, text in parts)
        return Squares("squares", weights, polynomials)

    def combination(
        self,
        free: Sequence[Weighted] | SumOfSquares = (),
        multipliers: Mapping[int, Sequence[Weighted] | SumOfSquares] | None = None,
    ) -> Combination:
        """``free + sum of squares times the constraint of that number``."""
        named = (multipliers or {}).items()
        return Combination(
            self._sos(free), tuple(Multiplier(number, self._sos(part)) for number, part in named)
        )

    def invariant(
        self, constraint: str, combinations: Sequence[Combination], factors: Sequence[str]
    ) -> InvariantPart:
        """A constraint with its proof an atom."""
        return InvariantPart(
            "invariant",
            polynomial(constraint, self.dimension),
            tuple(combinations),
            tuple(polynomial(text, self.dimension) for text in factors),
        )

    def implied(self, constraint: str, combination: Combination) -> ImpliedPart:
        """A constraint that follows from earlier ones."""
        return ImpliedPart("implied", polynomial(constraint, self.dimension), combination)

    def _sos(self, part: Sequence[Weighted] | SumOfSquares) -> SumOfSquares:
        return self.squares(*part) if isinstance(part, (list, tuple)) else part


NOTHING = Combination(NO_SQUARES, ())
"""The zero polynomial as a combination."""

TIME = TimePart("time")


def box(lower: Sequence[Number], upper: Sequence[Number], cells: Sequence[int] = ()) -> BoxPart:
    """A box by a speed bound; one cell a variable unless said otherwise."""
    counts = tuple(cells) or (1,) * (len(lower) + 1)
    return BoxPart("box", tuple(map(Fraction, lower)), tuple(map(Fraction, upper)), counts)


def gram(basis: Sequence[Sequence[int]], lower: Sequence[Number], denominator: Number = 1) -> Gram:
    """``b^T Q b`` with the lower triangle of ``denominator * Q``."""
    return Gram("gram", tuple(map(tuple, basis)), Fraction(denominator), _numbers(lower))


def functional(*entries: Number, norms: Sequence[Number] = ()) -> Functional:
    """A functional by its entries."""
    values = [Fraction(entry) for entry in entries]
    scale = math.lcm(*(value.denominator for value in values))
    kept = [(i, value * scale) for i, value in enumerate(values) if value]
    vector = SparseVector(Fraction(scale), tuple(i for i, _ in kept), tuple(n for _, n in kept))
    return Functional(vector, _numbers(norms))


def _numbers(values: Sequence[Number]) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


# --- changing one thing ---------------------------------------------------------------------------


def changed(claim: Any, **fields: Any) -> Any:
    """The same with other fields."""
    return dataclasses.replace(claim, **fields)


def put(items: Sequence[Any], index: int, item: Any) -> tuple[Any, ...]:
    """The items with another one at ``index``."""
    return (*items[:index], item, *items[index + 1 :])


def nudged(sos: Squares, by: Fraction = TINY) -> Squares:
    """The first weight a little larger."""
    return changed(sos, weights=put(sos.weights, 0, sos.weights[0] + by))


__all__ = [
    "NOTHING",
    "NO_SQUARES",
    "TIME",
    "TINY",
    "ZERO",
    "Hand",
    "Region",
    "box",
    "changed",
    "functional",
    "gram",
    "nudged",
    "put",
]

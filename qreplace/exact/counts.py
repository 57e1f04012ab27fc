"""Boxes of integer counts with a fixed sum, and linear functions on them (theory T7.13).

``{n integer: lower <= n <= upper, sum n = total}`` has integral vertices, so the largest value of a
linear function is found by filling the box greedily, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountBox:
    """All integer ``n`` with ``lower <= n <= upper`` and sum ``total``; never empty.

    The box is tight: every coordinate takes both of its ends somewhere in the set.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    total: int

    @property
    def single(self) -> bool:
        """Whether one choice of counts is left; it is ``lower`` then."""
        return self.lower == self.upper

    def divides(self, atom: int, at: int) -> bool:
        """Whether both ``n[atom] <= at`` and ``n[atom] > at`` leave counts."""
        return 0 <= atom < len(self.lower) and self.lower[atom] <= at < self.upper[atom]

    def split(self, atom: int, at: int) -> tuple[CountBox, CountBox]:
        """The parts with ``n[atom] <= at`` and with ``n[atom] > at``, for an ``at`` that divides.

        Each is tightened: no coordinate can be further from its ends than the others' ends allow.
        """
        upper, lower = list(self.upper), list(self.lower)
        upper[atom], lower[atom] = at, at + 1
        return _tight(self.lower, upper, self.total), _tight(lower, self.upper, self.total)

    def largest(self, values: Sequence[int], order: Sequence[int]) -> int:
        """``max sum_j values[j] n_j``; ``order`` lists the coordinates by falling value."""
        rest = self.total
        result = 0
        for value, low in zip(values, self.lower, strict=True):
            rest -= low
            result += value * low
        for j in order:
            room = self.upper[j] - self.lower[j]
            if room >= rest:
                return result + values[j] * rest
            result += values[j] * room
            rest -= room
        return result


def all_counts(size: int, total: int) -> CountBox:
    """Every choice of ``size`` counts, at least one, with sum ``total``."""
    return _tight((0,) * size, (total,) * size, total)


def _tight(lower: Sequence[int], upper: Sequence[int], total: int) -> CountBox:
    # What is still to be given out, and what would be too much if all counts were at their top.
    missing, excess = total - sum(lower), sum(upper) - total
    pairs = list(zip(lower, upper, strict=True))
    return CountBox(
        tuple(max(low, high - excess) for low, high in pairs),
        tuple(min(high, low + missing) for low, high in pairs),
        total,
    )

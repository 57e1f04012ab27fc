"""Boxes that no trajectory leaves, found by speeds over slices of time and by walls (theory T7.4).

What is proposed here is shown by ``question/reach.py``, which the checkers run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.exact.intervals import Interval
from qreplace.exact.rational import round_down, round_up
from qreplace.question.field_ranges import Fields
from qreplace.question.reach import contains, reached, walls_of

SLICES = (1, 4, 8, 16, 32, 64, 128)
WALLED_SLICES = (1, 4, 16, 64)
WALL_ROUNDS = 40
BISECTIONS = 40
SIDE_BITS = 10
"""Sides are rounded outward to about this many bits of the box's width."""
GAIN = Fraction(9, 10)
"""A finer or a walled box is kept when it is this much smaller."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A box with every state, the slices that show it, and the largest step it is shown for.

    ``radius``: how far states get from the initial one, where growth shows the box.
    """

    sides: list[Interval]
    slices: int
    step: Fraction | None
    radius: Fraction | None = None


def reaches_of(fields: Fields) -> list[Reach]:
    """A reach by speeds and one by walls, as far as each is found."""
    plain = by_speeds(fields)
    found = [plain, by_walls(fields, plain)]
    return [reach for reach in found if reach is not None]


def by_speeds(fields: Fields) -> Reach | None:
    """More slices tighten the box; they are doubled until that gains less than a tenth."""
    best: Reach | None = None
    for slices in SLICES:
        found = reached(fields, slices)
        if found is None:
            continue
        sides = [_rounded(side) for side in found]
        if best is not None and _size(sides) > GAIN * _size(best.sides):
            break
        shown = reached(fields, slices, sides)
        if shown is not None and contains(sides, shown):
            best = Reach(sides, slices, None)
    return best


def by_walls(fields: Fields, start: Reach | None) -> Reach | None:
    """A box with walls, if it is at least a tenth smaller than where the search starts."""
    for first in _first_boxes(fields, start):
        sides, step = _walled(fields, first)
        walls = walls_of(fields, sides, step)
        if all(place is None for place in (*walls.lower, *walls.upper)):
            continue
        for slices in WALLED_SLICES:
            found = reached(fields, slices, sides, walls)
            if found is None:
                continue
            smaller = [
                kept if _meets(kept, side) else _rounded(side)
                for kept, side in zip(sides, found, strict=True)
            ]
            for candidate in (smaller, sides):
                again = reached(fields, slices, candidate, walls_of(fields, candidate, step))
                if again is None or not contains(candidate, again):
                    continue
                if start is not None and _size(candidate) > GAIN * _size(start.sides):
                    return None
                return Reach(candidate, slices, step)
    return None


def _meets(outer: Interval, side: Interval) -> bool:
    return side[0] == outer[0] or side[1] == outer[1]


def _first_boxes(fields: Fields, start: Reach | None) -> Iterator[list[Interval]]:
    """The box that is known, and boxes of growing size about the origin."""
    if start is not None:
        yield start.sides
    largest = max(Fraction(1), *(abs(z) for z in fields.initial))
    for power in range(0, 8, 2):
        half = round_up(largest, 0) * 2**power
        yield [(-half, half)] * fields.dimension


def _walled(fields: Fields, start: Sequence[Interval]) -> tuple[list[Interval], Fraction]:
    """Pull every side in to the innermost place that bisection finds to be a wall."""
    sides = list(start)
    for _ in range(WALL_ROUNDS):
        before = _size(sides)
        for index in range(fields.dimension):
            low = _innermost(fields, sides, index, upper=False)
            sides[index] = (low, sides[index][1])
            high = _innermost(fields, sides, index, upper=True)
            sides[index] = (low, high)
        if _size(sides) * 100 > before * 99:
            break
    return sides, wall_step(fields, sides)


def _innermost(fields: Fields, sides: list[Interval], index: int, *, upper: bool) -> Fraction:
    """The place nearest to the initial state that is a wall; the side itself if it is none."""
    kept = sides[index]
    outer = kept[1] if upper else kept[0]
    rounding = round_up if upper else round_down
    grid = _grid(kept[1] - kept[0])
    near = rounding(fields.initial[index], grid)

    def is_wall(place: Fraction) -> bool:
        sides[index] = (place, place)
        slow, fast = fields.component(index, sides)
        return fast <= 0 if upper else slow >= 0

    try:
        if (near >= outer if upper else near <= outer) or not is_wall(outer):
            return outer
        good, bad = (near, near) if is_wall(near) else (outer, near)
        for _ in range(BISECTIONS):
            middle = rounding((good + bad) / 2, grid)
            if middle in (good, bad):
                break
            good, bad = (middle, bad) if is_wall(middle) else (good, middle)
        return good
    finally:
        sides[index] = kept


def wall_step(fields: Fields, sides: Sequence[Interval]) -> Fraction:
    """The largest step ``T / D`` with ``1 + h d G_i / d z_i >= 0`` for every coordinate."""
    steepest = max(-fields.slope(index, sides) for index in range(fields.dimension))
    return _step(fields.horizon, steepest)


def _step(horizon: Fraction, rate: Fraction) -> Fraction:
    """``T / D`` at the smallest depth D from which ``h rate <= 1``."""
    least = max(Fraction(1), horizon * rate)
    return horizon / -(-least.numerator // least.denominator)


def _grid(width: Fraction) -> int:
    size = width.numerator.bit_length() - width.denominator.bit_length()
    return max(0, SIDE_BITS - size)


def _rounded(side: Interval) -> Interval:
    """Outward to about ``SIDE_BITS`` bits of the width."""
    width = side[1] - side[0]
    if not width:
        return side
    return round_down(side[0], _grid(width)), round_up(side[1], _grid(width))


def _size(sides: Sequence[Interval]) -> Fraction:
    return sum((high - low for low, high in sides), Fraction(0))

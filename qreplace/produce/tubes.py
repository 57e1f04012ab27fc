"""A box that no trajectory of a polynomial system leaves within the horizon (theory T7.4, T3).

The box is found by letting it grow until the speeds on it keep every trajectory inside, then by
letting it shrink again: what every atom can reach from the initial state at the box's own speeds is
a smaller box of the same kind. Sides are dyadic and short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.claims.region import BoxPart
from qreplace.errors import ProducerFailed
from qreplace.exact.intervals import Box, Interval, range_on_cells
from qreplace.exact.polynomial import Polynomial
from qreplace.exact.rational import round_down, round_up
from qreplace.produce.reaches import reaches_of
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.polynomial_fields import PolynomialFields

GROWING_ROUNDS = 250
SHRINKING_ROUNDS = 12
LARGEST_CELL_NUMBER = 256
"""Most cells that one component's speed is bounded on."""
SUBDIVISIONS = (1, 2, 4, 8, 16)
BLOW_UP = 2**24
"""A box this many times wider than the first reach is taken for an escape."""
SIDE_BITS = 8
"""Sides are rounded outward to about this many bits of the box's width."""

Sides = list[Interval]


def find_box(problem: PolynomialProblem, depth: int | None = None) -> BoxPart:
    """A box with its cells that speeds, or speeds and walls, show to hold every trajectory.

    Relaxed trajectories without a ``depth``, Euler trajectories of pure schedules with one. The
    coarsest cells that work are kept unless finer ones shrink the box by a tenth, and the smallest
    box of all is taken: a plain speed bound needs about ``Lipschitz constant * horizon < 1``,
    slices of time and walls reach beyond. Raises ``ProducerFailed`` when no box is found.
    """
    best: BoxPart | None = None
    for cells in _subdivisions(problem):
        sides = _grown(problem, cells)
        if sides is None:
            continue
        part = _box_part(_shrunk(problem, cells, sides), cells)
        if best is not None and _width(part) * 10 > _width(best) * 9:
            break
        best = part
    found = [part for part in (best, *_by_slices_and_walls(problem, depth)) if part is not None]
    if not found:
        raise ProducerFailed(
            "no box holds every trajectory: they may escape, or speeds and walls are too coarse "
            "for the horizon",
            remedy="Shorten the horizon, or give the region's constraints.",
        )
    return min(found, key=_width)


def _by_slices_and_walls(problem: PolynomialProblem, depth: int | None) -> Iterator[BoxPart]:
    """Boxes by speeds over slices of time, and by sides that no atom crosses."""
    step = None if depth is None else problem.horizon / depth
    for found in reaches_of(PolynomialFields(problem)):
        if found.step is None or step is None or step <= found.step:
            yield _box_part(found.sides, (found.slices, *([1] * problem.dimension)))


def reach(problem: PolynomialProblem, sides: Sequence[Interval], cells: Sequence[int]) -> Sides:
    """What a trajectory that keeps to the box can reach, initial state included."""
    box: Box = ((Fraction(0), problem.horizon), *sides)
    found = []
    for index, start in enumerate(problem.initial):
        ranges = [_component_range(atom[index], box, cells) for atom in problem.atoms]
        slow = min(Fraction(0), *(low for low, _ in ranges))
        fast = max(Fraction(0), *(high for _, high in ranges))
        found.append((start + problem.horizon * slow, start + problem.horizon * fast))
    return found


def _component_range(component: Polynomial, box: Box, cells: Sequence[int]) -> Interval:
    counts = [count if component.involves(i) else 1 for i, count in enumerate(cells)]
    return range_on_cells(component, box, counts)


def _subdivisions(problem: PolynomialProblem) -> Iterator[tuple[int, ...]]:
    """Numbers of cells a variable, equal along the variables that occur nonlinearly somewhere."""
    components = [p for atom in problem.atoms for p in atom]
    used = [
        any(p.degree > 1 and p.involves(i) for p in components)
        for i in range(problem.dimension + 1)
    ]
    for count in SUBDIVISIONS:
        cells = tuple(count if use else 1 for use in used)
        if math.prod(cells) > LARGEST_CELL_NUMBER:
            return
        yield cells
        if not any(used):
            return


def _grown(problem: PolynomialProblem, cells: Sequence[int]) -> Sides | None:
    """A box that contains what can be reached on it, or ``None`` when it keeps growing."""
    sides = [(start, start) for start in problem.initial]
    first: Fraction | None = None
    for _ in range(GROWING_ROUNDS):
        wanted = reach(problem, sides, cells)
        if _within(wanted, sides):
            return sides
        sides = [
            _rounded(min(a, c), max(b, d)) for (a, b), (c, d) in zip(sides, wanted, strict=True)
        ]
        width = max(high - low for low, high in sides)
        first = first or width
        if width > BLOW_UP * first:
            return None
    return None


def _shrunk(problem: PolynomialProblem, cells: Sequence[int], sides: Sides) -> Sides:
    """Replace the box by what can be reached on it, as long as that gains and still holds."""
    for _ in range(SHRINKING_ROUNDS):
        smaller = [
            (max(a, c), min(b, d))
            for (a, b), (c, d) in zip(
                sides, (_rounded(*side) for side in reach(problem, sides, cells)), strict=True
            )
        ]
        if smaller == sides or not _within(reach(problem, smaller, cells), smaller):
            break
        sides = smaller
    return sides


def _within(inner: Sequence[Interval], outer: Sequence[Interval]) -> bool:
    return all(c <= a and b <= d for (a, b), (c, d) in zip(inner, outer, strict=True))


def _rounded(low: Fraction, high: Fraction) -> Interval:
    """Outward to about ``SIDE_BITS`` bits of the width."""
    if low == high:
        return low, high
    width = high - low
    size = width.numerator.bit_length() - width.denominator.bit_length()
    bits = max(0, SIDE_BITS - size)
    return round_down(low, bits), round_up(high, bits)


def _box_part(sides: Sides, cells: tuple[int, ...]) -> BoxPart:
    return BoxPart("box", tuple(low for low, _ in sides), tuple(high for _, high in sides), cells)


def _width(part: BoxPart) -> Fraction:
    """The sum of the sides."""
    return sum((b - a for a, b in zip(part.lower, part.upper, strict=True)), Fraction(0))

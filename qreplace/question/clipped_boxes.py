"""Upper bounds of the difference of two maps on the part of a box inside a region (theory T8.2).

A box across the border of the region reaches beyond it, where the difference may be larger than
anywhere inside; bounds on whole boxes then come down only as fast as boxes shrink. So the affine
part of the relaxation is taken on the box cut by one half-space around the region: of a polytope
one of its own, of a ball the one that touches it in the direction of the box. A smooth border then
costs an error of second order.

The box is ``{centre + halves e : -1 <= e <= 1}`` and the half-space ``row e <= room``. Up to
``MAX_CORNER_INPUTS`` inputs the affine part is evaluated at every vertex of the cut box: corners
inside, and points where an edge leaves. The norm of ``|value| + spread`` is convex, so it is
largest at one of them. With more inputs every coordinate is maximised by itself: a linear function
over a box and one inequality, which the cheapest inputs in turn are moved to meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul

from qreplace.exact.roots import sqrt_bounds
from qreplace.question.maps import PwaMap
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.regions import Ball, Region
from qreplace.question.relaxation import BITS, MAX_CORNER_INPUTS, Relaxed, box_frame, relax_box

MAX_CUTS = 8
"""Most half-spaces tried on one box, the first ones that cut it."""
LITTLE_BITS = 20
"""A half-space that takes away less of a box's width than this many bits show is left aside."""
DIRECTION = 1 << 16
"""Largest entry of the normal of a half-space around a ball."""


def region_bound(
    one: PwaMap,
    other: PwaMap,
    lower: Sequence[Fraction],
    upper: Sequence[Fraction],
    region: Region,
    norm: Norm,
) -> Fraction:
    """An upper bound of ``||one(y) - other(y)||`` for y in the region with ``lower <= y <= upper``.

    Never more than ``relaxation.box_bound``; 0 where a half-space shows that there is no such y.
    """
    relaxed = relax_box(one, other, lower, upper)
    centre, halves = box_frame(lower, upper)
    best = _largest(norm, [_sizes(relaxed, value) for value in relaxed.values])
    cuts = 0
    for normal, offset in _around(region, centre):
        row = list(map(mul, normal, halves))
        room = -((-offset.numerator << BITS) // offset.denominator) - sum(map(mul, normal, centre))
        reach = sum(map(abs, row))
        if (reach - room) << LITTLE_BITS <= reach:
            continue
        sizes = (_cut if len(row) <= MAX_CORNER_INPUTS else _cut_by_coordinate)(relaxed, row, room)
        best = min(best, _largest(norm, sizes))
        cuts += 1
        if cuts == MAX_CUTS:
            break
    return best


def cut_cost(inputs: int, outputs: int) -> int:
    """About the products of integers that the cuts of one box take, beside its relaxation."""
    if inputs > MAX_CORNER_INPUTS:
        return (MAX_CUTS + 1) * inputs * outputs
    vertices = (1 << inputs) + inputs * (1 << inputs) // 2
    return (MAX_CUTS + 1) * vertices * outputs


def _around(region: Region, centre: Sequence[int]) -> Iterator[tuple[Sequence[int], Fraction]]:
    """Half-spaces ``normal y <= offset`` that hold the region."""
    if not isinstance(region, Ball):
        for halfspace in region.halfspaces:
            yield halfspace[:-1], Fraction(halfspace[-1])
        return
    gap = [Fraction(x, 1 << BITS) - c for x, c in zip(centre, region.center, strict=True)]
    longest = max(map(abs, gap))
    if longest:
        # Any normal will do, so it is a short one near the direction of the box.
        normal = [round(g / longest * DIRECTION) for g in gap]
        length = sqrt_bounds(Fraction(sum(n * n for n in normal)))[1]
        touched = sum((n * c for n, c in zip(normal, region.center, strict=True)), Fraction(0))
        yield normal, touched + region.radius * length


def _cut(relaxed: Relaxed, row: Sequence[int], room: int) -> list[list[int]]:
    """Sizes at every vertex of the box with ``row e <= room``; none where nothing is left."""
    p = len(row)
    reached = [0]
    for a in row:  # in the order of the corner values: the last input changes fastest
        reached = [value + sign * a for value in reached for sign in (-1, 1)]
    sizes = []
    for index, (value, at) in enumerate(zip(relaxed.values, reached, strict=True)):
        if at > room:
            continue
        sizes.append(_sizes(relaxed, value))
        for bit in range(p):
            beyond = index ^ (1 << bit)
            run = reached[beyond] - at
            if reached[beyond] > room > at:
                ends = zip(value, relaxed.values[beyond], strict=True)
                crossed = [abs(x * run + (y - x) * (room - at)) for x, y in ends]
                sizes.append(
                    [-(-x // run) + s for x, s in zip(crossed, relaxed.spread, strict=True)]
                )
    return sizes


def _cut_by_coordinate(relaxed: Relaxed, row: Sequence[int], room: int) -> list[list[int]]:
    """The size of every coordinate by itself on the box with ``row e <= room``."""
    (middle,) = relaxed.values
    found = []
    for i, (value, spread) in enumerate(zip(middle, relaxed.spread, strict=True)):
        gains = [axis[i] for axis in relaxed.axes]
        # The spread of a relaxation of many inputs holds the affine part; the cut one replaces it.
        noise = spread - sum(map(abs, gains))
        up = _most(gains, row, room)
        down = _most([-gain for gain in gains], row, room)
        if up is None or down is None:
            return []
        found.append(max(value + up, down - value) + noise)
    return [found]


def _most(gains: Sequence[int], row: Sequence[int], room: int) -> int | None:
    """An upper bound of ``gains e`` over ``-1 <= e <= 1``, ``row e <= room``; None if empty.

    From the best corner of the box, inputs move back in the order of what a unit of room costs.
    """
    total: int = sum(map(abs, gains))
    signs = [
        (1 if g > 0 else -1) if g else (-1 if a > 0 else 1) for g, a in zip(gains, row, strict=True)
    ]
    excess: int = sum(map(mul, row, signs)) - room
    movable = [
        (Fraction(abs(g), abs(a)), abs(g), abs(a))
        for g, a, sign in zip(gains, row, signs, strict=True)
        if sign * a > 0
    ]
    for _, gain, weight in sorted(movable):
        if excess <= 0:
            break
        if 2 * weight >= excess:
            return total - gain * excess // weight
        total -= 2 * gain
        excess -= 2 * weight
    return total if excess <= 0 else None


def _sizes(relaxed: Relaxed, value: Sequence[int]) -> list[int]:
    return [abs(v) + s for v, s in zip(value, relaxed.spread, strict=True)]


def _largest(norm: Norm, sizes: Sequence[Sequence[int]]) -> Fraction:
    """The largest norm of vectors in units of ``2**-BITS``, rounded up; 0 of none."""
    if isinstance(norm, (L2Norm, BlockL2Norm)) and sizes:
        block = block_size(norm, len(sizes[0]))

        def square(vector: Sequence[int]) -> int:
            squares = list(map(mul, vector, vector))
            largest: int = max(sum(squares[i : i + block]) for i in range(0, len(squares), block))
            return largest

        sizes = [max(sizes, key=square)]
    return max((norm_bounds(norm, vector, 1 << BITS)[1] for vector in sizes), default=Fraction(0))

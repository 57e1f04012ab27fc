"""A subdivision into cells that covers the region, and the error on every cell (theory T8.2, T8.3).

Obligations 7 and 8 of ``pwa_supremum``, numbered as in ``schemas/pwa_supremum.v1.md``:

7. the cells cover the region:
   7a. every corner is a point; a crossing names two earlier vertices and a kink whose activation
   lies strictly on opposite sides of its level at the two;
   7b. every cell lists vertices that are there, none twice: in two dimensions at least three, so
   that no triangle of the fan from its first vertex turns clockwise, else p + 1;
   7c. oriented facets cancel in pairs, and each that is left is shown to miss the interior of the
   region;
   7d. the middle of the region lies in a part of positive volume;
8. the error on every cell is at most ``upper``: at its vertices where one affine piece of every
   activation holds at all of them, else by affine arithmetic on their hull.

**Why the cells then cover the region.** Let the *parts* be the triangles of the fans (p = 2), or
the cells that have a volume, each oriented so that it is positive (other p); and let f(y) be the
number of parts that hold y in their interior. Walk along a generic line: f changes only where it
meets facets, by the sum over the facets met there of +1 or -1 according to their orientation. A
facet and the same facet with the opposite orientation change nothing together, nor do the edges of
a triangle without area ([ab] + [bc] + [ca] = 0 where the three lie on a line), nor the diagonals of
a fan, each of which two triangles hold in opposite directions. So f changes only across the facets
that 7c finds left over, and none of those meets the open region. The open region is convex, so
generic lines join almost all of its points, and f is one constant there. By 7d a part of positive
volume holds a point of the open region, hence holds points of it in its interior: the constant is
at least 1. So almost every point of the region lies in a part. The parts are closed and the region
is the closure of its interior, so every point does; and a part lies in the hull of its cell's
vertices, on which 8 bounds the error. Nothing rests on cells being convex or disjoint. (Where the
constant is 1 they are: then volumes add up, too.)

**Why 8 bounds the error on the hull.** If one affine piece of each activation holds at all
vertices, then, activation after activation, the pre-activation is affine on their hull and stays in
that piece: both maps are affine there, and the norm of their difference, a convex function, is
largest at a vertex. Values at vertices are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul

from qreplace.check.bounds import require
from qreplace.check.piecewise_work import (
    DIGIT_BITS,
    KEPT,
    UNIT,
    MapCost,
    Work,
    divisor_cost,
    point_bits,
    product_cost,
)
from qreplace.claims.pwa_supremum import CellCover
from qreplace.premises import Evidence
from qreplace.question.maps import (
    PIECE_BITS,
    Point,
    PwaMap,
    crossing,
    difference,
    difference_unit,
    homogeneous,
    is_affine,
)
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.regions import Ball, Region
from qreplace.question.relaxation import hull_bound

Maps = tuple[PwaMap, PwaMap]
Cell = tuple[int, ...]

MAX_VERTICES = 1 << 18
MAX_CELLS = 1 << 18
MAX_CELL_INPUTS = 8
MAX_POINT_BITS = 1 << 15
"""Most bits of a homogeneous coordinate of a vertex."""
CELL = 20_000
"""What a cell costs beside its numbers, in nanoseconds."""


def check_cover(region: Region, points: Sequence[Point], cover: CellCover, work: Work) -> None:
    """Obligations 7b, 7c and 7d: the cells cover the region; raises ``Rejected``."""
    facets = _Facets(region, points)
    for index, cell in enumerate(cover.cells):
        _check_shape(cell, region.inputs, len(points), f"/cover/cells/{index}")  # 7b
        work.add(_volume_cost(points, cell))
        facets.add(index, cell)  # 7b
    facets.finish(work)  # 7c, 7d


def _check_shape(cell: Cell, inputs: int, count: int, where: str) -> None:
    sized = len(cell) >= 3 if inputs == 2 else len(cell) == inputs + 1
    require(sized, "a cell has p + 1 vertices, in two dimensions at least three", where)
    known = all(0 <= vertex < count for vertex in cell)
    require(known, "a cell names a vertex that is not there", where)
    require(len(set(cell)) == len(cell), "a cell names a vertex twice", where)


class Vertices:
    """The points of a cover, with the pieces of both maps that hold at each.

    Obligation 7a as it is made; raises ``Rejected``.
    """

    def __init__(
        self, maps: Maps, norm: Norm, cover: CellCover, upper: Fraction, work: Work
    ) -> None:
        self.maps, self.norm, self.upper, self.work = maps, norm, upper, work
        self.costs = [MapCost.of(pwa) for pwa in maps]
        self.points: list[Point] = []
        self.pieces: list[int] = []
        self.below: list[bool] = []
        """Whether the error at the vertex is at most ``upper``."""
        self._check_size(cover)
        self._place(cover)

    def _check_size(self, cover: CellCover) -> None:
        small = self.maps[0].inputs <= MAX_CELL_INPUTS
        require(small, "cells are checked for at most 8 inputs; boxes serve any number", "/cover")
        count = len(cover.corners) + len(cover.crossings)
        require(count <= MAX_VERTICES, f"a cover has at most {MAX_VERTICES} vertices", "/cover")
        few = len(cover.cells) <= MAX_CELLS
        require(few, f"a cover has at most {MAX_CELLS} cells", "/cover/cells")

    def _place(self, cover: CellCover) -> None:
        """Every vertex in turn, each map evaluated once at each."""
        self.work.add(sum(cost.trace(1) for cost in self.costs))  # before the maps are scaled
        one, other = self.maps
        self.kinks = [(0, kink) for kink in one.kinks] + [(1, kink) for kink in other.kinks]
        self.shift = PIECE_BITS * one.site_count
        self.sites = one.sites | other.sites << self.shift
        self.unit = difference_unit(one, other)
        self._collect(cover)
        for index, corner in enumerate(cover.corners):
            fits = len(corner) == one.inputs
            require(fits, "a corner has one coordinate an input", f"/cover/corners/{index}")
            self._evaluate(homogeneous(corner), f"/cover/corners/{index}")
        for index, (a, b, kink) in enumerate(cover.crossings):
            where = f"/cover/crossings/{index}"
            at_a, at_b = self.values[a, kink], self.values[b, kink]
            opposite = at_a < 0 < at_b or at_b < 0 < at_a
            require(opposite, "a crossing needs opposite signs of its kink at the two ends", where)
            long = point_bits((*self.points[a], at_a)) + point_bits((*self.points[b], at_b))
            self.work.add(one.inputs * divisor_cost(long))
            point = crossing(self.points[a], at_a, self.points[b], at_b)
            self._evaluate(point, where)
        self.values.clear()

    def _collect(self, cover: CellCover) -> None:
        """Which kinks' values the crossings will ask for, vertex by vertex."""
        self.asked: dict[int, set[int]] = {}
        for index, (a, b, kink) in enumerate(cover.crossings):
            where = f"/cover/crossings/{index}"
            require(0 <= kink < len(self.kinks), "a crossing names no kink of the maps", where)
            here = len(cover.corners) + index
            earlier = 0 <= a < here and 0 <= b < here
            require(earlier, "a crossing lies between two earlier vertices", where)
            self.asked.setdefault(a, set()).add(kink)
            self.asked.setdefault(b, set()).add(kink)
        self.values: dict[tuple[int, int], int] = {}

    def _evaluate(self, point: Point, where: str) -> None:
        bits = point_bits(point)
        require(bits <= MAX_POINT_BITS, "the coordinates of a vertex are too long", where)
        self.work.add(sum(cost.trace(bits) for cost in self.costs))
        one, other = self.maps
        traces = one.trace(point), other.trace(point)
        here = len(self.points)
        asked = self.asked.get(here, ())
        kept = (len(asked) + len(point)) * (bits + max(c.unit_bits for c in self.costs))
        self.work.add(KEPT * (kept + self.sites.bit_length()))
        for number in asked:
            which, kink = self.kinks[number]
            self.values[here, number] = self.maps[which].kink_value(kink, traces[which], point)
        pieces = one.pieces(traces[0], point) | other.pieces(traces[1], point) << self.shift
        gap = difference(one, other, *traces)
        self.points.append(point)
        self.pieces.append(pieces)
        self.below.append(compared(self.norm, gap, self.unit * point[-1], self.upper) <= 0)

    def check_bounds(self, cover: CellCover) -> Evidence:
        """Obligation 8, and the label of the bound: whether some cell needed affine arithmetic."""
        evidence = Evidence.ANALYTIC_CERTIFIED
        for index, cell in enumerate(cover.cells):
            where = f"/cover/cells/{index}"
            digits = self.sites.bit_length() // DIGIT_BITS
            self.work.add(CELL + (len(cell) + 8) * (digits + UNIT))
            below = all(self.below[vertex] for vertex in cell)
            require(below, "the error at a vertex of a cell exceeds the upper end", where)
            pieces = -1
            for vertex in cell:
                pieces &= self.pieces[vertex]
            if not is_affine(pieces, self.sites):
                evidence = Evidence.INTERVAL_CERTIFIED
                require(
                    self._relaxed(cell) <= self.upper,
                    "the bound on a cell with kinks inside exceeds the upper end",
                    where,
                )
        return evidence

    def _relaxed(self, cell: Cell) -> Fraction:
        for pwa, cost in zip(self.maps, self.costs, strict=True):
            self.work.add(cost.relaxation(pwa, len(cell)))
        return hull_bound(*self.maps, [self.points[vertex] for vertex in cell], self.norm)


@dataclass
class _Net:
    """How often a facet is left in its sorted orientation, and the last cell that holds it."""

    count: int
    cell: int


class _Facets:
    """The oriented facets of all cells, and whether some part holds the middle of the region."""

    def __init__(self, region: Region, points: Sequence[Point]) -> None:
        self.region, self.points = region, points
        middle = region.center if isinstance(region, Ball) else region.middle
        self.middle = homogeneous(middle)
        self.met = False
        self.nets: dict[Cell, _Net] = {}

    def add(self, index: int, cell: Cell) -> None:
        """Orient a cell, keep its facets, and see whether it holds the middle."""
        if len(self.middle) == 3:
            for a, b in pairwise(cell[1:]):
                part = (self.points[cell[0]], self.points[a], self.points[b])
                turn = _determinant(part)
                require(  # 7b
                    turn >= 0,
                    "the vertices of a cell do not turn counterclockwise about its first",
                    f"/cover/cells/{index}",
                )
                self._meet(part, turn)
            for a, b in zip(cell, (*cell[1:], cell[0]), strict=True):
                self._keep(index, (a, b) if a < b else (b, a), 1 if a < b else -1)
            return
        simplex = tuple(self.points[vertex] for vertex in cell)
        volume = _determinant(simplex)
        if volume:
            self._meet(simplex, volume)
            for facet, sign in _boundary(cell):
                self._keep(index, facet, sign if volume > 0 else -sign)

    def finish(self, work: Work) -> None:
        """Obligations 7c and 7d, once every cell is there."""
        for facet, net in self.nets.items():
            if net.count:
                points = [self.points[vertex] for vertex in facet]
                work.add(_avoidance_cost(self.region, points))
                avoids = self.region.avoids(points)
                where = f"/cover/cells/{net.cell}"
                require(avoids, "a border of the cells crosses the region", where)  # 7c
        require(self.met, "no cell holds the middle of the region", "/cover/cells")  # 7d

    def _keep(self, index: int, facet: Cell, sign: int) -> None:
        net = self.nets.setdefault(facet, _Net(0, index))
        net.count += sign
        net.cell = index

    def _meet(self, part: tuple[Point, ...], volume: int) -> None:
        if not self.met and volume and _beside(part, self.middle):
            sign = 1 if volume > 0 else -1
            self.met = all(
                sign * _determinant((*part[:i], self.middle, *part[i + 1 :])) >= 0
                for i in range(len(part))
            )


def _beside(part: Sequence[Point], middle: Point) -> bool:
    """Whether a point lies in the smallest box around a part."""
    t = middle[-1]
    for i, m in enumerate(middle[:-1]):
        signs = [q[i] * t - m * q[-1] for q in part]
        if min(signs) > 0 or max(signs) < 0:
            return False
    return True


def _boundary(cell: Cell) -> Iterator[tuple[Cell, int]]:
    """The facets of a simplex, their vertices in ascending order, each with its sign."""
    for i in range(len(cell)):
        facet = cell[:i] + cell[i + 1 :]
        swaps = sum(
            facet[a] > facet[b] for a in range(len(facet)) for b in range(a + 1, len(facet))
        )
        yield tuple(sorted(facet)), -1 if (i + swaps) % 2 else 1


def _determinant(rows: Sequence[Point]) -> int:
    """The determinant of integer rows, by elimination without fractions (Bareiss)."""
    if len(rows) == 3:
        a, b, c = rows
        return (
            a[0] * (b[1] * c[2] - b[2] * c[1])
            - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
        )
    table = [list(row) for row in rows]
    size, sign, before = len(table), 1, 1
    for k in range(size - 1):
        pivot = next((r for r in range(k, size) if table[r][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            table[k], table[pivot], sign = table[pivot], table[k], -sign
        lead = table[k][k]
        for row in table[k + 1 :]:
            first = row[k]
            for j in range(k + 1, size):
                row[j] = (row[j] * lead - first * table[k][j]) // before
        before = lead
    return sign * table[-1][-1]


def compared(norm: Norm, numerators: Sequence[int], denominator: int, value: Fraction) -> int:
    """The sign of ``||numerators / denominator|| - value``, exactly; roots by their squares."""
    if value < 0:
        return 1
    if isinstance(norm, (L2Norm, BlockL2Norm)):
        block = block_size(norm, len(numerators))
        squares = list(map(mul, numerators, numerators))
        largest = max(sum(squares[i : i + block]) for i in range(0, len(squares), block))
        scaled = value.numerator * denominator
        left, right = largest * value.denominator**2, scaled * scaled
    else:
        exact = norm_bounds(norm, numerators, denominator)[0]
        left, right = exact.numerator * value.denominator, value.numerator * exact.denominator
    sign: int = (left > right) - (left < right)
    return sign


def _volume_cost(points: Sequence[Point], cell: Cell) -> int:
    """The determinants of a cell, with those that look for the middle."""
    bits = max(point_bits(points[vertex]) for vertex in cell)
    p = len(points[0]) - 1
    if p == 2:
        return len(cell) * 36 * product_cost(bits, 2 * bits)
    return (p + 2) * (p + 1) ** 3 * product_cost(p * bits, p * bits)


def _avoidance_cost(region: Region, points: Sequence[Point]) -> int:
    """Showing that a facet misses the interior of the region."""
    bits = max(map(point_bits, points))
    rows = 100 if isinstance(region, Ball) else len(region.halfspaces) * len(points[0])
    return rows * len(points) * product_cost(2 * bits, 2 * bits)

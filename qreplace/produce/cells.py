"""Exact cells of piecewise-affine maps of two inputs: the plain enumerator (theory T8.2).

A convex polygon is cut by every kink of every map, activation after activation, all cells at once.
The subdivision stays conforming: an edge whose ends lie strictly on opposite sides gets one vertex
that both of its cells share, and a cell is cut only if it has corners strictly on both sides. On a
final cell every map is affine, so a convex function of their values is largest at a vertex.

Everything here is integers. Along an edge each state and pre-activation is an integer form of the
homogeneous point ``(x, y, t)``; so what is known at the ends of an edge is known at its crossing by
the same interpolation, without a fresh evaluation, and the division by the common factor of the new
point leaves no rest. ``cells_fast`` finds the same cells sooner; this is its reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul

from qreplace.errors import InputError, ProducerFailed
from qreplace.question.maps import (
    Kink,
    Point,
    PwaMap,
    Step,
    Vector,
    activate,
    crossing,
    difference_unit,
)
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.norms import block_size, norm_bounds

Crossing = tuple[int, int, int]
Cell = tuple[int, ...]

MOST_CELLS = 1_000_000
"""Most cells of a subdivision, unless told otherwise."""


@dataclass
class Subdivision:
    """A conforming subdivision of a convex polygon into cells on which every map is affine.

    ``corners``: homogeneous, counterclockwise. Vertex ``len(corners) + i`` is the i-th of
    ``crossings``, ``(a, b, kink)``: the point between the earlier vertices a and b where the joint
    kink vanishes. Joint kinks are numbered through the maps, inside a map as ``PwaMap.kinks``.
    ``cells`` list vertex numbers counterclockwise. ``exact`` knows every vertex exactly.
    """

    corners: tuple[Point, ...]
    crossings: list[Crossing]
    cells: list[Cell]
    exact: ExactVertices = field(repr=False)

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.corners) + len(self.crossings)

    def points(self) -> list[Point]:
        """Every vertex exactly; computed once."""
        return [self.exact.point(v) for v in range(self.vertices)]

    def cell_of(self, vertex: int) -> int:
        """The first cell that has a vertex."""
        return next(i for i, cell in enumerate(self.cells) if vertex in cell)


class ExactVertices:
    """Vertices and the values of the maps at them, exactly, computed when asked for and kept.

    Of every vertex and map only the furthest evaluation is kept, since kinks are asked for in their
    order; an earlier one starts anew.
    """

    def __init__(
        self, maps: Sequence[PwaMap], corners: Sequence[Point], crossings: list[Crossing]
    ) -> None:
        self.maps = tuple(maps)
        self.kinks: tuple[tuple[int, Kink], ...] = joint_kinks(maps)
        self.corners = len(corners)
        self.crossings = crossings
        self._points: dict[int, Point] = dict(enumerate(corners))
        self._finals: list[dict[int, Vector]] = [{} for _ in maps]
        self._reached: dict[tuple[int, int], tuple[int, Sequence[int], Sequence[int]]] = {}

    def point(self, vertex: int) -> Point:
        """A vertex by ``maps.crossing`` from its ends, and they from theirs."""
        pending = [vertex]
        while pending:
            v = pending[-1]
            if v in self._points:
                pending.pop()
                continue
            a, b, kink = self.crossings[v - self.corners]
            missing = [end for end in (a, b) if end not in self._points]
            if missing:
                pending += missing
                continue
            at_a, at_b = self.kink_value(a, kink), self.kink_value(b, kink)
            self._points[v] = crossing(self._points[a], at_a, self._points[b], at_b)
        return self._points[vertex]

    def kink_value(self, vertex: int, kink: int) -> int:
        """The value of a joint kink at a vertex, as ``PwaMap.kink_value`` gives it."""
        index, found = self.kinks[kink]
        point = self.point(vertex)
        u = self._activation(vertex, index, found.step)[found.coordinate]
        if not found.sign:
            return u
        level = self.maps[index].steps[found.step].thresholds[found.coordinate]
        return u - found.sign * level * point[-1]

    def final(self, vertex: int, index: int) -> Vector:
        """The output of map ``index`` at a vertex, over ``unit * t``."""
        known = self._finals[index].get(vertex)
        if known is None:
            known = self.maps[index].trace(self.point(vertex)).final
            self._finals[index][vertex] = known
        return known

    def keep(self, vertex: int, point: Point) -> None:
        """Take a vertex that is already known."""
        self._points[vertex] = point

    def keep_final(self, vertex: int, index: int, final: Vector) -> None:
        """Take an output that is already known."""
        self._finals[index][vertex] = final

    def difference(self, vertex: int, one: int, other: int) -> Vector:
        """``maps[one] - maps[other]`` at a vertex, over ``difference_unit * t``."""
        left, right = self.maps[one], self.maps[other]
        unit = difference_unit(left, right)
        m, n = unit // left.unit, unit // right.unit
        ends = zip(self.final(vertex, one), self.final(vertex, other), strict=True)
        return tuple(a * m - b * n for a, b in ends)

    def _activation(self, vertex: int, index: int, step: int) -> Sequence[int]:
        """The pre-activations of one step at a vertex."""
        point, steps = self.point(vertex), self.maps[index].steps
        reached = self._reached.get((vertex, index))
        if reached is None or reached[0] > step:
            state: Sequence[int] = [z * point[-1] for z in self.maps[index].initial]
            reached = (0, state, pre_activation(steps[0], point, state))
        at, state, u = reached
        while at < step:
            state = next_state(steps[at], point, state, u)
            at += 1
            u = pre_activation(steps[at], point, state)
        self._reached[vertex, index] = (at, state, u)
        return u


@dataclass(frozen=True)
class Largest:
    """The largest difference of two maps: the first vertex where it is attained, and a cell of it.

    ``numerators / denominator`` is the difference there; ``value`` its norm exactly, squared for
    l2 and block l2; ``lower <= norm <= upper``.
    """

    cell: int
    vertex: int
    point: Point
    numerators: Vector
    denominator: int
    value: Fraction
    lower: Fraction
    upper: Fraction


def joint_kinks(maps: Sequence[PwaMap]) -> tuple[tuple[int, Kink], ...]:
    """Every kink of every map with the index of its map, in the order of joint numbers."""
    return tuple((i, kink) for i, found in enumerate(maps) for kink in found.kinks)


def require_polygon(maps: Sequence[PwaMap], corners: Sequence[Point]) -> None:
    """Maps of two inputs and a polygon that turns left; raises ``InputError``."""
    if not maps or any(found.inputs != 2 for found in maps):
        raise InputError("cells are enumerated for maps of 2 inputs; give at least one such map")
    count = len(corners)
    if count < 3 or any(len(q) != 3 or q[-1] <= 0 for q in corners):
        raise InputError(f"cells need a polygon of at least 3 corners, received {count}")
    turns = [
        _turn(corners[i], corners[(i + 1) % count], corners[(i + 2) % count]) for i in range(count)
    ]
    if min(turns) < 0 or max(turns) == 0 or _windings(corners) != 1:
        raise InputError("cells need a convex polygon, its corners counterclockwise and distinct")


def require_few(cells: int, most: int) -> None:
    """Stop an enumeration that grows too large; raises ``ProducerFailed``."""
    if cells > most:
        raise ProducerFailed(
            f"the maps have more than {most} joint cells: raise the limit, or bound by boxes"
        )


def subdivide(
    maps: Sequence[PwaMap], corners: Sequence[Point], *, most_cells: int = MOST_CELLS
) -> Subdivision:
    """The joint cells of the maps on the convex polygon of ``corners``.

    Raises ``InputError`` where there is no such polygon, ``ProducerFailed`` beyond ``most_cells``.
    """
    require_polygon(maps, corners)
    work = _Work(corners, most_cells)
    base = 0
    for found in maps:
        base = work.push(found, base)
    exact = ExactVertices(maps, corners, work.crossings)
    for vertex, row in enumerate(work.rows):
        exact.keep(vertex, (row[0], row[1], row[2]))
        at = 3
        for index, found in enumerate(maps):
            exact.keep_final(vertex, index, tuple(row[at : at + found.outputs]))
            at += found.outputs
    return Subdivision(tuple(corners), work.crossings, work.cells, exact)


class _Work:
    """The subdivision while it grows.

    ``rows[v]`` holds integers that are linear in the point on every edge: ``x, y, t``, the outputs
    of finished maps, then the present state and the present pre-activations.
    """

    def __init__(self, corners: Sequence[Point], most_cells: int) -> None:
        self.most_cells = most_cells
        self.rows: list[list[int]] = [list(q) for q in corners]
        self.crossings: list[Crossing] = []
        self.cells: list[Cell] = [tuple(range(len(corners)))]

    def push(self, found: PwaMap, base: int) -> int:
        """Cut by the kinks of one map, numbered from ``base``; returns the next number."""
        at = len(self.rows[0])
        for row in self.rows:
            row += [z * row[2] for z in found.initial]
        for step in found.steps:
            for row in self.rows:
                row += pre_activation(step, row, row[at:])
            width = len(self.rows[0]) - len(step.bias)
            base = self._cut_by_step(step, width, base)
            for row in self.rows:
                row[at:] = next_state(step, row, row[at:width], row[width:])
        return base

    def _cut_by_step(self, step: Step, at: int, base: int) -> int:
        """Cut by every kink of one step, whose pre-activations stand from column ``at`` on."""
        signs = {"soft_threshold": (-1, 1), "relu": (0,), "identity": ()}[step.activation]
        for i in range(len(step.bias)):
            for sign in signs:
                level = sign * step.thresholds[i] if sign else 0
                self._cut([row[at + i] - level * row[2] for row in self.rows], base)
                base += 1
        return base

    def _cut(self, values: list[int], kink: int) -> None:
        """Cut every cell with corners strictly on both sides of a kink with these values."""
        if min(values) >= 0 or max(values) <= 0:
            return
        made: dict[tuple[int, int], int] = {}
        cells: list[Cell] = []
        for cell in self.cells:
            at = [values[v] for v in cell]
            if min(at) >= 0 or max(at) <= 0:
                cells.append(cell)
            else:
                cells += self._halves(cell, at, values, made, kink)
        self.cells = cells
        require_few(len(cells), self.most_cells)

    def _halves(
        self,
        cell: Cell,
        at: list[int],
        values: list[int],
        made: dict[tuple[int, int], int],
        kink: int,
    ) -> tuple[Cell, Cell]:
        """The parts of a cell below and above a kink."""
        below: list[int] = []
        above: list[int] = []
        for k, (v, value) in enumerate(zip(cell, at, strict=True)):
            before = at[k - 1]
            if (before < 0 < value) or (before > 0 > value):
                new = self._crossed(cell[k - 1], v, values, made, kink)
                below.append(new)
                above.append(new)
            if value <= 0:
                below.append(v)
            if value >= 0:
                above.append(v)
        return tuple(below), tuple(above)

    def _crossed(
        self, a: int, b: int, values: list[int], made: dict[tuple[int, int], int], kink: int
    ) -> int:
        """The vertex where an edge meets the kink; made when the first of its cells asks."""
        if a > b:
            a, b = b, a
        known = made.get((a, b))
        if known is not None:
            return known
        p, q = (values[b], -values[a]) if values[b] > 0 else (-values[b], values[a])
        row = [p * x + q * y for x, y in zip(self.rows[a], self.rows[b], strict=True)]
        shared = math.gcd(row[0], row[1], row[2])
        new = made[a, b] = len(self.rows)
        self.rows.append([value // shared for value in row])
        self.crossings.append((a, b, kink))
        return new


def pre_activation(step: Step, point: Sequence[int], state: Sequence[int]) -> list[int]:
    """``u`` of a step at a homogeneous point of two inputs, over ``unit * t``."""
    x, y, t = point[0], point[1], point[2]
    return [
        w[0] * x + w[1] * y + sum(map(mul, s, state)) + b * t
        for w, s, b in zip(step.inputs, step.state, step.bias, strict=True)
    ]


def next_state(
    step: Step, point: Sequence[int], state: Sequence[int], u: Sequence[int]
) -> list[int]:
    """The state after a step, over ``next_unit * t``."""
    t = point[2]
    phi = activate(step, u, t)
    return [
        sum(map(mul, v, phi)) + sum(map(mul, c, state)) + o * t
        for v, c, o in zip(step.output, step.carry, step.offset, strict=True)
    ]


def largest_difference(
    subdivision: Subdivision,
    maps: Sequence[PwaMap],
    one: int = 0,
    other: int = 1,
    norm: Norm = L2Norm("l2"),  # noqa: B008 (frozen)
) -> Largest:
    """The largest ``norm(maps[one] - maps[other])`` over all cells, exactly (theory T8.2).

    ``maps`` are those of the subdivision. On ties the smallest vertex number is named.
    """
    require_outputs(maps, one, other)
    return largest_among(subdivision, range(subdivision.vertices), one, other, norm)


def require_outputs(maps: Sequence[PwaMap], one: int, other: int) -> None:
    """Two maps that can be subtracted; raises ``InputError``."""
    if maps[one].outputs != maps[other].outputs:
        raise InputError(
            f"maps with {maps[one].outputs} and {maps[other].outputs} outputs have no difference"
        )


def largest_among(
    subdivision: Subdivision, candidates: Iterable[int], one: int, other: int, norm: Norm
) -> Largest:
    """The largest difference at the candidate vertices, exactly."""
    exact = subdivision.exact
    unit = difference_unit(exact.maps[one], exact.maps[other])
    best: tuple[int, int, int] | None = None
    for vertex in candidates:
        numerators = exact.difference(vertex, one, other)
        n, d = comparable_norm(norm, numerators, unit * exact.point(vertex)[-1])
        if best is None or n * best[1] > best[0] * d:
            best = (n, d, vertex)
    if best is None:
        raise InputError("the largest difference needs at least one vertex")
    vertex = best[2]
    numerators, denominator = exact.difference(vertex, one, other), unit * exact.point(vertex)[-1]
    lower, upper = norm_bounds(norm, numerators, denominator)
    return Largest(
        subdivision.cell_of(vertex),
        vertex,
        exact.point(vertex),
        numerators,
        denominator,
        Fraction(best[0], best[1]),
        lower,
        upper,
    )


def comparable_norm(norm: Norm, numerators: Sequence[int], denominator: int) -> tuple[int, int]:
    """The norm of ``numerators / denominator`` as a quotient; its square for l2 and block l2."""
    if isinstance(norm, (L2Norm, BlockL2Norm)):
        size = block_size(norm, len(numerators))
        starts = range(0, len(numerators), size)
        blocks = [numerators[start : start + size] for start in starts]
        return max(sum(map(mul, part, part)) for part in blocks), denominator * denominator
    value = norm_bounds(norm, numerators, denominator)[0]
    return value.numerator, value.denominator


def _turn(a: Point, b: Point, c: Point) -> int:
    """Positive where ``a, b, c`` turn left: the determinant of the homogeneous points."""
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def _windings(corners: Sequence[Point]) -> int:
    """How often the edges of a polygon that never turns right go round; 0 if one has no length."""
    upper = []
    for a, b in zip(corners, (*corners[1:], corners[0]), strict=True):
        x, y = b[0] * a[2] - a[0] * b[2], b[1] * a[2] - a[1] * b[2]
        if not x and not y:
            return 0
        upper.append(y > 0 or (y == 0 and x > 0))
    return sum(now and not before for before, now in zip((upper[-1], *upper), upper, strict=False))

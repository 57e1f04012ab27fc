"""Input regions of piecewise-affine maps, exactly: membership, corners, what avoids them (T8.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from operator import mul

from qreplace.errors import InputError
from qreplace.question.corners import corners_of
from qreplace.question.maps import Point, homogeneous

Halfspace = tuple[int, ...]
"""Integers ``(a_1 .. a_p, b)`` for ``a x <= b``."""

MAX_CORNERS = 4096
"""Corners of a box are listed up to this many."""
MAX_POLYGON = 1024
MAX_POLYTOPE_INPUTS = 16


@dataclass(frozen=True)
class Ball:
    """``||y - center||_2 <= radius``."""

    center: tuple[Fraction, ...]
    radius: Fraction

    @property
    def inputs(self) -> int:
        """The dimension p."""
        return len(self.center)

    def contains(self, point: Point, *, strictly: bool = False) -> bool:
        """Whether a homogeneous point lies in the closed (open, if strictly) ball."""
        t = point[-1]
        gap = sum(((x - c * t) ** 2 for x, c in zip(point, self.center, strict=False)), Fraction(0))
        limit = (self.radius * t) ** 2
        return gap < limit if strictly else gap <= limit

    def avoids(self, facet: Sequence[Point]) -> bool:
        """Whether the hull of p points is shown to miss the open ball; p is 1 or 2, else False."""
        if self.inputs == 1:
            return not self.contains(facet[0], strictly=True)
        if self.inputs != 2:
            return False
        (a, b), c = facet, self.center
        first = [Fraction(x, a[-1]) - m for x, m in zip(a, c, strict=False)]
        second = [Fraction(x, b[-1]) - m for x, m in zip(b, c, strict=False)]
        along = [y - x for x, y in zip(first, second, strict=True)]
        if not any(along):
            return not self.contains(a, strictly=True)
        area = first[0] * second[1] - first[1] * second[0]
        return area * area >= self.radius**2 * (along[0] ** 2 + along[1] ** 2)

    def avoids_box(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> bool:
        """Whether a box misses the open ball."""
        gap = Fraction(0)
        for low, high, c in zip(lower, upper, self.center, strict=True):
            gap += max(low - c, c - high, Fraction(0)) ** 2
        return gap >= self.radius**2

    @property
    def box(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """The smallest box around the ball."""
        r = self.radius
        return tuple(c - r for c in self.center), tuple(c + r for c in self.center)


@dataclass(frozen=True)
class Polytope:
    """``a x <= b`` for every half-space; bounded, with interior points.

    ``corners``: every corner, counterclockwise in two dimensions; None where they are too many.
    """

    inputs: int
    halfspaces: tuple[Halfspace, ...]
    corners: tuple[Point, ...] | None
    box: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

    def contains(self, point: Point, *, strictly: bool = False) -> bool:
        """Whether a homogeneous point lies in the polytope (in its interior, if strictly)."""
        excess = (_excess(h, point) for h in self.halfspaces)
        return all(value < 0 if strictly else value <= 0 for value in excess)

    def avoids(self, facet: Sequence[Point]) -> bool:
        """Whether one half-space has the hull of the points on its border or beyond."""
        return any(all(_excess(h, q) >= 0 for q in facet) for h in self.halfspaces)

    def avoids_box(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> bool:
        """Whether one half-space shows that a box misses the interior."""
        return any(_least(h, lower, upper) >= h[-1] for h in self.halfspaces)

    @cached_property
    def middle(self) -> tuple[Fraction, ...]:
        """The mean of the corners, or the middle of the box."""
        if self.corners is None:
            return tuple((a + b) / 2 for a, b in zip(*self.box, strict=True))
        return mean(self.corners)


Region = Ball | Polytope


def box_region(lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Polytope:
    """A box; raises ``InputError`` when it has no interior."""
    p = len(lower)
    if len(upper) != p or any(a >= b for a, b in zip(lower, upper, strict=True)):
        raise InputError("an input box has lower < upper in every coordinate")
    halfspaces: list[Halfspace] = []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        for sign, bound in ((-1, -low), (1, high)):
            row = [0] * p
            row[i] = sign * bound.denominator
            halfspaces.append((*row, bound.numerator))
    corners = None
    if 1 << p <= MAX_CORNERS:
        chosen = list(product(*zip(lower, upper, strict=True)))
        if p == 2:
            chosen = [chosen[0], chosen[2], chosen[3], chosen[1]]
        corners = tuple(map(homogeneous, chosen))
    return Polytope(p, tuple(halfspaces), corners, (tuple(lower), tuple(upper)))


def polygon_region(vertices: Sequence[tuple[Fraction, ...]]) -> Polytope:
    """A convex polygon by its corners; raises ``InputError`` unless they turn left throughout."""
    points = [homogeneous(v) for v in vertices]
    count = len(points)
    if not 3 <= count <= MAX_POLYGON:
        raise InputError(f"an input polygon has 3 to {MAX_POLYGON} corners, received {count}")
    twice_area = sum(
        (
            a[0] * b[1] - a[1] * b[0]
            for a, b in zip(vertices, (*vertices[1:], vertices[0]), strict=True)
        ),
        Fraction(0),
    )
    if twice_area < 0:
        raise InputError(
            "the corners of an input polygon are listed counterclockwise, these run clockwise",
            remedy="Reverse their order.",
        )
    halfspaces = []
    for i in range(count):
        (ax, ay), (bx, by) = vertices[i], vertices[(i + 1) % count]
        # The left side of a -> b is inside: (by - ay) x - (bx - ax) y <= (by - ay) ax - (bx-ax) ay.
        normal = (by - ay, ax - bx)
        halfspaces.append(homogeneous((*normal, normal[0] * ax + normal[1] * ay))[:-1])
    for i, h in enumerate(halfspaces):
        for k, q in enumerate(points):
            on_edge = k in (i, (i + 1) % count)
            if not on_edge and _excess(h, q) >= 0:
                raise InputError(
                    "the corners of an input polygon are those of a convex polygon, "
                    "counterclockwise, and no three lie on a line"
                )
    return Polytope(2, tuple(halfspaces), tuple(points), _box_of(points))


def polytope_region(normals: Sequence[Sequence[Fraction]], offsets: Sequence[Fraction]) -> Polytope:
    """``normals y <= offsets``; raises ``InputError`` if empty, flat, unbounded, or too large."""
    if not normals or len(normals) != len(offsets):
        raise InputError("an input polytope has one offset a row of its normals")
    p = len(normals[0])
    if p > MAX_POLYTOPE_INPUTS:
        raise InputError(
            f"an input polytope has at most {MAX_POLYTOPE_INPUTS} inputs, received {p}; give a box "
            "or a ball"
        )
    rows = [
        homogeneous((*normal, offset))[:-1] for normal, offset in zip(normals, offsets, strict=True)
    ]
    corners = corners_of(rows, p)
    found = Polytope(
        p, tuple(rows), tuple(_around(corners) if p == 2 else corners), _box_of(corners)
    )
    if not found.contains(homogeneous(mean(corners)), strictly=True):
        raise InputError("the input polytope is flat: it has no interior points")
    return found


def mean(points: Sequence[Point]) -> tuple[Fraction, ...]:
    """The mean of homogeneous points."""
    coordinates = zip(*(tuple(Fraction(x, q[-1]) for x in q[:-1]) for q in points), strict=True)
    return tuple(sum(column, Fraction(0)) / len(points) for column in coordinates)


def _least(halfspace: Halfspace, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Fraction:
    """The smallest ``a x`` on a box."""
    ends = zip(halfspace[:-1], lower, upper, strict=True)
    return sum((a * (low if a > 0 else high) for a, low, high in ends), Fraction(0))


def _excess(halfspace: Halfspace, point: Point) -> int:
    value: int = sum(map(mul, halfspace[:-1], point)) - halfspace[-1] * point[-1]
    return value


def _box_of(points: Sequence[Point]) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    columns = list(zip(*(tuple(Fraction(x, q[-1]) for x in q[:-1]) for q in points), strict=True))
    return tuple(map(min, columns)), tuple(map(max, columns))


def _around(corners: Sequence[Point]) -> list[Point]:
    """The corners of a convex polygon counterclockwise, without trigonometry."""
    cx, cy = mean(corners)

    def half(q: Point) -> int:
        x, y = Fraction(q[0], q[2]) - cx, Fraction(q[1], q[2]) - cy
        return 0 if y > 0 or (y == 0 and x > 0) else 1

    ordered: list[Point] = []
    for q in corners:
        x, y = Fraction(q[0], q[2]) - cx, Fraction(q[1], q[2]) - cy
        place = 0
        while place < len(ordered):
            r = ordered[place]
            u, v = Fraction(r[0], r[2]) - cx, Fraction(r[1], r[2]) - cy
            if (half(q), 0) < (half(r), 0) or (half(q) == half(r) and u * y - v * x < 0):
                break
            place += 1
        ordered.insert(place, q)
    return ordered

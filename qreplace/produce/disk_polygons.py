"""Rational polygons inside and around a disk (theory T8.3).

A *direction* is a rational unit vector ``((1 - s^2) / (1 + s^2), 2 s / (1 + s^2))`` turned by
quarters, with s rational near the tangent of half the angle. Its points on the circle are the
corners of the inscribed polygon; the tangents at them bound the polygon around the disk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.question.maps import Point, homogeneous
from qreplace.question.regions import Ball

Direction = tuple[Fraction, Fraction]

DENOMINATOR = 10**6
"""Largest denominator of s."""


def direction_near(x: float, y: float, denominator: int = DENOMINATOR) -> Direction:
    """A rational unit vector near the direction of ``(x, y)``.

    ``denominator`` caps that of s, so the angle is off by at most about its reciprocal; the float
    that aims says nothing about the result, which is a unit vector exactly. Raises ``InputError``
    without a direction.
    """
    if not (math.isfinite(x) and math.isfinite(y) and (x or y)):
        raise InputError(f"a direction needs a finite vector other than 0, received {(x, y)}")
    quarter = 0
    while not (x > 0 and y >= 0):
        x, y, quarter = y, -x, quarter + 1
    larger = max(x, y)
    x, y = x / larger, y / larger
    s = Fraction(y / (x + math.hypot(x, y))).limit_denominator(denominator)
    u, v = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
    for _ in range(quarter):
        u, v = -v, u
    return u, v


def regular_directions(count: int, denominator: int = DENOMINATOR) -> tuple[Direction, ...]:
    """``count`` directions near the angles ``2 pi k / count``, k = 0, 1, ..

    ``count`` is even: the second half is that of the opposite directions. Raises ``InputError``
    otherwise, or where the denominators are too small to keep the directions apart.
    """
    if count < 4 or count % 2:
        raise InputError(f"the number of directions is even and at least 4, received {count}")
    half = []
    for k in range(count // 2):
        s = Fraction(math.tan(math.pi * k / count)).limit_denominator(denominator)
        half.append(((1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)))
    if len({*half, (Fraction(-1), Fraction(0))}) != len(half) + 1:
        raise InputError(f"{count} directions need larger denominators than {denominator}")
    return (*half, *((-x, -y) for x, y in half))


@dataclass(frozen=True)
class DiskPolygon:
    """A disk and directions around it, counterclockwise, successive ones less than pi apart."""

    disk: Ball
    directions: tuple[Direction, ...]

    def __post_init__(self) -> None:
        if self.disk.inputs != 2:
            raise InputError(f"a disk has two inputs, received {self.disk.inputs}")
        for u, v in _pairs(self.directions):
            if u[0] * v[1] - u[1] * v[0] <= 0:
                raise InputError(
                    "directions around a disk are counterclockwise and less than pi apart"
                )

    @property
    def inscribed(self) -> tuple[Point, ...]:
        """Corners on the circle: the polygon lies inside the disk."""
        return tuple(circle_point(self.disk, u) for u in self.directions)

    @property
    def tangent(self) -> tuple[Point, ...]:
        """Corners where successive tangents meet: the polygon holds the disk.

        The tangents at ``u`` and ``v`` meet at ``(u + v) / (1 + u . v)``, since ``u . u = 1``.
        """
        return tuple(
            _placed(
                self.disk,
                [(a + b) / (1 + u[0] * v[0] + u[1] * v[1]) for a, b in zip(u, v, strict=True)],
            )
            for u, v in _pairs(self.directions)
        )

    def with_directions(self, new: Iterable[Direction]) -> DiskPolygon:
        """The polygon with further directions; those it has already change nothing."""
        distinct = dict.fromkeys([*self.directions, *new])
        return DiskPolygon(self.disk, tuple(sorted(distinct, key=_turn)))


def around(disk: Ball, count: int, denominator: int = DENOMINATOR) -> DiskPolygon:
    """The polygons of ``count`` directions near equal angles."""
    return DiskPolygon(disk, regular_directions(count, denominator))


def circle_point(disk: Ball, direction: Direction) -> Point:
    """The point of the circle in a direction from the center."""
    return _placed(disk, direction)


def _placed(disk: Ball, unit: Sequence[Fraction]) -> Point:
    return homogeneous([c + disk.radius * x for c, x in zip(disk.center, unit, strict=True)])


def _pairs(directions: Sequence[Direction]) -> list[tuple[Direction, Direction]]:
    return list(zip(directions, (*directions[1:], *directions[:1]), strict=True))


def _turn(direction: Direction) -> tuple[int, Fraction]:
    """Grows with the angle in [0, 2 pi), exactly."""
    x, y = direction
    quarter = 0
    while not (x > 0 and y >= 0):
        x, y, quarter = y, -x, quarter + 1
    return quarter, y

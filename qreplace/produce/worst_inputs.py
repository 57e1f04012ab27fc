"""Inputs at which two piecewise-affine maps differ most, found in floats (theory T8.2, T8.4).

A grid of the region and a pattern search around its best points propose inputs; each is then made
rational inside the region, exactly. Nothing says that the worst input is among them: an error at a
rational input is a lower bound of the supremum, and only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qreplace.errors import InputError
from qreplace.produce.disk_polygons import circle_point, direction_near
from qreplace.produce.float_maps import FloatPair, Floats
from qreplace.question.maps import (
    Point,
    PwaMap,
    difference,
    difference_unit,
    homogeneous,
    rational_point,
)
from qreplace.question.model import Norm
from qreplace.question.norms import norm_bounds
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball, Region

SEED = 8
RADII, ANGLES = 12, 128
SAMPLES = 1024
"""Starting points where the region is not a disk."""
STARTS = 12
"""Points from which the pattern search climbs."""
FIRST_STEP, LAST_STEP = 2.0**-5, 2.0**-34
"""Lengths of the pattern's steps, relative to the region's size."""
TRIES = 120
"""Most rounds of the pattern search."""
ON_SPHERE = 1e-9
"""Relative distance to the sphere below which a point is taken to lie on it."""
PLACES = 40
"""Binary places of a rational point inside the region, relative to the region's size."""
CLOSE = 1e-4
"""Points closer than this, relative to the region's size, are taken to be one."""


class ErrorSearch:
    """``||one - other||`` over a region: floats to search, integers to state the error."""

    def __init__(self, one: PwaMap, other: PwaMap, norm: Norm, region: Region) -> None:
        self.one, self.other, self.norm, self.region = one, other, norm, region
        self.errors = FloatPair(one, other, norm).errors
        self._place = FloatRegion(region)

    def climb(self, starts: Floats, count: int = STARTS) -> Floats:
        """Improved copies, the worst input first, of the ``count`` worst starts.

        A start outside the region is moved to its border first.
        """
        place = self._place
        points = place.inside(starts)
        errors = self.errors(points)
        chosen = np.argsort(-errors, kind="stable")[:count]
        points, errors = points[chosen], errors[chosen]
        pattern = place.pattern()
        steps = np.full(len(points), FIRST_STEP)
        for _ in range(TRIES):
            moved = points[:, None, :] + steps[:, None, None] * place.size * pattern
            moved = place.inside(moved.reshape(-1, moved.shape[-1]))
            tried = self.errors(moved).reshape(len(points), -1)
            best = tried.argmax(axis=1)
            rows = np.arange(len(points))
            better = tried[rows, best] > errors
            moved = moved.reshape(len(points), -1, points.shape[1])
            points = np.where(better[:, None], moved[rows, best], points)
            errors = np.where(better, tried[rows, best], errors)
            steps = np.where(better, steps, steps / 2)
            if steps.max() < LAST_STEP:
                break
        return np.asarray(points[np.argsort(-errors, kind="stable")])

    def search(self, count: int = STARTS) -> Floats:
        """Bad inputs from a grid of the region, the worst first."""
        return self.climb(self._place.grid(), count)

    def exact(self, point: Point) -> tuple[Fraction, Fraction]:
        """Lower and upper enclosure of the error at a homogeneous point."""
        return error_at(self.one, self.other, self.norm, point)

    def rational(self, points: Floats, count: int) -> list[tuple[Fraction, Point]]:
        """The first ``count`` distinct points as inputs of the region, each with its error.

        The error is the lower enclosure of the exact one; the worst input comes first.
        """
        found: dict[Point, Fraction] = {}
        kept: list[Floats] = []
        for x in points:
            if len(found) == count:
                break
            if any(np.abs(x - y).max() < CLOSE * self._place.size for y in kept):
                continue
            kept.append(x)
            point = rational_input(self.region, x)
            found[point] = self.exact(point)[0]
        return sorted(((error, point) for point, error in found.items()), reverse=True)


class FloatRegion:
    """Grid, projection and size of a region in floats."""

    def __init__(self, region: Region) -> None:
        self.region = region
        lower, upper = (np.array([float(x) for x in end]) for end in region.box)
        self.lower, self.upper = lower, upper
        self.size = float((upper - lower).max())
        if isinstance(region, Ball):
            self.middle = np.array([float(x) for x in region.center])
        else:
            self.middle = np.array([float(x) for x in region.middle])
            rows = [_float_row(h) for h in region.halfspaces]
            self.normals, self.offsets = (
                np.array([r[:-1] for r in rows]),
                np.array([r[-1] for r in rows]),
            )

    def inside(self, points: Floats) -> Floats:
        """Points of the region near the given ones, up to rounding."""
        if isinstance(self.region, Ball):
            gap = points - self.middle
            length = np.sqrt((gap**2).sum(axis=-1))
            radius = float(self.region.radius)
            scale = np.where(length > radius, radius / np.maximum(length, radius), 1.0)
            return np.asarray(self.middle + gap * scale[:, None])
        for normal, offset in zip(self.normals, self.offsets, strict=True):
            excess = np.maximum(points @ normal - offset, 0.0)
            points = points - excess[:, None] * normal
        gap = points - self.middle
        room = self.offsets - self.normals @ self.middle
        share = ((gap @ self.normals.T) / room).max(axis=1)
        return np.asarray(self.middle + gap / np.maximum(share, 1.0)[:, None])

    def grid(self) -> Floats:
        """Points all over the region, its corners among them where they are known."""
        p = self.region.inputs
        generator = np.random.default_rng(SEED)
        if isinstance(self.region, Ball):
            radius = float(self.region.radius)
            if p == 2:
                angles = np.arange(ANGLES) * (2 * np.pi / ANGLES)
                circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
                radii = np.arange(RADII + 1) / RADII
            else:
                circle = generator.standard_normal((SAMPLES // 4, p))
                circle /= np.sqrt((circle**2).sum(axis=1))[:, None]
                radii = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
            rays = radii[:, None, None] * circle
            return np.asarray(self.middle + radius * rays.reshape(-1, p))
        spread = generator.random((SAMPLES, p))
        points = self.inside(self.lower + spread * (self.upper - self.lower))
        if self.region.corners is None:
            return points
        corners = np.array([[x / q[-1] for x in q[:-1]] for q in self.region.corners])
        chosen = generator.integers(len(corners), size=(SAMPLES, 2))
        share = generator.random((SAMPLES, 1))
        edges = share * corners[chosen[:, 0]] + (1 - share) * corners[chosen[:, 1]]
        return np.concatenate([corners, edges, points])

    def pattern(self) -> Floats:
        """Directions in which the pattern search steps."""
        p = self.region.inputs
        axes = np.concatenate([np.eye(p), -np.eye(p)])
        if p == 2:
            return np.concatenate([axes, axes + np.roll(axes, 1, axis=0)])
        more = np.random.default_rng(SEED).standard_normal((2 * p, p))
        return np.concatenate([axes, more / np.sqrt((more**2).sum(axis=1))[:, None]])


def error_at(one: PwaMap, other: PwaMap, norm: Norm, point: Point) -> tuple[Fraction, Fraction]:
    """Lower and upper enclosure of ``||one - other||`` at a homogeneous point."""
    gap = difference(one, other, one.trace(point), other.trace(point))
    return norm_bounds(norm, gap, difference_unit(one, other) * point[-1])


def rational_input(region: Region, x: Floats) -> Point:
    """A homogeneous point of the region near a float one, exactly inside.

    On a circle it is one of its rational points; elsewhere it is rounded, and drawn towards the
    middle of the region where that left it outside.
    """
    if isinstance(region, Ball):
        middle = region.center
        gap = [float(a - b) for a, b in zip(map(Fraction, map(float, x)), middle, strict=True)]
        length = float(np.sqrt(sum(v * v for v in gap)))
        if region.inputs == 2 and length > (1 - ON_SPHERE) * float(region.radius):
            return circle_point(region, direction_near(gap[0], gap[1]))
    else:
        middle = region.middle
    lower, upper = region.box
    size = max(b - a for a, b in zip(lower, upper, strict=True))
    unit = size / (1 << PLACES)
    rounded = [round(Fraction(float(v)) / unit) * unit for v in x]
    shrink = Fraction(1, 1 << PLACES)
    while shrink < 1:
        point = homogeneous(rounded)
        if region.contains(point):
            return point
        rounded = [m + (1 - shrink) * (v - m) for v, m in zip(rounded, middle, strict=True)]
        shrink *= 4
    return homogeneous(middle)


def worst_points(
    problem: PwaProblem, norm: Norm, schedule: Sequence[int], *, count: int = 4
) -> list[tuple[Fraction, ...]]:
    """Inputs of the region at which a schedule of the dictionary misses the target most.

    At most ``count`` rational points, the worst first. Raises ``InputError`` without a region.
    """
    if problem.region is None:
        raise InputError("the question names no region of inputs to search")
    search = ErrorSearch(problem.student(schedule), problem.target, norm, problem.region)
    found = search.rational(search.search(), count)
    return [rational_point(point) for _, point in found]


def _float_row(halfspace: Sequence[int]) -> Floats:
    """A half-space with a normal of length 1."""
    scale = max(map(abs, halfspace[:-1]))
    row = np.array([value / scale for value in halfspace])
    return np.asarray(row / np.sqrt((row[:-1] ** 2).sum()))

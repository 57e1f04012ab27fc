"""Random piecewise-affine questions with their exact cells, as honest ``pwa_supremum`` claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

from dynamic_questions import matrix
from piecewise_questions import UNIT_DISK, box
from random_maps import (
    Values,
    plain_norm,
    random_question,
    random_schedule,
    walk_schedule,
    walk_target,
)

from qreplace.check.cell_cover import Vertices
from qreplace.check.piecewise_work import Work
from qreplace.claims.pwa_supremum import CellCover, PwaSupremumClaim, ScheduleMap
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.cells import Subdivision, largest_difference, subdivide
from qreplace.question.maps import Point, homogeneous, rational_point
from qreplace.question.model import InputRegion, PolygonRegion, Question
from qreplace.question.regions import Region
from qreplace.question.subject import Subject

HALF = Fraction(1, 2)
TRIANGLE = PolygonRegion("polygon", matrix([[-1, 0], [1, -1], [1, 1]]))
PLANE: list[tuple[InputRegion, list[tuple[int | Fraction, int | Fraction]]]] = [
    (UNIT_DISK, [(-1, -1), (1, -1), (1, 1), (-1, 1)]),
    (box([-1, -1], [1, HALF]), [(-1, -1), (1, -1), (1, HALF), (-1, HALF)]),
    (TRIANGLE, [(-1, 0), (1, -1), (1, 1)]),
]
"""Regions, each with the corners of a polygon around it."""


@dataclasses.dataclass
class Drawn:
    """A random question, one schedule, and the exact cells of the two maps."""

    question: Question
    subject: Subject
    schedule: tuple[int, ...]
    corners: list[Point]
    cover: CellCover
    upper: Fraction
    rng: Random

    def claim(self, **fields: Any) -> PwaSupremumClaim:
        """The honest upper claim, or one with other fields."""
        digest = self.subject.problem_digest(0)
        own = ScheduleMap("schedule", self.schedule)
        claim = PwaSupremumClaim(
            "qreplace/claim/pwa_supremum/v1", digest, 0, own, None, None, self.upper, self.cover
        )
        return dataclasses.replace(claim, **fields)

    @property
    def region(self) -> Region:
        """The region of the inputs."""
        region = self.subject.piecewise(0).region
        assert region is not None
        return region

    def inputs(self, count: int) -> Iterator[Values]:
        """Random points of the region, and its corners."""
        low, high = self.region.box
        found = 0
        for _ in range(20 * count):
            shares = [Fraction(self.rng.randint(0, 24), 24) for _ in low]
            y = tuple(a + s * (b - a) for a, b, s in zip(low, high, shares, strict=True))
            if found < count and self.region.contains(homogeneous(y)):
                found += 1
                yield y


def drawn(seed: int, which: int, depth: int = 2) -> Drawn:
    rng = Random(seed)
    region, corners = PLANE[which]
    question = random_question(rng, 2, region, depth=depth)
    about = Subject(question, {})
    problem = about.piecewise(0)
    schedule = random_schedule(rng, depth)
    maps = problem.student(schedule), problem.target
    points = [homogeneous([Fraction(x), Fraction(y)]) for x, y in corners]
    found = subdivide(maps, points)
    upper = largest_difference(found, maps, norm=question.norm).upper
    return Drawn(question, about, schedule, points, cover_of(found), upper, rng)


def cover_of(found: Subdivision) -> CellCover:
    corners = tuple(rational_point(corner) for corner in found.corners)
    return CellCover("cells", corners, tuple(found.crossings), tuple(found.cells))


def vertices_of(made: Drawn, cover: CellCover) -> list[Values]:
    """The vertices of an accepted cover, anew."""
    problem = made.subject.piecewise(0)
    maps = problem.student(made.schedule), problem.target
    vertices = Vertices(maps, made.question.norm, cover, Fraction(10**9), Work())
    return [rational_point(point) for point in vertices.points]


def error_at(made: Drawn, y: Values) -> tuple[Fraction, Fraction]:
    """The error at an input, its root enclosed."""
    one = walk_schedule(made.question, made.schedule, y)[1]
    gap = [a - b for a, b in zip(one, walk_target(made.question, y)[1], strict=True)]
    value, squared = plain_norm(made.question.norm, gap)
    return sqrt_bounds(value) if squared else (value, value)

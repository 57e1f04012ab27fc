"""Producer of ``pwa_supremum``: the largest error of one map over all inputs (theory T8.2, T8.3).

How the upper end is shown depends on the inputs:

- *witnesses*: every one is evaluated; the bracket is as narrow as an enclosed norm.
- *a polygon, or a polytope in 1 or 3 to 6 dimensions*: cells on which both maps are affine; the
  maximum sits at a vertex, and the bracket is again that narrow.
- *a disk*: cells of a polygon of tangents around it. Where a vertex outside the disk has an error
  that the disk itself does not show, tangents are added on that arc, and only there.
- *anything else, or more cells than allowed*: boxes, halved where the bound is worst.

Refinement keeps the best lower end and the smallest upper end found, so it never widens a bracket.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from qreplace.claims.pwa_supremum import (
    CellCover,
    ComparatorMap,
    Cover,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.errors import ProducerFailed
from qreplace.produce.cells import Subdivision
from qreplace.produce.cells_fast import (
    FastSubdivision,
    largest_difference_fast,
    subdivide_fast,
)
from qreplace.produce.disk_polygons import Direction, DiskPolygon, around, direction_near
from qreplace.produce.float_maps import FloatPair, Floats
from qreplace.produce.threads import single_threaded
from qreplace.produce.worst_inputs import ErrorSearch, error_at
from qreplace.question.maps import Point, PwaMap, rational_point
from qreplace.question.model import FullDomain, Norm
from qreplace.question.piecewise import MAX_PWA_STEPS
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball, Polytope, Region, box_region
from qreplace.question.subject import Subject

Method = Literal["witnesses", "cells", "boxes"]
Progress = Callable[[str, int, int], None]

RELATIVE_WIDTH = Fraction(1, 10**5)
"""Width of a bracket that ends the refinement, relative to its upper end, unless one is given."""
CELLS = 50_000
"""Most cells of one subdivision, unless a number is given."""
BOXES = 2000
"""Most halvings of boxes."""
FIRST_TANGENTS = 16
FIRST_DENOMINATOR = 64
"""Denominators of the first tangents: they only have to be somewhere."""
MOST_PARTS = 4
"""Most parts into which one arc between tangents is cut in a round."""
TURN = 2 * math.pi
FINEST_ARC = 1e-7
"""Arcs in radians that are no longer cut: floats that aim cannot tell their points apart."""
TINY = 1e-300
"""Stands for an allowed width of 0 where something is divided by it."""
MOST_TANGENTS = 2048
"""Most tangents of one polygon; an error equal all around the circle needs about 700 for 1e-5."""
ROUNDS = 24
"""Most polygons that are tried for one disk."""
SCREEN = 1e-6
"""Inputs within this of the float maximum, relative to it, are evaluated exactly."""
CLIMBED = 64
"""Worst vertices from which inputs are searched."""
TRIED = 2
"""Inputs of one search that are evaluated exactly."""
INSIDE = 1e-12
"""Relative distance to the circle from which a vertex counts as inside it."""
MAX_EXACT_INPUTS = 6
"""Most inputs for which cells are enumerated."""


@dataclass(frozen=True)
class Supremum:
    """A bracket with how it was found, and what is left to narrow it."""

    claim: PwaSupremumClaim
    method: Method
    lower: Fraction
    upper: Fraction
    size: int
    """Witnesses, cells or boxes of the cover."""
    remains: str
    """What keeps the bracket open; empty once its width is what was asked."""

    @property
    def width(self) -> Fraction:
        """Upper end minus lower end."""
        return self.upper - self.lower


def produce(
    subject: Subject,
    bits: int,
    which: ScheduleMap | ComparatorMap,
    *,
    width: Fraction | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> PwaSupremumClaim:
    """The narrowest bracket found of the largest error of a map; see ``brackets``."""
    return last_bracket(
        subject, bits, which, width=width, nodes=nodes, seconds=seconds, progress=progress
    ).claim


def last_bracket(
    subject: Subject,
    bits: int,
    which: ScheduleMap | ComparatorMap,
    *,
    width: Fraction | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Supremum:
    """The last of ``brackets``, with what remains."""
    found = None
    steps = brackets(subject, bits, which, width=width, nodes=nodes, seconds=seconds)
    for done, found in enumerate(steps, 1):
        if progress is not None:
            progress("largest error", done, done + bool(found.remains))
    if found is None:
        raise ProducerFailed("no bracket of the largest error was found")
    return found


def brackets(
    subject: Subject,
    bits: int,
    which: ScheduleMap | ComparatorMap,
    *,
    width: Fraction | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Iterator[Supremum]:
    """Brackets of the largest error of a schedule or of the comparator, each inside the last.

    ``width``: the absolute width that is enough, in units of the output; without one it is
    ``RELATIVE_WIDTH`` of the upper end. ``nodes``: most cells of one subdivision, and most halvings
    of boxes. ``seconds``: the clock after which no further round starts. Raises ``ProducerFailed``
    where the question has no such map, or not the inputs that its domain needs.
    """
    task = _Task(subject, bits, which, width, CELLS if nodes is None else nodes, seconds)
    with single_threaded():
        try:
            yield from task.brackets()
        except OverflowError:
            raise ProducerFailed("the numbers are beyond the range of floats") from None


class _Task:
    """One map against the target, with its budgets."""

    def __init__(
        self,
        subject: Subject,
        bits: int,
        which: ScheduleMap | ComparatorMap,
        width: Fraction | None,
        nodes: int,
        seconds: float | None,
    ) -> None:
        self.subject, self.bits, self.which = subject, bits, which
        self.problem = subject.piecewise(bits)
        self.norm: Norm = subject.question.norm
        self.one = _chosen_map(self.problem, which)
        self.other = self.problem.target
        self.maps = (self.one, self.other)
        self.asked, self.nodes, self.seconds = width, nodes, seconds
        self.started = time.monotonic()
        self.lower, self.point = Fraction(-1), (Fraction(0),) * self.problem.inputs
        self.upper: Fraction | None = None
        self.cover: Cover = WitnessCover("witnesses")
        self.cover_size = 0

    def brackets(self) -> Iterator[Supremum]:
        if not isinstance(self.subject.question.domain, FullDomain):
            yield self.on_witnesses()
            return
        region = self.problem.region
        if region is None:
            raise ProducerFailed("the question names no region of inputs")
        if isinstance(region, Ball) and region.inputs == 1:
            region = box_region(*region.box)
        if isinstance(region, Ball) and region.inputs == 2:
            yield from self.on_disk(region)
        elif isinstance(region, Ball) or region.inputs > MAX_EXACT_INPUTS:
            yield self.by_boxes(region, "")
        else:
            try:
                yield self.on_polytope(region)
            except ProducerFailed as error:
                yield self.by_boxes(region, error.message)

    # --- witnesses -------------------------------------------------------------------------------

    def on_witnesses(self) -> Supremum:
        """The worst of all witnesses."""
        witnesses = self.problem.witnesses
        if not witnesses:
            raise ProducerFailed("the question has no witnesses to evaluate the map at")
        point, lower, upper = worst_of(*self.maps, self.norm, witnesses)
        self.raise_lower(lower, point)
        self.lower_upper(upper, WitnessCover("witnesses"), len(witnesses))
        return self.bracket("witnesses", "")

    # --- cells -----------------------------------------------------------------------------------

    def on_polytope(self, region: Polytope) -> Supremum:
        """The worst vertex of all cells; raises ``ProducerFailed`` beyond the budget."""
        cells = self.subdivide(region)
        largest = largest_difference_fast(cells, self.maps, norm=self.norm)
        self.raise_lower(largest.lower, largest.point)
        self.lower_upper(largest.upper, _cell_cover(cells), len(cells.cells))
        return self.bracket("cells", "")

    def subdivide(self, region: Polytope) -> Subdivision:
        """The joint cells of the map and the target."""
        if region.inputs == 2 and region.corners is not None:
            return self.planar(region.corners)
        from qreplace.produce.polytopes import subdivide_polytope

        return subdivide_polytope(self.maps, region, max_cells=self.nodes)

    def planar(self, corners: Sequence[Point]) -> Subdivision:
        """The joint cells on a polygon; raises ``ProducerFailed`` beyond the budget."""
        return subdivide_fast(self.maps, corners, most_cells=self.nodes)

    def on_disk(self, disk: Ball) -> Iterator[Supremum]:
        """Round after round a polygon closer to the disk where its error matters."""
        search = ErrorSearch(*self.maps, self.norm, disk)
        self.try_inputs(search, search.search())
        polygon = around(disk, FIRST_TANGENTS, FIRST_DENOMINATOR)
        remains = ""
        for done in range(ROUNDS):
            try:
                cells = self.planar(polygon.tangent)
            except ProducerFailed as error:
                if self.upper is None:
                    yield self.by_boxes(disk, error.message)
                else:
                    yield self.bracket("cells", error.message)
                return
            largest = largest_difference_fast(cells, self.maps, norm=self.norm)
            self.lower_upper(largest.upper, _cell_cover(cells), len(cells.cells))
            points = _float_vertices(cells)
            errors = search.errors(points)
            self.try_vertices(search, cells, points, errors)
            further = [] if self.met() else self.arcs_to_cut(polygon, points, errors)
            remains = self.open_arcs(polygon, further, last=done == ROUNDS - 1)
            yield self.bracket("cells", remains)
            if not further or self.out_of_time():
                return
            polygon = polygon.with_directions(further)

    def try_vertices(
        self, search: ErrorSearch, cells: Subdivision, points: Floats, errors: Floats
    ) -> None:
        """The worst vertex inside the disk, and bad inputs near the worst ones outside."""
        order = np.argsort(-errors, kind="stable")
        disk = search.region
        well_inside = order[_excess(disk, points[order]) < -INSIDE]
        if well_inside.size and errors[well_inside[0]] > float(self.lower) * (1 - SCREEN):
            vertex = cells.exact.point(int(well_inside[0]))
            if disk.contains(vertex):
                self.raise_lower(search.exact(vertex)[0], vertex)
        self.try_inputs(search, search.climb(points[order[:CLIMBED]]))

    def arcs_to_cut(self, polygon: DiskPolygon, points: Floats, errors: Floats) -> list[Direction]:
        """Directions for further tangents: on every arc with an error beyond what is allowed.

        The excess outside falls with the square of an arc, so an arc whose excess is four times
        what is allowed is cut in two; in ``MOST_PARTS`` at most, since the square is only a guess.
        """
        allowed = float(self.allowed()) / 2
        limit = float(self.lower) + allowed
        bad = np.nonzero((_excess(polygon.disk, points) > 0) & (errors > limit))[0]
        gaps = points[bad] - _center(polygon.disk)
        angles = np.arctan2(gaps[:, 1], gaps[:, 0]) % TURN
        starts = np.array([math.atan2(float(y), float(x)) % TURN for x, y in polygon.directions])
        arcs = (np.searchsorted(starts, angles, side="right") - 1) % len(starts)
        worst = {int(arc): float(errors[bad[arcs == arc]].max()) for arc in np.unique(arcs)}
        found: list[Direction] = []
        for arc, error in sorted(worst.items(), key=lambda item: (-item[1], item[0])):
            start = float(starts[arc])
            length = (float(starts[(arc + 1) % len(starts)]) - start) % TURN
            if length < FINEST_ARC:
                continue
            excess = (error - float(self.lower)) / max(allowed, TINY)
            parts = min(MOST_PARTS, max(2, math.ceil(math.sqrt(min(excess, MOST_PARTS**2)))))
            precise = math.ceil(16 * parts / length)
            for k in range(1, parts):
                angle = start + length * k / parts
                found.append(direction_near(math.cos(angle), math.sin(angle), precise))
        return found[: max(0, MOST_TANGENTS - len(starts))]

    def open_arcs(self, polygon: DiskPolygon, further: Sequence[Direction], *, last: bool) -> str:
        """What the present polygon leaves to narrow, in words."""
        if self.met():
            return ""
        tangents = len(polygon.directions)
        if not further:
            return f"the polygon is too wide, and no tangent beyond its {tangents} is tried"
        spent = ", and the rounds are spent" if last else ""
        spent = ", and the time is spent" if self.out_of_time() else spent
        return (
            f"the polygon of {tangents} tangents is still too wide where {len(further)} more would "
            f"cut it{spent}"
        )

    # --- boxes -----------------------------------------------------------------------------------

    def by_boxes(self, region: Region, because: str) -> Supremum:
        """Halved boxes, as far as the budget goes."""
        from qreplace.produce.input_boxes import bound_by_boxes

        search = ErrorSearch(*self.maps, self.norm, region)
        self.try_inputs(search, search.search())
        found = bound_by_boxes(
            *self.maps,
            region,
            self.norm,
            width=RELATIVE_WIDTH * self.lower if self.asked is None else self.asked,
            nodes=min(self.nodes, BOXES),
            seconds=None if self.seconds is None else max(0.0, self.seconds - self.spent()),
        )
        if found.lower > self.lower:
            self.lower, self.point = found.lower, found.point
        self.lower_upper(found.upper, found.cover, found.boxes)
        remains = "" if self.met() else found.remains
        return self.bracket("boxes", "; ".join(filter(None, (because, remains))))

    # --- keeping the best ------------------------------------------------------------------------

    def try_inputs(self, search: ErrorSearch, points: Floats) -> None:
        """Raise the lower end to the error at the worst of some inputs."""
        for error, point in search.rational(points, TRIED):
            self.raise_lower(error, point)

    def raise_lower(self, error: Fraction, point: Point) -> None:
        """Keep an input where the error is larger than at the one before."""
        if error > self.lower:
            self.lower, self.point = error, rational_point(point)

    def lower_upper(self, upper: Fraction, cover: Cover, size: int) -> None:
        """Keep a cover that shows a smaller upper end than the one before."""
        if self.upper is None or upper < self.upper:
            self.upper, self.cover, self.cover_size = upper, cover, size

    def bracket(self, method: Method, remains: str) -> Supremum:
        """The best bracket so far."""
        if self.upper is None or self.lower < 0:
            raise ProducerFailed("no bracket of the largest error was found")
        claim = PwaSupremumClaim(
            format="qreplace/claim/pwa_supremum/v1",
            subject=self.subject.problem_digest(self.bits),
            code=self.bits,
            map=self.which,
            lower=self.lower,
            point=self.point,
            upper=self.upper,
            cover=self.cover,
        )
        return Supremum(claim, method, self.lower, self.upper, self.cover_size, remains)

    def allowed(self) -> Fraction:
        """The width that is enough."""
        if self.asked is not None:
            return self.asked
        return RELATIVE_WIDTH * (self.upper or Fraction(0))

    def met(self) -> bool:
        """Whether the bracket is narrow enough."""
        return self.upper is not None and self.upper - self.lower <= self.allowed()

    def out_of_time(self) -> bool:
        """Whether the clock has run out."""
        return self.seconds is not None and self.spent() >= self.seconds

    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


def worst_of(
    one: PwaMap, other: PwaMap, norm: Norm, points: Sequence[Point]
) -> tuple[Point, Fraction, Fraction]:
    """The point with the largest error, and the enclosure of that error.

    Floats choose the contenders, which are then compared exactly.
    """
    floats = FloatPair(one, other, norm).errors(_floats(points))
    if np.isfinite(floats).all():
        contenders = np.nonzero(floats >= float(floats.max()) * (1 - SCREEN))[0]
    else:
        contenders = np.arange(len(points))
    best: tuple[Fraction, Fraction, int] | None = None
    for index in map(int, contenders):
        lower, upper = error_at(one, other, norm, points[index])
        if best is None or upper > best[1]:
            best = lower, upper, index
    if best is None:
        raise ProducerFailed("there are no inputs to evaluate the map at")
    return points[best[2]], best[0], best[1]


def _chosen_map(problem: PwaProblem, which: ScheduleMap | ComparatorMap) -> PwaMap:
    if isinstance(which, ScheduleMap):
        atoms = len(problem.fields)
        if not 1 <= len(which.schedule) <= MAX_PWA_STEPS or not all(
            0 <= j < atoms for j in which.schedule
        ):
            raise ProducerFailed(
                f"a schedule has 1 to {MAX_PWA_STEPS} steps, each one of the {atoms} atoms"
            )
        return problem.student(which.schedule)
    if problem.comparator is None:
        raise ProducerFailed("the question has no comparator")
    return problem.comparator


def _cell_cover(cells: Subdivision) -> CellCover:
    return CellCover(
        "cells",
        tuple(map(rational_point, cells.corners)),
        tuple(cells.crossings),
        tuple(cells.cells),
    )


def _float_vertices(cells: Subdivision) -> Floats:
    """Every vertex (n, p) in floats, without the exact ones where that is possible."""
    return cells.place[:, :2] if isinstance(cells, FastSubdivision) else _floats(cells.points())


def _floats(points: Sequence[Point]) -> Floats:
    return np.array([[x / q[-1] for x in q[:-1]] for q in points])


def _center(disk: Ball) -> Floats:
    return np.array([float(c) for c in disk.center])


def _excess(disk: Region, points: Floats) -> Floats:
    """How far outside a disk points are, in units of its radius; negative inside."""
    if not isinstance(disk, Ball):
        raise ProducerFailed("tangents are drawn around disks")
    gap = (points - _center(disk)) / float(disk.radius)
    return np.asarray(np.sqrt((gap**2).sum(axis=1)) - 1.0)

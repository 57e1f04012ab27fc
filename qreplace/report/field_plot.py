"""What the figure of error fields shows: the error over the inputs, the cells, the worst input.

For one or two inputs (theory T8.2; the kind of QR Figure 18). Floats are for drawing only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qreplace.claims.pwa_supremum import (
    CellCover,
    ComparatorMap,
    PwaSupremumClaim,
    ScheduleMap,
)
from qreplace.errors import InputError
from qreplace.exact.rational import approximate
from qreplace.question.maps import Point, PwaMap, crossing, homogeneous
from qreplace.question.model import PwaSystem
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball, Region
from qreplace.question.subject import Subject
from qreplace.report.context import ReportContext
from qreplace.report.decimals import at_least, at_most
from qreplace.report.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

MOST_INPUTS = 2
GRID = 161
"""Points along each side of the drawn grid."""
LINE = 801
CIRCLE = 240
"""Corners of a drawn circle."""
MOST_CELLS = 6000
"""Finer subdivisions are not drawn cell by cell."""

Place = tuple[float, ...]
Edge = tuple[Place, Place]


@dataclass(frozen=True)
class Panel:
    """The error of one map over the inputs, with the claim that bounds it."""

    title: str
    words: str
    axes: tuple[Table, ...]
    """The coordinates along each input."""
    errors: Table
    """The error on their grid, which is a box around the region."""
    border: tuple[Place, ...]
    """The corners of the region, closed; empty for one input."""
    largest: float
    """The largest error that is drawn."""
    edges: tuple[Edge, ...]
    """The borders of the cells; empty where there are none, or too many."""
    worst: Place | None
    upper: float | None


@dataclass(frozen=True)
class FieldPlot:
    """One or two panels on one scale; ``allowed`` is the error that is allowed, if it is known."""

    panels: tuple[Panel, ...]
    allowed: float | None
    words: str


def field_plot(document: Mapping[str, Any], context: ReportContext) -> FieldPlot | None:
    """The figure's data; ``None`` where the inputs cannot be drawn or no claim is about a map."""
    system = context.question.system
    if not isinstance(system, PwaSystem) or system.inputs > MOST_INPUTS:
        return None
    claims = [c for c in context.claims if isinstance(c, PwaSupremumClaim)]
    chosen = _chosen(document, claims)
    if not chosen:
        return None
    try:
        problem = Subject(context.question, context.arrays).piecewise(chosen[0].code)
    except InputError:  # its arrays are not at hand
        return None
    if problem.region is None:
        return None
    panels = tuple(_panel(context, problem, problem.region, claim) for claim in chosen)
    allowed = Fraction(document["tolerance"]["lo"])
    return FieldPlot(
        panels=panels,
        allowed=approximate(allowed) if allowed > 0 else None,
        words=" ".join(panel.words for panel in panels),
    )


def _chosen(
    document: Mapping[str, Any], claims: Sequence[PwaSupremumClaim]
) -> list[PwaSupremumClaim]:
    """The comparator's claim, and that of the planned schedule or else of the closest one."""
    own = [c for c in claims if isinstance(c.map, ComparatorMap)][:1]
    schedules = [
        (c.upper, c.map.schedule, c)
        for c in claims
        if isinstance(c.map, ScheduleMap) and c.upper is not None
    ]
    plan = document["plan"]
    planned = tuple(plan["schedule"] or ()) if plan else ()
    exact = [entry for entry in schedules if entry[1] == planned]
    best = min(exact or schedules, default=None, key=lambda entry: entry[:2])
    return [*own, *([best[2]] if best is not None else [])]


def _panel(
    context: ReportContext, problem: PwaProblem, region: Region, claim: PwaSupremumClaim
) -> Panel:
    name, given = _named(problem, claim)
    axes, errors, largest = _errors(context, problem, region, given)
    few = isinstance(claim.cover, CellCover) and len(claim.cover.cells) <= MOST_CELLS
    edges = _edges(claim.cover, given, problem) if few and problem.inputs == 2 else ()
    return Panel(
        title=name,
        words=_words(name, claim),
        axes=axes,
        errors=errors,
        border=_border(region) if problem.inputs == 2 else (),
        largest=largest,
        edges=edges,
        worst=None if claim.point is None else tuple(map(approximate, claim.point)),
        upper=None if claim.upper is None else approximate(claim.upper),
    )


def _named(problem: PwaProblem, claim: PwaSupremumClaim) -> tuple[str, PwaMap]:
    if isinstance(claim.map, ScheduleMap):
        depth = len(claim.map.schedule)
        return f"schedule of {counted(depth, 'step')}", problem.student(claim.map.schedule)
    if problem.comparator is None:
        raise InputError("the question holds no comparator")
    return f"comparator, {counted(len(problem.comparator.layers), 'step')}", problem.comparator


def _words(name: str, claim: PwaSupremumClaim) -> str:
    ends = []
    if claim.lower is not None:
        ends.append(f"at least {at_least(claim.lower)}")
    if claim.upper is not None:
        ends.append(f"at most {at_most(claim.upper)}")
    cells = ""
    if isinstance(claim.cover, CellCover):
        cells = f", over {counted(len(claim.cover.cells), 'cell')}"
    return f"The largest error of the {name} is {' and '.join(ends)}{cells}."


def _errors(
    context: ReportContext, problem: PwaProblem, region: Region, given: PwaMap
) -> tuple[tuple[Table, ...], Table, float]:
    import numpy as np

    from qreplace.produce.float_maps import FloatPair

    lower, upper = ([approximate(x) for x in side] for side in region.box)
    count = GRID if problem.inputs == 2 else LINE
    axes = tuple(np.linspace(a, b, count) for a, b in zip(lower, upper, strict=True))
    grid = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    values = FloatPair(given, problem.target, context.question.norm).errors(grid)
    largest = float(np.max(values[_inside(region, grid)], initial=0.0))
    return axes, values.reshape((count,) * problem.inputs), largest


def _border(region: Region) -> tuple[Place, ...]:
    """The region's border as a closed polygon."""
    if isinstance(region, Ball):
        x, y = map(approximate, region.center)
        angles = (2 * math.pi * k / CIRCLE for k in range(CIRCLE + 1))
        r = approximate(region.radius)
        return tuple((x + r * math.cos(a), y + r * math.sin(a)) for a in angles)
    corners = region.corners or ()
    return tuple(tuple(x / q[-1] for x in q[:-1]) for q in (*corners, *corners[:1]))


def _inside(region: Region, grid: Table) -> NDArray[np.bool_]:
    """With a hair's breadth of room, so that a drawn border is not eaten by rounding."""
    import numpy as np

    if isinstance(region, Ball):
        center = np.array([approximate(c) for c in region.center])
        limit = approximate(region.radius) * (1 + 1e-9)
        inside: NDArray[np.bool_] = np.linalg.norm(grid - center, axis=1) <= limit
        return inside
    rows = np.array([[float(x) for x in h[:-1]] for h in region.halfspaces])
    limits = np.array([float(h[-1]) for h in region.halfspaces])
    room = 1e-9 * (1 + np.abs(limits))
    everywhere: NDArray[np.bool_] = np.all(grid @ rows.T <= limits + room, axis=1)
    return everywhere


def _edges(cover: object, given: PwaMap, problem: PwaProblem) -> tuple[Edge, ...]:
    """Every border of a cell once."""
    if not isinstance(cover, CellCover):
        return ()
    places = _places(cover, given, problem.target)
    seen: dict[tuple[int, int], None] = {}
    for cell in cover.cells:
        for a, b in zip(cell, (*cell[1:], cell[0]), strict=True):
            seen[min(a, b), max(a, b)] = None
    return tuple((places[a], places[b]) for a, b in seen)


def _places(cover: CellCover, given: PwaMap, target: PwaMap) -> list[Place]:
    """The vertices of a cover, each crossing formed as its checker does."""
    points: list[Point] = [homogeneous(corner) for corner in cover.corners]
    traces = [(given.trace(q), target.trace(q)) for q in points]
    kinks = [(0, given, k) for k in given.kinks] + [(1, target, k) for k in target.kinks]
    for a, b, number in cover.crossings:
        place, pwa, kink = kinks[number]
        at_a = pwa.kink_value(kink, traces[a][place], points[a])
        at_b = pwa.kink_value(kink, traces[b][place], points[b])
        point = crossing(points[a], at_a, points[b], at_b)
        points.append(point)
        traces.append((given.trace(point), target.trace(point)))
    return [tuple(x / q[-1] for x in q[:-1]) for q in points]

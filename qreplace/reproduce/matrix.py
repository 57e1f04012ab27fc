"""QR 10.7, Table 6 and Appendix E: the matrix-valued accuracy-matching instance (theory T8.5).

The paper brackets a supremum over the disk by those over two polygons of 16 rational directions.
Here each supremum over a polygon is a claim of its own, about the question with the polygon as its
region, and so are the minimum on the witnesses and what decides. Then the shipped certificate,
which is about the disk itself, is checked again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from qreplace.claims import Claim
from qreplace.claims.pwa_supremum import ComparatorMap, PwaSupremumClaim, ScheduleMap
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.errors import InputError
from qreplace.produce.cells_fast import subdivide_fast
from qreplace.produce.disk_polygons import DiskPolygon, around, direction_near
from qreplace.produce.pwa_supremum import produce as produce_supremum
from qreplace.produce.schedule_minimum import produce as produce_minimum
from qreplace.question.arrays import inline_array
from qreplace.question.maps import Point, rational_point
from qreplace.question.model import (
    AccuracyMatching,
    FullDomain,
    InlineArray,
    ListedDictionary,
    PolygonRegion,
    PwaAtom,
    PwaSystem,
    Question,
    ScheduleTarget,
    WitnessDomain,
)
from qreplace.question.regions import Ball
from qreplace.question.subject import Subject
from qreplace.reproduce import Entry, Progress
from qreplace.reproduce.instances import shipped_claims, shipped_question
from qreplace.reproduce.proved import ends
from qreplace.reproduce.table import Interval, Row, Table, number

DIRECTIONS = 16
DENOMINATOR = 10**6
BEST_8 = (0, 0, 0, 0, 0, 1, 0, 1)
"""The student of depth 8."""
ANGLES, RADII = 64, 20
"""Of the witnesses."""
HALF_PRECISION_BITS = 16
PUBLISHED = {
    ("F4", "inner"): "0.02443160",
    ("F4", "outer"): "0.02534776",
    ("F8", "inner"): "0.02344455",
    ("F8", "outer"): "0.02416130",
}
PUBLISHED_MINIMUM = "0.02553769"
PUBLISHED_CELLS = {"inner": 2432, "outer": 2504}

Side = Literal["inner", "outer"]
SIDES: tuple[Side, ...] = ("inner", "outer")
MAPS: dict[str, ScheduleMap | ComparatorMap] = {
    "F4": ComparatorMap("comparator"),
    "F8": ScheduleMap("schedule", BEST_8),
}
STAGES = 5


def compute(entry: Entry, progress: Progress) -> Table:
    """The table; every number is a checked claim or an exact count."""
    question = shipped_question()
    disk = Subject(question, {})
    polygon = _polygon(disk)
    progress("parts", 0, STAGES)
    cells = _cell_rows(disk, polygon)
    progress("parts", 1, STAGES)
    suprema = {
        (name, side): _on_polygon(question, _corners(polygon, side), which)
        for name, which in MAPS.items()
        for side in SIDES
    }
    progress("parts", 2, STAGES)
    minimum, minima = _witness_minima(question, suprema["F4", "outer"])
    progress("parts", 3, STAGES)
    beyond, on_disk = _shipped(disk, shipped_claims())
    progress("parts", 4, STAGES)
    rows = [
        *cells,
        *_supremum_rows(suprema),
        number(
            "least of the 128 schedules of depth 7, witnesses",
            minimum,
            "pwa_supremum, schedule_minimum",
            PUBLISHED_MINIMUM,
        ),
        _matching_depth(suprema, minima),
        *_storage(question),
        *beyond,
        on_disk,
    ]
    progress("parts", STAGES, STAGES)
    return Table(
        name="matrix",
        title=entry.title,
        reference=entry.reference,
        given=True,
        instance=(
            "The paper's instance as far as it is given, completed by that of the shipped "
            "certificate matrix-matching: F32 the reference, F4 the high-precision comparator of "
            "depth 4, F8 the low-bit schedule 00000101; unit disk, Euclidean norm; polygons of 16 "
            "rational directions of denominator 10^6; 1,281 witnesses."
        ),
        rows=tuple(rows),
        notes=(
            "Inner values bound a supremum over the disk from below, outer ones from above. An "
            "entry agrees when both ends here round to what is printed there; three of the four "
            "printed end points are rounded to nearest, so as bounds they hold only for the exact "
            "values here.",
            "The count of cells belongs to one convention (a threshold of 0 still cuts at 0). The "
            "rows about the disk are new. The calibrated prediction of depth 9 is not recomputed.",
        ),
    )


# --- polygons -------------------------------------------------------------------------------------


def _polygon(subject: Subject) -> DiskPolygon:
    region = subject.piecewise(0).region
    if not isinstance(region, Ball):
        raise InputError("the matrix instance is about a disk")
    return around(region, DIRECTIONS, DENOMINATOR)


def _corners(polygon: DiskPolygon, side: Side) -> tuple[Point, ...]:
    return polygon.inscribed if side == "inner" else polygon.tangent


def _cell_rows(subject: Subject, polygon: DiskPolygon) -> list[Row]:
    """Counts of the joint cells of F32, F4 and F8."""
    problem = subject.piecewise(0)
    if problem.comparator is None:
        raise InputError("the matrix instance has a comparator")
    maps = [problem.target, problem.comparator, problem.student(BEST_8)]
    rows = []
    for side in SIDES:
        count = len(subdivide_fast(maps, _corners(polygon, side)).cells)
        wanted = PUBLISHED_CELLS[side]
        rows.append(
            Row(
                f"joint cells of F32, F4, F8, {side} polygon",
                str(count),
                "exact enumeration",
                str(wanted),
                count == wanted,
                Interval(Fraction(count), Fraction(count)),
            )
        )
    return rows


def _on_polygon(
    question: Question, corners: Sequence[Point], which: ScheduleMap | ComparatorMap
) -> Interval:
    """The largest error of a map over one polygon, both ends checked."""
    system = question.system
    if not isinstance(system, PwaSystem):
        raise InputError("the matrix instance is piecewise affine")
    values = [value for point in corners for value in rational_point(point)]
    region = PolygonRegion("polygon", inline_array((len(corners), 2), values))
    asked = dataclasses.replace(
        question,
        system=dataclasses.replace(system, region=region),
        domain=FullDomain("full", None, None),
    )
    subject = Subject(asked, {})
    return ends(subject, [produce_supremum(subject, 0, which)])


def _supremum_rows(suprema: dict[tuple[str, Side], Interval]) -> list[Row]:
    return [
        number(
            f"largest |{name} - F32|, {side} polygon",
            suprema[name, side],
            "pwa_supremum",
            PUBLISHED[name, side],
        )
        for name in MAPS
        for side in SIDES
    ]


# --- schedules ------------------------------------------------------------------------------------


def _witness_minima(question: Question, comparator: Interval) -> tuple[Interval, list[bool]]:
    """The least error of depth 7 on the witnesses, and whether each depth to 7 exceeds F4."""
    asked = dataclasses.replace(question, domain=WitnessDomain("witnesses", witness_inputs()))
    subject = Subject(asked, {})
    claim = produce_minimum(subject, 0, 7)
    best = produce_supremum(subject, 0, ScheduleMap("schedule", _best(subject, 7)))
    minimum = Interval(ends(subject, [claim]).lower, ends(subject, [best]).upper)
    exceeds = []
    for depth in range(1, 8):
        lower = ends(subject, [produce_minimum(subject, 0, depth, target=comparator.upper)]).lower
        limit = comparator.upper
        exceeds.append(lower is not None and limit is not None and lower > limit)
    return minimum, exceeds


def witness_inputs() -> InlineArray:
    """The origin, and radii k/20 times rational points of the circle near angles 2 pi j / 64."""
    points = [(Fraction(0), Fraction(0))]
    for j in range(ANGLES):
        angle = 2 * math.pi * j / ANGLES
        x, y = direction_near(math.cos(angle), math.sin(angle), DENOMINATOR)
        points += [(x * k / RADII, y * k / RADII) for k in range(1, RADII + 1)]
    return inline_array((len(points), 2), [value for point in points for value in point])


def _best(subject: Subject, depth: int) -> tuple[int, ...]:
    from qreplace.produce.schedule_search import best_schedule_bnb

    problem = subject.piecewise(0)
    return best_schedule_bnb(
        problem, subject.question.norm, depth, problem.witnesses or ()
    ).schedule


def _matching_depth(suprema: dict[tuple[str, Side], Interval], minima: Sequence[bool]) -> Row:
    """The paper's argument: every depth to 7 is excluded, and depth 8 meets the comparator."""
    upper, lower = suprema["F8", "outer"].upper, suprema["F4", "inner"].lower
    feasible = upper is not None and lower is not None and upper < lower
    excluded = len(minima) == 7 and all(minima)
    found = "8" if feasible and excluded else "not shown"
    eight = Interval(Fraction(8), Fraction(8)) if found == "8" else None
    shown = "pwa_supremum, schedule_minimum (1-7)"
    return Row("matching depth, D_match", found, shown, "8", found == "8", eight)


# --- the shipped certificate ----------------------------------------------------------------------


def _shipped(subject: Subject, claims: Sequence[Claim]) -> tuple[list[Row], Row]:
    """What the shipped claims prove about the disk, and whether they decide."""
    suprema = [claim for claim in claims if isinstance(claim, PwaSupremumClaim)]
    minima = [claim for claim in claims if isinstance(claim, ScheduleMinimumClaim)]

    def bracket(depth: int) -> Interval:
        return ends(subject, [c for c in suprema if _depth(c) == depth])

    comparator, student, seven = bracket(0), bracket(8), bracket(7)
    least = {
        depth: ends(subject, [c for c in minima if c.depth == depth]).lower for depth in range(1, 8)
    }
    rows = [
        number("largest |F4 - F32|, disk", comparator, "pwa_supremum, shipped"),
        number("largest |F8 - F32|, disk", student, "pwa_supremum, shipped"),
        number(
            "least of the 128 schedules of depth 7, disk",
            Interval(least[7], seven.upper),
            "pwa_supremum, schedule_minimum, shipped",
        ),
    ]
    limit, reach = comparator.upper, comparator.lower
    excluded = limit is not None and all(v is not None and v > limit for v in least.values())
    feasible = reach is not None and student.upper is not None and student.upper < reach
    found = "8" if excluded and feasible else "not shown"
    shown = "pwa_supremum, schedule_minimum (1-7), shipped"
    return rows, Row("matching depth on the disk", found, shown, "8", found == "8")


def _depth(claim: PwaSupremumClaim) -> int:
    """The depth of the schedule that a claim is about; 0 for the comparator."""
    return len(claim.map.schedule) if isinstance(claim.map, ScheduleMap) else 0


# --- storage --------------------------------------------------------------------------------------


def _storage(question: Question) -> list[Row]:
    """Bits by the paper's accounting: coefficients of complete atoms, and one symbol a step."""
    dictionary, objective = question.dictionary, question.objective
    if not (
        isinstance(dictionary, ListedDictionary)
        and isinstance(objective, AccuracyMatching)
        and isinstance(objective.comparator, ScheduleTarget)
    ):
        raise InputError("the matrix instance lists its atoms and gives its comparator as a map")
    coefficients = [_coefficients(atom) for atom in dictionary.atoms]
    atoms, steps = objective.comparator.atoms, len(objective.comparator.schedule)
    tied = sum(_coefficients(atom) for atom in atoms) * HALF_PRECISION_BITS
    untied = (
        sum(_coefficients(atoms[j]) for j in objective.comparator.schedule) * HALF_PRECISION_BITS
    )
    low = sum(coefficients) * dictionary.bits + _symbols(len(coefficients), len(BEST_8))
    counted = [
        ("variable low-bit storage, bits", low, "80"),
        ("untied FP16 storage, bits", untied, "576"),
        ("tied-codebook FP16 storage, bits", tied + _symbols(len(atoms), steps), "292"),
    ]
    return [
        Row(
            name,
            str(bits),
            "counted",
            published,
            str(bits) == published,
            Interval(Fraction(bits), Fraction(bits)),
        )
        for name, bits, published in counted
    ]


def _coefficients(atom: object) -> int:
    """Stored scalars of an atom: W, S and one threshold."""
    if not isinstance(atom, PwaAtom) or atom.state_weights is None or atom.thresholds is None:
        raise InputError("an atom of the matrix instance has W, S and a threshold")
    shapes = atom.input_weights.shape, atom.state_weights.shape, atom.thresholds.shape
    return sum(math.prod(shape) for shape in shapes)


def _symbols(atoms: int, depth: int) -> int:
    """Bits that tell ``atoms ** depth`` schedules apart."""
    return int((atoms**depth - 1).bit_length())

"""The matrix-valued accuracy-matching instance of QR 10.7 and Appendix E (2607.23390), exactly.

Published numbers have eight decimals. The paper's inner values are lower bounds and its outer ones
upper bounds; three of the four end points it prints are rounded to nearest, so that what is printed
lies on the wrong side of the exact value. Both are kept here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from lifted_questions import L2
from piecewise_questions import INSTANCE, matrix_question

from qreplace.check.pwa_supremum import check
from qreplace.check.schedule_minimum import check as check_minimum
from qreplace.claims import claim_bytes
from qreplace.claims.pwa_supremum import ComparatorMap, PwaSupremumClaim, ScheduleMap
from qreplace.exact.rational import round_down, round_up
from qreplace.produce.cells import Subdivision, largest_difference, subdivide
from qreplace.produce.disk_polygons import around
from qreplace.produce.float_maps import FloatPair
from qreplace.produce.pwa_supremum import last_bracket
from qreplace.produce.schedule_minimum import produce_domain_minimum
from qreplace.produce.worst_inputs import error_at, worst_points
from qreplace.question.maps import Point, PwaMap, homogeneous
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball
from qreplace.question.subject import Subject

PUBLISHED = {
    ("F4", "inner"): "0.02443160",
    ("F4", "outer"): "0.02534776",
    ("F8", "inner"): "0.02344455",
    ("F8", "outer"): "0.02416130",
}
WITNESS_MINIMUM = "0.02553769"
"""Over the 128 schedules of depth 7."""
CELLS = {"inner": 2432, "outer": 2504}
NEAREST = Fraction(5, 10**9)
BEST_7 = tuple(map(int, INSTANCE["L7_witness_optimum"]))
BEST_8 = tuple(INSTANCE["L8"])
WIDTH = Fraction(1, 10**5)
NARROW = Fraction(1, 10**7)
SIDES = ("inner", "outer")
MAPS = ("F4", "F8")


@cache
def subject() -> Subject:
    """The instance on the unit disk, its 1,281 witnesses beside."""
    return Subject(matrix_question(), {})


def problem() -> PwaProblem:
    return subject().piecewise(0)


def maps() -> list[PwaMap]:
    """F32, F4 and F8, in the order of their joint refinement."""
    found = problem()
    assert found.comparator is not None
    return [found.target, found.comparator, found.student(BEST_8)]


@cache
def cells(side: str) -> Subdivision:
    """The joint cells on the polygon of 16 directions inside or around the disk."""
    disk = problem().region
    assert isinstance(disk, Ball)
    polygon = around(disk, 16)
    corners = polygon.inscribed if side == "inner" else polygon.tangent
    return subdivide(maps(), corners)


@cache
def published_bound(name: str, side: str) -> tuple[Fraction, Fraction]:
    """Enclosure of the supremum over one polygon, exactly as the paper defines it."""
    largest = largest_difference(cells(side), maps(), 1 + MAPS.index(name), 0, norm=L2)
    squared = INSTANCE["results_n16_tan_half_angle_den_1e6"][side][f"{name}_F32_sq"]
    assert largest.value == Fraction(squared)
    return largest.lower, largest.upper


def schedules(depth: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((0, 1), repeat=depth)


@cache
def witness_errors(schedule: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Enclosure of a schedule's error at the witness that floats call its worst: a lower bound."""
    found = problem()
    assert found.witnesses is not None
    student = found.student(schedule)
    errors = FloatPair(student, found.target, L2).errors(witness_floats())
    return error_at(student, found.target, L2, found.witnesses[int(errors.argmax())])


@cache
def witness_floats() -> np.ndarray:
    return np.array([[x / q[-1] for x in q[:-1]] for q in problem().witnesses or ()])


@cache
def supremum(schedule: tuple[int, ...] | None) -> PwaSupremumClaim:
    """The produced claim about a schedule of low-bit atoms, or the comparator."""
    which = ComparatorMap("comparator") if schedule is None else ScheduleMap("schedule", schedule)
    found = last_bracket(subject(), 0, which)
    assert not found.remains
    assert found.width <= WIDTH
    return found.claim


@cache
def ends(claim: PwaSupremumClaim) -> tuple[Fraction, Fraction]:
    """What the checker accepts of a claim."""
    bounds = {bound.side: bound for bound in check(subject(), claim)}
    assert {bound.domain for bound in bounds.values()} == {"full"}
    return bounds["lower"].value, bounds["upper"].value


# --- what the paper prints ------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_the_joint_refinement_has_the_published_cells(side: str) -> None:
    assert len(cells(side).cells) == CELLS[side]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", MAPS)
def test_the_published_end_points(name: str, side: str) -> None:
    lower, upper = published_bound(name, side)
    assert upper - lower < Fraction(1, 10**40)
    assert abs(lower - Fraction(PUBLISHED[name, side])) <= NEAREST


def test_three_of_four_printed_end_points_are_not_rounded_outward() -> None:
    inward = []
    for (name, side), printed in PUBLISHED.items():
        lower, upper = published_bound(name, side)
        holds = Fraction(printed) <= lower if side == "inner" else Fraction(printed) >= upper
        if not holds:
            inward.append((name, side))
    assert inward == [("F4", "outer"), ("F8", "inner"), ("F8", "outer")]


def test_the_witness_minimum_at_depth_7() -> None:
    """Every schedule errs by at least this somewhere on the witnesses, and one by no more."""
    lowest = min(schedules(7), key=lambda schedule: witness_errors(schedule)[0])
    lower, upper = witness_errors(lowest)
    assert lowest == BEST_7
    assert abs(lower - Fraction(WITNESS_MINIMUM)) <= NEAREST
    found = problem()
    student = found.student(BEST_7)
    assert all(
        error_at(student, found.target, L2, point)[1] <= upper for point in found.witnesses or ()
    )


def test_what_decides() -> None:
    """F8 beats the comparator on the whole disk, and no schedule of depth 7 or less does."""
    assert published_bound("F8", "outer")[1] < published_bound("F4", "inner")[0]
    comparator = published_bound("F4", "outer")[1]
    for depth in range(1, 8):
        lowest = min(witness_errors(schedule)[0] for schedule in schedules(depth))
        assert lowest > comparator, depth


# --- how the instance is made -------------------------------------------------------------------


def switched(depth: int) -> list[int]:
    """Atom 1 where ``3/10 <= k / depth < 13/20``."""
    return [int(Fraction(3, 10) <= Fraction(k, depth) < Fraction(13, 20)) for k in range(depth)]


def nearest_level(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The nearest of 16 uniform levels; the lower one on a tie."""
    levels = [low + (high - low) * k / 15 for k in range(16)]
    return min(levels, key=lambda level: (abs(level - value), level))


def test_reference_and_comparator_are_one_law() -> None:
    assert switched(32) == INSTANCE["H32"]
    assert switched(4) == INSTANCE["H4"]


def test_the_low_bit_atoms_are_the_rounded_high_precision_ones() -> None:
    reach = {"W": Fraction(13, 20), "S": Fraction(1, 10)}
    for high, low in zip(INSTANCE["high_atoms"], INSTANCE["low_atoms"], strict=True):
        for name, bound in reach.items():
            for row, rounded in zip(high[name], low[name], strict=True):
                found = [nearest_level(Fraction(entry), -bound, bound) for entry in row]
                assert found == list(map(Fraction, rounded))
        level = nearest_level(Fraction(high["lambda"]), Fraction(0), Fraction(7, 10))
        assert level == Fraction(low["lambda"])


def test_storage() -> None:
    """Codebook and schedule, against FP16 parameters of every step and of the two atoms."""
    parameters = sum(len(row) for name in "WS" for row in INSTANCE["low_atoms"][0][name]) + 1
    atoms = len(INSTANCE["low_atoms"])
    assert 4 * atoms * parameters == 72
    assert 4 * atoms * parameters + len(BEST_8) == 80
    assert 16 * len(INSTANCE["H4"]) * parameters == 576
    assert 16 * atoms * parameters + len(INSTANCE["H4"]) == 292


# --- beyond the paper -----------------------------------------------------------------------------


def test_the_comparator_on_the_disk_to_five_digits() -> None:
    lower, upper = ends(supremum(None))
    assert round_down(lower, 30) >= Fraction("0.0246702")
    assert round_up(upper, 30) <= Fraction("0.0246706")
    assert published_bound("F4", "inner")[0] < lower
    assert upper < published_bound("F4", "outer")[0]


def test_the_best_schedule_of_depth_8_on_the_disk_to_five_digits() -> None:
    lower, upper = ends(supremum(BEST_8))
    assert lower >= Fraction("0.0238574")
    assert upper <= Fraction("0.0238576")
    assert published_bound("F8", "inner")[0] < lower
    assert upper < published_bound("F8", "outer")[0]


@cache
def least(depth: int) -> Fraction:
    """A lower end of the error of every schedule of one depth, on the whole disk."""
    (bound,) = check_minimum(subject(), produce_domain_minimum(subject(), 0, depth, NARROW))
    assert (bound.domain, bound.covers) == ("full", "every_schedule")
    return bound.value


def test_the_whole_disk_minimum_at_depth_7_to_five_digits() -> None:
    """Below by inputs chosen for each schedule, above by the largest error of the best one."""
    best_lower, upper = ends(supremum(BEST_7))
    lower = least(7)
    assert lower >= Fraction("0.02553938")
    assert upper <= Fraction("0.02553957")
    assert lower <= best_lower <= upper
    assert upper - lower <= WIDTH


@pytest.mark.parametrize("depth", range(1, 7))
def test_the_whole_disk_minimum_at_smaller_depths(depth: int) -> None:
    """No schedule is as good as the comparator, whose error is known to five digits."""
    assert least(depth) > ends(supremum(None))[1]


def test_worst_points_of_single_schedules_tell_the_same() -> None:
    """A witness already shows that nearly every schedule of depth 7 is worse than the best one."""
    found = problem()
    _, upper = ends(supremum(BEST_7))
    lower = min(
        witness
        if (witness := witness_errors(schedule)[0]) > upper
        else max(errors_at(schedule, chosen_inputs(found, schedule)))
        for schedule in schedules(7)
    )
    assert abs(lower - least(7)) < NARROW


def chosen_inputs(found: PwaProblem, schedule: Sequence[int]) -> list[Point]:
    """Rational inputs of the disk at which the schedule is bad."""
    points = [homogeneous(point) for point in worst_points(found, L2, schedule, count=2)]
    assert all(found.region is not None and found.region.contains(point) for point in points)
    return points


def errors_at(schedule: Sequence[int], points: Sequence[Point]) -> list[Fraction]:
    found = problem()
    student = found.student(schedule)
    return [error_at(student, found.target, L2, point)[0] for point in points]


@pytest.mark.parametrize("schedule", [None, BEST_7, BEST_8], ids=["F4", "F7", "F8"])
def test_claims_stay_small(schedule: tuple[int, ...] | None) -> None:
    assert len(claim_bytes(supremum(schedule))) < 200_000

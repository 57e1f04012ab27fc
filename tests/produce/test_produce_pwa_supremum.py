"""Produced brackets of the largest error: accepted, around the truth, and only ever narrower."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from dynamic_questions import matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, vector, weighted_linf
from piecewise_questions import UNIT_DISK, atom, box, pwa_question, reference

from qreplace.check.pwa_supremum import check
from qreplace.claims.pwa_supremum import BoxCover, CellCover, ComparatorMap, ScheduleMap
from qreplace.errors import ProducerFailed
from qreplace.produce import pwa_supremum
from qreplace.produce.pwa_supremum import RELATIVE_WIDTH, Supremum, brackets, last_bracket, produce
from qreplace.produce.worst_inputs import ErrorSearch, error_at
from qreplace.question.maps import homogeneous
from qreplace.question.model import BallRegion, InputRegion, Norm, PolygonRegion, Question
from qreplace.question.piecewise import PolytopeRegion
from qreplace.question.subject import Subject

FIRST = ScheduleMap("schedule", (0,))


def linear(weights: Sequence[Sequence[Any]], norm: Norm = L2, **fields: Any) -> Subject:
    """``y -> W y`` against 0, on the unit disk unless said otherwise."""
    inputs, outputs = len(weights[0]), len(weights)
    target = reference([atom([[0] * inputs] * outputs)], [0])
    question = pwa_question(
        [atom(weights)], target, dimension=outputs, inputs=inputs, norm=norm, **fields
    )
    return Subject(question, {})


def accepted(subject: Subject, found: Supremum, domain: str = "full") -> tuple[Fraction, Fraction]:
    """The ends that the checker reads from a bracket."""
    bounds = {bound.side: bound for bound in check(subject, found.claim)}
    assert {bound.domain for bound in bounds.values()} == {domain}
    assert (bounds["lower"].value, bounds["upper"].value) == (found.lower, found.upper)
    return found.lower, found.upper


def narrow(found: Supremum) -> bool:
    return found.width <= RELATIVE_WIDTH * found.upper


# --- disks ----------------------------------------------------------------------------------------


def test_the_largest_stretch_of_a_matrix() -> None:
    """Singular values 2/5 and 3/10: the disk is stretched most along the second axis."""
    subject = linear([["3/10", 0], [0, "2/5"]])
    found = last_bracket(subject, 0, FIRST)
    lower, upper = accepted(subject, found)
    assert lower <= Fraction(2, 5) <= upper
    assert narrow(found)
    assert not found.remains


@pytest.mark.parametrize(("norm", "largest"), [(L1, math.sqrt(2)), (LINF, 1.0)], ids=["l1", "linf"])
def test_other_norms_on_a_disk(norm: Norm, largest: float) -> None:
    subject = linear([[1, 0], [0, 1]], norm)
    found = last_bracket(subject, 0, FIRST)
    lower, upper = accepted(subject, found)
    assert float(lower) - 1e-15 <= largest <= float(upper) + 1e-15
    assert narrow(found)


def test_a_disk_elsewhere() -> None:
    """About (3, 4) with radius 5/2 the largest norm is 15/2, in the direction of the center."""
    region = BallRegion("ball", vector([3, 4]), Fraction(5, 2))
    subject = linear([[1, 0], [0, 1]], region=region)
    found = last_bracket(subject, 0, FIRST)
    lower, upper = accepted(subject, found)
    assert lower <= Fraction(15, 2) <= upper
    assert narrow(found)


def test_an_error_that_is_the_same_all_around() -> None:
    """A rotation: no arc can be left out, so tangents are needed everywhere."""
    subject = linear([["3/5", "-4/5"], ["4/5", "3/5"]])
    found = last_bracket(subject, 0, FIRST, width=Fraction(1, 1000))
    lower, upper = accepted(subject, found)
    assert lower <= 1 <= upper
    assert upper - lower <= Fraction(1, 1000)


def test_a_peak_inside_needs_no_better_polygon() -> None:
    """``1 - |x| - |y|`` peaks at the origin, a vertex of the cells, and falls below 0 to -1/2."""
    hill = atom(
        [[1, 0], [-1, 0], [0, 1], [0, -1]],
        activation="relu",
        output=[[-1, -1, -1, -1]],
        offset=[1],
    )
    flat = reference([atom([[0, 0]])], [0])
    region = BallRegion("ball", vector(["1/10", "-1/10"]), Fraction(1))
    subject = Subject(pwa_question([hill], flat, dimension=1, region=region), {})
    found = list(brackets(subject, 0, FIRST))
    assert len(found) == 1
    assert accepted(subject, found[0]) == (1, 1)
    assert found[0].claim.point == (0, 0)


def test_equal_maps() -> None:
    subject = linear([[0, 0], [0, 0]])
    found = last_bracket(subject, 0, FIRST)
    assert accepted(subject, found) == (0, 0)
    assert not found.remains


def test_brackets_are_nested() -> None:
    subject = linear([["1/3", "1/4"], ["-1/5", "1/2"]])
    found = list(brackets(subject, 0, FIRST))
    assert len(found) >= 3
    for before, after in itertools.pairwise(found):
        assert before.lower <= after.lower
        assert after.upper <= before.upper
        assert before.remains
    assert found[-1].width < found[0].width
    assert not found[-1].remains


def test_no_width_is_ever_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for width 0, the refinement ends with the tangents it may use."""
    monkeypatch.setattr(pwa_supremum, "MOST_TANGENTS", 40)
    subject = linear([["3/5", "-4/5"], ["4/5", "3/5"]])
    found = last_bracket(subject, 0, FIRST, width=Fraction(0))
    lower, upper = accepted(subject, found)
    assert lower <= 1 < upper
    assert found.remains == "the polygon is too wide, and no tangent beyond its 40 is tried"


def test_the_clock_stops_refinement() -> None:
    subject = linear([["1/3", "1/4"], ["-1/5", "1/2"]])
    found = last_bracket(subject, 0, FIRST, seconds=0)
    accepted(subject, found)
    assert not narrow(found)
    assert found.remains.endswith("and the time is spent")


def test_progress_is_told() -> None:
    said: list[tuple[str, int, int]] = []

    def told(what: str, done: int, total: int) -> None:
        said.append((what, done, total))

    produce(linear([["1/3", "1/4"], ["-1/5", "1/2"]]), 0, FIRST, progress=told)
    assert [done for _, done, _ in said] == list(range(1, len(said) + 1))
    assert said[-1][1] == said[-1][2]


# --- systems with kinks ---------------------------------------------------------------------------


def switched(dimension: int, inputs: int, **fields: Any) -> Question:
    """Two soft-threshold atoms against two steps of a third one."""
    rows = [[Fraction(i - 2 * j + 1, 4) for j in range(inputs)] for i in range(dimension)]
    other = [[Fraction(2 * i + j - 1, 5) for j in range(inputs)] for i in range(dimension)]
    state = [[Fraction(1 - i - j, 6) for j in range(dimension)] for i in range(dimension)]
    atoms = [atom(rows, state, thresholds=["1/5"]), atom(other, state, thresholds=["1/10"])]
    target = reference([atom(other, state, thresholds=["1/4"])], [0, 0])
    return pwa_question(atoms, target, dimension=dimension, inputs=inputs, **fields)


POLYTOPES: dict[str, tuple[int, InputRegion]] = {
    "triangle": (2, PolygonRegion("polygon", matrix([[-1, -1], [1, "-1/2"], [0, 1]]))),
    "square": (2, box([-1, "-1/2"], [1, 1])),
    "half-spaces": (
        2,
        PolytopeRegion(
            "polytope", matrix([[1, 0], [-1, 0], [1, 2], [-1, -3]]), vector([1, 1, 2, 2])
        ),
    ),
    "interval": (1, box([-1], [2])),
    "segment": (1, BallRegion("ball", vector(["1/2"]), Fraction(3, 2))),
    "cube": (3, box([-1] * 3, [1] * 3)),
}


@pytest.mark.parametrize("norm", [L2, L1, weighted_linf(1, "1/3")], ids=["l2", "l1", "weighted"])
@pytest.mark.parametrize("name", POLYTOPES)
def test_polytopes_are_exact(name: str, norm: Norm) -> None:
    """The two ends are the enclosure of one norm, at the same vertex."""
    inputs, region = POLYTOPES[name]
    subject = Subject(switched(2, inputs, region=region, norm=norm), {})
    found = last_bracket(subject, 0, ScheduleMap("schedule", (0, 1)))
    lower, upper = accepted(subject, found)
    assert found.method == "cells"
    assert upper > 0
    assert upper - lower <= upper / 10**40


def test_an_interval_and_a_ball_of_one_input_agree() -> None:
    found = []
    for name in ("interval", "segment"):
        subject = Subject(switched(2, 1, region=POLYTOPES[name][1]), {})
        found.append(last_bracket(subject, 0, ScheduleMap("schedule", (1, 0))))
    assert (found[0].lower, found[0].upper) == (found[1].lower, found[1].upper)


@pytest.mark.parametrize(
    ("inputs", "region"),
    [(3, BallRegion("ball", None, Fraction(1))), (7, box([-1] * 7, [1] * 7))],
    ids=["ball", "seven inputs"],
)
def test_beyond_cells_there_are_boxes(inputs: int, region: InputRegion) -> None:
    subject = Subject(switched(2, inputs, region=region), {})
    which = ScheduleMap("schedule", (0, 1))
    wide = last_bracket(subject, 0, which, nodes=2)
    better = last_bracket(subject, 0, which, nodes=40)
    for found in (wide, better):
        accepted(subject, found)
        assert found.method == "boxes"
        assert isinstance(found.claim.cover, BoxCover)
    assert "boxes" in wide.remains
    assert wide.lower <= better.upper
    assert better.width < wide.width


@pytest.mark.parametrize("name", ["square", "cube", "disk"])
def test_more_cells_than_allowed(name: str) -> None:
    inputs, region = POLYTOPES.get(name, (2, UNIT_DISK))
    subject = Subject(switched(2, inputs, region=region), {})
    which = ScheduleMap("schedule", (0, 1))
    exact = last_bracket(subject, 0, which)
    found = last_bracket(subject, 0, which, nodes=6)
    accepted(subject, found)
    assert found.method == "boxes"
    assert "cells" in found.remains
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


ENTRIES = st.fractions(min_value=-1, max_value=1, max_denominator=6)
LEVELS = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=8)
PAIRS = st.lists(st.lists(ENTRIES, min_size=2, max_size=2), min_size=2, max_size=2)
ATOMS = st.builds(
    lambda weights, state, level, relu: atom(
        weights,
        state,
        activation="relu" if relu else "soft_threshold",
        thresholds=None if relu else [level],
    ),
    PAIRS,
    PAIRS,
    LEVELS,
    st.booleans(),
)
SCHEDULES = st.lists(st.integers(0, 1), min_size=1, max_size=3).map(tuple)


@settings(max_examples=25)
@given(
    st.lists(ATOMS, min_size=2, max_size=2),
    ATOMS,
    SCHEDULES,
    st.sampled_from([UNIT_DISK, box([-1, 0], [1, "3/2"])]),
    st.sampled_from([L2, L1, LINF]),
)
def test_random_systems(
    atoms: list[Any], target: Any, schedule: tuple[int, ...], region: InputRegion, norm: Norm
) -> None:
    """Every bracket is accepted, and no input of a dense sample errs by more than its upper end."""
    question = pwa_question(
        atoms, reference([target], [0, 0]), dimension=2, region=region, norm=norm
    )
    subject = Subject(question, {})
    which = ScheduleMap("schedule", schedule)
    found = last_bracket(subject, 0, which, width=Fraction(1, 100))
    lower, upper = accepted(subject, found)
    assert upper - lower <= Fraction(1, 100)
    problem = subject.piecewise(0)
    assert problem.region is not None
    student = problem.student(schedule)
    for i, j in itertools.product(range(-10, 16), repeat=2):
        point = homogeneous([Fraction(i, 10), Fraction(j, 10)])
        if problem.region.contains(point):
            assert error_at(student, problem.target, norm, point)[0] <= upper
    search = ErrorSearch(student, problem.target, norm, problem.region)
    assert all(error <= upper for error, _ in search.rational(search.search(), 3))


# --- witnesses, comparators, and what is not there ------------------------------------------------

WITNESSES: list[list[Any]] = [[1, 0], ["1/2", "-1/3"], [0, -1], ["-1/2", "3/4"], [0, 0]]


def test_witnesses_are_evaluated_one_by_one() -> None:
    question = switched(2, 2, witnesses=WITNESSES, full=False, region=None)
    subject = Subject(question, {})
    problem = subject.piecewise(0)
    which = ScheduleMap("schedule", (0, 1, 1))
    found = last_bracket(subject, 0, which)
    lower, upper = accepted(subject, found, "witnesses")
    student = problem.student(which.schedule)
    errors = [
        error_at(student, problem.target, L2, homogeneous(list(map(Fraction, row))))
        for row in WITNESSES
    ]
    assert (lower, upper) == max(errors, key=lambda enclosed: enclosed[1])
    assert found.claim.point in [tuple(map(Fraction, row)) for row in WITNESSES]


def test_witnesses_on_which_nothing_errs() -> None:
    question = pwa_question(
        [atom([[0, 0]])],
        reference([atom([[0, 0]])], [0]),
        dimension=1,
        witnesses=WITNESSES,
        full=False,
        region=None,
    )
    subject = Subject(question, {})
    assert accepted(subject, last_bracket(subject, 0, FIRST), "witnesses") == (0, 0)


def test_the_comparator_is_a_map_too() -> None:
    comparator = reference([atom([["1/2", 0], [0, "1/4"]])], [0])
    subject = linear([[1, 0], [0, 1]], comparator=comparator)
    found = last_bracket(subject, 0, ComparatorMap("comparator"))
    lower, upper = accepted(subject, found)
    assert lower <= Fraction(1, 2) <= upper
    assert {bound.quantity for bound in check(subject, found.claim)} == {"comparator_error"}


@pytest.mark.parametrize("schedule", [(), (0, 1), (-1,)], ids=["empty", "no atom", "negative"])
def test_schedules_that_are_none(schedule: tuple[int, ...]) -> None:
    with pytest.raises(ProducerFailed, match="each one of the 1 atoms"):
        produce(linear([[1, 0]]), 0, ScheduleMap("schedule", schedule))


def test_without_a_comparator() -> None:
    with pytest.raises(ProducerFailed, match="no comparator"):
        produce(linear([[1, 0]]), 0, ComparatorMap("comparator"))


def test_numbers_beyond_floats() -> None:
    with pytest.raises(ProducerFailed, match="beyond the range of floats"):
        produce(linear([[10**400, 0]]), 0, FIRST)


def test_cells_do_not_need_floats() -> None:
    subject = linear([[1, 0]], LINF, region=box([0, 0], [10**400, 1]))
    assert accepted(subject, last_bracket(subject, 0, FIRST)) == (10**400, 10**400)


def test_cells_of_a_claim_are_compact() -> None:
    subject = Subject(switched(2, 2), {})
    cover = produce(subject, 0, ScheduleMap("schedule", (0, 1, 0, 1))).cover
    assert isinstance(cover, CellCover)
    assert all(len(str(x.denominator)) < 30 for corner in cover.corners for x in corner)

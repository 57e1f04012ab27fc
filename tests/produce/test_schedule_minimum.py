"""Searches of schedules find the true minimum, and what is claimed about it is never too much."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L2, LINF, vector
from numpy.typing import NDArray
from piecewise_questions import (
    atom,
    box,
    instance_atoms,
    matrix_question,
    pwa_question,
    reference,
)
from random_schedules import exact_error, exact_minimum, questions

from qreplace.check.schedule_minimum import check
from qreplace.claims.schedule_minimum import BRANCH
from qreplace.errors import ProducerFailed
from qreplace.produce import schedule_minimum, schedule_search
from qreplace.produce.float_schedules import FloatSchedules
from qreplace.produce.prefix_kernels import continuation_bound, scratch
from qreplace.produce.schedule_kernels import errors_at
from qreplace.produce.schedule_minimum import produce, produce_domain_minimum
from qreplace.produce.schedule_pruning import functionals_at
from qreplace.produce.schedule_search import (
    Search,
    best_schedule_bnb,
    enumerate_schedules,
    first_inputs,
    good_schedule,
    local_search,
    optimisation_gap,
)
from qreplace.question.maps import homogeneous
from qreplace.question.model import Question
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.state_boxes import Continuations
from qreplace.question.subject import Subject

PUBLISHED = Fraction("0.0255376910274")
"""The witness minimum over the 128 schedules of depth 7 (theory T8.5)."""
OPTIMA = {5: "00001", 6: "010010", 7: "0100001", 8: "00000101", 9: "000000011"}


def instance(*, full: bool = False) -> Subject:
    return Subject(matrix_question(full=full), {})


def words(subject: Subject, depth: int) -> list[tuple[int, ...]]:
    count = len(subject.piecewise(0).fields)
    return list(itertools.product(range(count), repeat=depth))


# --- searches -------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(questions(), st.integers(1, 6))
def test_both_searches_find_the_minimum(question: Question, depth: int) -> None:
    about = Subject(question, {})
    problem, norm = about.piecewise(0), question.norm
    depth = min(depth, 6 if len(problem.fields) == 2 else 3)
    truth = exact_minimum(problem, norm, depth)
    for search in (enumerate_schedules, best_schedule_bnb):
        found = search(problem, norm, depth, problem.witnesses or ())
        assert found.decided
        assert (found.lower, found.upper) == (truth.lower, truth.upper)
        assert found.schedule == truth.schedule
        at_worst = exact_error(problem, norm, found.schedule, found_point(about, found.worst))
        assert at_worst == (found.lower, found.upper)


def found_point(about: Subject, index: int) -> tuple[int, ...]:
    witnesses = about.piecewise(0).witnesses
    assert witnesses is not None
    return witnesses[index]


@settings(max_examples=20)
@given(questions(), st.integers(1, 4))
def test_the_rounding_of_floats_is_bounded(question: Question, depth: int) -> None:
    """Every error of every schedule, against the exact one."""
    about = Subject(question, {})
    problem = about.piecewise(0)
    points = problem.witnesses or ()
    schedules = FloatSchedules.of(problem, question.norm, depth, points)
    every = words(about, depth)[:24]
    values = errors_at(
        schedules.atoms,
        schedules.measure,
        schedules.chunks(range(len(points))),
        np.array(every, dtype=np.int64),
    )
    assert schedules.off.error < Fraction(1, 10**11)
    for row, schedule in zip(values, every, strict=True):
        for value, point in zip(row, points, strict=False):
            low, high = exact_error(problem, question.norm, schedule, point)
            assert low - schedules.off.error <= Fraction(float(value))
            assert Fraction(float(value)) <= high + schedules.off.error


@settings(max_examples=25)
@given(questions(), st.integers(1, 3))
def test_pruning_functionals_never_exceed_an_error(question: Question, depth: int) -> None:
    about = Subject(question, {})
    problem = about.piecewise(0)
    schedules = FloatSchedules.of(problem, question.norm, depth, problem.witnesses or ())
    point = schedules.points[0]
    rows, constants = functionals_at(schedules, 0)
    exact = Continuations(problem, question.norm, depth, point)
    for schedule in words(about, depth):
        error = float(exact_error(problem, question.norm, schedule, point)[1])
        state = exact.initial
        for q in range(depth + 1):
            z = np.array([float(Fraction(low, 1 << 128)) for low, _ in state])
            assert (rows[q] @ z + constants[q]).max() <= error + 1e-12 * (1 + np.abs(rows).max())
            if q < depth:
                state = exact.advance(state, schedule[q])


@settings(max_examples=25)
@given(questions(), st.integers(1, 4), st.integers(0, 3))
def test_the_compiled_bound_is_about_the_exact_one(
    question: Question, depth: int, done: int
) -> None:
    """Both take the same directions, so that trees proposed by floats are accepted."""
    about = Subject(question, {})
    problem = about.piecewise(0)
    schedules = FloatSchedules.of(problem, question.norm, depth, problem.witnesses or ())
    exact = Continuations(problem, question.norm, depth, schedules.points[0])
    prefix = [0, 1, 0][: min(done, depth)]
    state = exact.initial
    for j in prefix:
        state = exact.advance(state, j)
    bound = exact.distance(state, depth - len(prefix))
    z = np.array([float(Fraction(low, 1 << 128)) for low, _ in state])
    room = scratch(depth, len(problem.fields), schedules.base.shape[2], problem.dimension)
    near = continuation_bound(
        schedules.atoms,
        schedules.measure,
        schedules.base[0],
        schedules.goal[0],
        z,
        depth - len(prefix),
        np.inf,
        room,
    )
    truth = min(
        float(exact_error(problem, question.norm, tuple(prefix) + tail, schedules.points[0])[1])
        for tail in itertools.product(range(len(problem.fields)), repeat=depth - len(prefix))
    )
    assert near <= truth + 1e-9
    if len(prefix) == depth:
        assert abs(near - float(bound)) < 1e-9


@pytest.mark.parametrize("depth", sorted(OPTIMA))
def test_the_matrix_instance(depth: int) -> None:
    problem = instance().piecewise(0)
    found = best_schedule_bnb(problem, L2, depth, problem.witnesses or ())
    assert "".join(map(str, found.schedule)) == OPTIMA[depth]
    if depth == 7:
        assert abs(found.lower - PUBLISHED) < Fraction(1, 10**12)
        assert found == enumerate_fields(found, problem.witnesses or (), depth)


def enumerate_fields(
    like: schedule_search.BestSchedule, points: tuple[tuple[int, ...], ...], depth: int
) -> schedule_search.BestSchedule:
    """The enumeration's answer with the other search's count of nodes."""
    found = enumerate_schedules(instance().piecewise(0), L2, depth, points)
    return dataclasses.replace(found, nodes=like.nodes)


def test_branch_and_bound_sees_a_small_part_of_the_schedules() -> None:
    problem = instance().piecewise(0)
    points = problem.witnesses or ()
    pruned = best_schedule_bnb(problem, L2, 12, points)
    every = enumerate_schedules(problem, L2, 12, points)
    assert pruned.schedule == every.schedule and pruned.lower == every.lower
    assert every.nodes > 2**12 > 4 * pruned.nodes


def twins() -> Subject:
    """Two equal atoms: every schedule has the same error."""
    question = pwa_question(
        [atom([[1]]), atom([[1]])],
        reference([atom([["1/2"]])], (0,)),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1], ["1/2"]],
        full=False,
        norm=LINF,
    )
    return Subject(question, {})


def test_equal_schedules_are_all_contenders_and_the_first_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = twins().piecewise(0)
    found = enumerate_schedules(problem, LINF, 6, problem.witnesses or ())
    assert found.schedule == (0,) * 6 and found.decided
    monkeypatch.setattr(schedule_search, "MAX_CONTENDERS", 10)
    short = enumerate_schedules(problem, LINF, 6, problem.witnesses or ())
    assert not short.decided
    assert short.lower < found.lower == found.upper == short.upper
    assert found.lower - short.lower < Fraction(1, 10**12)


# --- local search ---------------------------------------------------------------------------------


def test_no_single_change_improves_what_local_search_ends_at() -> None:
    problem = instance().piecewise(0)
    points = (problem.witnesses or ())[::16]
    for schedule, value in local_search(problem, L2, 6, points, 3, seed=5):
        assert value == pytest.approx(error(problem, schedule, points), abs=1e-12)
        for k, j in itertools.product(range(6), range(2)):
            changed = (*schedule[:k], j, *schedule[k + 1 :])
            assert error(problem, changed, points) >= value - 1e-12


def error(
    problem: PwaProblem, schedule: tuple[int, ...], points: tuple[tuple[int, ...], ...]
) -> float:
    return max(float(exact_error(problem, L2, schedule, p)[1]) for p in points)


def test_the_gap_of_local_search_to_the_exhaustive_optimum() -> None:
    """A target that one schedule of the dictionary nearly reaches (QR Figure 23's kind)."""
    low = instance_atoms("low")
    moved = [dataclasses.replace(one, offset=vector(["1/10000", 0])) for one in low]
    question = pwa_question(
        low,
        reference(moved, (0, 0, 1, 0, 1, 1, 0, 1, 0, 0)),
        dimension=2,
        witnesses=[[1, 0], [0, 1], ["3/5", "4/5"], ["-3/5", "4/5"], ["1/2", "-1/2"]],
        full=False,
    )
    problem = Subject(question, {}).piecewise(0)
    points = problem.witnesses or ()
    balanced = (0, 1, 0, 0, 1, 0, 1, 0, 0, 1)
    gap = optimisation_gap(problem, L2, 10, points, 16, seed=1, balanced=balanced)
    assert gap.optimum == enumerate_schedules(problem, L2, 10, points)
    assert list(gap.local) == sorted(gap.local) and len(gap.local) == 16
    assert 1 - 1e-12 <= gap.best_ratio <= gap.median_ratio
    assert gap.optimum.schedule == (0, 0, 1, 0, 1, 1, 0, 1, 0, 0)
    assert gap.median_ratio > 10
    assert gap.balanced is not None and gap.balanced >= float(gap.optimum.lower)
    assert gap.balanced == pytest.approx(error(problem, balanced, points), abs=1e-12)
    exact = pwa_question(
        low, reference(low, (0, 1, 0)), dimension=2, witnesses=[[1, 0]], full=False
    )
    met = Subject(exact, {}).piecewise(0)
    with pytest.raises(ProducerFailed, match="no ratio"):
        optimisation_gap(met, L2, 3, met.witnesses or (), 2, seed=1)


# --- claims ---------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(questions(), st.integers(1, 4), st.integers(0, 4))
def test_claims_are_accepted_and_reach_the_minimum(
    question: Question, depth: int, share: int
) -> None:
    about = Subject(question, {})
    problem = about.piecewise(0)
    depth = depth if len(problem.fields) == 2 else min(depth, 3)
    truth = exact_minimum(problem, question.norm, depth)
    claim = produce(about, 0, depth)
    assert check(about, claim)[0].value == claim.lower
    assert truth.lower - Fraction(1, 1 << 100) <= claim.lower <= truth.upper
    target = truth.lower * share / 4
    less = produce(about, 0, depth, target=target) if share < 4 else claim
    assert target <= less.lower + Fraction(1, 1 << 100) and less.lower <= truth.upper
    assert check(about, less)[0].value == less.lower
    assert len(less.tree) <= len(claim.tree)


def test_a_target_above_the_minimum_is_refused() -> None:
    with pytest.raises(ProducerFailed, match=r"the schedule \(0, 1, 0, 0, 0, 0, 1\) errs by"):
        produce(instance(), 0, 7, target=PUBLISHED + Fraction(1, 10**6))
    claim = produce(instance(), 0, 7, target=Fraction("0.0253477615406"))
    assert Fraction("0.0253477615406") < claim.lower < PUBLISHED


def test_leaves_that_floats_believed_too_much_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever tree is proposed, every leaf is bounded exactly."""
    about = instance()

    def hopeful(*_: object) -> NDArray[np.int64]:
        return np.array([BRANCH, 0, 0], dtype=np.int64)

    monkeypatch.setattr(schedule_minimum, "prefix_tree", hopeful)
    claim = produce(about, 0, 5)
    assert check(about, claim)[0].value == claim.lower
    assert claim.lower == pytest.approx(float(best(about, 5)), abs=1e-12)
    monkeypatch.setattr(schedule_minimum, "prefix_tree", lambda *_: np.empty(0, dtype=np.int64))
    with pytest.raises(ProducerFailed, match="entries does not decide"):
        produce(about, 0, 5)


def best(about: Subject, depth: int) -> Fraction:
    problem = about.piecewise(0)
    return best_schedule_bnb(problem, about.question.norm, depth, problem.witnesses or ()).lower


def test_the_minimum_over_the_whole_disk() -> None:
    """Depth 7: between what inputs found for single schedules show and 0.02553957 (T8.5)."""
    about = instance(full=True)
    rounds: list[int] = []
    claim = produce_domain_minimum(about, 0, 7, progress=lambda _, done, of: rounds.append(done))
    (bound,) = check(about, claim)
    assert bound.domain == "full"
    assert Fraction("0.02553938") <= claim.lower <= Fraction("0.02553957")
    assert claim.lower > PUBLISHED and len(rounds) > 1
    same = produce(about, 0, 7)
    assert same == claim
    enough = produce(about, 0, 7, target=Fraction("0.0253477615406"))
    assert check(about, enough) and enough.lower > Fraction("0.0253477615406")


def test_inputs_are_asked_for_until_a_schedule_is_as_bad_as_it_can_be() -> None:
    """An interval without witnesses; the callback's inputs are all that is needed."""
    question = pwa_question(
        [atom([[1]]), atom([[-1]])],
        reference([atom([["1/8"]])], (0,)),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        norm=LINF,
    )
    about = Subject(question, {})
    asked: list[tuple[int, ...]] = []

    def ends(schedule: tuple[int, ...]) -> list[tuple[Fraction, ...]]:
        asked.append(schedule)
        return [(Fraction(1),), (Fraction(-1),)]

    middle = [homogeneous((Fraction(1, 3),))]
    claim = produce_domain_minimum(about, 0, 2, points=middle, worst=ends)
    assert claim.lower == Fraction(1, 8) and asked
    assert check(about, claim)[0].domain == "full"
    assert produce(about, 0, 2).lower == Fraction(1, 8)
    coarse = produce_domain_minimum(about, 0, 2, Fraction(1), points=middle, worst=ends)
    # A third of the error at the ends.
    assert abs(coarse.lower - Fraction(1, 24)) < Fraction(1, 1 << 100)
    with pytest.raises(ProducerFailed, match="full domain"):
        produce_domain_minimum(twins(), 0, 2)


def test_first_inputs_lie_in_the_region_and_good_schedules_are_good() -> None:
    question = pwa_question(
        instance_atoms("low"),
        matrix_question().target,  # type: ignore[arg-type]
        dimension=2,
    )
    about = Subject(question, {})
    problem = about.piecewise(0)
    points = first_inputs(problem)
    assert len(points) > 100 and problem.region is not None
    assert all(problem.region.contains(point) for point in points)
    schedule, least = good_schedule(about, 0, 7)
    assert "".join(map(str, schedule)) == OPTIMA[7]
    assert Fraction("0.0255") < least < Fraction("0.02554")
    # Without a budget for branch and bound, local searches still name a schedule.
    hasty, least = good_schedule(about, 0, 7, nodes=0)
    assert len(hasty) == 7 and least >= Fraction("0.0255")


def test_budgets_end_a_search_with_a_reason() -> None:
    problem = instance().piecewise(0)
    points = problem.witnesses or ()
    with pytest.raises(ProducerFailed, match=r"2\^27 schedules are more than"):
        enumerate_schedules(problem, L2, 27, points)
    with pytest.raises(ProducerFailed, match="was not done after 20 nodes"):
        best_schedule_bnb(problem, L2, 12, points, nodes=20)
    with pytest.raises(ProducerFailed, match=r"was not done after 0\.0 seconds"):
        best_schedule_bnb(problem, L2, 12, points, seconds=0.0)
    with pytest.raises(ProducerFailed, match="needs a depth"):
        enumerate_schedules(problem, L2, 0, points)


def test_numbers_beyond_floats_are_refused() -> None:
    def about(weight: int, aim: int) -> Subject:
        question = pwa_question(
            [atom([[weight]])],
            reference([atom([[aim]])], (0,)),
            dimension=1,
            inputs=1,
            region=None,
            witnesses=[[1]],
            full=False,
            norm=LINF,
        )
        return Subject(question, {})

    for weight, aim, reason in (
        (1 << 500, 1, "the states of some schedule"),
        (1, 1 << 500, "the target is too large"),
        (1 << 2000, 1, "a number of the problem"),
    ):
        with pytest.raises(ProducerFailed, match=reason):
            produce(about(weight, aim), 0, 2)


def test_an_order_of_inputs_begins_with_what_excludes_most() -> None:
    values = np.array(
        [[1.0, 0.0, 5.0, 0.0], [1.0, 0.0, 6.0, 0.0], [1.0, 9.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    )
    assert schedule_search.input_order(values)[:2] == [2, 1]
    assert sorted(schedule_search.input_order(values)) == [0, 1, 2, 3]
    problem = twins().piecewise(0)
    search = Search(FloatSchedules.of(problem, LINF, 2, problem.witnesses or ()))
    assert sorted(search.order) == [0, 1]

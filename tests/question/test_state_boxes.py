"""Bounds of what remaining steps can reach are never crossed, and exact after the last step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF
from piecewise_questions import atom, matrix_question, pwa_question, reference
from random_schedules import exact_error, norms, questions

from qreplace.errors import InputError
from qreplace.question.maps import Point
from qreplace.question.model import Question
from qreplace.question.norms import norm_bounds
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.state_boxes import BITS, Box, Continuations, dual_norm
from qreplace.question.subject import Subject

ULP = Fraction(1, 1 << 100)
"""Far more than the rounding of a few steps of numbers about 1."""


def endpoint(problem: PwaProblem, schedule: Sequence[int], point: Point) -> list[Fraction]:
    return list(problem.student(schedule).value(point))


def after(found: Continuations, prefix: Sequence[int]) -> Box:
    state = found.initial
    for j in prefix:
        state = found.advance(state, j)
    return state


@st.composite
def prefixes(draw: st.DrawFn) -> tuple[Subject, Point, int, tuple[int, ...]]:
    """A question with one of its witnesses, a depth, and some first steps."""
    about = Subject(draw(questions()), {})
    problem = about.piecewise(0)
    point = draw(st.sampled_from(problem.witnesses or ()))
    depth = draw(st.integers(1, 3))
    atoms = st.integers(0, len(problem.fields) - 1)
    prefix = draw(st.lists(atoms, max_size=depth))
    return about, point, depth, tuple(prefix)


def continuations(
    problem: PwaProblem, depth: int, prefix: tuple[int, ...]
) -> list[tuple[int, ...]]:
    tails = itertools.product(range(len(problem.fields)), repeat=depth - len(prefix))
    return [prefix + tail for tail in tails]


@settings(max_examples=60)
@given(prefixes())
def test_no_continuation_comes_closer(case: tuple[Subject, Point, int, tuple[int, ...]]) -> None:
    about, point, depth, prefix = case
    problem, norm = about.piecewise(0), about.question.norm
    found = Continuations(problem, norm, depth, point)
    bound = found.distance(after(found, prefix), depth - len(prefix))
    nearest = min(
        exact_error(problem, norm, schedule, point)[1]
        for schedule in continuations(problem, depth, prefix)
    )
    assert 0 <= bound <= nearest
    if len(prefix) == depth:
        assert bound >= nearest - ULP


@settings(max_examples=30)
@given(prefixes(), st.randoms(use_true_random=False))
def test_boxes_and_functionals_hold_for_every_continuation(
    case: tuple[Subject, Point, int, tuple[int, ...]], generator: object
) -> None:
    """Whatever the direction: ``direction z_D >= rows[q] z_q + constants[q]`` at every step q."""
    about, point, depth, prefix = case
    problem = about.piecewise(0)
    found = Continuations(problem, about.question.norm, depth, point)
    boxes = [after(found, prefix)]
    for _ in range(depth - len(prefix)):
        boxes.append(found.hull(boxes[-1]))
    direction = [generator.randint(-1000, 1000) for _ in boxes[0]]  # type: ignore[attr-defined]
    rows, constants, chosen = found.functionals(direction, boxes)
    assert len(rows) == len(constants) == len(boxes) == len(chosen) + 1
    for schedule in continuations(problem, depth, prefix):
        state = [Fraction(low + high, 2 << BITS) for low, high in boxes[0]]
        end = endpoint(problem, schedule, point)
        value = sum((a * b for a, b in zip(direction, end, strict=True)), Fraction(0))
        for q, (row, constant, box) in enumerate(zip(rows, constants, boxes, strict=True)):
            state = [
                Fraction(low + high, 2 << BITS)
                for low, high in after(found, schedule[: len(prefix) + q])
            ]
            inside = (
                Fraction(low, 1 << BITS) - ULP <= z <= Fraction(high, 1 << BITS) + ULP
                for z, (low, high) in zip(state, box, strict=True)
            )
            assert all(inside)
            least = sum((a * b for a, b in zip(row, state, strict=True)), Fraction(0))
            assert least + Fraction(constant, 1 << BITS) <= value + 1000 * ULP


def line(state_matrix: Fraction | int, weight: Fraction | int = 1) -> Question:
    return pwa_question(
        [atom([[weight]], state_matrix=[[state_matrix]], offset=[1]), atom([[-1]])],
        reference([atom([["1/8"]])], (0,)),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
        norm=LINF,
    )


def test_states_without_bounds_are_refused() -> None:
    about = Subject(line(2**600), {})
    found = Continuations(about.piecewise(0), LINF, 8, (1, 1))
    with pytest.raises(InputError, match="exceed"):
        found.distance(found.initial, 8)
    small = Continuations(about.piecewise(0), LINF, 2, (1, 1))
    assert small.distance(small.initial, 2) == 0


def test_enough_stops_early_and_changes_no_verdict() -> None:
    about = Subject(matrix_question(full=False), {})
    problem, norm = about.piecewise(0), about.question.norm
    for point in (problem.witnesses or ())[300:303]:
        found = Continuations(problem, norm, 7, point)
        state = after(found, (0, 1, 0))
        best = found.distance(state, 4)
        for share in (Fraction(1, 2), Fraction(1), Fraction(11, 10)):
            assert (found.distance(state, 4, best * share) >= best * share) == (share <= 1)


def test_functionals_see_what_boxes_do_not() -> None:
    """On the diagonal two atoms reach a segment that a box fills."""
    question = pwa_question(
        [atom([[1], [1]]), atom([[-1], [-1]])],
        reference([atom([["1/2"], ["-1/2"]])], (0,)),
        dimension=2,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
    )
    about = Subject(question, {})
    found = Continuations(about.piecewise(0), about.question.norm, 3, (1, 1))
    assert all(low < 0 < high for low, high in found.hull(found.initial))
    bound = found.distance(found.initial, 3)
    # The target (1/2, -1/2) is 1/sqrt(2) away from the diagonal.
    assert abs(bound - Fraction(7071067811865475, 10**16)) < Fraction(1, 10**9)


@settings(max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=2).filter(any), st.integers(0, 5))
def test_a_dual_norm_is_not_below_any_quotient(direction: list[int], which: int) -> None:
    norm = norms(2)[which]
    most = max(
        Fraction(abs(sum(a * b for a, b in zip(direction, z, strict=True))))
        / norm_bounds(norm, z, 1)[1]
        for z in itertools.product(range(-6, 7), repeat=2)
        if any(z)
    )
    assert most <= dual_norm(norm, direction) <= most * 3

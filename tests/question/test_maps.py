"""Maps in integers agree with plain fractions, and so do their kinks and pieces."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF
from piecewise_questions import atom, box, pwa_question, reference
from random_maps import (
    Values,
    levels_of,
    number,
    random_question,
    random_schedule,
    walk_schedule,
    walk_target,
)

from qreplace.question.maps import (
    HIGH,
    LOW,
    MIDDLE,
    PIECE_BITS,
    PwaMap,
    crossing,
    difference,
    difference_unit,
    homogeneous,
    is_affine,
    rational_point,
)
from qreplace.question.model import NetworkTarget, PwaAtom, Question, ScheduleTarget
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.subject import Subject


def drawn(seed: int, inputs: int) -> tuple[Question, PwaProblem, tuple[int, ...], Random]:
    """A random question with one of its schedules."""
    rng = Random(seed)
    question = random_question(rng, inputs, box([-2] * inputs, [2] * inputs), depth=4)
    problem = Subject(question, {}).piecewise(0)
    return question, problem, random_schedule(rng, 4), rng


def some_point(rng: Random, inputs: int) -> Values:
    return tuple(number(rng) for _ in range(inputs))


def steps_of(question: Question, schedule: tuple[int, ...] | None) -> list[PwaAtom]:
    """The atoms a map runs through: those of a schedule, or of the target."""
    if schedule is not None:
        atoms = question.dictionary.atoms  # type: ignore[union-attr]
        return [atoms[j] for j in schedule]  # type: ignore[misc]
    target = question.target
    if isinstance(target, NetworkTarget):
        return list(target.layers)
    assert isinstance(target, ScheduleTarget)
    return [target.atoms[j] for j in target.schedule]


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_values_are_those_of_plain_fractions(seed: int, inputs: int) -> None:
    question, problem, schedule, rng = drawn(seed, inputs)
    student = problem.student(schedule)
    for _ in range(3):
        y = some_point(rng, inputs)
        point = homogeneous(y)
        assert rational_point(point) == y
        recorded, final = walk_schedule(question, schedule, y)
        assert student.value(point) == final
        other = walk_target(question, y)[1]
        assert problem.target.value(point) == other
        traces = student.trace(point), problem.target.trace(point)
        numerators = difference(student, problem.target, *traces)
        unit = difference_unit(student, problem.target) * point[-1]
        gap = tuple(a - b for a, b in zip(final, other, strict=True))
        assert tuple(Fraction(n, unit) for n in numerators) == gap
        check_activations(student, point, recorded)


def check_activations(
    student: PwaMap, point: tuple[int, ...], recorded: list[list[Fraction]]
) -> None:
    found = student.trace(point).activations
    for step, numerators, plain in zip(student.steps, found, recorded, strict=True):
        assert [Fraction(n, step.unit * point[-1]) for n in numerators] == plain


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.integers(1, 2))
def test_kinks_and_pieces_are_where_the_activations_bend(seed: int, inputs: int) -> None:
    question, problem, schedule, rng = drawn(seed, inputs)
    for pwa, walked, steps in (
        (problem.student(schedule), walk_schedule, steps_of(question, schedule)),
        (problem.target, None, steps_of(question, None)),
    ):
        y = some_point(rng, inputs)
        point = homogeneous(y)
        recorded, _ = walk_target(question, y) if walked is None else walked(question, schedule, y)
        trace = pwa.trace(point)
        signs, pieces = [], []
        for given_atom, u in zip(steps, recorded, strict=True):
            for value, level in zip(u, levels_of(given_atom, len(u)), strict=True):
                if given_atom.activation == "relu":
                    signs.append(value)
                    pieces.append((value <= 0) * LOW | (value >= 0) * HIGH)
                elif given_atom.activation == "soft_threshold":
                    signs += [value + level, value - level]
                    held = (value <= -level) * LOW | (value >= level) * HIGH
                    held |= (-level <= value <= level) * MIDDLE
                    pieces.append(held if level else LOW | MIDDLE | HIGH)
        values = [pwa.kink_value(kink, trace, point) for kink in pwa.kinks]
        assert [(v > 0) - (v < 0) for v in values] == [(s > 0) - (s < 0) for s in signs]
        packed = sum(held << (PIECE_BITS * i) for i, held in enumerate(pieces))
        assert pwa.pieces(trace, point) == packed
        assert pwa.site_count == len(pieces)
        assert pwa.sites == sum(1 << (PIECE_BITS * i) for i in range(len(pieces)))
        assert is_affine(packed, pwa.sites)


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.integers(1, 2))
def test_where_a_piece_is_shared_the_map_is_affine(seed: int, inputs: int) -> None:
    _, problem, schedule, rng = drawn(seed, inputs)
    pwa = problem.student(schedule)
    middle, size = some_point(rng, inputs), Fraction(1, rng.choice([1, 8, 64]))
    points = [
        tuple(a + size * b for a, b in zip(middle, some_point(rng, inputs), strict=True))
        for _ in range(inputs + 1)
    ]
    shared = -1
    for y in points:
        exact = homogeneous(y)
        shared &= pwa.pieces(pwa.trace(exact), exact)
    weights = [Fraction(rng.randint(0, 4)) for _ in points]
    weights[0] += 1
    total = sum(weights)
    inside = mixed([w / total for w in weights], points)
    mean = mixed([w / total for w in weights], [pwa.value(homogeneous(y)) for y in points])
    if is_affine(shared, pwa.sites):
        assert pwa.value(homogeneous(inside)) == mean


def mixed(weights: list[Fraction], vectors: list[Values]) -> Values:
    width = len(vectors[0])
    return tuple(
        sum((w * v[i] for w, v in zip(weights, vectors, strict=True)), Fraction(0))
        for i in range(width)
    )


def test_some_shared_pieces_are_found_and_some_are_missed() -> None:
    question = pwa_question(
        [atom([[1]], thresholds=["1/2"]), atom([[1]], activation="relu")],
        reference([atom([[1]], activation="identity")], [0]),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        norm=LINF,
    )
    problem = Subject(question, {}).piecewise(0)

    def affine(schedule: tuple[int, ...], *ends: Fraction | int | str) -> bool:
        pwa, shared = problem.student(schedule), -1
        for end in ends:
            point = homogeneous([Fraction(end)])
            shared &= pwa.pieces(pwa.trace(point), point)
        return is_affine(shared, pwa.sites)

    assert affine((0,), "1/2", 1) and affine((0,), "-1/2", "1/2") and affine((0,), -1, "-1/2")
    assert not affine((0,), "1/2", 1, "49/100") and not affine((0,), -1, 1)
    assert affine((1,), 0, 1) and affine((1,), -1, 0) and not affine((1,), -1, "1/100")
    assert problem.target.site_count == 0 and is_affine(0, problem.target.sites)


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_a_crossing_is_where_an_affine_function_vanishes(seed: int, inputs: int) -> None:
    rng = Random(seed)
    slopes = [rng.randint(-5, 5) for _ in range(inputs)]
    level = rng.randint(-5, 5)

    def value(point: tuple[int, ...]) -> int:
        return sum(a * x for a, x in zip(slopes, point, strict=False)) + level * point[-1]

    one, other = (homogeneous(some_point(rng, inputs)) for _ in range(2))
    if value(one) * value(other) >= 0:
        return
    found = crossing(one, value(one), other, value(other))
    assert value(found) == 0 and found[-1] > 0
    assert found == crossing(other, value(other), one, value(one))
    share = Fraction(value(one), one[-1])
    share /= share - Fraction(value(other), other[-1])
    ends = zip(rational_point(one), rational_point(other), strict=True)
    assert rational_point(found) == tuple(a + share * (b - a) for a, b in ends)


def test_crossings_are_in_lowest_terms() -> None:
    assert crossing((0, 4), -4, (8, 4), 4) == (1, 1)


@pytest.mark.parametrize("values", [("1/2", "-1/3"), (0, 0), (7,), ("22/7", 5, "-1/14")])
def test_homogeneous_points(values: tuple[str | int, ...]) -> None:
    exact = tuple(map(Fraction, values))
    point = homogeneous(exact)
    assert rational_point(point) == exact and point[-1] > 0
    assert all(isinstance(x, int) for x in point)

"""Bounds by affine arithmetic are never below an error, and exact where the maps are affine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF
from piecewise_questions import atom, box, matrix_question, pwa_question, reference
from random_maps import (
    Values,
    exceeds,
    number,
    plain_norm,
    random_question,
    random_schedule,
    walk_schedule,
    walk_target,
)

from qreplace.question import relaxation
from qreplace.question.maps import PwaMap, homogeneous, is_affine
from qreplace.question.model import Norm, Question
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.relaxation import (
    BITS,
    SLOPE_BITS,
    box_bound,
    hull_bound,
    relax_box,
    relax_hull,
    relaxation_cost,
)
from qreplace.question.subject import Subject

CLOSE = Fraction(1, 1 << 60)


def drawn(seed: int, inputs: int) -> tuple[Question, PwaProblem, tuple[int, ...], Random]:
    rng = Random(seed)
    question = random_question(rng, inputs, box([-1] * inputs, [1] * inputs), depth=4)
    return question, Subject(question, {}).piecewise(0), random_schedule(rng, 4), rng


def some_box(rng: Random, inputs: int) -> tuple[Values, Values]:
    """Boxes of sizes from a point to 4."""
    size = Fraction(rng.choice([0, 1, 16, 50]), 50)
    middle = [number(rng, 1) for _ in range(inputs)]
    reach = [size * abs(number(rng, 1)) for _ in range(inputs)]
    return (
        tuple(m - r for m, r in zip(middle, reach, strict=True)),
        tuple(m + r for m, r in zip(middle, reach, strict=True)),
    )


def between(lower: Values, upper: Values, shares: Sequence[Fraction]) -> Values:
    return tuple(a + s * (b - a) for a, b, s in zip(lower, upper, shares, strict=True))


def spots(rng: Random, inputs: int) -> list[list[Fraction]]:
    """Corners and random places of the unit cube."""
    corners = [[Fraction(c) for c in corner] for corner in product((0, 1), repeat=min(inputs, 3))]
    corners = [corner + [Fraction(1, 2)] * (inputs - len(corner)) for corner in corners]
    return corners + [[Fraction(rng.randint(0, 12), 12) for _ in range(inputs)] for _ in range(8)]


@settings(max_examples=80)
@given(st.integers(0, 10**9), st.sampled_from([1, 2, 2, 3, 7]))
def test_no_error_on_a_box_exceeds_its_bound(seed: int, inputs: int) -> None:
    question, problem, schedule, rng = drawn(seed, inputs)
    lower, upper = some_box(rng, inputs)
    bound = box_bound(problem.student(schedule), problem.target, lower, upper, question.norm)
    for shares in spots(rng, inputs):
        assert not exceeds(question, schedule, between(lower, upper, shares), bound)


@settings(max_examples=80)
@given(st.integers(0, 10**9), st.integers(1, 3), st.integers(1, 5))
def test_no_error_on_a_hull_exceeds_its_bound(seed: int, inputs: int, count: int) -> None:
    question, problem, schedule, rng = drawn(seed, inputs)
    vertices = [tuple(number(rng, 1) for _ in range(inputs)) for _ in range(count)]
    points = [homogeneous(v) for v in vertices]
    bound = hull_bound(problem.student(schedule), problem.target, points, question.norm)
    for k in range(count + 8):
        weights = [Fraction(rng.randint(0, 6)) for _ in vertices]
        if k < count:
            weights = [Fraction(int(i == k)) for i in range(count)]
        total = sum(weights) or Fraction(1)
        weights[0] += total - sum(weights)
        y = tuple(
            sum((w * v[i] for w, v in zip(weights, vertices, strict=True)), Fraction(0)) / total
            for i in range(inputs)
        )
        assert not exceeds(question, schedule, y, bound)


def largest_at(
    question: Question, schedule: tuple[int, ...], points: Sequence[Values]
) -> tuple[Fraction, bool]:
    """The largest error at points, or its square."""
    found = []
    for y in points:
        one, other = walk_schedule(question, schedule, y)[1], walk_target(question, y)[1]
        gap = [a - b for a, b in zip(one, other, strict=True)]
        found.append(plain_norm(question.norm, gap))
    return max(value for value, _ in found), found[0][1]


def is_close(bound: Fraction, largest: Fraction, squared: bool) -> bool:
    """Whether a bound is the exact value up to rounding (and not below it)."""
    above = bound**2 if squared else bound
    near = max(bound - CLOSE, Fraction(0))
    return (near**2 if squared else near) <= largest <= above


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_the_bound_is_exact_where_both_maps_are_affine(seed: int, inputs: int) -> None:
    question, problem, schedule, rng = drawn(seed, inputs)
    middle = [number(rng, 1) for _ in range(inputs)]
    lower = tuple(m - Fraction(rng.randint(0, 3), 64) for m in middle)
    upper = tuple(m + Fraction(rng.randint(0, 3), 64) for m in middle)
    corners = list(product(*zip(lower, upper, strict=True)))
    points = [homogeneous(corner) for corner in corners]
    student = problem.student(schedule)
    if affine_at(student, points) and affine_at(problem.target, points):
        largest, squared = largest_at(question, schedule, corners)
        hull = hull_bound(student, problem.target, points, question.norm)
        whole = box_bound(student, problem.target, lower, upper, question.norm)
        assert is_close(hull, largest, squared)
        assert is_close(whole, largest, squared)


def affine_at(pwa: PwaMap, points: Sequence[tuple[int, ...]]) -> bool:
    shared = -1
    for point in points:
        shared &= pwa.pieces(pwa.trace(point), point)
    return is_affine(shared, pwa.sites)


# --- one activation -------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.integers(-60, 60), st.integers(1, 80), st.integers(0, 40), st.booleans())
def test_the_strip_holds_the_activation_and_is_narrow(
    low: int, width: int, level: int, relu: bool
) -> None:
    """The strip of ``_line`` against the activation, and against every slope k/64."""
    high = low + width

    def phi(u: int) -> int:
        return max(u, 0) if relu else max(u - level, 0) + min(u + level, 0)

    kinks = [k for k in ([0] if relu else [-level, level]) if low < k < high]
    points = [(u, phi(u)) for u in (low, *kinks, high)]
    slope, centre, radius = relaxation._line(points)
    one = 1 << SLOPE_BITS
    for u in range(low, high + 1):
        assert abs(2 * one * phi(u) - 2 * slope * u - centre) <= radius
    for k in range(65):
        gaps = [64 * phi(u) - k * u for u in range(low, high + 1)]
        # A slope is rounded to 2**-SLOPE_BITS, which moves a strip by at most its length.
        assert radius * 64 <= (max(gaps) - min(gaps)) * one + 64 * width
    assert 0 <= slope <= one


@pytest.mark.parametrize(
    ("level", "low", "high", "expected"),
    [
        # S_1/2 on [-1, 1] within a strip of slope 1/3: y/2 less it is y/6 and 1/6 more.
        ("1/2", -1, 1, Fraction(1, 3)),
        # On [0, 1] the strip of slope 1/2 reaches from -1/4 to 0.
        ("1/2", 0, 1, Fraction(1, 4)),
        ("1/2", -1, 0, Fraction(1, 4)),
        # Between the kinks and beyond them nothing is relaxed.
        ("1/2", "-1/2", "1/2", Fraction(1, 4)),
        ("1/2", "1/2", 1, Fraction(1, 4)),
        ("1/2", "3/4", 1, Fraction(1, 8)),
        (0, -1, 1, Fraction(1, 2)),
    ],
)
def test_known_relaxations(
    level: int | str, low: int | str, high: int | str, expected: Fraction
) -> None:
    question = pwa_question(
        [atom([["1/2"]], activation="identity")],
        reference([atom([[1]], thresholds=[level])], [0]),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        norm=LINF,
    )
    problem = Subject(question, {}).piecewise(0)
    ends = [Fraction(low)], [Fraction(high)]
    student = problem.student([0])
    points = [homogeneous(end) for end in ends]
    near = Fraction(1, 1 << (SLOPE_BITS - 4))
    for bound in (
        box_bound(student, problem.target, *ends, LINF),
        hull_bound(student, problem.target, points, LINF),
    ):
        assert expected <= bound <= expected + near


# --- what is common to both maps cancels, and caps ------------------------------------------------


def test_the_difference_of_a_map_and_itself_is_only_its_noise() -> None:
    question = pwa_question(
        [atom([[1, 1]], [[1]], activation="identity"), atom([[1, 0]], thresholds=["1/2"])],
        reference([atom([[1, 1]], [[1]], activation="identity")], [0, 0]),
        dimension=1,
        region=box([-1, -1], [1, 1]),
        norm=LINF,
    )
    problem = Subject(question, {}).piecewise(0)
    same = problem.student([0, 0])
    wide = [Fraction(-1000)] * 2, [Fraction(1000)] * 2
    assert box_bound(same, problem.target, *wide, LINF) <= CLOSE


def wide_problem(width: int) -> PwaProblem:
    """Sums of ``width`` ReLUs of different slopes, and an atom in which the two sums cancel."""
    rows = [[Fraction(i + 1), Fraction(1)] for i in range(width)]
    sums = atom(rows, activation="relu", output=[[1] * width, [1] * width])
    less = atom([[0, 0], [0, 0]], [[1, -1], [0, 0]], activation="identity")
    question = pwa_question(
        [sums, less],
        reference([atom([[1, 0], [0, 1]], activation="identity")], [0]),
        dimension=2,
        region=box([-1, -1], [1, 1]),
    )
    return Subject(question, {}).piecewise(0)


@pytest.mark.parametrize("norm", [L1, L2, LINF])
def test_noise_beyond_the_cap_is_slack(norm: Norm, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = wide_problem(8)
    student = problem.student([0, 1])
    ends = [Fraction(-1)] * 2, [Fraction(1)] * 2
    free = box_bound(student, problem.target, *ends, norm)
    monkeypatch.setattr(relaxation, "MAX_NOISE", 3)
    capped = box_bound(student, problem.target, *ends, norm)
    assert capped > free  # slack forgets what noise remembers
    for place in product([Fraction(k, 3) for k in range(-3, 4)], repeat=2):
        point = homogeneous(place)
        gap = [
            a - b for a, b in zip(student.value(point), problem.target.value(point), strict=True)
        ]
        value, squared = plain_norm(norm, gap)
        assert value <= (free**2 if squared else free)


def test_axes_say_what_each_input_changes() -> None:
    question = pwa_question(
        [atom([[3, 0], [0, 0]], activation="identity")],
        reference([atom([[1, 0], [0, 5]], activation="identity")], [0]),
        dimension=2,
        region=box([-1, -1], [1, 1]),
    )
    problem = Subject(question, {}).piecewise(0)
    found = relax_box(
        problem.student([0]), problem.target, [Fraction(0), Fraction(0)], [Fraction(2), Fraction(4)]
    )
    one = 1 << BITS
    assert found.axes == ((2 * one, 0), (0, -10 * one))
    assert set(found.values) == {(0, 0), (4 * one, 0), (0, -20 * one), (4 * one, -20 * one)}
    assert relax_hull(problem.student([0]), problem.target, [(0, 0, 1)]).axes == ()


def test_smaller_boxes_are_bounded_more_closely() -> None:
    question = matrix_question()
    problem = Subject(question, {}).piecewise(0)
    student = problem.student([0, 0, 0, 0, 0, 1, 0, 1])
    middle = Fraction(1, 2), Fraction(1, 3)
    bounds = []
    for k in range(1, 9):
        reach = Fraction(1, 2**k)
        ends = [m - reach for m in middle], [m + reach for m in middle]
        bounds.append(box_bound(student, problem.target, *ends, question.norm))
    assert bounds == sorted(bounds, reverse=True)
    point = homogeneous(middle)
    gap = [a - b for a, b in zip(student.value(point), problem.target.value(point), strict=True)]
    value = sum(x * x for x in gap)
    assert value <= bounds[-1] ** 2 <= value + Fraction(1, 1000)


def test_the_cost_counts_layers_columns_and_noise() -> None:
    narrow, wide = (wide_problem(n).student([0]) for n in (2, 8))
    assert 0 < relaxation_cost(narrow, 3) < relaxation_cost(wide, 3) < relaxation_cost(wide, 4)
    # Two layers cost more than twice as much: the second one carries the noise of the first.
    twice = wide_problem(8).student([0, 0])
    assert relaxation_cost(twice, 3) > 2 * relaxation_cost(wide, 3)

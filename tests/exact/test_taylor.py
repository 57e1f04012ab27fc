"""Validated steps enclose the solutions, and steps that cannot are refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from dynamic_questions import polynomial
from dynamic_truth import endpoints
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qreplace.exact.fixed_point import exponential
from qreplace.exact.polynomial import Polynomial
from qreplace.exact.taylor import (
    EnclosedState,
    SeriesField,
    State,
    advance,
    enclosed,
    exact_euler_step,
    exact_flow,
)
from qreplace.question.dynamics import PolynomialProblem

BITS = 192
UNIT = (Fraction(0), Fraction(1))


def field(*texts: str) -> list[Polynomial]:
    """One text a coordinate."""
    return [polynomial(text, len(texts)) for text in texts]


def interval(state: State | None, index: int = 0) -> tuple[Fraction, Fraction]:
    """Lower and upper end of a coordinate of an enclosure."""
    assert isinstance(state, EnclosedState)
    scale = 1 << state.bits
    centre, radius = state.centre[index], state.radius[index]
    return Fraction(centre - radius, scale), Fraction(centre + radius, scale)


def state_of(*values: Fraction | int | str) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "order", "width"), [(1, 20, 10), (4, 16, 20), (16, 24, 40)])
@pytest.mark.parametrize("rate", [-1, 1, Fraction(-3, 7)])
def test_exponentials(rate: Fraction | int, steps: int, order: int, width: int) -> None:
    half = Fraction(rate) / 2  # one step of width 1 is too wide for the rate 1
    found = advance(field(f"({half})*z1"), state_of(1), UNIT, steps, order, BITS)
    low, high = interval(found)
    true_low, true_high = (Fraction(n, 1 << 400) for n in exponential(half, 400))
    assert low <= true_low and true_high <= high
    assert high - low < Fraction(1, 10**width)


@pytest.mark.parametrize("start", ["1/3", "1/2", "2/3", "-5", "0"])
def test_squares(start: str) -> None:
    """``z' = z^2`` ends at ``z_0 / (1 - z_0)``."""
    z = Fraction(start)
    low, high = interval(advance(field("z1^2"), (z,), UNIT, 64, 16, BITS))
    assert low <= z / (1 - z) <= high
    assert high - low < Fraction(1, 10**12)


def test_time_dependence() -> None:
    """``z' = 2 t z`` ends at ``e^(t^2)``, also from a start that is not 0."""
    low, high = interval(advance(field("2*t*z1"), state_of(1), UNIT, 32, 20, BITS))
    true_low, true_high = (Fraction(n, 1 << 300) for n in exponential(Fraction(1), 300))
    assert low <= true_low and true_high <= high and high - low < Fraction(1, 10**25)
    span = Fraction(1, 2), Fraction(1)
    low, high = interval(advance(field("2*t*z1"), state_of(1), span, 16, 20, BITS))
    true_low, true_high = (Fraction(n, 1 << 300) for n in exponential(Fraction(3, 4), 300))
    assert low <= true_low and true_high <= high


def test_rotation_keeps_its_radius() -> None:
    span = Fraction(0), Fraction(8)
    found = advance(field("z2", "-z1"), state_of("3/5", "4/5"), span, 80, 20, BITS)
    x, y = interval(found, 0), interval(found, 1)
    squares = [a * a + b * b for a in x for b in y]
    assert min(squares) <= 1 <= max(squares)
    assert x[1] - x[0] < Fraction(1, 10**20)


# --- refusals -------------------------------------------------------------------------------------


def test_steps_across_a_blow_up_are_refused() -> None:
    for steps in (1, 10, 100, 200):
        span = Fraction(0), Fraction(2)
        assert advance(field("z1^2"), state_of(1), span, steps, 10, BITS) is None


def test_wide_steps_are_refused_and_smaller_ones_taken() -> None:
    span = Fraction(0), Fraction(4)
    assert advance(field("-z1"), state_of(1), span, 1, 30, BITS) is None
    assert advance(field("-z1"), state_of(1), span, 16, 30, BITS) is not None


def test_euler_steps_beyond_every_bound_are_refused() -> None:
    steep = SeriesField(field("z1^16"), BITS)
    state: EnclosedState | None = enclosed(state_of(2), BITS)
    taken = 0
    while state is not None:
        state = steep.euler_step(state, Fraction(0), Fraction(1))
        taken += 1
        assert taken < 10


# --- exact flows ----------------------------------------------------------------------------------


def test_chains_of_integrators_are_exact() -> None:
    span = Fraction(1, 2), Fraction(3, 2)
    assert exact_flow(field("z2", "3"), state_of(1, -1), span) == state_of("3/2", 2)
    # z3' = z1 z2 with z1 = 1 + s, z2 = s: 1/2 + 1/3
    found = exact_flow(field("1", "1", "z1*z2"), state_of(1, 0, 0), UNIT)
    assert found == state_of(2, 1, "5/6")
    # t itself: int t^2 from 1/2 to 3/2
    assert exact_flow(field("t^2"), state_of(0), span) == state_of("13/12")
    assert exact_flow(field("0", "z1"), state_of(2, 1), UNIT) == state_of(2, 3)


@pytest.mark.parametrize("texts", [("z1",), ("z2", "z1"), ("z2", "z3", "z1*z2"), ("z2^9", "t")])
def test_cycles_and_high_degrees_are_not_exact(texts: Sequence[str]) -> None:
    assert exact_flow(field(*texts), state_of(*([1] * len(texts))), UNIT) is None


def test_long_numbers_are_enclosed() -> None:
    long = Fraction(1, 3**400)
    found = advance(field("z2", "1"), (long, Fraction(0)), UNIT, 1, 3, BITS)
    low, high = interval(found)
    assert low <= Fraction(1, 2) + long <= high
    third = Fraction(1, 3**200)
    kept = advance(field("z2", "1"), (third, Fraction(0)), UNIT, 1, 3, BITS)
    assert kept == (Fraction(1, 2) + third, Fraction(1))


numbers = st.fractions(-2, 2, max_denominator=8)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=6, max_size=6), st.integers(1, 3), st.integers(4, 12))
def test_steps_enclose_exact_flows(values: list[Fraction], steps: int, order: int) -> None:
    """The validated steps, forced on a chain, contain its exact endpoint."""
    a, b, c, *start = values
    components = field(f"({a}) + t", f"({b})*z1 + ({c})*t*z1", "z1*z2 - z1")
    state = tuple(start)
    exact = exact_flow(components, state, UNIT)
    assert exact is not None
    series = SeriesField(components, BITS)
    current: EnclosedState | None = enclosed(state, BITS)
    for k in range(8 * steps):
        if current is not None:
            width = Fraction(1, 8 * steps)
            current = series.taylor_step(current, k * width, width, order)
    assume(current is not None)
    for index, value in enumerate(exact):
        low, high = interval(current, index)
        assert low <= value <= high


# --- random fields --------------------------------------------------------------------------------

MONOMIALS = ("1", "t", "z1", "z2", "z1*z2", "z1^2", "z2^3", "t*z1")


@st.composite
def planar_fields(draw: st.DrawFn) -> list[Polynomial]:
    """Two components with up to four terms each."""
    texts = []
    for _ in range(2):
        chosen = draw(st.lists(st.sampled_from(MONOMIALS), min_size=1, max_size=4, unique=True))
        texts.append(" + ".join(f"({draw(numbers)})*{m}" for m in chosen))
    return field(*texts)


@settings(max_examples=25)
@given(planar_fields(), numbers, numbers)
def test_enclosures_agree_with_each_other_and_with_floats(
    components: list[Polynomial], x: Fraction, y: Fraction
) -> None:
    span = Fraction(0), Fraction(1, 2)
    coarse = advance(components, (x, y), span, 24, 8, BITS)
    fine = advance(components, (x, y), span, 32, 12, 256)
    assume(isinstance(coarse, EnclosedState) and isinstance(fine, EnclosedState))
    problem = PolynomialProblem((tuple(components),), (x, y), (x, y), span[1])
    floats = endpoints(problem, np.ones((1, 1, 1)), 200)[0]
    for index in range(2):
        one, other = interval(coarse, index), interval(fine, index)
        assert one[0] <= other[1] and other[0] <= one[1]
        assert one[1] - one[0] >= other[1] - other[0]
        assert abs(float(other[0]) - floats[index]) <= 1e-7 * (1 + abs(floats[index]))


@settings(max_examples=30)
@given(planar_fields(), numbers, numbers, st.integers(0, 4))
def test_a_ball_of_starts_ends_in_the_ball(
    components: list[Polynomial], x: Fraction, y: Fraction, place: int
) -> None:
    """Solutions from points of an enclosed start stay in the enclosure of all of them."""
    radius = Fraction(1, 64)
    ball = EnclosedState(
        BITS,
        (int(x * 840) * (1 << BITS) // 840, int(y * 840) * (1 << BITS) // 840),
        ((1 << BITS) // 64, (1 << BITS) // 64),
    )
    span = Fraction(0), Fraction(1, 4)
    whole = advance(components, ball, span, 12, 8, BITS)
    corner = (x + radius * (place % 2 * 2 - 1) / 2, y + radius * (place // 2 - 1) / 2)
    point = advance(components, corner, span, 40, 14, 256)
    assume(whole is not None and point is not None)
    assert point is not None
    for index in range(2):
        low, high = interval(whole, index)
        inner = interval(enclosed(point, 256), index)
        assert low <= inner[0] and inner[1] <= high


@settings(max_examples=40)
@given(planar_fields(), numbers, numbers)
def test_outward_euler_steps_contain_the_exact_ones(
    components: list[Polynomial], x: Fraction, y: Fraction
) -> None:
    step = Fraction(1, 7)
    series = SeriesField(components, BITS)
    exact: tuple[Fraction, ...] = (x, y)
    outward: EnclosedState | None = enclosed(exact, BITS)
    for k in range(3):
        time = k * step
        exact = tuple(
            z + step * part.at((time, *exact)) for z, part in zip(exact, components, strict=True)
        )
        assert outward is not None
        outward = series.euler_step(outward, time, step)
        for index, value in enumerate(exact):
            low, high = interval(outward, index)
            assert low <= value <= high
            assert high - low < Fraction(1, 2**120)


def test_exact_euler_steps_stay_short() -> None:
    components = field("z1^2 + t")
    after = exact_euler_step(components, state_of("1/2"), Fraction(1), Fraction(1, 4))
    assert after == state_of("13/16")
    assert exact_euler_step(components, (Fraction(1, 3**400),), Fraction(1), Fraction(1)) is None

"""The constants of the activations are proved, and no smaller one could be (theory T10.3)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.architecture import activations
from qreplace.architecture.activations import (
    LIPSCHITZ,
    SMOOTH,
    Activation,
    largest_value,
    lipschitz,
    prove_at_most,
)
from qreplace.architecture.enclosures import (
    density,
    density_at,
    distribution_at,
    exp_at,
    pi,
    root_two_over_pi,
    tanh_at,
)
from qreplace.errors import Rejected

mpmath.mp.dps = 40
POINTS = st.fractions(min_value=-12, max_value=12, max_denominator=1 << 16)


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def derivative(name: Activation, x: mpmath.mpf) -> mpmath.mpf:
    c, a = mpmath.sqrt(2 / mpmath.pi), mpmath.mpf("0.044715")
    functions = {
        "gelu": lambda x: x * mpmath.ncdf(x),
        "gelu_tanh": lambda x: x * (1 + mpmath.tanh(c * (x + a * x**3))) / 2,
        "silu": lambda x: x / (1 + mpmath.exp(-x)),
    }
    return mpmath.diff(functions[name], x)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_constant_is_proved_and_its_last_digit_is_needed(name: Activation) -> None:
    assert prove_at_most(SMOOTH[name], LIPSCHITZ[name]) < 1000
    assert lipschitz(name) == LIPSCHITZ[name]
    with pytest.raises(Rejected, match="exceeds the constant"):
        prove_at_most(SMOOTH[name], LIPSCHITZ[name] - Fraction(1, 10**5))


def test_the_published_constants() -> None:
    assert [str(float(LIPSCHITZ[n])) for n in ("gelu", "gelu_tanh", "silu", "relu")] == [
        "1.12891", "1.129", "1.09984", "1.0",
    ]  # fmt: skip


@settings(max_examples=30)
@given(x=POINTS, width=st.fractions(min_value=0, max_value=1, max_denominator=64))
@pytest.mark.parametrize("name", SMOOTH)
def test_both_derivatives_lie_in_their_enclosures(
    name: Activation, x: Fraction, width: Fraction
) -> None:
    own = SMOOTH[name]
    low, high = own.first((x, x + width))
    inside = real(x + width / 3)
    assert real(low) - mpmath.mpf(10) ** -25 <= derivative(name, inside)
    assert derivative(name, inside) <= real(high) + mpmath.mpf(10) ** -25
    second = mpmath.diff(lambda t: derivative(name, t), inside)
    low, high = own.second((x, x + width))
    assert real(low) - mpmath.mpf(10) ** -12 <= second <= real(high) + mpmath.mpf(10) ** -12


@settings(max_examples=20)
@given(x=st.fractions(min_value=0, max_value=40, max_denominator=64))
@pytest.mark.parametrize("name", SMOOTH)
def test_the_tail_bounds_the_derivative_on_both_sides(name: Activation, x: Fraction) -> None:
    own = SMOOTH[name]
    tail = real(own.tail(own.reach))
    for side in (own.reach + x, -own.reach - x):
        assert abs(derivative(name, real(side))) <= tail


def test_a_tail_that_is_too_large_or_too_many_cells_is_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = replace(SMOOTH["gelu"], reach=Fraction(1))
    with pytest.raises(Rejected, match="beyond the reach"):
        prove_at_most(near, LIPSCHITZ["gelu"])
    monkeypatch.setattr(activations, "MAX_CELLS", 10)
    with pytest.raises(Rejected, match="do not show"):
        prove_at_most(SMOOTH["gelu"], LIPSCHITZ["gelu"])


@given(x=POINTS)
def test_enclosures_hold_and_are_narrow(x: Fraction) -> None:
    value = real(x)
    for found, true in (
        (tanh_at(x), mpmath.tanh(value)),
        (density_at(x), mpmath.npdf(value)),
        (density((x, x)), mpmath.npdf(value)),
        (distribution_at(x), mpmath.ncdf(value)),
        (exp_at(x), mpmath.exp(value)),
    ):
        assert real(found[0]) <= true <= real(found[1])
    assert tanh_at(x)[1] - tanh_at(x)[0] < Fraction(1, 2**60)
    if abs(x) <= 4:
        assert distribution_at(x)[1] - distribution_at(x)[0] < Fraction(1, 2**60)


def test_pi_and_its_root_are_enclosed() -> None:
    for (low, high), true in (
        (pi(), mpmath.pi), (root_two_over_pi(), mpmath.sqrt(2 / mpmath.pi)),
    ):  # fmt: skip
        assert real(low) <= true <= real(high)
        assert high - low < Fraction(1, 2**90)


@given(radius=st.fractions(min_value=0, max_value=200, max_denominator=1000))
@pytest.mark.parametrize("name", LIPSCHITZ)
def test_the_largest_value_never_exceeds_the_radius(name: Activation, radius: Fraction) -> None:
    assert radius / 2 <= largest_value(name, radius) <= radius

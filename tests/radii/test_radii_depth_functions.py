"""Radii as functions of depth: enclosures hold the exact values, limits hold the tails."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.radii.depth_function import (
    ZERO,
    DepthSum,
    EulerGrowth,
    Monomial,
    PrefixPower,
    exp2_upper,
    exp_upper,
    monomial,
    phi_upper,
    rational_power_upper,
)

BITS = 128
UNIT = Fraction(1, 1 << BITS)

positive = st.builds(Fraction, st.integers(1, 40), st.integers(1, 30))
nonnegative = st.builds(Fraction, st.integers(0, 40), st.integers(1, 30))
rates = st.builds(Fraction, st.integers(-60, 60), st.integers(1, 20))


def first_depth(rate: Fraction, horizon: Fraction) -> int:
    """The first depth with ``1 + h m >= 0``."""
    return max(1, -(-(-rate * horizon).numerator // (-rate * horizon).denominator))


@st.composite
def sums(draw: st.DrawFn) -> tuple[DepthSum, int]:
    """A sum of monomials and the first depth at which all its factors are meant to be used."""
    horizon, terms, first = draw(positive), [], 1
    for _ in range(draw(st.integers(1, 4))):
        factors: list[EulerGrowth | PrefixPower] = []
        for kind in draw(st.lists(st.sampled_from([EulerGrowth, PrefixPower]), max_size=2)):
            rate = draw(rates)
            first = max(first, first_depth(rate, horizon))
            factors.append(kind(rate, horizon))
        power = draw(st.integers(-3, 2))
        terms.append(Monomial(draw(nonnegative), power, tuple(factors)))
    return DepthSum(tuple(terms)), first


@settings(derandomize=True, max_examples=120)
@given(sums(), st.integers(0, 40), st.integers(0, 12))
def test_an_enclosure_holds_the_exact_value_at_every_depth(
    drawn: tuple[DepthSum, int], skip: int, length: int
) -> None:
    total, start = drawn
    first = start + skip
    low, high = total.over(first, first + length, BITS)
    assert high is not None
    unbounded_low, unbounded_high = total.over(first, None, BITS)
    for depth in range(first, first + length + 1):
        exact = total.exact(depth)
        assert exact is not None
        assert low * UNIT <= exact <= high * UNIT
        assert unbounded_low * UNIT <= exact
        assert unbounded_high is None or exact <= unbounded_high * UNIT
        at_low, at_high = total.at(depth, BITS)
        assert at_high is not None and at_low * UNIT <= exact <= at_high * UNIT
        # At one depth the enclosure is tight, however large the factors are.
        size = max(Fraction(1), exact)
        assert (at_high - at_low) * UNIT <= size * Fraction(1, 1 << (BITS - 40))


@settings(derandomize=True, max_examples=120)
@given(sums(), st.integers(0, 30))
def test_merging_changes_no_value(drawn: tuple[DepthSum, int], skip: int) -> None:
    total, start = drawn
    merged = total.merged()
    assert merged.exact(start + skip) == total.exact(start + skip)
    assert len({(term.power, term.factors) for term in merged.terms}) == len(merged.terms)


@settings(derandomize=True, max_examples=120)
@given(nonnegative, st.integers(-2, 2), rates, positive, st.integers(0, 30))
def test_a_simplified_monomial_is_the_same_function(
    coefficient: Fraction, power: int, rate: Fraction, horizon: Fraction, skip: int
) -> None:
    factors = EulerGrowth(rate, horizon), PrefixPower(rate, horizon)
    depth = first_depth(rate, horizon) + skip
    plain = DepthSum((Monomial(coefficient, power, factors),))
    assert monomial(coefficient, power, *factors).exact(depth) == plain.exact(depth)


def test_monomials_that_vanish_or_do_not_grow_hold_no_factors() -> None:
    growth, prefix = EulerGrowth(Fraction(0), Fraction(3)), PrefixPower(Fraction(-1), Fraction(3))
    assert monomial(Fraction(0), 5, growth) == ZERO
    assert monomial(Fraction(2), -1, growth, prefix) == DepthSum((Monomial(Fraction(6), -1),))


# --- growth ---------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=200)
@given(rates, positive, st.integers(0, 60))
def test_growth_is_the_sum_of_powers_and_monotone(
    rate: Fraction, horizon: Fraction, skip: int
) -> None:
    growth = EulerGrowth(rate, horizon)
    depth = first_depth(rate, horizon) + skip
    step = horizon / depth
    here, after = growth.exact(depth), growth.exact(depth + 1)
    assert here == step * sum((1 + step * rate) ** i for i in range(depth))
    assert here is not None and after is not None
    assert here <= after if rate >= 0 else here >= after
    limit = growth.limit(BITS) * UNIT
    if rate >= 0:
        assert here <= limit
    else:
        assert growth.over(depth, None, BITS)[1] * UNIT >= here
    with mpmath.workprec(3000):
        phi = true_limit(growth)
        assert phi <= real(limit) <= phi * (1 + mpmath.mpf(2) ** -80)


@settings(derandomize=True, max_examples=200)
@given(rates, positive, st.integers(0, 60))
def test_the_prefix_power_is_the_largest_prefix_growth(
    rate: Fraction, horizon: Fraction, skip: int
) -> None:
    prefix = PrefixPower(rate, horizon)
    depth = first_depth(rate, horizon) + skip
    kappa = 1 + horizon * rate / depth
    here, after = prefix.exact(depth), prefix.exact(depth + 1)
    assert here == max(kappa**i for i in range(depth))
    assert here is not None and after is not None
    assert here <= after
    assert after <= prefix.limit(BITS) * UNIT


def test_a_tiny_rate_loses_no_precision() -> None:
    """Dividing by m = 1e-60 magnifies the error of the power; the enclosure stays tight."""
    growth = EulerGrowth(Fraction(1, 10**60), Fraction(1))
    low, high = growth.over(7, 7, BITS)
    exact = growth.exact(7)
    assert exact is not None and low * UNIT <= exact <= high * UNIT
    assert high - low <= 2


def test_exact_values_are_refused_where_they_would_be_long() -> None:
    growth = EulerGrowth(Fraction(1, 3), Fraction(1))
    assert growth.exact(100) is not None
    assert growth.exact(10**6) is None
    assert PrefixPower(Fraction(1, 3), Fraction(1)).exact(10**6) is None
    assert DepthSum((Monomial(Fraction(1), 0, (growth,)),)).exact(10**6) is None
    assert DepthSum((Monomial(Fraction(1), Fraction(-1, 2)),)).exact(4) is None


# --- limits ---------------------------------------------------------------------------------------


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def true_limit(factor: EulerGrowth | PrefixPower) -> mpmath.mpf:
    rate, horizon = real(factor.rate), real(factor.horizon)
    if isinstance(factor, PrefixPower):
        return mpmath.exp(max(rate * horizon, mpmath.mpf(0)))
    return horizon if rate == 0 else mpmath.expm1(rate * horizon) / rate


@settings(derandomize=True, max_examples=100)
@given(sums())
def test_the_limit_is_that_of_the_terms_that_do_not_vanish(drawn: tuple[DepthSum, int]) -> None:
    total, _ = drawn
    limit = total.limit(BITS)
    if any(term.power > 0 and term.coefficient > 0 for term in total.terms):
        assert limit is None
        return
    with mpmath.workprec(3000):
        true = mpmath.mpf(0)
        for term in total.terms:
            if term.power == 0:
                true += real(term.coefficient) * mpmath.fprod(map(true_limit, term.factors))
        assert limit is not None
        assert (
            true <= real(limit * UNIT) <= true * (1 + mpmath.mpf(2) ** -60) + mpmath.mpf(2) ** -90
        )


def test_limits_of_simple_sums() -> None:
    half = Fraction(1, 2)
    assert monomial(half, -1).limit(BITS) == 0
    assert monomial(half, 0).limit(BITS) == 1 << (BITS - 1)
    assert monomial(half, 1).limit(BITS) is None
    assert (monomial(half, -1) + monomial(half)).limit(BITS) == 1 << (BITS - 1)
    assert ZERO.limit(BITS) == 0 and ZERO.over(1, None, BITS) == (0, 0)


# --- fractional powers and transcendental bounds --------------------------------------------------


@settings(derandomize=True, max_examples=200)
@given(positive, st.integers(1, 12), st.integers(1, 12), st.integers(1, 10**6), st.integers(0, 9))
def test_fractional_powers_are_enclosed(
    c: Fraction, p: int, q: int, depth: int, length: int
) -> None:
    exponent = -Fraction(min(p, q), max(p, q))
    low, high = DepthSum((Monomial(c, exponent),)).over(depth, depth + length, 64)
    assert high is not None
    for at, side in ((depth, high), (depth + length, low)):
        # (side / 2^64 / c)^q against D^(-p), all exact.
        power = (Fraction(side, 1 << 64) / c) ** exponent.denominator
        true = Fraction(1, at ** (-exponent.numerator))
        assert power >= true if side == high else power <= true
    assert DepthSum((Monomial(c, exponent),)).over(depth, None, 64) == (0, high)


@settings(derandomize=True, max_examples=100)
@given(
    st.builds(Fraction, st.integers(0, 2000), st.integers(1, 37)),
    st.builds(Fraction, st.integers(1, 90), st.integers(1, 90)),
    st.builds(Fraction, st.integers(1, 64), st.integers(1, 64)),
)
def test_upper_bounds_are_upper_and_close(x: Fraction, base: Fraction, power: Fraction) -> None:
    with mpmath.workprec(3500):
        close = 1 + mpmath.mpf(2) ** -100
        true = mpmath.power(2, -real(x))
        assert true <= real(exp2_upper(x)) <= true * close
        true = mpmath.exp(real(x))
        assert true <= real(exp_upper(x)) <= true * close
        true = mpmath.power(real(base), real(power))
        assert (
            true <= real(rational_power_upper(base, power)) <= true * close + mpmath.mpf(2) ** -150
        )
        for rate in (base, -base):
            true = mpmath.expm1(real(rate) * 2) / real(rate)
            assert true <= real(phi_upper(rate, Fraction(2))) <= true * close


def test_powers_of_two_are_exact_and_capped() -> None:
    assert exp2_upper(Fraction(0)) == 1
    assert exp2_upper(Fraction(40)) == Fraction(1, 1 << 40)
    assert exp2_upper(Fraction(10**12)) == exp2_upper(Fraction(1 << 16)) > 0

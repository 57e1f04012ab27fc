"""Powers, exponentials and roots are enclosed, and tightly."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from qreplace.exact.fixed_point import exponential, power
from qreplace.exact.roots import sqrt_bounds

rationals = st.fractions(min_value=-40, max_value=40, max_denominator=10**6)


@given(rationals, st.sampled_from([64, 128, 256]))
def test_exponential_is_enclosed_within_four_units(x: Fraction, bits: int) -> None:
    low, high = exponential(x, bits)
    with mpmath.workprec(bits + 200):
        true = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits
        assert low <= true <= high
    assert high - low <= 4


@given(
    st.fractions(min_value=0, max_value=2, max_denominator=1000),
    st.integers(0, 300),
    st.sampled_from([64, 128]),
)
def test_power_is_enclosed(base: Fraction, exponent: int, bits: int) -> None:
    low, high = power(base, exponent, bits)
    true = base**exponent
    assert Fraction(low, 1 << bits) <= true <= Fraction(high, 1 << bits)
    assert Fraction(high - low, 1 << bits) <= max(true, Fraction(1)) * Fraction(1, 1 << (bits - 4))


@given(st.fractions(min_value=0, max_value=10**9))
def test_square_roots_are_enclosed(value: Fraction) -> None:
    low, high = sqrt_bounds(value, 100)
    assert low * low <= value <= high * high
    assert high - low <= max(high, Fraction(1, 10**40)) * Fraction(1, 1 << 90)


def test_exact_roots_have_equal_ends() -> None:
    assert sqrt_bounds(Fraction(9, 16)) == (Fraction(3, 4), Fraction(3, 4))

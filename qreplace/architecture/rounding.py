"""Upward rounding that keeps a ledger's numbers short."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from qreplace.exact.fixed_point import exponential
from qreplace.exact.roots import sqrt_bounds

BITS = 72
"""Significant bits that are kept of every bound."""
SATURATED = 64
"""Score errors from here on change a softmax as much as any: tanh(32) is 1 to 90 bits."""


def upper(value: Fraction) -> Fraction:
    """``value`` rounded up to ``BITS`` significant bits; monotone. ``value`` is not negative."""
    if value <= 0:
        return Fraction(0)
    size = value.numerator.bit_length() - value.denominator.bit_length()
    shift = BITS - size
    if shift < 0:
        unit = 1 << -shift
        return Fraction(-(-value.numerator // (value.denominator * unit)) * unit)
    return Fraction(-((-value.numerator << shift) // value.denominator), 1 << shift)


def root_above(value: Fraction) -> Fraction:
    """An upper bound of the square root of a number that is not negative."""
    return upper(sqrt_bounds(value)[1])


def root_below(value: Fraction) -> Fraction:
    """A lower bound of the square root of a number that is not negative."""
    return sqrt_bounds(value)[0]


def root_sum_square(values: Iterable[Fraction]) -> Fraction:
    """An upper bound of the Euclidean norm of a list of numbers."""
    return root_above(sum((value * value for value in values), Fraction(0)))


def softmax_error(scores: Fraction) -> Fraction:
    """``2 tanh(eta/2)``, rounded up: the l1 change of a softmax whose scores change by ``eta``.

    The smaller of this bound and ``eta`` itself (theory T10.2); never above 2. With
    ``y = exp(-eta)`` it is ``2 (1 - y)/(1 + y)``, which falls with y.
    """
    if scores >= SATURATED:
        return Fraction(2)
    short = upper(scores)
    bits = BITS + 2 * SATURATED
    low = Fraction(exponential(-short, bits)[0], 1 << bits)
    return min(short, upper(2 * (1 - low) / (1 + low)))

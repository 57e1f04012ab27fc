"""Outward square roots of rationals."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

ROOT_BITS = 160
"""Absolute precision of an enclosed root relative to the root's own binary magnitude."""


def sqrt_bounds(value: Fraction, bits: int = ROOT_BITS) -> tuple[Fraction, Fraction]:
    """Dyadic ``(lower, upper)`` with ``lower**2 <= value <= upper**2``.

    ``value`` is nonnegative; the two are equal when the root is a dyadic of that precision, else
    they differ by one unit, at most ``2**-bits`` of the root's leading binary place.
    """
    if value == 0:
        return Fraction(0), Fraction(0)
    magnitude = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    shift = bits - magnitude
    scaled_numerator = value.numerator << (2 * shift) if shift >= 0 else value.numerator
    scaled_denominator = value.denominator if shift >= 0 else value.denominator << (-2 * shift)
    whole, rest = divmod(scaled_numerator, scaled_denominator)
    root = isqrt(whole)
    exact = rest == 0 and root * root == whole
    unit = Fraction(1, 1 << shift) if shift >= 0 else Fraction(1 << -shift)
    return root * unit, (root if exact else root + 1) * unit

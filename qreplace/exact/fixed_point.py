"""Outward-rounded fixed point: integers in units of ``2**-bits``, lower and upper.

Used for powers and exponentials, whose exact values are too long or irrational. Every function
returns ``(lower, upper)`` with ``lower <= value * 2**bits <= upper``.
"""

from __future__ import annotations

from fractions import Fraction

from qreplace.errors import Malformed

Bounds = tuple[int, int]

MAX_EXPONENT = 4096
"""Largest ``|x|`` of an enclosed ``exp(x)``; beyond it a radius is of no use to anyone."""


def enclose(value: Fraction, bits: int) -> Bounds:
    """A rational, rounded down and up."""
    scaled = value.numerator << bits
    return scaled // value.denominator, -(-scaled // value.denominator)


def power(base: Fraction, exponent: int, bits: int) -> Bounds:
    """``base ** exponent`` for ``base >= 0`` and ``exponent >= 0``."""
    guard = bits + 2 * exponent.bit_length() + 32
    low, high = enclose(base, guard)
    result_low, result_high = 1 << guard, 1 << guard
    while exponent:
        if exponent & 1:
            result_low = result_low * low >> guard
            result_high = -(-result_high * high >> guard)
        exponent >>= 1
        if exponent:
            low = low * low >> guard
            high = -(-high * high >> guard)
    shift = guard - bits
    return result_low >> shift, -(-result_high >> shift)


def exponential(x: Fraction, bits: int) -> Bounds:
    """``exp(x)``: Taylor series at ``x / 2**k`` with its remainder, then repeated squaring.

    Raises ``Malformed`` beyond ``MAX_EXPONENT``.
    """
    if abs(x) > MAX_EXPONENT:
        raise Malformed(f"exp of a number beyond ±{MAX_EXPONENT} is not enclosed")
    if x < 0:
        low, high = exponential(-x, bits + 8)
        unit = 1 << (2 * bits + 8)
        return unit // high, -(-unit // low)
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 4)
    guard = bits + 2 * halvings + 32 + int(abs(x)) * 2
    low_x, high_x = enclose(x / (1 << halvings), guard)
    one = 1 << guard
    low_sum, high_sum = one, one
    low_term, high_term = one, one
    k = 0
    while high_term > 1:
        k += 1
        low_term = (low_term * low_x >> guard) // k
        scaled = -(-high_term * high_x >> guard)
        high_term = -(-scaled // k)
        low_sum += low_term
        high_sum += high_term
    high_sum += 2 * high_term + 2  # the argument is below 1/8: the tail is below the last term
    for _ in range(halvings):
        low_sum = low_sum * low_sum >> guard
        high_sum = -(-high_sum * high_sum >> guard)
    shift = guard - bits
    return low_sum >> shift, -(-high_sum >> shift)

"""Rounding of integer quotients, and codes in registers: exact, for every mode (theory T4)."""

from __future__ import annotations

from fractions import Fraction

from qreplace.exact.rounding import Rounding
from qreplace.exact.rounding import round_quotient as round_quotient
from qreplace.simulate.model import OnOverflow


def round_to_grid(value: Fraction, step: Fraction, rounding: Rounding, draw: int = 0) -> int:
    """The code of ``value`` on the grid with that step."""
    scaled = value / step
    return round_quotient(scaled.numerator, scaled.denominator, rounding, draw)


def code_range(bits: int) -> tuple[int, int]:
    """The smallest and the largest code of a two's-complement register."""
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def fit(code: int, bits: int, on_overflow: OnOverflow) -> tuple[int, bool]:
    """What a register of ``bits`` bits holds of a code, and whether the code was too large.

    ``detect`` leaves the code as it is: the caller stops.
    """
    low, high = code_range(bits)
    if low <= code <= high:
        return code, False
    if on_overflow == "saturate":
        return (low if code < low else high), True
    if on_overflow == "wrap":
        return ((code - low) & ((1 << bits) - 1)) + low, True
    return code, True

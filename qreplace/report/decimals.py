"""Exact numbers as decimals for reading, always rounded to the unfavourable side.

A lower end is rounded down and an upper end up, so a printed interval contains the exact one and
a printed comparison is never better than the proved one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.exact.rational import decimal_text, format_rational

DIGITS = 6
"""Significant digits of a decimal, as in the sentences of a verdict."""
_PLAIN_EXPONENTS = range(-4, 9)
"""Powers of ten that are written out; anything else is written as ``1.2e-9``."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number and the decimal that is printed for it."""

    value: Fraction
    text: str

    @property
    def exact(self) -> str:
        """The exact number, ``p/q``."""
        return format_rational(self.value)

    def __str__(self) -> str:
        return self.text


def at_least(value: str | Fraction) -> Number:
    """A lower end: the decimal is not above the number."""
    return _number(Fraction(value), up=False)


def at_most(value: str | Fraction) -> Number:
    """An upper end: the decimal is not below the number."""
    return _number(Fraction(value), up=True)


def end(value: str | None, *, up: bool) -> Number | None:
    """An end that may be missing."""
    if value is None:
        return None
    return at_most(value) if up else at_least(value)


def _number(value: Fraction, *, up: bool) -> Number:
    return Number(value, decimal(value, up=up))


def decimal(value: Fraction, *, up: bool, digits: int = DIGITS) -> str:
    """``value`` with ``digits`` significant digits, rounded up or down; ``1e-9`` far from 1."""
    if value == 0:
        return "0"
    power = _power_of_ten(abs(value))
    if power in _PLAIN_EXPONENTS:
        return decimal_text(value, up=up, digits=digits)
    scaled = value / Fraction(10) ** (power - digits + 1)
    whole = -(-scaled.numerator // scaled.denominator) if up else (
        scaled.numerator // scaled.denominator
    )  # fmt: skip
    if abs(whole) == 10**digits:  # rounding reached the next power of ten
        whole, power = whole // 10, power + 1
    figures = str(abs(whole))
    mantissa = f"{figures[0]}.{figures[1:]}".rstrip("0").rstrip(".")
    return f"{'-' if whole < 0 else ''}{mantissa}e{power}"


def _power_of_ten(size: Fraction) -> int:
    """The largest k with ``10**k <= size``, for a positive number of any size."""
    # 1233 / 4096 is just below log10 2; the two loops settle what the estimate leaves open.
    top, bottom = size.numerator, size.denominator
    power = (top.bit_length() - bottom.bit_length()) * 1233 // 4096
    while not _reaches(top, bottom, power):
        power -= 1
    while _reaches(top, bottom, power + 1):
        power += 1
    return power


def _reaches(top: int, bottom: int, power: int) -> bool:
    """``top / bottom >= 10**power`` in integers."""
    scale: int = 10 ** abs(power)
    return top >= bottom * scale if power >= 0 else top * scale >= bottom

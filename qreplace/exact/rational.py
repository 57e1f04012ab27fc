"""Rationals as text, and the rounding that keeps certified numbers small.

An exact number is written ``"p/q"``, as an integer or as a decimal; never as binary floating
point. A decimal is the rational it denotes: ``0.1`` is 1/10.
"""

from __future__ import annotations

import re
from fractions import Fraction

from qreplace.errors import Malformed

MAX_DIGITS = 4000
"""Longest run of digits read in one number; below CPython's own conversion limit of 4300."""

MAX_EXPONENT = 400
"""Largest decimal exponent, in absolute value, of a number such as ``1e-9``."""

_RATIONAL = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def parse_rational(text: str, pointer: str = "") -> Fraction:
    """The rational that ``text`` denotes: ``"p/q"``, an integer or a decimal.

    Raises ``Malformed`` for anything else, for a zero denominator, for more than ``MAX_DIGITS``
    digits and for exponents beyond ``MAX_EXPONENT``.
    """
    if len(text) > 2 * MAX_DIGITS + 2:
        raise Malformed(
            f"a number of {len(text)} characters; at most {MAX_DIGITS} digits a part are read",
            pointer=pointer,
        )
    match = _RATIONAL.fullmatch(text)
    if match:
        _limit_digits(match[1], pointer)
        _limit_digits(match[2], pointer)
        denominator = int(match[2])
        if denominator == 0:
            raise Malformed(f"the fraction {text!r} has denominator 0", pointer=pointer)
        return Fraction(int(match[1]), denominator)
    match = _DECIMAL.fullmatch(text)
    if not match or not (match[2] or match[3]):
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise Malformed(
            f'needed an exact number (a decimal, an integer or "p/q"), received {shown!r}',
            pointer=pointer,
        )
    sign, whole, decimals, exponent = match[1], match[2], match[3] or "", match[4] or "0"
    _limit_digits(whole + decimals, pointer)
    if len(exponent) > 5 or abs(int(exponent)) > MAX_EXPONENT:
        raise Malformed(
            f"decimal exponent {exponent[:8]} is outside ±{MAX_EXPONENT}", pointer=pointer
        )
    value = Fraction(int((whole + decimals) or "0"))
    shift = int(exponent) - len(decimals)
    factor = Fraction(10) ** abs(shift)
    value = value * factor if shift >= 0 else value / factor
    return -value if sign == "-" else value


def _limit_digits(digits: str, pointer: str) -> None:
    if len(digits) > MAX_DIGITS:
        raise Malformed(
            f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read", pointer=pointer
        )


def format_rational(value: Fraction | int) -> str:
    """The canonical text of an exact number: ``"p/q"`` in lowest terms, or ``"p"``."""
    if value.denominator == 1:
        return _digits(value.numerator)
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def _digits(number: int) -> str:
    """``str(number)`` also beyond CPython's limit on the length of such texts."""
    if number.bit_length() <= 3 * MAX_DIGITS:
        return str(number)
    if number < 0:
        return "-" + _digits(-number)
    places = number.bit_length() * 3 // 20  # about half of the digits
    high, low = divmod(number, 10**places)
    return _digits(high) + _digits(low).rjust(places, "0")


def approximate(value: Fraction) -> float:
    """A nearby binary float for display beside the exact text; never used in a decision."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def round_down(value: Fraction, bits: int) -> Fraction:
    """The largest multiple of ``2**-bits`` not above ``value``."""
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


def round_up(value: Fraction, bits: int) -> Fraction:
    """The smallest multiple of ``2**-bits`` not below ``value``."""
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)


def decimal_text(value: Fraction, *, up: bool, digits: int = 6) -> str:
    """``value`` in decimals with ``digits`` significant digits, rounded up or down, for reading."""
    if value == 0:
        return "0"
    size = abs(value)
    exponent = len(_digits(size.numerator // size.denominator)) if size >= 1 else 0
    if exponent == 0:
        above = len(_digits(size.numerator)) - len(_digits(size.denominator)) + 1
        exponent = min(0, above)
        while size * 10 ** (1 - exponent) < 1:
            exponent -= 1
    places = max(0, digits - exponent)
    scaled = value * 10**places
    whole = -(-scaled.numerator // scaled.denominator) if up else (
        scaled.numerator // scaled.denominator
    )  # fmt: skip
    text = _digits(abs(whole)).rjust(places + 1, "0")
    if places:
        text = (text[:-places] + "." + text[-places:]).rstrip("0").rstrip(".")
    return "-" + text if whole < 0 else text

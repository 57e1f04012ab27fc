"""Exact numbers as text: what is read, what is refused, and how they are rounded for reading."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.rational import (
    MAX_DIGITS,
    approximate,
    decimal_text,
    format_rational,
    parse_rational,
    round_down,
    round_up,
)

FRACTIONS = st.fractions()
LONG = st.builds(Fraction, st.integers(-(10**60), 10**60), st.integers(1, 10**60))


@given(FRACTIONS | LONG)
def test_text_inverts(value: Fraction) -> None:
    assert parse_rational(format_rational(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_decimals_are_the_rationals_they_denote(value: object) -> None:
    assert parse_rational(str(value)) == Fraction(str(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("-.5", Fraction(-1, 2)),
        ("+7.", Fraction(7)),
        ("2e3", Fraction(2000)),
        ("1.5E-2", Fraction(3, 200)),
        ("-6/4", Fraction(-3, 2)),
        ("-0", Fraction(0)),
        ("1e-400", Fraction(1, 10**400)),
    ],
)
def test_read(text: str, value: Fraction) -> None:
    assert parse_rational(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1/", "/2", "1/-2", "1/2/3", "1.5/2", ".", "e5", "1e", "--1", "0x1", "1_0",
     "nan", "inf", "½", "१", "1\n", "1,5", "1/0", "1e401", "1e-401", "1e99999999"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_rational(text, "/there")
    assert caught.value.pointer == "/there"


def test_long_numbers() -> None:
    digits = "9" * MAX_DIGITS
    assert parse_rational(digits) == int(digits)
    for text in (digits + "9", f"1/{digits}9", f"0.{digits}9", "9" * 10**6, "9/" + "9" * 10**6):
        with pytest.raises(Malformed, match="at most 4000"):
            parse_rational(text)


@pytest.mark.parametrize("digits", [3000, 4000, 4300, 4301, 5000, 20_000, 100_001])
def test_any_length_is_written(digits: int) -> None:
    """CPython converts at most 4,300 digits; a recomputed number may have more."""
    for number in (10 ** (digits - 1), 10**digits - 1, -(10 ** (digits - 1)) - 7):
        text = format_rational(number)
        assert len(text.lstrip("-")) == digits
        total = 0
        for start in range(0, digits, 1000):
            part = text.lstrip("-")[start : start + 1000]
            total = total * 10 ** len(part) + int(part)
        assert total == abs(number)
        assert text.startswith("-") == (number < 0)
    assert format_rational(Fraction(1, 10**digits)) == "1/1" + "0" * digits


@given(FRACTIONS, st.integers(0, 80))
def test_rounding_is_outward(value: Fraction, bits: int) -> None:
    low, high = round_down(value, bits), round_up(value, bits)
    assert low <= value <= high
    assert high - low <= Fraction(1, 1 << bits)
    assert (low == high) == ((value * (1 << bits)).denominator == 1)


@given(FRACTIONS | LONG, st.booleans(), st.integers(1, 12))
def test_decimal_texts_are_outward_and_short(value: Fraction, up: bool, digits: int) -> None:
    shown = Fraction(decimal_text(value, up=up, digits=digits))
    assert shown >= value if up else shown <= value
    size = abs(value)
    if size:
        assert abs(shown - value) < size * Fraction(10, 10**digits) + (size >= 10**digits)


@pytest.mark.parametrize("value", [Fraction(10) ** 6000 + 1, Fraction(1, 10**6000)])
def test_decimal_texts_of_extreme_numbers(value: Fraction) -> None:
    assert len(decimal_text(value, up=True)) >= 6000
    assert approximate(value) in (float("inf"), 0.0)
    assert approximate(-value) in (float("-inf"), 0.0)

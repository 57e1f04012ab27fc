"""Printed decimals never claim more than the exact number, whatever its size."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.report.companions import with_companions
from qreplace.report.decimals import at_least, at_most, end

numbers = st.builds(
    lambda top, bottom, power: Fraction(top, bottom) * Fraction(10) ** power,
    st.integers(-(10**12), 10**12),
    st.integers(1, 10**12),
    st.integers(-400, 400),
)


@given(numbers)
def test_decimals_are_rounded_outward_and_stay_close(value: Fraction) -> None:
    below, above = Fraction(at_least(value).text), Fraction(at_most(value).text)
    assert below <= value <= above
    assert above - below <= abs(value) * Fraction(1, 10**5)
    assert len(at_most(value).text) <= 18


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("1/20", "0.05"),
        ("-1/8", "-0.125"),
        ("320", "320"),
        ("1/1000000000", "1e-9"),
        ("999999999999999", "1e15"),
        ("1000000000000", "1e12"),
    ],
)
def test_short_decimals_are_exact_or_rounded_up(value: str, text: str) -> None:
    assert at_most(value).text == text


def test_the_exact_number_is_kept() -> None:
    assert at_least("2/3").text == "0.666666"
    assert at_most("2/3").text == "0.666667"
    assert at_most("2/3").exact == "2/3"


def test_a_missing_end_stays_missing() -> None:
    assert end(None, up=True) is None


def test_companions_hold_no_infinity() -> None:
    found = with_companions({"cost": f"1{'0' * 400}", "upper": "1/4", "weights": ["1/3"]})
    assert found["cost~"] is None
    assert found["upper~"] == 0.25
    assert found["weights~"] == [pytest.approx(1 / 3)]


def test_only_exact_numbers_get_companions() -> None:
    document = {"lower": None, "upper": "text", "name": "1/2", "rows": [{"lo": "1/2"}]}
    found = with_companions(document)
    assert found == {
        "lower": None,
        "upper": "text",
        "name": "1/2",
        "rows": [{"lo": "1/2", "lo~": 0.5}],
    }

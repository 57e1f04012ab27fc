"""Rows and tables: numbers rounded to the safe side, agreement, JSON keys."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.reproduce.table import Interval, Row, Table, decimal, number

RATIONALS = st.builds(
    lambda n, d, e: Fraction(n, d) / 10**e,
    st.integers(-(10**12), 10**12),
    st.integers(1, 10**9),
    st.integers(0, 30),
)


def read(text: str) -> Fraction:
    return Fraction(text)


@given(RATIONALS)
def test_decimals_are_rounded_outward_and_are_near(value: Fraction) -> None:
    low, high = read(decimal(value, up=False)), read(decimal(value, up=True))
    assert low <= value <= high
    assert high - low <= abs(value) / 10**7


@given(RATIONALS, RATIONALS)
def test_printed_intervals_hold_the_interval(one: Fraction, other: Fraction) -> None:
    lower, upper = sorted((one, other))
    ends = [read(part) for part in Interval(lower, upper).text().split(" to ")]
    assert ends[0] <= lower and upper <= ends[-1]


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(Fraction(3, 16), Fraction(3, 16)), "0.1875"),
        (Interval(Fraction(1, 3), Fraction(1, 3)), "0.333333333 to 0.333333334"),
        (Interval(Fraction(1, 3), None), "at least 0.333333333"),
        (Interval(None, Fraction(2, 3)), "at most 0.666666667"),
        (Interval(None, None), "unknown"),
        (Interval(Fraction(0), Fraction(1, 10**30)), "0 to 1e-30"),
        (Interval(Fraction(8), Fraction(8)), "8"),
    ],
)
def test_texts(interval: Interval, text: str) -> None:
    assert interval.text() == text


def test_an_interval_is_not_empty() -> None:
    with pytest.raises(InputError, match="lower end"):
        Interval(Fraction(1), Fraction(0))


def exactly(text: str) -> Interval:
    return Interval(Fraction(text), Fraction(text))


@pytest.mark.parametrize(
    ("here", "published", "agrees"),
    [
        ("0.0244316038976", "0.02443160", True),
        ("0.024431605", "0.02443160", True),
        ("0.0244316051", "0.02443160", False),
        ("0.024431594", "0.02443160", False),
        ("8", "8", True),
        ("9", "8", False),
    ],
)
def test_a_number_agrees_when_it_rounds_to_the_published_decimals(
    here: str, published: str, agrees: bool
) -> None:
    assert number("x", exactly(here), "counted", published).agrees is agrees


def test_half_an_interval_agrees_with_nothing_and_a_wide_one_neither() -> None:
    assert not Interval(Fraction("0.1"), None).near("0.1")
    assert not Interval(Fraction("0.09"), Fraction("0.11")).near("0.10")


def table(*rows: Row, given: bool = True) -> Table:
    return Table("name", "Title", "QR 1", given, "The instance.", rows, ("A note.",))


def test_a_table_agrees_unless_a_row_disagrees() -> None:
    yes, no = number("a", exactly("1"), "counted", "1"), number("b", exactly("1"), "counted", "2")
    silent = number("c", exactly("1"), "counted")
    assert table(yes, silent).agrees and table(silent).agrees
    assert not table(yes, no, silent).agrees


def test_the_document() -> None:
    found = table(number("a", Interval(Fraction(1, 3), None), "counted", "1"), given=False)
    document = found.document()
    assert list(document) == [
        "table", "title", "reference", "instance", "instance_given", "agrees", "compared", "rows",
        "notes",
    ]  # fmt: skip
    assert document["instance_given"] is False
    assert document["compared"] == 1 and document["agrees"] is False
    assert document["rows"] == [
        {
            "quantity": "a",
            "published": "1",
            "here": "at least 0.333333333",
            "lower": "1/3",
            "lower~": 1 / 3,
            "upper": None,
            "upper~": None,
            "agrees": False,
            "shown": "counted",
        }
    ]


def test_the_text_says_what_agrees_and_on_whose_instance() -> None:
    yes, no = number("a", exactly("1"), "counted", "1"), number("b", exactly("1"), "counted", "2")
    lines = table(yes, no).text().splitlines()
    assert lines[-1] == "1 of 2 comparable entries agree"
    assert any(line.split() == ["b", "2", "1", "NO", "counted"] for line in lines)
    assert table(yes, given=False).text().endswith("agree, on an instance of our own")
    plain = table(number("c", exactly("1"), "counted")).text()
    assert plain.endswith("nothing here can be compared with the paper")
    assert "published" not in plain

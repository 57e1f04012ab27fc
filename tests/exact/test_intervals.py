"""Ranges of polynomials on boxes contain every value, and cells cover their box."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.intervals import (
    MAX_CELLS,
    Interval,
    add,
    cells,
    magnitude,
    multiply,
    power,
    range_on,
    range_on_cells,
    scale,
)
from qreplace.exact.polynomial import Polynomial, constant, from_terms, variable

NUMBERS = st.fractions(-4, 4, max_denominator=6)
INTERVALS = st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair)))
SHARES = st.fractions(0, 1, max_denominator=7)
POLYNOMIALS = st.dictionaries(st.tuples(*[st.integers(0, 3)] * 2), NUMBERS, max_size=5).map(
    from_terms
)


def point_of(interval: Interval, share: Fraction) -> Fraction:
    return interval[0] + share * (interval[1] - interval[0])


def holds(interval: Interval, value: Fraction) -> bool:
    return interval[0] <= value <= interval[1]


@given(INTERVALS, INTERVALS, SHARES, SHARES, NUMBERS, st.integers(0, 5))
def test_operations_contain_those_of_points(
    one: Interval, other: Interval, s: Fraction, r: Fraction, factor: Fraction, exponent: int
) -> None:
    x, y = point_of(one, s), point_of(other, r)
    assert holds(add(one, other), x + y)
    assert holds(multiply(one, other), x * y)
    assert holds(scale(one, factor), factor * x)
    assert holds(power(one, exponent), x**exponent)
    assert abs(x) <= magnitude(one)


@given(INTERVALS, st.integers(1, 5))
def test_powers_are_exact(interval: Interval, exponent: int) -> None:
    low, high = power(interval, exponent)
    ends = [interval[0] ** exponent, interval[1] ** exponent]
    if exponent % 2 == 0 and interval[0] < 0 < interval[1]:
        ends.append(Fraction(0))
    assert (low, high) == (min(ends), max(ends))


@settings(max_examples=40)
@given(POLYNOMIALS, INTERVALS, INTERVALS, st.lists(st.tuples(SHARES, SHARES), max_size=6))
def test_ranges_contain_values(
    polynomial: Polynomial,
    one: Interval,
    other: Interval,
    shares: list[tuple[Fraction, Fraction]],
) -> None:
    whole = range_on(polynomial, (one, other))
    cut = range_on_cells(polynomial, (one, other), (2, 3))
    for s, r in [(Fraction(0), Fraction(1)), *shares]:
        value = polynomial.at((point_of(one, s), point_of(other, r)))
        assert holds(whole, value)
        assert holds(cut, value)


def test_cutting_tightens() -> None:
    """``x - x^2`` on [0, 1] has range [0, 1/4]."""
    bump = variable(0, 1) - variable(0, 1) * variable(0, 1)
    box = ((Fraction(0), Fraction(1)),)
    previous = range_on(bump, box)
    for count in (2, 4, 8, 16):
        found = range_on_cells(bump, box, (count,))
        assert previous[0] <= found[0] <= 0
        assert Fraction(1, 4) <= found[1] <= previous[1]
        assert found[1] - Fraction(1, 4) <= Fraction(1, 2 * count)
        previous = found


def test_linear_functions_are_exact() -> None:
    line = variable(0, 2).scaled(Fraction(3)) - variable(1, 2) + constant(Fraction(1, 2), 2)
    box = ((Fraction(-1), Fraction(2)), (Fraction(0), Fraction(5)))
    assert range_on(line, box) == (Fraction(-15, 2), Fraction(13, 2))
    assert range_on(Polynomial((), ()), box) == (0, 0)


@given(INTERVALS, INTERVALS, st.integers(1, 4), st.integers(1, 4), SHARES, SHARES)
def test_cells_cover_their_box(
    one: Interval, other: Interval, n: int, m: int, s: Fraction, r: Fraction
) -> None:
    found = list(cells((one, other), (n, m)))
    assert len(found) == n * m
    point = point_of(one, s), point_of(other, r)
    assert any(all(map(holds, cell, point)) for cell in found)
    for cell in found:
        corners = itertools.product(*cell)
        assert all(holds(one, a) and holds(other, b) for a, b in corners)


@pytest.mark.parametrize("counts", [(0,), (-1,), (MAX_CELLS + 1,)])
def test_too_many_or_no_cells(counts: tuple[int, ...]) -> None:
    with pytest.raises(Malformed, match="is cut into"):
        list(cells(((Fraction(0), Fraction(1)),), counts))

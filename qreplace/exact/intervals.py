"""Ranges of polynomials on boxes, outward and exact (rational interval arithmetic).

An interval is a pair ``(lower, upper)`` of rationals.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.errors import Malformed
from qreplace.exact.polynomial import Polynomial

Interval = tuple[Fraction, Fraction]
Box = tuple[Interval, ...]

MAX_CELLS = 65_536
"""Most cells into which a box is cut."""


def add(one: Interval, other: Interval) -> Interval:
    """The sum."""
    return one[0] + other[0], one[1] + other[1]


def multiply(one: Interval, other: Interval) -> Interval:
    """The product."""
    ends = (one[0] * other[0], one[0] * other[1], one[1] * other[0], one[1] * other[1])
    return min(ends), max(ends)


def scale(interval: Interval, factor: Fraction) -> Interval:
    """The interval times a number."""
    ends = interval[0] * factor, interval[1] * factor
    return (ends[0], ends[1]) if factor >= 0 else (ends[1], ends[0])


def power(interval: Interval, exponent: int) -> Interval:
    """An integer power; even ones are not negative."""
    low, high = interval[0] ** exponent, interval[1] ** exponent
    if exponent % 2 or interval[0] >= 0:
        return low, high
    if interval[1] <= 0:
        return high, low
    return Fraction(0), max(low, high)


def magnitude(interval: Interval) -> Fraction:
    """The largest absolute value."""
    return max(abs(interval[0]), abs(interval[1]))


def range_on(polynomial: Polynomial, box: Sequence[Interval]) -> Interval:
    """An interval that contains every value on a box: the mean-value form met with term by term."""
    plain = _term_by_term(polynomial, box)
    if polynomial.degree < 2:
        return plain
    middle = [(low + high) / 2 for low, high in box]
    centre = polynomial.at(middle)
    spread = Fraction(0)
    for index, (low, high) in enumerate(box):
        if low != high:
            slope = _term_by_term(polynomial.derivative(index), box)
            spread += magnitude(slope) * (high - low) / 2
    return max(plain[0], centre - spread), min(plain[1], centre + spread)


def _term_by_term(polynomial: Polynomial, box: Sequence[Interval]) -> Interval:
    low = high = Fraction(0)
    for exponents, coefficient in zip(polynomial.exponents, polynomial.coefficients, strict=True):
        term: Interval = (Fraction(1), Fraction(1))
        for interval, exponent in zip(box, exponents, strict=True):
            if exponent:
                term = multiply(term, power(interval, exponent))
        part = scale(term, coefficient)
        low, high = low + part[0], high + part[1]
    return low, high


def cells(box: Sequence[Interval], counts: Sequence[int]) -> Iterator[Box]:
    """The box cut into ``counts[i]`` equal parts along variable ``i``; together they cover it.

    Raises ``Malformed`` for a count below 1 or for more than ``MAX_CELLS`` cells.
    """
    number = 1
    for count in counts:
        number *= count
        if count < 1 or number > MAX_CELLS:
            raise Malformed(f"a box is cut into 1 to {MAX_CELLS} cells")
    sides = []
    for (low, high), count in zip(box, counts, strict=True):
        cuts = [low + (high - low) * Fraction(k, count) for k in range(count + 1)]
        sides.append(list(itertools.pairwise(cuts)))
    yield from itertools.product(*sides)


def range_on_cells(
    polynomial: Polynomial, box: Sequence[Interval], counts: Sequence[int]
) -> Interval:
    """The range on a box, as the hull of the ranges on its cells."""
    ranges = [range_on(polynomial, cell) for cell in cells(box, counts)]
    return min(low for low, _ in ranges), max(high for _, high in ranges)

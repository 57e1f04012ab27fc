"""Constant boxes about moving sides, by an identity written out by hand (theory T7.4).

With constants ``a <= l(t)`` and ``b >= h(t)`` on the horizon and ``w = b - a``,

    w (z - a)(b - z) = (z - a)^2 ((h - z) + (b - h)) + (b - z)^2 ((z - l) + (l - a)),

and a polynomial in time whose Bernstein coefficients on ``[0, T]`` of an even degree are not
negative is a sum of squares plus another times ``t (T - t)``. The products of sides bound every
moment, which the sides themselves do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qreplace.claims.region import ImpliedPart
from qreplace.claims.sums_of_squares import Combination, Multiplier, Squares
from qreplace.exact.polynomial import Polynomial, constant, variable


def hull_part(
    index: int,
    arity: int,
    lower: Sequence[Fraction],
    upper: Sequence[Fraction],
    horizon: Fraction,
    numbers: tuple[int, int],
) -> ImpliedPart:
    """The smallest such box for coordinate ``index``.

    ``lower`` and ``upper`` are the sides' coefficients in ``t``; ``numbers`` are the constraints
    ``z - l`` and ``h - z``; constraint 0 is ``t (T - t)``.
    """
    below = bernstein(lower, horizon)
    above = bernstein(upper, horizon)
    a, b = min(below), max(above)
    z = variable(index + 1, arity)
    low, high = z - constant(a, arity), constant(b, arity) - z
    width = b - a
    free = Shares([], []), Shares([], [])
    free_squares, time_squares = free
    _add(free_squares, time_squares, low, [b - c for c in above], horizon, width)
    _add(free_squares, time_squares, high, [c - a for c in below], horizon, width)
    first, second = numbers
    multipliers = [
        Multiplier(0, time_squares.document()),
        Multiplier(first, Squares("squares", (1 / width,), (high,))),
        Multiplier(second, Squares("squares", (1 / width,), (low,))),
    ]
    used = tuple(m for m in multipliers if isinstance(m.sos, Squares) and m.sos.weights)
    return ImpliedPart("implied", low * high, Combination(free_squares.document(), used))


class Shares:
    """Weighted squares being collected."""

    def __init__(self, weights: list[Fraction], polynomials: list[Polynomial]) -> None:
        self.weights = weights
        self.polynomials = polynomials

    def add(self, weight: Fraction, polynomial: Polynomial) -> None:
        """One more square, unless its weight is 0."""
        if weight:
            self.weights.append(weight)
            self.polynomials.append(polynomial)

    def document(self) -> Squares:
        """As a claim holds them."""
        return Squares("squares", tuple(self.weights), tuple(self.polynomials))


def _add(
    free: Shares,
    time: Shares,
    factor: Polynomial,
    coefficients: Sequence[Fraction],
    horizon: Fraction,
    width: Fraction,
) -> None:
    """``factor^2`` times the polynomial in time with these Bernstein coefficients, over width."""
    arity = factor.arity or 1
    t = variable(0, arity)
    rest = constant(horizon, arity) - t
    degree = len(coefficients) - 1
    for k, coefficient in enumerate(coefficients):
        weight = coefficient * math.comb(degree, k) / horizon**degree / width
        square = factor * t.power(k // 2) * rest.power((degree - k) // 2)
        (time if k % 2 else free).add(weight, square)


def bernstein(coefficients: Sequence[Fraction], horizon: Fraction) -> list[Fraction]:
    """Bernstein coefficients on ``[0, horizon]`` of the next even degree, at least 2."""
    degree = max(2, len(coefficients) - 1 + (len(coefficients) - 1) % 2)
    scaled = [c * horizon**k for k, c in enumerate(coefficients)]
    scaled += [Fraction(0)] * (degree + 1 - len(scaled))
    return [
        sum(
            (Fraction(math.comb(i, k), math.comb(degree, k)) * scaled[k] for k in range(i + 1)),
            Fraction(0),
        )
        for i in range(degree + 1)
    ]

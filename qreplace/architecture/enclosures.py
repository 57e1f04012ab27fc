"""Rational enclosures of pi, exp, tanh, the normal density and distribution, on intervals.

An interval is a pair ``(lower, upper)`` of rationals; ends are rounded outward to ``2**-BITS``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from qreplace.exact.fixed_point import exponential
from qreplace.exact.intervals import Interval, power, scale
from qreplace.exact.rational import round_down, round_up
from qreplace.exact.roots import sqrt_bounds

BITS = 96
ONE: Interval = (Fraction(1), Fraction(1))
CACHE = 65_536


def outward(interval: Interval) -> Interval:
    """The interval with ends rounded outward."""
    return round_down(interval[0], BITS), round_up(interval[1], BITS)


def minus(interval: Interval) -> Interval:
    """The negative."""
    return -interval[1], -interval[0]


def _arctan_of_inverse(whole: int) -> Interval:
    """``arctan(1/whole)`` by its alternating series, between two partial sums."""
    total, term, k = Fraction(0), Fraction(1, whole), 0
    while True:
        following = total + (term / (2 * k + 1)) * (-1) ** k
        if term < Fraction(1, 1 << (BITS + 16)):
            return min(total, following), max(total, following)
        total, term, k = following, term / (whole * whole), k + 1


@lru_cache(maxsize=1)
def pi() -> Interval:
    """Pi by Machin's formula, ``16 arctan(1/5) - 4 arctan(1/239)``."""
    fifth, rest = _arctan_of_inverse(5), _arctan_of_inverse(239)
    return outward((16 * fifth[0] - 4 * rest[1], 16 * fifth[1] - 4 * rest[0]))


@lru_cache(maxsize=1)
def root_two_over_pi() -> Interval:
    """``sqrt(2/pi)``."""
    low, high = pi()
    return outward((sqrt_bounds(2 / high)[0], sqrt_bounds(2 / low)[1]))


@lru_cache(maxsize=CACHE)
def exp_at(x: Fraction) -> Interval:
    """``exp(x)``."""
    low, high = exponential(x, BITS)
    return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)


@lru_cache(maxsize=CACHE)
def tanh_at(x: Fraction) -> Interval:
    """``tanh(x) = (1 - y)/(1 + y)`` with ``y = exp(-2x)``, which falls with y."""
    if x < 0:
        return minus(tanh_at(-x))
    low, high = exp_at(-2 * x)
    return outward(((1 - high) / (1 + high), (1 - low) / (1 + low)))


@lru_cache(maxsize=CACHE)
def density_at(x: Fraction) -> Interval:
    """The standard normal density ``exp(-x^2/2) / sqrt(2 pi)``."""
    low, high = exp_at(-x * x / 2)
    root = root_two_over_pi()  # 1/sqrt(2 pi) is half of it
    return outward((low * root[0] / 2, high * root[1] / 2))


@lru_cache(maxsize=CACHE)
def distribution_at(x: Fraction) -> Interval:
    """The standard normal distribution function.

    For ``x >= 0`` it is ``1/2 + density(x) sum_k x^(2k+1)/(1 3 5 .. (2k+1))``; all terms are
    positive, and once their ratio is below 1/2 the tail is below the last term.
    """
    if x < 0:
        low, high = distribution_at(-x)
        return 1 - high, 1 - low
    low_term, high_term = round_down(x, BITS), round_up(x, BITS)
    low_sum, high_sum = low_term, high_term
    small, k = Fraction(1, 1 << (BITS - 8)), 0
    while high_term > small or 2 * x * x > 2 * k + 3:
        k += 1
        ratio = x * x / (2 * k + 1)
        low_term, high_term = round_down(low_term * ratio, BITS), round_up(high_term * ratio, BITS)
        low_sum, high_sum = low_sum + low_term, high_sum + high_term
    density = density_at(x)
    low = Fraction(1, 2) + density[0] * low_sum
    high = Fraction(1, 2) + density[1] * (high_sum + high_term)
    return outward((low, min(high, Fraction(1))))


def increasing(at: Callable[[Fraction], Interval], x: Interval) -> Interval:
    """The range of an increasing function on an interval."""
    return at(x[0])[0], at(x[1])[1]


def density(x: Interval) -> Interval:
    """The range of the density, which falls with ``|x|``."""
    squared = power(x, 2)
    exponent = scale(squared, Fraction(-1, 2))
    low, high = exp_at(exponent[0])[0], exp_at(exponent[1])[1]
    root = root_two_over_pi()
    return outward((low * root[0] / 2, high * root[1] / 2))

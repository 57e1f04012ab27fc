"""Upper bounds of integrals of maxima of polynomials on ``[0, 1]``, by Bernstein coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

MAX_HALVES = 32
"""Most parts into which an interval is halved where no single polynomial is the largest."""


def positive_integral(differences: list[list[int]], width: Fraction, negligible: int) -> int:
    """An upper bound of ``width * int_0^1 max(0, max_i p_i)``, rounded up.

    ``differences[i]`` are the coefficients of ``p_i`` by powers; a bound below ``negligible`` on
    some part of the interval is not tightened there.
    """
    if not differences:
        return 0
    degree = max(map(len, differences)) - 1
    scale, rows = 1, []
    for difference in differences:
        row, scale = bernstein(difference + [0] * (degree + 1 - len(difference)))
        rows.append(row)
    return math.ceil(_Halving(degree, negligible * scale).mean(rows) * width / scale)


def bernstein(coefficients: Sequence[int]) -> tuple[list[int], int]:
    """Bernstein coefficients on ``[0, 1]``, times an integer that is returned beside them.

    ``b_i = sum_k C(i, k) / C(m, k) c_k`` for degree m, exactly.
    """
    degree = len(coefficients) - 1
    binomials = [math.comb(degree, k) for k in range(degree + 1)]
    scale = math.lcm(*binomials)
    current = [c * (scale // n) for c, n in zip(coefficients, binomials, strict=True)]
    values = []
    while current:  # sums by Pascal's rule
        values.append(current[0])
        current = [a + b for a, b in pairwise(current)]
    return values, scale


class _Halving:
    """The mean over ``[0, 1]`` of ``max(0, max_i p_i)``, bounded by Bernstein coefficients.

    An interval is halved while no single polynomial is the largest on it, the bound is above
    ``negligible`` and fewer than ``MAX_HALVES`` halves were looked at.
    """

    def __init__(self, degree: int, negligible: int) -> None:
        self.degree = degree
        self.negligible = negligible
        self.halves = 0

    def mean(self, rows: list[list[int]], level: int = 0) -> Fraction:
        """The bound for Bernstein coefficients that are ``2**(degree * level)`` times larger."""
        rows = [row for row in rows if max(row) > 0]
        if not rows:
            return Fraction(0)
        peaks = [max(0, *column) for column in zip(*rows, strict=True)]
        settled = max(peaks) <= self.negligible << (self.degree * level)
        if settled or peaks in rows or self.halves >= MAX_HALVES:
            return Fraction(sum(peaks), self.degree + 1)
        self.halves += 2
        pairs = [_de_casteljau(row) for row in rows]
        low = self.mean([left for left, _ in pairs], level + 1)
        high = self.mean([right for _, right in pairs], level + 1)
        return (low + high) / (2 << self.degree)


def _de_casteljau(row: list[int]) -> tuple[list[int], list[int]]:
    """Bernstein coefficients on both halves, times ``2**degree``."""
    degree = len(row) - 1
    left, right = [], []
    current = list(row)
    for level in range(degree + 1):
        left.append(current[0] << (degree - level))
        right.append(current[-1] << (degree - level))
        current = [a + b for a, b in pairwise(current)]
    right.reverse()
    return left, right

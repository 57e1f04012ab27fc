"""Exact positive semidefiniteness of symmetric rational matrices (theory T7.4, T10.5)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from operator import mul

QUICK_ROWS = 24
"""From this size on a verified approximate factor is tried before the exact factorization."""
GUARD_BITS = 96
"""Binary digits of the approximate factor's largest entries, at least."""


def is_positive_semidefinite(rows: Sequence[Sequence[int]]) -> bool:
    """Whether a symmetric integer matrix, given by its lower triangle, is positive semidefinite.

    ``rows[i]`` holds entries ``0..i``. Large ones with room to spare are shown to be so quickly,
    all others by ``is_semidefinite_by_pivots``.
    """
    if len(rows) >= QUICK_ROWS and is_shown_definite(rows):
        return True
    return is_semidefinite_by_pivots(rows)


def is_semidefinite_by_pivots(rows: Sequence[Sequence[int]]) -> bool:
    """The plain reference: the exact answer for any symmetric integer matrix.

    This is the LDL^T factorization in fraction-free form (Bareiss): after step ``k`` every entry is
    a minor, so divisions are exact and the pivots have the signs of those of D. A zero pivot
    demands that its whole remaining column is zero.
    """
    matrix = [list(row) for row in rows]
    size = len(matrix)
    previous = 1
    for k in range(size):
        pivot = matrix[k][k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(matrix[i][k] for i in range(k + 1, size)):
                return False
            continue
        column = [matrix[i][k] for i in range(k + 1, size)]
        for i in range(k + 1, size):
            row, left = matrix[i], column[i - k - 1]
            if left:
                for j in range(k + 1, i + 1):
                    row[j] = (pivot * row[j] - left * column[j - k - 1]) // previous
            elif pivot != previous:
                for j in range(k + 1, i + 1):
                    row[j] = pivot * row[j] // previous
        previous = pivot
    return True


def is_shown_definite(lower: Sequence[Sequence[int]]) -> bool:
    """Whether a symmetric integer matrix (lower triangle) is shown to be positive semidefinite.

    Zero is. Otherwise powers of two on both sides bring every diagonal entry to about ``2**top``.
    For the matrix A so scaled, less ``shift`` on its diagonal, the Cholesky recurrence in whole
    numbers F leaves ``A = F F^T + R + shift I``: off its diagonal R holds remainders of divisions
    by some ``F_jj``, in absolute value below ``bound``; on it, remainders of square roots, not
    negative. Every row of R sums to less than ``shift = size * bound`` off the diagonal, so
    ``R + shift I`` is positive definite (Gershgorin), and A with it. The room this needs is about
    ``size * 2**-GUARD_BITS`` of the scaled diagonal.
    """
    if any(row[-1] <= 0 for row in lower):
        return not any(map(any, lower))
    lengths = [row[-1].bit_length() for row in lower]
    top = max(2 * GUARD_BITS, *lengths)
    scale = [(top - length) // 2 for length in lengths]
    bound = 1 << (top // 2 + 1)
    shift = len(lower) * bound
    factor: list[list[int]] = []
    for i, row in enumerate(lower):
        made: list[int] = []
        for j, other in enumerate(factor):
            entry = (row[j] << (scale[i] + scale[j])) - sum(map(mul, made, other))
            made.append(entry // other[j])
            if abs(made[j]) > bound:  # a square beyond any diagonal entry
                return False
        rest = (row[i] << (2 * scale[i])) - shift - sum(map(mul, made, made))
        if rest <= 0:
            return False
        factor.append([*made, isqrt(rest)])
    return True

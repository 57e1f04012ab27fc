"""Exact upper bounds of the l2 operator norm of a rational matrix (theory T10.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qreplace.exact.definite import is_positive_semidefinite, is_shown_definite
from qreplace.exact.packed import product

EXACT_ROWS = 40
"""Gram matrices up to this size are factored exactly; larger ones need a gap to the norm."""
MAX_ROWS = 256
"""Largest Gram matrix that is factored at all."""
MAX_BITS = 1024
"""Longest bound that is tried: what is exact must stay quick."""
Matrix = Sequence[Sequence[int]]


def at_most(rows: Matrix, denominator: int, value: Fraction, max_rows: int = MAX_ROWS) -> bool:
    """Whether ``||rows / denominator||_2 <= value`` is shown.

    The smaller of ``W^T W`` and ``W W^T`` is subtracted from ``value^2 I``. Up to ``EXACT_ROWS``
    rows the answer is exact; beyond, ``False`` may also mean that ``value`` is too close to the
    norm, or the matrix larger than ``max_rows``. A bound beyond ``MAX_BITS`` is not tried.
    """
    if value < 0 or not rows:
        return value >= 0
    if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        return False
    if min(len(rows), len(rows[0])) > max_rows:
        return False
    gram = _gram(rows)
    over, under = value.numerator * denominator, value.denominator
    difference = [[-under * under * entry for entry in row] for row in gram]
    for i, row in enumerate(difference):
        row[i] += over * over
    if len(gram) <= EXACT_ROWS:
        return is_positive_semidefinite(difference)
    return is_shown_definite(difference)


def products(rows: Matrix, denominator: int) -> Fraction:
    """``||W||_1 ||W||_inf``, which is at least ``||W||_2^2``."""
    across = max((sum(map(abs, row)) for row in rows), default=0)
    down = max((sum(map(abs, column)) for column in zip(*rows, strict=True)), default=0)
    return Fraction(across * down, denominator * denominator)


def over_common_denominator(rows: Sequence[Sequence[Fraction]]) -> tuple[list[list[int]], int]:
    """Integer rows and their denominator."""
    common = math.lcm(*(x.denominator for row in rows for x in row), 1)
    return [[x.numerator * (common // x.denominator) for x in row] for row in rows], common


def _gram(rows: Matrix) -> list[list[int]]:
    """The smaller of ``W W^T`` and ``W^T W``, as its lower triangle."""
    width = len(rows[0])
    chosen: Matrix = rows if len(rows) <= width else list(zip(*rows, strict=True))
    flat = [entry for row in chosen for entry in row]
    full = product(flat, len(chosen[0]), chosen)
    return [list(row[: i + 1]) for i, row in enumerate(full)]

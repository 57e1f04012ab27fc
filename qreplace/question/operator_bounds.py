"""Norms of vectors and of matrices whose entries are intervals, outward (theory T3, T10.5).

Every norm of a question is absolute: it grows with the magnitudes of the coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qreplace.exact.intervals import Interval, magnitude
from qreplace.exact.roots import sqrt_bounds
from qreplace.exact.spectral import at_most, over_common_denominator
from qreplace.question.model import (
    BlockL2Norm,
    L2Norm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, norm_bounds

IntervalRows = Sequence[Sequence[Interval]]


def norm_upper(norm: Norm, sizes: Sequence[Fraction]) -> Fraction:
    """An upper bound of the norm of every vector whose coordinates are at most ``sizes``."""
    common = math.lcm(*(x.denominator for x in sizes))
    numerators = [x.numerator * (common // x.denominator) for x in sizes]
    return norm_bounds(norm, numerators, common)[1]


def unit_lengths(norm: Norm, dimension: int) -> Sequence[Fraction]:
    """The norm of every unit vector: the weights, or 1."""
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        return norm.weights
    return [Fraction(1)] * dimension


def euclidean(norm: Norm, dimension: int) -> bool:
    """Whether the norm is the l2 norm of the whole state."""
    return isinstance(norm, (L2Norm, BlockL2Norm)) and block_size(norm, dimension) == dimension


def operator_upper(norm: Norm, rows: IntervalRows) -> Fraction:
    """An upper bound of the induced norm of every matrix with these entries; rows are not empty.

    Row sums for linf, column sums for l1, both with the weights; for block l2 the largest sum along
    a row of blocks, and for a block the smaller of its Frobenius norm and
    ``sqrt(||M||_1 ||M||_inf)`` (theory T10.5).
    """
    sizes = [[magnitude(entry) for entry in row] for row in rows]
    size = len(sizes)
    if isinstance(norm, (L2Norm, BlockL2Norm)):
        block = block_size(norm, size)
        starts = range(0, size, block)
        bands = (sizes[start : start + block] for start in starts)
        return max(
            sum((_block_upper([row[b : b + block] for row in band]) for b in starts), Fraction(0))
            for band in bands
        )
    lengths = unit_lengths(norm, size)
    scaled = [
        [lengths[i] * entry / lengths[j] for j, entry in enumerate(row)]
        for i, row in enumerate(sizes)
    ]
    if norm.kind.endswith("linf"):
        return max(sum(row, Fraction(0)) for row in scaled)
    return max(sum(column, Fraction(0)) for column in zip(*scaled, strict=True))


def _block_upper(sizes: Sequence[Sequence[Fraction]]) -> Fraction:
    across = max(sum(row, Fraction(0)) for row in sizes)
    down = max(sum(column, Fraction(0)) for column in zip(*sizes, strict=True))
    frobenius = sum((entry * entry for row in sizes for entry in row), Fraction(0))
    return sqrt_bounds(min(across * down, frobenius))[1]


def operator_at_most(norm: Norm, rows: IntervalRows, bound: Fraction) -> bool:
    """Whether the induced norm of every matrix with these entries is shown to be at most ``bound``.

    A matrix of numbers is also tried exactly in the l2 norm.
    """
    if operator_upper(norm, rows) <= bound:
        return True
    if not euclidean(norm, len(rows)) or any(low != high for row in rows for low, high in row):
        return False
    return at_most(*over_common_denominator([[low for low, _ in row] for row in rows]), bound)


def euler_step(rows: IntervalRows, step: Fraction) -> list[list[Interval]]:
    """The entries of ``I + h J``."""
    return [
        [(int(i == j) + step * low, int(i == j) + step * high) for j, (low, high) in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def step_at_most(norm: Norm, rows: IntervalRows, step: Fraction, bound: Fraction) -> bool:
    """Whether ``||I + h J|| <= bound`` is shown for every J with these entries.

    In l2 also ``1 + 2 h mu + h^2 L^2 <= bound^2`` shows it, with mu from Gershgorin's rows of the
    symmetric part (theory, notation).
    """
    if operator_at_most(norm, euler_step(rows, step), bound):
        return True
    if not euclidean(norm, len(rows)) or bound < 0:
        return False
    return squared_step_upper(norm, rows, step) <= bound * bound


def squared_step_upper(norm: Norm, rows: IntervalRows, step: Fraction) -> Fraction:
    """``1 + 2 h mu + h^2 L^2``, at least ``||I + h J||_2^2``; never negative."""
    size = len(rows)
    mu = max(
        rows[i][i][1]
        + sum(
            (
                max(abs(rows[i][j][0] + rows[j][i][0]), abs(rows[i][j][1] + rows[j][i][1])) / 2
                for j in range(size)
                if j != i
            ),
            Fraction(0),
        )
        for i in range(size)
    )
    lipschitz = operator_upper(norm, rows)
    return max(Fraction(0), 1 + 2 * step * mu + step * step * lipschitz * lipschitz)


def rounded(interval: Interval, bits: int) -> Interval:
    """The interval, outward to multiples of ``2**-bits``."""
    low, high = interval
    return (
        Fraction((low.numerator << bits) // low.denominator, 1 << bits),
        Fraction(-((-high.numerator << bits) // high.denominator), 1 << bits),
    )

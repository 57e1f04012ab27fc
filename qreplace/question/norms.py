"""Norms of integer vectors, exactly or enclosed; the one place that knows each norm's formula."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import mul

from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)

Enclosed = tuple[Fraction, Fraction]


def norm_bounds(norm: Norm, numerators: Sequence[int], denominator: int) -> Enclosed:
    """``(lower, upper)`` of the norm of ``numerators / denominator``; equal for the linear norms.

    For block l2 and l2 the squared norm is exact and its root is enclosed outward.
    """
    if isinstance(norm, LinfNorm):
        value = Fraction(max(map(abs, numerators), default=0), denominator)
    elif isinstance(norm, L1Norm):
        value = Fraction(sum(map(abs, numerators)), denominator)
    elif isinstance(norm, WeightedLinfNorm):
        weighted = map(mul, norm.weights, map(abs, numerators))
        value = Fraction(max(weighted, default=Fraction(0))) / denominator
    elif isinstance(norm, WeightedL1Norm):
        value = sum(map(mul, norm.weights, map(abs, numerators)), Fraction(0)) / denominator
    else:
        block = block_size(norm, len(numerators))
        largest = max(sum(map(mul, part, part)) for part in _blocks(numerators, block))
        return sqrt_bounds(Fraction(largest, denominator * denominator))
    return value, value


def block_size(norm: BlockL2Norm | L2Norm, dimension: int) -> int:
    """Coordinates per block; the whole state for l2."""
    return norm.block if isinstance(norm, BlockL2Norm) else dimension


def _blocks(values: Sequence[int], block: int) -> list[Sequence[int]]:
    return [values[start : start + block] for start in range(0, len(values), block)]


def coordinate_radius(norm: Norm, dimension: int, cell: Fraction) -> Fraction:
    """An upper bound of the norm of a vector whose coordinates are at most ``cell`` (theory T4)."""
    if isinstance(norm, LinfNorm):
        return cell
    if isinstance(norm, L1Norm):
        return dimension * cell
    if isinstance(norm, WeightedLinfNorm):
        return max(norm.weights) * cell
    if isinstance(norm, WeightedL1Norm):
        return sum(norm.weights, Fraction(0)) * cell
    return sqrt_bounds(Fraction(block_size(norm, dimension)))[1] * cell

"""The readout bound from its rows: the largest dual norm of a difference of two rows (T1.3)."""

from __future__ import annotations

import math
from fractions import Fraction

from qreplace.premises import Evidence, Premise
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)

MAX_WORK = 5_000_000
"""Most coordinates of row differences that are looked at; beyond it, declare the bound."""

SOURCE = "recomputed from readout rows"
_BITS = 128


def readout_bound(rows: list[list[Fraction]], norm: Norm) -> Premise:
    """``max over i != j of ||w_i - w_j||_*``: exact where rational, else enclosed to 2**-128."""
    scale = math.lcm(*(value.denominator for row in rows for value in row))
    whole = [[value.numerator * (scale // value.denominator) for value in row] for row in rows]
    lower = upper = Fraction(0)
    for i, first in enumerate(whole):
        for second in whole[:i]:
            difference = [a - b for a, b in zip(first, second, strict=True)]
            low, high = dual_norm(difference, norm)
            lower, upper = max(lower, low), max(upper, high)
    exact = lower == upper
    return Premise(
        kind="declared",
        lower=lower / scale,
        upper=upper / scale,
        evidence=Evidence.ANALYTIC_CERTIFIED if exact else Evidence.INTERVAL_CERTIFIED,
        source=SOURCE,
        assumptions=(),
    )


def dual_norm(vector: list[int], norm: Norm) -> tuple[Fraction, Fraction]:
    """An enclosure of the dual norm of an integer vector; of width 0 where it is rational."""
    match norm:
        case LinfNorm():
            ends = Fraction(sum(map(abs, vector)))
        case L1Norm():
            ends = Fraction(max(map(abs, vector)))
        case WeightedLinfNorm(weights=weights):
            ends = sum((abs(v) / w for v, w in zip(vector, weights, strict=True)), Fraction(0))
        case WeightedL1Norm(weights=weights):
            ends = max(abs(v) / w for v, w in zip(vector, weights, strict=True))
        case L2Norm():
            return _l2(vector)
        case BlockL2Norm(block=block):
            parts = [_l2(vector[i : i + block]) for i in range(0, len(vector), block)]
            return sum((p[0] for p in parts), Fraction(0)), sum((p[1] for p in parts), Fraction(0))
    return ends, ends


def _l2(vector: list[int]) -> tuple[Fraction, Fraction]:
    square = sum(value * value for value in vector)
    scaled = square << (2 * _BITS)
    root = math.isqrt(scaled)
    unit = 1 << _BITS
    return Fraction(root, unit), Fraction(root + (root * root != scaled), unit)

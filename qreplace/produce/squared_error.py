"""Quadratic lower bounds of the squared error in a norm: ``sum w_i (z_i - y_i)^2`` (theory T7.4).

A maximum over parts is at least any mean of them, so for the maximum norms the weights are shared
out among the parts, and a programme may choose the shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.exact.polynomial import Polynomial, constant, total, variable
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)


@dataclass(frozen=True)
class ErrorParts:
    """The squared error is at least ``sum shares[p] parts[p] . (z - y)^2``.

    ``shared``: nonnegative shares whose sum is at most 1; otherwise the only part has share 1.
    """

    parts: tuple[tuple[Fraction, ...], ...]
    shared: bool

    def weights(self, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The weight of every coordinate."""
        size = len(self.parts[0])
        given = shares if self.shared else [Fraction(1)]
        return tuple(
            sum((s * part[i] for s, part in zip(given, self.parts, strict=True)), Fraction(0))
            for i in range(size)
        )


def error_parts(norm: Norm, dimension: int) -> ErrorParts:
    """The parts of a norm; a single one where the weights need no choice."""
    ones = [Fraction(1)] * dimension
    if isinstance(norm, (L2Norm, L1Norm)):
        return ErrorParts((tuple(ones),), shared=False)
    if isinstance(norm, WeightedL1Norm):
        return ErrorParts((tuple(w * w for w in norm.weights),), shared=False)
    if isinstance(norm, WeightedLinfNorm):
        ones = [w * w for w in norm.weights]
    block = norm.block if isinstance(norm, BlockL2Norm) else 1
    if not isinstance(norm, (BlockL2Norm, LinfNorm, WeightedLinfNorm)):
        raise TypeError(f"no quadratic bound is known for {norm.kind}")
    parts = tuple(
        tuple(w if i // block == part else Fraction(0) for i, w in enumerate(ones))
        for part in range(dimension // block)
    )
    return ErrorParts(parts, shared=len(parts) > 1)


def squared_distance(weights: Sequence[Fraction], target: Sequence[Fraction]) -> Polynomial:
    """``sum w_i (z_i - y_i)^2`` in ``t, z``."""
    arity = len(target) + 1
    return total(
        ((d := variable(i + 1, arity) - constant(y, arity)) * d).scaled(w)
        for i, (w, y) in enumerate(zip(weights, target, strict=True))
    )

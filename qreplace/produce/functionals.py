"""Float functionals rounded into the exact dual unit ball of a norm (theory T7.1)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from qreplace.claims.functional import Functional, SparseVector
from qreplace.errors import ProducerFailed
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.basis import sparse_vector
from qreplace.produce.linear_program import Floats
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size

FUNCTIONAL_BITS = 60
DROPPED = 1e-15
"""Entries this much below the largest are rounding errors of a solver."""

EXACT_BITS = 32
"""A root this short is exact."""

ZERO = Functional(SparseVector(Fraction(1), (), ()), ())


def rounded_functional(norm: Norm, vector: Floats) -> Functional:
    """The functional in exact numbers, scaled to dual norm 1, just inside the unit ball."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < float("inf"):
        return ZERO
    entries = [
        (int(i), Fraction(float(vector[i]) / largest))
        for i in np.flatnonzero(np.abs(vector) > DROPPED * largest)
    ]
    return exact_functional(norm, entries, vector.size)


def exact_functional(norm: Norm, entries: list[tuple[int, Fraction]], dimension: int) -> Functional:
    """A multiple of exact entries ``(index, value)`` inside the dual unit ball, about on its edge.

    The sphere itself is kept exactly for the linear norms when the entries are short.
    """
    entries = [(i, x) for i, x in entries if x]
    if not entries:
        return ZERO
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        return _on_blocks(entries, block_size(norm, dimension))
    size = _dual_norm(norm, entries)
    scaled = [(i, x / size) for i, x in entries]
    if any(x.denominator.bit_length() > 2 * FUNCTIONAL_BITS for _, x in scaled):
        scaled = [(i, _toward_zero(x)) for i, x in scaled]
    return Functional(_sparse(scaled), ())


def _dual_norm(norm: Norm, entries: list[tuple[int, Fraction]]) -> Fraction:
    if isinstance(norm, LinfNorm):
        return sum((abs(x) for _, x in entries), Fraction(0))
    if isinstance(norm, WeightedLinfNorm):
        return sum((abs(x) / norm.weights[i] for i, x in entries), Fraction(0))
    if isinstance(norm, L1Norm):
        return max(abs(x) for _, x in entries)
    if isinstance(norm, WeightedL1Norm):
        return max(abs(x) / norm.weights[i] for i, x in entries)
    raise ProducerFailed(f"no dual norm is known for {norm.kind}")


def _on_blocks(entries: list[tuple[int, Fraction]], block: int) -> Functional:
    """Bounds of the block norms, which sum to at most 1."""
    size = _block_bounds(entries, block)
    total = sum(size.values(), Fraction(0))
    short = Fraction(int(total * (1 << FUNCTIONAL_BITS)) + 1, 1 << FUNCTIONAL_BITS)
    scaled = [(i, _toward_zero(x / short)) for i, x in entries]
    scaled = [(i, x) for i, x in scaled if x]
    return Functional(_sparse(scaled), tuple(_block_bounds(scaled, block).values()))


def _block_bounds(entries: list[tuple[int, Fraction]], block: int) -> dict[int, Fraction]:
    squares: dict[int, Fraction] = {}
    for index, x in entries:
        squares[index // block] = squares.get(index // block, Fraction(0)) + x * x
    return {k: sqrt_bounds(s, FUNCTIONAL_BITS + 16)[1] for k, s in squares.items()}


def _toward_zero(value: Fraction) -> Fraction:
    size = (abs(value.numerator) << FUNCTIONAL_BITS) // value.denominator
    return Fraction(size if value > 0 else -size, 1 << FUNCTIONAL_BITS)


def _sparse(entries: list[tuple[int, Fraction]]) -> SparseVector:
    common = math.lcm(*(x.denominator for _, x in entries), 1)
    numbers = [(i, x.numerator * (common // x.denominator)) for i, x in entries if x]
    return sparse_vector(numbers, common)


def sphere_scale(norm: Norm, weights: list[Fraction]) -> Fraction:
    """A number at least the dual norm of exact weights; the norm itself for the linear ones."""
    entries = [(i, w) for i, w in enumerate(weights) if w]
    if not entries:
        return Fraction(1)
    if not isinstance(norm, (BlockL2Norm, L2Norm)):
        return _dual_norm(norm, entries)
    block = block_size(norm, len(weights))
    size = sum(_block_bounds(entries, block).values(), Fraction(0))
    if size.denominator.bit_length() <= EXACT_BITS:
        # Thirds of an exact root are no dyadic numbers: their bounds may sum to more than 1.
        scaled = _block_bounds([(i, w / size) for i, w in entries], block)
        if sum(scaled.values(), Fraction(0)) <= 1:
            return size
    return Fraction(int(size * (1 << FUNCTIONAL_BITS)) + 1, 1 << FUNCTIONAL_BITS)


def witness_of(norm: Norm, weights: list[Fraction]) -> Functional:
    """Exact weights of dual norm at most 1, as they are."""
    entries = [(i, w) for i, w in enumerate(weights) if w]
    if not isinstance(norm, (BlockL2Norm, L2Norm)):
        return Functional(_sparse(entries), ())
    bounds = _block_bounds(entries, block_size(norm, len(weights)))
    return Functional(_sparse(entries), tuple(bounds.values()))

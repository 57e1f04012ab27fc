"""Sparse rational vectors and linear functionals, as several kinds of claim hold them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Entries ``numerators[k] / denominator`` at ascending ``indices[k]``; all others are 0."""

    denominator: Fraction
    indices: tuple[int, ...]
    numerators: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Functional:
    """A linear functional lambda of the state with dual norm at most 1 in the question's norm.

    ``block_norms``: for block l2 and l2, upper bounds of the l2 norms of lambda's nonzero blocks in
    ascending order, which sum to at most 1; else empty.
    """

    vector: SparseVector
    block_norms: tuple[Fraction, ...]

"""Shared obligations: points of a simplex and linear functionals of dual norm at most 1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from qreplace.check.bounds import require
from qreplace.claims.functional import Functional, SparseVector
from qreplace.errors import Rejected
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


@dataclass(frozen=True, slots=True)
class VectorPlaces:
    """JSON Pointers of a functional's vector and of its block norms."""

    vector: str = "/witness/vector"
    block_norms: str = "/witness/block_norms"


WITNESS = VectorPlaces()


def check_simplex(weights: SparseVector, size: int, pointer: str) -> list[int]:
    """The numerators of nonnegative weights with sum 1, dense; raises ``Rejected``."""
    _check_indices(weights, size, pointer)
    values = [0] * size
    for index, number in zip(weights.indices, weights.numerators, strict=True):
        values[index] = _integer(number, f"{pointer}/numerators")
    place = f"{pointer}/numerators"
    require(all(a >= 0 for a in values), "a mixing weight is negative", place)
    denominator = weights.denominator.numerator
    require(sum(values) == denominator, "the mixing weights do not sum to 1", place)
    return values


def check_functional(
    norm: Norm, witness: Functional, dimension: int, places: VectorPlaces = WITNESS
) -> list[int]:
    """The numerators of ``lambda`` on its indices, once ``||lambda||_* <= 1`` is seen.

    The dual is that of the question's norm; raises ``Rejected``.
    """
    vector = witness.vector
    _check_indices(vector, dimension, places.vector)
    place = f"{places.vector}/numerators"
    numbers = [_integer(n, place) for n in vector.numerators]
    denominator = vector.denominator.numerator
    excess = "the dual norm of the witness exceeds 1"
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        _check_block_norms(witness, numbers, block_size(norm, dimension), places.block_norms)
        return numbers
    require(not witness.block_norms, "block norms belong to block l2", places.block_norms)
    if isinstance(norm, LinfNorm):
        within = sum(map(abs, numbers)) <= denominator
    elif isinstance(norm, L1Norm):
        within = all(abs(n) <= denominator for n in numbers)
    else:
        weights = [norm.weights[i] for i in vector.indices]
        if isinstance(norm, WeightedLinfNorm):
            total = sum((abs(n) / w for n, w in zip(numbers, weights, strict=True)), Fraction(0))
            within = total <= denominator
        elif isinstance(norm, WeightedL1Norm):
            within = all(abs(n) <= w * denominator for n, w in zip(numbers, weights, strict=True))
        else:
            raise Rejected(f"no dual norm is known for {norm.kind}")
    require(within, excess, place)
    return numbers


def dense(vector: SparseVector, size: int) -> list[Fraction]:
    """Every entry of a vector whose indices were checked."""
    values = [Fraction(0)] * size
    for index, number in zip(vector.indices, vector.numerators, strict=True):
        values[index] = number / vector.denominator
    return values


def _check_block_norms(witness: Functional, numbers: list[int], block: int, place: str) -> None:
    squares: dict[int, int] = {}
    for index, number in zip(witness.vector.indices, numbers, strict=True):
        squares[index // block] = squares.get(index // block, 0) + number * number
    bounds = witness.block_norms
    denominator = witness.vector.denominator.numerator
    require(len(bounds) == len(squares), "one norm bound a nonzero block is needed", place)
    for bound, square in zip(bounds, squares.values(), strict=True):
        require(
            bound >= 0 and bound * bound * denominator * denominator >= square,
            "a block norm bound is too small",
            place,
        )
    require(sum(bounds, Fraction(0)) <= 1, "the dual norm of the witness exceeds 1", place)


def _check_indices(vector: SparseVector, size: int, pointer: str) -> None:
    indices = vector.indices
    require(
        len(indices) == len(vector.numerators), "as many numerators as indices are needed", pointer
    )
    ascending = all(a < b for a, b in pairwise(indices))
    within = not indices or (indices[0] >= 0 and indices[-1] < size)
    require(ascending and within, "indices are not ascending within range", f"{pointer}/indices")
    require(_integer(vector.denominator, pointer) > 0, "a denominator is positive", f"{pointer}")


def _integer(value: Fraction, pointer: str) -> int:
    require(value.denominator == 1, "numerators and denominators are integers", pointer)
    return value.numerator

"""Exact solutions of optimal bases (theory T7.1), with python-flint.

A basis is proposed by a float solver; here its two square systems, for the primal point and for
the dual multipliers, are solved over the rationals. A basis that turns out not to be optimal
raises ``ProducerFailed``; what is returned is checked elsewhere all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import flint

from qreplace.claims.functional import SparseVector
from qreplace.errors import ProducerFailed
from qreplace.produce.lifting import MIN_SIZE, ExactVector, NumericLifting


def sparse_vector(entries: Sequence[tuple[int, int]], denominator: int) -> SparseVector:
    """A claim's sparse vector in lowest common terms from (index, numerator) pairs."""
    common = math.gcd(denominator, *(number for _, number in entries))
    return SparseVector(
        Fraction(denominator // common),
        tuple(index for index, _ in entries),
        tuple(Fraction(number // common) for _, number in entries),
    )


def solve_basis(
    matrix: list[list[int]], primal: list[int], dual: list[int]
) -> tuple[ExactVector, ExactVector]:
    """The rational solutions of ``M x = primal`` and ``M^T y = dual``.

    Numeric lifting where it applies, python-flint elsewhere; raises ``ProducerFailed`` when the
    basis is not square or singular.
    """
    size = len(matrix)
    if size == 0 or any(len(row) != size for row in matrix):
        raise ProducerFailed("the basis system is not square")
    if size >= MIN_SIZE:
        try:
            lifting = NumericLifting(matrix)
            return lifting.solve(primal), lifting.solve_transposed(dual)
        except ProducerFailed:
            pass
    return _solve_plain(matrix, primal), _solve_plain(transpose(matrix), dual)


def _solve_plain(matrix: list[list[int]], rhs: list[int]) -> ExactVector:
    try:
        solution = flint.fmpz_mat(matrix).solve(flint.fmpz_mat([[value] for value in rhs]))
    except ZeroDivisionError:
        raise ProducerFailed("the basis is singular") from None
    numerators, denominator = solution.numer_denom()
    return ExactVector([int(entry) for entry in numerators.entries()], int(denominator))


def transpose(matrix: list[list[int]]) -> list[list[int]]:
    """Rows become columns."""
    return [list(column) for column in zip(*matrix, strict=True)]

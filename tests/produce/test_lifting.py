"""Numeric lifting gives exactly what python-flint gives, or says that it cannot."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import ProducerFailed
from qreplace.produce.basis import solve_basis, transpose
from qreplace.produce.lifting import MIN_SIZE, ExactVector, NumericLifting

Matrix = list[list[int]]


def by_flint(matrix: Matrix, rhs: list[int]) -> list[Fraction]:
    solution = flint.fmpz_mat(matrix).solve(flint.fmpz_mat([[value] for value in rhs]))
    return [Fraction(int(x.numerator), int(x.denominator)) for x in solution.entries()]


def entries(vector: ExactVector) -> list[Fraction]:
    assert vector.denominator > 0
    return [Fraction(n, vector.denominator) for n in vector.numerators]


def random_matrix(size: int, bits: int, seed: int) -> Matrix:
    generator = random.Random(seed)
    limit = 1 << bits
    return [[generator.randint(-limit, limit) for _ in range(size)] for _ in range(size)]


def random_vector(size: int, bits: int, seed: int) -> list[int]:
    return random_matrix(size, bits, seed + 10**6)[0]


def singular(matrix: Matrix) -> bool:
    return int(flint.fmpz_mat(matrix).det()) == 0


@settings(max_examples=120)
@given(st.integers(1, 14), st.sampled_from([1, 3, 8, 16]), st.integers(0, 10**6))
def test_small_systems(size: int, bits: int, seed: int) -> None:
    matrix, rhs = random_matrix(size, bits, seed), random_vector(size, bits, seed)
    if singular(matrix):
        with pytest.raises(ProducerFailed):
            NumericLifting(matrix).solve(rhs)
        return
    try:
        lifting = NumericLifting(matrix)
        solution, transposed = lifting.solve(rhs), lifting.solve_transposed(rhs)
    except ProducerFailed:
        return  # refusing is allowed; a wrong answer is not
    assert entries(solution) == by_flint(matrix, rhs)
    assert entries(transposed) == by_flint(transpose(matrix), rhs)


@pytest.mark.parametrize(("size", "bits"), [(1, 8), (2, 20), (20, 8), (48, 8), (75, 4), (110, 8)])
def test_ordinary_systems_are_not_refused(size: int, bits: int) -> None:
    matrix, rhs = random_matrix(size, bits, size), random_vector(size, bits, size)
    lifting = NumericLifting(matrix)
    assert entries(lifting.solve(rhs)) == by_flint(matrix, rhs)
    assert entries(lifting.solve_transposed(rhs)) == by_flint(transpose(matrix), rhs)


def test_sparse_right_hand_sides_and_small_denominators() -> None:
    """A determinant of 1: the solution is an integer vector."""
    size = 60
    matrix = [[int(i == j) + int(j == i + 1) for j in range(size)] for i in range(size)]
    for rhs in ([0] * size, [0] * (size - 1) + [1], [7] * size):
        assert entries(NumericLifting(matrix).solve(rhs)) == by_flint(matrix, rhs)


@pytest.mark.parametrize("size", [2, 5, 50])
def test_singular_systems(size: int) -> None:
    matrix = random_matrix(size, 6, size)
    matrix[-1] = [2 * a - b for a, b in zip(matrix[0], matrix[1 % (size - 1)], strict=True)]
    rhs = random_vector(size, 6, size)
    with pytest.raises(ProducerFailed):
        NumericLifting(matrix).solve(rhs)
    with pytest.raises(ProducerFailed, match="singular"):
        solve_basis(matrix, rhs, rhs)


def test_zero_matrices() -> None:
    with pytest.raises(ProducerFailed):
        NumericLifting([[0]]).solve([1])
    with pytest.raises(ProducerFailed):
        solve_basis([[0, 0], [0, 0]], [1, 1], [1, 1])


def test_ill_conditioned_systems_are_left_to_flint() -> None:
    """Pascal's matrix has determinant 1 and a condition number far beyond floats."""
    size = MIN_SIZE
    matrix = [[comb(i + j, i) % (1 << 20) for j in range(size)] for i in range(size)]
    hilbert = [[10**6 // (i + j + 1) for j in range(size)] for i in range(size)]
    rhs = list(range(size))
    for system in (matrix, hilbert):
        if singular(system):
            continue
        primal, dual = solve_basis(system, rhs, rhs)
        assert entries(primal) == by_flint(system, rhs)
        assert entries(dual) == by_flint(transpose(system), rhs)


@pytest.mark.parametrize("rhs", [1 << 51, 1 << 52, 1 << 53, 10**400])
def test_large_right_hand_sides(rhs: int) -> None:
    matrix = random_matrix(MIN_SIZE, 4, 3)
    vector = [rhs, *([0] * (MIN_SIZE - 1))]
    primal, dual = solve_basis(matrix, vector, vector)
    assert entries(primal) == by_flint(matrix, vector)
    assert entries(dual) == by_flint(transpose(matrix), vector)


def test_large_entries() -> None:
    matrix = random_matrix(MIN_SIZE, 100, 4)
    with pytest.raises(ProducerFailed, match="too large"):
        NumericLifting(matrix)
    rhs = random_vector(MIN_SIZE, 100, 4)
    primal, _ = solve_basis(matrix, rhs, rhs)
    assert entries(primal) == by_flint(matrix, rhs)


@pytest.mark.parametrize("matrix", [[], [[1, 2]], [[1], [2]], [[1, 2], [3]]])
def test_systems_that_are_not_square(matrix: Matrix) -> None:
    with pytest.raises(ProducerFailed, match="not square"):
        solve_basis(matrix, [1], [1])

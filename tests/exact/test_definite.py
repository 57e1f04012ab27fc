"""Exact positive semidefiniteness: against rational LDL^T, minors and floating eigenvalues."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qreplace.exact.definite import (
    GUARD_BITS,
    QUICK_ROWS,
    is_positive_semidefinite,
    is_semidefinite_by_pivots,
    is_shown_definite,
)

ENTRIES = st.integers(-3, 3)


def lower(matrix: Sequence[Sequence[int]]) -> list[list[int]]:
    """The lower triangle of a symmetric matrix."""
    return [list(row[: i + 1]) for i, row in enumerate(matrix)]


def times_transpose(factor: Sequence[Sequence[int]]) -> list[list[int]]:
    """``F F^T``."""
    return [[sum(a * b for a, b in zip(x, y, strict=True)) for y in factor] for x in factor]


def determinant(matrix: Sequence[Sequence[Fraction]]) -> Fraction:
    """By rational elimination."""
    rows = [list(map(Fraction, row)) for row in matrix]
    value = Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            value = -value
        value *= rows[k][k]
        for i in range(k + 1, len(rows)):
            ratio = rows[i][k] / rows[k][k]
            rows[i] = [a - ratio * b for a, b in zip(rows[i], rows[k], strict=True)]
    return value


def by_minors(matrix: Sequence[Sequence[int]]) -> bool:
    """Positive semidefinite: no principal minor is negative."""
    size = len(matrix)
    return all(
        determinant([[Fraction(matrix[i][j]) for j in kept] for i in kept]) >= 0
        for count in range(1, size + 1)
        for kept in itertools.combinations(range(size), count)
    )


def symmetric(size: int) -> st.SearchStrategy[list[list[int]]]:
    rows = st.tuples(*(st.lists(ENTRIES, min_size=i + 1, max_size=i + 1) for i in range(size)))
    return rows.map(
        lambda low: [[low[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]
    )


@given(st.integers(1, 4).flatmap(symmetric))
def test_small_matrices_against_all_minors(matrix: list[list[int]]) -> None:
    wanted = by_minors(matrix)
    assert is_positive_semidefinite(lower(matrix)) == wanted
    assert is_semidefinite_by_pivots(lower(matrix)) == wanted
    assert wanted or not is_shown_definite(lower(matrix))


def test_every_matrix_of_two_rows() -> None:
    for a, b, c in itertools.product(range(-3, 4), repeat=3):
        wanted = a >= 0 and c >= 0 and a * c >= b * b
        assert is_positive_semidefinite([[a], [b, c]]) == wanted


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(
            st.lists(ENTRIES, min_size=n - 1, max_size=n - 1), min_size=n, max_size=n
        )
    ),
    st.integers(0, 5),
)
def test_singular_matrices(factor: list[list[int]], place: int) -> None:
    """``F F^T`` of low rank passes; with any diagonal entry lower by any unit it may not."""
    matrix = times_transpose(factor)
    size = len(matrix)
    assert is_positive_semidefinite(lower(matrix))
    scale = 10**40
    sunk = [[scale * entry for entry in row] for row in matrix]
    sunk[place % size][place % size] -= 1
    kernel = bool(size == 1 or _in_kernel(factor, place % size))
    if kernel:
        assert not is_positive_semidefinite(lower(sunk))


def _in_kernel(factor: Sequence[Sequence[int]], index: int) -> bool:
    """Whether row ``index`` of F depends on the others: then some x in the kernel has x_index."""
    rest = [row for i, row in enumerate(factor) if i != index]
    width = len(factor[0])
    if width == 0:
        return True
    whole = np.linalg.matrix_rank(np.array(factor, float))
    return bool(whole == (np.linalg.matrix_rank(np.array(rest, float)) if rest else 0))


@pytest.mark.parametrize("size", [5, 12, 25])
def test_against_eigenvalues(size: int) -> None:
    generator = np.random.default_rng(size)
    outcomes = set()
    for trial in range(12):
        factor = generator.integers(-50, 51, (size, size + 2))
        matrix = factor @ factor.T
        least = float(np.linalg.eigvalsh(matrix.astype(float))[0])
        # Well on either side of the least eigenvalue, far beyond its rounding error.
        shift = int(least * (0.9 if trial % 2 else 1.1)) + (0 if trial % 2 else 1)
        moved = matrix - shift * np.eye(size, dtype=int)
        wanted = bool(np.linalg.eigvalsh(moved.astype(float))[0] > 0)
        outcomes.add(wanted)
        whole = [list(map(int, row)) for row in lower(moved)]
        assert is_positive_semidefinite(whole) == wanted
        assert is_shown_definite(whole) == wanted
    assert outcomes == {True, False}


def test_an_eigenvalue_just_below_zero() -> None:
    """The matrix of ones plus -1e-40 on one diagonal entry, and plus 1e-40."""
    scale, size = 10**40, 30
    for shift, wanted in ((-1, False), (0, True), (1, True)):
        rows = [[scale] * (i + 1) for i in range(size)]
        rows[7][7] += shift
        assert is_positive_semidefinite(rows) == wanted
        assert not is_shown_definite(rows)


def test_zero_pivots_demand_zero_columns() -> None:
    assert is_positive_semidefinite([[0], [0, 1]])
    assert not is_positive_semidefinite([[0], [1, 1]])
    assert not is_positive_semidefinite([[1], [1, 1], [0, 1, 1]])
    assert is_positive_semidefinite([])
    assert not is_positive_semidefinite([[-1]])


def test_long_numbers() -> None:
    """A Hilbert matrix has a tiny least eigenvalue; scaled to integers it stays definite."""
    size = 12
    whole = math.factorial(2 * size)
    hilbert = [[whole // (i + j + 1) for j in range(i + 1)] for i in range(size)]
    assert all(whole % (i + j + 1) == 0 for i in range(size) for j in range(i + 1))
    assert is_positive_semidefinite(hilbert)
    hilbert[-1][-1] -= whole // 10**12
    assert not is_positive_semidefinite(hilbert)


@pytest.mark.parametrize("spread", [0, 200])
def test_the_quick_proof_needs_little_room(spread: int) -> None:
    """Definite by ``2**-80`` of the diagonal, its rows scaled unevenly: shown without pivots.

    ``F F^T`` for a 24 x 23 factor is singular, so the least eigenvalue is what the diagonal gets.
    """
    generator = np.random.default_rng(9)
    size = QUICK_ROWS
    factor = [list(map(int, row)) for row in generator.integers(-9, 10, (size, size - 1))]
    room = 80
    matrix = [[entry << room for entry in row] for row in times_transpose(factor)]
    powers = [int(n) for n in generator.integers(0, spread + 1, size)]

    def rows(extra: int) -> list[list[int]]:
        return [
            [
                (matrix[i][j] + (extra if i == j else 0)) << (powers[i] + powers[j])
                for j in range(i + 1)
            ]
            for i in range(size)
        ]

    assert is_shown_definite(rows(1 << 12))
    assert not is_shown_definite(rows(0)) and is_semidefinite_by_pivots(rows(0))
    assert not is_shown_definite(rows(-1)) and not is_positive_semidefinite(rows(-1))
    assert room < GUARD_BITS


@given(st.integers(1, 6).flatmap(symmetric), st.integers(-5, 30))
def test_the_quick_proof_is_never_wrong(matrix: list[list[int]], extra: int) -> None:
    moved = [[a + (extra if i == j else 0) for j, a in enumerate(r)] for i, r in enumerate(matrix)]
    shown = is_shown_definite(lower(moved))
    assert not shown or is_semidefinite_by_pivots(lower(moved))
    if extra > 3 * len(matrix):  # diagonally dominant
        assert shown

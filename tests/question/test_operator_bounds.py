"""Induced norms: exact for the linear norms, above every ratio for the others (theory T10.5)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from random_dynamics import length

from qreplace.question.model import Norm
from qreplace.question.operator_bounds import (
    euler_step,
    norm_upper,
    operator_at_most,
    operator_upper,
    squared_step_upper,
    step_at_most,
)

SIZE = 4
MATRICES = st.lists(
    st.lists(st.integers(-9, 9).map(lambda n: Fraction(n, 4)), min_size=SIZE, max_size=SIZE),
    min_size=SIZE,
    max_size=SIZE,
)
WEIGHTS = ("1/2", 1, 2, 3)
NORMS: list[Norm] = [
    LINF, L1, weighted_linf(*WEIGHTS), weighted_l1(*WEIGHTS), L2, block_l2(2), block_l2(1),
]  # fmt: skip


def exactly(rows: Sequence[Sequence[Fraction]]) -> list[list[tuple[Fraction, Fraction]]]:
    """A matrix of numbers as intervals."""
    return [[(x, x) for x in row] for row in rows]


def applied(rows: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> list[Fraction]:
    return [sum((a * x for a, x in zip(row, vector, strict=True)), Fraction(0)) for row in rows]


def extreme_points(norm: Norm) -> list[list[Fraction]]:
    """The corners of the unit ball, where a linear map attains its norm."""
    weights = [Fraction(w) for w in getattr(norm, "weights", [1] * SIZE)]
    if norm.kind.endswith("linf"):
        signs = itertools.product((1, -1), repeat=SIZE)
        return [[s / w for s, w in zip(row, weights, strict=True)] for row in signs]
    return [[1 / w if i == j else Fraction(0) for j, w in enumerate(weights)] for i in range(SIZE)]


@pytest.mark.parametrize("norm", NORMS[:4], ids=lambda n: n.kind)
@settings(max_examples=30)
@given(rows=MATRICES)
def test_linear_norms_are_exact(norm: Norm, rows: list[list[Fraction]]) -> None:
    corners = extreme_points(norm)
    attained = max(norm_upper(norm, [abs(x) for x in applied(rows, c)]) for c in corners)
    assert operator_upper(norm, exactly(rows)) == attained
    assert operator_at_most(norm, exactly(rows), attained)
    assert not operator_at_most(norm, exactly(rows), attained - Fraction(1, 10**40))


@pytest.mark.parametrize("norm", NORMS[4:], ids=lambda n: f"{n.kind}{getattr(n, 'block', '')}")
@settings(max_examples=30)
@given(rows=MATRICES, seed=st.integers(0, 2**32 - 1))
def test_block_norms_are_never_below_a_ratio(
    norm: Norm, rows: list[list[Fraction]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.array([[float(x) for x in row] for row in rows])
    bound = float(operator_upper(norm, exactly(rows)))
    for _ in range(20):
        x = rng.normal(size=SIZE) * rng.integers(0, 2, size=SIZE)
        assert length(norm, list(matrix @ x)) <= bound * length(norm, list(x)) + 1e-9
    if norm == L2:
        true = float(np.linalg.norm(matrix, 2))
        assert operator_at_most(norm, exactly(rows), Fraction(true * (1 + 1e-9) + 1e-12))
        assert not operator_at_most(norm, exactly(rows), Fraction(true * (1 - 1e-9) - 1e-12))


@pytest.mark.parametrize("norm", NORMS, ids=lambda n: f"{n.kind}{getattr(n, 'block', '')}")
@settings(max_examples=20)
@given(rows=MATRICES, others=MATRICES, seed=st.integers(0, 2**32 - 1))
def test_intervals_contain_their_matrices_and_their_steps(
    norm: Norm, rows: list[list[Fraction]], others: list[list[Fraction]], seed: int
) -> None:
    """Any matrix between two, and one Euler step with it."""
    rng = np.random.default_rng(seed)
    between = [
        [(min(a, b), max(a, b)) for a, b in zip(x, y, strict=True)]
        for x, y in zip(rows, others, strict=True)
    ]
    share = [[Fraction(int(rng.integers(0, 9)), 8) for _ in range(SIZE)] for _ in range(SIZE)]
    inner = [
        [low + s * (high - low) for (low, high), s in zip(row, part, strict=True)]
        for row, part in zip(between, share, strict=True)
    ]
    assert operator_upper(norm, exactly(inner)) <= operator_upper(norm, between)
    step = Fraction(int(rng.integers(1, 9)), 8)
    matrix = np.eye(SIZE) + float(step) * np.array([[float(x) for x in r] for r in inner])
    bound = operator_upper(norm, euler_step(between, step))
    assert step_at_most(norm, between, step, bound)
    for _ in range(10):
        x = rng.normal(size=SIZE)
        assert length(norm, list(matrix @ x)) <= float(bound) * length(norm, list(x)) + 1e-9
    if norm == L2:
        squared = float(squared_step_upper(norm, between, step))
        assert float(np.linalg.norm(matrix, 2)) ** 2 <= squared + 1e-9


def test_a_symmetric_contraction_is_shown_by_gershgorin_where_entries_vary() -> None:
    """J between -1 and -1/2 with small couplings: mu is negative, so steps contract."""
    rows = [
        [(Fraction(-1), Fraction(-1, 2)), (Fraction(-1, 8), Fraction(1, 8))],
        [(Fraction(-1, 8), Fraction(1, 8)), (Fraction(-1), Fraction(-1, 2))],
    ]
    step = Fraction(1, 4)
    assert step_at_most(L2, rows, step, Fraction(1) - step / 4)
    assert not step_at_most(L2, rows, step, Fraction(1) - step)

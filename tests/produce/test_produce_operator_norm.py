"""Produced bounds are accepted and close to the norm."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dynamic_questions import affine_question
from lifted_questions import L2, make_subject

from qreplace.check.operator_norm import check
from qreplace.errors import ProducerFailed
from qreplace.exact.spectral import MAX_ROWS
from qreplace.produce.operator_norm import produce
from qreplace.question.subject import Subject


def dynamics(size: int, seed: int) -> tuple[Subject, float]:
    """Random affine dynamics and the l2 norm of its matrix."""
    rng = random.Random(seed)
    rows = [[Fraction(rng.randint(-40, 40), 64) for _ in range(size)] for _ in range(size)]
    question = affine_question(
        [[1] + [0] * (size - 1)], [1] * size, norm=L2, rate="-1/4", state_matrix=rows
    )
    matrix = np.array([[float(x) for x in row] for row in rows]) - np.eye(size) / 4
    return Subject(question, {}), float(np.linalg.norm(matrix, 2))


@pytest.mark.parametrize("size", [1, 2, 5, 16, 48])
def test_the_bound_is_close(size: int) -> None:
    about, norm = dynamics(size, size)
    claim = produce(about)
    assert claim.method == "definite"
    assert check(about, claim)[0].state_lipschitz == claim.value
    assert norm * (1 - 1e-9) <= float(claim.value) <= norm * (1 + 1e-8)


def test_a_norm_that_is_a_short_rational_is_met_exactly() -> None:
    rotation: Any = [["-3/5", "4/5"], ["-4/5", "-3/5"]]
    question = affine_question([[1, 0]], [1, 1], norm=L2, state_matrix=rotation)
    claim = produce(Subject(question, {}))
    assert claim.value == 1


def test_a_matrix_too_large_is_bounded_by_products() -> None:
    size = MAX_ROWS + 1
    rows = [[int(i == j) * 3 for j in range(size)] for i in range(size)]
    question = affine_question([[0] * size], [1] * size, norm=L2, state_matrix=rows)
    about = Subject(question, {})
    claim = produce(about)
    assert claim.method == "products" and 3 <= claim.value < 3 + Fraction(1, 10**9)
    assert check(about, claim)[0].state_lipschitz == claim.value


def test_no_such_matrix() -> None:
    with pytest.raises(ProducerFailed, match="holds no matrix called system 0"):
        produce(make_subject([1], [[0], [1]]))

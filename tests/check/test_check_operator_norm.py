"""A checked bound is never below the norm, and says no more about a field than it should."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from corpora.operator_norm import ACCEPTED, ATOM, RATE, REJECTED, SYSTEM, bound, subject
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2
from numpy.typing import NDArray

from qreplace.check.operator_norm import check
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.errors import Rejected
from qreplace.exact.spectral import MAX_BITS, MAX_ROWS, at_most, over_common_denominator, products
from qreplace.question.model import Norm
from qreplace.question.subject import Subject


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[a[1] for a in ACCEPTED])
def test_accepted(kind: str, name: str, claim: OperatorNormClaim) -> None:
    (found,) = check(subject(name.split("--")[0]), claim)
    assert found.margin is None and found.kind == kind
    assert found.field_bound is None and found.growth_rate is None


@pytest.mark.parametrize(
    ("kind", "name", "claim", "pointer", "words"), REJECTED, ids=[r[1] for r in REJECTED]
)
def test_rejected(kind: str, name: str, claim: OperatorNormClaim, pointer: str, words: str) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message and caught.value.pointer == pointer


def test_a_bound_of_the_system_is_a_lipschitz_constant_in_the_euclidean_norm_only() -> None:
    (euclidean,) = check(subject("matrix-l2"), SYSTEM)
    assert euclidean.state_lipschitz == 2 and euclidean.difference_lipschitz == 0
    (other,) = check(subject("matrix-linf"), bound("matrix-linf", 2))
    assert other.state_lipschitz is None and other.difference_lipschitz is None
    (atom,) = check(subject("matrix-maps"), ATOM)
    assert atom.state_lipschitz is None
    # A multiple of the identity has the same norm in every norm.
    assert check(subject("matrix-rate"), RATE)[0].state_lipschitz == Fraction(3, 2)


@pytest.mark.parametrize(
    ("norm", "known"), [(L2, True), (block_l2(2), True), (block_l2(1), False), (L1, False)]
)
def test_one_block_is_the_euclidean_norm(norm: Norm, known: bool) -> None:
    question = affine_question([[1, 0]], [1, 1], norm=norm, state_matrix=[[0, 1], [1, 0]])
    about = Subject(question, {})
    claim = OperatorNormClaim(
        "qreplace/claim/operator_norm/v1",
        about.problem_digest(0),
        0,
        "system",
        0,
        "definite",
        Fraction(1),
    )
    assert (check(about, claim)[0].state_lipschitz == 1) is known
    assert norm.kind != LINF.kind


# --- the bound itself -----------------------------------------------------------------------------

ENTRIES = st.integers(-9, 9)


@st.composite
def matrices(draw: st.DrawFn) -> list[list[int]]:
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return [[draw(ENTRIES) for _ in range(columns)] for _ in range(rows)]


def singular_value(rows: list[list[int]]) -> float:
    return float(np.linalg.norm(np.array(rows, dtype=float), 2))


@settings(max_examples=150)
@given(matrices(), st.integers(1, 12))
def test_bounds_are_shown_exactly_above_the_norm(rows: list[list[int]], denominator: int) -> None:
    norm = singular_value(rows) / denominator
    above, below = Fraction(norm * (1 + 1e-9) + 1e-12), Fraction(norm * (1 - 1e-9) - 1e-12)
    assert at_most(rows, denominator, above)
    assert not at_most(rows, denominator, below)
    assert products(rows, denominator) >= Fraction(norm * (1 - 1e-9)) ** 2


@settings(max_examples=60)
@given(st.lists(ENTRIES, min_size=1, max_size=5), st.lists(ENTRIES, min_size=1, max_size=5))
def test_a_rank_one_matrix_is_bounded_by_its_norm_itself(one: list[int], other: list[int]) -> None:
    """``||a b^T||_2^2 = |a|^2 |b|^2``: where that is a square, the bound is attained."""
    rows = [[a * b for b in other] for a in one]
    square = sum(a * a for a in one) * sum(b * b for b in other)
    root = int(square**0.5)
    root += (root + 1) ** 2 <= square
    if root * root == square:
        assert at_most(rows, 1, Fraction(root))
    assert at_most(rows, 1, Fraction(root + 1))
    if square:
        assert not at_most(rows, 1, Fraction(root) - Fraction(1, 10**40))


@pytest.mark.parametrize("size", [24, 60, 120])
def test_large_matrices(size: int) -> None:
    rng = np.random.default_rng(size)
    entries: NDArray[np.int64] = rng.integers(-99, 100, size=(size, size + 7))
    rows = [[int(x) for x in row] for row in entries]
    norm = singular_value(rows)
    assert at_most(rows, 100, Fraction(norm * (1 + 1e-6)) / 100)
    assert not at_most(rows, 100, Fraction(norm * (1 - 1e-6)) / 100)


def test_what_is_too_large_is_not_shown() -> None:
    wide = [[1] * (MAX_ROWS + 1)] * (MAX_ROWS + 1)
    assert not at_most(wide, 1, Fraction(10**6))
    assert at_most(wide[:2], 1, Fraction(10**6))
    long = Fraction(2) + Fraction(1, 1 << MAX_BITS)
    assert at_most([[1]], 1, Fraction(2)) and not at_most([[1]], 1, long)
    assert not at_most([[0]], 1, Fraction(-1)) and at_most([[0]], 1, Fraction(0))


def test_a_common_denominator() -> None:
    rows, denominator = over_common_denominator([[Fraction(1, 2), Fraction(1, 3)]])
    assert (rows, denominator) == ([[3, 2]], 6)

"""Expanded sums of squares are what their squares add up to, and never negative."""

from __future__ import annotations

from fractions import Fraction

import pytest
from dynamic_questions import polynomial
from hypothesis import given, settings
from hypothesis import strategies as st
from square_claims import NO_SQUARES, NOTHING, TINY, Hand, changed, gram

from qreplace.check.sums_of_squares import (
    MAX_GRAM_ROWS,
    expand,
    expand_combination,
    require_nonnegative,
)
from qreplace.claims.sums_of_squares import Combination, Gram, Multiplier, Squares
from qreplace.errors import QReplaceError, Rejected
from qreplace.exact.polynomial import ZERO, Polynomial, from_terms

ARITY = 2
NUMBERS = st.fractions(-3, 3, max_denominator=4)
POSITIVE = st.fractions(0, 3, max_denominator=4)
POLYNOMIALS = st.dictionaries(st.tuples(*[st.integers(0, 2)] * ARITY), NUMBERS, max_size=4).map(
    from_terms
)
POINTS = st.tuples(*[NUMBERS] * ARITY)
SQUARES = st.lists(st.tuples(POSITIVE, POLYNOMIALS), max_size=3).map(
    lambda parts: Squares("squares", tuple(w for w, _ in parts), tuple(p for _, p in parts))
)


@st.composite
def grams(draw: st.DrawFn) -> Gram:
    """``F F^T`` over a denominator, of any rank, on distinct or repeated monomials."""
    size = draw(st.integers(1, 4))
    rank = draw(st.integers(0, 4))
    basis = draw(st.lists(st.tuples(*[st.integers(0, 2)] * ARITY), min_size=size, max_size=size))
    entry = st.integers(-4, 4)
    factor = [draw(st.lists(entry, min_size=rank, max_size=rank)) for _ in range(size)]
    lower = [
        sum(a * b for a, b in zip(factor[i], factor[j], strict=True))
        for i in range(size)
        for j in range(i + 1)
    ]
    return gram(basis, lower, draw(st.integers(1, 5)))


def monomial(exponents: tuple[int, ...], point: tuple[Fraction, ...]) -> Fraction:
    value = Fraction(1)
    for base, exponent in zip(point, exponents, strict=True):
        value *= base**exponent
    return value


@settings(max_examples=60)
@given(SQUARES, POINTS)
def test_squares(sos: Squares, point: tuple[Fraction, ...]) -> None:
    shown = expand(sos, ARITY, "")
    pairs = zip(sos.weights, sos.polynomials, strict=True)
    assert shown.at(point) == sum((w * p.at(point) ** 2 for w, p in pairs), Fraction(0)) >= 0


@settings(max_examples=60)
@given(grams(), POINTS)
def test_gram_matrices(sos: Gram, point: tuple[Fraction, ...]) -> None:
    """``b^T Q b``, entry by entry, with the triangle mirrored."""
    values = [monomial(exponents, point) for exponents in sos.basis]
    size = len(values)
    whole = Fraction(0)
    for i in range(size):
        for j in range(size):
            high, low = max(i, j), min(i, j)
            whole += sos.lower[high * (high + 1) // 2 + low] * values[i] * values[j]
    assert expand(sos, ARITY, "").at(point) == whole / sos.denominator >= 0


@settings(max_examples=60)
@given(grams(), st.integers(0, 9))
def test_gram_matrices_a_little_less_definite(sos: Gram, place: int) -> None:
    """Below a zero minor nothing passes; above it everything does, with the value it has."""
    size = len(sos.basis)
    index = place % size
    diagonal = index * (index + 3) // 2
    scale = 10**40
    numbers = [scale * n for n in sos.lower]
    numbers[diagonal] += 1
    more = changed(sos, lower=tuple(numbers), denominator=scale * sos.denominator)
    extra = expand(more, ARITY, "") - expand(sos, ARITY, "")
    assert extra == _square_of(sos.basis[index]).scaled(1 / (scale * sos.denominator))
    numbers[diagonal] -= 2
    less = changed(more, lower=tuple(numbers))
    if sos.lower[diagonal] == 0:
        with pytest.raises(Rejected, match="not positive semidefinite"):
            expand(less, ARITY, "")


def _square_of(exponents: tuple[int, ...]) -> Polynomial:
    return from_terms({tuple(2 * e for e in exponents): Fraction(1)})


@settings(max_examples=60)
@given(SQUARES, st.lists(st.tuples(SQUARES, POLYNOMIALS), max_size=3), POINTS)
def test_combinations(
    free: Squares, parts: list[tuple[Squares, Polynomial]], point: tuple[Fraction, ...]
) -> None:
    constraints = [g for _, g in parts]
    multipliers = tuple(Multiplier(i, sos) for i, (sos, _) in enumerate(parts))
    combination = Combination(free, multipliers)
    shown = expand_combination(combination, constraints, ARITY, "")
    value = expand(free, ARITY, "").at(point)
    for sos, constraint in parts:
        value += expand(sos, ARITY, "").at(point) * constraint.at(point)
    assert shown.at(point) == value
    if all(g.at(point) >= 0 for g in constraints):
        assert value >= 0
    require_nonnegative(shown, combination, constraints, ARITY, "")
    other = shown + from_terms({(1, 1): TINY})
    with pytest.raises(Rejected, match="coefficient by coefficient"):
        require_nonnegative(other, combination, constraints, ARITY, "/there")


def test_nothing_is_the_zero_polynomial_only() -> None:
    assert expand(NO_SQUARES, ARITY, "") == ZERO
    require_nonnegative(ZERO, NOTHING, [], ARITY, "")
    with pytest.raises(Rejected):
        require_nonnegative(polynomial("1/1000000", 1), NOTHING, [], ARITY, "")


def test_only_allowed_constraints() -> None:
    hand = Hand(1)
    combination = hand.combination((), {1: [(1, "1")]})
    constraints = [polynomial("t", 1), polynomial("z1", 1)]
    assert expand_combination(combination, constraints, 2, "") == constraints[1]
    for allowed in ((0,), range(1), ()):
        with pytest.raises(Rejected, match="may not be used here") as caught:
            expand_combination(combination, constraints, 2, "/flow/0", allowed=allowed)
        assert caught.value.pointer == "/flow/0/multipliers/0"


WORDS = {
    "weights": "one weight a square",
    "negative": "the weight of a square is negative",
    "arity": "another number of variables",
    "rows": f"has 1 to {MAX_GRAM_ROWS} rows",
    "degree": "degree at most 64",
}


@pytest.mark.parametrize(
    ("sos", "words"),
    [
        (Squares("squares", (Fraction(1),), ()), WORDS["weights"]),
        (Squares("squares", (), (polynomial("t", 1),)), WORDS["weights"]),
        (Squares("squares", (-TINY,), (polynomial("t", 1),)), WORDS["negative"]),
        (Squares("squares", (-TINY,), (ZERO,)), WORDS["negative"]),
        (Squares("squares", (Fraction(1),), (polynomial("t", 2),)), WORDS["arity"]),
        (Squares("squares", (Fraction(1),), (polynomial("t^33", 1),)), WORDS["degree"]),
        (gram([(0, 0)] * (MAX_GRAM_ROWS + 1), []), WORDS["rows"]),
        (gram([], []), WORDS["rows"]),
        (gram([(10**9, 0)], [1]), WORDS["degree"]),
    ],
)
def test_refused(sos: Squares | Gram, words: str) -> None:
    with pytest.raises(QReplaceError, match=words):
        expand(sos, ARITY, "")

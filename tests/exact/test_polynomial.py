"""Polynomials over the rationals: arithmetic against values at points, and the documents."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.codec import decode, encode
from qreplace.exact.polynomial import (
    MAX_DEGREE,
    MAX_TERMS,
    MAX_VARIABLES,
    ZERO,
    Polynomial,
    accumulate,
    after_step,
    constant,
    from_terms,
    lie_derivative,
    total,
    variable,
)

ARITY = 3
COEFFICIENTS = st.fractions(-5, 5, max_denominator=6)
EXPONENTS = st.tuples(*[st.integers(0, 3)] * ARITY)
POLYNOMIALS = st.dictionaries(EXPONENTS, COEFFICIENTS, max_size=4).map(from_terms)
SMALL = st.dictionaries(st.tuples(*[st.integers(0, 1)] * ARITY), COEFFICIENTS, max_size=3).map(
    from_terms
)
POINTS = st.tuples(*[st.fractions(-3, 3, max_denominator=4)] * ARITY)


def plain_value(polynomial: Polynomial, point: Sequence[Fraction]) -> Fraction:
    """The sum of the terms, written out."""
    value = Fraction(0)
    for exponents, coefficient in zip(polynomial.exponents, polynomial.coefficients, strict=True):
        term = coefficient
        for base, exponent in zip(point, exponents, strict=True):
            for _ in range(exponent):
                term *= base
        value += term
    return value


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS, POINTS, COEFFICIENTS)
def test_arithmetic_is_that_of_values(
    one: Polynomial, other: Polynomial, point: tuple[Fraction, ...], factor: Fraction
) -> None:
    a, b = plain_value(one, point), plain_value(other, point)
    assert one.at(point) == a
    assert (one + other).at(point) == a + b
    assert (one - other).at(point) == a - b
    assert (-one).at(point) == -a
    assert (one * other).at(point) == a * b
    assert one.scaled(factor).at(point) == factor * a
    assert total([one, other, one]).at(point) == 2 * a + b


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS)
def test_equal_polynomials_are_equal_documents(one: Polynomial, other: Polynomial) -> None:
    """One form a polynomial: whatever way it was reached, and back from its document."""
    assert one + other == other + one
    assert one * other == other * one
    assert one - one == ZERO
    assert (one + other) - other == one
    assert decode(Polynomial, encode(one)) == one
    assert from_terms(one.terms) == one


@settings(max_examples=40)
@given(POLYNOMIALS, st.integers(0, 3), POINTS)
def test_powers(base: Polynomial, exponent: int, point: tuple[Fraction, ...]) -> None:
    if base == ZERO:
        with pytest.raises(Malformed, match="no powers"):
            base.power(exponent)
        return
    assert base.power(exponent).at(point) == base.at(point) ** exponent


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS, st.integers(0, ARITY - 1))
def test_derivatives_obey_the_product_rule(one: Polynomial, other: Polynomial, by: int) -> None:
    product = (one * other).derivative(by)
    assert product == one.derivative(by) * other + one * other.derivative(by)
    assert (one + other).derivative(by) == one.derivative(by) + other.derivative(by)


def test_derivatives_of_variables() -> None:
    for i in range(ARITY):
        for j in range(ARITY):
            slope = variable(i, ARITY).derivative(j)
            assert slope == (constant(Fraction(1), ARITY) if i == j else ZERO)


@settings(max_examples=40)
@given(POLYNOMIALS, st.integers(0, ARITY - 1), COEFFICIENTS, POINTS)
def test_fixing_a_variable(
    polynomial: Polynomial, index: int, value: Fraction, point: tuple[Fraction, ...]
) -> None:
    fixed = polynomial.fixed(index, value)
    moved = (*point[:index], value, *point[index + 1 :])
    assert fixed.at(point) == polynomial.at(moved)
    assert not fixed.involves(index)


@settings(max_examples=40)
@given(SMALL, st.tuples(SMALL, SMALL), POINTS)
def test_composition(
    outer: Polynomial, others: tuple[Polynomial, ...], point: tuple[Fraction, ...]
) -> None:
    images = (variable(0, ARITY), *others)
    inner = [image.at(point) for image in images]
    assert outer.composed(images).at(point) == outer.at(inner)


@settings(max_examples=40)
@given(POLYNOMIALS, st.permutations(range(4)), st.tuples(*[COEFFICIENTS] * 4))
def test_renaming(polynomial: Polynomial, order: list[int], wide: tuple[Fraction, ...]) -> None:
    places = order[:ARITY]
    renamed = polynomial.renamed(places, 4)
    assert renamed.at(wide) == polynomial.at([wide[place] for place in places])
    assert renamed.fits(4)


@settings(max_examples=40)
@given(SMALL, st.tuples(SMALL, SMALL), POINTS, st.fractions(0, 1, max_denominator=5))
def test_along_a_field(
    function: Polynomial,
    field: tuple[Polynomial, ...],
    point: tuple[Fraction, ...],
    step: Fraction,
) -> None:
    """One Euler step is the function at the moved point, and its slope is the Lie derivative."""
    speed = (Fraction(1), *(part.at(point) for part in field))

    def moved(size: Fraction) -> list[Fraction]:
        return [x + size * v for x, v in zip(point, speed, strict=True)]

    assert after_step(function, field, step).at(point) == function.at(moved(step))
    slopes = [function.derivative(i).at(point) for i in range(ARITY)]
    along = sum((a * v for a, v in zip(slopes, speed, strict=True)), Fraction(0))
    assert lie_derivative(function, field).at(point) == along


@settings(max_examples=40)
@given(POLYNOMIALS)
def test_parts(polynomial: Polynomial) -> None:
    assert polynomial.degree == max(map(sum, polynomial.exponents), default=0)
    assert polynomial.fits(ARITY)
    assert polynomial.fits(ARITY + 1) == (polynomial == ZERO)
    assert polynomial.coefficient((9, 9, 9)) == 0
    for exponents, coefficient in polynomial.terms.items():
        assert polynomial.coefficient(exponents) == coefficient
    for index in range(ARITY):
        assert polynomial.involves(index) == (polynomial.derivative(index) != ZERO)


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS, COEFFICIENTS)
def test_accumulation(one: Polynomial, other: Polynomial, factor: Fraction) -> None:
    terms = one.terms
    accumulate(terms, other, factor)
    assert from_terms(terms) == one + other.scaled(factor)


ONE = Fraction(1)


@pytest.mark.parametrize(
    ("exponents", "coefficients", "words"),
    [
        (((1,),), (), "one coefficient an exponent tuple"),
        (((1,), (1,)), (ONE, ONE), "ascend"),
        (((1,), (0,)), (ONE, ONE), "ascend"),
        (((1, 0), (0, 1)), (ONE, ONE), "ascend"),
        (((0,),), (Fraction(0),), "is not zero"),
        (((-1,),), (ONE,), "not negative"),
        (((0, 0), (1,)), (ONE, ONE), "one a variable"),
        (((),), (ONE,), "variables"),
        (((0,) * (MAX_VARIABLES + 1),), (ONE,), "variables"),
        (((MAX_DEGREE, 1),), (ONE,), "degree at most"),
        (((10**30,),), (ONE,), "degree at most"),
        (
            tuple((0, 0, i) for i in range(MAX_TERMS + 1)),
            (ONE,) * (MAX_TERMS + 1),
            "at most 20000 terms",
        ),
    ],
)
def test_other_documents_are_malformed(
    exponents: tuple[tuple[int, ...], ...], coefficients: tuple[Fraction, ...], words: str
) -> None:
    with pytest.raises(Malformed, match=words):
        Polynomial(exponents, coefficients)


def test_results_beyond_the_limits_are_malformed() -> None:
    steep = variable(0, 2).power(40)
    with pytest.raises(Malformed, match="degree"):
        steep * steep
    with pytest.raises(Malformed, match="degree"):
        steep.composed([variable(0, 2).power(2), variable(1, 2)])

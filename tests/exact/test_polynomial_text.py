"""Polynomials as text: round trips, and texts that nobody should send."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import Malformed
from qreplace.exact.polynomial import ZERO, Polynomial, constant, from_terms, variable
from qreplace.exact.polynomial_text import (
    MAX_NESTING,
    MAX_TEXT,
    format_polynomial,
    parse_polynomial,
    state_names,
)

NAMES = state_names(2)
POLYNOMIALS = st.dictionaries(st.tuples(*[st.integers(0, 4)] * 3), st.fractions(), max_size=6).map(
    from_terms
)


def parsed(text: str) -> Polynomial:
    return parse_polynomial(text, NAMES)


@settings(max_examples=40)
@given(POLYNOMIALS)
def test_reading_inverts_writing(polynomial: Polynomial) -> None:
    assert parsed(format_polynomial(polynomial, NAMES)) == polynomial


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS)
def test_the_grammar_is_that_of_arithmetic(one: Polynomial, other: Polynomial) -> None:
    a, b = (format_polynomial(p, NAMES) for p in (one, other))
    assert parsed(f"({a}) + ({b})") == one + other
    assert parsed(f"({a}) - ({b})") == one - other
    assert parsed(f"({a}) * ({b})") == one * other
    assert parsed(f"-({a})") == -one
    assert parsed(f"({a})^2 / 3") == (one * one).scaled(Fraction(1, 3))


T, X, Y = (variable(i, 3) for i in range(3))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", ZERO),
        ("z1 - z1", ZERO),
        ("-z1^2", -(X * X)),
        ("2 - 1", constant(Fraction(1), 3)),
        ("1/2*z1", X.scaled(Fraction(1, 2))),
        ("z1/2/3", X.scaled(Fraction(1, 6))),
        ("0.1", constant(Fraction(1, 10), 3)),
        (".5*t", T.scaled(Fraction(1, 2))),
        ("z1 ** 2 * z2", X * X * Y),
        (" ( t+z1 ) * (t-z1)\n", T * T - X * X),
        ("z1^0", constant(Fraction(1), 3)),
        ("(z1 - z1)^2", ZERO),
        ("(2)^3", constant(Fraction(8), 3)),
        ("(((((z2)))))", Y),
    ],
)
def test_read(text: str, value: Polynomial) -> None:
    assert parsed(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the end of the text"),
        ("   ", "the end of the text"),
        ("+", "the end of the text"),
        ("z3", "names t, z1, z2"),
        ("Z1", "names t, z1, z2"),
        ("z1 z2", "an operator or the end"),
        ("2z1", "an operator or the end"),
        ("z1)", "an operator or the end"),
        ("(z1", "a closing parenthesis"),
        ("()", "an opening parenthesis"),
        ("z1 * * z2", "an opening parenthesis"),
        ("z1 + - z2", "an opening parenthesis"),
        ("1/z1", "a number to divide by"),
        ("1/(2)", "a number to divide by"),
        ("1/0", "not zero"),
        ("1/0.0", "not zero"),
        ("z1^z2", "a whole exponent"),
        ("z1^-1", "a whole exponent"),
        ("z1^1.5", "a whole exponent"),
        ("z1^1e1", "a whole exponent"),
        ("z1^99999999999", "a whole exponent"),
        ("z1^65", "degree of at most 64"),
        ("2^65", "degree of at most 64"),
        ("(z1^33)^2", "degree of at most 64"),
        ("z1^2^40", "an operator or the end"),
        ("1e999", "decimal exponent"),
        ("1e-999", "decimal exponent"),
        ("9" * 5000, "digits"),
        ("٣", "a number, a name or an operator"),
        ("z1²", "a number, a name or an operator"),
        ("½", "a number, a name or an operator"),
        ("ζ1", "a number, a name or an operator"),
        ("z1; z2", "a number, a name or an operator"),
        ("__import__('os')", "names t, z1, z2"),
        ("z1\x00", "a number, a name or an operator"),
        ("(" * (MAX_NESTING + 1) + "1" + ")" * (MAX_NESTING + 1), "levels of parentheses"),
        ("(" * 90_000, "levels of parentheses"),
        ("-" * 90_000 + "1", "an opening parenthesis"),
        ("1" + "+1" * MAX_TEXT, "at most"),
        ("*".join(["(1 + t + z1 + z2)^16"] * 4), "multiplied out"),
        ("+".join(["(1 + t + z1 + z2)^5"] * 900), "multiplied out"),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        parsed(text)


@given(st.text(alphabet="tz12+-*/^() .e0", max_size=25))
def test_no_text_fails_otherwise(text: str) -> None:
    """Whatever is sent, a polynomial comes back or the error of a malformed document."""
    try:
        polynomial = parsed(text)
    except Malformed:
        return
    assert parsed(format_polynomial(polynomial, NAMES)) == polynomial

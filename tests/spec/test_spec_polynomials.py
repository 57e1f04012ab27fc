"""Polynomials of a specification: exact, by the names of the states, and bounded in their work."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_examples import POLYNOMIAL, changed, load, problems

from qreplace.errors import Malformed
from qreplace.exact.polynomial import constant
from qreplace.exact.polynomial_text import MAX_EXPANDED, Work, parse_polynomial
from qreplace.question import model as q
from qreplace.spec.polynomials import MAX_FIELD_TERMS

NAMES = ["x", "v", "speed_2", "T", "_", "e", "E1"]


def field(*texts: Any, states: list[str] | None = None) -> dict[str, Any]:
    """A specification with one atom."""
    names = states or ["x", "v"]
    return changed(
        POLYNOMIAL,
        system={"kind": "polynomial", "states": names},
        target={"kind": "vector", "values": [1] * len(names)},
        dictionary={
            "bits": 1,
            "learned": False,
            "atoms": [{"kind": "polynomial", "field": list(texts)}],
        },
    )


# --- the value of a text ------------------------------------------------------------------------

_LEAVES = st.one_of(
    st.sampled_from(["t", *NAMES]).map(lambda name: ("name", name)),
    st.sampled_from(["0", "3", "2.50", ".5", "1e1", "12e-1"]).map(lambda n: ("number", n)),
)
TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*"), inner, inner),
        st.tuples(st.just("/"), inner, st.sampled_from(["2", "0.3", "7"])),
        st.tuples(st.just("^"), inner, st.integers(0, 3)),
        st.tuples(st.just("neg"), inner),
    ),
    max_leaves=6,
)


def text_of(tree: Any) -> str:
    """The tree as text, with parentheses wherever one node holds another."""
    kind = tree[0]
    if kind in ("name", "number"):
        return str(tree[1])
    if kind == "neg":
        return f"(-{text_of(tree[1])})"
    left, right = text_of(tree[1]), tree[2] if kind in "/^" else text_of(tree[2])
    return f"({left}{'**' if kind == '^' else kind} {right})"


def value_of(tree: Any, point: dict[str, Fraction]) -> Fraction:
    """The value at a point, without any polynomial."""
    kind = tree[0]
    if kind == "name":
        return point[tree[1]]
    if kind == "number":
        return Fraction(tree[1])
    first = value_of(tree[1], point)
    if kind == "neg":
        return -first
    if kind == "^":
        return first ** int(tree[2])
    second = Fraction(tree[2]) if kind == "/" else value_of(tree[2], point)
    if kind == "/":
        return first / second
    found: dict[str, Fraction] = {"+": first + second, "-": first - second, "*": first * second}
    return found[kind]


@given(TREES, st.lists(st.fractions(-3, 3, max_denominator=5), min_size=8, max_size=8))
def test_a_text_is_worth_what_arithmetic_says(tree: Any, numbers: list[Fraction]) -> None:
    asked = load(field(text_of(tree), *["0"] * (len(NAMES) - 1), states=NAMES)).question
    atom = asked.dictionary.atoms[0]  # type: ignore[union-attr]
    assert isinstance(atom, q.PolynomialAtom)
    value = value_of(tree, dict(zip(["t", *NAMES], numbers, strict=True)))
    assert atom.field[0].at(numbers) == value


@pytest.mark.parametrize("number", [2, "0.5", "1/3", -1, "-2e1"])
def test_a_number_is_a_constant(number: Any) -> None:
    atom = load(field("v", number)).question.dictionary.atoms[0]  # type: ignore[union-attr]
    assert isinstance(atom, q.PolynomialAtom)
    assert atom.field[1] == constant(Fraction(number), 3)


def test_a_decimal_in_json_is_exact() -> None:
    import json

    data = json.dumps(field("v", "NUMBER")).replace('"NUMBER"', "0.1").encode()
    atom = load(data).question.dictionary.atoms[0]  # type: ignore[union-attr]
    assert isinstance(atom, q.PolynomialAtom)
    assert atom.field[1] == constant(Fraction(1, 10), 3)


# --- limits -------------------------------------------------------------------------------------

LONG = [
    ("length", "x" + "+x" * 50_000, "at most 100000 characters"),
    ("digits", "9" * 4001, "digits"),
    ("digits-and-exponent", "9" * 4000 + "e400", "4000 digits"),
    ("power-tower", "(" * 4 + "9^64" + ")^64" * 4, "4000 digits"),
    ("sum-of-fractions", "+".join(f"1/{10**6 + 3 * k}" for k in range(9_000)), "4000 digits"),
    (
        "fractions-in-a-square",
        "(" + "+".join(f"x^{k}/{10**900 + k}" for k in range(30)) + ")^2",
        "4000 digits",
    ),
    ("products", "(t + x + v + 1)^60", "products"),
    ("terms", "(" + "+".join(["t", "x", "v", "1"]) + ")^64", "products"),
    ("nesting", "(" * 33 + "x" + ")" * 33, "parentheses"),
]


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in LONG], ids=[c[0] for c in LONG])
def test_what_is_too_long_is_refused(text: str, words: str) -> None:
    (problem,) = problems(field("v", text))
    assert problem.pointer == "/dictionary/atoms/0/field/1"
    assert words in problem.message
    assert len(problem.message) < 200


def test_numbers_of_the_allowed_length_are_read_back() -> None:
    from qreplace.question.model import read_question

    asked = load(field("v", f"x/{'7' * 3999} + {'8' * 3999}")).question
    assert read_question(asked.to_bytes()) == asked


def test_long_sums_are_fine() -> None:
    text = "+".join(f"{i + 2}*x^{i % 60}*v^{i % 4}" for i in range(2000))
    atom = load(field("v", text)).question.dictionary.atoms[0]  # type: ignore[union-attr]
    assert isinstance(atom, q.PolynomialAtom)
    assert atom.field[1].at((Fraction(0), Fraction(1), Fraction(1))) == sum(range(2, 2002))


def many(text: str, count: int) -> dict[str, Any]:
    """A specification with several atoms of the same field."""
    tree = field("v", "x")
    tree["dictionary"]["atoms"] = [{"kind": "polynomial", "field": ["v", text]}] * count
    return tree


def test_all_terms_together_are_bounded() -> None:
    text = "+".join(f"x^{i}*v^{j}" for i in range(32) for j in range(32) if i + j < 45)
    assert len(load(many(text, 40)).question.to_bytes()) > 400_000
    (problem,) = problems(many(text, 60))
    assert problem.code == "too-large"
    assert str(MAX_FIELD_TERMS) in problem.message


def test_all_work_together_is_bounded() -> None:
    """Each text is short and within its own limit; what follows the limit is not read."""
    found = problems(many("(1 + t + x + v)^18 - (1 + t + x + v)^18 + y", 200))
    assert len(found) < 60
    assert "together" in found[-1].message


def test_shared_work_is_what_is_left() -> None:
    work = Work(20)
    parse_polynomial("(x + v)*(x - v)", ["t", "x", "v"], work)
    left = work.left
    assert 0 < left < 20
    with pytest.raises(Malformed, match="together"):
        parse_polynomial("(x + v)*(x - v)*(x + v)*(x - v)", ["t", "x", "v"], work)
    assert Work().left == MAX_EXPANDED


def test_many_names_are_not_all_listed() -> None:
    names = [f"s{i}" for i in range(64)]
    (problem,) = problems(field("y", *["0"] * 63, states=names))
    assert "s10 and 53 more" in problem.message

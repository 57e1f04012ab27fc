"""Numbers are exact, in JSON and in YAML, from their text to the question."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_examples import DECLARED, LIFTED, changed, load, problems

from qreplace.errors import SpecError
from qreplace.question.model import Emulation, VectorTarget, read_question
from qreplace.spec import load_spec_bytes

digits = st.text("0123456789", min_size=1, max_size=40)
decimals = st.builds(
    lambda whole, part, power: (f"{int(whole)}.{part}e{power}", whole, part, power),
    digits,
    digits,
    st.integers(-30, 30),
)


def tolerance(data: bytes, media: str) -> Fraction:
    """The tolerance that a text asks about."""
    loaded = load_spec_bytes(data, name="s", base=None, media=media)  # type: ignore[arg-type]
    assert isinstance(loaded.question.objective, Emulation)
    return loaded.question.objective.tolerance


@given(decimals)
def test_decimals_are_the_rationals_they_denote(number: tuple[str, str, str, int]) -> None:
    text, whole, part, power = number
    exact = Fraction(int(whole + part)) * Fraction(10) ** (power - len(part))
    source = json.dumps(DECLARED).replace('"tolerance": "1/10"', f'"tolerance": {text}')
    assert tolerance(source.encode(), "json") == exact
    assert tolerance(source.encode(), "yaml") == exact


@given(st.integers(0, 10**60), st.integers(1, 10**60))
def test_fractions(numerator: int, denominator: int) -> None:
    source = json.dumps(DECLARED).replace('"1/10"', f'"{numerator}/{denominator}"')
    assert tolerance(source.encode(), "json") == Fraction(numerator, denominator)


def test_a_decimal_is_not_a_binary_float() -> None:
    loaded = load(changed(LIFTED, target={"kind": "vector", "values": ["0.1", "1e-400"]}))
    assert isinstance(loaded.question.target, VectorTarget)
    assert loaded.question.target.values.values == (Fraction(1, 10), Fraction(1, 10**400))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0o17", 15),
        ("012", 12),
        ("+5", 5),
        ("5.", 5),
        (".5", Fraction(1, 2)),
        ("1e2", 100),
        ("'7'", 7),
        ("1/3", Fraction(1, 3)),
        ('"1/3"', Fraction(1, 3)),
    ],
)
def test_yaml_core_schema_numbers(text: str, value: Fraction) -> None:
    source = json.dumps(DECLARED).replace('"1/10"', text)
    assert tolerance(source.encode(), "yaml") == value


@pytest.mark.parametrize("text", ["1_000", "0b1", "1:30", "true", "null", "~", "[1]", "Yes", "1 2"])
def test_yaml_that_is_no_number(text: str) -> None:
    source = json.dumps(DECLARED).replace('"1/10"', text)
    with pytest.raises(SpecError, match=r"/objective/tolerance.*: needed"):
        tolerance(source.encode(), "yaml")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_constants(word: str) -> None:
    (problem,) = problems(json.dumps(DECLARED).replace('"1/10"', word).encode())
    assert problem.pointer == "/objective/tolerance"
    assert word in problem.message


@pytest.mark.parametrize(
    "text", ["9" * 4000 + "e1", "1." + "1" * 3999 + "e-400", "9" * 3999 + "e2"]
)
def test_a_number_that_the_question_could_not_hold_is_refused(text: str) -> None:
    (problem,) = problems(changed(DECLARED, horizon=text))
    assert "at most 4000 digits" in problem.message


def test_the_longest_numbers_are_read_back() -> None:
    for text in ("9" * 4000, "0." + "9" * 3999, f"1/{'7' * 4000}", "9" * 3900 + "e100"):
        asked = load(changed(DECLARED, horizon=text)).question
        assert read_question(asked.to_bytes()) == asked

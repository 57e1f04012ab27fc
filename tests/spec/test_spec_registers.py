"""Registers in a specification: lowered as they are written; what cannot be is refused alike."""

from __future__ import annotations

from typing import Any

import pytest
from spec_examples import LIFTED, changed, load, problems

from qreplace.errors import Malformed
from qreplace.question.model import QuantizedExecution, Registers, read_question

GRID = {"step": {"coefficient": 1, "power": 1}, "rounding": "nearest"}


def study(semantics: str = "error_feedback", **overflow: Any) -> dict[str, Any]:
    """A study on registers; every key of the overflow block may be given."""
    execution: dict[str, Any] = {
        "semantics": semantics,
        "grid": GRID,
        "field_error": "exact",
        "initial_error": "exact",
        "overflow": {"kind": "registers", "on_overflow": "wrap", **overflow},
    }
    if semantics == "error_feedback":
        execution["carry"] = "exact"
    return changed(LIFTED, execution=execution)


@pytest.mark.parametrize("mode", ["wrap", "saturate"])
def test_registers_are_lowered_as_they_are_written(mode: str) -> None:
    written = load(study(on_overflow=mode, state_bits=9, carry_bits=3))
    own = written.question.execution
    assert isinstance(own, QuantizedExecution)
    assert own.overflow == Registers("registers", mode, 9, None, 3, None)  # type: ignore[arg-type]
    assert own.carry is None
    assert read_question(written.question.to_bytes()) == written.question


def test_every_width_makes_another_study() -> None:
    one = load(study(state_bits=9)).question.study_id
    others = [study(state_bits=10), study(state_bits=9, accumulator_bits=20),
              study(state_bits=9, on_overflow="saturate"), study(increment_bits=9)]  # fmt: skip
    assert len({one, *(load(other).question.study_id for other in others)}) == 5


@pytest.mark.parametrize(
    "width", ["state_bits", "increment_bits", "carry_bits", "accumulator_bits"]
)
@pytest.mark.parametrize("bits", [0, -1, 64, "8", 8.5, True])
def test_a_width_is_a_whole_number_of_1_to_63_bits(width: str, bits: Any) -> None:
    (problem,) = problems(study(**{width: bits}))
    assert problem.pointer == f"/execution/overflow/{width}"
    for fine in (1, 63):
        load(study(**{width: fine}))


@pytest.mark.parametrize(
    ("semantics", "width", "words"),
    [
        ("write_back", "increment_bits", "no increment register: write_back rounds the state"),
        ("write_back", "carry_bits", "no carry register: only error_feedback carries"),
        ("increment", "carry_bits", "no carry register: only error_feedback carries"),
    ],
)
def test_a_register_that_the_semantics_lacks_is_a_contradiction(
    semantics: str, width: str, words: str
) -> None:
    """The specification says so at the width; a question that says it is no question."""
    (problem,) = problems(study(semantics, state_bits=8, **{width: 8}))
    assert (problem.pointer, problem.code) == (f"/execution/overflow/{width}", "contradiction")
    assert words in problem.message
    plain = load(study(semantics, state_bits=8)).question.to_bytes()
    attacked = plain.replace(f'"{width}":null'.encode(), f'"{width}":8'.encode())
    assert attacked != plain
    with pytest.raises(Malformed, match=r"so it has no|so there is no"):
        read_question(attacked)
    load(study("error_feedback", state_bits=8, **{width: 8}))


def test_registers_have_a_width_and_no_limit() -> None:
    (problem,) = problems(study())
    assert "the width of at least one register" in problem.message
    limited = study(state_bits=8)
    limited["execution"]["grid"] = {**GRID, "limit": 4}
    (problem,) = problems(limited)
    assert "registers are limited by their bits" in problem.message
    by_bits = study(state_bits=8)
    by_bits["execution"]["grid"] = {"bits": 8, "limit": 4, "rounding": "nearest"}
    assert any("limited by their bits" in problem.message for problem in problems(by_bits))

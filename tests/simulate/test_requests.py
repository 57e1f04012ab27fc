"""Simulation requests: read exactly, refused with every problem and its place, canonical."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from qreplace.errors import SpecError
from qreplace.simulate.request import (
    FORMAT,
    MODELS,
    ArithmeticRequest,
    SwitchingRequest,
    is_request,
    load_request,
    read_request,
    request_bytes,
    request_from,
    request_id,
    simulation_schema,
)

SCHEMA = Path(__file__).parents[2] / "schemas" / "simulation.v1.json"

SYSTEM: dict[str, Any] = {
    "initial_state": [0],
    "rate": "-1/2",
    "atoms": [{"offset": [1]}, {"kind": "relu", "inner": [[1]], "bias": [0], "outer": [["1/2"]]}],
}
ARITHMETIC: dict[str, Any] = {
    "format": FORMAT,
    "kind": "arithmetic",
    "system": SYSTEM,
    "schedule": {"weights": ["1/2", "1/2"]},
    "depths": [1, {"from": 2, "to": 8, "step": 2}],
    "arithmetic": {
        "semantics": "write_back",
        "state": {"step": {"coefficient": "1/64", "power": 1}, "bits": 8},
        "carry": {"limit": 1, "bits": 16, "on_overflow": "wrap"},
        "increment": "bf16",
    },
}


def problems(tree: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        request_from(tree, "request")
    return [(problem.pointer, problem.message) for problem in caught.value.problems]


def test_numbers_are_exact() -> None:
    text = f'{{"format": "{FORMAT}", "kind": "switching", "weights": [0.1, 0.9], "depth": 3}}'
    request = read_request(text.encode(), name="request", media="json")
    assert isinstance(request, SwitchingRequest)
    assert request.weights == ((Fraction(1, 10), Fraction(9, 10)),)


def test_one_semantics_and_one_row_need_no_list() -> None:
    request = request_from(ARITHMETIC, "request")
    assert isinstance(request, ArithmeticRequest)
    assert request.arithmetic.semantics == ("write_back",)


@pytest.mark.parametrize("tree", [
    ARITHMETIC,
    {"format": FORMAT, "kind": "switching", "weights": [["1/2", "1/2"], [1, 0]]},
    {"format": FORMAT, "kind": "lattice", "max_code": 3},
    {"format": FORMAT, "kind": "phase"},
    {"format": FORMAT, "kind": "phase", "system": SYSTEM, "weights": [1, 0]},
])  # fmt: skip
def test_a_canonical_request_reads_as_itself(tree: dict[str, Any]) -> None:
    request = request_from({**tree, "title": "for people"}, "request")
    again = read_request(request_bytes(request), name="request", media="json")
    assert request_bytes(again) == request_bytes(request)
    assert request_id(again) == request_id(request_from(tree, "request"))
    assert b"for people" not in request_bytes(request)


def test_another_seed_is_another_request() -> None:
    tree = {"format": FORMAT, "kind": "lattice", "max_code": 3}
    other = request_from({**tree, "seed": 1}, "request")
    assert request_id(other) != request_id(request_from(tree, "request"))


@pytest.mark.parametrize(("tree", "pointer", "words"), [
    ({"kind": "nothing"}, "/kind", "one of the kinds switching, arithmetic, lattice, phase"),
    ({}, "", "one of the kinds"),
    ({"kind": "lattice", "max_code": 0}, "/max_code", "at least 1"),
    ({"kind": "lattice", "ratios": [0]}, "/ratios/0", "at least 1"),
    ({"kind": "lattice", "ratios": ["3/2"]}, "/ratios/0", "whole number"),
    ({"kind": "lattice", "ratio": [2]}, "/ratio", "Did you mean 'ratios'"),
    ({"kind": "switching", "weights": [1]}, "", "depth beside constant weights"),
    ({"kind": "switching", "weights": [[1], [1]], "depth": 3}, "/depth", "depth 2"),
    ({"kind": "switching", "weights": ["nan"], "depth": 1}, "/weights/0", "finite"),
    ({"kind": "switching", "weights": [1], "depth": 10**8}, "/depth", "at most 10000000"),
    ({"kind": "phase", "weights": [1]}, "", "system and weights together"),
    ({"kind": "arithmetic"}, "", "missing key 'system'. See schemas/simulation.v1.md"),
])  # fmt: skip
def test_bad_requests_are_told_what_is_needed(
    tree: dict[str, Any], pointer: str, words: str
) -> None:
    found = problems({"format": FORMAT, **tree})
    assert any(where == pointer and words in message for where, message in found), found


@pytest.mark.parametrize(("register", "words"), [
    ({"step": 1, "bits": 0}, "at least 1"),
    ({"step": 1, "bits": 64}, "at most 63"),
    ({"step": 0}, "above 0"),
    ({"steps": [[1, 0]]}, "above 0"),
    ({"step": 1, "limit": 2, "bits": 8}, "one of step, steps and limit"),
    ({"limit": 2}, "needed bits beside limit"),
    ({"bits": 8}, "one of step, steps and limit"),
    ({"step": "nan"}, "finite"),
    (3, "a register or the name of a format"),
])  # fmt: skip
def test_bad_registers(register: Any, words: str) -> None:
    tree = {**ARITHMETIC, "arithmetic": {"semantics": "write_back", "state": register}}
    found = problems(tree)
    assert any(where.startswith("/arithmetic/state") and words in m for where, m in found), found


@pytest.mark.parametrize(
    "schedule", [{}, {"steps": [0], "all": True}, {"rule": "greedy", "all": True}]
)
def test_a_schedule_is_given_one_way(schedule: dict[str, Any]) -> None:
    assert [where for where, _ in problems({**ARITHMETIC, "schedule": schedule})] == ["/schedule"]


def test_files_are_told_apart_by_their_format(tmp_path: Path) -> None:
    request, study = tmp_path / "a.yaml", tmp_path / "b.yaml"
    request.write_text(f"format: {FORMAT}\nkind: lattice\n", encoding="utf-8")
    study.write_text("format: qreplace/spec/v1\n", encoding="utf-8")
    assert is_request(request) and not is_request(study)
    assert not is_request(tmp_path / "missing.yaml")
    with pytest.raises(SpecError, match="the kind phase"):
        load_request(request, "phase")
    with pytest.raises(SpecError, match="readable request file"):
        load_request(tmp_path / "missing.yaml")


def test_the_shipped_schema_is_the_models() -> None:
    text = json.dumps(simulation_schema(), indent=2, ensure_ascii=False) + "\n"
    assert SCHEMA.read_text("utf-8") == text


@pytest.mark.parametrize("kind", list(MODELS))
def test_the_prose_names_every_key(kind: str) -> None:
    prose = SCHEMA.with_suffix(".md").read_text("utf-8")
    for name, info in MODELS[kind].model_fields.items():
        assert f"`{info.alias or name}`" in prose

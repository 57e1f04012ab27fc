"""``qreplace simulate``, from outside: every kind, its files, its premises, its refusals."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, ROOT, qreplace
from ruamel.yaml import YAML

DOCUMENT = (ROOT / "docs" / "simulate.md").read_text("utf-8")
REQUEST = next(b for b in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S) if "arithmetic" in b)


def answer(*arguments: str | Path) -> dict[str, Any]:
    ran = qreplace("simulate", *arguments, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_switching_realises_what_its_schedule_does() -> None:
    found = answer("switching", "--weights", "1/2,1/3,1/6", "--depth", "24")
    weights = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    for own, bound in zip(found["rules"], (Fraction(3, 4), Fraction(5, 6)), strict=True):
        schedule = own["schedule"]
        balances = [
            abs(step * weight - schedule[:step].count(j))
            for step in range(1, 25)
            for j, weight in enumerate(weights)
        ]
        assert Fraction(own["largest"]) == max(balances) <= bound
    assert [own["rule"] for own in found["rules"]] == ["chairman", "greedy"]


def test_a_study_is_switched_on_the_control_of_its_claims(tmp_path: Path) -> None:
    source = tmp_path / "study.yaml"
    assert qreplace("init", "affine", source).code == 0
    found = answer("switching", source, "--depth", "12", "--rule", "greedy")
    assert found["origin"] == "the mixing weights of its affine_lp claim"
    assert [own["rule"] for own in found["rules"]] == ["greedy"]
    decided = qreplace("decide", source, "--json")
    weights = [Fraction(text) for text in json.loads(decided.out)["plan"]["weights"]]
    balance, schedule = [Fraction(0)] * len(weights), []
    for _ in range(12):
        balance = [b + w for b, w in zip(balance, weights, strict=True)]
        schedule.append(max(range(len(balance)), key=lambda j: (balance[j], -j)))
        balance[schedule[-1]] -= 1
    assert found["rules"][0]["schedule"] == schedule


def test_the_request_of_the_documentation_runs(tmp_path: Path) -> None:
    source = tmp_path / "request.yaml"
    source.write_text(REQUEST, "utf-8")
    ran = qreplace("simulate", "arithmetic", source, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    written = {path.name: path for path in (tmp_path / "out").iterdir()}
    assert set(written) == {"result.json", "run.svg", "run.png", "premises.yaml"}
    assert written["run.svg"].read_bytes().startswith(b"<?xml")
    rows = json.loads(written["result.json"].read_bytes())["rows"]
    assert [(row["depth"], row["semantics"]) for row in rows] == list(
        itertools.product([4, 16, 64, 256], ["write_back", "error_feedback"])
    )
    for row in rows:
        assert Fraction(row["error"]) <= min(Fraction(row[a]) for a in ("a_posteriori", "radius"))
    last = {row["semantics"]: Fraction(row["error"]) for row in rows}
    # Ideal steps of 1/256 from zero move no 7-bit state; a carry keeps them.
    assert last["write_back"] > Fraction(3, 10) > Fraction(1, 100) > last["error_feedback"]


def test_premises_are_execution_blocks_that_validate(tmp_path: Path) -> None:
    source = tmp_path / "request.yaml"
    source.write_text(REQUEST.replace("initial_state: [0]", "initial_state: [1/1000]"), "utf-8")
    assert qreplace("simulate", "arithmetic", source, "--out", tmp_path / "out").code == 0
    blocks = list(YAML(typ="safe").load_all((tmp_path / "out" / "premises.yaml").read_text()))
    assert [block["execution"]["semantics"] for block in blocks] == ["write_back", "error_feedback"]
    spec = YAML(typ="safe").load((EXAMPLES / "leaky-layer.yaml").read_text("utf-8"))
    for block in blocks:
        own = block["execution"]
        # 1/1000 is stored as 0 or a neighbour: half a step at most.
        assert Fraction(own["initial_error"]["value"]) == Fraction(1, 256)
        assert own["initial_error"]["evidence"] == "diagnostic"
        # A run that hardly moves has still rounded something: never zero.
        assert Fraction(own["overflow"]["no_overflow"]["value"]) >= Fraction(1, 256)
        study = tmp_path / "study.json"
        study.write_text(json.dumps({**spec, **block}, default=str), "utf-8")
        ran = qreplace("validate", study)
        assert ran.code == 0, ran.err


def test_the_grid_is_counted() -> None:
    found = answer(
        "lattice", "--max-code", "3", "--max-depth", "3", "--trials", "4",
        "--ratio", "2", "--ratio", "3",
    )  # fmt: skip
    sequences = sum(
        1
        for limit in range(1, 4)
        for depth in range(1, 4)
        for _ in itertools.product(range(-limit, limit + 1), repeat=depth)
    )
    listed = {own["ratio"]: own for own in found["ratios"]}
    assert set(listed) == {2, 3}
    for own in listed.values():
        assert set(own["checks"].values()) == {own["sequences"]} == {found["sequences"]}
    assert found["sequences"] == sequences


def test_registers_of_the_grid_are_execution_blocks_that_validate(tmp_path: Path) -> None:
    ran = qreplace(
        "simulate", "lattice", "--max-code", "2", "--max-depth", "2", "--trials", "1",
        "--ratio", "1", "--ratio", "4", "--out", tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    blocks = list(YAML(typ="safe").load_all((tmp_path / "premises.yaml").read_text()))
    # T4.10 at ratio 4: |r| <= 2, |q| <= floor((2 + 4) / 4) = 1, |z| <= (2 * 2 + 2) / 4 = 1.
    widths = {"state_bits": 2, "increment_bits": 2, "carry_bits": 3}
    overflow = blocks[1]["execution"]["overflow"]
    assert {name: overflow[name] for name in widths} == widths
    spec = YAML(typ="safe").load((EXAMPLES / "leaky-layer.yaml").read_text("utf-8"))
    for block in blocks:
        study = tmp_path / "study.json"
        study.write_text(json.dumps({**spec, **block}, default=str), "utf-8")
        ran = qreplace("validate", study)
        assert ran.code == 0, ran.err


def test_phase_diagrams_are_drawn(tmp_path: Path) -> None:
    ran = qreplace("simulate", "phase", "--out", tmp_path)
    assert ran.code == 0, ran.err
    assert {"result.json", "premises.yaml", "phase.svg", "heat.svg"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert "freez" in ran.out


def test_a_study_runs_in_its_own_registers() -> None:
    found = answer("arithmetic", EXAMPLES / "wrapping-accumulator.yaml", "--depth", "16")
    (row,) = found["rows"]
    assert row["semantics"] == "rounded_carry"
    assert row["overflows"] == {}
    assert Fraction(row["target_error"]) <= Fraction(1, 20)
    assert "accumulator that the study declares is not run" in " ".join(found["notes"])


STUDY = EXAMPLES / "leaky-layer.yaml"


@pytest.mark.parametrize(("arguments", "words"), [
    (("switching",), "missing key"),
    (("switching", STUDY), "needs the depth"),
    (("switching", STUDY, "--depth", "4", "--weights", "1"), "--weights cannot be added"),
    (("switching", STUDY, "--depth", "4", "--rule", "dice"), "one of chairman, greedy, sum_up"),
    (("switching", STUDY, "--depth", "4", "--metadata-bits", "77"), "no dictionary at 77"),
    (("switching", "--weights", "1", "--depth", "4", "--metadata-bits", "1"), "belongs to a study"),
    (("switching", "--weights", "1/2,1/3", "--depth", "4"), "sums to 5/6"),
    (("arithmetic", STUDY), "needs the depths"),
    (("arithmetic", "missing.yaml", "--depth", "4"), "missing.yaml"),
    (("lattice", "--max-code", "0"), "at least 1"),
])  # fmt: skip
def test_what_cannot_run_is_told_in_one_message(arguments: tuple[Any, ...], words: str) -> None:
    ran = qreplace("simulate", *arguments)
    assert (ran.code, ran.out) == (3, "")
    assert words in ran.err
    assert "Traceback" not in ran.err

"""``qreplace simulate routing``, from outside: its files, and premises that a study can hold."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

from command_line import EXAMPLES, ROOT, qreplace
from ruamel.yaml import YAML

DOCUMENT = (ROOT / "docs" / "simulate.md").read_text("utf-8")
SHOWN = next(b for b in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.S) if "routing" in b)


def test_the_command_writes_a_routing_block_that_validates(tmp_path: Path) -> None:
    source = tmp_path / "request.yaml"
    source.write_text(SHOWN, "utf-8")
    ran = qreplace("simulate", "routing", source, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "result.json", "routing.svg", "routing.png", "premises.yaml",
    }  # fmt: skip
    block = YAML(typ="safe").load((tmp_path / "out" / "premises.yaml").read_text("utf-8"))
    spec = YAML(typ="safe").load((EXAMPLES / "declared-moe.yaml").read_text("utf-8"))
    block["routing"]["oracle_error"] = spec["routing"]["oracle_error"]
    # This example speaks of another norm than the measurement.
    block["routing"]["norm"] = spec["objective"]["norm"]
    study = tmp_path / "study.json"
    study.write_text(json.dumps({**spec, **block}, default=str), "utf-8")
    assert qreplace("validate", study).code == 0
    (event,) = block["routing"]["events"]
    assert {part["evidence"] for part in event.values()} == {"diagnostic"}
    assert qreplace("simulate", "lattice", source).code != 0


def test_events_can_be_certified_along_the_target(tmp_path: Path) -> None:
    source = tmp_path / "request.yaml"
    source.write_text(SHOWN + "cells: 128\n", "utf-8")
    ran = qreplace("simulate", "routing", source, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    found = json.loads((tmp_path / "out" / "result.json").read_bytes())
    (proved,), (measured,) = found["certified"]["events"], found["events"]
    # What is enclosed holds what was measured, or says no more than it.
    assert Fraction(proved["time_low"]) <= Fraction(measured["time_high"])
    assert Fraction(measured["time_low"]) <= Fraction(proved["time_high"])
    assert Fraction(proved["slope"]) <= Fraction(measured["slope"]) * Fraction(101, 100)
    for name in ("jump", "gap_error", "gap_lipschitz"):
        assert Fraction(proved[name]) >= Fraction(measured[name]) * Fraction(99, 100)
    block = YAML(typ="safe").load((tmp_path / "out" / "premises.yaml").read_text("utf-8"))
    (event,) = block["routing"]["events"]
    assert {part["evidence"] for part in event.values()} == {"interval_certified"}
    assert "certified along a validated path" in " ".join(ran.out.split())


def test_a_route_that_cannot_be_certified_says_why(tmp_path: Path) -> None:
    """Two scores that meet at the start are no simple event; the measurement stands."""
    tied = SHOWN.replace("scores: {offset: [1, 0]", "scores: {offset: [-1/4, 0]", 1)
    assert tied != SHOWN
    source = tmp_path / "request.yaml"
    source.write_text(tied + "cells: 64\n", "utf-8")
    ran = qreplace("simulate", "routing", source)
    assert ran.code == 0, ran.err
    assert "no certified events: two scores meet at the start" in " ".join(ran.out.split())

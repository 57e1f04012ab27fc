"""``qreplace simulate routing``, from outside: its files, and premises that a study can hold."""

from __future__ import annotations

import json
import re
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

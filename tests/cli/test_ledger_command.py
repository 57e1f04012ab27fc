"""``qreplace ledger``, from outside."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

from command_line import ROOT, qreplace

DOCUMENT = (ROOT / "docs" / "ledger.md").read_text("utf-8")
BLOCK = re.findall(r"```yaml\n(format: qreplace/ledger/v1.*?)```", DOCUMENT, re.S)[0]


def test_the_block_of_the_documentation_gives_the_table_that_it_shows(tmp_path: Path) -> None:
    source = tmp_path / "block.yaml"
    source.write_text(BLOCK, "utf-8")
    ran = qreplace("ledger", source, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"ledger.json", "premises.yaml", "ledger.svg", "ledger.png"}
    shown = re.search(r"```\n(component .*?)```", DOCUMENT, re.S)
    assert shown is not None
    assert shown[1].strip() in ran.out


def test_json_holds_exact_numbers_with_companions(tmp_path: Path) -> None:
    source = tmp_path / "block.yaml"
    source.write_text(BLOCK, "utf-8")
    ran = qreplace("ledger", source, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    for own in document["totals"].values():
        assert float(Fraction(own["value"])) == own["value~"]
    assert sum(Fraction(row["share"]) for row in document["components"]) == 1


def test_a_number_in_another_norm_is_refused_with_its_factor(tmp_path: Path) -> None:
    source = tmp_path / "block.yaml"
    number = "{value: 3, evidence: diagnostic, source: mine, norm: linf}"
    source.write_text(BLOCK.replace("norm: 4,", f"norm: {number},", 1), "utf-8")
    ran = qreplace("ledger", source)
    assert ran.code == 3
    assert "needed the l2 operator norm, received linf. Multiply by" in ran.err
    document = json.loads(qreplace("ledger", source, "--json").out)
    assert document["problems"][0]["pointer"].endswith("/norm/norm")

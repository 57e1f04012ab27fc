"""The five questions and what would decide an open study, as people read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import qreplace
from qreplace.report import render
from qreplace.report.explain import explain

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["Geometry", "Synthesis", "Execution", "Routing", "Search"]


def twin(folder: Path) -> Any:
    """The routed example with a loop gain above one."""
    text = (EXAMPLES / "declared-moe.yaml").read_text("utf-8")
    path = folder / "twin.yaml"
    path.write_text(text.replace("gap_lipschitz: {value: 0.5,", "gap_lipschitz: {value: 8,", 1))
    return qreplace.decide(path)


def written(study: Any) -> dict[str, str]:
    files = render(study.document(), study.report_context(), figures=False)
    return {name: data.decode() for name, data in files.items() if name != "report.csv"}


def table(text: str, heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_an_open_study_says_where_it_is_open_and_what_would_decide_it(tmp_path: Path) -> None:
    study = twin(tmp_path)
    files = written(study)
    rows = table(files["report.md"], "Five questions, in order")
    assert [row[0].split(":")[0] for row in rows] == NAMES
    assert [row[1] for row in rows] == ["yes", "yes", "yes", "open", "open"]
    assert "chi is 1.09" in rows[3][2]
    assert rows[0][3] == "declared, diagnostic only"
    changes = table(files["report.md"], "What would decide it")
    assert [row[0] for row in changes] == [
        "slope of the gap at event 0", "state sensitivity of the gap at event 0",
    ]  # fmt: skip
    assert changes[1][1:3] == ["8", "at most 2.37 (a factor of 3.38)"]
    assert "State sensitivity of the gap at event 0" in files["report.html"]
    assert "Slope of the gap at event 0 at least 7.25" in " ".join(
        explain(study.document(), study.report_context()).split()
    )


@pytest.mark.parametrize(("example", "standings", "words"), [
    ("declared-moe.yaml", ["yes"] * 5, "E_bar - end"),
    ("declared-transformer.yaml", ["yes", "yes", "yes", "not asked", "yes"], "there is no router"),
    ("switched-scalar.yaml", ["no", "yes", "not asked", "not asked", "no"], "above the tolerance"),
])  # fmt: skip
def test_a_decided_study_answers_all_five_and_asks_for_nothing(
    example: str, standings: list[str], words: str
) -> None:
    files = written(qreplace.decide(EXAMPLES / example))
    rows = table(files["report.md"], "Five questions, in order")
    assert [row[1] for row in rows] == standings
    assert words.lower() in " ".join(row[2] for row in rows).lower()
    assert "What would decide it" not in files["report.md"]
    assert "What would decide it" not in files["report.html"]

"""The other commands, from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import ACCEPTED, EXAMPLES, ROOT, qreplace

KEYS = [
    "study", "bundle_sha256", "verdict", "domain", "evidence", "declared", "tolerance", "bracket",
    "best", "minimal", "depths", "plan", "obstruction", "claims", "weakest", "reasons", "not_shown",
]  # fmt: skip
"""What design.md promises for ``decide --json``, stable within a major version."""


def test_help_lists_every_command_and_the_readme_shows_it() -> None:
    ran = qreplace("--help")
    assert ran.code == 0
    for name in (
        "init",
        "validate",
        "decide",
        "gate",
        "certify",
        "check",
        "explain",
        "schema",
        "ledger",
        "reproduce",
        "serve",
        "simulate",
    ):
        assert f"\n  {name} " in ran.out
    readme = (ROOT / "README.md").read_text("utf-8")
    assert ran.out.strip() in readme


@pytest.mark.parametrize(
    "template", ["affine", "linear", "dynamics", "polynomial", "piecewise", "declared"]
)
def test_every_template_validates_and_decides(template: str, tmp_path: Path) -> None:
    spec = tmp_path / "my.yaml"
    assert qreplace("init", template, spec).code == 0
    assert qreplace("validate", spec).code == 0
    ran = qreplace("decide", spec, "--json")
    assert ran.code == 0
    expected = {
        "affine": "certified_feasible",
        "linear": "certified_feasible",
        "dynamics": "certified_feasible",
        "polynomial": "certified_impossible",
        "piecewise": "certified_feasible",
        "declared": "conditionally_feasible",
    }
    assert json.loads(ran.out)["verdict"] == expected[template]


def test_init_refuses_to_overwrite_and_unknown_templates(tmp_path: Path) -> None:
    spec = tmp_path / "my.yaml"
    spec.write_text("mine", encoding="utf-8")
    ran = qreplace("init", "affine", spec)
    assert ran.code == 3
    assert "exists already" in ran.err
    assert spec.read_text("utf-8") == "mine"
    assert qreplace("init", "affine", spec, "--force").code == 0
    assert "no template" in qreplace("init", "nonsense", tmp_path / "x.yaml").err


def test_validate_reports_every_problem_with_its_place(tmp_path: Path) -> None:
    spec = tmp_path / "bad.yaml"
    text = (ACCEPTED / "lifted-vectors.yaml").read_text("utf-8")
    text = text.replace("kind: emulation", "kind: emulation, colour: red", 1)
    spec.write_text(text + "\nextra: 1\n", encoding="utf-8")
    ran = qreplace("validate", spec)
    assert ran.code == 3
    assert "/objective/colour" in ran.err
    assert "/extra" in ran.err
    document = json.loads(qreplace("validate", spec, "--json").out)
    assert {p["pointer"] for p in document["problems"]} >= {"/objective/colour", "/extra"}
    assert all(p["line"] for p in document["problems"])


def test_decide_json_has_the_promised_keys_and_companions() -> None:
    document = json.loads(qreplace("decide", ACCEPTED / "lifted-vectors.yaml", "--json").out)
    assert [key for key in KEYS if key not in document] == []
    assert isinstance(document["tolerance"]["lo"], str)
    assert document["tolerance"]["lo~"] == pytest.approx(0.15)
    assert document["best"]["interval"]["upper~"] <= 0.15
    for row in document["depths"]:
        assert set(row) >= {"depth", "metadata_bits", "verdict", "interval"}


def test_decide_writes_everything_and_the_bundle_is_accepted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = qreplace("decide", ACCEPTED / "lifted-vectors.yaml", "--out", out)
    assert ran.code == 0
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    assert names >= {
        "bundle.zip", "report.json", "report.csv", "report.md", "report.html", "spec.yaml",
        "figures/interval.svg", "figures/interval.png",
    }  # fmt: skip
    assert not [name for name in names if name.endswith(".part")]
    for module, command in (("qreplace.check", []), ("qreplace.cli", ["check"])):
        checked = qreplace(*command, out / "bundle.zip", module=module)
        assert checked.code == 0
        assert "certified_feasible" in checked.out


def test_check_exit_codes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    qreplace("certify", ACCEPTED / "lifted-vectors.yaml", "--out", out)
    claim = next((out / "claims").glob("*.json"))
    good = qreplace("check", claim, "--question", out / "question.json", "--json")
    assert good.code == 0
    assert set(json.loads(good.out)) >= {"kind", "proposition", "lower", "upper", "evidence"}
    other = tmp_path / "other"
    qreplace("certify", EXAMPLES / "affine-128.yaml", "--out", other)
    wrong = qreplace("check", claim, "--question", other / "question.json")
    assert wrong.code == 4
    assert "another question" in wrong.err
    (tmp_path / "noise.zip").write_bytes(b"PK but no archive")
    assert qreplace("check", tmp_path / "noise.zip").code == 3
    assert qreplace("check", tmp_path / "absent.zip").code == 3
    assert qreplace("check", claim).code == 3


def test_certify_without_anything_to_certify_is_an_error(tmp_path: Path) -> None:
    ran = qreplace("certify", EXAMPLES / "declared-transformer.yaml", "--out", tmp_path / "out")
    assert ran.code == 3
    assert "nothing was certified" in ran.err
    assert not (tmp_path / "out").exists()


def test_explain_one_and_two_studies(tmp_path: Path) -> None:
    spec = ACCEPTED / "lifted-vectors.yaml"
    assert "feasible" in qreplace("explain", spec).out
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text(
        spec.read_text("utf-8").replace("tolerance: 0.15", "tolerance: 0.01"), "utf-8"
    )
    ran = qreplace("explain", spec, stricter)
    assert ran.code == 0
    assert "tolerance" in ran.out
    assert qreplace("explain", spec, spec, spec).code == 3


def test_schema_prints_what_is_checked_in() -> None:
    ran = qreplace("schema", "spec")
    assert ran.out == (ROOT / "schemas" / "spec.v1.json").read_text("utf-8")
    unknown = qreplace("schema", "nonsense")
    assert unknown.code == 3
    assert "nonsense" in unknown.err


def test_unreadable_output_folder_leaves_nothing_half_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    ran = qreplace("decide", ACCEPTED / "lifted-vectors.yaml", "--out", blocked)
    assert ran.code == 3
    assert "cannot be written" in ran.err
    assert blocked.read_text("utf-8") == "x"

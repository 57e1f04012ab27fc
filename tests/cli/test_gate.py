"""``qreplace gate``: design.md's rules and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import ACCEPTED, EXAMPLES, qreplace

from qreplace.cli.gate import Requirement, Result, annotation, judge, junit_xml, worst
from qreplace.premises import Evidence

CERTIFIED = Evidence.FINITE_WITNESS_CERTIFIED
FEASIBLE, NOT_IMPOSSIBLE, RESOLVED = Requirement

FEASIBLE_SPEC = ACCEPTED / "lifted-vectors.yaml"
IMPOSSIBLE_SPEC = ACCEPTED / "metadata-codes.yaml"
CONDITIONAL_SPEC = EXAMPLES / "declared-transformer.yaml"
UNRESOLVED_SPEC = EXAMPLES / "declared-moe.yaml"


@pytest.mark.parametrize(
    ("verdict", "codes"),
    [
        ("certified_feasible", (0, 0, 0)),
        ("certified_impossible", (1, 1, 0)),
        ("certified_asymptotically_impossible", (1, 1, 0)),
        ("unresolved", (2, 0, 2)),
    ],
)
def test_certified_and_unresolved_verdicts(verdict: str, codes: tuple[int, int, int]) -> None:
    for floor in (None, Evidence.ANALYTIC_CERTIFIED, Evidence.DIAGNOSTIC):
        for requirement, code in zip(Requirement, codes, strict=True):
            assert judge(requirement, verdict, CERTIFIED, floor) == code


@pytest.mark.parametrize("label", list(Evidence))
@pytest.mark.parametrize("floor", [None, *Evidence])
def test_conditional_verdicts_count_only_where_min_evidence_admits_their_label(
    label: Evidence, floor: Evidence | None
) -> None:
    admitted = floor is not None and label.rank <= floor.rank
    assert judge(FEASIBLE, "conditionally_feasible", label, floor) == (0 if admitted else 2)
    assert judge(RESOLVED, "conditionally_feasible", label, floor) == (0 if admitted else 2)
    assert judge(NOT_IMPOSSIBLE, "conditionally_feasible", label, floor) == 0
    assert judge(NOT_IMPOSSIBLE, "conditionally_impossible", label, floor) == (1 if admitted else 0)
    assert judge(FEASIBLE, "conditionally_impossible", label, floor) == (1 if admitted else 2)


def test_the_worst_of_several_follows_the_declared_order() -> None:
    order = [5, 4, 3, 1, 2, 0]
    for i, bad in enumerate(order):
        for good in order[i:]:
            assert worst([good, bad]) == bad
    assert worst([]) == 3


def test_exit_codes_end_to_end(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("format: qreplace/spec/v1\n", encoding="utf-8")
    assert qreplace("gate", FEASIBLE_SPEC, "--require", "feasible").code == 0
    assert qreplace("gate", IMPOSSIBLE_SPEC, "--require", "feasible").code == 1
    assert qreplace("gate", IMPOSSIBLE_SPEC, "--require", "resolved").code == 0
    assert qreplace("gate", UNRESOLVED_SPEC, "--require", "resolved").code == 2
    assert qreplace("gate", UNRESOLVED_SPEC, "--require", "not-impossible").code == 0
    assert qreplace("gate", CONDITIONAL_SPEC, "--require", "feasible").code == 2
    admitted = ("gate", CONDITIONAL_SPEC, "--require", "feasible", "--min-evidence")
    assert qreplace(*admitted, "diagnostic").code == 0
    assert qreplace(*admitted, "interval_certified").code == 2
    assert qreplace("gate", broken, "--require", "feasible").code == 3
    several = qreplace(
        "gate", FEASIBLE_SPEC, UNRESOLVED_SPEC, IMPOSSIBLE_SPEC, "--require", "feasible"
    )
    assert several.code == 1
    assert len(several.out.strip().splitlines()) == 3


def test_a_rejected_claim_gives_exit_code_4_and_the_other_results_stay(tmp_path: Path) -> None:
    spec = _with_a_false_claim(tmp_path)
    ran = qreplace("gate", spec, FEASIBLE_SPEC, "--require", "feasible", "--json")
    assert ran.code == 4
    document = json.loads(ran.out)
    assert [result["code"] for result in document["results"]] == [4, 0]
    assert "rejected" in document["results"][0]["message"]


def _with_a_false_claim(folder: Path) -> Path:
    from qreplace.exact.document import canonical_bytes, read_json, sha256_hex

    assert qreplace("certify", FEASIBLE_SPEC, "--out", folder / "made").code == 0
    claims = [read_json(p.read_bytes()) for p in (folder / "made" / "claims").glob("*.json")]
    claim = next(c for c in claims if c["format"] == "qreplace/claim/schedule_error/v1")
    claim["error"] = "0"
    data = canonical_bytes(claim)
    (folder / "false.json").write_bytes(data)
    text = FEASIBLE_SPEC.read_text("utf-8")
    text += (
        "\ncertificates:\n"
        "  - {claim: schedule_error, path: false.json, required: true, sha256: "
        f"{sha256_hex(data)}}}\n"
    )
    spec = folder / "spec.yaml"
    spec.write_text(text, encoding="utf-8")
    return spec


def test_junit_counts_failures_and_errors(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    missing = tmp_path / "missing.yaml"
    ran = qreplace(
        "gate", IMPOSSIBLE_SPEC, FEASIBLE_SPEC, missing, "--require", "feasible", "--junit", file
    )
    assert ran.code == 3
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    cases = suite.findall("testcase")
    assert [len(case) for case in cases] == [1, 0, 1]


def test_junit_survives_control_characters() -> None:
    odd = Result("a\x00b.yaml", 1, "certified_impossible", None, "bad \x1b[31m <text>")
    root = ElementTree.fromstring(junit_xml([odd], FEASIBLE))
    assert root.find("testcase") is not None


def test_github_annotations_escape_their_text() -> None:
    result = Result("a,b:c.yaml", 1, None, None, "100% sure\nnext")
    assert annotation(result) == (
        "::error file=a%2Cb%3Ac.yaml,title=qreplace not met::100%25 sure%0Anext"
    )
    assert annotation(Result("x", 2, None, None, "open")).startswith("::warning ")
    assert annotation(Result("x", 0, None, None, "fine")) == ""
    ran = qreplace("gate", IMPOSSIBLE_SPEC, "--require", "feasible", "--annotations")
    assert "::error file=" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gate", "--require", "feasible"), "Missing argument"),
        (("gate", FEASIBLE_SPEC), "Missing option"),
        (("gate", FEASIBLE_SPEC, "--require", "perfect"), "perfect"),
        (("gate", FEASIBLE_SPEC, "--require", "feasible", "--min-evidnce", "x"), "No such option"),
        (("gat",), "No such command"),
    ],
)
def test_a_wrong_command_line_is_invalid_input_and_never_unresolved(
    arguments: tuple[str | Path, ...], message: str
) -> None:
    ran = qreplace(*arguments)
    assert ran.code == 3
    assert message in ran.err

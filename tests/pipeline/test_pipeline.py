"""From a specification to a bundle that the offline checker accepts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import qreplace
from qreplace import check
from qreplace.claims import claim_bytes, claim_kind
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.claims.schemas import schema_of
from qreplace.errors import Rejected
from qreplace.exact.document import canonical_bytes, read_json, sha256_hex
from qreplace.pipeline import Study, decide
from qreplace.pipeline.lifted import schedule_depths
from qreplace.question.subject import Subject
from qreplace.spec import load_spec, load_spec_bytes

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT / "tests" / "corpus" / "accepted" / "spec"
SPECS = sorted(
    str(path.relative_to(ROOT))
    for path in CORPUS.iterdir()  # the examples are decided in tests/examples
    if path.suffix in (".yaml", ".json")
)

LIFTED: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "objective": {"kind": "emulation", "tolerance": "1/10", "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": ["1/2", "1/4"]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [{"kind": "vector", "values": [1, 0]}, {"kind": "vector", "values": [0, "1/2"]}],
    },
    "structural_floor": {"lower": 0, "upper": 3},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [2, 3]},
}


def study_of(tree: dict[str, Any], files: dict[str, bytes] | None = None) -> Study:
    data = json.dumps(tree).encode()
    return decide(load_spec_bytes(data, name="s.json", base=None, media="json", files=files))


@pytest.mark.parametrize("path", SPECS)
def test_every_accepted_specification_is_decided_and_rechecked(path: str) -> None:
    study = decide(ROOT / path)
    report = check(study.bundle)
    assert report.verdict == study.decision
    for name, data in (
        ("verdict", canonical_bytes(study.decision)),
        ("question", study.spec.question.to_bytes()),
    ):
        jsonschema.Draft202012Validator(schema_of(name)).validate(json.loads(data))
    assert study.id == study.spec.question.study_id
    assert study.bundle_sha256 == sha256_hex(study.bundle)
    again = read_json(canonical_bytes(study.decision))
    assert again == study.decision
    text = json.dumps(study.document(), allow_nan=False)
    assert study.bundle_sha256 in text


def test_the_python_api_takes_a_path_or_a_loaded_specification() -> None:
    path = ROOT / "examples" / "declared-transformer.yaml"
    study = qreplace.decide(str(path))
    assert study.verdict == "conditionally_feasible"
    assert qreplace.decide(load_spec(path)).bundle == study.bundle
    assert check(study.bundle).verdict == study.decision


def test_progress_is_reported_stage_by_stage() -> None:
    heard: list[tuple[str, int, int]] = []
    decide(
        ROOT / "tests/corpus/accepted/spec/lifted-vectors.yaml",
        progress=lambda stage, done, total: heard.append((stage, done, total)),
    )
    assert ("floor", 0, 1) in heard and ("floor", 1, 1) in heard
    schedules = [entry for entry in heard if entry[0] == "schedules"]
    assert schedules[0][1] == 0 and schedules[-1][1] == schedules[-1][2] > 0


# --- attached claims ----------------------------------------------------------------------------


def schedule_for(tree: dict[str, Any], counts: tuple[int, ...], error: Fraction) -> bytes:
    """A schedule claim about a tree's problem, right or wrong."""
    loaded = load_spec_bytes(json.dumps(tree).encode(), name="s.json", base=None, media="json")
    subject = Subject(loaded.question, loaded.arrays)
    claim = ScheduleErrorClaim(
        "qreplace/claim/schedule_error/v1", subject.problem_digest(0), 0, counts, error
    )
    return claim_bytes(claim)


def with_certificate(data: bytes, *, required: bool = False) -> tuple[dict[str, Any], Any]:
    """The tree with an attached certificate, and the attachment."""
    entry = {
        "claim": "schedule_error",
        "path": "claims/one.json",
        "sha256": sha256_hex(data),
        "required": required,
    }
    return {**LIFTED, "certificates": [entry]}, {"claims/one.json": data}


def test_an_attached_claim_is_checked_and_used() -> None:
    assert study_of(LIFTED).verdict == "unresolved"
    data = schedule_for(LIFTED, (1, 1), Fraction(0))
    tree, files = with_certificate(data, required=True)
    study = study_of(tree, files)
    assert study.verdict == "certified_feasible"
    assert [claim_kind(claim) for claim in study.claims] == ["schedule_error"]
    assert study.decision["claims"][0]["sha256"] == sha256_hex(data)
    assert study.decision["plan"]["schedule"] == [0, 1]
    assert check(study.bundle).verdict == study.decision


def test_an_attached_claim_that_does_not_hold_is_rejected() -> None:
    """The true error of (2, 1) is 1/6; a smaller and a larger one are both refused."""
    true = Fraction(1, 6)
    tree, files = with_certificate(schedule_for(LIFTED, (2, 1), true))
    study_of(tree, files)
    for wrong in (true - Fraction(1, 10**40), true + 1, Fraction(0)):
        tree, files = with_certificate(schedule_for(LIFTED, (2, 1), wrong))
        with pytest.raises(Rejected, match="a claim was rejected: the schedule's error is not"):
            study_of(tree, files)


def test_an_attached_claim_about_another_question_is_rejected() -> None:
    other = {**LIFTED, "target": {"kind": "vector", "values": ["1/2", "1/3"]}}
    tree, files = with_certificate(schedule_for(other, (1, 1), Fraction(1, 12)))
    with pytest.raises(Rejected, match="another question"):
        study_of(tree, files)


def test_a_claim_serves_every_tolerance_about_the_same_floor() -> None:
    data = schedule_for(LIFTED, (1, 1), Fraction(0))
    tree, files = with_certificate(data)
    objective = {**LIFTED["objective"], "tolerance": 0}
    study = study_of({**tree, "objective": objective}, files)
    assert study.verdict == "certified_feasible"
    assert study.id != study_of(tree, files).id


def test_labels_and_recipes_reach_the_plan_but_not_the_study() -> None:
    named = json.loads(json.dumps(LIFTED))
    named["dictionary"]["atoms"][0].update(name="first", recipe="by hand")
    tree, files = with_certificate(schedule_for(LIFTED, (1, 1), Fraction(0)))
    study = study_of({**tree, "dictionary": named["dictionary"]}, files)
    assert study.id == study_of(tree, files).id
    atoms = study.document()["plan"]["atoms"]
    assert [(atom["name"], atom["recipe"]) for atom in atoms] == [("first", "by hand"), ("", "")]


# --- the plan ------------------------------------------------------------------------------------


def computed(depths: Any, **blocks: Any) -> dict[str, Any]:
    asked = {"structural_floor": {"compute": "affine_lp"}, "search": {"depths": depths}}
    return {**LIFTED, **asked, **blocks}


def test_a_plan_deeper_than_any_schedule_is_given_by_its_counts() -> None:
    """A million steps are not written out; their counts are, with the exact error."""
    objective = {**LIFTED["objective"], "tolerance": "1/1000000"}
    target = {"kind": "vector", "values": ["1/3", "1/3"]}
    tree = computed([{"from": 10**6, "to": 10**6 + 1}], objective=objective, target=target)
    study = study_of(tree)
    plan = study.decision["plan"]
    assert study.verdict == "certified_feasible"
    assert plan["schedule"] is None and sum(plan["counts"]) == plan["depth"]
    assert 0 < Fraction(plan["error"]) <= Fraction(1, 10**6)


def test_the_plans_error_is_that_of_its_schedule() -> None:
    study = study_of(computed([5, 7]))
    plan = study.decision["plan"]
    subject = Subject(study.spec.question, {})
    problem = subject.lifted(0)
    counts = [plan["schedule"].count(j) for j in range(2)]
    assert counts == plan["counts"] and sum(counts) == plan["depth"]
    residual = problem.residual(counts, plan["depth"])
    worst = Fraction(max(map(abs, residual)), plan["depth"] * problem.denominator)
    assert Fraction(plan["error"]) == worst <= Fraction(1, 10)


def test_a_plan_never_follows_a_bad_claim_where_rounding_does_better() -> None:
    """An attached schedule of error 1/2 at depth 4 beside the mixture's own rounding, error 0."""
    tree = computed([4])
    loaded = load_spec_bytes(json.dumps(tree).encode(), name="s.json", base=None, media="json")
    subject = Subject(loaded.question, {})
    claim = ScheduleErrorClaim(
        "qreplace/claim/schedule_error/v1", subject.problem_digest(0), 0, (4, 0), Fraction(1, 2)
    )
    entry = {
        "claim": "schedule_error",
        "path": "bad.json",
        "sha256": sha256_hex(claim_bytes(claim)),
    }
    study = study_of({**tree, "certificates": [entry]}, {"bad.json": claim_bytes(claim)})
    assert study.decision["plan"]["error"] == "0" and study.decision["plan"]["counts"] == [2, 2]


def test_schedules_are_searched_at_a_spread_of_a_large_grid() -> None:
    tree = computed([{"from": 1, "to": 10**6}])
    loaded = load_spec_bytes(json.dumps(tree).encode(), name="s.json", base=None, media="json")
    depths = schedule_depths(Subject(loaded.question, {}))
    assert depths[0] == 1 and depths[-1] <= 4096 and len(depths) <= 96

"""A comparator given as a map: its checked error is the threshold (theory T1.2, T8.5)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, Literal

import jsonschema
import pytest
from declared_questions import depths
from lifted_questions import L2, make_question
from piecewise_questions import atom as make_atom
from piecewise_questions import matrix_question, pwa_question, reference

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound
from qreplace.claims.verdict_schema import VERDICT
from qreplace.decision.verdict import decide
from qreplace.errors import Contradiction, Malformed
from qreplace.premises import Evidence
from qreplace.question import model as q
from qreplace.question.subject import Subject

DOMAIN = Literal["witnesses", "full"]


def bound(
    subject: Subject, quantity: Any, side: Any, value: str, depth: int | None = None,
    domain: DOMAIN = "full", evidence: Evidence = Evidence.ANALYTIC_CERTIFIED,
) -> ScopedBound:  # fmt: skip
    return ScopedBound(
        quantity, side, Fraction(value), "endpoint", domain,
        EVERY_DEPTH if depth is None else DepthSet(depth, depth), subject.problem_digest(0), 0,
        "every_schedule" if side == "lower" else "one_schedule", evidence, "pwa_supremum", "0" * 64,
    )  # fmt: skip


def comparator(subject: Subject, lower: str = "1/41", upper: str = "1/39") -> list[ScopedBound]:
    return [
        bound(subject, "comparator_error", "lower", lower),
        bound(subject, "comparator_error", "upper", upper),
    ]


def verdict(subject: Subject, *bounds: ScopedBound) -> dict[str, Any]:
    found = decide(subject, (), bounds)
    jsonschema.validate({"format": "qreplace/verdict/v1", **found}, VERDICT)
    return found


@pytest.fixture
def subject() -> Subject:
    return Subject(matrix_question(search=depths(1, 2)), {})


def test_both_ends_of_the_comparator_are_the_threshold(subject: Subject) -> None:
    own = comparator(subject)
    feasible = verdict(subject, *own, bound(subject, "ideal_error", "upper", "1/42", 2))
    assert feasible["verdict"] == "certified_feasible" and feasible["declared"] == []
    assert feasible["tolerance"] == {"lo": "1/41", "hi": "1/39"}
    between = verdict(subject, *own, bound(subject, "ideal_error", "upper", "1/40", 2))
    assert between["verdict"] == "unresolved"
    lower = [bound(subject, "ideal_error", "lower", "1/38", depth) for depth in (1, 2)]
    assert verdict(subject, *own, *lower)["verdict"] == "certified_impossible"
    closer = [bound(subject, "ideal_error", "lower", "1/40", depth) for depth in (1, 2)]
    assert verdict(subject, *own, *closer)["verdict"] == "unresolved"


def test_without_an_end_that_side_is_never_decided(subject: Subject) -> None:
    lower, upper = comparator(subject)
    small = bound(subject, "ideal_error", "upper", "1/100", 2)
    large = [bound(subject, "ideal_error", "lower", "1/2", depth) for depth in (1, 2)]
    open_feasible = verdict(subject, upper, small)
    assert open_feasible["verdict"] == "unresolved"
    assert "the comparator's own error has no checked lower end" in open_feasible["reasons"]
    open_impossible = verdict(subject, lower, *large)
    assert open_impossible["verdict"] == "unresolved"
    assert "the comparator's own error has no checked upper end" in open_impossible["reasons"]


def test_the_weakest_label_counts_the_comparator(subject: Subject) -> None:
    own = [
        dataclasses.replace(end, evidence=Evidence.INTERVAL_CERTIFIED)
        for end in comparator(subject)
    ]
    found = verdict(subject, *own, bound(subject, "ideal_error", "upper", "1/42", 1))
    assert found["verdict"] == "certified_feasible"
    assert found["evidence"] == "interval_certified" and found["minimal"] is True


def test_an_upper_end_on_witnesses_is_no_upper_end_on_the_disk(subject: Subject) -> None:
    lower, _ = comparator(subject)
    upper = bound(subject, "comparator_error", "upper", "1/39", domain="witnesses")
    large = [bound(subject, "ideal_error", "lower", "1/2", depth) for depth in (1, 2)]
    assert verdict(subject, lower, upper, *large)["verdict"] == "unresolved"
    on_witnesses = bound(subject, "comparator_error", "lower", "1/41", domain="witnesses")
    small = bound(subject, "ideal_error", "upper", "1/42", 2)
    assert verdict(subject, on_witnesses, small)["verdict"] == "certified_feasible"


def test_ends_about_another_comparator_do_not_count(subject: Subject) -> None:
    stranger = [dataclasses.replace(end, subject="1" * 64) for end in comparator(subject)]
    small = bound(subject, "ideal_error", "upper", "1/100", 2)
    assert verdict(subject, *stranger, small)["verdict"] == "unresolved"


def test_crossing_ends_are_a_contradiction(subject: Subject) -> None:
    with pytest.raises(Contradiction, match="comparator"):
        verdict(subject, *comparator(subject, "1/39", "1/41"))


def test_another_comparator_is_another_problem() -> None:
    one = matrix_question()
    objective = one.objective
    assert isinstance(objective, q.AccuracyMatching)
    given = objective.comparator
    assert isinstance(given, q.ScheduleTarget)
    other = dataclasses.replace(
        one, objective=dataclasses.replace(
            objective, comparator=dataclasses.replace(given, schedule=(0, 1, 1, 0))
        )
    )  # fmt: skip
    assert Subject(one, {}).problem_digest(0) != Subject(other, {}).problem_digest(0)


def test_a_map_as_comparator_belongs_to_piecewise_affine_systems() -> None:
    atom = make_atom([[1]])
    objective = q.AccuracyMatching("accuracy_matching", reference([atom], [0]))
    with pytest.raises(Malformed, match="piecewise-affine"):
        dataclasses.replace(make_question([1], [[0]], L2), objective=objective)


def test_a_full_domain_needs_its_region() -> None:
    atom = make_atom([[1]])
    with pytest.raises(Malformed, match="region"):
        pwa_question([atom], reference([atom], [0]), dimension=1, inputs=1, region=None)

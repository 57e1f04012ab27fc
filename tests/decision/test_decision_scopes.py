"""Domain, path, objective, minimality and disclosure (theory T1, T11; design rules 5, 6, 8)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from declared_questions import (
    bounded_variation,
    checked,
    decided,
    declared,
    depths,
    floor,
    floor_claims,
    growth,
    lifted,
    premise,
    quantized,
    schedule_claim,
    tolerance,
    verdict_of,
)
from lifted_questions import L1, L2, vector

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound
from qreplace.decision.verdict import decide
from qreplace.errors import Contradiction, Malformed, Rejected
from qreplace.premises import ABSENT, Evidence
from qreplace.question import model as q
from qreplace.question.subject import Subject

# --- domain, norm, scope --------------------------------------------------------------------------


def test_a_full_domain_needs_a_covering_remainder() -> None:
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], domain=q.FullDomain("full", None, None))
    verdict = decided(question, [1, 1])
    assert verdict["verdict"] == "unresolved" and verdict["domain"] == "full"
    assert "a witness upper end needs a covering remainder" in " ".join(verdict["reasons"])
    covered = q.FullDomain("full", None, premise("1/20"))
    verdict = decided(dataclasses.replace(question, domain=covered), [1, 1])
    assert verdict["verdict"] == "conditionally_feasible" and verdict["declared"] == ["covering"]
    assert verdict["best"]["interval"]["upper"] == "1/20"
    far = q.FullDomain("full", None, premise("1/9"))
    assert decided(dataclasses.replace(question, domain=far), [1, 1])["verdict"] == "unresolved"


def test_constants_of_the_witnesses_do_not_carry_a_full_domain_floor() -> None:
    """Between the witnesses two atoms may differ by more, so P_D is unknown there."""
    question = lifted(
        ["1/2", "1/2"], [[1, 0], [0, 1]], domain=q.FullDomain("full", None, None),
        floor=floor(0, 0), search=depths(1, 64),
    )  # fmt: skip
    verdict = verdict_of(question)
    assert verdict["verdict"] == "unresolved"
    assert "known on the witnesses only" in " ".join(verdict["reasons"])
    witnesses = dataclasses.replace(question, domain=q.WitnessDomain("witnesses", None))
    assert verdict_of(witnesses)["verdict"] == "conditionally_feasible"
    impossible = dataclasses.replace(question, floor=floor(1, 2))
    assert verdict_of(impossible)["verdict"] == "conditionally_impossible"
    execution = quantized(
        "increment", "1/1000", limit=9, overflow=q.Saturating("saturate", premise(5))
    )
    run = dataclasses.replace(impossible, execution=execution)
    assert verdict_of(run)["verdict"] == "unresolved"
    run = dataclasses.replace(run, domain=q.WitnessDomain("witnesses", None))
    assert verdict_of(run)["verdict"] == "conditionally_impossible"


def test_lower_ends_from_witnesses_hold_on_the_full_domain() -> None:
    question = lifted([3], [[1], [2]], domain=q.FullDomain("full", None, None))
    verdict = decided(question)
    assert verdict["verdict"] == "certified_impossible" and verdict["domain"] == "full"


@pytest.mark.parametrize("norm", [L1, L2])
def test_a_norm_that_is_no_maximum_over_inputs_is_refused_on_the_full_domain(norm: q.Norm) -> None:
    with pytest.raises(Malformed, match="not a maximum over inputs"):
        lifted([3], [[1], [2]], norm=norm, domain=q.FullDomain("full", None, None))


def test_a_path_question_takes_no_endpoint_upper_end_but_its_lower_one() -> None:
    feasible = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], scope="path")
    verdict = decided(feasible, [1, 1])
    assert verdict["verdict"] == "unresolved"
    assert "says nothing about the path" in " ".join(verdict["reasons"])
    assert decided(lifted([3], [[1], [2]], scope="path"))["verdict"] == "certified_impossible"


def test_a_path_question_pays_b_h_for_the_inside_of_a_cell() -> None:
    """State-independent atoms too: 0 + (M Delta_G + B) / D = (1/2 + 1) / D."""
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], scope="path", floor=floor(0, 0))
    verdict = verdict_of(dataclasses.replace(question, search=depths(1, 40)))
    assert verdict["verdict"] == "conditionally_feasible" and verdict["best"]["depth"] == 15
    endpoint = dataclasses.replace(question, scope="endpoint", search=depths(1, 40))
    assert verdict_of(endpoint)["best"]["depth"] == 5


@pytest.mark.parametrize(
    "scope", [{"domain": "full"}, {"objective": "path"}], ids=["full domain", "path"]
)
def test_a_lower_end_in_a_wider_scope_says_nothing_about_a_narrower_one(
    scope: dict[str, Any],
) -> None:
    question = lifted([1], [[1]])
    subject = Subject(question, {})
    bound = ScopedBound(
        quantity="relaxed_floor",
        side="lower",
        value=Fraction(5),
        objective="endpoint",
        domain="witnesses",
        depths=EVERY_DEPTH,
        subject=subject.problem_digest(0),
        code=0,
        covers="every_schedule",
        evidence=Evidence.ANALYTIC_CERTIFIED,
        kind="hjb_sos",
        claim="0" * 64,
    )
    assert decide(subject, [], [bound])["verdict"] == "certified_impossible"
    wider = dataclasses.replace(bound, **scope)
    assert decide(subject, [], [wider])["verdict"] == "unresolved"
    # Neither does it contradict an upper end of the narrower scope.
    narrow = dataclasses.replace(bound, side="upper", value=Fraction(1), covers="one_schedule")
    assert decide(subject, [], [wider, narrow])["verdict"] == "unresolved"


# --- objectives -----------------------------------------------------------------------------------


def test_accuracy_matching_takes_the_unfavourable_end_of_the_comparator() -> None:
    """The schedule's error is 1/4; the comparator's own lies in an interval."""

    def matched(low: str, high: str) -> dict[str, Any]:
        comparator = premise(low, high, Evidence.CALIBRATED_ESTIMATE)
        question = lifted(
            [1, "1/2"],
            [[1, 0], [1, 1]],
            objective=q.AccuracyMatching("accuracy_matching", comparator),
        )
        far = dataclasses.replace(question, target=q.VectorTarget("vector", vector([1, "5/4"])))
        return decided(far, [0, 1])

    assert matched("1/4", "2")["verdict"] == "conditionally_feasible"
    assert matched("1/5", "1/5")["verdict"] == "conditionally_impossible"
    assert matched("1/5", "1/4")["verdict"] == "unresolved"
    assert matched("1/5", "2")["verdict"] == "unresolved"
    verdict = matched("1/4", "2")
    assert verdict["tolerance"] == {"lo": "1/4", "hi": "2"}
    assert verdict["declared"] == ["comparator"] and verdict["evidence"] == "calibrated_estimate"


def test_a_comparator_without_evidence_decides_nothing() -> None:
    comparator = premise(5, evidence=Evidence.UNAVAILABLE)
    question = lifted([1], [[1]], objective=q.AccuracyMatching("accuracy_matching", comparator))
    verdict = decided(question)
    assert verdict["verdict"] == "unresolved"
    assert "missing: comparator: its evidence is unavailable" in verdict["reasons"]


def test_behavioural_replacement_is_strict_and_never_impossible() -> None:
    """Errors strictly below margin / readout keep every decision (T1.3)."""

    def behaviour(margin: str, target: Any) -> dict[str, Any]:
        objective = q.Behavioural("behavioural", premise(margin), premise(2))
        return decided(lifted([target], [[1]], objective=objective))

    assert behaviour("1/2", "5/4")["verdict"] == "unresolved"  # 1/4 < 1/4 fails
    assert behaviour("501/1000", "5/4")["verdict"] == "conditionally_feasible"
    assert behaviour("1/2", 1000)["verdict"] == "unresolved"
    assert behaviour("0", 1)["verdict"] == "unresolved"  # error 0, margin 0
    verdict = behaviour("501/1000", "5/4")
    assert verdict["declared"] == ["margin", "readout"] and verdict["tolerance"]["lo"] == "501/2000"


# --- minimal, contradictions ----------------------------------------------------------------------


def test_minimal_needs_every_smaller_depth_certified_impossible() -> None:
    """Declared impossibility below does not make a depth minimal; a searched depth 1 is."""
    exact = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], objective=tolerance(0), search=depths(1, 4))
    assert decided(exact, [1, 1])["minimal"] is False
    assert decided(lifted([1], [[1]]))["minimal"] is True
    below = ScopedBound(
        quantity="ideal_error",
        side="lower",
        value=Fraction(1, 2),
        objective="endpoint",
        domain="witnesses",
        depths=DepthSet(1, 1),
        subject=Subject(exact, {}).problem_digest(0),
        code=0,
        covers="every_schedule",
        evidence=Evidence.FINITE_WITNESS_CERTIFIED,
        kind="schedule_minimum",
        claim="0" * 64,
    )
    subject = Subject(exact, {})
    claims, bounds = checked(subject, [*floor_claims(subject), schedule_claim(subject, [1, 1])])
    assert decide(subject, claims, [*bounds, below])["minimal"] is True
    one_schedule = dataclasses.replace(below, covers="one_schedule")
    assert decide(subject, claims, [*bounds, one_schedule])["minimal"] is False
    assert verdict_of(declared(floor=floor(0, 0)))["minimal"] is False


def test_checked_bounds_that_contradict_each_other_are_an_error() -> None:
    question = lifted([1], [[1]])
    subject = Subject(question, {})
    upper = ScopedBound(
        quantity="relaxed_floor",
        side="upper",
        value=Fraction(1),
        objective="endpoint",
        domain="witnesses",
        depths=EVERY_DEPTH,
        subject=subject.problem_digest(0),
        code=0,
        covers="one_schedule",
        evidence=Evidence.ANALYTIC_CERTIFIED,
        kind="affine_lp",
        claim="0" * 64,
    )
    lower = dataclasses.replace(
        upper, side="lower", value=Fraction(1) + Fraction(1, 10**30), covers="every_schedule"
    )
    with pytest.raises(Contradiction, match="exceeds a checked upper end") as caught:
        decide(subject, [], [upper, lower])
    assert isinstance(caught.value, Rejected) and caught.value.exit_code == 4
    met = dataclasses.replace(lower, value=Fraction(1))
    assert decide(subject, [], [upper, met])["bracket"] == {"lower": "1", "upper": "1"}
    later, earlier = DepthSet(5, None), DepthSet(1, 4)
    apart = [
        dataclasses.replace(upper, quantity="ideal_error", depths=earlier),
        dataclasses.replace(lower, quantity="ideal_error", depths=later),
    ]
    assert decide(subject, [], apart)["verdict"] == "certified_asymptotically_impossible"


# --- disclosure -----------------------------------------------------------------------------------


def test_an_impossible_verdict_discloses_every_premise_that_some_depth_needed() -> None:
    """Deep depths are excluded by better evidence than shallow ones: both are named."""
    question = declared(
        floor=floor(1, 2),
        synthesis=bounded_variation(
            field_bound=1, growth=growth(premise(-1, evidence=Evidence.DIAGNOSTIC))
        ),
        tube=q.DeclaredTube("declared", premise(100)),
        objective=tolerance("3/4"),
        search=depths(2, 64),
    )
    verdict = verdict_of(question)
    assert verdict["verdict"] == "conditionally_impossible"
    assert verdict["evidence"] == "diagnostic" and "growth" in verdict["declared"]
    better = verdict_of(dataclasses.replace(question, search=depths(3, 64)))
    assert better["evidence"] == "interval_certified" and "growth" not in better["declared"]


def test_explicit_absences_are_repeated_as_part_of_what_is_asked() -> None:
    constants = bounded_variation(time_variation=ABSENT, difference_variation=ABSENT)
    question = declared(scope="path", synthesis=constants, execution=quantized())
    assert verdict_of(question)["asked"] == [
        "exactly evaluated fields",
        "exact initial state",
        "registers as wide as needed",
        "no metadata",
        "no routing",
        "fields that do not depend on time",
        "field differences that do not depend on time",
        "the whole path",
    ]
    assert "exact execution" in verdict_of(declared())["asked"]


def test_equality_with_the_tolerance_is_feasible_and_shown_exactly() -> None:
    """S1 = (1 + 1/2)^2 - 1 = 5/4 is rational: L = B = 1, Q + P at D = 2 is a short fraction."""
    sharp = Fraction(1, 2) * (Fraction(5, 8) + Fraction(1, 2) * 4 * (1 + Fraction(5, 4)))
    question = declared(floor=floor(0, 0), objective=tolerance(sharp), search=depths(2, 2))
    verdict = verdict_of(question)
    assert verdict["verdict"] == "conditionally_feasible"
    assert Fraction(verdict["best"]["interval"]["upper"]) == sharp
    below = tolerance(sharp - Fraction(1, 10**60))
    assert verdict_of(dataclasses.replace(question, objective=below))["verdict"] == "unresolved"

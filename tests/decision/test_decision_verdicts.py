"""Every verdict, each reached by one small question (theory T11)."""

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
    lifted,
    premise,
    quantized,
    tolerance,
    verdict_of,
)

from qreplace.check.bounds import DepthSet, ScopedBound
from qreplace.claims import claim_digest
from qreplace.decision.verdict import decide
from qreplace.premises import Evidence
from qreplace.produce.frozen import produce as produce_frozen
from qreplace.question import model as q
from qreplace.question.frozen_start import frozen_start
from qreplace.question.subject import Subject

# --- certified ------------------------------------------------------------------------------------


def test_certified_feasible_by_a_schedule() -> None:
    """Half of each atom is the target; two steps do it exactly."""
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], objective=tolerance(0))
    verdict = decided(question, [1, 1])
    assert verdict["verdict"] == "certified_feasible"
    assert verdict["evidence"] == "finite_witness_certified"
    assert verdict["best"]["depth"] == 2 and verdict["declared"] == []
    assert verdict["best"]["interval"] == {"lower": "0", "upper": "0"}
    assert verdict["plan"]["schedule"] == [0, 1] and verdict["plan"]["error"] == "0"


def test_certified_feasible_by_the_floor_and_its_radius() -> None:
    """Without a schedule claim: 0 + h M Delta_G = (1/2) / D <= 1/10 from D = 5 on."""
    verdict = decided(lifted(["1/2", "1/2"], [[1, 0], [0, 1]]))
    assert verdict["verdict"] == "certified_feasible" and verdict["best"]["depth"] == 5
    assert verdict["best"]["interval"]["upper"] == "1/10"
    assert verdict["best"]["radii"]["synthesis"]["value"] == "1/10"
    # Depth 4 is left open by both ends, so 5 is not shown to be minimal.
    assert verdict["minimal"] is False
    assert [row["verdict"] for row in verdict["depths"]] == ["unresolved"] * 4 + [
        "certified_feasible"
    ] * 4


def test_certified_impossible_at_every_depth() -> None:
    verdict = decided(lifted([3], [[1], [2]]))
    assert verdict["verdict"] == "certified_impossible" and verdict["impossible_from"] == 1
    assert "at every depth;" in verdict["reasons"][0]
    assert verdict["bracket"] == {"lower": "1", "upper": "1"}
    assert verdict["obstruction"]["missed_by"] == "9/10"
    assert verdict["plan"] is None and verdict["best"] is None
    assert {row["verdict"] for row in verdict["depths"]} == {"certified_impossible"}


def test_certified_impossible_from_a_depth_on_and_on_the_grid() -> None:
    """lo - A_D = 1 - 1/(2 D) > 9/10 from D = 6 on; the grid starts at 8."""
    execution = quantized("error_feedback", step=1, power=1)
    question = lifted(
        [3], [[1], [2]], objective=tolerance("9/10"), execution=execution, search=depths(8, 12)
    )
    verdict = decided(question)
    assert verdict["verdict"] == "certified_impossible" and verdict["impossible_from"] == 6
    assert "from 6 on and at every depth of the declared grid" in verdict["reasons"][0]


def test_certified_impossible_on_the_grid_only() -> None:
    """Write-back rounding grows with depth, so only the searched depths are excluded."""
    question = lifted([3], [[1], [2]], execution=quantized(step="1/100"), search=depths(1, 20))
    verdict = decided(question)
    assert verdict["verdict"] == "certified_impossible" and verdict["impossible_from"] is None
    assert "at every depth of the declared grid" in verdict["reasons"][0]
    deeper = dataclasses.replace(question, search=depths(1, 400))
    assert decided(deeper)["verdict"] == "unresolved"


def test_certified_asymptotically_impossible() -> None:
    """At shallow depth the arithmetic radius leaves it open, from depth 6 on nothing meets."""
    execution = quantized("error_feedback", step=1, power=1)
    question = lifted(
        [3], [[1], [2]], objective=tolerance("9/10"), execution=execution, search=depths(1, 12)
    )
    verdict = decided(question)
    assert verdict["verdict"] == "certified_asymptotically_impossible"
    assert verdict["impossible_from"] == 6
    assert "grid" not in verdict["reasons"][0] and "from 6 on" in verdict["reasons"][0]
    rows = {row["depth"]: row["verdict"] for row in verdict["depths"]}
    assert rows[5] == "unresolved" and rows[6] == "certified_impossible"


def test_a_radius_that_does_not_vanish_is_no_asymptotic_obstruction() -> None:
    """T11.1: field 0.6, target 1, increments rounded to multiples of h: lo 0.4, executed 0."""
    question = lifted(
        [1], [["6/10"]], execution=quantized("increment", step=1, power=1), search=depths(1, 64)
    )
    verdict = decided(question)
    assert verdict["bracket"] == {"lower": "2/5", "upper": "2/5"}
    assert verdict["verdict"] == "unresolved"
    assert "exact execution no large depth could meet it" in " ".join(verdict["reasons"])
    # The executed error is 0: every increment 0.6 h is rounded to h.
    for depth in (1, 7, 64):
        step = Fraction(1, depth)
        assert depth * (round(Fraction(6, 10) * step / step) * step) == 1
    exact = dataclasses.replace(question, execution=q.ExactExecution("exact"))
    assert decided(exact)["verdict"] == "certified_impossible"


def test_a_shallow_certified_candidate_takes_precedence_over_the_asymptotic_obstruction() -> None:
    """A checked bound on the executed error at depth 1 beside lo - limsup A_D > eps."""
    execution = quantized("error_feedback", step=1, power=1)
    question = lifted(
        [3], [[1], [2]], objective=tolerance("9/10"), execution=execution, search=depths(1, 12)
    )
    subject = Subject(question, {})
    shallow = ScopedBound(
        quantity="executed_error",
        side="upper",
        value=Fraction(1, 2),
        objective="endpoint",
        domain="witnesses",
        depths=DepthSet(1, 1),
        subject=subject.execution_digest(0),
        code=0,
        covers="one_schedule",
        evidence=Evidence.FINITE_WITNESS_CERTIFIED,
        kind="executed_run",
        claim="0" * 64,
    )
    claims = floor_claims(subject)
    claims, bounds = checked(subject, claims)
    assert decide(subject, claims, bounds)["verdict"] == "certified_asymptotically_impossible"
    verdict = decide(subject, claims, [*bounds, shallow])
    assert verdict["verdict"] == "certified_feasible" and verdict["best"]["depth"] == 1
    assert verdict["minimal"] is True


def test_a_frozen_state_decides_both_ways() -> None:
    """Cells of 4 and increments below 2: the state stays at 0, the error is the target's norm."""
    for target, expected in (["1/20"], "certified_feasible"), ([1], "certified_impossible"):
        question = lifted(target, [[1], [-1]], execution=quantized(step=4))
        subject = Subject(question, {})
        start = frozen_start(subject, 0)
        claim = produce_frozen(subject, 0, start, q.DepthRule(Fraction(4), 0))
        assert claim is not None and claim.first_depth == 1
        assert verdict_of(question, [claim])["verdict"] == expected


# --- conditional ----------------------------------------------------------------------------------


def test_conditionally_feasible_names_what_was_declared() -> None:
    verdict = verdict_of(declared())
    assert verdict["verdict"] == "conditionally_feasible"
    assert verdict["evidence"] == "interval_certified"
    assert verdict["declared"] == ["field_bound", "floor_upper", "state_lipschitz"]
    assert verdict["plan"] is None


def test_conditionally_impossible_names_what_was_declared() -> None:
    question = declared(floor=floor(1, 2), search=depths(8, 128))
    verdict = verdict_of(question)
    assert verdict["verdict"] == "conditionally_impossible"
    assert verdict["declared"] == ["field_bound", "floor_lower", "state_lipschitz"]
    assert verdict["impossible_from"] is not None


@pytest.mark.parametrize("label", list(Evidence)[:5])
def test_a_label_however_good_is_no_proof(label: Evidence) -> None:
    """Design rule 5: a user can type a label; they can't type a proof."""
    question = declared(
        floor=floor(premise(0, evidence=label), premise(0, evidence=label)),
        synthesis=bounded_variation(
            field_bound=premise(1, evidence=label), state_lipschitz=premise(0, evidence=label)
        ),
    )
    verdict = verdict_of(question)
    assert verdict["verdict"] == "conditionally_feasible"
    assert verdict["evidence"] == label.value


def test_a_bare_zero_is_diagnostic_and_never_certified() -> None:
    """A claimed zero needs evidence like any other: only an explicit `none` drops a term."""
    zero = premise(0, evidence=Evidence.DIAGNOSTIC)
    question = lifted(
        ["1/2", "1/2"], [[1, 0], [0, 1]], execution=quantized(step="1/10000", field_error=zero)
    )
    verdict = decided(question, [1, 1])
    assert verdict["verdict"] == "conditionally_feasible"
    assert verdict["evidence"] == "diagnostic" and "field_error" in verdict["declared"]
    asked = dataclasses.replace(question, execution=quantized(step="1/10000"))
    verdict = decided(asked, [1, 1])
    assert verdict["verdict"] == "certified_feasible"
    assert "exactly evaluated fields" in verdict["asked"]


def test_the_weakest_premise_used_sets_the_label() -> None:
    question = declared(
        synthesis=bounded_variation(
            field_bound=premise(1, evidence=Evidence.ANALYTIC_CERTIFIED),
            state_lipschitz=premise(1, evidence=Evidence.CALIBRATED_ESTIMATE),
        )
    )
    verdict = verdict_of(question)
    assert verdict["evidence"] == "calibrated_estimate"
    assert verdict["weakest"].startswith("synthesis: field_bound, state_lipschitz")


def test_a_tighter_but_weaker_premise_hides_no_stronger_label() -> None:
    """Differences of the diagnostic kind reach shallower depth, yet the label stays the better."""
    constants = bounded_variation(difference_bound=premise("1/100", evidence=Evidence.DIAGNOSTIC))
    verdict = verdict_of(declared(synthesis=constants))
    plain = verdict_of(declared())
    assert verdict["verdict"] == plain["verdict"] == "conditionally_feasible"
    assert verdict["evidence"] == plain["evidence"] == "interval_certified"
    assert verdict["best"] == plain["best"]
    rows = {row["depth"]: row["interval"]["upper"] for row in verdict["depths"]}
    shallow = {row["depth"]: row["interval"]["upper"] for row in plain["depths"]}
    assert Fraction(rows[5]) < Fraction(shallow[5])


def test_a_tighter_but_weaker_premise_never_hides_a_certified_verdict() -> None:
    """A declared initial error or margin on lifted data stands beside the recomputed one."""
    fine: dict[str, Any] = {"step": "1/10000"}
    for execution in (
        quantized(**fine, initial_error=premise(0, evidence=Evidence.DIAGNOSTIC)),
        quantized(**fine, limit=5, overflow=q.Saturating("saturate", premise(100))),
        quantized(**fine, initial_error=premise(3)),
    ):
        question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], execution=execution)
        assert decided(question, [1, 1])["verdict"] == "certified_feasible"


def test_a_declared_floor_beside_claims_leaves_the_certified_verdict() -> None:
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], floor=floor(0, 0))
    assert decided(question, [1, 1])["verdict"] == "certified_feasible"
    assert verdict_of(question)["verdict"] == "conditionally_feasible"


# --- required certificates ------------------------------------------------------------------------


def test_a_required_certificate_that_is_absent_blocks_certified() -> None:
    wanted = (q.Certificate("lean_claim", None, required=True),)
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], certificates=wanted)
    verdict = decided(question, [1, 1])
    assert verdict["verdict"] == "conditionally_feasible" and verdict["evidence"] == "unavailable"
    assert verdict["declared"] == ["certificate:lean_claim"]
    assert "lean_claim is absent or unchecked" in verdict["reasons"][0]
    impossible = lifted([3], [[1], [2]], certificates=wanted)
    assert decided(impossible)["verdict"] == "conditionally_impossible"
    optional = (q.Certificate("lean_claim", None, required=False),)
    assert decided(lifted([3], [[1], [2]], certificates=optional))["verdict"] == (
        "certified_impossible"
    )


def test_an_asymptotic_verdict_without_its_certificate_is_unresolved() -> None:
    """Conditionally impossible would be said of every declared candidate, and was not shown."""
    question = lifted(
        [3],
        [[1], [2]],
        objective=tolerance("9/10"),
        execution=quantized("error_feedback", step=1, power=1),
        search=depths(1, 12),
        certificates=(q.Certificate("lean_claim", None, required=True),),
    )
    verdict = decided(question)
    assert verdict["verdict"] == "unresolved" and verdict["impossible_from"] == 6


def test_a_required_certificate_is_met_by_kind_or_by_digest() -> None:
    question = lifted([3], [[1], [2]])
    claim = floor_claims(Subject(question, {}))[0]
    for sha256, expected in (
        (None, "certified_impossible"),
        (claim_digest(claim), "certified_impossible"),
        ("0" * 64, "conditionally_impossible"),
    ):
        wanted = (q.Certificate("affine_lp", sha256, required=True),)
        asked = dataclasses.replace(question, certificates=wanted)
        assert verdict_of(asked, [claim])["verdict"] == expected

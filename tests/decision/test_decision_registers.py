"""Registers in a verdict: without a checked invariant they show nothing (theory T4.9, T4.10)."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from corpora.lattice import execution, grid, registers
from declared_questions import (
    checked,
    covering,
    declared,
    depths,
    floor_claims,
    lifted,
    premise,
    quantized,
    schedule_claim,
    tolerance,
    verdict_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from register_studies import LAST, random_study

from qreplace.check.bounds import Checked, ScopedRegisters
from qreplace.claims import Claim
from qreplace.claims.lattice import LatticeClaim
from qreplace.decision.evaluate import radius_at
from qreplace.decision.levels import CERTIFIED, EVERYTHING, Level
from qreplace.decision.routes import PROBE_END, Route
from qreplace.decision.search import Search
from qreplace.decision.verdict import decide
from qreplace.errors import ProducerFailed
from qreplace.premises import Evidence
from qreplace.produce.lattice import produce
from qreplace.question import model as q
from qreplace.question.subject import Subject
from qreplace.radii.arithmetic import UNCOVERED


def ends_of(question: q.Question) -> list[Claim]:
    """The exact bracket, and a balanced schedule at a few depths."""
    subject = Subject(question, {})
    count = question.dictionary.atom_count
    found = floor_claims(subject)
    for depth in (count, 2 * count, 6 * count, 8 * count):
        found.append(schedule_claim(subject, [depth // count] * count))
    return found


def invariants(question: q.Question) -> list[LatticeClaim]:
    """The lattice claims that can be made."""
    try:
        return list(produce(Subject(question, {}), 0, question.search.depths))
    except ProducerFailed:
        return []


def feasible_depths(question: q.Question, bounds: list[Checked], level: Level) -> set[int]:
    search = Search(Subject(question, {}), bounds)
    return {depth for depth in range(1, LAST + 1) if search.feasible_at(depth, 0, level)}


def decided(question: q.Question, claims: list[Any]) -> tuple[dict[str, Any], list[Checked]]:
    subject = Subject(question, {})
    made, bounds = checked(subject, claims)
    return decide(subject, made, bounds), bounds


OUTCOMES: Counter[str] = Counter()


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from(["registers", "wrap"]))
def test_without_an_invariant_nothing_is_resolved_and_with_one_only_its_depths(
    seed: int, overflow: str
) -> None:
    question = random_study(random.Random(seed), overflow)
    ends, invariant = ends_of(question), invariants(question)
    bare, bounds = decided(question, ends)
    assert bare["verdict"] == "unresolved"
    assert any("T4.9" in reason for reason in bare["reasons"])
    assert not feasible_depths(question, bounds, EVERYTHING)
    search = Search(Subject(question, {}), bounds)
    assert not any(search.impossible_at(depth, 0, EVERYTHING) for depth in range(1, LAST + 1))

    held, bounds = decided(question, [*ends, *invariant])
    covered = {depth for own in invariant for depth in range(own.first_depth, own.last_depth + 1)}
    met = feasible_depths(question, bounds, CERTIFIED)
    assert met == feasible_depths(question, bounds, EVERYTHING) <= covered
    assert held["verdict"] == ("certified_feasible" if met else "unresolved")
    OUTCOMES[f"{overflow} {held['verdict']}"] += 1


def test_both_outcomes_were_seen() -> None:
    """Runs after the property test of this file: it must not have been vacuous."""
    if not OUTCOMES:
        pytest.skip("the property test above did not run")
    for overflow in ("registers", "wrap"):
        assert OUTCOMES[f"{overflow} certified_feasible"] >= 5
        assert OUTCOMES[f"{overflow} unresolved"] >= 5


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["registers", "wrap", "saturate"]))
def test_taking_a_claim_away_never_helps(seed: int, overflow: str) -> None:
    """Design rule 4, claim by claim: the depths that are met only become fewer."""
    rng = random.Random(seed)
    question = random_study(rng, overflow)
    claims: list[Any] = [*ends_of(question), *invariants(question)]
    _, bounds = decided(question, claims)
    before = feasible_depths(question, bounds, CERTIFIED)
    for dropped in range(len(claims)):
        _, bounds = decided(question, claims[:dropped] + claims[dropped + 1 :])
        assert feasible_depths(question, bounds, CERTIFIED) <= before


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_saturating_and_wrapping_registers_are_certified_alike(seed: int) -> None:
    """What never overflows neither clips nor wraps."""
    question = random_study(random.Random(seed), "registers")
    own = question.execution
    assert isinstance(own, q.QuantizedExecution)
    assert isinstance(own.overflow, q.Registers)
    answers = []
    for mode in ("wrap", "saturate"):
        overflow = dataclasses.replace(own.overflow, on_overflow=mode)
        other = dataclasses.replace(question, execution=dataclasses.replace(own, overflow=overflow))
        held, _ = decided(other, [*ends_of(other), *invariants(other)])
        answers.append((held["verdict"], held["best"] and held["best"]["depth"]))
        bare, _ = decided(other, ends_of(other))
        assert bare["verdict"] == "unresolved"
    assert answers[0] == answers[1]


@pytest.mark.parametrize("level", [Evidence.INTERVAL_CERTIFIED, Evidence.DIAGNOSTIC])
def test_declared_constants_do_not_stand_in_for_an_invariant(level: Evidence) -> None:
    """Not even conditionally: the question says nothing about what a wrapped register does."""
    for overflow in (registers(8), q.Wrapping("wrap", None)):
        limit = 4 if isinstance(overflow, q.Wrapping) else None
        question = declared(
            execution=quantized("increment", "1/65536", limit=limit, overflow=overflow),
            objective=tolerance(1),
            floor=q.DeclaredFloor("declared", premise(0, 0, level), premise(0, 0, level), "family"),
        )
        found = verdict_of(question)
        assert found["verdict"] == "unresolved"
        assert any("T4.9" in reason for reason in found["reasons"])
    # With the invariant as a premise it is conditional, never certified.
    kept = q.Wrapping("wrap", premise(3, 3, level))
    promised = quantized("increment", "1/65536", limit=4, overflow=kept)
    found = verdict_of(declared(execution=promised, objective=tolerance(1)))
    assert found["verdict"] == "conditionally_feasible"
    assert "no_overflow" in found["declared"]


# --- a worked study -------------------------------------------------------------------------------

FEEDBACK = execution(grid("1", 1), grid("1/4", 1), registers(5, 2, 3, 2))
"""Cells 1/D and 1/(4D), 5-bit states: sums of D quarters, within (D + 2) / 4, fit to depth 61."""


def worked(own: q.QuantizedExecution = FEEDBACK, **blocks: Any) -> q.Question:
    blocks.setdefault("objective", tolerance("1/4"))
    blocks.setdefault("search", depths(1, 128))
    return lifted([Fraction(1, 8)], [[0], [Fraction(1, 4)]], execution=own, **blocks)


def registers_of(question: q.Question) -> list[ScopedRegisters]:
    _, bounds = checked(Subject(question, {}), invariants(question))
    return [entry for entry in bounds if isinstance(entry, ScopedRegisters)]


def test_the_worked_study_is_feasible_at_covered_depths_and_at_no_other() -> None:
    question = worked()
    (invariant,) = invariants(question)
    assert (invariant.first_depth, invariant.last_depth) == (1, 61)
    claims = [*floor_claims(Subject(question, {})), invariant]
    held, bounds = decided(question, claims)
    assert held["verdict"] == "certified_feasible"
    assert held["best"]["depth"] <= 61
    beyond = dataclasses.replace(question, search=depths(62, 128))
    answer = verdict_of(beyond, claims)
    assert answer["verdict"] == "unresolved"
    assert any(UNCOVERED in reason for reason in answer["reasons"])
    search = Search(Subject(question, {}), bounds)
    assert search.feasible_at(61, 0, EVERYTHING)
    assert not any(search.feasible_at(depth, 0, EVERYTHING) for depth in (62, 63, 100, 128))


def test_two_claims_leave_the_gap_between_them_open() -> None:
    question = worked()
    (whole,) = invariants(question)
    parts = [dataclasses.replace(whole, first_depth=a, last_depth=b) for a, b in ((4, 9), (20, 30))]
    _, bounds = decided(question, [*floor_claims(Subject(question, {})), *parts])
    search = Search(Subject(question, {}), bounds)
    met = {depth for depth in range(1, 129) if search.feasible_at(depth, 0, EVERYTHING)}
    assert met
    assert met <= {*range(4, 10), *range(20, 31)}
    assert {20, 30} <= met
    assert 10 not in met


def radius(question: q.Question, entries: list[Any], depth: int) -> list[Fraction | None]:
    """Every way to A_D at a depth."""
    chosen = Search(Subject(question, {}), entries).environment(0, EVERYTHING).chosen
    values = []
    for own in chosen:
        assert own.arithmetic is not None
        says = Route("upper", PROBE_END, (own.arithmetic,)).segments
        inside = any(s.first <= depth and (s.last is None or depth <= s.last) for s in says)
        values.append(radius_at(own.arithmetic, depth) if inside else None)
    return values


@pytest.mark.parametrize("depth", [1, 7, 40])
def test_an_exact_carry_is_never_rounded(depth: int) -> None:
    """T4.7 adds ``rho_r S1 / h = D rho_r``; on the lattice the carry is exact and A_D is rho.

    Cells 1/D and 1/(4 D): rho is 1/(2 D), and D rho_r is 1/8 at every depth.
    """
    free = dataclasses.replace(FEEDBACK, overflow=q.Unbounded("unbounded"))
    question = worked(free)
    assert radius(question, [], depth) == [Fraction(1, 2 * depth) + Fraction(1, 8)]
    entries = registers_of(question)
    assert radius(question, entries, depth) == [
        Fraction(1, 2 * depth) + Fraction(1, 8),
        Fraction(1, 2 * depth),
    ]
    # The term is what stands between this study and its answer.
    tight = dataclasses.replace(question, objective=tolerance("1/10"), search=depths(40, 40))
    floors = floor_claims(Subject(tight, {}))
    assert verdict_of(tight, floors)["verdict"] == "unresolved"
    assert verdict_of(tight, [*floors, *invariants(tight)])["verdict"] == "certified_feasible"


def test_a_carry_that_the_claim_does_not_call_exact_is_still_charged() -> None:
    free = dataclasses.replace(FEEDBACK, overflow=q.Unbounded("unbounded"))
    question = worked(free)
    entries = [dataclasses.replace(own, exact_carry=False) for own in registers_of(question)]
    assert radius(question, entries, 8)[1] == Fraction(1, 16) + Fraction(1, 8)


def test_the_claim_is_not_about_what_a_covering_code_runs() -> None:
    """Its checker accepts it for the listed atoms; the verdict does not use it for others."""
    question = worked(metadata=covering(), search=depths(1, 61, bits=(0, 40)))
    claims = [*floor_claims(Subject(question, {})), *invariants(question)]
    assert len(claims) == 2
    held, bounds = decided(question, claims)
    assert any(isinstance(entry, ScopedRegisters) for entry in bounds)
    assert held["verdict"] == "unresolved"
    assert any(UNCOVERED in reason for reason in held["reasons"])
    for bits in (0, 40):
        chosen = Search(Subject(question, {}), bounds).environment(bits, EVERYTHING).chosen
        assert all(own.arithmetic and not own.arithmetic.pieces for own in chosen)


@pytest.mark.parametrize(
    "change",
    [
        {"domain": q.FullDomain("full", None, premise(0))},
        {"execution": dataclasses.replace(FEEDBACK, overflow=registers(2, 2, 3, 2))},
        {"execution": dataclasses.replace(FEEDBACK, carry=grid("1/2", 1))},
        {"execution": dataclasses.replace(FEEDBACK, grid=grid("1", 1, "directed"))},
        {"norm": q.L1Norm("l1")},
    ],
)
def test_what_was_checked_for_another_question_is_not_used(change: dict[str, Any]) -> None:
    """Should a caller mix up two questions: the entry names the one that it is about."""
    entries = registers_of(worked())
    assert radius(worked(), list(entries), 8) == [Fraction(1, 16)]
    other = dataclasses.replace(worked(), **change)
    assert radius(other, list(entries), 8) == [None]


def test_a_router_keeps_the_study_open() -> None:
    routing = q.StateDependentRouting("state_dependent", (), None, None, None, None)
    question = worked(routing=routing)
    held, _ = decided(question, [*floor_claims(Subject(question, {})), *invariants(question)])
    assert held["verdict"] == "unresolved"
    assert any("routing" in reason for reason in held["reasons"])

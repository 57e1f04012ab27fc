"""What would decide an open question: every answer is decided again, and less does not do."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from declared_questions import (
    bounded_variation,
    checked,
    declared,
    depths,
    floor,
    floor_claims,
    lifted,
    premise,
    quantized,
    tolerance,
)

from qreplace.check.bounds import Checked
from qreplace.decision.verdict import resolve
from qreplace.decision.what_if import HALVINGS, Change, what_if
from qreplace.premises import Premise
from qreplace.question import model as q
from qreplace.question.subject import Subject

F = Fraction
FINE = F(1, 1 << (HALVINGS - 1))


def changes(question: q.Question, bounds: list[Checked] | None = None) -> dict[str, Change]:
    found = what_if(Subject(question, {}), bounds or [])
    return {f"{change.name} {change.direction}": change for change in found}


def with_premise(question: q.Question, block: str, name: str, value: Fraction) -> q.Question:
    own = getattr(question, block)
    old = getattr(own, name)
    assert isinstance(old, Premise)
    new = dataclasses.replace(old, lower=value, upper=value)
    return dataclasses.replace(question, **{block: dataclasses.replace(own, **{name: new})})


QUIET = bounded_variation(
    field_bound="1/4",
    state_lipschitz="1/4",
    difference_bound="1/20",
    difference_lipschitz="1/20",
    difference_variation="0",
)
OPEN: dict[str, Any] = {
    "floor": floor("1/50", "1/4"),
    "synthesis": QUIET,
    "search": depths(32, 64),
}
"""A tolerance of 1/10 between the floor's ends."""


def resolved(question: q.Question) -> bool:
    return resolve(Subject(question, {}), [])[0].resolved


@pytest.mark.parametrize(("block", "name", "direction", "to"), [
    ("floor", "upper", "at_most", "feasible"),
    ("floor", "lower", "at_least", "impossible"),
])  # fmt: skip
def test_an_end_of_the_floor_decides_from_where_it_says(
    block: str, name: str, direction: str, to: str
) -> None:
    question = declared(**OPEN)
    change = changes(question)[f"{block}.{name} {direction}"]
    assert change.resolved_to == to
    assert resolved(with_premise(question, block, name, change.needed))
    less = change.needed + (change.now - change.needed) * 2 * FINE
    assert not resolved(with_premise(question, block, name, less))


def test_a_deeper_search_is_an_answer() -> None:
    question = declared(floor=floor(0, "1/20"), search=depths(1, 8))
    found = changes(question)["search.depths at_least"]
    assert found.depth == found.needed > 8
    deeper = dataclasses.replace(question, search=depths(int(found.needed), int(found.needed)))
    assert resolved(deeper)
    shallower = int(found.needed * (1 - 2 * FINE))
    assert not resolved(dataclasses.replace(question, search=depths(shallower, shallower)))


def test_a_finer_grid_is_an_answer_and_a_smaller_constant_another() -> None:
    coarse = quantized("increment", step="1/8")
    question = declared(floor=floor(0, "1/50"), execution=coarse, synthesis=QUIET)
    found = changes(question)
    grid = found["execution.grid.step at_most"]
    assert grid.now == F(1, 8) and 0 < grid.needed < grid.now
    assert grid.resolved_to == "feasible"
    assert "objective.tolerance at_least" in found
    assert all(change.needed != change.now for change in found.values())


def test_computed_ends_stay_and_only_the_rest_changes() -> None:
    """Claims are about the problem; another tolerance does not touch it."""
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], execution=quantized("increment", "1/4"))
    subject = Subject(question, {})
    _, bounds = checked(subject, floor_claims(subject))
    assert not resolve(subject, bounds)[0].resolved
    found = {change.name: change for change in what_if(subject, bounds)}
    assert found["execution.grid.step"].resolved_to == "feasible"


def test_a_router_that_feeds_itself_needs_a_steeper_gap_or_a_duller_one() -> None:
    event = q.RouteEvent(
        time=premise("1/2"), slope=premise(2), jump=premise("1/10"), gap_error=premise(0),
        gap_lipschitz=premise(20), isolation=premise(1), neighbourhood=premise("1/4"),
    )  # fmt: skip
    routing = q.StateDependentRouting(
        "state_dependent", (event,), premise(0), premise("1/4"), premise(1), premise("1/50")
    )
    question = declared(routing=routing, objective=tolerance("1/5"), synthesis=bounded_variation())
    found = changes(question)
    assert found["routing.events.0.slope at_least"].resolved_to == "feasible"
    assert found["routing.events.0.gap_lipschitz at_most"].resolved_to == "feasible"
    assert found["routing.events.0.jump at_most"].resolved_to == "feasible"
    assert not any("time" in name for name in found)


def test_nothing_is_said_of_a_decided_question_or_of_one_that_no_number_decides() -> None:
    assert what_if(Subject(declared(search=depths(64, 128)), {}), []) == ()
    blind = declared(routing=None)
    assert not resolved(blind)
    assert what_if(Subject(blind, {}), []) == ()

"""A router in the decision: what replaces, what adds, what blocks (theory T6)."""

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
    verdict_of,
)

from qreplace.decision.evaluate import value_at
from qreplace.decision.levels import EVERYTHING
from qreplace.decision.routes import Route
from qreplace.decision.search import Search
from qreplace.decision.verdict import decide
from qreplace.question import model as q
from qreplace.question.subject import Subject
from qreplace.radii.depth_function import exp_upper
from qreplace.radii.small_gain import EventNumbers, small_gain

F = Fraction
EVENT: dict[str, Any] = {
    "time": premise("2/5", "1/2"),
    "slope": premise(2),
    "jump": premise("1/10"),
    "gap_error": premise("1/1000"),
    "gap_lipschitz": premise("1/2"),
    "isolation": premise("1/5"),
    "neighbourhood": premise("1/10"),
}


def events(**changes: Any) -> tuple[q.RouteEvent, ...]:
    return (q.RouteEvent(**{**EVENT, **changes}),)


def driven(oracle: Any = None, changes: Any = None, **more: Any) -> q.StateDependentRouting:
    """One transversal event; without ``oracle`` its error is formed from the path's upper end."""
    values: dict[str, Any] = {
        "score_error": premise("1/2000"),
        "score_lipschitz": premise("1/4"),
        "outer_isolation": premise("1/5"),
        "oracle_error": None if oracle is None else premise(oracle),
        **more,
    }
    return q.StateDependentRouting("state_dependent", events(**(changes or {})), **values)


QUIET = bounded_variation(
    field_bound="1/4",
    state_lipschitz="1/4",
    difference_bound="1/20",
    difference_lipschitz="1/20",
    difference_variation="0",
)


def study(**blocks: Any) -> q.Question:
    made: dict[str, Any] = {
        "scope": "path",
        "objective": tolerance("1/5"),
        "synthesis": QUIET,
        "floor": floor(0, "1/100"),
        "search": depths(8, 256, 8),
        **blocks,
    }
    return declared(**made)


def upper_routes(question: q.Question) -> list[Route]:
    search = Search(Subject(question, {}), [])
    return [route for route in search.routes(0, EVERYTHING) if route.side == "upper"]


def reasons(question: q.Question) -> str:
    return " ".join(verdict_of(question)["reasons"])


@pytest.mark.parametrize("depth", [8, 64, 256])
def test_the_radius_is_the_theorem_at_every_depth(depth: int) -> None:
    question = study(scope="endpoint", routing=driven("1/50"))
    growth = exp_upper(F(1, 4))
    event = EventNumbers(F(2, 5), F(1, 2), F(2), F(1, 10), F(1, 1000), F(1, 2), F(1, 5), F(1, 10))
    expected = small_gain(
        [event],
        growth=growth,
        step=F(1, depth),
        oracle_error=F(1, 50),
        score_error=F(1, 2000),
        score_lipschitz=F(1, 4),
        outer_isolation=F(1, 5),
        horizon=F(1),
    )
    values = {value_at(route, depth) for route in upper_routes(question)} - {None}
    assert len(values) == 1 and expected.bound is not None
    (value,) = values
    assert value is not None and expected.holds
    assert 0 <= value - expected.bound < F(1, 1 << 100)


def test_it_replaces_the_other_radii_and_does_not_add_to_them() -> None:
    """The oracle error holds them: E_bar of their sum, not their sum and E_bar.

    The oracle's own fields jump at the event, as at a prescribed one.
    """
    jump = q.PrescribedEvent(premise("1/2"), premise("1/10"))
    smooth = study(routing=q.PrescribedRouting("prescribed", (jump,)))
    routed = study(routing=driven())
    (plain,) = {value_at(route, 64) for route in upper_routes(smooth)} - {None}
    (found,) = {value_at(route, 64) for route in upper_routes(routed)} - {None}
    assert plain is not None and found is not None
    growth, event = exp_upper(F(1, 4)), events()[0]
    chi = 2 * growth * F(1, 10) * F(1, 2) / 2
    forced = growth * F(1, 10) * (2 * F(1, 1000) / 2 + F(1, 64))
    between = F(1, 4) / 64  # a path between the grid times
    assert event.jump.upper == F(1, 10)
    assert abs(found - ((plain + forced) / (1 - chi) + between)) < F(1, 1 << 100)


def test_one_transversal_event_is_feasible_and_its_twin_is_open() -> None:
    good = verdict_of(study(routing=driven()))
    assert good["verdict"] == "conditionally_feasible"
    assert "routing.events.0.slope" in good["declared"]
    twin = verdict_of(study(routing=driven(changes={"gap_lipschitz": premise(20)})))
    assert twin["verdict"] == "unresolved"
    assert "the loop gain chi is" in " ".join(twin["reasons"])


@pytest.mark.parametrize(("changes", "words"), [
    ({"time": premise(0, "1/2")}, "not strictly inside the horizon"),
    ({"slope": premise(0)}, "grazes"),
    ({"neighbourhood": premise("1/1000")}, "the window of event 0 leaves its neighbourhood"),
    ({"isolation": premise("1/1000")}, "a third expert is within reach of the scores at event 0"),
])  # fmt: skip
def test_a_premise_that_fails_is_named(changes: Any, words: str) -> None:
    question = study(routing=driven(changes=changes))
    assert verdict_of(question)["verdict"] == "unresolved"
    assert words in reasons(question)


def test_premises_about_all_scores_are_named() -> None:
    assert "away from the events" in reasons(
        study(routing=driven(outer_isolation=premise("1/999")))
    )
    for name in ("score_error", "score_lipschitz", "outer_isolation"):
        question = study(routing=driven(**{name: None}))
        assert f"routing.{name}" in reasons(question)


def test_two_events_at_once_are_reported() -> None:
    block = dataclasses.replace(driven(), events=events() * 2)
    assert "may be simultaneous" in reasons(study(routing=block))


def test_the_tube_has_to_hold_the_routed_path() -> None:
    roomy = q.DeclaredTube("declared", premise(1))
    narrow = q.DeclaredTube("declared", premise("1/90"))
    good = study(tube=roomy, routing=driven())
    assert verdict_of(good)["verdict"] == "conditionally_feasible"
    assert "leave the tube" in reasons(study(tube=narrow, routing=driven()))


def test_an_end_about_the_endpoint_does_not_serve_a_router() -> None:
    question = study(scope="endpoint", routing=driven())
    assert verdict_of(question)["verdict"] == "unresolved"
    assert "the router sees the whole path" in reasons(question)
    declared_oracle = study(scope="endpoint", routing=driven("1/50"))
    assert verdict_of(declared_oracle)["verdict"] == "conditionally_feasible"
    assert "routing.oracle_error" in verdict_of(declared_oracle)["declared"]


def test_nothing_is_impossible_because_of_a_floor_without_a_router() -> None:
    """No converse: the same floor proves impossibility without the router."""
    plain = study(floor=floor("1/2", 1))
    assert verdict_of(plain)["verdict"] == "conditionally_impossible"
    for routing in (driven(), q.FrozenRouting("frozen", premise(9), premise(0), premise(0))):
        assert verdict_of(study(floor=floor("1/2", 1), routing=routing))["verdict"] == "unresolved"


FAR = {"margin": premise(1), "score_error": premise("1/100"), "score_lipschitz": premise("1/4")}


def test_a_margin_on_the_whole_path_adds_nothing() -> None:
    plain, frozen = study(), study(routing=q.FrozenRouting("frozen", **FAR))
    values = [{value_at(r, 64) for r in upper_routes(own)} - {None} for own in (plain, frozen)]
    assert values[0] == values[1] and len(values[0]) == 1
    assert verdict_of(frozen)["verdict"] == "conditionally_feasible"


@pytest.mark.parametrize("change", [
    {"margin": premise("1/50")},
    {"score_error": premise("1/2")},
    {"score_lipschitz": premise(1000)},
])  # fmt: skip
def test_a_margin_within_reach_is_none(change: Any) -> None:
    question = study(routing=q.FrozenRouting("frozen", **{**FAR, **change}))
    assert verdict_of(question)["verdict"] == "unresolved"
    assert "the score margin is within reach" in reasons(question)


def test_prescribed_jumps_enter_the_variation_on_both_sides() -> None:
    """As if V grew by J jumps and V_Delta by two (theory T3.3), so both sides widen."""
    jumps = q.PrescribedRouting("prescribed", (q.PrescribedEvent(premise("1/2"), premise("1/10")),))
    routed = study(scope="endpoint", routing=jumps)
    # The same, declared by hand: V = 2 / 10, V_Delta = 2 / 10.
    by_hand = study(
        scope="endpoint",
        synthesis=bounded_variation(
            field_bound="1/4",
            state_lipschitz="1/4",
            time_variation="1/5",
            difference_bound="1/20",
            difference_lipschitz="1/20",
            difference_variation="1/5",
        ),
    )
    sides: dict[str, list[set[Any]]] = {"upper": [], "lower": []}
    for question in (routed, by_hand):
        search = Search(Subject(question, {}), [])
        for side, found in sides.items():
            own = [r for r in search.routes(0, EVERYTHING) if r.side == side and r.radii]
            found.append({value_at(r, 64) for r in own} - {None})
    for one, other in sides.values():
        assert len(one) == len(other) == 1
        assert abs(one.pop() - other.pop()) < F(1, 1 << 100)
    constant = study(synthesis=q.ConstantSynthesis(
        "constant", premise(1), premise(1), premise(1), None), routing=jumps)  # fmt: skip
    assert "bounded_variation" in reasons(constant)
    driven_too = dataclasses.replace(constant, routing=driven())
    assert "bounded_variation" in reasons(driven_too)


def test_claims_about_listed_atoms_say_nothing_where_a_route_changes_them() -> None:
    """The atoms of the other experts are not in the question: neither yes nor no follows."""
    jumps = q.PrescribedRouting("prescribed", (q.PrescribedEvent(premise("1/2"), premise(0)),))
    for routing in (jumps, driven("1/1000")):
        for target in (["1/2", "1/2"], [3, 3]):
            question = lifted(target, [[1, 0], [0, 1]], routing=routing)
            subject = Subject(question, {})
            held, bounds = checked(subject, floor_claims(subject))
            plain = lifted(target, [[1, 0], [0, 1]])
            assert decide(subject, held, bounds)["verdict"] == "unresolved"
            own = Subject(plain, {})
            held, bounds = checked(own, floor_claims(own))
            assert decide(own, held, bounds)["verdict"] != "unresolved"


def test_witnesses_say_nothing_between_inputs_of_a_routed_map() -> None:
    full = lifted(
        ["1/2"], [[1], [0]], domain=q.FullDomain("full", premise(0), None), routing=driven()
    )
    found = verdict_of(full)
    assert found["verdict"] == "unresolved"


def test_executed_arithmetic_is_inside_the_oracle_error() -> None:
    coarse = study(routing=driven(), execution=quantized("increment", step="1/4096"))
    exact = study(routing=driven())
    values = [{value_at(r, 64) for r in upper_routes(own)} - {None} for own in (exact, coarse)]
    assert min(values[1]) > min(values[0])

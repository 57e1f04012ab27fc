"""Radii from checked constants hold for the systems that those are about (theory T3, T4)."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import corpora.operator_norm as norms
import pytest
from corpora.field_constants import JUMP, SWITCH, TURN, subject
from declared_questions import bounded_variation, covering, depths, growth, premise, quantized
from dynamic_questions import affine_question, polynomial_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L2, LINF
from random_dynamics import World, length, minus, random_question, random_weights, world

from qreplace.check import field_constants, operator_norm
from qreplace.check.bounds import ScopedConstants
from qreplace.decision.controls import chairman, greedy
from qreplace.decision.evaluate import radius_at, reasons_at
from qreplace.decision.levels import CERTIFIED, EVERYTHING, Level
from qreplace.decision.routes import PROBE_END, ChosenRadii, Route
from qreplace.decision.search import Search
from qreplace.errors import ProducerFailed
from qreplace.premises import ABSENT, Evidence
from qreplace.produce.field_constants import produce
from qreplace.question import model as q
from qreplace.question.subject import Subject
from qreplace.radii.radius import Radius

INTEGRATOR = 1e-6


def chosen_of(
    question: q.Question, checked: Sequence[ScopedConstants], level: Level = CERTIFIED
) -> tuple[ChosenRadii, ...]:
    """The radii of a question with checked constants; an upper end stands by, to need them."""
    search = Search(Subject(question, {}), checked)
    found = search.environment(0, level).chosen
    if found:
        return found
    # At the certified level radii are formed for checked ends only.
    declared = dataclasses.replace(level, certified=False, weakest=Evidence.ANALYTIC_CERTIFIED)
    return search.environment(0, declared).chosen


def constants_of(question: q.Question, **options: Any) -> tuple[ScopedConstants, ...]:
    """What a produced claim shows."""
    about = Subject(question, {})
    return field_constants.check(about, produce(about, **options))


def reasons(radius: Radius | None, depth: int) -> list[str]:
    assert radius is not None
    return reasons_at(Route("upper", PROBE_END, (radius,)), depth)


# --- finite depth ---------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_no_true_difference_crosses_a_computed_radius(seed: int) -> None:
    """Relaxed to pure, and pure to its own relaxed control, with nothing declared."""
    rng = random.Random(seed)
    question = random_question(rng)
    try:
        checked = constants_of(question, room=rng.choice([Fraction(0), Fraction(1, 4)]))
    except ProducerFailed:
        return
    found = chosen_of(question, checked)
    system, norm = world(Subject(question, {})), question.norm
    count = len(system.fields)
    for depth in (rng.randint(1, 6), rng.randint(7, 40)):
        shares = [random_weights(rng, count) for _ in range(depth)]
        if rng.random() < 0.5:
            shares = [shares[0]] * depth
        schedule = (chairman if count <= 3 else greedy)(shares)
        relaxed = system.relaxed([[float(w) for w in row] for row in shares])
        units = [[float(j == pick) for j in range(count)] for pick in schedule]
        pure = system.euler(units)[-1]
        forward = length(norm, minus(relaxed, pure)) - INTEGRATOR
        backward = length(norm, minus(system.relaxed(units), pure)) - INTEGRATOR
        for chosen in found:
            for true, radius in (
                (forward, chosen.synthesis.relaxed_to_pure),
                (backward, chosen.synthesis.pure_to_relaxed),
            ):
                assert radius.declared == () and radius.evidence.certified
                value = radius_at(radius, depth)
                assert value is None or true <= float(value)


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1))
def test_the_best_schedule_lies_between_the_floor_and_its_radii(seed: int) -> None:
    """E_D by enumeration against ``up + R_feas`` and against the best schedule's own control."""
    rng = random.Random(seed)
    question = random_question(rng)
    try:
        checked = constants_of(question)
    except ProducerFailed:
        return
    found = chosen_of(question, checked)
    about = Subject(question, {})
    system, norm, target = world(about), question.norm, _target(about)
    count, depth = len(system.fields), rng.randint(2, 4)
    best, units = min(
        (length(norm, minus(system.euler(rows)[-1], target)), rows)
        for rows in map(_units(count), itertools.product(range(count), repeat=depth))
    )
    constant = [float(w) for w in random_weights(rng, count)]
    upper = length(norm, minus(system.relaxed([constant]), target))
    lower = length(norm, minus(system.relaxed(units), target))
    for chosen in found:
        forward = radius_at(chosen.synthesis.relaxed_to_pure, depth)
        backward = radius_at(chosen.synthesis.pure_to_relaxed, depth)
        assert forward is None or best <= upper + float(forward) + INTEGRATOR
        # E_inf is at most the error of the schedule's own control.
        assert backward is None or lower - float(backward) <= best + INTEGRATOR


def _units(count: int) -> Any:
    return lambda picks: [[float(j == pick) for j in range(count)] for pick in picks]


def _target(about: Subject) -> list[float]:
    if isinstance(about.question.system, q.PolynomialSystem):
        return [float(y) for y in about.polynomial(0).target]
    affine = about.affine(0)
    return [y / affine.denominator for y in affine.target]


def test_the_computed_radii_are_not_vacuous() -> None:
    """A true difference comes within a tenth of its radius; most systems get a radius at all."""
    ratios: list[float] = []
    missing = 0
    for seed in range(10):
        rng = random.Random(seed)
        question = random_question(rng)
        system, norm = world(Subject(question, {})), question.norm
        count, depth = len(system.fields), 20
        pure = system.euler(_units(count)([0] * depth))[-1]
        true = length(norm, minus(system.relaxed(_units(count)([0])), pure))
        found = chosen_of(question, constants_of(question))
        values = [radius_at(c.synthesis.pure_to_relaxed, depth) for c in found]
        known = [float(value) for value in values if value is not None]
        missing += not known
        ratios.extend(true / value for value in known if value)
    assert missing <= 2 and 0.1 < max(ratios) <= 1


# --- execution ------------------------------------------------------------------------------------


def executed(
    system: World, schedule: Sequence[int], semantics: str, step: float
) -> tuple[list[list[float]], list[list[float]]]:
    """Executed and ideal states, nearest rounding, the initial state rounded by write-back."""
    h = system.horizon / len(schedule)

    def nearest(values: Sequence[float]) -> list[float]:
        return [round(x / step) * step for x in values]

    ideal = system.euler(_units(len(system.fields))(schedule))
    state = nearest(system.start) if semantics == "write_back" else list(system.start)
    carry, states = [0.0] * len(state), [state]
    for k, pick in enumerate(schedule):
        field = system.fields[pick](k * h, state)
        if semantics == "write_back":
            state = nearest([x + h * v for x, v in zip(state, field, strict=True)])
        else:
            wanted = [h * v + r for v, r in zip(field, carry, strict=True)]
            written = nearest(wanted)
            state = [x + w for x, w in zip(state, written, strict=True)]
            if semantics == "error_feedback":
                carry = minus(wanted, written)
        states.append(state)
    return states, ideal


@pytest.mark.parametrize("semantics", ["write_back", "increment", "error_feedback"])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_executed_state_leaves_the_computed_arithmetic_radius(semantics: Any, seed: int) -> None:
    rng = random.Random(f"{semantics}{seed}")
    exponent = rng.randint(6, 12)
    question = random_question(rng, execution=quantized(semantics, Fraction(1, 2**exponent)))
    try:
        checked = constants_of(question, room=Fraction(1, 2))
    except ProducerFailed:
        return
    found = chosen_of(question, checked)
    system = world(Subject(question, {}))
    for depth in (rng.randint(1, 8), rng.randint(9, 24)):
        schedule = [rng.randrange(len(system.fields)) for _ in range(depth)]
        states, ideal = executed(system, schedule, semantics, 2.0**-exponent)
        true = max(length(question.norm, minus(a, b)) for a, b in zip(states, ideal, strict=True))
        for chosen in found:
            assert chosen.arithmetic is not None and chosen.arithmetic.declared == ()
            value = radius_at(chosen.arithmetic, depth)
            assert value is None or true <= float(value) + 1e-9


# --- what the radii demand ------------------------------------------------------------------------

CUBIC = polynomial_question([["1/2 - z1^3"], ["-1/2 - z1^3"]], [1], norm=LINF)
"""Slopes depend on the state: constants hold on a tube only."""


def test_executed_states_stay_within_the_margin_or_nothing_is_said() -> None:
    coarse, fine = (
        dataclasses.replace(CUBIC, execution=quantized("write_back", step))
        for step in (Fraction(1, 4), Fraction(1, 4096))
    )
    checked = constants_of(CUBIC, room=Fraction(1, 8))
    left = "arithmetic: executed states may leave the tube of the checked constants: the radius"
    for chosen in chosen_of(coarse, checked):
        assert chosen.arithmetic is not None
        assert radius_at(chosen.arithmetic, 16) is None
        assert any(text.startswith(left) for text in reasons(chosen.arithmetic, 16))
    for chosen in chosen_of(fine, checked):
        assert chosen.arithmetic is not None
        value, margin = radius_at(chosen.arithmetic, 16), checked[0].margin
        assert value is not None and margin is not None and value <= margin


def test_an_enlargement_needs_room_for_a_growth_rate_but_not_for_the_lipschitz_constant() -> None:
    """h W of T3.3: small steps fit into the margin of the tube, large ones do not."""
    checked = constants_of(CUBIC, room=Fraction(1, 64))
    plain, growing = chosen_of(CUBIC, checked)
    assert not plain.choice.needs_room and growing.choice.needs_room
    assert radius_at(plain.synthesis.relaxed_to_pure, 4) is not None
    assert radius_at(growing.synthesis.relaxed_to_pure, 4) is None
    words = "synthesis: the tube's margin is smaller than the enlargement h W of T3.3"
    assert words in reasons(growing.synthesis.relaxed_to_pure, 4)
    assert radius_at(growing.synthesis.relaxed_to_pure, 4096) is not None
    # Q_D alone steps nowhere outside.
    assert radius_at(growing.synthesis.pure_to_relaxed, 4) is not None


def test_walls_hold_from_a_depth_on() -> None:
    question = polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF, horizon=8)
    for chosen in chosen_of(question, constants_of(question)):
        for radius in (chosen.synthesis.relaxed_to_pure, chosen.synthesis.paper):
            assert radius is not None
            assert radius_at(radius, 7) is None and radius_at(radius, 8) is not None
            assert "from depth 8 on" in reasons(radius, 7)[0]


def test_slopes_that_hold_everywhere_need_no_margin() -> None:
    """x' = u - x executed on a grid as coarse as the tube: m = -1 holds wherever states go."""
    question = dataclasses.replace(
        polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF),
        execution=quantized("write_back", Fraction(1)),
    )
    checked = field_constants.check(subject("fields-switch"), SWITCH)
    values = [
        radius_at(chosen.arithmetic, 2)
        for chosen in chosen_of(question, checked)
        if chosen.arithmetic is not None
    ]
    # Half a cell a step: (1/2) (1 + 1/2) with m = -1, (1/2) (1 + 3/2) with m = L.
    assert sorted(v for v in values if v is not None)[0] == Fraction(3, 4)
    assert len(values) == 2


def test_a_register_of_increments_is_bounded_on_the_tube_only() -> None:
    """B is used at executed states, so the margin holds even where slopes need none."""
    execution = quantized("increment", Fraction(1), limit=8)
    question = dataclasses.replace(
        polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF), execution=execution
    )
    checked = field_constants.check(subject("fields-switch"), SWITCH)
    for chosen in chosen_of(question, checked):
        assert chosen.arithmetic is not None and radius_at(chosen.arithmetic, 2) is None
    finer = dataclasses.replace(execution, grid=quantized("increment", "1/64", limit=8).grid)
    question = dataclasses.replace(question, execution=finer)
    found = [c.arithmetic for c in chosen_of(question, checked)]
    assert any(r is not None and radius_at(r, 2) is not None for r in found)


def test_an_initial_state_off_the_grid_is_known_to_be() -> None:
    question = affine_question(
        [[0], [1]], [1], ["1/3"], norm=LINF, execution=quantized("write_back", "1/4")
    )
    found = chosen_of(question, constants_of(question))
    # With A = 0 every step adds half a cell, 1/8, and the start another.
    values = [radius_at(c.arithmetic, 1) for c in found if c.arithmetic is not None]
    assert values == [Fraction(1, 4)] * len(values) and values


def test_an_operator_norm_alone_gives_execution_and_no_synthesis() -> None:
    base = norms.QUESTIONS["matrix-l2"]
    question = dataclasses.replace(base, execution=quantized("write_back", "1/64"))
    checked = operator_norm.check(norms.subject("matrix-l2"), norms.SYSTEM)
    (chosen,) = chosen_of(question, checked)
    assert chosen.arithmetic is not None and radius_at(chosen.arithmetic, 1) is not None
    assert chosen.arithmetic.declared == ()
    gap = chosen.synthesis.relaxed_to_pure.gaps[0].reason
    assert gap.startswith("missing premise: field_bound")


def test_the_smaller_constant_of_two_claims_is_used_where_it_holds_everywhere() -> None:
    """A tube claim with L = 3 beside an operator norm of 1."""
    about = subject("fields-turn")
    loose = dataclasses.replace(TURN, state_lipschitz=Fraction(3), field_bound=Fraction(99))
    wide = dataclasses.replace(
        loose,
        reach_lower=(Fraction(-20), Fraction(-20)),
        reach_upper=(Fraction(20), Fraction(20)),
        tube=dataclasses.replace(TURN.tube, lower=(Fraction(-21),) * 2, upper=(Fraction(21),) * 2),
    )
    own = field_constants.check(about, wide)
    claim = norms.bound("matrix-l2", 1)
    claim = dataclasses.replace(claim, subject=about.problem_digest(0))
    other = operator_norm.check(about, claim)
    rates = [
        {c.choice.rate.value for c in chosen_of(about.question, found) if c.choice.rate}
        for found in (own, (*own, *other))
    ]
    assert max(rates[0]) == 3 and max(rates[1]) == 1


def test_constants_of_another_question_are_ignored() -> None:
    checked = field_constants.check(subject("fields-jump"), JUMP)
    question = affine_question([[0, 0], [0, 1]], [1, 1], norm=L2, rate=-1)
    for chosen in chosen_of(question, checked):
        assert chosen.synthesis.relaxed_to_pure.evidence is Evidence.UNAVAILABLE


def test_constants_of_a_dictionary_say_nothing_of_its_covering_codes() -> None:
    """T5.1: a code runs another dictionary."""
    question = dataclasses.replace(
        polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF),
        metadata=covering(),
        search=depths(1, 8, bits=(0, 4)),
    )
    checked = field_constants.check(subject("fields-switch"), SWITCH)
    for chosen in chosen_of(question, checked, EVERYTHING):
        assert not chosen.synthesis.relaxed_to_pure.pieces


def test_declared_constants_serve_beside_a_claim_and_without_one() -> None:
    declared = bounded_variation(
        field_bound=1,
        state_lipschitz=1,
        time_variation=ABSENT,
        growth=growth(-1),
        difference_bound=premise(1),
    )
    question = dataclasses.replace(
        CUBIC, synthesis=declared, tube=q.DeclaredTube("declared", premise(1))
    )
    alone = chosen_of(question, (), EVERYTHING)
    assert [c.synthesis.relaxed_to_pure.declared != () for c in alone] == [True, True]
    both = chosen_of(question, constants_of(CUBIC), EVERYTHING)
    kinds = [bool(c.synthesis.relaxed_to_pure.declared) for c in both]
    assert kinds == [False, False, True, True]
    certified = chosen_of(question, constants_of(CUBIC), CERTIFIED)
    assert not any(c.synthesis.relaxed_to_pure.declared for c in certified)


def test_without_any_constants_the_reason_says_what_is_missing() -> None:
    question = dataclasses.replace(CUBIC, synthesis=q.ComputedSynthesis("computed"))
    (chosen,) = chosen_of(question, (), EVERYTHING)
    assert reasons(chosen.synthesis.relaxed_to_pure, 1) == [
        "synthesis: no checked claim gives the field's constants"
    ]

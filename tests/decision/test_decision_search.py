"""The cheapest feasible candidate over depth and metadata, against every candidate tried."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import mpmath
import pytest
from declared_questions import (
    bounded_variation,
    covering,
    declared,
    depths,
    floor,
    growth,
    premise,
    quantized,
    tolerance,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.decision import grid as grids
from qreplace.decision.costs import Prices, log2_upper
from qreplace.decision.levels import EVERYTHING
from qreplace.decision.search import Candidate, Search
from qreplace.premises import ABSENT
from qreplace.question import model as q
from qreplace.question.subject import Subject

weights = st.builds(Fraction, st.integers(0, 12), st.sampled_from([1, 1, 3]))


@st.composite
def questions(draw: st.DrawFn) -> q.Question:
    """A covering with several budgets; exact, written back (interior optimum) or with feedback."""
    ranges, start = [], 0
    for _ in range(draw(st.integers(1, 3))):
        first = start + draw(st.integers(1, 12))
        last = first + draw(st.integers(0, 60))
        ranges.append(q.DepthRange(first, last, draw(st.integers(1, 5))))
        start = last
    budgets = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=12)))
    step = draw(st.sampled_from(["1/1000", "1/4000", "1/20000"]))
    execution = draw(
        st.sampled_from(
            [q.ExactExecution("exact"), quantized(step=step), quantized("error_feedback", step)]
        )
    )
    rate = draw(st.sampled_from([None, "-1/2", "0", "-9"]))
    return declared(
        objective=tolerance(draw(st.builds(Fraction, st.integers(1, 60), st.just(60)))),
        floor=floor(0, draw(st.sampled_from([0, "1/50", "1/5"]))),
        synthesis=bounded_variation(
            field_bound=draw(st.sampled_from(["1/4", 1])),
            state_lipschitz=draw(st.sampled_from([0, "1/2"])),
            growth=None if rate is None else growth(rate, draw(st.sampled_from(["1/4", 1]))),
            difference_bound=draw(st.sampled_from([None, "1/10"])),
        ),
        metadata=covering(draw(st.sampled_from(["1/2", 2])), 1, draw(st.integers(1, 6))),
        execution=execution,
        search=q.Search(tuple(ranges), tuple(budgets)),
        costs=q.Costs(draw(weights), draw(weights), draw(weights), draw(weights)),
    )


def every_candidate(search: Search) -> list[Candidate]:
    """All feasible candidates, each tried by itself."""
    return [
        Candidate(depth, bits, search.cost(depth, bits))
        for bits in search.bits
        for depth in grids.every_depth(search.grid)
        if search.feasible_at(depth, bits, EVERYTHING)
    ]


@settings(derandomize=True, max_examples=150)
@given(questions())
def test_the_cheapest_candidate_is_the_cheapest_of_all(question: q.Question) -> None:
    search = Search(Subject(question, {}), [])
    found = search.cheapest_feasible(EVERYTHING)
    every = every_candidate(search)
    if not every:
        assert found is None
        return
    best = min(every, key=lambda candidate: (candidate.cost, candidate.depth))
    assert found is not None
    assert (found.cost, found.depth) == (best.cost, best.depth)
    assert search.feasible_at(found.depth, found.bits, EVERYTHING)


@settings(derandomize=True, max_examples=60)
@given(questions())
def test_the_best_budget_at_a_depth_is_the_smallest_feasible_one(question: q.Question) -> None:
    search = Search(Subject(question, {}), [])
    for depth in list(grids.every_depth(search.grid))[::5]:
        feasible = [b for b in search.bits if search.feasible_at(depth, b, EVERYTHING)]
        assert search.best_bits_at(depth, EVERYTHING) == (feasible[0] if feasible else None)
        # More bits never hurt (the ground of the bisection).
        assert tuple(feasible) == search.bits[len(search.bits) - len(feasible) :]


def test_metadata_is_traded_for_depth_when_bits_are_dear() -> None:
    """The staircase stops at neither end: the optimum lies inside both ranges."""
    question = declared(
        floor=floor(0, 0),
        synthesis=bounded_variation(field_bound="1/4", state_lipschitz="1/4"),
        metadata=covering(constant=1, sensitivity=1, dimension=4),
        search=depths(1, 400, bits=range(0, 80)),
        costs=q.Costs(Fraction(0), Fraction(3), Fraction(0), Fraction(1)),
    )
    search = Search(Subject(question, {}), [])
    found = search.cheapest_feasible(EVERYTHING)
    every = every_candidate(search)
    first = min(candidate.depth for candidate in every)
    fewest = min(candidate.bits for candidate in every)
    assert found is not None and found.depth > first and found.bits > fewest
    assert found.cost == min(candidate.cost for candidate in every)


def test_a_million_candidates_need_few_evaluations() -> None:
    """Design rule 7 counts nodes: a thousand depths by a thousand budgets stay far below them."""
    question = declared(
        objective=tolerance("1/50"),
        metadata=covering(constant=2, sensitivity=1, dimension=16),
        synthesis=bounded_variation(field_bound="1/2", state_lipschitz="1/4"),
        search=depths(1, 1000, bits=range(1000)),
        costs=q.Costs(Fraction(0), Fraction(100), Fraction(0), Fraction(1)),
    )
    search = Search(Subject(question, {}), [])
    found = search.cheapest_feasible(EVERYTHING)
    assert found is not None and found.depth > 1
    assert grids.MAX_NODES - search.budget.left < 20_000


def test_an_omitted_metadata_block_is_the_same_at_every_budget() -> None:
    question = declared(metadata=None, search=depths(1, 5, bits=(0, 3, 9)))
    search = Search(Subject(question, {}), [])
    assert search.cheapest_feasible(EVERYTHING) is None
    assert search.easiest == (9,) and search.hardest == (0,)


# --- costs ----------------------------------------------------------------------------------------


@given(st.integers(1, 10**6))
@settings(derandomize=True, max_examples=200)
def test_the_schedule_bits_are_a_close_upper_bound_of_log2(count: int) -> None:
    value = log2_upper(count)
    with mpmath.workprec(200):
        true = mpmath.log(count, 2)
        upper = mpmath.mpf(value.numerator) / value.denominator
        assert true <= upper + mpmath.mpf(2) ** -190
        assert upper - true <= mpmath.mpf(2) ** -30
    if count & (count - 1) == 0:
        assert value == count.bit_length() - 1


def test_a_price_adds_codebook_metadata_schedule_and_steps() -> None:
    question = declared(
        atoms=8,
        metadata=covering(),
        search=depths(1, 9, bits=(5,)),
        costs=q.Costs(Fraction(7), Fraction(2), Fraction(1, 3), Fraction(5)),
    )
    assert Prices(question).at(6, 5) == 7 + 2 * 5 + Fraction(1, 3) * 6 * 3 + 5 * 6


# --- alternatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", ["1/1000", "100"])
def test_a_failing_condition_of_one_growth_rate_leaves_the_other(margin: str) -> None:
    """The declared rate needs room in the tube; without it m = L still decides, later."""
    question = declared(
        synthesis=bounded_variation(state_lipschitz=2, growth=growth("-1")),
        tube=q.DeclaredTube("declared", premise(margin)),
        objective=tolerance("1/2"),
        floor=floor(0, 0),
        search=depths(1, 10_000),
    )
    found = Search(Subject(question, {}), []).cheapest_feasible(EVERYTHING)
    plain = dataclasses.replace(question, synthesis=bounded_variation(state_lipschitz=2))
    without = Search(Subject(plain, {}), []).cheapest_feasible(EVERYTHING)
    assert found is not None and without is not None
    assert found.depth < without.depth if margin == "100" else found.depth == without.depth


def test_several_conditions_fail_together_without_hiding_the_plain_rate() -> None:
    question = declared(
        synthesis=bounded_variation(
            state_lipschitz="1/8", growth=growth("-1"), time_variation=ABSENT
        ),
        tube=q.DeclaredTube("declared", premise("1/100000")),
        execution=quantized("error_feedback", step="1/100"),
        objective=tolerance("1/4"),
        floor=floor(0, 0),
    )
    found = Search(Subject(question, {}), []).cheapest_feasible(EVERYTHING)
    assert found is not None

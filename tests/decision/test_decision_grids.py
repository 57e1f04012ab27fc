"""Grid searches against brute force, on routes whose radii rise, fall, have gaps or hold once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.check.bounds import DepthSet
from qreplace.decision import grid as grids
from qreplace.decision.evaluate import (
    Answer,
    Threshold,
    at_most,
    proves,
    reasons_at,
    slack,
    value_at,
)
from qreplace.decision.routes import ZERO_END, Route
from qreplace.premises import Evidence
from qreplace.question.model import DepthRange
from qreplace.radii.depth_function import DepthSum, EulerGrowth, Monomial, monomial
from qreplace.radii.radius import Gap, Guard, Piece, Radius

small = st.builds(Fraction, st.integers(0, 30), st.integers(1, 12))


@st.composite
def sums(draw: st.DrawFn) -> DepthSum:
    """C/D + c + w D + growth terms: an interior optimum when both ends are there."""
    total = DepthSum(())
    for power in draw(st.lists(st.sampled_from([-2, -1, 0, 1]), min_size=0, max_size=3)):
        scale = Fraction(1, 40) if power == 1 else Fraction(1)
        factors = [EulerGrowth(Fraction(1, 2), Fraction(1))] if draw(st.booleans()) else []
        total += monomial(draw(small) * scale, power, *factors)
    return total


@st.composite
def radii(draw: st.DrawFn) -> Radius:
    """One or two pieces, perhaps a gap between them, perhaps a guard or a ceiling."""
    first = draw(st.integers(1, 12))
    if draw(st.booleans()):
        last = draw(st.integers(first, first + 20))
        second = draw(st.integers(last + 1, last + 12))
        pieces = (Piece(first, last, draw(sums())), Piece(second, None, draw(sums())))
        gaps = (Gap(1, first - 1, "a gap"), Gap(last + 1, second - 1, "a gap"))
    else:
        pieces, gaps = (Piece(first, None, draw(sums())),), (Gap(1, first - 1, "a gap"),)
    guards = ()
    if draw(st.integers(0, 3)) == 0:
        guards = (Guard(draw(sums()), draw(small), "a guard"),)
    if draw(st.integers(0, 3)) == 0:
        limit = draw(small)
        pieces = tuple(
            replace(piece, guards=(Guard(piece.sum, limit, "a ceiling", strict=True),))
            for piece in pieces
        )
    label = Evidence.INTERVAL_CERTIFIED
    return Radius("r", "f", label, ("p",), pieces, gaps, guards)


@st.composite
def routes(draw: st.DrawFn, side: str) -> Route:
    """An end on some depths (often every depth, sometimes one) with up to two radii."""
    first = draw(st.integers(1, 20))
    spans = [DepthSet(1, None), DepthSet(first, None), DepthSet(first, first)]
    spans.append(DepthSet(first, first + draw(st.integers(0, 20))))
    end = replace(
        ZERO_END,
        quantity="ideal_error",
        side="upper" if side == "upper" else "lower",
        value=draw(small),
        depths=draw(st.sampled_from(spans)),
    )
    return Route(end.side, end, tuple(draw(st.lists(radii(), max_size=2))))


@st.composite
def depth_grids(draw: st.DrawFn) -> list[DepthRange]:
    """Ascending disjoint ranges with steps of one to seven."""
    found, start = [], 0
    for _ in range(draw(st.integers(1, 4))):
        first = start + draw(st.integers(1, 9))
        step = draw(st.integers(1, 7))
        last = first + draw(st.integers(0, 40))
        found.append(DepthRange(first, last, step))
        start = last
    return found


def exactly(total: DepthSum, depth: int) -> Fraction:
    """The value; at depths beyond exact reach to 2000 bits, which no drawn number comes near."""
    value = total.exact(depth)
    return Fraction(total.over(depth, depth, 2000)[1] or 0, 1 << 2000) if value is None else value


def by_hand(route: Route, threshold: Threshold, depth: int) -> bool:
    """The inequality at one depth in exact arithmetic, from the radii themselves."""
    if depth not in route.end.depths:
        return False
    total = Fraction(0)
    for radius in route.radii:
        pieces = [
            p for p in radius.pieces if p.first <= depth and (p.last is None or depth <= p.last)
        ]
        if not pieces:
            return False
        value = exactly(pieces[0].sum, depth)
        if any(exactly(guard.sum, depth) > guard.limit for guard in radius.guards):
            return False
        for guard in pieces[0].guards:
            own = exactly(guard.sum, depth)
            if own > guard.limit or (guard.strict and own == guard.limit):
                return False
        total += value
    if route.side == "upper":
        upper = route.end.value + total
        return upper < threshold.feasible if threshold.strict else upper <= threshold.feasible
    return threshold.impossible is not None and route.end.value - total > threshold.impossible


def condition(threshold: Threshold) -> grids.Condition:
    def answer(route: Route, first: int, last: int | None) -> Answer:
        spare = slack(route, threshold)
        if spare is None:
            return Answer.NONE
        strict = threshold.strict or route.side == "lower"
        return proves(route, spare, first, last, strict=strict)

    return answer


thresholds = st.builds(
    Threshold, small, st.one_of(st.none(), small, small), st.sampled_from([False, False, True])
)
DRAWN = settings(derandomize=True, max_examples=250)


@DRAWN
@given(st.lists(routes("upper"), max_size=4), thresholds, depth_grids())
def test_first_depth_is_the_smallest_that_meets(
    found: list[Route], threshold: Threshold, grid: list[DepthRange]
) -> None:
    meets = [
        depth
        for depth in grids.every_depth(grid)
        if any(by_hand(route, threshold, depth) for route in found)
    ]
    first = grids.first_depth(found, condition(threshold), grid, grids.Budget())
    assert first == (meets[0] if meets else None)


@DRAWN
@given(st.lists(routes("lower"), max_size=4), thresholds, depth_grids())
def test_proofs_everywhere_are_proofs_at_every_depth(
    found: list[Route], threshold: Threshold, grid: list[DepthRange]
) -> None:
    every = all(
        any(by_hand(route, threshold, depth) for route in found)
        for depth in grids.every_depth(grid)
    )
    used = grids.proofs_everywhere(found, condition(threshold), grid, grids.Budget())
    assert (used is not None) == every
    if used is not None:
        assert all(route in found for route in used)
        for depth in grids.every_depth(grid):
            assert any(by_hand(route, threshold, depth) for route in used)


@DRAWN
@given(st.lists(routes("lower"), max_size=3), thresholds)
def test_a_starting_depth_holds_from_there_on(found: list[Route], threshold: Threshold) -> None:
    answer = grids.from_depth_on(found, condition(threshold))
    if answer is not None:
        start, route = answer
        for depth in [*range(start, start + 60), start + 300]:
            assert by_hand(route, threshold, depth)
    else:
        for route in found:
            assert not all(by_hand(route, threshold, depth) for depth in range(60, 400, 20)) or (
                route.end.depths.last is not None or not vanishes(route, threshold)
            )


def vanishes(route: Route, threshold: Threshold) -> bool:
    """Whether the route's limit leaves room on the impossible side."""
    limits = [radius.pieces[-1].sum.limit(200) for radius in route.radii]
    guards = [guard for radius in route.radii for guard in radius.guards]
    guards += [guard for radius in route.radii for guard in radius.pieces[-1].guards]
    if None in limits or guards or threshold.impossible is None:
        return False
    total = sum((Fraction(limit or 0, 1 << 200) for limit in limits), Fraction(0))
    return route.end.value - total > threshold.impossible + Fraction(1, 1000)


@DRAWN
@given(routes("upper"), thresholds, st.integers(1, 60), st.integers(0, 60))
def test_answers_over_ranges_are_true(
    route: Route, threshold: Threshold, first: int, length: int
) -> None:
    answer = condition(threshold)(route, first, first + length)
    truth = [by_hand(route, threshold, depth) for depth in range(first, first + length + 1)]
    if answer is Answer.ALL:
        assert all(truth)
    if answer is Answer.NONE:
        assert not any(truth)
    if length == 0:
        assert answer is (Answer.ALL if truth[0] else Answer.NONE)
    unending = condition(threshold)(route, first, None)
    if unending is Answer.ALL:
        assert all(truth)
    if unending is Answer.NONE:
        assert not any(truth)


@DRAWN
@given(routes("upper"), thresholds, st.integers(1, 60))
def test_values_and_reasons_agree_with_the_answer(
    route: Route, threshold: Threshold, depth: int
) -> None:
    value = value_at(route, depth, threshold.feasible)
    says_something = value is not None
    if depth in route.end.depths:
        assert says_something == (not reasons_at(route, depth))
    if value is not None:
        meets = value < threshold.feasible if threshold.strict else value <= threshold.feasible
        assert meets == by_hand(route, threshold, depth)


@DRAWN
@given(routes("lower"), thresholds, st.integers(1, 60))
def test_lower_values_agree_with_the_answer(route: Route, threshold: Threshold, depth: int) -> None:
    value = value_at(route, depth, threshold.impossible)
    if value is not None and threshold.impossible is not None:
        assert (value > threshold.impossible) == by_hand(route, threshold, depth)


def test_an_interior_optimum_is_found_wherever_it_lies() -> None:
    """Write-back: 1/D + w D is smallest near D = w^(-1/2), and feasible only there."""
    total = monomial(Fraction(1), -1) + monomial(Fraction(1, 10**10), 1)
    label = Evidence.INTERVAL_CERTIFIED
    radius = Radius("r", "f", label, (), (Piece(1, None, total),))
    route = Route("upper", replace(ZERO_END, side="upper", quantity="ideal_error"), (radius,))
    budget = grids.Budget()
    grid = [DepthRange(1, 10**9, 1)]
    best = Threshold(Fraction(2, 10**5), None, False)
    assert grids.first_depth([route], condition(best), grid, budget) == 10**5
    assert grids.MAX_NODES - budget.left < 2000
    missed = Threshold(Fraction(2, 10**5) - Fraction(1, 10**14), None, False)
    assert grids.first_depth([route], condition(missed), grid, grids.Budget()) is None
    odd = [DepthRange(3, 10**9, 7)]
    near = Threshold(Fraction(2, 10**5) + Fraction(1, 10**12), None, False)
    first = grids.first_depth([route], condition(near), odd, grids.Budget())
    assert first is not None and (first - 3) % 7 == 0 and abs(first - 10**5) < 40


def test_a_spent_budget_proves_nothing() -> None:
    end = replace(ZERO_END, side="upper", quantity="ideal_error", depths=DepthSet(7, 7))
    route = Route("upper", end, ())
    threshold = Threshold(Fraction(1), None, False)
    grid = [DepthRange(1, 10**6, 1)]
    budget = grids.Budget(5)
    assert grids.first_depth([route], condition(threshold), grid, budget) is None
    assert budget.spent
    assert grids.first_depth([route], condition(threshold), grid, grids.Budget()) == 7
    lower = Threshold(Fraction(1), Fraction(0), False)
    hard = Route("lower", replace(ZERO_END, value=Fraction(1), depths=DepthSet(1, 10**6)), ())
    assert grids.proofs_everywhere([hard], condition(lower), grid, grids.Budget(0)) is None
    assert grids.proofs_everywhere([hard], condition(lower), grid, grids.Budget()) == [hard]


# --- comparisons ----------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=300)
@given(sums(), st.integers(1, 60), st.sampled_from([-1, 0, 1]), st.booleans(), st.integers(20, 300))
def test_at_most_is_exact_at_and_beside_equality(
    total: DepthSum, depth: int, side: int, strict: bool, bits: int
) -> None:
    """The budget is the value itself, or off by 2^-bits."""
    value = total.exact(depth)
    assert value is not None
    budget = value + side * Fraction(1, 1 << bits)
    answer = at_most(total, budget, depth, depth, strict=strict)
    holds = value < budget if strict else value <= budget
    assert answer is (Answer.ALL if holds else Answer.NONE)


def test_an_irrational_value_is_separated_with_more_bits_or_left_open() -> None:
    """1/sqrt(2): budgets off by 2^-300 are told apart; the closest ones never certify."""
    total = DepthSum((Monomial(Fraction(1), Fraction(-1, 2)),))
    low, high = total.over(2, 2, 1000)
    assert high is not None
    above, below = Fraction(high, 1 << 1000), Fraction(low, 1 << 1000)
    slack_ = Fraction(1, 1 << 300)
    assert at_most(total, above + slack_, 2, 2, strict=True) is Answer.ALL
    assert at_most(total, below - slack_, 2, 2, strict=False) is Answer.NONE
    tight_low, tight_high = total.over(2, 2, 10_000)
    assert tight_high is not None
    middle = Fraction(tight_low + tight_high, 1 << 10_001)
    assert at_most(total, middle, 2, 2, strict=False) is Answer.NONE


def test_a_long_exact_value_is_still_compared_rightly() -> None:
    """At D = 10^4 kappa^D is beyond exact reach: precision is raised until the ends separate."""
    growth = EulerGrowth(Fraction(1, 3), Fraction(1))
    total = monomial(Fraction(1), 0, growth)
    assert total.exact(10_000) is None
    low, high = total.over(10_000, 10_000, 600)
    assert high is not None
    assert at_most(total, Fraction(high + 1, 1 << 600), 10_000, 10_000, strict=True) is Answer.ALL
    assert at_most(total, Fraction(low - 1, 1 << 600), 10_000, 10_000, strict=False) is Answer.NONE


# --- thinning -------------------------------------------------------------------------------------


@DRAWN
@given(depth_grids(), st.lists(st.integers(1, 150), max_size=12), st.integers(2, 40))
def test_thinning_keeps_members_ends_and_what_is_wanted(
    grid: list[DepthRange], drawn: list[int], limit: int
) -> None:
    every = list(grids.every_depth(grid))
    wanted = [depth for depth in drawn if depth in every]
    kept = grids.thinned(grid, wanted, limit)
    assert kept == sorted(set(kept)) and set(kept) <= set(every)
    assert len(kept) <= limit
    if grids.count(grid) <= limit:
        assert kept == every
    else:
        assert {every[0], every[-1]} <= set(kept) or limit - min(len(set(wanted)), limit // 2) < 2
        assert set(list(dict.fromkeys(wanted))[: limit // 2]) <= set(kept)
    assert grids.count(grid) == len(every)


def test_thinning_a_huge_grid_is_spread_in_the_logarithm() -> None:
    kept = grids.thinned([DepthRange(1, 10**9, 1)], [12345], 200)
    assert 120 < len(kept) <= 200 and 12345 in kept
    assert kept[0] == 1 and kept[-1] == 10**9
    ratios: Sequence[float] = [b / a for a, b in pairwise(kept[20:])]
    assert max(ratios) < 2

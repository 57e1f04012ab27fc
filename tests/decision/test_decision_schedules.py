"""Balanced switching against its bounds and against brute force (theory T2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.decision.schedules import (
    chairman_schedule,
    counts_of,
    greedy_schedule,
    prefix_discrepancy,
    rounded_counts,
)
from qreplace.radii.synthesis import half_l1_discrepancy


@st.composite
def simplex_points(draw: st.DrawFn, smallest: int = 1) -> list[Fraction]:
    """Rational weights with sum 1; zeros and equal entries included."""
    count = draw(st.integers(smallest, 8))
    parts = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count).filter(any))
    return [Fraction(part, sum(parts)) for part in parts]


def harmonic(count: int) -> Fraction:
    return sum((Fraction(1, i) for i in range(1, count + 1)), Fraction(0))


def half_l1(weights: Sequence[Fraction], schedule: Sequence[int]) -> Fraction:
    """The largest half-l1 distance of prefix counts to prefix weights."""
    used = [0] * len(weights)
    worst = Fraction(0)
    for step, pick in enumerate(schedule, start=1):
        used[pick] += 1
        distance = sum(abs(w * step - n) for w, n in zip(weights, used, strict=True))
        worst = max(worst, Fraction(distance) / 2)
    return worst


@settings(derandomize=True, max_examples=150)
@given(simplex_points(2), st.integers(1, 90))
def test_the_chairman_rule_keeps_tijdemans_bound(weights: list[Fraction], depth: int) -> None:
    schedule = chairman_schedule(weights, depth)
    assert len(schedule) == depth
    assert prefix_discrepancy(weights, schedule) <= 1 - Fraction(1, 2 * len(weights) - 2)
    assert half_l1(weights, schedule) <= (len(weights) // 2) * (
        1 - Fraction(1, 2 * len(weights) - 2)
    )
    assert all(weights[pick] > 0 for pick in schedule)


def test_tijdemans_bound_is_nearly_attained() -> None:
    """J = 2 has the bound 1/2; weights near 1/2 and long schedules come close."""
    weights = [Fraction(1001, 2001), Fraction(1000, 2001)]
    found = prefix_discrepancy(weights, chairman_schedule(weights, 2001))
    assert Fraction(499, 1000) < found <= Fraction(1, 2)


@settings(derandomize=True, max_examples=120)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any))
def test_shares_of_the_depth_are_met_exactly_at_the_end(counts: list[int]) -> None:
    depth = sum(counts)
    schedule = chairman_schedule([Fraction(n, depth) for n in counts], depth)
    assert counts_of(schedule, len(counts)) == counts


@settings(derandomize=True, max_examples=120)
@given(simplex_points(), st.integers(1, 90))
def test_the_greedy_rule_keeps_the_harmonic_bound(weights: list[Fraction], depth: int) -> None:
    count = len(weights)
    schedule = greedy_schedule(weights, depth)
    used = [0] * count
    for step, pick in enumerate(schedule, start=1):
        used[pick] += 1
        for weight, number in zip(weights, used, strict=True):
            balance = weight * step - number
            assert -(1 - Fraction(1, count)) <= balance <= harmonic(count) - 1
    assert half_l1(weights, schedule) <= max(
        (i * (harmonic(count) - harmonic(i)) for i in range(1, count + 1)), default=Fraction(0)
    )


def test_half_l1_discrepancy_against_brute_force() -> None:
    """The largest half-l1 norm of a zero-sum vector within Tijdeman's bound is at a vertex."""
    for count in range(2, 8):
        bound = 1 - Fraction(1, 2 * count - 2)
        vertices = (
            vector
            for vector in itertools.product((-1, 0, 1), repeat=count)
            if sum(vector) == 0 and vector.count(0) <= 1
        )
        chairman = max(bound * sum(map(abs, vector)) / 2 for vector in vertices)
        greedy = max(i * (harmonic(count) - harmonic(i)) for i in range(1, count))
        assert half_l1_discrepancy(count) == min(chairman, greedy)
    assert half_l1_discrepancy(1) == 0
    assert half_l1_discrepancy(2) == Fraction(1, 2)


def test_half_l1_discrepancy_of_large_dictionaries_is_rounded_up_and_tight() -> None:
    for count in (64, 65, 200, 1000):
        rest, greedy = Fraction(0), Fraction(0)
        for i in range(count - 1, 0, -1):
            rest += Fraction(1, i + 1)
            greedy = max(greedy, i * rest)
        assert greedy <= half_l1_discrepancy(count) <= greedy + Fraction(1, 10**30)
        assert half_l1_discrepancy(count) < (count // 2) * (1 - Fraction(1, 2 * count - 2))


@settings(derandomize=True, max_examples=120)
@given(simplex_points(), st.integers(1, 10**9))
def test_rounded_counts_are_within_a_quarter_of_the_atoms(
    weights: list[Fraction], depth: int
) -> None:
    counts = rounded_counts(weights, depth)
    assert sum(counts) == depth and min(counts) >= 0
    distance = sum(abs(w * depth - n) for w, n in zip(weights, counts, strict=True))
    assert distance / 2 <= Fraction(len(weights), 4)
    assert distance / 2 <= half_l1_discrepancy(len(weights))

"""Balanced switching against its bounds and against brute force (theory T2)."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.decision.controls import Discrepancy, chairman, greedy, prefix_discrepancy
from qreplace.decision.schedules import chairman_schedule, counts_of, rounded_counts
from qreplace.radii.synthesis import half_l1_discrepancy


@st.composite
def simplex_points(draw: st.DrawFn, smallest: int = 1) -> list[Fraction]:
    """Rational weights with sum 1; zeros and equal entries included."""
    count = draw(st.integers(smallest, 8))
    parts = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count).filter(any))
    return [Fraction(part, sum(parts)) for part in parts]


def harmonic(count: int) -> Fraction:
    return sum((Fraction(1, i) for i in range(1, count + 1)), Fraction(0))


def realised(weights: Sequence[Fraction], schedule: Sequence[int]) -> Discrepancy:
    return prefix_discrepancy([weights] * len(schedule), schedule)


@settings(derandomize=True, max_examples=150)
@given(simplex_points(2), st.integers(1, 90))
def test_the_chairman_rule_keeps_tijdemans_bound(weights: list[Fraction], depth: int) -> None:
    schedule = chairman_schedule(weights, depth)
    assert len(schedule) == depth
    bound = 1 - Fraction(1, 2 * len(weights) - 2)
    found = realised(weights, schedule)
    assert found.largest <= bound
    assert found.half_l1 <= (len(weights) // 2) * bound
    assert all(weights[pick] > 0 for pick in schedule)


def test_tijdemans_bound_is_nearly_attained() -> None:
    """J = 2 has the bound 1/2; weights near 1/2 and long schedules come close."""
    weights = [Fraction(1001, 2001), Fraction(1000, 2001)]
    found = realised(weights, chairman_schedule(weights, 2001)).largest
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
    schedule = greedy([weights] * depth)
    used = [0] * count
    for step, pick in enumerate(schedule, start=1):
        used[pick] += 1
        for weight, number in zip(weights, used, strict=True):
            balance = weight * step - number
            assert -(1 - Fraction(1, count)) <= balance <= harmonic(count) - 1
    assert realised(weights, schedule).half_l1 <= max(
        (i * (harmonic(count) - harmonic(i)) for i in range(1, count + 1)), default=Fraction(0)
    )


@st.composite
def changing_weights(draw: st.DrawFn) -> list[list[Fraction]]:
    """One row a step, each with a denominator of its own."""
    count = draw(st.integers(1, 5))
    parts = st.lists(st.integers(0, 9), min_size=count, max_size=count).filter(any)
    rows = draw(st.lists(parts, min_size=1, max_size=20))
    return [[Fraction(part, sum(row)) for part in row] for row in rows]


@settings(derandomize=True, max_examples=120)
@given(changing_weights())
def test_whole_numbers_over_a_unit_switch_alike(shares: list[list[Fraction]]) -> None:
    unit = math.lcm(*(weight.denominator for row in shares for weight in row))
    whole = [[int(weight * unit) for weight in row] for row in shares]
    for rule in (chairman, greedy):
        schedule = rule(shares)
        assert rule(whole, unit) == schedule
        assert prefix_discrepancy(whole, schedule, unit) == prefix_discrepancy(shares, schedule)


@settings(derandomize=True, max_examples=120)
@given(changing_weights(), st.randoms(use_true_random=False))
def test_realised_discrepancy_by_its_definition(
    shares: list[list[Fraction]], rng: random.Random
) -> None:
    """Every prefix's sums from the start, for any schedule (theory T2.3)."""
    atoms = len(shares[0])
    schedule = [rng.randrange(atoms) for _ in shares]
    largest, half = [], []
    for k in range(1, len(shares) + 1):
        sums = [sum((row[j] for row in shares[:k]), Fraction(0)) for j in range(atoms)]
        gaps = [abs(total - schedule[:k].count(j)) for j, total in enumerate(sums)]
        largest.append(max(gaps))
        half.append(sum(gaps, Fraction(0)) / 2)
    found = prefix_discrepancy(shares, schedule)
    assert (found.largest, found.half_l1) == (max(largest), max(half))
    if found.largest:
        assert found.largest_at == largest.index(max(largest)) + 1
        assert found.half_l1_at == half.index(max(half)) + 1
    else:
        assert found.largest_at == found.half_l1_at == 0


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

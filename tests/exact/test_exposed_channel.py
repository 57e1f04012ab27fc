"""Distances of a channel's ends from a number: never above any schedule's, exact where searched."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.exact.exposed_channel import (
    MAX_SEARCH,
    MAX_VALUES,
    Channel,
    closed_distance,
    least_distance,
    search_work,
    weight_sum,
    weights,
)
from qreplace.exact.fixed_teacher import best_of_all, signed_ray_best, teacher_error, teacher_target

TINY = Fraction(1, 10**40)


def ends(channel: Channel, depth: int) -> list[Fraction]:
    """The end of every schedule, step by step."""
    r, h = channel.factor(depth), channel.horizon / depth
    found = []
    for schedule in itertools.product(channel.labels, repeat=depth):
        x = channel.start
        for label in schedule:
            x = r * x + h * label
        found.append(x)
    return found


def small(low: int, high: int, unit: int) -> st.SearchStrategy[Fraction]:
    return st.integers(low, high).map(lambda n: Fraction(n, unit))


@st.composite
def channels(draw: st.DrawFn) -> tuple[Channel, int]:
    """Rates of both signs, so that steps grow, shrink, vanish and change sign; and a depth."""
    labels = draw(st.lists(small(-6, 6, 2), min_size=1, max_size=3))
    channel = Channel(
        draw(small(-6, 18, 3)), draw(small(-3, 3, 2)), tuple(labels), draw(small(-40, 40, 8)),
        draw(small(1, 4, 2)),
    )  # fmt: skip
    return channel, draw(st.integers(1, 6))


@settings(max_examples=400)
@given(channels())
def test_no_schedule_ends_nearer(case: tuple[Channel, int]) -> None:
    channel, depth = case
    truth = min(abs(x - channel.target) for x in ends(channel, depth))
    assert least_distance(channel, depth) == truth
    assert closed_distance(channel, depth) <= truth


@settings(max_examples=200)
@given(channels())
def test_the_closed_form_is_sharp_outside_and_in_the_outermost_gaps(
    case: tuple[Channel, int],
) -> None:
    channel, depth = case
    reached = sorted(set(ends(channel, depth)))
    middles = [(a + b) / 2 for a, b in itertools.pairwise(reached)]
    beyond = [reached[0] - 1, reached[-1] + Fraction(1, 3)]
    for target in beyond:
        own = Channel(channel.rate, channel.start, channel.labels, target, channel.horizon)
        truth = min(abs(x - target) for x in reached)
        assert truth - TINY <= closed_distance(own, depth) <= truth
    positive = channel.factor(depth) > 0
    if positive and len(channel.levels) == 2:
        for target in middles[:1] + middles[-1:]:
            own = Channel(channel.rate, channel.start, channel.labels, target, channel.horizon)
            truth = min(abs(x - target) for x in reached)
            assert truth - TINY <= closed_distance(own, depth) <= truth


@settings(max_examples=200)
@given(channels())
def test_the_weights_add_up(case: tuple[Channel, int]) -> None:
    channel, depth = case
    r, h = channel.factor(depth), channel.horizon / depth
    exact = [h * r**k for k in range(depth)]
    found = weights(channel, depth)
    assert found.decayed[0] <= r**depth <= found.decayed[1]
    assert found.positive[0] <= sum(w for w in exact if w > 0) <= found.positive[1]
    assert found.negative[0] <= -sum(w for w in exact if w < 0) <= found.negative[1]
    assert found.least <= min(map(abs, exact))
    total = sum(map(abs, exact))
    assert total <= weight_sum(channel, depth) <= total + TINY


@pytest.mark.parametrize("depth", range(1, 15))
def test_the_fixed_teacher_is_a_channel(depth: int) -> None:
    """Theory T9.1; the target is irrational, so a rational one beside it is used."""
    target = teacher_target(Fraction(3), Fraction(1), Fraction(1))[0]
    channel = Channel(Fraction(1), Fraction(0), (Fraction(0), Fraction(3)), target, Fraction(1))
    low, high = teacher_error(Fraction(3), depth)
    assert low - TINY <= closed_distance(channel, depth) <= high
    assert closed_distance(channel, depth) <= least_distance(channel, depth) <= high


def test_fast_teachers_are_not_best_driven_all_the_time() -> None:
    """Theory T9.1 beyond lam T = 1: lam = 2, D = 8, where the search finds 9.3e-4, not 1.76e-2."""
    target = teacher_target(Fraction(1), Fraction(2), Fraction(1))[0]
    channel = Channel(Fraction(2), Fraction(0), (Fraction(0), Fraction(1)), target, Fraction(1))
    (low, high), _ = best_of_all(Fraction(1), 8, Fraction(2))
    found = least_distance(channel, 8)
    assert low - TINY <= found <= high + TINY
    assert float(found) == pytest.approx(9.3e-4, rel=0.01)
    assert closed_distance(channel, 8) <= found


@pytest.mark.parametrize("depth", range(1, 11))
def test_targets_between_the_smallest_ends_are_missed_by_half_the_gap(depth: int) -> None:
    """The signed ray (theory T8.6): the target moves with the depth, in its first gap."""
    gap = Fraction(1, 3)
    labels = (Fraction(1, 5), Fraction(1, 5) + gap)
    r, h = 1 - Fraction(1, depth), Fraction(1, depth)
    target = labels[0] * (1 - r**depth) + gap * h * r ** (depth - 1) / 2
    channel = Channel(Fraction(1), Fraction(0), labels, target, Fraction(1))
    sharp = gap * h * r ** (depth - 1) / 2
    assert (
        least_distance(channel, depth)
        == sharp
        == signed_ray_best(Fraction(1), labels, target, depth)
    )
    assert sharp - TINY <= closed_distance(channel, depth) <= sharp


def test_equal_weights_are_counted_and_not_listed() -> None:
    channel = Channel(
        Fraction(0), Fraction(0), (Fraction(0), Fraction(1)), Fraction(1, 2), Fraction(1)
    )
    assert search_work(channel, 301) < MAX_SEARCH
    assert least_distance(channel, 301) == Fraction(1, 602)
    assert least_distance(channel, 300) == 0


def test_the_search_is_bounded_before_it_starts() -> None:
    teacher = Channel(
        Fraction(1), Fraction(0), (Fraction(0), Fraction(1)), Fraction(2, 3), Fraction(1)
    )
    assert search_work(teacher, 30) < MAX_SEARCH < search_work(teacher, 40)
    assert search_work(teacher, 1 << 20) >= MAX_VALUES
    alone = Channel(Fraction(1), Fraction(0), (Fraction(1),), Fraction(1), Fraction(1))
    assert search_work(alone, 1 << 20) > MAX_SEARCH  # one schedule, but long numbers
    with pytest.raises(InputError, match="a depth is at least 1"):
        least_distance(teacher, 0)


def test_long_sums_do_not_depend_on_hashing() -> None:
    """Labels of which every sum has the same hash are as quick as others."""
    modulus = Fraction((1 << 61) - 1)
    channel = Channel(Fraction(1), Fraction(0), (Fraction(0), modulus), Fraction(1), Fraction(1))
    assert least_distance(channel, 32) == 1

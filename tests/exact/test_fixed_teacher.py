"""Closed forms of finite-depth converses against every schedule."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from qreplace.errors import InputError
from qreplace.exact.fixed_teacher import (
    best_of_all,
    channel_error,
    endpoints,
    signed_ray_best,
    signed_ray_error,
    tanh_one,
    teacher_bounds,
    teacher_error,
    teacher_target,
    two_token_error,
    vacuous_from,
)

F = Fraction


@pytest.mark.parametrize("depth", range(2, 13))
def test_every_schedule_is_no_better_than_all_steps_on_a(depth: int) -> None:
    found, schedule = best_of_all(F(3, 2), depth)
    assert schedule == (1,) * depth
    closed, bounds = teacher_error(F(3, 2), depth), teacher_bounds(F(3, 2), depth)
    assert max(found[0], closed[0]) <= min(found[1], closed[1])
    assert closed[1] - closed[0] < F(1, 1 << 140)
    assert bounds[0] <= closed[0] and closed[1] <= bounds[1]


def test_endpoints_are_those_of_the_recursion() -> None:
    labels = (F(0), F(1, 2), F(-2, 3))
    found = endpoints(labels, 3, F(3, 4), F(2))
    for schedule, end in zip(itertools.product(labels, repeat=3), found, strict=True):
        x, step = F(0), F(2, 3)
        for q in schedule:
            x = (1 - F(3, 4) * step) * x + step * q
        assert x == end


@pytest.mark.parametrize(("rate", "horizon"), [(F(1, 2), F(1)), (F(1), F(1, 3)), (F(2), F(1, 2))])
def test_other_rates_and_horizons_up_to_one(rate: Fraction, horizon: Fraction) -> None:
    for depth in (2, 5, 9):
        found, _ = best_of_all(F(1), depth, rate, horizon)
        closed = teacher_error(F(1), depth, rate, horizon)
        assert max(found[0], closed[0]) <= min(found[1], closed[1])


def test_beyond_one_the_closed_form_is_wrong_and_refused() -> None:
    """lam = 2, T = 1, D = 8: mixing in a zero comes 18 times closer (theory T9.1)."""
    with pytest.raises(InputError, match="up to 1 only"):
        teacher_error(F(1), 8, F(2), F(1))
    found, schedule = best_of_all(F(1), 8, F(2), F(1))
    wrong = (math.exp(-2) - (1 - 2 / 8) ** 8) / 2
    assert 0 in schedule
    assert abs(float(found[1]) - 9.3e-4) < 1e-5
    assert abs(abs(wrong) - 1.76e-2) < 1e-4


def test_the_target_is_the_continuous_one() -> None:
    low, high = teacher_target(F(3), F(2), F(1, 4))
    assert abs(float(low) - 1.5 * (1 - math.exp(-0.5))) < 1e-15
    assert 0 < high - low < F(1, 1 << 150)


def test_defects_take_from_the_bound_and_make_it_vacuous_at_last() -> None:
    plain = channel_error(F(1), 5, F(0), F(0))
    assert plain <= teacher_error(F(1), 5)[0]
    assert teacher_error(F(1), 5)[0] - plain < F(1, 1 << 100)
    first = vacuous_from(F(1), F(1, 100), F(1, 200))
    assert first is not None
    for depth in range(1, first):
        assert channel_error(F(1), depth, F(1, 100), F(1, 200)) > 0
    for depth in range(first, first + 50):
        assert channel_error(F(1), depth, F(1, 100), F(1, 200)) <= 0
    assert vacuous_from(F(1), F(0), F(0)) is None
    assert vacuous_from(F(1), F(2), F(0)) == 1


def test_no_schedule_of_a_channel_with_defects_is_below_the_bound() -> None:
    """Channels x' = q_j + d_j - x with |d_j| at the defect: every sign, every schedule."""
    for depth in (2, 4, 6):
        for one, other in itertools.product((F(-1, 50), F(1, 50)), repeat=2):
            ends = endpoints((one, 1 + other), depth, F(1), F(1))
            target = 1 - math.exp(-1)
            least = min(abs(float(x) - target) for x in ends)
            assert least >= float(channel_error(F(1), depth, F(1, 50), F(0))) - 1e-12


@pytest.mark.parametrize("depth", [2, 3, 5, 8, 11])
def test_two_tokens_simulated_with_their_attention(depth: int) -> None:
    """softmax of scores 1 and -1: the mean is kept, the disagreement shrinks by tanh 1."""
    a, spread = 1.25, 0.75
    own = math.exp(1) / (math.exp(1) + math.exp(-1))
    goal_mean, goal_apart = a * (1 - math.exp(-1)), spread * math.exp(-math.tanh(1))
    least = math.inf
    for schedule in itertools.product((0.0, a), repeat=depth):
        x, y = spread, -spread
        for q in schedule:
            mixed = own * x + (1 - own) * y, (1 - own) * x + own * y
            x, y = x + (q - mixed[0]) / depth, y + (q - mixed[1]) / depth
        off = (x - goal_mean - goal_apart) ** 2 + (y - goal_mean + goal_apart) ** 2
        least = min(least, math.sqrt(off))
    low, high = two_token_error(F(5, 4), F(3, 4), depth)
    assert float(low) - 1e-14 <= least <= float(high) + 1e-14


def test_tanh_is_enclosed() -> None:
    low, high = tanh_one()
    assert abs(float(low) - math.tanh(1)) < 1e-15
    assert 0 < high - low < F(1, 1 << 150)


@pytest.mark.parametrize("levels", [(F(0), F(1)), (F(0), F(1, 2), F(1))])
def test_the_signed_ray_is_attained_at_the_target_that_moves(levels: tuple[Fraction, ...]) -> None:
    """The target half a step of the smallest gap beyond the channel's least value is the worst."""
    for depth in (2, 4, 6):
        scale = F(5, 4)
        gap = levels[1] - levels[0]
        value = signed_ray_error(scale, gap, depth)
        # The smallest change of an endpoint is one late-forgotten first step at the smallest gap.
        lowest = sorted(endpoints([scale * q for q in levels], depth, F(1), F(1)))[:2]
        target = (lowest[0] + lowest[1]) / 2
        assert signed_ray_best(scale, levels, target, depth) == value
        assert lowest[1] - lowest[0] == 2 * value


def test_limits_are_told() -> None:
    with pytest.raises(InputError, match="positive"):
        teacher_error(F(0), 3)
    with pytest.raises(InputError, match="needed 1 to"):
        teacher_error(F(1), 0)
    with pytest.raises(InputError, match="schedules"):
        best_of_all(F(1), 30)
    with pytest.raises(InputError, match="depth 2"):
        two_token_error(F(1), F(1), 1)

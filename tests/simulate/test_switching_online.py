"""Switching with an unknown future: the same rule, its bounds from any start (theory T2.1)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.simulate.switching import bounds_of, plain_schedule, switch
from qreplace.simulate.switching_online import OnlineSwitch, bounds_from
from qreplace.simulate.switching_weights import weights_of, whole_weights

HALF = Fraction(1, 2)


@st.composite
def simplex_rows(draw: st.DrawFn) -> list[list[Fraction]]:
    atoms = draw(st.integers(1, 6))
    parts = st.lists(st.integers(0, 9), min_size=atoms, max_size=atoms).filter(any)
    rows = draw(st.lists(parts, min_size=1, max_size=24))
    return [[Fraction(part, sum(row)) for part in row] for row in rows]


@given(simplex_rows())
def test_streaming_is_the_greedy_rule(own: list[list[Fraction]]) -> None:
    online, used = OnlineSwitch(len(own[0])), [0] * len(own[0])
    picks, totals = [], [Fraction(0)] * len(own[0])
    for row in own:
        picks.append(online.push(row))
        used[picks[-1]] += 1
        totals = [t + w for t, w in zip(totals, row, strict=True)]
        assert online.balance == [t - n for t, n in zip(totals, used, strict=True)]
        assert max(map(abs, online.balance)) <= online.bounds.largest
        assert min(online.balance) >= Fraction(1, len(row)) - 1
    assert picks == plain_schedule(weights_of(own), "greedy")
    assert online.steps == len(own)


def test_the_bound_that_holds_is_the_greedy_one() -> None:
    online = OnlineSwitch(5)
    assert online.bounds == bounds_of("greedy", 5)
    assert "T2.1" in online.bounds.formula and not online.bounds.known_ahead


@settings(max_examples=200)
@given(simplex_rows(), st.randoms(use_true_random=False), st.integers(0, 23))
def test_bounds_after_any_prefix_hold(own: list[list[Fraction]], rng: Any, cut: int) -> None:
    """A random schedule's balances, then the greedy rule on what is left."""
    cut = min(cut, len(own) - 1)
    atoms = len(own[0])
    if cut:
        prefix = [rng.randrange(atoms) for _ in range(cut)]
        online = OnlineSwitch.after(weights_of(own[:cut], cut), prefix)
    else:
        online = OnlineSwitch(atoms)
    lowest = min(online.balance)
    for row in own[cut:]:
        assert max(map(abs, online.balance)) <= online.bounds.largest
        assert sum(map(abs, online.balance)) / 2 <= online.bounds.half_l1
        online.push(row)
        assert min(online.balance) >= min(lowest, Fraction(1, atoms) - 1)
    assert max(map(abs, online.balance)) <= online.bounds.largest
    assert sum(map(abs, online.balance)) / 2 <= online.bounds.half_l1


PAIR = [HALF, HALF, Fraction(0)]
STARTS: list[tuple[list[list[Fraction]], list[int]]] = [
    ([[Fraction(1), Fraction(0), Fraction(0)]] * 2, [1, 1]),  # 2, -2, 0
    ([PAIR] * 2, [2, 2]),  # 1, 1, -2
    ([[Fraction(5, 6), Fraction(1, 6), Fraction(0)], [Fraction(0), HALF, HALF]], [1, 2]),
    ([[Fraction(1, 4)] * 4], [3]),
]


@pytest.mark.parametrize(("rows", "picks"), STARTS)
def test_bounds_after_a_prefix_are_attained(rows: list[list[Fraction]], picks: list[int]) -> None:
    """Weights that level the m largest balances, pick by pick, as for H_J - 1; m is the best."""
    bounds = OnlineSwitch.after(weights_of(rows), picks).bounds
    atoms, reached = len(rows[0]), Fraction(0)
    for m in range(1, atoms + 1):
        online = OnlineSwitch.after(weights_of(rows), picks)
        left = sorted(range(atoms), key=lambda j, o=online: -o.balance[j])[:m]  # type: ignore[misc]
        while len(left) > 1:
            balance = online.balance
            level = sum((balance[j] for j in left), Fraction(1)) / len(left)
            row = [level - balance[j] if j in left else Fraction(0) for j in range(atoms)]
            if min(row) < 0:
                break  # one step of weights is too little to level them
            left.remove(online.push(row))
        reached = max(reached, *map(abs, online.balance))
    assert reached == bounds.largest


@given(simplex_rows())
def test_after_its_own_prefix_the_bounds_are_no_worse(own: list[list[Fraction]]) -> None:
    weights = weights_of(own)
    online = OnlineSwitch.after(weights, switch(weights, "greedy").schedule.tolist())
    assert online.bounds.largest <= bounds_of("greedy", len(own[0])).largest
    assert online.bounds.half_l1 <= bounds_of("greedy", len(own[0])).half_l1


@pytest.mark.parametrize("atoms", [1, 2, 3, 4, 7, 64])
def test_from_zero_the_bounds_are_the_greedy_ones(atoms: int) -> None:
    found, known = bounds_from([Fraction(0)] * atoms), bounds_of("greedy", atoms)
    assert (found.largest, found.half_l1) == (known.largest, known.half_l1)


def test_a_stream_goes_on_where_a_schedule_ended() -> None:
    rows = [[Fraction(k % 4, 7), Fraction(4 - k % 4, 7), Fraction(3, 7)] for k in range(30)]
    whole = switch(weights_of(rows), "greedy").schedule.tolist()
    online = OnlineSwitch.after(weights_of(rows[:12]), whole[:12])
    assert online.steps == 12
    assert [online.push(row) for row in rows[12:]] == whole[12:]
    constant = OnlineSwitch.after(whole_weights(np.array([1, 2]), 3, 10), [1] * 10)
    assert constant.balance == [Fraction(10, 3), Fraction(-10, 3)]


def test_streamed_rows_are_checked_and_change_nothing() -> None:
    online = OnlineSwitch(2)
    online.push([Fraction(1, 3), Fraction(2, 3)])
    before = online.balance
    for row, words in (
        ([HALF, Fraction(1, 3)], "row 1 sums to 5/6"),
        ([HALF, HALF + Fraction(1, 10**30)], "needed exactly 1"),
        ([Fraction(-1), Fraction(2)], "is negative"),
        ([Fraction(1)], "row 1 has 1 weights; needed 2"),
        ([0.5, 0.5], "of the type float"),
        ([Fraction(1, 2**13_499), 1 - Fraction(1, 2**13_499)], "more than 13500 bits"),
    ):
        with pytest.raises(InputError, match=words):
            online.push(row)  # type: ignore[arg-type]
    assert online.balance == before and online.steps == 1
    with pytest.raises(InputError, match="1 to 4096 atoms"):
        OnlineSwitch(0)
    with pytest.raises(InputError, match="a prefix of 1 steps for weights of 3"):
        OnlineSwitch.after(weights_of([[HALF, HALF]], 3), [0])
    with pytest.raises(InputError, match="step 1 runs atom 2"):
        OnlineSwitch.after(weights_of([[HALF, HALF]], 2), [0, 2])

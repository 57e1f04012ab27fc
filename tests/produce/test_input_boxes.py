"""Halved boxes: a sound bracket at every budget, narrower with more of it, found again exactly."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, vector
from map_pairs import ENTRIES, Pair, pair_of, random_pair, sampled
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.check.registry import check_claim
from qreplace.claims.pwa_supremum import PwaSupremumClaim, ScheduleMap
from qreplace.errors import InputError
from qreplace.produce import input_boxes
from qreplace.produce.cells import largest_difference
from qreplace.produce.float_relaxation import FloatRelaxation
from qreplace.produce.input_boxes import BoxBracket, BoxSearch, bound_by_boxes
from qreplace.produce.polytopes import subdivide_polytope
from qreplace.produce.worst_inputs import error_at
from qreplace.question.clipped_boxes import region_bound
from qreplace.question.maps import Point, homogeneous
from qreplace.question.model import BallRegion, Norm
from qreplace.question.regions import Ball
from qreplace.question.relaxation import box_bound


def supremum(pair: Pair) -> tuple[Fraction, Fraction]:
    """The exact supremum, enclosed, from cells."""
    found = subdivide_polytope(pair.maps, pair.region)
    largest = largest_difference(found, pair.maps, norm=pair.norm)
    return largest.lower, largest.upper


def assert_shown(pair: Pair, bracket: BoxBracket) -> None:
    """The checker reaches the same two ends from the claim."""
    claim = PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1",
        pair.subject.problem_digest(0),
        0,
        ScheduleMap("schedule", pair.schedule),
        bracket.lower,
        bracket.point,
        bracket.upper,
        bracket.cover,
    )
    bounds = {bound.side: bound.value for bound in check_claim(pair.subject, claim)}
    assert bounds == {"lower": bracket.lower, "upper": bracket.upper}


def leaves(bracket: BoxBracket) -> list[tuple[list[Fraction], list[Fraction], int]]:
    """The boxes of a cover with the number of halvings that led to each."""
    pending = [(list(bracket.cover.lower), list(bracket.cover.upper), 0)]
    found = []
    for axis in bracket.cover.splits:
        low, high, depth = pending.pop()
        if axis < 0:
            found.append((low, high, depth))
            continue
        middle = (low[axis] + high[axis]) / 2
        upper_low, lower_high = list(low), list(high)
        upper_low[axis] = lower_high[axis] = middle
        pending.append((upper_low, high, depth + 1))
        pending.append((low, lower_high, depth + 1))
    assert not pending
    return found


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 4))
def test_every_budget_brackets_the_supremum_and_more_never_widens(seed: int, inputs: int) -> None:
    pair = random_pair(seed, inputs, steps=2, width=2 if inputs < 4 else 1)
    low, high = supremum(pair)
    before: BoxBracket | None = None
    for nodes in (0, 1, 2, 5, 12, 30):
        found = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=nodes)
        assert found.nodes <= nodes
        assert found.lower <= high and low <= found.upper
        if before is not None:
            assert before.lower <= found.lower and found.upper <= before.upper
        before = found
        assert_shown(pair, found)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 3))
def test_narrows_to_the_width_asked(seed: int, inputs: int) -> None:
    pair = random_pair(seed, inputs, steps=2, width=1)
    low, high = supremum(pair)
    width = Fraction(1, 20)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, width=width, nodes=600)
    assert found.stopped == "width" and found.remains == ""
    assert found.upper - found.lower <= width
    assert found.lower <= high and low <= found.upper


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 5))
def test_no_sample_exceeds_the_upper_end(seed: int, inputs: int) -> None:
    pair = random_pair(seed, inputs, steps=3, width=2)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=15)
    for point in sampled(pair, random.Random(seed), 200):
        assert error_at(*pair.maps, pair.norm, point)[0] <= found.upper


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 3))
def test_the_upper_end_is_the_largest_bound_of_the_cover(seed: int, inputs: int) -> None:
    pair = random_pair(seed, inputs, steps=2, width=2)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=20)
    bounds, share, still_open = [], Fraction(0), 0
    volume = Fraction(0)
    for low, high, depth in leaves(found):
        volume += Fraction(1, 2**depth)
        if not pair.region.avoids_box(low, high):
            bounds.append(region_bound(*pair.maps, low, high, pair.region, pair.norm))
            if bounds[-1] > found.lower + max(found.upper / 2**40, Fraction(1, 2**80)):
                still_open += 1
                share += Fraction(1, 2**depth)
    assert volume == 1
    assert max(bounds) == found.upper
    assert (found.open_boxes, found.open_share) == (still_open, share)
    assert found.boxes == found.cover.splits.count(-1)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_every_halving_leaves_a_sound_bracket(seed: int) -> None:
    """What an interruption would find after each halving, the ends only ever moving inwards."""
    pair = random_pair(seed, 2, steps=3, width=2)
    low, high = supremum(pair)
    search = BoxSearch(*pair.maps, pair.region, pair.norm)
    ends = [(search.lower, search.upper)]
    for _ in range(25):
        if search.finished():
            break
        search.halve()
        ends.append((search.lower, search.upper))
        assert search.bracket("nodes").upper == search.upper
    assert all(lower <= high and low <= upper for lower, upper in ends)
    assert ends == sorted(ends, key=lambda e: e[0])
    assert ends == sorted(ends, key=lambda e: -e[1])


def test_no_side_is_halved_out_of_proportion() -> None:
    """Shedding easy halves along one axis, over and over, never got below 3/8 here."""
    pair = random_pair(957054, 3, steps=2, width=1)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=100)
    assert found.upper < Fraction(36, 100)
    for low, high, _ in leaves(found):
        sides = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
        assert max(sides) <= input_boxes.NARROW * 2 * min(sides)


def test_progress_and_interruption() -> None:
    pair = random_pair(5, 3, steps=3, width=2)
    seen: list[tuple[Fraction, Fraction, int]] = []
    found = bound_by_boxes(
        *pair.maps,
        pair.region,
        pair.norm,
        nodes=10,
        progress=lambda lower, upper, nodes: seen.append((lower, upper, nodes)),
    )
    assert [nodes for _, _, nodes in seen] == list(range(1, found.nodes + 1))
    assert seen[-1] == (found.lower, found.upper, found.nodes)

    def stop(lower: Fraction, upper: Fraction, nodes: int) -> None:
        if nodes == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bound_by_boxes(*pair.maps, pair.region, pair.norm, progress=stop)


def test_a_clock_that_has_run_out_still_leaves_a_bracket() -> None:
    pair = random_pair(5, 3, steps=3, width=2)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, seconds=0)
    assert (found.stopped, found.nodes, found.cover.splits) == ("seconds", 0, (-1,))
    assert "1 of 1 boxes, 100 % of the volume" in found.remains
    assert "the time is spent" in found.remains
    assert_shown(pair, found)


def test_the_same_budget_gives_the_same_bracket() -> None:
    pair = random_pair(8, 3, steps=2, width=2)
    one, other = (bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=12) for _ in range(2))
    assert one == other


def test_boxes_are_halved_so_often_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_boxes, "MAX_HALVINGS", 2)
    pair = random_pair(5, 3, steps=3, width=2)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm)
    assert found.stopped == "halvings"
    assert max(depth for _, _, depth in leaves(found)) <= 2
    assert "as small as the arithmetic resolves" in found.remains
    assert_shown(pair, found)


def test_halves_with_larger_bounds_than_the_whole_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tree is shown only if its largest bound is smaller than that of the tree before."""

    def bumpy(one: Any, other: Any, low: Any, high: Any, region: Any, norm: Any) -> Fraction:
        size = math.prod((b - a for a, b in zip(low, high, strict=True)), start=Fraction(1))
        return {Fraction(4): 8, Fraction(2): 9, Fraction(1): 7}.get(size, Fraction(10))

    monkeypatch.setattr(input_boxes, "region_bound", bumpy)
    zero = atom([[0, 0]])
    region = box([-1, -1], [1, 1])
    pair = pair_of(pwa_question([zero], reference([zero], [0]), dimension=1, region=region), [0])
    uppers, covers = [], []
    for nodes in range(5):
        found = bound_by_boxes(*pair.maps, pair.region, L2, nodes=nodes)
        uppers.append(found.upper)
        covers.append(found.cover.splits.count(-1))
    # 8 for the whole, 9 once it is halved, 7 when both halves are, and worse from there on.
    assert uppers == [8, 8, 8, 7, 7]
    assert covers == [1, 1, 1, 4, 4]


def ball_pair(seed: int, inputs: int) -> Pair:
    """A random one-step system on a ball off the origin."""
    rng = random.Random(seed)
    rows = [[rng.choice(ENTRIES) for _ in range(inputs)] for _ in range(2)]
    own = [[rng.choice(ENTRIES) for _ in range(inputs)] for _ in range(2)]
    center = [Fraction(1, 3)] + [Fraction(0)] * (inputs - 1)
    question = pwa_question(
        [atom(rows, thresholds=[Fraction(1, 4)])],
        reference([atom(own, thresholds=[Fraction(1, 8)])], [0]),
        dimension=2,
        inputs=inputs,
        region=BallRegion("ball", vector(center), Fraction(3, 4)),
    )
    return pair_of(question, [0])


def on_ball(region: Ball, rng: random.Random) -> Point:
    """A rational point of a ball."""
    gaps = [rng.uniform(-1, 1) for _ in region.center]
    length = math.sqrt(sum(g * g for g in gaps))
    scale = float(region.radius) * rng.random() ** (1 / len(gaps)) / max(length, 1e-9)
    steps = [Fraction(round(g * scale * 1000), 1000) for g in gaps]
    point = homogeneous([c + s for c, s in zip(region.center, steps, strict=True)])
    return point if region.contains(point) else homogeneous(region.center)


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), inputs=st.sampled_from([1, 2, 3, 5]))
def test_balls_of_any_dimension(seed: int, inputs: int) -> None:
    pair = ball_pair(seed, inputs)
    maps, region = pair.maps, pair.anywhere
    assert isinstance(region, Ball)
    before = None
    for nodes in (0, 25):
        found = bound_by_boxes(*maps, region, L2, nodes=nodes)
        assert region.contains(homogeneous(found.point))
        rng = random.Random(seed)
        assert all(error_at(*maps, L2, on_ball(region, rng))[0] <= found.upper for _ in range(100))
        if before is not None:
            assert before.lower <= found.lower and found.upper <= before.upper
        before = found
        assert_shown(pair, found)


def linear_on_ball(rows: list[list[int]], norm: Norm) -> Pair:
    """``rows y`` on the unit ball against 0."""
    inputs = len(rows[0])
    question = pwa_question(
        [atom(rows)],
        reference([atom([[0] * inputs] * len(rows))], [0]),
        dimension=len(rows),
        inputs=inputs,
        region=BallRegion("ball", None, Fraction(1)),
        norm=norm,
    )
    return pair_of(question, [0])


def test_a_linear_function_on_a_ball_is_bracketed_by_its_tangent() -> None:
    """``y_1 + y_2 + y_3``: the root of 3, though the cube around the ball reaches 3."""
    pair = linear_on_ball([[1, 1, 1]], LINF)
    found = bound_by_boxes(*pair.maps, pair.anywhere, pair.norm, nodes=30)
    assert found.lower**2 <= 3 <= found.upper**2
    assert found.upper - found.lower < Fraction(1, 10**6)


def test_boxes_beside_the_ball_cost_nothing() -> None:
    """``|y|`` on the ball is 1; a box in a corner of the cube misses it and is left alone."""
    pair = linear_on_ball([[1, 0], [0, 1]], L2)
    found = bound_by_boxes(*pair.maps, pair.anywhere, pair.norm, nodes=150)
    missed = [leaf for leaf in leaves(found) if pair.anywhere.avoids_box(leaf[0], leaf[1])]
    assert missed
    assert found.lower <= 1 <= found.upper < Fraction(1003, 1000)
    assert_shown(pair, found)


# --- degenerate systems ---------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [1, 3, 8])
@pytest.mark.parametrize("norm", [L1, L2, LINF])
def test_equal_maps_need_one_box(inputs: int, norm: Norm) -> None:
    own = atom([[1] * inputs, [0] * inputs], thresholds=[0])
    question = pwa_question(
        [own],
        reference([own], [0]),
        dimension=2,
        inputs=inputs,
        region=box([-1] * inputs, [1] * inputs),
        norm=norm,
    )
    pair = pair_of(question, [0])
    found = bound_by_boxes(*pair.maps, pair.region, norm)
    assert (found.lower, found.cover.splits, found.stopped) == (0, (-1,), "width")
    assert found.upper <= Fraction(1, 2**80)


@pytest.mark.parametrize("inputs", [1, 2, 4])
def test_affine_differences_are_exact_at_once(inputs: int) -> None:
    """``y_1 + .. + y_p`` against 0, threshold 0: the largest value sits in a corner."""
    question = pwa_question(
        [atom([[1] * inputs])],
        reference([atom([[0] * inputs])], [0]),
        dimension=1,
        inputs=inputs,
        region=box([-1] * inputs, [1] * inputs),
        norm=LINF,
    )
    pair = pair_of(question, [0])
    found = bound_by_boxes(*pair.maps, pair.region, LINF)
    assert found.lower == inputs
    assert found.upper - inputs <= Fraction(1, 2**80)
    assert found.nodes == 0


def test_many_inputs_are_bracketed() -> None:
    """16 inputs, where cells are out of the question."""
    pair = random_pair(1, 16, steps=2, width=3, region=box([-1] * 16, [1] * 16))
    first = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=0)
    found = bound_by_boxes(*pair.maps, pair.region, pair.norm, nodes=20)
    assert 0 < found.lower < found.upper < first.upper
    assert found.open_boxes > 0 and found.remains
    assert_shown(pair, found)


def test_maps_that_do_not_fit_are_refused() -> None:
    pair = random_pair(3, 2, steps=1, width=1)
    wide = random_pair(3, 2, steps=1, width=2)
    with pytest.raises(InputError, match="2 and 2 inputs and 1 and 2 outputs are not compared"):
        bound_by_boxes(pair.maps[0], wide.maps[0], pair.region, L2)
    other = random_pair(3, 3, steps=1, width=1)
    with pytest.raises(InputError, match="on a region of 3 inputs"):
        bound_by_boxes(*pair.maps, other.region, L2)


# --- the float twin -------------------------------------------------------------------------------


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 8))
def test_float_bounds_are_those_of_the_exact_arithmetic(seed: int, inputs: int) -> None:
    """Up to rounding, and but for the order in which ties between slopes are decided."""
    pair = random_pair(seed, inputs, steps=3, width=2, region=box([-1] * inputs, [1] * inputs))
    rng = random.Random(seed)
    middle = [Fraction(rng.randint(-8, 8), 8) for _ in range(inputs)]
    reach = [Fraction(rng.randint(0, 8), 16) for _ in range(inputs)]
    low = [m - r for m, r in zip(middle, reach, strict=True)]
    high = [m + r for m, r in zip(middle, reach, strict=True)]
    exact = float(box_bound(*pair.maps, low, high, pair.norm))
    boxes = (np.array([[float(x) for x in end]]) for end in (low, high))
    found = FloatRelaxation(*pair.maps).relax(*boxes).bounds(pair.norm)
    assert found.shape == (1,)
    assert found[0] == pytest.approx(exact, rel=1e-7, abs=1e-9)


def test_float_bounds_of_many_boxes_are_those_of_each() -> None:
    pair = random_pair(4, 3, steps=3, width=2)
    rng = np.random.default_rng(0)
    low = rng.uniform(-1, 1, (6, 3))
    high = low + rng.uniform(0, 1, (6, 3))
    relaxation = FloatRelaxation(*pair.maps)
    together = relaxation.relax(low, high).bounds(pair.norm)
    apart = [relaxation.relax(low[i : i + 1], high[i : i + 1]).bounds(pair.norm) for i in range(6)]
    assert together == pytest.approx(np.concatenate(apart), rel=1e-12)

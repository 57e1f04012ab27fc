"""Bounds on the part of a box inside a region: sound, never worse, and exact where they can be."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, vector
from map_pairs import Pair, pair_of, random_atom, random_region, simplex_region
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.question.clipped_boxes import MAX_CUTS, cut_cost, region_bound
from qreplace.question.maps import Point, difference, difference_unit, homogeneous
from qreplace.question.model import BallRegion, InputRegion, Norm
from qreplace.question.norms import norm_bounds
from qreplace.question.relaxation import box_bound

TINY = Fraction(1, 2**80)


def error(pair: Pair, point: Point) -> Fraction:
    """The lower enclosure of the error at a point."""
    one, other = pair.maps
    gap = difference(one, other, one.trace(point), other.trace(point))
    return norm_bounds(pair.norm, gap, difference_unit(one, other) * point[-1])[0]


def random_case(seed: int, inputs: int, region: InputRegion) -> Pair:
    """Two steps against one, on a region that need not be a polytope."""
    rng = random.Random(seed)
    atoms = [random_atom(rng, inputs, 2) for _ in range(2)]
    question = pwa_question(
        atoms,
        reference([random_atom(rng, inputs, 2)], [0]),
        dimension=2,
        inputs=inputs,
        region=region,
        norm=rng.choice([L1, L2, LINF]),
    )
    return pair_of(question, [0, 1])


def some_box(rng: random.Random, inputs: int) -> tuple[list[Fraction], list[Fraction]]:
    """A box about the size of the regions, now and then without a width along an input."""
    middle = [Fraction(rng.randint(-6, 6), 5) for _ in range(inputs)]
    reach = [Fraction(rng.randint(0, 5), 7) for _ in range(inputs)]
    ends = list(zip(middle, reach, strict=True))
    return [m - r for m, r in ends], [m + r for m, r in ends]


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 8), ball=st.booleans())
def test_no_input_of_the_part_exceeds_the_bound(seed: int, inputs: int, ball: bool) -> None:
    rng = random.Random(seed)
    region: InputRegion
    if ball:
        center = [Fraction(rng.randint(-2, 2), 3) for _ in range(inputs)]
        region = BallRegion("ball", vector(center), Fraction(rng.randint(2, 6), 4))
    else:
        region = random_region(rng, inputs) if inputs < 5 else box([-1] * inputs, [1] * inputs)
    pair = random_case(seed, inputs, region)
    inside = pair.anywhere
    low, high = some_box(rng, inputs)
    bound = region_bound(*pair.maps, low, high, inside, pair.norm)
    assert bound <= box_bound(*pair.maps, low, high, pair.norm)
    for _ in range(60):
        shares = [rng.choice([0, 1, rng.random()]) for _ in range(inputs)]
        y = [a + Fraction(s) * (b - a) for s, a, b in zip(shares, low, high, strict=True)]
        point = homogeneous(y)
        if inside.contains(point):
            assert error(pair, point) <= bound


def linear(rows: list[list[int]], region: InputRegion, norm: Norm) -> Pair:
    """``rows y`` against 0."""
    inputs = len(rows[0])
    zero = [[0] * inputs] * len(rows)
    question = pwa_question(
        [atom(rows)],
        reference([atom(zero)], [0]),
        dimension=len(rows),
        inputs=inputs,
        region=region,
        norm=norm,
    )
    return pair_of(question, [0])


def bound_of(pair: Pair, low: list[int], high: list[int]) -> Fraction:
    """The bound on a box."""
    return region_bound(
        *pair.maps, list(map(Fraction, low)), list(map(Fraction, high)), pair.anywhere, pair.norm
    )


@pytest.mark.parametrize("inputs", [2, 3, 6, 7, 12])
def test_a_sum_over_a_ball_touches_the_tangent(inputs: int) -> None:
    """On ``[0, 1]^p`` within the unit ball ``y_1 + .. + y_p`` is at most the root of p."""
    pair = linear([[1] * inputs], BallRegion("ball", None, Fraction(1)), LINF)
    found = bound_of(pair, [0] * inputs, [1] * inputs)
    assert found**2 >= inputs
    assert float(found) == pytest.approx(math.sqrt(inputs), rel=1e-12)


@pytest.mark.parametrize("inputs", [2, 4, 7, 9])
def test_a_linear_function_over_a_cut_corner(inputs: int) -> None:
    """``2 y_1 + y_2 + .. + y_p`` on ``[0, 1]^p`` with ``sum y <= 1``: 2, against p + 1 without."""
    pair = linear([[2] + [1] * (inputs - 1)], region_of(inputs), LINF)
    found = bound_of(pair, [0] * inputs, [1] * inputs)
    assert 2 <= found <= 2 + TINY


def region_of(inputs: int) -> InputRegion:
    """A simplex, where its corners can still be enumerated; else a ball that cuts the same way."""
    if inputs <= 4:
        return simplex_region(inputs)
    # The ball touches ``sum y = 1`` from below at its nearest point to the cube's diagonal.
    radius = Fraction(1 << 60)
    root = math.isqrt(inputs << 400)  # the root of p times 2**200, rounded down
    shift = (1 - radius * Fraction(root + 1, 1 << 200)) / inputs
    return BallRegion("ball", vector([shift] * inputs), radius)


@pytest.mark.parametrize("inputs", [1, 3, 7])
def test_a_box_inside_is_bounded_as_it_stands(inputs: int) -> None:
    pair = linear([[1] * inputs, [2] * inputs], BallRegion("ball", None, Fraction(inputs)), L2)
    low, high = [Fraction(-1, 2)] * inputs, [Fraction(1, 2)] * inputs
    found = region_bound(*pair.maps, low, high, pair.anywhere, L2)
    assert found == box_bound(*pair.maps, low, high, L2)


@pytest.mark.parametrize("inputs", [2, 7])
def test_a_box_beyond_the_region_holds_no_error(inputs: int) -> None:
    pair = linear([[1] * inputs], BallRegion("ball", None, Fraction(1)), L1)
    assert bound_of(pair, [2] * inputs, [3] * inputs) == 0


def test_the_best_of_several_half_spaces_is_taken() -> None:
    """Both the wide and the narrow cut are half-spaces of the region; the narrow one decides."""
    pair = linear([[1, 1]], box([-4, -4], [Fraction(1, 4), 4]), LINF)
    found = bound_of(pair, [0, 0], [1, 5])
    # Cut by y_1 <= 1/4 alone it is 21/4, by y_2 <= 4 alone 5.
    assert 5 <= found <= 5 + TINY


def test_the_cost_of_cuts_counts_every_vertex() -> None:
    assert cut_cost(3, 2) == (MAX_CUTS + 1) * (8 + 12) * 2
    assert cut_cost(10, 2) == (MAX_CUTS + 1) * 10 * 2

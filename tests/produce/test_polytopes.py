"""Exact cells in any dimension: complete, conforming, affine, and their maximum the true one."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from map_pairs import (
    Pair,
    brute_force,
    pair_of,
    pattern_count,
    random_pair,
    sampled,
    simplex_region,
)
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.check.registry import check_claim
from qreplace.claims.pwa_supremum import CellCover, PwaSupremumClaim, ScheduleMap
from qreplace.errors import InputError, ProducerFailed
from qreplace.produce.cells import Subdivision, largest_difference, subdivide
from qreplace.produce.polytopes import joint_cells, orientation, subdivide_polytope
from qreplace.question.maps import Point, PwaMap, crossing, rational_point
from qreplace.question.model import PwaAtom
from qreplace.question.norms import norm_bounds
from qreplace.question.regions import Polytope, box_region

SHAPES = {1: (4, 2), 2: (3, 2), 3: (2, 2), 4: (2, 1)}
"""Steps and state width that brute force still manages, by the number of inputs."""

Facet = tuple[int, ...]


def volume(points: list[Point], simplex: tuple[int, ...]) -> Fraction:
    """``p!`` times the signed volume of a simplex."""
    first, *rest = (rational_point(points[v]) for v in simplex)
    rows = [[a - b for a, b in zip(q, first, strict=True)] for q in rest]
    value = Fraction(1)
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], value = rows[pivot], rows[k], -value
        value *= rows[k][k]
        for r in range(k + 1, len(rows)):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return value


def left_over(cells: list[tuple[int, ...]]) -> dict[Facet, int]:
    """How often each oriented facet is left once opposite ones have cancelled."""
    nets: Counter[Facet] = Counter()
    for cell in cells:
        for i in range(len(cell)):
            facet = cell[:i] + cell[i + 1 :]
            pairs = [(a, b) for k, a in enumerate(facet) for b in facet[k + 1 :]]
            swaps = sum(a > b for a, b in pairs)
            nets[tuple(sorted(facet))] += (-1) ** (i + swaps)
    return {facet: net for facet, net in nets.items() if net}


def blend(points: list[Point], weights: list[int]) -> Point:
    """A homogeneous point inside a simplex: its vertices with these weights."""
    common = math.lcm(*(q[-1] for q in points))
    rows = [[w * x * (common // q[-1]) for x in q] for w, q in zip(weights, points, strict=True)]
    return tuple(map(sum, zip(*rows, strict=True)))


def assert_sound(pair: Pair, found: Subdivision) -> None:
    """The simplices cover the region once, meet in whole facets, and both maps are affine on each.

    Volumes add up to that of the region, which is found from the corners alone.
    """
    points, p = found.points(), pair.region.inputs
    total = Fraction(0)
    for cell in found.cells:
        assert len(set(cell)) == p + 1
        size = volume(points, cell)
        assert size * (-1) ** p > 0
        total += abs(size)
    assert total == region_volume(pair.region)
    for facet in left_over(found.cells):
        assert pair.region.avoids([points[v] for v in facet])
    rng = random.Random(len(found.cells))
    for cell in found.cells:
        weights = [rng.randint(1, 9) for _ in cell]
        inside = blend([points[v] for v in cell], weights)
        for one in pair.maps:
            values = [one.value(points[v]) for v in cell]
            mean = tuple(
                sum(w * x for w, x in zip(weights, column, strict=True)) / Fraction(sum(weights))
                for column in zip(*values, strict=True)
            )
            assert one.value(inside) == mean


def region_volume(region: Polytope) -> Fraction:
    """``p!`` times the volume of a box, minus the corner that one more half-space cuts off."""
    sides = [b - a for a, b in zip(*region.box, strict=True)]
    whole = math.factorial(region.inputs) * math.prod(sides, start=Fraction(1))
    if len(region.halfspaces) == 2 * region.inputs:
        return whole
    if len(region.halfspaces) == region.inputs + 1:
        return Fraction(1)
    # What lies beyond the cut is inclusion-exclusion over the corners of the box: half-spaces of
    # positive coefficients cut off ``sum over corners of (-1)^k max(excess, 0)^p / prod a``.
    *normal, offset = region.halfspaces[-1]
    beyond = Fraction(0)
    for choice in range(1 << region.inputs):
        ends = [region.box[1 - (choice >> i & 1)][i] for i in range(region.inputs)]
        excess = sum((a * x for a, x in zip(normal, ends, strict=True)), Fraction(-offset))
        beyond += (-1) ** choice.bit_count() * max(excess, Fraction(0)) ** region.inputs
    return whole - beyond / math.prod(normal)


@settings(max_examples=16)
@given(seed=st.integers(0, 10**6), inputs=st.sampled_from([1, 1, 2, 2, 2, 3, 3, 4]))
def test_largest_difference_is_that_of_all_sign_patterns(inputs: int, seed: int) -> None:
    steps, width = SHAPES[inputs]
    pair = random_pair(seed, inputs, steps=steps, width=width)
    found = subdivide_polytope(pair.maps, pair.region)
    largest = largest_difference(found, pair.maps, norm=pair.norm)
    assert largest.value == brute_force(pair)
    assert largest.vertex in found.cells[largest.cell]


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_cells_cover_once_and_maps_are_affine_on_each(inputs: int, seed: int) -> None:
    pair = random_pair(seed, inputs, steps=min(4, 6 - inputs), width=2 if inputs < 4 else 1)
    assert_sound(pair, subdivide_polytope(pair.maps, pair.region))


@pytest.mark.parametrize("inputs", [5, 6])
def test_five_and_six_inputs(inputs: int) -> None:
    """A kink through the middle of the cube, off its vertices."""
    relu = atom([[1] * inputs], activation="relu", thresholds=None, bias=[Fraction(1, 2)])
    pair = against_zero(relu, inputs)
    assert cells_of(pair) == 2


def test_a_simplex_of_four_inputs() -> None:
    pair = random_pair(7, 4, steps=1, width=2, region=simplex_region(4))
    assert cells_of(pair) > 1


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_no_cell_is_cut_without_need(seed: int) -> None:
    pair = random_pair(seed, 2, steps=3, width=2)
    assert len(joint_cells(pair.maps, pair.region).cells) <= pattern_count(pair)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_two_inputs_agree_with_the_planar_enumerator(seed: int) -> None:
    pair = random_pair(seed, 2, steps=4, width=2)
    corners = pair.region.corners
    assert corners is not None
    planar = largest_difference(subdivide(pair.maps, corners), pair.maps, norm=pair.norm)
    found = subdivide_polytope(pair.maps, pair.region)
    assert largest_difference(found, pair.maps, norm=pair.norm).value == planar.value


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 4))
def test_no_sample_exceeds_the_maximum(seed: int, inputs: int) -> None:
    pair = random_pair(seed, inputs, steps=3, width=2 if inputs < 4 else 1)
    found = subdivide_polytope(pair.maps, pair.region)
    upper = largest_difference(found, pair.maps, norm=pair.norm).upper
    one, other = pair.maps
    for point in sampled(pair, random.Random(seed), 200):
        gap = [a - b for a, b in zip(one.value(point), other.value(point), strict=True)]
        unit = math.lcm(*(g.denominator for g in gap))
        lower, _ = norm_bounds(pair.norm, [int(g * unit) for g in gap], unit)
        assert lower <= upper


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), inputs=st.integers(1, 4))
def test_vertices_are_those_that_the_claim_names(seed: int, inputs: int) -> None:
    """What is interpolated along edges equals a fresh evaluation of the true maps."""
    pair = random_pair(seed, inputs, steps=2, width=2)
    found = subdivide_polytope(pair.maps, pair.region)
    points = list(found.corners)
    kinks = [(one, kink) for one in pair.maps for kink in one.kinks]
    for a, b, number in found.crossings:
        one, kink = kinks[number]
        at = [one.kink_value(kink, one.trace(points[v]), points[v]) for v in (a, b)]
        points.append(crossing(points[a], at[0], points[b], at[1]))
    assert points == found.points()
    for vertex, point in enumerate(points):
        for index, one in enumerate(pair.maps):
            assert found.exact.final(vertex, index) == one.trace(point).final


@pytest.mark.parametrize("inputs", [1, 3, 4])
def test_checker_accepts_the_cover(inputs: int) -> None:
    pair = random_pair(11, inputs, steps=2, width=2)
    found = subdivide_polytope(pair.maps, pair.region)
    assert len(found.cells) > 1
    largest = largest_difference(found, pair.maps, norm=pair.norm)
    claim = PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1",
        pair.subject.problem_digest(0),
        0,
        ScheduleMap("schedule", pair.schedule),
        largest.lower,
        rational_point(largest.point),
        largest.upper,
        CellCover(
            "cells",
            tuple(map(rational_point, found.corners)),
            tuple(found.crossings),
            tuple(found.cells),
        ),
    )
    bounds = {bound.side: bound.value for bound in check_claim(pair.subject, claim)}
    assert bounds == {"lower": largest.lower, "upper": largest.upper}


# --- degenerate systems ---------------------------------------------------------------------------


def against_zero(own: PwaAtom, inputs: int, width: int = 1) -> Pair:
    """One step of an atom on the cube [-1, 1]^p, against nothing."""
    zero = atom([[0] * inputs] * width, thresholds=[0])
    question = pwa_question(
        [own],
        reference([zero], [0]),
        dimension=width,
        inputs=inputs,
        region=box([-1] * inputs, [1] * inputs),
    )
    return pair_of(question, [0])


def degenerate(inputs: int, rows: list[list[int]], threshold: Fraction) -> Pair:
    """One step of a soft threshold on the cube."""
    return against_zero(atom(rows, thresholds=[threshold]), inputs, len(rows))


def cells_of(pair: Pair) -> int:
    """The number of joint cells, once their simplices are found sound."""
    assert_sound(pair, subdivide_polytope(pair.maps, pair.region))
    return len(joint_cells(pair.maps, pair.region).cells)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_zero_matrices_cut_nothing(inputs: int) -> None:
    assert cells_of(degenerate(inputs, [[0] * inputs], Fraction(1, 2))) == 1


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_threshold_zero_bends_nothing(inputs: int) -> None:
    assert cells_of(degenerate(inputs, [[1] * inputs], Fraction(0))) == 1


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_coincident_kinks_cut_once(inputs: int) -> None:
    rows = [[1] * inputs, [1] * inputs, [-1] * inputs]
    assert cells_of(degenerate(inputs, rows, Fraction(1, 2))) == 3


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_a_kink_through_corners_only_touches(inputs: int) -> None:
    """``|y_1 + .. + y_p| = p`` meets the cube in two corners."""
    assert cells_of(degenerate(inputs, [[1] * inputs], Fraction(inputs))) == 1


@pytest.mark.parametrize("inputs", [2, 3, 4])
def test_a_kink_through_many_vertices_makes_none(inputs: int) -> None:
    """A cut along a diagonal: ``y_1 - y_2`` at levels 0 passes through corners alone."""
    relu = atom([[1, -1] + [0] * (inputs - 2)], activation="relu", thresholds=None)
    pair = against_zero(relu, inputs)
    assert cells_of(pair) == 2
    assert joint_cells(pair.maps, pair.region).crossings == ()


@pytest.mark.parametrize("inputs", [2, 3])
def test_kinks_that_meet_in_one_point(inputs: int) -> None:
    """More hyperplanes through the origin than the dimension: degenerate vertices everywhere.

    A line through the origin parts each of the plane's parts that it crosses: 2, 4, 6, 8. In space
    the coordinate planes leave 8 parts, the fourth meets them in 3 lines (6 more), and the fifth
    meets the four in 3 lines again, since two of them coincide there.
    """
    rows = [[int(i == j) for j in range(inputs)] for i in range(inputs)]
    rows += [[1] * inputs, [1, -1] + [0] * (inputs - 2)]
    relus = atom(rows, activation="relu", thresholds=None, output=[[1] * len(rows)])
    pair = against_zero(relus, inputs)
    assert cells_of(pair) == {2: 8, 3: 20}[inputs]


# --- refusals -------------------------------------------------------------------------------------


def test_too_many_cells_are_refused_by_name() -> None:
    pair = random_pair(5, 3, steps=2, width=2)
    count = len(joint_cells(pair.maps, pair.region).cells)
    assert count > 4
    with pytest.raises(ProducerFailed, match="more than 4 cells on the region"):
        subdivide_polytope(pair.maps, pair.region, max_cells=4)
    with pytest.raises(ProducerFailed, match=f"more than {count} simplices on the region"):
        subdivide_polytope(pair.maps, pair.region, max_cells=count)


def test_a_region_without_known_corners_is_refused() -> None:
    pair = against_zero(atom([[1] * 13]), 13)
    with pytest.raises(ProducerFailed, match="too many corners"):
        subdivide_polytope(pair.maps, pair.region)


def test_maps_of_other_inputs_are_refused() -> None:
    maps: list[PwaMap] = list(random_pair(3, 2, steps=1, width=1).maps)
    with pytest.raises(InputError, match=r"3 inputs need maps of as many, received \[2, 2\]"):
        subdivide_polytope(maps, box_region([Fraction(0)] * 3, [Fraction(1)] * 3))


def test_orientation_is_the_sign_of_the_volume() -> None:
    points: list[Point] = [(0, 0, 1), (1, 0, 1), (0, 1, 1), (2, 0, 2)]
    assert orientation([points[0], points[1], points[2]]) == 1
    assert orientation([points[0], points[2], points[1]]) == -1
    assert orientation([points[0], points[1], points[3]]) == 0

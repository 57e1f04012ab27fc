"""Covering radii, packing and allocation against enumeration and sampling."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.exact.fixed_teacher import teacher_error
from qreplace.question.model import ParameterFamily, ParameterGroup
from qreplace.radii.coverings import (
    allocate,
    allocation_converse,
    configurations,
    covering,
    first_family_depth,
)

F = Fraction
NORMS = ("linf", "l1", "l2")


def family(widths: list[Fraction], norm: str = "linf") -> ParameterFamily:
    return ParameterFamily(tuple(ParameterGroup(w, 1) for w in widths), norm)  # type: ignore[arg-type]


def size(errors: list[float], norm: str) -> float:
    if norm == "linf":
        return max(map(abs, errors))
    return sum(map(abs, errors)) if norm == "l1" else math.sqrt(sum(e * e for e in errors))


widths = st.lists(
    st.builds(Fraction, st.integers(0, 12), st.integers(1, 8)), min_size=1, max_size=4
)


@settings(max_examples=150)
@given(widths, st.integers(0, 8), st.sampled_from(NORMS))
def test_no_split_of_the_bits_over_the_coordinates_is_better(
    own: list[Fraction], bits: int, norm: str
) -> None:
    found = covering(family(own, norm), bits)
    assert found.bits <= bits
    spent = [(w, b) for w, b, count in found.groups for _ in range(count)]
    assert sorted(w for w, _ in spent) == sorted(own)
    assert sum(b for _, b in spent) == found.bits
    best = min(
        size([float(w) / 2**b for w, b in zip(own, split, strict=True)], norm)
        for split in itertools.product(range(bits + 1), repeat=len(own))
        if sum(split) <= bits
    )
    assert abs(float(found.radius) - best) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_points_of_the_family_are_within_the_radius_of_the_grid(norm: str) -> None:
    """10,000 parameters: each is coded to the middle of its cell."""
    rng = random.Random(5)
    own = [F(1), F(1, 2), F(3, 4), F(1, 8), F(2)]
    found = covering(family(own, norm), 11)
    cells = [(float(w), b) for w, b, count in found.groups for _ in range(count)]
    worst = 0.0
    for _ in range(10_000):
        errors = []
        for width, bits in cells:
            value = rng.uniform(-width, width)
            cell = 2 * width / 2**bits
            middle = -width + (min(int((value + width) / cell), 2**bits - 1) + 0.5) * cell
            errors.append(value - middle)
        worst = max(worst, size(errors, norm))
    assert worst <= float(found.radius) + 1e-12
    assert worst >= 0.7 * float(found.radius)


def test_many_coordinates_of_one_width_stay_together() -> None:
    big = ParameterFamily((ParameterGroup(F(1, 2), 100_000),), "linf")
    found = covering(big, 250_000)
    assert found.groups == ((F(1, 2), 2, 50_000), (F(1, 2), 3, 50_000))
    assert found.radius == F(1, 8)
    assert covering(big, 300_000).radius == F(1, 16)


@given(st.integers(1, 5000), st.integers(0, 6), st.integers(1, 5))
def test_counting_is_whole(targets: int, bits: int, atoms: int) -> None:
    found = first_family_depth(targets, bits, atoms)
    reach = [configurations(bits, atoms, depth) for depth in range(16)]
    assert reach == [2**bits * atoms**depth for depth in range(16)]
    enough = [depth for depth, count in enumerate(reach) if count >= targets]
    assert found == (enough[0] if enough else None)


def test_a_family_that_is_spread_out_is_missed_by_somebody() -> None:
    """Two atoms, 3 steps: at most 8 endpoints, so of 9 targets that are far apart one is missed."""
    ends = {sum(F(q, 3) for q in s) for s in itertools.product((0, 1), repeat=3)}
    targets = [F(k, 8) for k in range(9)]
    error = F(1, 20)  # 1/8 > 2/20: pairwise more than twice apart
    missed = [t for t in targets if min(abs(t - x) for x in ends) > error]
    assert missed
    assert first_family_depth(len(targets), 0, 2) == 4 > 3


@given(
    st.integers(1, 400), st.integers(1, 3), st.sampled_from([F(1, 4), F(1), F(3)]),
    st.sampled_from([F(1), F(2), F(5, 2)]),
)  # fmt: skip
def test_an_allocation_keeps_its_guarantee(
    total: int, dimension: int, constant: Fraction, step: Fraction
) -> None:
    """Excess = C_meta 2^(-s/dim) + C_syn / D: below (2 C_syn l + 1) / B where that is promised."""
    synthesis = F(2)
    try:
        found = allocate(
            total, dimension=dimension, metadata_constant=constant, step_bits=step,
            synthesis_constant=synthesis,
        )  # fmt: skip
    except InputError:
        return
    assert found.bits + step * found.depth <= total < found.bits + step * (found.depth + 1)
    wanted = (constant * total) ** dimension
    assert 2**found.bits >= wanted or found.bits == 0
    assert found.bits == 0 or 2 ** (found.bits - 1) < wanted
    if found.guarantee is not None:
        excess = float(constant) * 2 ** (-found.bits / dimension) + float(synthesis) / found.depth
        assert excess <= float(found.guarantee) + 1e-12


def test_no_split_beats_the_converse_of_the_fixed_teacher() -> None:
    for total in (4, 9, 30):
        least = min(teacher_error(F(1), depth)[0] for depth in range(1, total + 1))
        assert allocation_converse(F(1), F(1), total) <= least
    assert allocation_converse(F(1), F(1), 30) > F(9, 10) * teacher_error(F(1), 30)[0]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="bits"):
        covering(family([F(1)]), -1)
    with pytest.raises(InputError, match="at least one target"):
        first_family_depth(0, 1, 1)
    with pytest.raises(InputError, match="leave no step"):
        allocate(4, dimension=9, metadata_constant=F(9), step_bits=F(1), synthesis_constant=F(1))
    with pytest.raises(InputError, match="positive"):
        allocation_converse(F(0), F(1), 1)


def test_a_coded_dictionary_moves_the_endpoint_by_no_more_than_the_radius() -> None:
    """10,000 random systems z' = A z + b_j in linf, offsets coded to the grid (T5.1, L_Omega 1)."""
    rng = np.random.default_rng(51)
    ratios = []
    for _ in range(100):
        depth, q, atoms, cases = int(rng.integers(1, 24)), 3, 3, 100
        matrix = rng.uniform(-1, 1, (cases, q, q)) - 2 * rng.random() * np.eye(q)
        half = float(rng.uniform(0.1, 2))
        found = covering(ParameterFamily((ParameterGroup(F(half), q * atoms),), "linf"), 45)
        delta = float(found.radius)
        offsets = rng.uniform(-half, half, (cases, atoms, q))
        coded = np.clip(offsets + rng.uniform(-delta, delta, offsets.shape), -half, half)
        step = 1 / depth
        euler = np.eye(q) + step * matrix
        kappa = np.abs(euler).sum(axis=2).max(axis=1)
        schedule = rng.integers(0, atoms, depth)
        states = [np.zeros((cases, q)) for _ in range(2)]
        growth = np.zeros(cases)
        for pick in schedule:
            for place, own in enumerate((offsets, coded)):
                states[place] = np.einsum("cij,cj->ci", euler, states[place]) + step * own[:, pick]
            growth = kappa * growth + step
        moved = np.abs(states[0] - states[1]).max(axis=1)
        assert (moved <= delta * growth * (1 + 1e-9) + 1e-15).all()
        ratios += list(moved / (delta * growth))
    assert 0.02 < float(np.median(ratios)) < 1

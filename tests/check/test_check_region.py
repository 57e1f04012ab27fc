"""Regions that were checked hold every trajectory; the parts' proofs are about all of them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from corpora.hjb_sos import BALL, BETWEEN, BOTH, DECAY_STEPS, KEPT, KEPT_STEPS, POSITIVE
from dynamic_questions import polynomial
from dynamic_truth import endpoints, euler_endpoints, simplex_points
from hypothesis import given, settings
from hypothesis import strategies as st
from square_claims import NOTHING, TIME, TINY, Hand, Region, box, changed

from qreplace.check.region import (
    check_box,
    check_region,
    component_range,
    constraints_of,
    side_constraint,
    time_constraint,
)
from qreplace.errors import ProducerFailed, Rejected
from qreplace.exact.intervals import range_on_cells
from qreplace.exact.polynomial import Polynomial
from qreplace.produce.tubes import find_box
from qreplace.question.dynamics import PolynomialProblem

ONE = Hand(1)


def problem_of(
    atoms: Sequence[Sequence[str]], initial: Sequence[str | int], horizon: str = "1"
) -> PolynomialProblem:
    size = len(initial)
    return PolynomialProblem(
        tuple(tuple(polynomial(text, size) for text in atom) for atom in atoms),
        tuple(map(Fraction, initial)),
        (Fraction(0),) * size,
        Fraction(horizon),
    )


DECAY = problem_of([["-z1"], ["1 - z1"]], [0])
CIRCLE = problem_of([["-z2", "z1"], ["z2", "-z1"]], [1, 0])


def least(constraints: Sequence[Polynomial], time: float, states: np.ndarray) -> float:
    """The smallest value of any constraint at some states."""
    points = [[Fraction(time), *map(Fraction, map(float, state))] for state in states]
    return min(float(g.at(point)) for g in constraints for point in points)


@pytest.mark.parametrize(
    ("problem", "region"), [(DECAY, KEPT), (CIRCLE, (BALL,))], ids=["interval", "ball"]
)
def test_relaxed_trajectories_keep_their_constraints(
    problem: PolynomialProblem, region: Region
) -> None:
    constraints = check_region(problem, region, None)
    generator = np.random.default_rng(3)
    weights = generator.dirichlet(np.ones(len(problem.atoms)) / 3, (40, 6))
    for cells in range(1, 7):
        shorter = changed(problem, horizon=problem.horizon * cells / 6)
        states = endpoints(shorter, weights[:, :cells])
        assert least(constraints, cells / 6, states) > -1e-9


def test_euler_trajectories_keep_their_constraints() -> None:
    constraints = check_region(DECAY, KEPT_STEPS, 2)
    every = np.array([(a, b) for a in (0, 1) for b in (0, 1)])
    half = changed(DECAY, horizon=Fraction(1, 2))
    assert least(constraints, 0.5, euler_endpoints(half, every[:, :1])) > -1e-12
    assert least(constraints, 1.0, euler_endpoints(DECAY, every)) > -1e-12
    # Proofs for one depth are no proofs for another, nor for the flow itself.
    for depth in (1, 3, None):
        with pytest.raises(Rejected):
            check_region(DECAY, KEPT_STEPS, depth)
    with pytest.raises(Rejected):
        check_region(DECAY, KEPT, 2)


COEFFICIENTS = st.sampled_from(["-1", "-1/2", "0", "1/3", "1"])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(*[COEFFICIENTS] * 6), min_size=1, max_size=3),
    st.fractions(1, 3, max_denominator=2),
    st.sampled_from([None, 1, 3]),
)
def test_accepted_boxes_hold_random_trajectories(
    rows: list[tuple[str, ...]], side: Fraction, depth: int | None
) -> None:
    """Planar cubic fields: whenever a box passes, no mixed or Euler trajectory is outside."""
    atoms = [
        [f"1/2*(({a}) + ({b})*z2 + ({c})*z1^2)", f"1/2*(({d})*t + ({e})*z1*z2 + ({f})*z1^3)"]
        for a, b, c, d, e, f in rows
    ]
    problem = problem_of(atoms, [0, "1/2"], "1/2")
    part = box([-side] * 2, [side] * 2, (1, 2, 2))
    try:
        constraints = check_region(problem, (TIME, part), depth)
    except Rejected as error:
        assert error.message == "a trajectory can leave the box"
        return
    count = len(atoms)
    if depth is None:
        weights = np.repeat(simplex_points(count, 2)[:, None], 4, axis=1)
        pure = np.eye(count)[np.random.default_rng(1).integers(0, count, (20, 4))]
        states = np.concatenate([endpoints(problem, weights), endpoints(problem, pure)])
    else:
        schedules = np.random.default_rng(1).integers(0, count, (20, depth))
        states = euler_endpoints(problem, schedules)
    assert least(constraints, 0.5, states) > -1e-9


def test_the_least_box() -> None:
    """``x' = 1 + x/2`` with one slice of time needs a side R with ``1 + R/2 <= R``.

    More slices need less, down to the reach ``2 (e^{1/2} - 1) < 1.2975`` itself.
    """
    problem = problem_of([["1 + 1/2*z1"], ["-1 - 1/2*z1"]], [0])
    check_box(problem, box([-2], [2]), "")
    with pytest.raises(Rejected, match="can leave the box"):
        check_box(problem, box([TINY - 2], [2 - TINY]), "")
    check_box(problem, box([Fraction(-7, 5)], [Fraction(7, 5)], (32, 1)), "")
    for slices in (1, 32, 1024):
        with pytest.raises(Rejected, match="can leave the box"):
            check_box(problem, box([Fraction(-5, 4)], [Fraction(5, 4)], (slices, 1)), "")


def test_walls_hold_what_speeds_do_not() -> None:
    """``x' = u - x`` keeps [0, 1] for ever; an Euler step does up to size 1."""
    problem = dataclasses.replace(problem_of([["-z1"], ["1 - z1"]], [0]), horizon=Fraction(3))
    unit = box([0], [1])
    check_box(problem, unit, "")
    for depth in (3, 4, 100):
        check_box(problem, unit, "", depth)
    for depth in (1, 2):
        with pytest.raises(Rejected, match="can leave the box"):
            check_box(problem, unit, "", depth)
    with pytest.raises(Rejected, match="can leave the box"):
        check_box(problem, box([0], [1 - TINY]), "")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, 2, 5]))
def test_no_trajectory_leaves_a_box_that_was_found(seed: int, depth: int | None) -> None:
    """Random cubic fields, long horizons: what ``find_box`` proposes and ``check_box`` shows."""
    draw = random.Random(seed)
    texts = [
        [f"{draw.randint(-2, 2)} - {draw.randint(0, 3)}*z1 - {draw.randint(0, 2)}*z1^3 + z2/4",
         f"{draw.randint(-2, 2)} - z2 + ({draw.randint(-2, 2)})/8*z1"]
        for _ in range(2)
    ]  # fmt: skip
    problem = dataclasses.replace(problem_of(texts, ["1/4", 0]), horizon=Fraction(2))
    try:
        part = find_box(problem, depth)
    except ProducerFailed:
        return
    check_box(problem, part, "", depth)
    steps = depth or 400
    state = [0.25, 0.0]
    for step in range(steps):
        weight = draw.random() if depth is None else float(draw.randint(0, 1))
        point = [step * 2 / steps, *state]
        speeds = [
            sum(
                share * sum(
                    float(c) * math.prod(x**e for x, e in zip(point, powers, strict=True))
                    for powers, c in zip(atom[i].exponents, atom[i].coefficients, strict=True)
                )
                for share, atom in zip((weight, 1 - weight), problem.atoms, strict=True)
            )
            for i in range(2)
        ]  # fmt: skip
        state = [z + 2 / steps * speed for z, speed in zip(state, speeds, strict=True)]
        room = 1e-9 if depth else 1e-2  # a float Euler run stands in for the flow
        for z, low, high in zip(state, part.lower, part.upper, strict=True):
            assert float(low) - room <= z <= float(high) + room


def test_cutting_is_along_variables_that_occur() -> None:
    problem = problem_of([["z1 - z1^2", "1"]], ["1/2", 0])
    sides = ((Fraction(0), Fraction(1)),) * 3
    whole = component_range(problem, sides, (1, 1, 1), 0)
    cut = component_range(problem, sides, (1, 8, 1), 0)
    assert whole[0] <= cut[0] <= 0 and Fraction(1, 4) <= cut[1] < whole[1]
    same = component_range(problem, sides, (8, 8, 8), 0)
    assert same == cut == range_on_cells(problem.atoms[0][0], sides, (1, 8, 1))
    assert component_range(problem, sides, (8, 8, 8), 1) == (1, 1)


def test_constraints_are_numbered_by_part() -> None:
    region: Region = (TIME, box([-1, 0], [1, 3]), BALL)
    found = constraints_of(CIRCLE, region)
    assert found == [
        time_constraint(Fraction(1), 3),
        side_constraint(1, Fraction(-1), Fraction(1), 3),
        side_constraint(2, Fraction(0), Fraction(3), 3),
        BALL.constraint,
    ]
    assert found[0] == polynomial("t - t^2", 2)
    assert found[2] == polynomial("3*z2 - z2^2", 2)


def test_no_region_is_the_whole_space() -> None:
    assert check_region(CIRCLE, (), None) == []


def test_an_implied_constraint_may_serve_an_earlier_invariant() -> None:
    """Substituting it leaves the others' multipliers not negative: the system is still monotone.

    ``x (1 - x)`` follows from ``x`` and ``1 - x``; ``x``' s own proof may name it.
    """
    grows = problem_of([["z1 - z1^2"]], ["1/2"])
    below = ONE.invariant("1 - z1", [NOTHING], ["-z1"])
    positive = ONE.invariant("z1", [ONE.combination((), {2: [(1, "1")]})], ["0"])
    between = changed(
        BETWEEN, combination=ONE.combination((), {0: [(1, "1 - z1")], 1: [(1, "z1")]})
    )
    found = check_region(grows, (positive, below, between), None)
    assert len(found) == 3
    # Alone, without what it is implied by, the proof does not stand.
    with pytest.raises(Rejected):
        check_region(grows, (positive, below), None)


def test_a_constraint_where_the_gradient_vanishes() -> None:
    """``-x^2 >= 0`` holds at 0 and "points inward" on its face, but ``x' = 1`` leaves at once."""
    leaving = problem_of([["1"]], [0])
    for factor in ("0", "1", "-2"):
        with pytest.raises(Rejected, match="not shown to be invariant"):
            check_region(leaving, (ONE.invariant("-z1^2", [NOTHING], [factor]),), None)


def test_steps_may_name_the_constraint_itself() -> None:
    """``x+ = x/2`` keeps ``x >= 0`` by half of itself; the flow may not argue like that."""
    halving = problem_of([["-z1"]], [1])
    itself = ONE.combination((), {0: [("1/2", "1")]})
    check_region(halving, (ONE.invariant("z1", [itself], ["0"]),), 2)
    with pytest.raises(Rejected, match="may not be used here"):
        check_region(halving, (ONE.invariant("z1", [itself], ["0"]),), None)


def test_pointers_name_the_part() -> None:
    late = changed(BOTH, combinations=(NOTHING, NOTHING))
    with pytest.raises(Rejected) as caught:
        check_region(DECAY, (*KEPT[:3], late), None, "/somewhere")
    assert caught.value.pointer == "/somewhere/3/combinations/0"
    assert DECAY_STEPS.depth == 2 and KEPT[1] == POSITIVE

"""Mixed steps enclose, their defect holds, separations stay below the truth (theory T7.11)."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from piecewise_questions import atom, box, pwa_question, reference
from random_piecewise import Floats, RandomSystem, random_system, targets

from qreplace.errors import InputError
from qreplace.question.atom_sizes import Inputs
from qreplace.question.controlled import (
    Cell,
    Controlled,
    dual_norm_upper,
    frozen_lipschitz,
    mixed_steps,
    whole_simplex,
)
from qreplace.question.input_nets import control_move, half_sides, map_move, net_points
from qreplace.question.invariant_balls import pwa_constants
from qreplace.question.maps import homogeneous
from qreplace.question.model import Norm
from qreplace.question.regions import Ball, box_region
from qreplace.question.subject import Subject

SLACK = 1e-9


def walk_of(system: RandomSystem, count: int) -> Controlled:
    problem = Subject(system.question, {}).piecewise(0)
    points = problem.witnesses or ()
    constants = pwa_constants(problem, system.norm, Inputs(points, None), pairs=False)
    steps = mixed_steps(constants, frozen_lipschitz(problem, system.norm), count)
    return Controlled(problem, system.norm, steps, points)


def mixed(system: RandomSystem, step: float, control: list[Floats]) -> Floats:
    states = np.tile(system.start, (len(system.inputs), 1))
    for weights in control:
        states = states + step * system.velocity(weights, states)
    return states


def in_cell(rng: np.random.Generator, cell: Cell) -> Floats:
    """Weights in a cell: a vertex or a mixture."""
    vertices = np.array(cell.vertices, dtype=float) / cell.denominator
    if rng.integers(2):
        return np.asarray(vertices[int(rng.integers(len(vertices)))])
    return np.asarray(rng.dirichlet(np.ones(len(vertices))) @ vertices)


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_separations_and_enclosures(seed: int) -> None:
    """For random cells, every control in them misses by no less, and no more, than is said."""
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    count = int(rng.integers(1, 5))
    walk = walk_of(system, count)
    for step in range(count):
        cell = whole_simplex(len(system.atoms))
        for _ in range(int(rng.integers(0, 5))):
            cell = cell.halves()[int(rng.integers(2))]
        walk.set_cell(step, cell)
    size = len(system.start)
    aim = targets(Subject(system.question, {}), system.inputs)
    used = sorted(rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist())
    functional = [(i, tuple(int(x) for x in rng.integers(-9, 10, size))) for i in used]
    lower = float(walk.error_lower(functional))
    uppers = [float(walk.error_upper(i)) for i in used]
    for _ in range(12):
        control = [in_cell(rng, walk.cell(k)) for k in range(count)]
        missed = system.sizes(mixed(system, float(walk.steps.step), control) - aim)[used]
        scale = 1 + float(np.abs(aim).max())
        assert lower <= missed.max() + SLACK * scale
        assert (missed <= np.array(uppers) + SLACK * scale).all()


@settings(max_examples=120)
@given(st.integers(0, 10**6))
def test_support_along_any_functional(seed: int) -> None:
    """Wide cells, strong state dependence, every vertex control: nothing goes further."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, contractive=False, largest=2, horizon=Fraction(3, 2))
    walk = walk_of(system, 3)
    for step in range(3):
        if rng.integers(2):
            walk.set_cell(step, walk.cell(step).halves()[int(rng.integers(2))])
    size = len(system.start)
    vertices = [np.array(walk.cell(k).vertices) / walk.cell(k).denominator for k in range(3)]
    controls = [list(control) for control in itertools.product(*vertices)]
    controls += [[in_cell(rng, walk.cell(k)) for k in range(3)] for _ in range(6)]
    ends = [mixed(system, float(walk.steps.step), control) for control in controls]
    for _ in range(6):
        row = rng.integers(-9, 10, (3, size))
        functional = [(i, tuple(int(x) for x in row[i])) for i in range(3)]
        best = max(float((row * end).sum()) for end in ends)
        assert best <= float(walk.support_upper(functional)) + SLACK * (1 + abs(best))


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_at_one_control_both_bounds_meet(seed: int) -> None:
    """A cell of one point leaves no spread: the separation is the functional's own value."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, norm=LINF)
    walk = walk_of(system, 3)
    shares = np.full(len(system.atoms), 1 / len(system.atoms))
    weights = tuple(int(x) for x in rng.multinomial(8, shares))
    for step in range(3):
        walk.set_cell(step, Cell((weights,), 8))
    unit = [tuple(int(a == b) for a in range(len(system.start))) for b in range(len(system.start))]
    for index in range(3):
        signed = [tuple(s * x for x in row) for row in unit for s in (1, -1)]
        best = max(walk.error_lower([(index, row)]) for row in signed)
        upper = walk.error_upper(index)
        assert best <= upper <= best + Fraction(1, 2**30)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_the_defect_holds(seed: int) -> None:
    """Relaxed endpoints against mixed steps of the weighted averages of their controls."""
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    count, parts = int(rng.integers(1, 4)), 4
    try:
        walk = walk_of(system, count)
    except InputError:
        return
    problem = walk.problem
    mu = float(max(min(f.atom.leak for f in problem.fields), Fraction(0)))
    h = system.horizon / count
    control = system.control(rng, count * parts)
    end = system.relaxed(control, 40)[-1]
    averages = []
    for k in range(count):
        ends = np.linspace(0, h, parts + 1)
        heavy = np.exp(-mu * (h - ends))
        gains = np.diff(heavy) / mu if mu else np.diff(ends)
        rows = np.array(control[k * parts : (k + 1) * parts])
        averages.append(gains @ rows / gains.sum())
    apart = system.sizes(mixed(system, float(walk.steps.step), averages) - end)
    assert apart.max() <= float(walk.steps.defect) + 1e-6 * (1 + np.abs(end).max())


def test_without_state_dependence_one_step_is_exact() -> None:
    atoms = [atom([[1]], leak="1/2"), atom([[-2]], leak="1/2")]
    question = pwa_question(
        atoms,
        reference(atoms, [0]),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
        norm=LINF,
    )
    problem = Subject(question, {}).piecewise(0)
    constants = pwa_constants(problem, LINF, Inputs(problem.witnesses or (), None))
    for count in (1, 3):
        steps = mixed_steps(constants, frozen_lipschitz(problem, LINF), count)
        assert 0 <= steps.defect < Fraction(1, 2**70)


def test_more_steps_cost_less() -> None:
    system = random_system(np.random.default_rng(3), contractive=True, horizon=Fraction(1))
    defects = [walk_of(system, count).steps.defect for count in (1, 2, 4, 8, 16)]
    assert all(b < a * Fraction(3, 5) for a, b in itertools.pairwise(defects))


@pytest.mark.parametrize("atoms", [2, 3, 4])
def test_halves_cover_the_simplex(atoms: int) -> None:
    """Every point of a fine grid lies in one half; the longest edge is cut, ties by order."""
    whole = whole_simplex(atoms)
    first, second = whole.halves()
    assert first.vertices[0] == tuple(2 * int(j == 0) for j in range(atoms))
    assert first.vertices[1] == second.vertices[0] == (1, 1, *([0] * (atoms - 2)))
    cells = [first, second, *first.halves(), *second.halves()]
    for point in itertools.product(range(7), repeat=atoms):
        if sum(point) != 6:
            continue
        inside = [_inside(cell, point) for cell in cells]
        assert any(inside[:2]) and any(inside[2:])
    with pytest.raises(InputError, match="no halves"):
        whole_simplex(1).halves()


def _inside(cell: Cell, point: tuple[int, ...]) -> bool:
    matrix = np.array(cell.vertices, dtype=float).T / cell.denominator
    weights = np.linalg.solve(matrix, np.array(point) / 6)
    return bool((weights >= -1e-9).all())


@pytest.mark.parametrize(
    ("norm", "dual"),
    [
        (LINF, 7),
        (L1, 4),
        (weighted_linf(1, 2, 8), 3.5),
        (weighted_l1(1, 2, 8), 3),
        (L2, 5),
        (block_l2(1), 7),
        (block_l2(3), 5),
    ],
)
def test_dual_norms(norm: Norm, dual: float) -> None:
    """Of (3, 0, -4)."""
    found = float(dual_norm_upper(norm, (3, 0, -4)))
    assert dual <= found <= dual + 1e-12


def test_setting_a_cell_forgets_what_followed() -> None:
    system = random_system(np.random.default_rng(8))
    walk, fresh = walk_of(system, 3), walk_of(system, 3)
    before = walk.error_upper(0)
    half = whole_simplex(len(system.atoms)).halves()[0]
    for each in (walk, fresh):
        each.set_cell(1, half)
    assert walk.error_upper(0) == fresh.error_upper(0) <= before
    walk.forget(0)
    assert walk.error_upper(0) == fresh.error_upper(0)


# --- between the points of a net ---------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_endpoints_move_no_further_than_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, full=True)
    problem = Subject(system.question, {}).piecewise(0)
    points = problem.witnesses or ()
    constants = pwa_constants(problem, system.norm, Inputs(points, None), pairs=False)
    apart = [Fraction(int(x), 16) for x in rng.integers(0, 5, problem.inputs)]
    try:
        said = float(control_move(problem, system.norm, constants, apart))
    except InputError:
        return
    control = system.control(rng, 3)
    shift = rng.uniform(-1, 1, system.inputs.shape) * np.array([float(x) for x in apart])
    ends = [system.relaxed(control, 40, at)[-1] for at in (system.inputs, system.inputs + shift)]
    scale = 1 + float(np.abs(ends[0]).max())
    assert system.sizes(ends[1] - ends[0]).max() <= said + 1e-6 * scale
    schedule = [int(x) for x in rng.integers(0, len(system.atoms), 3)]
    student = problem.student(schedule)
    moved = float(map_move(student, system.norm, apart))
    values = []
    for at in (system.inputs, system.inputs + shift):
        exact = [homogeneous([Fraction(float(x)) for x in row]) for row in at]
        values.append(np.array([[float(x) for x in student.value(q)] for q in exact]))
    assert system.sizes(values[1] - values[0]).max() <= moved + SLACK * scale


def test_nets_cover_their_regions() -> None:
    """Random points of a disk and a box lie within half a cell of a net point."""
    rng = np.random.default_rng(2)
    disk = Ball((Fraction(0), Fraction(1)), Fraction(2))
    rectangle = box_region([Fraction(-1), Fraction(0)], [Fraction(1), Fraction(3)])
    for region in (disk, rectangle):
        cells = (5, 8)
        halves = np.array([float(x) for x in half_sides(region, cells)])
        net = np.array([[q[0] / q[-1], q[1] / q[-1]] for q in net_points(region, cells)])
        low, high = (np.array([float(x) for x in end]) for end in region.box)
        for _ in range(500):
            point = rng.uniform(low, high)
            exact = homogeneous([Fraction(float(x)) for x in point])
            if region.contains(exact):
                assert (np.abs(net - point) <= halves + 1e-12).all(axis=1).any()
    assert len(net) == 40
    corners = list(net_points(Ball((Fraction(0), Fraction(0)), Fraction(1)), (10, 10)))
    assert len(corners) < 100, "cells outside the disk are left out"


def test_growth_that_is_too_large() -> None:
    atoms = [atom([[1]], [[100]], leak=0)]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=LINF
    )
    problem = Subject(question, {}).piecewise(0)
    constants = pwa_constants(problem, LINF, Inputs((homogeneous([Fraction(1)]),), None))
    with pytest.raises(InputError, match="exceeds 64"):
        mixed_steps(constants, frozen_lipschitz(problem, LINF), 4)

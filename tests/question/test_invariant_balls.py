"""Constants of piecewise-affine systems are never below what sampling shows (theory T8.1)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L2, LINF
from piecewise_questions import atom, box, matrix_question, pwa_question, reference
from random_piecewise import RandomSystem, random_system

from qreplace.errors import InputError
from qreplace.question.atom_sizes import spectral_upper
from qreplace.question.invariant_balls import (
    PwaConstants,
    growth_factor,
    phi_upper,
    pwa_constants,
    question_inputs,
)
from qreplace.question.subject import Subject

SLACK = 1e-9


def of(system: RandomSystem) -> PwaConstants:
    return Subject(system.question, {}).piecewise_constants(0)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.booleans())
def test_slopes_and_starts(seed: int, full: bool) -> None:
    """L, m, g and the differences, at random pairs of states and random inputs."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, full=full)
    constants = of(system)
    inputs = rng.uniform(-1, 1, (200, system.inputs.shape[1])) if full else system.inputs
    size = (len(inputs), len(system.start))
    start = np.tile(system.start, (len(inputs), 1))
    step = float(constants.step_limit or Fraction(1, 2)) * rng.uniform(0, 1)
    factor = float(constants.step_factor(Fraction(step)))
    for _ in range(10):
        one = rng.normal(size=size) * rng.choice([0.1, 1.0, 5.0])
        other = one + rng.normal(size=size) * rng.choice([0.01, 1.0])
        apart = system.sizes(one - other)
        fields = [(f(one, inputs), f(other, inputs)) for f in system.atoms]
        for a, b in fields:
            assert (system.sizes(a - b) <= float(constants.lipschitz) * apart + SLACK).all()
            moved = system.sizes(one + step * a - other - step * b)
            assert (moved <= factor * apart + SLACK).all()
        for a, b in fields[1:]:
            change = system.sizes(a - fields[0][0] - b + fields[0][1])
            assert (change <= float(constants.difference_lipschitz) * apart + SLACK).all()
    at_start = [f(start, inputs) for f in system.atoms]
    assert max(system.sizes(v).max() for v in at_start) <= float(constants.start) + SLACK
    pairs = [system.sizes(v - w).max() for v in at_start for w in at_start]
    assert max(pairs) <= float(constants.difference_start) + SLACK


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_states_stay_in_the_ball(seed: int) -> None:
    """Relaxed and Euler states, and the fields along them, at small and at any steps."""
    rng = np.random.default_rng(seed)
    system = random_system(rng)
    constants = of(system)
    limit = constants.step_limit
    for depth in (1, 3, 8):
        control = system.control(rng, depth)
        small = limit is None or Fraction(system.question.horizon, depth) <= limit
        reach = constants.reach(every_step=not small)
        if reach is None:
            continue
        relaxed = system.relaxed(control, 64 // depth)
        states = [*relaxed[::4], relaxed[-1], *system.euler(control)]
        far = max(system.sizes(z - system.start).max() for z in states)
        assert far <= float(reach) + SLACK
        bound = float(constants.field_bound(reach)) + SLACK
        apart = float(constants.difference_bound(reach)) + SLACK
        for z in states:
            fields = [f(z, system.inputs) for f in system.atoms]
            assert max(system.sizes(v).max() for v in fields) <= bound
            assert max(system.sizes(v - fields[0]).max() for v in fields) <= apart
        speeds = [f(z, system.inputs) for z in relaxed[::4] for f in system.atoms]
        fastest = max(system.sizes(v).max() for v in speeds)
        assert fastest <= float(constants.relaxed_speed) + SLACK


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_invariant_ball_is_for_ever(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, contractive=True, horizon=Fraction(40))
    constants = of(system)
    if constants.rate >= 0:
        with pytest.raises(InputError, match="no ball is invariant"):
            _ = constants.invariant_radius
        return
    radius = float(constants.invariant_radius)
    states = system.relaxed(system.control(rng, 20), 40)
    assert max(system.sizes(z - system.start).max() for z in states) <= radius + SLACK


def test_the_matrix_instance() -> None:
    """``R = W_* Y / (1 - ||S||)`` of T8.1, on the disk and on its witnesses."""
    for full in (True, False):
        constants = Subject(matrix_question(full=full), {}).piecewise_constants(0)
        assert constants.step_limit == 1
        # W = 13/20 I - 13/300 [[0, 1], [-1, 0]] has this norm, and S = 1/10 that of W / 6.5.
        norm = math.hypot(13 / 20, 13 / 300)
        assert norm <= float(constants.start) < norm + 1e-4
        assert norm / 6.5 - 1 <= float(constants.rate) < norm / 6.5 - 1 + 1e-4
        radius = norm / (1 - norm / 6.5)
        assert radius <= float(constants.invariant_radius) < radius + 1e-3
        assert 2 * radius <= float(constants.field_bound(constants.invariant_radius)) + 1e-9


def test_on_few_inputs_the_constants_are_smaller() -> None:
    """The witnesses' own difference at the start, not the disk's."""
    disk = Subject(matrix_question(), {}).piecewise_constants(0)
    seen = Subject(matrix_question(full=False), {}).piecewise_constants(0)
    assert seen.difference_start < disk.difference_start
    assert disk.difference_lipschitz < disk.lipschitz, "the leak that atoms share cancels"


def test_atoms_with_different_leaks() -> None:
    """m is shown at the step of the largest leak, and counts the smallest."""
    atoms = [atom([[1]], [["1/4"]], leak=1), atom([[1]], [["1/4"]], leak=2)]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=LINF
    )
    constants = Subject(question, {}).piecewise_constants(0)
    assert constants.step_limit == Fraction(1, 2)
    assert constants.rate == Fraction(-3, 4)
    assert constants.lipschitz == 2, "V P S is never negative here: -2 .. -3/4"


@pytest.mark.parametrize("leak", [0, "-1/2"])
def test_without_a_leak_m_is_l(leak: int | str) -> None:
    atoms = [atom([[1]], [["1/4"]], leak=leak, activation="relu")]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=L2
    )
    constants = Subject(question, {}).piecewise_constants(0)
    assert constants.step_limit is None and constants.rate == constants.lipschitz
    with pytest.raises(InputError, match="no ball is invariant"):
        _ = constants.invariant_radius


def test_too_large_systems_are_refused() -> None:
    wide = [[0] * 130 for _ in range(130)]
    atoms = [atom(wide)]
    question = pwa_question(
        atoms, reference(atoms, [0]), dimension=130, inputs=130, region=box([0] * 130, [1] * 130)
    )
    subject = Subject(question, {})
    problem = subject.piecewise(0)
    with pytest.raises(InputError, match="too large for its constants"):
        pwa_constants(problem, L2, question_inputs(question, problem))


@given(st.fractions(-70, 70, max_denominator=50), st.fractions(0, 3, max_denominator=20))
def test_growth_factors(rate: Fraction, horizon: Fraction) -> None:
    """``Phi_m(T)`` from above, closely; the factor bounds every depth's sum too."""
    if horizon == 0:
        return
    true = math.expm1(rate * horizon) / rate if rate else float(horizon)
    if rate * horizon > 64:
        assert growth_factor(rate, horizon) is None
        with pytest.raises(InputError, match="exceeds"):
            phi_upper(rate, horizon)
        return
    found = float(phi_upper(rate, horizon))
    assert true * (1 - 1e-12) <= found <= true * (1 + 1e-9) + 1e-18
    factor = growth_factor(rate, horizon)
    assert factor is not None
    for depth in (1, 2, 9, 50):
        step = float(horizon) / depth
        kappa = 1 + step * float(rate)
        if kappa >= 0:
            total = step * sum(kappa**i for i in range(depth))
            assert total <= float(factor) * (1 + 1e-9)


def test_tiny_rates() -> None:
    for rate in (Fraction(1, 2**80), Fraction(-1, 2**80)):
        assert abs(phi_upper(rate, Fraction(2)) - 2) < Fraction(1, 2**70)
        assert phi_upper(rate, Fraction(2)) >= 2 + 2 * rate * Fraction(99, 100)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_spectral_norms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(x) for x in rng.integers(1, 6, 2))
    entries = rng.integers(-9, 10, shape)
    rows = [[Fraction(int(x), 7) for x in row] for row in entries]
    true = float(np.linalg.norm(entries / 7, 2))
    found = float(spectral_upper(rows))
    assert true * (1 - 1e-12) <= found <= true * 1.001 + 1e-12


def test_an_orthogonal_matrix_is_known_exactly() -> None:
    rows = [[Fraction(0), Fraction(1, 10)], [Fraction(-1, 10), Fraction(0)]]
    assert abs(spectral_upper(rows) - Fraction(1, 10)) < Fraction(1, 2**60)

"""Produced controls are accepted, true, and near the best there are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dynamic_questions import affine_question, forcing, polynomial_question
from dynamic_truth import (
    ROUNDING,
    affine_floor,
    best_schedule_error,
    enumerated_value,
    scalar_floor,
)
from lifted_questions import (
    L1,
    L2,
    LINF,
    block_l2,
    make_question,
    weighted_l1,
    weighted_linf,
)
from random_systems import SHAPES, random_question

from qreplace.check.relaxed_control import check
from qreplace.claims import claim_bytes
from qreplace.claims.relaxed_control import PureSchedule, RelaxedControl, RelaxedControlClaim
from qreplace.errors import ProducerFailed
from qreplace.premises import Evidence
from qreplace.produce.affine_lp import produce as produce_affine_lp
from qreplace.produce.float_dynamics import Simulator
from qreplace.produce.linear_program import Floats
from qreplace.produce.nearest_point import float_norms, nearest_mixture
from qreplace.produce.pure_schedules import produce_schedule
from qreplace.produce.relaxed_control import ControlProducer, produce
from qreplace.question.endpoints import Endpoints
from qreplace.question.model import Norm, Question
from qreplace.question.subject import Subject

NORMS: list[Norm] = [
    L2, LINF, L1, weighted_linf(1, 2), weighted_l1(3, 1), block_l2(1), block_l2(2)
]  # fmt: skip
INTEGRATOR = [["z2", "1"], ["z2", "-1"]]
PLANAR = [[1, 0], [-1, 0], [0, 1]]
COUPLING = [[-1, 1], [0, -2]]
CURVED = [["z2", "1 - z1^3"], ["z2 - z1", "-1 - z2"]]


def upper_of(question: Question) -> float:
    """The checked upper end of the produced control."""
    whole = Subject(question, {})
    claim = produce(whole, 0)
    (bound,) = check(whole, claim)
    assert bound.value == claim.upper
    return float(bound.value)


# --- known optima ---------------------------------------------------------------------------------


def test_decay_reaches_its_floor() -> None:
    upper = upper_of(polynomial_question([["-z1"], ["1 - z1"]], [2]))
    assert 0 <= upper - (1 + math.exp(-1)) < 1e-12


def test_the_double_integrator_rests_exactly() -> None:
    whole = Subject(polynomial_question(INTEGRATOR, [0, 0], [1, 0], horizon=2), {})
    claim = produce(whole, 0)
    (bound,) = check(whole, claim)
    assert bound.value == 0 and bound.evidence is Evidence.ANALYTIC_CERTIFIED
    assert isinstance(claim.control, RelaxedControl)
    assert [piece.end for piece in claim.control.pieces] == [1, 2]


def test_a_reachable_target_is_met_to_rounding() -> None:
    question = affine_question(PLANAR, ["1/3", "1/5"], rate=-1)
    assert upper_of(question) < 1e-12


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_affine_floors(norm: Norm) -> None:
    """Within what a grid of functionals shows; blocks of one coordinate are the maximum norm."""
    question = affine_question(PLANAR, [2, 1], norm=norm, state_matrix=COUPLING)
    problem = Subject(question, {}).polynomial(0)
    plain: Norm = LINF if norm == block_l2(1) else L2 if norm == block_l2(2) else norm
    floor = affine_floor(problem, plain, 800)
    assert floor - 1e-5 <= upper_of(question) <= floor + 2e-5


def test_forcings_with_several_pieces() -> None:
    """``z' = -z + b(t)`` with ``b = 1`` until 1/2 and 2 after it: 2 - e^-1/2 - e^-1 at most."""
    step = forcing((0, [[1]]), ("1/2", [[2]]))
    question = affine_question([step, [0]], [3], rate=-1)
    truth = 1 + math.exp(-0.5) + math.exp(-1)
    assert 0 <= upper_of(question) - truth < 1e-12
    still = affine_question([step, [0]], [3])
    assert upper_of(still) == 1.5


def test_switching_times_are_found() -> None:
    """``z1' = u z1``, ``z2' = (1 - u) z1``: the best time to switch is found by refinement."""
    question = polynomial_question([["z1", "0"], ["0", "z1"]], [1, 3], [1, 0], horizon=2)
    # u = 1 until s, then z2 grows at the rate e^s: distance^2 (e^s - 1)^2 + ((2 - s) e^s - 3)^2;
    # other orders of switching do no better.
    times = np.linspace(0, 2, 200_001)
    grown = np.exp(times)
    best = float(np.sqrt((grown - 1) ** 2 + ((2 - times) * grown - 3) ** 2).min())
    upper = upper_of(question)
    assert upper <= best + 1e-9


def test_state_independent_atoms_of_many_coordinates() -> None:
    atoms = [[(3 * i * j + i + j) % 7 for i in range(100)] for j in range(3)]
    question = make_question([3] * 100, atoms, LINF)
    whole = Subject(question, {})
    assert upper_of(question) == float(produce_affine_lp(whole, 0).upper)


# --- random systems -------------------------------------------------------------------------------

CASES = [(shape, dimension, seed) for shape in SHAPES for dimension in (1, 2) for seed in range(3)]


@pytest.mark.parametrize(("shape", "dimension", "seed"), CASES)
def test_random_systems(shape: str, dimension: int, seed: int) -> None:
    """Never below what is possible, and never noticeably above what enumeration finds."""
    question = random_question(shape, dimension, seed)
    problem = Subject(question, {}).polynomial(0)
    upper = upper_of(question)
    if dimension == 1:
        truth = scalar_floor(problem, 1000)
        assert upper >= truth - ROUNDING
        assert upper <= truth + 1e-5
    else:
        truth = enumerated_value(problem, question.norm, cells=16, keep=2000)
        assert upper <= truth * 1.001 + 1e-6


# --- proposals, determinism, failures -------------------------------------------------------------


def test_a_proposal_is_one_more_start() -> None:
    whole = Subject(polynomial_question(CURVED, [2, 1]), {})
    proposal = np.tile([0.5, 0.5], (4, 1))
    claim = produce(whole, 0, pieces=8, proposal=proposal)
    (bound,) = check(whole, claim)
    assert float(bound.value) < 1.5025


def test_the_same_question_has_the_same_bytes() -> None:
    question = random_question("cubic", 2, 2)
    one, other = (produce(Subject(question, {}), 0) for _ in range(2))
    assert claim_bytes(one) == claim_bytes(other)
    two, more = (produce_schedule(Subject(question, {}), 0, 24) for _ in range(2))
    assert claim_bytes(two) == claim_bytes(more)


def test_what_escapes_is_not_claimed() -> None:
    whole = Subject(polynomial_question([["z1^2"]], [1], [2]), {})
    with pytest.raises(ProducerFailed):
        produce(whole, 0)


def test_one_of_two_atoms_escapes() -> None:
    """The control stays with what remains bounded."""
    assert upper_of(polynomial_question([["z1^2"], ["-1"]], [0], [2], horizon=2)) < 1e-12


def test_large_affine_dynamics_are_left_to_another_kind() -> None:
    wide = Subject(affine_question([[1] * 65], [1] * 65, rate=-1), {})
    with pytest.raises(ProducerFailed, match="at most 64 coordinates"):
        produce(wide, 0)
    forced = affine_question([forcing((0, [[1] * 65, [1] * 65]))], [1] * 65)
    with pytest.raises(ProducerFailed, match="left to another kind"):
        produce(Subject(forced, {}), 0)
    with pytest.raises(ProducerFailed, match="too many coordinates for a search"):
        produce_schedule(Subject(forced, {}), 0, 8)


# --- schedules ------------------------------------------------------------------------------------


def schedule_upper(question: Question, depth: int) -> tuple[float, RelaxedControlClaim]:
    whole = Subject(question, {})
    claim = produce_schedule(whole, 0, depth)
    (bound,) = check(whole, claim)
    assert bound.quantity == "ideal_error" and bound.depths.first == depth
    return float(bound.value), claim


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_few_schedules_are_all_tried(depth: int) -> None:
    question = polynomial_question(CURVED, ["1/4", 0])
    problem = Subject(question, {}).polynomial(0)
    upper, _ = schedule_upper(question, depth)
    assert abs(upper - best_schedule_error(problem, L2, depth)) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_searched_schedules_are_near_the_best(seed: int) -> None:
    """Depth 14 with two atoms: more than are tried, few enough to know the answer."""
    question = random_question("bilinear", 2, seed)
    problem = Subject(question, {}).polynomial(0)
    atoms = len(problem.atoms)
    depth = 14 if atoms == 2 else 9
    upper, claim = schedule_upper(question, depth)
    best = best_schedule_error(problem, question.norm, depth)
    assert best - 1e-9 <= upper <= best * 1.05 + 5e-3
    assert isinstance(claim.control, PureSchedule)


def test_deep_schedules_approach_the_floor() -> None:
    question = affine_question(PLANAR, ["1/3", "1/5"], state_matrix=COUPLING)
    errors = [schedule_upper(question, depth)[0] for depth in (4, 16, 64, 256)]
    assert errors[0] < 0.06 and errors[1] < 0.01 and errors[2] < 0.001 and errors[3] < 1e-4


def test_given_weights_are_rounded() -> None:
    whole = Subject(affine_question([[1, 0], [0, 1]], [1, 1]), {})
    claim = produce_schedule(whole, 0, 64, np.array([[0.25, 0.75]]))
    (bound,) = check(whole, claim)
    assert float(bound.value) <= math.sqrt(2) / 2 + 1e-12


# --- parts ----------------------------------------------------------------------------------------


def test_sensitivities_are_derivatives() -> None:
    ends = Endpoints(Subject(polynomial_question(CURVED, [2, 1]), {}), 0)
    simulator = Simulator(ends.parts, ends.initial, ends.horizon)
    grid = simulator.grid(6)
    random = np.random.default_rng(5)
    mixtures = random.dirichlet([1, 1], size=6)
    states = simulator.trajectories(grid, mixtures[None])[0]
    effects = simulator.sensitivities(grid, mixtures, states)
    _, discrete = simulator.euler_sensitivities(mixtures)
    small = 1e-6
    for cell in range(6):
        for atom in range(2):
            moved = np.stack([mixtures, mixtures])
            moved[0, cell, atom] += small
            moved[1, cell, atom] -= small
            both = simulator.trajectories(grid, moved)[:, -1]
            assert np.allclose((both[0] - both[1]) / (2 * small), effects[:, cell, atom], atol=1e-8)
            both = simulator.euler_trajectories(moved)[:, -1]
            slope = (both[0] - both[1]) / (2 * small)
            assert np.allclose(slope, discrete[:, cell, atom], atol=1e-8)


@pytest.mark.parametrize("norm", [*NORMS, block_l2(3)], ids=lambda norm: norm.kind)
def test_nearest_mixtures_against_many_others(norm: Norm) -> None:
    """No random mixture is nearer, and small moves towards vertices do not help."""
    size = 6 if norm == block_l2(3) else 2
    random = np.random.default_rng(7)
    offset, effects = 4 * random.normal(size=size), random.normal(size=(size, 5, 3))
    found = nearest_mixture(norm, offset, effects)
    assert found.min() >= 0 and np.allclose(found.sum(axis=1), 1)

    def value(mixture: Floats) -> float:
        return float(float_norms(norm, offset + np.einsum("nkj,kj->n", effects, mixture)))

    best = value(found)
    for _ in range(300):
        other = random.dirichlet([0.3] * 3, size=5)
        assert best <= value(other) + 1e-7
        assert best <= value(found + 0.01 * (other - found)) + 1e-7


def test_short_numbers_are_preferred_where_they_are_as_good() -> None:
    """The even mixture of opposite fields, found in floats, is written as halves."""
    whole = Subject(affine_question([[1], [-1]], [0], ["0"]), {})
    claim = ControlProducer(whole, 0).claim(4, None)
    assert claim.upper == 0 and isinstance(claim.control, RelaxedControl)
    assert all(p.weights.denominator <= Fraction(27720) for p in claim.control.pieces)

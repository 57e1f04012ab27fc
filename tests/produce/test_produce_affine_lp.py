"""Produced brackets against the truth: a simplex grid, scipy's linear programme, known floors."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from lifted_questions import (
    L1,
    L2,
    LINF,
    alpha_of,
    block_l2,
    bracket_of,
    make_question,
    make_subject,
    weighted_l1,
    weighted_linf,
)
from lifted_strategies import LINEAR, Problem, problems, simplex_grid
from scipy.optimize import linprog, nnls

from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.errors import ProducerFailed
from qreplace.exact.document import sha256_hex
from qreplace.produce.affine_lp import BLOCK_RELATIVE_WIDTH, produce
from qreplace.question.arrays import RawArray
from qreplace.question.model import (
    BlockL2Norm,
    L2Norm,
    ListedDictionary,
    Norm,
    VectorAtom,
    VectorTarget,
)
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

ROOT = Path(__file__).parents[2]
GRID = {1: 1, 2: 60, 3: 18, 4: 10}
"""Steps of the simplex grid for each number of atoms."""


def assert_tight(norm: Norm, claim: AffineLPClaim) -> None:
    width = claim.upper - claim.lower
    if isinstance(norm, BlockL2Norm | L2Norm):
        assert width <= BLOCK_RELATIVE_WIDTH * claim.upper
    else:
        assert width == 0


@settings(max_examples=250)
@given(problems())
def test_brackets_are_true_and_tight(problem: Problem) -> None:
    subject = problem.subject
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    for alpha in simplex_grid(len(problem.atoms), GRID[len(problem.atoms)]):
        assert problem.exceeds(alpha, lower)
    own = problem.error(alpha_of(claim, len(problem.atoms)))
    assert own <= (upper * upper if isinstance(problem.norm, BlockL2Norm | L2Norm) else upper)
    assert_tight(problem.norm, claim)


@settings(max_examples=100)
@given(problems(LINEAR))
def test_linear_floors_are_scipys(problem: Problem) -> None:
    claim = produce(problem.subject, 0)
    assert claim.method in ("optimal_basis", "refined_basis")
    assert abs(float(claim.lower) - scipy_floor(problem)) <= 1e-7 * (1 + abs(float(claim.lower)))


def scipy_floor(problem: Problem) -> float:
    """The floor as the textbook programme: ``-t <= w (B alpha - y) <= t``, summed or shared t."""
    atoms = np.array([[float(x) for x in atom] for atom in problem.atoms]).T
    target = np.array([float(x) for x in problem.target])
    dimension, count = atoms.shape
    weights = np.array([float(w) for w in getattr(problem.norm, "weights", [1] * dimension)])
    shared = problem.norm.kind.endswith("linf")
    bound = -np.ones((dimension, 1)) if shared else -np.eye(dimension)
    scaled, aim = atoms * weights[:, None], target * weights
    result = linprog(
        np.concatenate([np.zeros(count), np.ones(bound.shape[1])]),
        A_ub=np.block([[scaled, bound], [-scaled, bound]]),
        b_ub=np.concatenate([aim, -aim]),
        A_eq=np.concatenate([np.ones(count), np.zeros(bound.shape[1])])[None, :],
        b_eq=[1.0],
        method="highs-ds",
    )
    assert result.status == 0
    return float(result.fun)


@settings(max_examples=60)
@given(problems(["l2"]))
def test_euclidean_floors_are_those_of_least_squares(problem: Problem) -> None:
    """Nonnegative least squares with the sum as a heavy row is the same minimum."""
    claim = produce(problem.subject, 0)
    atoms = np.array([[float(x) for x in atom] for atom in problem.atoms]).T
    target = np.array([float(x) for x in problem.target])
    heavy = 1e6
    system = np.vstack([atoms, heavy * np.ones(atoms.shape[1])])
    alpha, _ = nnls(system, np.append(target, heavy))
    found = np.linalg.norm(atoms @ (alpha / alpha.sum()) - target)
    assert float(claim.lower) <= found + 1e-9
    assert found <= float(claim.upper) + 1e-4 * (1 + found)


# --- degenerate problems -------------------------------------------------------------------------

ALL_NORMS = [LINF, L1, L2, block_l2(2), weighted_linf(3, "1/7"), weighted_l1(3, "1/7")]


@pytest.mark.parametrize("norm", ALL_NORMS, ids=lambda norm: norm.kind)
@pytest.mark.parametrize(
    ("target", "atoms"),
    [
        pytest.param([1, 2], [[3, 5], [1, 2], [0, 0]], id="the target is an atom"),
        pytest.param([1, 2], [[1, 2]] * 3, id="every atom is the target"),
        pytest.param([0, 0], [[0, 0]], id="nothing but zeros"),
        pytest.param(["1/3", "2/3"], [[1, 0], [0, 1], [-5, 7]], id="an irrational float mixture"),
        pytest.param(["1/7", "1/7"], [[0, 0], [1, 1], [2, 2], [3, 3]], id="a face of solutions"),
    ],
)
def test_floors_of_exactly_zero(norm: Norm, target: list[str], atoms: list[list[int]]) -> None:
    subject = make_subject(target, atoms, norm)
    assert bracket_of(subject, produce(subject, 0)) == (0, 0)


@pytest.mark.parametrize("norm", ALL_NORMS, ids=lambda norm: norm.kind)
@pytest.mark.parametrize(
    ("target", "atoms"),
    [
        pytest.param([5, 5], [[1, 2]], id="one atom"),
        pytest.param([5, 5], [[1, 2]] * 4, id="repeated atoms"),
        pytest.param([5, 0], [[1, 0], [2, 0]], id="a row of zeros"),
        pytest.param([5, 7], [[0, 0], [0, 0]], id="atoms of zeros"),
        pytest.param([10**400, 7], [[1, 0], [-(10**399), 3]], id="huge integers"),
        pytest.param([f"7/{10**400}", 0], [[f"1/{10**401}", 0], [0, f"3/{10**400}"]], id="tiny"),
        pytest.param([10**9, 10**9], [[10**9 + 1, 10**9], [10**9, 10**9 + 2]], id="far away"),
    ],
)
def test_degenerate_problems(norm: Norm, target: list[str], atoms: list[list[int]]) -> None:
    subject = make_subject(target, atoms, norm)
    claim = produce(subject, 0)
    check_claim(subject, claim)
    assert_tight(norm, claim)


@pytest.mark.parametrize("norm", ALL_NORMS, ids=lambda norm: norm.kind)
def test_data_that_floats_cannot_tell_from_zero(norm: Norm) -> None:
    subject = make_subject([f"7/{10**400}", 1], [[1, 0], [0, 1]], norm)
    lower, upper = bracket_of(subject, produce(subject, 0))
    assert 0 <= lower <= upper <= Fraction(1, 10**300)


@pytest.mark.parametrize("norm", [LINF, L1, L2], ids=lambda norm: norm.kind)
@pytest.mark.parametrize("target", [-3, 0, 2, 9])
def test_one_coordinate(norm: Norm, target: int) -> None:
    subject = make_subject([target], [[-1], [2], [1]], norm)
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    assert lower <= max(0, -1 - target, target - 2) <= upper
    assert_tight(norm, claim)


def test_weights_of_very_different_size() -> None:
    subject = make_subject([1, 1], [[0, 0], [1, 0]], weighted_linf(10**300, f"1/{10**300}"))
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    # alpha = (0, 1) leaves 1 on the light coordinate only.
    assert lower <= Fraction(1, 10**300) <= upper <= Fraction(10**300)


# --- larger problems: row generation, lifting, tangent cuts --------------------------------------


def integer_subject(dimension: int, count: int, norm: Norm, seed: int) -> Subject:
    """Random 8-bit data, the target near the atoms' hull."""
    generator = np.random.Generator(np.random.PCG64(seed))
    atoms = generator.integers(-127, 128, size=(dimension, count))
    weights = generator.integers(1, 100, size=count)
    target = (atoms @ weights) // int(weights.sum()) + generator.integers(-3, 4, size=dimension)
    store: dict[str, bytes] = {}

    def stored(values: np.ndarray) -> RawArray:
        raw = RawArray("<i2", values.shape, values.astype("<i2").tobytes())
        store[sha256_hex(raw.to_npy())] = raw.to_npy()
        return raw

    listed = tuple(VectorAtom("vector", stored(column).reference()) for column in atoms.T)
    question = dataclasses.replace(
        make_question([0], [[0]], norm),
        target=VectorTarget("vector", stored(target).reference()),
        dictionary=ListedDictionary("listed", listed, 8, learned=False, shared_schedule=True),
    )
    return Subject(question, store)


@pytest.mark.parametrize(
    ("dimension", "count", "norm", "seed"),
    [
        pytest.param(600, 8, LINF, 1, id="rows are generated"),
        pytest.param(160, 120, LINF, 2, id="a basis that is lifted numerically"),
        pytest.param(90, 60, L1, 3, id="sum norm"),
        pytest.param(120, 10, block_l2(30), 4, id="four blocks"),
        pytest.param(60, 40, L2, 5, id="many atoms, one block"),
    ],
)
def test_larger_problems(dimension: int, count: int, norm: Norm, seed: int) -> None:
    subject = integer_subject(dimension, count, norm, seed)
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    assert 0 < lower <= upper
    assert_tight(norm, claim)
    generator = random.Random(seed)
    problem = subject.lifted(0)
    for _ in range(5):
        weights = [generator.randrange(100) for _ in range(count)]
        total = max(sum(weights), 1)
        rows = problem.residual(weights, total)
        assert lower <= norm_bounds(norm, rows, total * problem.denominator)[1]


@pytest.mark.parametrize("norm", [LINF, L1], ids=lambda norm: norm.kind)
def test_an_exact_basis_too_long_to_read_is_rounded(norm: Norm) -> None:
    """300-digit data: the basis of 16 atoms has determinants of 4,800 digits."""
    generator = random.Random(1)
    digits = 10**300
    atoms = [[generator.randrange(-digits, digits) for _ in range(18)] for _ in range(16)]
    columns = zip(*atoms, strict=True)
    target = [sum(column) // 16 + generator.randrange(digits // 50) for column in columns]
    subject = make_subject(target, atoms, norm)
    claim = produce(subject, 0)
    assert read_claim(claim_bytes(claim)) == claim
    lower, upper = bracket_of(subject, claim)
    assert claim.method == "rounded"
    assert 0 < upper - lower <= upper / 10**6


def test_data_too_long_for_any_claim() -> None:
    target = [Fraction(1, 3**4000), Fraction(1, 7**4000)]
    with pytest.raises(ProducerFailed, match="more than 4000 digits"):
        produce(make_subject(target, [[1, 0], [0, 1]]), 0)


def test_the_same_problem_gives_the_same_claim() -> None:
    for norm in (LINF, L1, block_l2(30)):
        first, second = (produce(integer_subject(60, 12, norm, 9), 0) for _ in range(2))
        assert first == second


def test_production_prints_nothing() -> None:
    """Solvers write to file descriptors, so a process of its own is asked."""
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from lifted_questions import *\n"
        "from qreplace.produce.affine_lp import produce\n"
        "for norm in (LINF, L1, L2):\n"
        "    produce(make_subject([3, 1], [[1, 0], [0, 1]], norm), 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == (b"", b"")

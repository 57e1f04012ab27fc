"""Brackets of affine dynamics: narrow, right, and the same every time."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from affine_systems import error, euler, norms_of, random_affine
from dynamic_questions import affine_question, forcing
from lifted_questions import L1, L2, LINF, block_l2, make_question

from qreplace.check.affine_dynamics import check
from qreplace.claims import claim_bytes
from qreplace.errors import ProducerFailed
from qreplace.produce.affine_dynamics import produce, produce_at_depth
from qreplace.produce.affine_lp import produce as produce_affine_lp
from qreplace.question.model import Norm
from qreplace.question.subject import Subject


def dyadic(values: Any, bits: int = 20) -> list[list[Fraction]]:
    scaled = np.rint(np.atleast_2d(values) * (1 << bits)).astype(int)
    return [[Fraction(int(x), 1 << bits) for x in row] for row in scaled]


def random_stable(seed: int, norm: Norm, dimension: int = 32, atoms: int = 16) -> Subject:
    """A random stable matrix (spectral abscissa about -0.2) with random atoms and target."""
    draw = np.random.default_rng(seed)
    matrix = draw.standard_normal((dimension, dimension)) / math.sqrt(dimension)
    question = affine_question(
        dyadic(draw.standard_normal((atoms, dimension))),
        dyadic(0.7 * draw.standard_normal(dimension))[0],
        dyadic(draw.standard_normal(dimension))[0],
        norm,
        state_matrix=dyadic(matrix - 1.2 * np.eye(dimension)),
    )
    return Subject(question, {})


def bracket(subject: Subject) -> tuple[Fraction, Fraction]:
    lower, upper = check(subject, produce(subject, 0))
    return lower.value, upper.value


@pytest.mark.parametrize(
    ("norm", "seed"),
    [(LINF, 0), (LINF, 1), (L2, 0), (L2, 1), (L1, 0), (block_l2(8), 0)],
    ids=lambda value: getattr(value, "kind", str(value)),
)
def test_thirty_two_states_and_sixteen_atoms(norm: Norm, seed: int) -> None:
    lower, upper = bracket(random_stable(seed, norm))
    assert 0 < lower <= upper
    assert (upper - lower) / upper < Fraction(1, 10**9)


@pytest.mark.parametrize("seed", range(12))
def test_small_systems_of_every_norm(seed: int) -> None:
    for norm in norms_of(2):
        subject = random_affine(seed, norm=norm, dimension=2)
        lower, upper = bracket(subject)
        assert upper - lower <= Fraction(1, 10**9) * (1 + upper)


def test_forcings_with_pieces() -> None:
    atoms = [
        forcing((0, [[1, 0, 0], [0, 1, "1/2"]]), ("1/2", [[0, 0, 1]])),
        forcing((0, [[0, 1, 0], [1, -1, -1], [0, 2, -3]])),
        [1, 1, "-1"],
    ]
    for norm in norms_of(3):
        question = affine_question(
            atoms,
            [1, "1/3", 2],
            [0, 1, 0],
            norm,
            rate="-1/3",
            state_matrix=[[0, 1, 0], [-1, 0, "1/2"], [0, "1/3", 0]],
            horizon="3/2",
        )
        lower, upper = bracket(Subject(question, {}))
        assert lower > 0 and (upper - lower) / upper < Fraction(1, 10**12)


def test_known_values() -> None:
    """Decay, 1 + 1/e, and the double integrator from rest."""
    decay = Subject(affine_question([[0], [1]], [2], norm=LINF, rate=-1), {})
    lower, upper = bracket(decay)
    assert lower <= Fraction("1.36787944117144232159552377016147")
    assert upper >= Fraction("1.36787944117144232159552377016146")
    assert upper - lower < Fraction(1, 10**25)
    # The full push ends at (1/2, 1).
    rest = Subject(
        affine_question([[0, 1], [0, -1]], [1, 1], norm=LINF, state_matrix=[[0, 1], [0, 0]]), {}
    )
    lower, upper = bracket(rest)
    assert lower <= Fraction(1, 2) <= upper and upper - lower < Fraction(1, 10**12)


def test_no_dynamics_is_the_affine_programme() -> None:
    subject = Subject(make_question([1, "1/3"], [[0, 1], [1, 0], ["1/2", "1/2"]], LINF), {})
    other = produce_affine_lp(subject, 0)
    assert bracket(subject) == (other.lower, other.upper) == (Fraction(1, 6), Fraction(1, 6))


def test_reachable_targets_and_ties() -> None:
    integrator = [[0, 1], [0, 0]]
    for atoms, target in (
        ([[0, 1], [0, -1]], ["1/8", 0]),  # in the interior of what is reached
        ([[0, 1], [0, 1]], ["1/2", 1]),  # equal atoms, met exactly
        ([[0, 0], [0, 0]], [0, 0]),
    ):
        subject = Subject(affine_question(atoms, target, norm=L2, state_matrix=integrator), {})
        lower, upper = bracket(subject)
        assert lower == 0 and upper < Fraction(1, 10**12)
    # A zero matrix: no switching times, every mixture stays equally good.
    flat = affine_question([[0, 1], [1, 0]], [1, 1], norm=L2, state_matrix=[[0, 0], [0, 0]])
    lower, upper = bracket(Subject(flat, {}))
    assert lower**2 <= Fraction(1, 2) <= upper**2 and upper - lower < Fraction(1, 10**12)


@pytest.mark.parametrize("seed", range(8))
def test_depths_are_bounded_sharply_by_their_own_functional(seed: int) -> None:
    """E_D of the relaxation: below every schedule, and above the floor's own functional."""
    subject = random_affine(seed)
    problem, norm = subject.affine(0), subject.question.norm
    whole = produce(subject, 0)
    for depth in (1, 3):
        own = produce_at_depth(subject, 0, depth)
        both = produce_at_depth(subject, 0, depth, whole.witness)
        check(subject, both)
        assert both.lower >= own.lower >= 0
        best = min(
            error(problem, norm, euler(problem, schedule))
            for schedule in itertools.product(range(len(problem.atoms)), repeat=depth)
        )
        assert float(both.lower) <= best + 1e-12


def test_deep_schedules_approach_the_floor() -> None:
    subject = random_stable(3, L2, 4, 3)
    whole = produce(subject, 0)
    deep = produce_at_depth(subject, 0, 2000, whole.witness)
    check(subject, deep)
    assert abs(float(deep.lower - whole.lower)) < 1e-2


def test_the_same_claim_every_time() -> None:
    subject = random_stable(2, LINF, 6, 4)
    assert claim_bytes(produce(subject, 0)) == claim_bytes(produce(subject, 0))


def test_limits_are_said() -> None:
    fast = Subject(affine_question([[0], [1]], [1], state_matrix=[[600]]), {})
    with pytest.raises(ProducerFailed, match="too large over the horizon"):
        produce(fast, 0)
    with pytest.raises(ProducerFailed, match="too large over the horizon"):
        produce_at_depth(fast, 0, 3)
    timed = [forcing((0, [[0] * 601, [1] * 601])), [0] * 601]
    wide = Subject(affine_question(timed, [1] * 601, rate=-1), {})
    with pytest.raises(ProducerFailed, match="up to 600 coordinates"):
        produce(wide, 0)
    slow = Subject(affine_question([[0], [1]], [1], state_matrix=[[1]]), {})
    with pytest.raises(ProducerFailed, match="out of range"):
        produce_at_depth(slow, 0, 0)
    with pytest.raises(ProducerFailed, match="takes too long"):
        produce_at_depth(slow, 0, 10**10)

"""The search finds exactly the functionals that all atoms move alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from affine_systems import norms_of
from dynamic_questions import affine_question, forcing, polynomial_question
from lifted_questions import L1, L2, LINF, make_question

from qreplace.check.observable import check
from qreplace.claims import claim_bytes
from qreplace.errors import ProducerFailed
from qreplace.produce.affine_dynamics import produce as produce_bracket
from qreplace.produce.common_functionals import PRIMES, _lifted
from qreplace.produce.observable import produce, search
from qreplace.question.subject import Subject


def lower_of(subject: Subject, depth: int | None = None) -> Fraction:
    (bound,) = check(subject, produce(subject, 0, depth))
    return bound.value


def test_missing_output_subspace() -> None:
    """No atom reaches the last two coordinates: what the target has there is missed."""
    atoms = [[1, 2, 0, 0], [0, -1, 0, 0], [3, 1, 0, 0]]
    for norm, expected in ((LINF, Fraction(3)), (L1, Fraction(5)), (L2, None)):
        subject = Subject(make_question([1, 1, 3, -2], atoms, norm), {})
        lower = lower_of(subject)
        if expected is None:
            assert lower**2 <= 13 and 13 - lower**2 < Fraction(1, 10**12)
        else:
            assert lower == expected


def test_coupled_states_that_no_atom_moves() -> None:
    """Atoms differ in the first coordinate, which the others never see."""
    matrix = [[0, 1, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, "1/2"]]
    question = affine_question(
        [[1, 0, 1, 0], [-1, 0, 1, 0]], [1, 0, 2, 1], [0, 1, 1, 0], L2, state_matrix=matrix
    )
    found = search(Subject(question, {}), 0)
    assert found.rows == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert [list(row) for row in found.dynamics] == [
        [0, 1, 0],
        [-1, 0, 0],
        [0, 0, Fraction(1, 2)],
    ]


def test_an_invariant_subspace_smaller_than_the_null_space() -> None:
    """Atoms agree on the last two coordinates, but the second one sees the first."""
    matrix = [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    question = affine_question([[1, 0, 1], [0, 0, 1]], [0, 0, 3], state_matrix=matrix)
    subject = Subject(question, {})
    assert search(subject, 0).rows == [[0, 0, 1]]
    assert lower_of(subject) == 2
    driven = affine_question(
        [[1, 0, 1], [0, 0, 1]], [0, 0, 3], state_matrix=[[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    )
    with pytest.raises(ProducerFailed, match="share no observable"):
        produce(Subject(driven, {}), 0)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_floor_where_the_atoms_span_all_but_one_direction(seed: int) -> None:
    """Symmetric atoms +-b: with A = rate I the floor over all weights is that of the line."""
    draw = np.random.default_rng(seed)
    direction = [Fraction(int(x), 4) for x in draw.integers(1, 9, 3)]
    atoms = [[20 * x for x in direction], [-20 * x for x in direction]]
    target = [Fraction(int(x), 4) for x in draw.integers(-9, 9, 3)]
    for norm in norms_of(3):
        subject = Subject(affine_question(atoms, target, [0, 1, 0], norm, rate="-1/2"), {})
        lower = lower_of(subject)
        upper = produce_bracket(subject, 0).upper
        assert upper is not None and lower <= upper
        assert upper - lower <= Fraction(1, 10**7) * (1 + upper)
        assert lower_of(subject, 4) >= 0


def test_forcings_and_jumps() -> None:
    """A common second coordinate, whose forcing jumps with time."""
    atoms = [
        forcing((0, [[1, 1]]), ("1/3", [[0, 0], [0, 1]])),
        forcing((0, [[0, 1]]), ("1/3", [[1, 0], [0, 1]])),
    ]
    for rate in (0, -1):
        subject = Subject(affine_question(atoms, [0, 2], norm=LINF, rate=rate), {})
        lower = lower_of(subject)
        if rate == 0:
            assert lower == Fraction(11, 9)
        else:
            bracket = produce_bracket(subject, 0)
            assert bracket.upper is not None and lower <= bracket.upper
            assert lower > Fraction(11, 9)


def test_polynomials() -> None:
    atoms = [["z1*z2 + t", "z1*z2", "z3"], ["z1*z2 + t + 1", "z1*z2 + 1", "z3"]]
    subject = Subject(polynomial_question(atoms, [2, 0, 5], [0, 0, 1], LINF), {})
    found = search(subject, 0)
    assert found.rows == [[-1, 1, 0], [0, 0, 1]]
    assert [list(row) for row in found.dynamics] == [[0, 0], [0, 1]]
    # z3 ends at e; 5 - e is more than the 3/2 / 2 of the difference.
    assert abs(float(lower_of(subject)) - (5 - np.e)) < 1e-9
    nothing = [["z1*z2", "t*z1"], ["z1*z2 + 1", "t*z1 - 1"]]
    with pytest.raises(ProducerFailed, match="share no observable"):
        produce(Subject(polynomial_question(nothing, [1, 1]), {}), 0)


def test_random_atoms_share_nothing_and_it_is_said() -> None:
    draw = np.random.default_rng(1)
    rows = draw.integers(-9, 9, (60, 60)).tolist()
    question = affine_question(draw.integers(-9, 9, (4, 60)).tolist(), [1] * 60, state_matrix=rows)
    with pytest.raises(ProducerFailed, match="share no observable"):
        produce(Subject(question, {}), 0)


def test_a_hundred_coordinates_with_half_of_them_shared() -> None:
    draw = np.random.default_rng(5)
    matrix = draw.integers(-3, 4, (100, 100))
    matrix[50:, :50] = 0
    atoms = draw.integers(-3, 4, (4, 100))
    atoms[:, 50:] = atoms[0, 50:]
    question = affine_question(
        atoms.tolist(),
        draw.integers(-3, 4, 100).tolist(),
        norm=L2,
        state_matrix=[[Fraction(int(x), 100) for x in row] for row in matrix],
    )
    subject = Subject(question, {})
    assert lower_of(subject) > 1


def test_too_many_coordinates_are_refused() -> None:
    size = 401
    question = affine_question(
        [[1] * size, [1] * size], [2] * size, state_matrix=[[0] * size] * size
    )
    with pytest.raises(ProducerFailed, match="up to 400 coordinates"):
        produce(Subject(question, {}), 0)


def test_lifting_residues() -> None:
    for prime in PRIMES[:2]:
        for value in (Fraction(0), Fraction(1), Fraction(-5, 7), Fraction(10**8, 3)):
            residue = value.numerator * pow(value.denominator, -1, prime) % prime
            assert _lifted(residue, prime) == value


def test_the_same_claim_every_time() -> None:
    question = affine_question([[1, 2, 0], [-1, 1, 1]], [1, -2, 3], norm=L2, rate=-1)
    subject = Subject(question, {})
    assert claim_bytes(produce(subject, 0)) == claim_bytes(produce(subject, 0))

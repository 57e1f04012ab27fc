"""Support bounds against exact floors in every norm, and against all schedules of a depth."""

from __future__ import annotations

from fractions import Fraction
from math import e

import pytest
from dynamic_truth import (
    ROUNDING,
    affine_floor,
    best_schedule_error,
    enumerated_value,
    scalar_floor,
)
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from random_systems import random_question
from value_systems import BILINEAR, INTEGRATOR, SWITCHED, accepted_lower, system

from qreplace.claims import claim_bytes
from qreplace.errors import ProducerFailed
from qreplace.produce.sos_program import Budget
from qreplace.produce.support import SupportProducer, dual_ball, functional_document, produce
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

NORMS: list[Norm] = [L1, L2, LINF, weighted_linf(2, "1/2"), weighted_l1("1/2", 3)]


def test_the_switched_scalar_is_bounded() -> None:
    subject = system(SWITCHED, [2])
    lower = accepted_lower(subject, produce(subject, 0, order=2))
    assert 1 + 1 / e - 1e-5 < lower <= 1 + 1 / e


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_has_its_dual_ball(norm: Norm) -> None:
    """Convex endpoints: a functional closes the gap in every norm, sums included."""
    subject = system([["1", "0"], ["0", "1"], ["-1", "-1/2"]], [2, 1], norm)
    lower = float(accepted_lower(subject, produce(subject, 0, order=1)))
    truth = affine_floor(subject.polynomial(0), norm)
    assert truth - 1e-3 <= lower <= truth + 1e-5


@pytest.mark.parametrize(("norm", "same"), [(block_l2(1), LINF)])
def test_blocks_have_theirs(norm: Norm, same: Norm) -> None:
    atoms, target = [["1", "0"], ["0", "1"], ["-1", "-1/2"]], [2, 1]
    one, other = (
        accepted_lower(subject, produce(subject, 0, order=1))
        for subject in (system(atoms, target, norm), system(atoms, target, same))
    )
    assert abs(one - other) < 1e-5


@pytest.mark.parametrize(
    ("atoms", "target", "short"), [(INTEGRATOR, [1, 0], 0.003), (BILINEAR, [1, 1], 0.001)]
)
def test_known_systems_come_close(atoms: list[list[str]], target: list[int], short: float) -> None:
    subject = system(atoms, target)
    lower = float(accepted_lower(subject, produce(subject, 0, order=2)))
    truth = enumerated_value(subject.polynomial(0), L2, cells=24, keep=3000)
    assert truth - short <= lower <= truth + ROUNDING


@pytest.mark.parametrize("seed", [1, 4])
def test_random_scalars_are_bounded_by_the_truth(seed: int) -> None:
    question = random_question(("linear", "bilinear", "cubic")[seed % 3], 1, seed)
    subject = Subject(question, {})
    lower = float(accepted_lower(subject, produce(subject, 0, order=2)))
    truth = scalar_floor(subject.polynomial(0))
    assert 0.95 * truth - 1e-3 <= lower <= truth + 1e-7


@pytest.mark.parametrize("seed", [1, 2])
def test_a_depth_is_never_above_all_its_schedules(seed: int) -> None:
    question = random_question("linear", 1 + seed % 2, seed)
    subject = Subject(question, {})
    depth = 2 + seed % 3
    lower = accepted_lower(subject, produce(subject, 0, order=1, depth=depth))
    assert lower <= best_schedule_error(subject.polynomial(0), question.norm, depth) + 1e-12


def test_a_target_within_reach_has_the_zero_functional() -> None:
    subject = system(SWITCHED, ["1/2"])
    claim = produce(subject, 0, order=1)
    assert claim.witness.vector.indices == ()
    assert accepted_lower(subject, claim) == 0


def test_functionals_are_written_sparsely_with_their_block_norms() -> None:
    third = Fraction(1, 3)
    document = functional_document(block_l2(2), [third, Fraction(0), Fraction(0), Fraction(0)])
    assert document.vector.indices == (0,)
    assert (document.vector.denominator, document.vector.numerators) == (3, (1,))
    assert len(document.block_norms) == 1
    assert third <= document.block_norms[0] < third + Fraction(1, 2**50)
    assert functional_document(LINF, [third, -third]).block_norms == ()
    assert dual_ball(weighted_linf(2, 3), 2, 5).sizes == (Fraction(1, 2), third)


def test_size_and_time_are_limited() -> None:
    subject = system(SWITCHED, [2])
    with pytest.raises(ProducerFailed, match="Gram matrices of 28 rows; at most 10"):
        SupportProducer(subject, 0, budget=Budget(gram_rows=10)).best(6)
    with pytest.raises(ProducerFailed, match="time budget"):
        produce(subject, 0, budget=Budget(seconds=1e-3))


def test_the_same_question_gives_the_same_bytes() -> None:
    one, other = (produce(system(SWITCHED, [2]), 0, order=2) for _ in range(2))
    assert claim_bytes(one) == claim_bytes(other)

"""Blocks and couplings: bounds below the truth, budgets that grow with it, many blocks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import pytest
from dynamic_truth import enumerated_value
from lifted_questions import L1, L2, LINF, block_l2
from value_systems import accepted_lower, system

from qreplace.claims import claim_bytes
from qreplace.errors import ProducerFailed
from qreplace.produce.compositional import CompositionalProducer, found_blocks, produce
from qreplace.produce.hjb_sos import produce as produce_whole
from qreplace.produce.sos_program import Budget
from qreplace.produce.tubes import find_box
from qreplace.question.model import Norm
from qreplace.question.subject import Subject


def ring(
    size: int,
    strength: str,
    norm: Norm = L2,
    blocks: Sequence[Sequence[int]] = (),
    offset: str = "0",
) -> Subject:
    """``x_i' = ±1 + strength * x_(i+1)`` on a ring, target 2 everywhere."""
    atoms = [
        [f"{sign} + {strength}*z{(i + 1) % size + 1}" for i in range(size)] for sign in (1, -1)
    ]
    return system(atoms, [2] * size, norm, initial=[offset] * size, blocks=blocks)


def losses(subject: Subject) -> Fraction:
    claim = produce(subject, 0)
    accepted_lower(subject, claim)
    return sum((k for block in claim.blocks for k in block.coupling), Fraction(0))


def test_uncoupled_blocks_add_up_without_loss() -> None:
    subject = ring(3, "0")
    claim = produce(subject, 0)
    assert all(budget == 0 for block in claim.blocks for budget in block.coupling)
    assert sqrt(3) - 1e-4 < accepted_lower(subject, claim) <= sqrt(3)


def test_the_budget_grows_with_the_coupling() -> None:
    weak, strong = losses(ring(3, "1/100")), losses(ring(3, "1/20"))
    assert 0 < weak < strong
    assert strong < 8 * weak


@pytest.mark.parametrize("norm", [L1, L2, LINF, block_l2(1), block_l2(2)])
@pytest.mark.parametrize("blocks", [[[0], [1]], [[0, 1]]])
def test_bounds_stay_below_the_truth(norm: Norm, blocks: list[list[int]]) -> None:
    """Both atoms push all coordinates alike, so the best endpoint is that of the upper one."""
    subject = ring(2, "1/20", norm, blocks, "1/8")
    lower = float(accepted_lower(subject, produce(subject, 0)))
    truth = enumerated_value(subject.polynomial(0), norm, cells=12, mixtures=2, keep=500)
    assert lower <= truth + 1e-9
    if norm is not L1:
        assert lower >= 0.85 * truth


def test_local_functions_are_worth_less_than_a_common_one() -> None:
    subject = ring(2, "1/10", blocks=[[0], [1]])
    apart = accepted_lower(subject, produce(subject, 0))
    together = accepted_lower(subject, produce_whole(subject, 0, order=1))
    assert apart < together


def test_a_block_that_loses_keeps_the_value_zero() -> None:
    """The second block can reach its target: it adds nothing and costs nothing."""
    atoms = [["1 + z2/50", "1/2"], ["-1 + z2/50", "-1/2"]]
    subject = system(atoms, [2, 0], blocks=[[0], [1]])
    claim = produce(subject, 0)
    assert not claim.blocks[1].value_function.exponents
    assert claim.blocks[1].coupling == (0, 0)
    assert accepted_lower(subject, claim) > Fraction(98, 100)


def test_blocks_are_found_from_the_strength_of_couplings() -> None:
    atoms = [
        ["z2", "1", "z4", "1 + z1/100"],
        ["z2", "-1", "z4", "-1 - z1/100"],
    ]
    problem = system(atoms, [1, 0, 1, 0]).polynomial(0)
    assert found_blocks(problem, find_box(problem)) == ((0, 1), (2, 3))


def test_many_blocks_stay_cheap() -> None:
    """Ten coordinates: one whole programme would need 66 rows at degree 4 and 286 at degree 6."""
    subject = ring(10, "1/200")
    producer = CompositionalProducer(subject, 0)
    claim = producer.claim(1)
    assert len(claim.blocks) == 10
    assert 0.98 * sqrt(10) < accepted_lower(subject, claim) <= sqrt(10)


def test_polynomial_couplings_count_once_for_the_first_other_block() -> None:
    atoms = [["1 + z1*z2/40 + z2*z3/40", "1", "1"], ["-1 + z1*z2/40 + z2*z3/40", "-1", "-1"]]
    subject = system(atoms, [2, 2, 2], blocks=[[0], [1], [2]])
    claim = produce(subject, 0)
    assert claim.blocks[0].coupling[1] > 0
    assert claim.blocks[0].coupling[2] == 0
    assert 1.6 < accepted_lower(subject, claim) <= sqrt(3) + 0.06


def test_refusals_say_why() -> None:
    with pytest.raises(ProducerFailed, match="a block has 7 coordinates; at most 6"):
        CompositionalProducer(ring(7, "1/100", blocks=[list(range(7))]), 0)
    with pytest.raises(ProducerFailed, match="no block ended in an exact certificate"):
        produce(ring(2, "1/100"), 0, budget=Budget(gram_rows=2))
    with pytest.raises(ProducerFailed, match="time budget"):
        produce(ring(2, "1/100"), 0, budget=Budget(seconds=1e-6))
    with pytest.raises(ProducerFailed, match="no box holds every trajectory"):
        produce(system([["1 + z1^2"], ["z1^2"]], [2], horizon=2), 0)


def test_the_same_question_gives_the_same_bytes() -> None:
    one, other = (produce(ring(2, "1/20"), 0) for _ in range(2))
    assert claim_bytes(one) == claim_bytes(other)

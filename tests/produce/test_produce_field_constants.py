"""Produced constants are accepted, tight where that is known, and found in time."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from typing import Any

import pytest
from declared_questions import quantized
from dynamic_questions import affine_question, forcing, polynomial_question
from lifted_questions import L2, LINF, make_subject
from random_dynamics import random_question

from qreplace.check.bounds import ScopedConstants
from qreplace.check.field_constants import check
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.errors import ProducerFailed
from qreplace.produce.field_constants import produce
from qreplace.question.model import Question
from qreplace.question.subject import Subject


def made(question: Question, **options: Any) -> tuple[FieldConstantsClaim, ScopedConstants]:
    """A produced claim, checked."""
    about = Subject(question, {})
    claim = produce(about, **options)
    return claim, check(about, claim)[0]


@pytest.mark.parametrize("horizon", [1, 10])
def test_a_contraction_keeps_to_its_walls_however_long(horizon: int) -> None:
    """x' = u - x stays in [0, 1]; the room about it is an eighth."""
    question = polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF, horizon=horizon)
    claim, found = made(question, room=Fraction(1, 8))
    assert (claim.reach_lower, claim.reach_upper) == ((Fraction(0),), (Fraction(1),))
    assert claim.field_bound == Fraction(9, 8) and claim.growth_rate == -1
    assert claim.margin == Fraction(1, 8)
    assert found.reach_step == 1


def test_room_is_left_where_it_may_be_needed() -> None:
    """Slopes that hold everywhere need none, unless a register of increments asks for B."""
    question = polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF)
    claim, _ = made(question)
    assert claim.margin == 0 and claim.field_bound == 1
    register = quantized("increment", "1/64", limit=8)
    claim, _ = made(dataclasses.replace(question, execution=register))
    assert claim.margin == Fraction(1, 8)
    claim, _ = made(dataclasses.replace(question, execution=quantized("write_back", limit=8)))
    assert claim.margin == 0
    claim, _ = made(polynomial_question([["-z1^3"], ["1 - z1^3"]], [2], norm=LINF))
    assert claim.margin == Fraction(1, 8)


def test_speeds_hold_at_every_depth() -> None:
    claim, found = made(polynomial_question([["1"], ["-1"]], [2]))
    assert found.reach_step is None and claim.field_bound == 1 and claim.state_lipschitz == 0


def test_a_rotation_gets_its_own_norm_and_a_ball() -> None:
    """``||A|| = 1`` exactly; states get no further than ``e^T - 1``."""
    question = affine_question(
        [[0, 0], [0, 1]], [0, 0], [1, 0], norm=L2, state_matrix=[[0, 1], [-1, 0]]
    )
    claim, _ = made(question)
    assert 1 <= claim.state_lipschitz < 1 + Fraction(1, 10**8)
    assert claim.field_bound < 4


def test_many_coordinates() -> None:
    """Twelve coupled coordinates and five forcings."""
    rng = random.Random(3)
    size = 12
    rows = [
        [Fraction(rng.randint(-9, 9), 32) - 2 * int(i == j) for j in range(size)]
        for i in range(size)
    ]
    atoms = [[Fraction(rng.randint(-8, 8), 4) for _ in range(size)] for _ in range(4)]
    moving = forcing((0, [[0] * size, [1] * size]), ("1/2", [[1] * size]))
    question = affine_question([*atoms, moving], [1] * size, norm=L2, state_matrix=rows)
    claim, found = made(question)
    # b = t 1 until 1/2, then 1: it moves by 1/2 and jumps by 1/2, sqrt 12 in size.
    length = Fraction(float(size**0.5))
    assert length <= claim.time_variation < length * (1 + Fraction(1, 10**9))
    assert found.growth_rate is not None and found.growth_rate < 0


def test_dictionaries_beyond_the_pairs_take_the_spread_over_atoms() -> None:
    """Seventeen atoms in [-1, 1]: two of them differ by 2 in each coordinate."""
    values = [[Fraction(k, 8), Fraction(-k, 8)] for k in range(-8, 9)]
    claim, _ = made(affine_question(values, [1, 1], norm=LINF))
    assert claim.difference_bound == 2
    texts = [[f"({x}) + z1*0", f"({y})*t"] for x, y in values]
    claim, _ = made(polynomial_question(texts, [1, 1], norm=LINF))
    assert claim.difference_bound == 2 and claim.difference_variation == 2
    slopes = [[f"({x})*z1"] for x, _ in values]
    claim, _ = made(polynomial_question(slopes, [1], [1], norm=LINF, horizon="1/2"))
    assert claim.difference_lipschitz == 2 and claim.state_lipschitz == 1


def test_every_produced_claim_is_accepted() -> None:
    rng = random.Random(11)
    accepted = 0
    for _ in range(6):
        about = Subject(random_question(rng), {})
        try:
            claim = produce(about)
        except ProducerFailed:
            continue
        assert check(about, claim)
        accepted += 1
    assert accepted >= 4


def test_states_that_may_escape_give_nothing() -> None:
    """x' = x^2 from 1 is infinite at time 1."""
    with pytest.raises(ProducerFailed, match="they may escape"):
        produce(Subject(polynomial_question([["z1^2"], ["z1^2"]], [0], [1], horizon=2), {}))
    with pytest.raises(ProducerFailed, match="holds no state-dependent atoms"):
        produce(make_subject([1], [[0], [1]]))

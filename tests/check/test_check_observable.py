"""No ``observable`` claim that passes is beaten by any schedule, of any field."""

from __future__ import annotations

import dataclasses
import itertools
import random
from fractions import Fraction

import pytest
from affine_systems import error, euler
from dynamic_questions import affine_question, polynomial_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF

from qreplace.check.observable import check
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.produce.affine_dynamics import produce as produce_bracket
from qreplace.produce.observable import produce
from qreplace.question.subject import Subject

SEEDS = st.integers(0, 10**6)


def sharing(seed: int) -> Subject:
    """Three coordinates of which the last two, mixed by a unimodular map, see one forcing only."""
    draw = random.Random(seed)

    def number() -> Fraction:
        return Fraction(draw.randint(-4, 4), 2)

    # In coordinates w: w1 is pushed and follows, (w2, w3) turn by themselves. z = P w, |det P| = 1.
    k, m = draw.randint(-2, 2), draw.randint(-2, 2)
    forward = [[1, 0, 0], [k, 1, 0], [0, m, 1]]
    back = [[1, 0, 0], [-k, 1, 0], [k * m, -m, 1]]
    own = [[number(), number(), number()], [0, number(), number()], [0, number(), number()]]

    def times(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[list[Fraction]]:
        return [
            [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0))
             for column in zip(*b, strict=True)]
            for row in a
        ]  # fmt: skip

    def of(rows: list[list[Fraction]] | list[list[int]]) -> list[list[Fraction]]:
        return [[Fraction(x) for x in row] for row in rows]

    matrix = times(times(of(forward), of(own)), of(back))
    shared = [number(), number()]
    atoms = [
        [row[0] for row in times(of(forward), [[number()], [shared[0]], [shared[1]]])]
        for _ in range(2)
    ]
    question = affine_question(
        atoms,
        [number() * 3 for _ in range(3)],
        [number() for _ in range(3)],
        draw.choice([L1, L2, LINF]),
        rate=Fraction(draw.randint(-1, 1), 2),
        state_matrix=matrix,
    )
    return Subject(question, {})


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 4))
def test_no_schedule_beats_an_observable_at_its_depth(seed: int, depth: int) -> None:
    subject = sharing(seed)
    problem, norm = subject.affine(0), subject.question.norm
    claim = produce(subject, 0, depth)
    (bound,) = check(subject, claim)
    assert bound.quantity == "ideal_error" and depth in bound.depths
    assert bound.covers == "every_schedule"
    # Every schedule ends with the same value.
    weights = [Fraction(0)] * 3
    vector = claim.witness.vector
    for index, n in zip(vector.indices, vector.numerators, strict=True):
        weights[index] = n / vector.denominator
    ends = {
        sum(w * z for w, z in zip(weights, euler(problem, schedule), strict=True))
        for schedule in itertools.product(range(2), repeat=depth)
    }
    assert len(ends) == 1
    best = min(
        error(problem, norm, euler(problem, schedule))
        for schedule in itertools.product(range(2), repeat=depth)
    )
    assert float(bound.value) <= best + 1e-12
    aim = sum(w * Fraction(y, problem.denominator) for w, y in zip(
        weights, problem.target, strict=True))  # fmt: skip
    assert abs(bound.value - abs(aim - ends.pop())) < Fraction(1, 2**90)


@settings(max_examples=15)
@given(SEEDS)
def test_an_observable_stays_below_the_floor(seed: int) -> None:
    subject = sharing(seed)
    claim = produce(subject, 0)
    (bound,) = check(subject, claim)
    assert bound.quantity == "relaxed_floor" and bound.evidence is Evidence.INTERVAL_CERTIFIED
    assert bound.value <= (produce_bracket(subject, 0).upper or 0)
    with pytest.raises(Rejected, match="ends nearer"):
        check(subject, dataclasses.replace(claim, lower=claim.lower + Fraction(1, 2**90)))


def test_products_and_powers_have_to_cancel() -> None:
    shared = [["z1*z2 + t^2", "z1*z2", "z1"], ["z1*z2 + 1 + t^2", "z1*z2 + 1", "z1"]]
    subject = Subject(polynomial_question(shared, [3, 1, 1], [1, 0, 0], L2), {})
    claim = produce(subject, 0, None)
    assert check(subject, claim)
    # A product times t in one atom of the second coordinate only.
    other = [shared[0], ["z1*z2 + 1 + t^2", "z1*z2*t + 1", "z1"]]
    moved = Subject(polynomial_question(other, [3, 1, 1], [1, 0, 0], L2), {})
    forged = dataclasses.replace(claim, subject=moved.problem_digest(0))
    with pytest.raises(Rejected, match="moves the observable otherwise"):
        check(moved, forged)

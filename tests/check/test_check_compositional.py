"""Accepted block certificates stay below what coupled systems really do."""

from __future__ import annotations

from fractions import Fraction

import pytest
from corpora.compositional import (
    ACCEPTED,
    CHAIN,
    LINKED,
    LOSS,
    QUESTIONS,
    REJECTED,
    TRIPLE,
    subject,
)
from dynamic_questions import polynomial, polynomial_question
from dynamic_truth import ROUNDING, enumerated_value
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L2, LINF
from square_claims import NOTHING, box, changed
from straight_claims import above_least

from qreplace.check.compositional import check, coupling_effects
from qreplace.check.work import Work
from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.errors import Rejected
from qreplace.exact.intervals import range_on
from qreplace.exact.roots import sqrt_bounds
from qreplace.premises import Evidence
from qreplace.question.model import Norm
from qreplace.question.subject import Subject


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[n for _, n, _ in ACCEPTED])
def test_the_corpus_speaks_the_truth(kind: str, name: str, claim: CompositionalClaim) -> None:
    question = name.split("--")[0]
    (bound,) = check(subject(question), claim)
    assert (bound.side, bound.value, bound.kind) == ("lower", claim.lower, kind)
    assert bound.quantity == "relaxed_floor" and bound.covers == "every_schedule"
    assert bound.evidence is Evidence.ANALYTIC_CERTIFIED
    problem = subject(question).polynomial(0)
    truth = enumerated_value(problem, QUESTIONS[question].norm, cells=5, keep=500)
    assert float(bound.value) <= truth + ROUNDING


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"),
    [case[1:] for case in REJECTED],
    ids=[case[1] for case in REJECTED],
)
def test_attacks_fail_for_their_reason(
    name: str, claim: CompositionalClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message
    assert caught.value.pointer == pointer


def test_what_is_due_to_whom() -> None:
    """``z1 z3`` in the second and third field belongs to the first block, ``z2`` to the second."""
    problem = subject("comp-chain").polynomial(0)
    slope = "-2*(2 + t - {})"
    for index, wanted in enumerate(
        [
            ("0", f"{slope.format('z1')}/20*z2", "0"),
            (f"{slope.format('z2')}/20*z1*z3", "0", "0"),
            (f"{slope.format('z3')}/20*z1*z3", f"{slope.format('z3')}/40*z2", "0"),
        ]
    ):
        for atom in range(len(CHAIN)):
            found = coupling_effects(problem, LINKED.blocks, index, atom, Work(4))
            assert found == [polynomial(text, 3) for text in wanted]
    assert LOSS < TRIPLE


def test_every_budget_is_needed() -> None:
    """Less for any pair of blocks is refused; the loss is the sum of all of them."""
    about = subject("comp-chain")
    check(about, LINKED)
    for index, block in enumerate(LINKED.blocks):
        for due, budget in enumerate(block.coupling):
            less = list(block.coupling)
            less[due] = budget - Fraction(1, 10**40)
            blocks = list(LINKED.blocks)
            blocks[index] = changed(block, coupling=tuple(less))
            with pytest.raises(Rejected, match="a coupling budget is too small"):
                check(about, changed(LINKED, blocks=tuple(blocks)))


SHARES = st.sampled_from([Fraction(n, 20) for n in range(-4, 5)])
SPEEDS = st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=3)


@settings(max_examples=40)
@given(SPEEDS, st.tuples(SHARES, SHARES), st.sampled_from([L2, LINF]))
def test_random_pairs(
    speeds: list[tuple[int, int]],
    shares: tuple[Fraction, Fraction],
    norm: Norm,
) -> None:
    """Two coupled integrators ``x_i' = u_i + c_i x_k``, with budgets as large as they need to be.

    With ``m_i = max u_i`` the distance ``d = 3 - x_i - m_i (1 - t)`` is positive on the tube.
    """
    fields = [[_sum(a, shares[0], "z2"), _sum(b, shares[1], "z1")] for a, b in speeds]
    question = polynomial_question(fields, [4, 4], norm=norm)
    about = Subject(question, {})
    side = Fraction(5, 4) + 1
    sides = ((Fraction(0), Fraction(1)), (-side, side))
    weight = Fraction(1) if norm == L2 else Fraction(1, 2)
    blocks = []
    for index in (0, 1):
        reach = max(speed[index] for speed in speeds)
        distance = polynomial(f"4 - z1 - {reach}*(1 - t)" if reach >= 0 else "5 - t - z1", 1)
        blocks.append(
            Block(
                coordinates=(index,),
                weights=(weight,),
                value_function=(distance * distance).scaled(weight),
                local=tuple((polynomial(str(s[index]), 1),) for s in speeds),
                flow=tuple(
                    above_least(distance, 2 * weight * (reach - s[index]), sides) for s in speeds
                ),
                terminal=NOTHING,
                coupling=(Fraction(0), Fraction(0)),
            )
        )
    tube = box([-side] * 2, [side] * 2)
    problem = about.polynomial(0)
    ranges = ((Fraction(0), Fraction(1)), (-side, side), (-side, side))
    budgets = []
    for index in (0, 1):
        effects = [
            coupling_effects(problem, blocks, index, atom, Work(3)) for atom in range(len(fields))
        ]
        budgets.append(tuple(-min(range_on(e[due], ranges)[0] for e in effects) for due in (0, 1)))
    blocks = [changed(b, coupling=k) for b, k in zip(blocks, budgets, strict=True)]
    start = sum((b.value_function.at((Fraction(0), Fraction(0))) for b in blocks), Fraction(0))
    left = start - sum((sum(k) for k in budgets), Fraction(0))
    claim = CompositionalClaim(
        format="qreplace/claim/compositional/v1",
        subject=about.problem_digest(0),
        code=0,
        tube=tube,
        blocks=tuple(blocks),
        lower=sqrt_bounds(max(left, Fraction(0)))[0],
    )
    if left < 0:
        with pytest.raises(Rejected, match="what the value functions show"):
            check(about, claim)
        return
    (bound,) = check(about, claim)
    truth = enumerated_value(problem, norm, cells=4, mixtures=2, keep=300)
    assert float(bound.value) <= truth + ROUNDING
    if shares == (0, 0):
        assert budgets == [(0, 0), (0, 0)]


def _sum(sign: int, share: Fraction, name: str) -> str:
    return f"{sign} {'-' if share < 0 else '+'} {abs(share)}*{name}"

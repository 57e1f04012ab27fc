"""Freezing begins exactly where it is claimed: the executed state is simulated in rationals."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF, make_subject, write_back
from lifted_strategies import SMALL

from qreplace.check.frozen import frozen_step_rule
from qreplace.check.registry import check_claim
from qreplace.errors import Rejected
from qreplace.produce.frozen import produce
from qreplace.question.subject import Subject

STEPS = st.builds(Fraction, st.integers(1, 8), st.integers(1, 8))
ATOMS = st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=1, max_size=3)


def moves(subject: Subject, depth: int, steps: int) -> bool:
    """Whether some schedule of the first ``steps`` steps leaves the state 0 (nearest rounding)."""
    problem = subject.lifted(0)
    rule = frozen_step_rule(subject)
    cell = rule.coefficient / depth**rule.power
    for picks in itertools.product(range(len(problem.atoms)), repeat=min(steps, depth)):
        state = [Fraction(0)] * problem.dimension
        for pick in picks:
            exact = [
                z + Fraction(b, problem.denominator * depth)
                for z, b in zip(state, problem.atoms[pick], strict=True)
            ]
            state = [cell * ((2 * x + cell) // (2 * cell)) for x in exact]
            if any(state):
                return True
    return False


@settings(max_examples=100)
@given(ATOMS, STEPS, st.integers(0, 1))
def test_the_state_is_frozen_from_the_first_depth_on(
    atoms: list[list[Fraction]], step: Fraction, power: int
) -> None:
    subject = make_subject([1, -2], atoms, LINF, execution=write_back(step, power))
    claim = produce(subject, 0, frozen_step_rule(subject))
    if claim is None:
        assert power == 1 and moves_or_ties(subject)
        return
    lower, upper = check_claim(subject, claim)
    assert lower.value == upper.value == 2
    for depth in (claim.first_depth, claim.first_depth + 1, 3 * claim.first_depth):
        assert not moves(subject, depth, 3)
    if claim.first_depth > 1:
        earlier = dataclasses.replace(claim, first_depth=claim.first_depth - 1)
        with pytest.raises(Rejected, match="an increment reaches half a cell"):
            check_claim(subject, earlier)
        assert moves_or_ties(subject, earlier.first_depth)


def moves_or_ties(subject: Subject, depth: int = 1) -> bool:
    """Whether some increment reaches half a cell, where rounding decides."""
    problem = subject.lifted(0)
    rule = frozen_step_rule(subject)
    half = rule.coefficient / depth**rule.power / 2
    largest = max(abs(n) for atom in problem.atoms for n in atom)
    return Fraction(largest, problem.denominator * depth) >= half

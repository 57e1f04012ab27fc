"""Freezing begins exactly where it is claimed: the executed state is simulated in rationals."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import pytest
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF, make_subject, write_back
from lifted_strategies import SMALL

from qreplace.check.frozen import frozen_step_rule
from qreplace.check.registry import check_claim
from qreplace.errors import Rejected
from qreplace.produce.frozen import produce
from qreplace.question.frozen_start import frozen_start
from qreplace.question.subject import Subject
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.model import Arithmetic, grid
from qreplace.simulate.study import study_system

STEPS = st.builds(Fraction, st.integers(1, 8), st.integers(1, 8))
ATOMS = st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=1, max_size=3)


def moves(subject: Subject, depth: int, steps: int) -> bool:
    """Whether some schedule of the first ``steps`` steps leaves the state 0 (nearest rounding)."""
    problem = subject.lifted(0)
    rule = frozen_step_rule(subject, frozen_start(subject, 0))
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
    start = frozen_start(subject, 0)
    claim = produce(subject, 0, start, frozen_step_rule(subject, start))
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
    rule = frozen_step_rule(subject, frozen_start(subject, 0))
    half = rule.coefficient / depth**rule.power / 2
    largest = max(abs(n) for atom in problem.atoms for n in atom)
    return Fraction(largest, problem.denominator * depth) >= half


@settings(max_examples=60, deadline=None)
@given(
    ATOMS,
    st.lists(st.lists(SMALL, min_size=2, max_size=2), min_size=2, max_size=2),
    st.lists(st.integers(-4, 4), min_size=2, max_size=2),
    STEPS,
)
def test_affine_states_on_the_grid_never_move(
    atoms: list[list[Fraction]], rows: list[list[Fraction]], codes: list[int], step: Fraction
) -> None:
    """Every periodic schedule of period two, either tie rule, simulated at the claimed depth."""
    start = [step * code for code in codes]
    question = affine_question(atoms, [1, -2], start, LINF, rate="-1/2", state_matrix=rows,
                               execution=write_back(step))  # fmt: skip
    subject = Subject(question, {})
    found = frozen_start(subject, 0)
    claim = produce(subject, 0, found, frozen_step_rule(subject, found))
    assert claim is not None
    lower, upper = check_claim(subject, claim)
    assert lower.value == upper.value == max(abs(1 - start[0]), abs(-2 - start[1]))
    system, _ = study_system(subject, 0)
    depth = claim.first_depth
    if depth > 200:
        return
    for pattern in itertools.product(range(len(atoms)), repeat=2):
        schedule = [pattern[k % 2] for k in range(depth)]
        for rounding in ("nearest_even", "nearest_away"):
            own = Arithmetic("write_back", rounding, grid(step))
            assert simulate(system, schedule, own).executed == tuple(start)
    if depth > 1:
        with pytest.raises(Rejected, match="an increment reaches half a cell"):
            check_claim(subject, dataclasses.replace(claim, first_depth=depth - 1))

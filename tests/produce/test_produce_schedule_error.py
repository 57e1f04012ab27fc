"""Produced schedules hold, and are the best ones where all are enumerated."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, alpha_of, bracket_of, make_subject
from lifted_strategies import Problem, problems, simplex_grid

from qreplace.check.registry import check_claim
from qreplace.produce.affine_lp import produce
from qreplace.produce.schedule_error import ScheduleProducer
from qreplace.question.model import BlockL2Norm, L2Norm


@settings(max_examples=80)
@given(problems(), st.integers(1, 7))
def test_small_depths_are_enumerated(problem: Problem, depth: int) -> None:
    subject = problem.subject
    floor = produce(subject, 0)
    count = len(problem.atoms)
    claim = ScheduleProducer(subject, 0, alpha_of(floor, count)).produce(depth)
    (bound,) = check_claim(subject, claim)
    assert sum(claim.counts) == depth == bound.depths.first == bound.depths.last
    assert bound.value >= floor.lower
    best = min(problem.error(alpha) for alpha in simplex_grid(count, depth))
    found = problem.error([Fraction(n, depth) for n in claim.counts])
    assert best <= found <= best * (1 + Fraction(1, 10**8)) + Fraction(1, 10**18)
    square = isinstance(problem.norm, BlockL2Norm | L2Norm)
    assert found <= (bound.value**2 if square else bound.value)


@pytest.mark.parametrize("norm", [LINF, L1, L2], ids=lambda norm: norm.kind)
def test_deep_schedules_approach_the_floor(norm: object) -> None:
    atoms = [[(7 * i * j + i + j) % 11 - 5 for i in range(12)] for j in range(8)]
    subject = make_subject([i % 3 for i in range(12)], atoms, norm)  # type: ignore[arg-type]
    floor = produce(subject, 0)
    lower, upper = bracket_of(subject, floor)
    producer = ScheduleProducer(subject, 0, alpha_of(floor, 8))
    errors = []
    for depth in (1, 8, 64, 512):
        (bound,) = check_claim(subject, producer.produce(depth))
        errors.append(bound.value)
    assert lower <= min(errors)
    assert errors[-1] <= upper * Fraction(102, 100)
    assert errors[0] > errors[-1]


@pytest.mark.parametrize("scale", [Fraction(10) ** 400, Fraction(1, 10**400)])
def test_schedules_do_not_depend_on_the_scale(scale: Fraction) -> None:
    target, atoms = [2, 1], [[1, 0], [0, 3], [5, 5]]
    plain = make_subject(target, atoms)
    scaled = make_subject([scale * x for x in target], [[scale * x for x in a] for a in atoms])
    alpha = alpha_of(produce(plain, 0), 3)
    for depth in (3, 20):
        counts = [ScheduleProducer(s, 0, alpha).produce(depth).counts for s in (plain, scaled)]
        assert counts[0] == counts[1]

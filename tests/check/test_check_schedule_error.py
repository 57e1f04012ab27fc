"""A checked schedule error is the norm of the endpoint's residual, and no other number passes."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_strategies import Problem, problems

from qreplace.check.registry import check_claim
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.errors import Rejected
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import BlockL2Norm, L2Norm


@settings(max_examples=150)
@given(problems(), st.data())
def test_only_the_true_error_passes(problem: Problem, data: st.DataObject) -> None:
    count = len(problem.atoms)
    steps = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=12))
    counts = [steps.count(j) for j in range(count)]
    # The endpoint step by step, in the drawn order: horizon 1, so a step is 1/D.
    state = [Fraction(0)] * len(problem.target)
    for j in steps:
        state = [z + b / len(steps) for z, b in zip(state, problem.atoms[j], strict=True)]
    shares = [Fraction(n, len(steps)) for n in counts]
    mixture = [
        sum((a * b for a, b in zip(shares, row, strict=True)), Fraction(0))
        for row in zip(*problem.atoms, strict=True)
    ]
    assert mixture == state
    error = problem.error(shares)
    if isinstance(problem.norm, BlockL2Norm | L2Norm):
        error = sqrt_bounds(error)[1]
    subject = problem.subject
    claim = ScheduleErrorClaim(
        "qreplace/claim/schedule_error/v1",
        subject.problem_digest(0),
        0,
        tuple(counts),
        error,
    )
    (bound,) = check_claim(subject, claim)
    assert bound.value == error and bound.side == "upper" and bound.quantity == "ideal_error"
    assert (bound.depths.first, bound.depths.last) == (len(steps), len(steps))
    for by in (Fraction(1, 10**40), -Fraction(1, 10**40), -error - 1):
        with pytest.raises(Rejected, match="not the claimed one"):
            check_claim(subject, dataclasses.replace(claim, error=error + by))
    for j in range(count):
        moved = list(counts)
        moved[j] -= 1 + moved[j]
        with pytest.raises(Rejected, match="a count is negative"):
            check_claim(subject, dataclasses.replace(claim, counts=tuple(moved)))

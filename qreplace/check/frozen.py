"""Checker of ``frozen`` (theory T4.4): an exact no-go, not a bound.

Claim: from ``first_depth`` on every executed schedule ends at the initial state, so the executed
error is the distance from there to the target.

Obligations, numbered as in ``schemas/frozen.v1.md``:

1. the claim's subject is this question's problem *and* execution at the claim's code, and its
   atoms are given;
2. execution is write-back with nearest rounding, exact field evaluation in an accumulator without
   a declared width, and starts exactly at a state on its grid, within its range, at every depth;
3. every increment ``(T / D) |G_j,i(t, z_0)|`` is strictly below half a cell at ``first_depth`` and
   hence (cells that shrink no faster than ``1/D``) at every later depth;
4. the distance from the initial state to the target, enclosed, has the claimed ends.
"""

from __future__ import annotations

from fractions import Fraction

from qreplace.check.bounds import DepthSet, ScopedBound, require, require_code
from qreplace.claims import claim_digest
from qreplace.claims.frozen import FrozenClaim
from qreplace.errors import InputError, Rejected
from qreplace.premises import Absent, Evidence
from qreplace.question.frozen_start import FrozenStart, frozen_start, on_grid, within_register
from qreplace.question.model import DepthRule, QuantizedExecution, Registers
from qreplace.question.subject import Subject


def check(subject: Subject, claim: FrozenClaim) -> tuple[ScopedBound, ...]:
    """Lower and upper bounds on the executed error from ``first_depth`` on; raises ``Rejected``."""
    require_code(subject.question, claim.code)  # 1
    digest = subject.execution_digest(claim.code)
    require(claim.subject == digest, "the claim is about another question", "/subject")  # 1
    start = _start(subject, claim.code)  # 1
    step = frozen_step_rule(subject, start)  # 2
    require(claim.first_depth >= 1, "a depth is at least 1", "/first_depth")
    increment = start.field * start.horizon / claim.first_depth
    half_cell = step.coefficient / (2 * claim.first_depth**step.power)
    require(increment < half_cell, "an increment reaches half a cell", "/first_depth")  # 3
    stated = (claim.lower, claim.upper)
    require(start.ends == stated, "the distance to the target is not the claimed one")  # 4

    def bound(side: str, value: Fraction) -> ScopedBound:
        return ScopedBound(
            quantity="executed_error",
            side="lower" if side == "lower" else "upper",
            value=value,
            objective="endpoint",
            domain="witnesses",
            depths=DepthSet(claim.first_depth, None),
            subject=digest,
            code=claim.code,
            covers="every_schedule",
            evidence=Evidence.FINITE_WITNESS_CERTIFIED,
            kind="frozen",
            claim=claim_digest(claim),
        )

    return bound("lower", start.ends[0]), bound("upper", start.ends[1])


def _start(subject: Subject, code: int) -> FrozenStart:
    try:
        return frozen_start(subject, code)
    except InputError as error:
        raise Rejected(error.message) from None


def frozen_step_rule(subject: Subject, start: FrozenStart) -> DepthRule:
    """The state grid's step rule when freezing can be claimed at all; raises ``Rejected``."""
    execution = subject.question.execution
    if not isinstance(execution, QuantizedExecution) or execution.semantics != "write_back":
        raise Rejected("freezing is about full-state write-back")
    require(execution.grid.rounding == "nearest", "freezing needs nearest rounding")
    require(isinstance(execution.field_error, Absent), "freezing needs an exactly evaluated field")
    require(isinstance(execution.initial_error, Absent), "freezing needs an exact initial state")
    require(on_grid(execution.grid, start.initial), "the initial state is not on the grid")
    if isinstance(execution.overflow, Registers):
        # What one adds up in may overflow on the way to a small sum, or not hold the sum.
        whole = execution.overflow.accumulator_bits is None
        require(whole, "freezing needs an accumulator that is as wide as it needs to be")
        held = within_register(execution.grid, execution.overflow.state_bits, start.initial)
        require(held, "the state's register does not hold the initial state")
    require(execution.grid.step.power <= 1, "the cells shrink faster than the increments")
    return execution.grid.step

"""Checker of ``schedule_error`` (theory T7.13).

Claim: a pure schedule with these counts has ideal endpoint error at most ``error`` at its depth.

Obligations, numbered as in ``schemas/schedule_error.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. one nonnegative count an atom, at least one step in all;
3. ``||B n / D - y||`` (its upper enclosure) is the claimed error.
"""

from __future__ import annotations

from qreplace.check.bounds import DepthSet, ScopedBound, require, require_code
from qreplace.claims import claim_digest
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.premises import Evidence
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject


def check(subject: Subject, claim: ScheduleErrorClaim) -> tuple[ScopedBound, ...]:
    """The upper bound on the ideal error at depth ``sum(counts)``; raises ``Rejected``."""
    require_code(subject.question, claim.code)  # 1
    digest = subject.problem_digest(claim.code)
    require(claim.subject == digest, "the claim is about another question", "/subject")  # 1
    problem = subject.lifted(claim.code)
    counts = list(claim.counts)
    require(len(counts) == len(problem.atoms), "one count an atom is needed", "/counts")  # 2
    require(all(n >= 0 for n in counts), "a count is negative", "/counts")
    depth = sum(counts)
    require(depth >= 1, "a schedule has at least one step", "/counts")
    residual = problem.residual(counts, depth)
    error = norm_bounds(subject.question.norm, residual, depth * problem.denominator)[1]
    require(error == claim.error, "the schedule's error is not the claimed one", "/error")  # 3
    return (
        ScopedBound(
            quantity="ideal_error",
            side="upper",
            value=error,
            objective="endpoint",
            domain="witnesses",
            depths=DepthSet(depth, depth),
            subject=digest,
            code=claim.code,
            covers="one_schedule",
            evidence=Evidence.FINITE_WITNESS_CERTIFIED,
            kind="schedule_error",
            claim=claim_digest(claim),
        ),
    )

"""Checker of ``support`` (theory T7.6, T3.6).

Claim: the error of every schedule is at least ``lower``: E_inf without a depth, E_D with one.

Obligations, numbered as in ``schemas/support.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the depth is one that a question may ask about, the bound is a function of time and the state,
   and the arithmetic asked for is bounded;
3. lambda has dual norm at most 1;
4. every trajectory stays in the region;
5. for every atom the bound does not rise along it, on the region;
6. ``w(T, z) >= <lambda, z>`` where the region's constraints at the horizon are not negative;
7. ``lower <= <lambda, y> - w(0, z_0)``.

Then ``<lambda, z(T)> <= w(T, z(T)) <= w(0, z_0)`` along every trajectory, and
``||y - z(T)|| >= <lambda, y - z(T)> >= lower``. Only rationals are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import check_functional, dense
from qreplace.check.hjb_sos import check_arity, check_depth, check_flow
from qreplace.check.region import check_region, constraints_of
from qreplace.check.sums_of_squares import require_nonnegative
from qreplace.check.work import Work, oversized_is_rejected
from qreplace.claims.support import SupportClaim
from qreplace.exact.polynomial import Polynomial, total, variable
from qreplace.premises import Evidence
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.subject import Subject


def check(subject: Subject, claim: SupportClaim) -> tuple[ScopedBound, ...]:
    """The lower bound that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = subject.polynomial(claim.code)
    check_depth(claim.depth)  # 2
    check_arity(claim.bound, problem, "/bound")  # 2
    check_functional(subject.question.norm, claim.witness, problem.dimension)  # 3
    functional = dense(claim.witness.vector, problem.dimension)
    with oversized_is_rejected():
        _require_affordable(problem, claim)  # 2
        constraints = check_region(problem, claim.region, claim.depth)  # 4
        check_flow(problem, -claim.bound, claim.flow, constraints, claim.depth)  # 5
        excess = claim.bound.fixed(0, problem.horizon) - as_polynomial(functional)
        terminal = [g.fixed(0, problem.horizon) for g in constraints]
        arity = problem.dimension + 1
        require_nonnegative(excess, claim.terminal, terminal, arity, "/terminal")  # 6
    aim = sum((a * y for a, y in zip(functional, problem.target, strict=True)), Fraction(0))
    separation = aim - claim.bound.at(problem.start)
    within = claim.lower <= separation
    require(within, "the lower end exceeds the separation of the target", "/lower")  # 7
    evidence = Evidence.ANALYTIC_CERTIFIED
    return floor_bounds(subject, claim, lower=claim.lower, evidence=evidence, depth=claim.depth)


def as_polynomial(functional: Sequence[Fraction]) -> Polynomial:
    """``<lambda, z>`` as a polynomial in time and the state."""
    arity = len(functional) + 1
    return total(variable(i + 1, arity).scaled(entry) for i, entry in enumerate(functional))


def _require_affordable(problem: PolynomialProblem, claim: SupportClaim) -> None:
    """Raise ``Rejected`` when the claim asks for more arithmetic than is done for one."""
    constraints = constraints_of(problem, claim.region)
    work = Work(problem.dimension + 1, claim, problem)
    work.region(problem, claim.region, constraints, claim.depth)
    work.change(claim.bound, problem.atoms, claim.depth)
    for combination in (*claim.flow, claim.terminal):
        work.combination(combination, constraints)

"""Checker of ``affine_lp`` (theory T7.1).

Claim: ``lower <= E_inf <= upper`` for ``E_inf = min over the simplex of ||B alpha - y||``.

Obligations, numbered as in ``schemas/affine_lp.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. alpha is a point of the simplex;
3. lambda has dual norm at most 1;
4. the dual value ``lambda . y - max_j lambda . b_j`` is the claimed lower end;
5. the primal value ``||B alpha - y||`` (its upper enclosure) is the claimed upper end.

Only integers over common denominators are compared.
"""

from __future__ import annotations

from fractions import Fraction

from qreplace.check.bounds import EVERY_DEPTH, ScopedBound, require, require_code
from qreplace.check.functional import VectorPlaces, check_functional, check_simplex
from qreplace.claims import claim_digest
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.functional import Functional
from qreplace.premises import Evidence
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject


def check(subject: Subject, claim: AffineLPClaim) -> tuple[ScopedBound, ...]:
    """The lower and the upper bound that the claim proves, recomputed; raises ``Rejected``."""
    require_code(subject.question, claim.code)  # 1
    digest = subject.problem_digest(claim.code)
    require(claim.subject == digest, "the claim is about another question", "/subject")  # 1
    problem = subject.lifted(claim.code)
    norm = subject.question.norm
    alpha = check_simplex(claim.primal, len(problem.atoms), "/primal")  # 2
    places = VectorPlaces("/dual", "/dual_block_norms")
    witness = Functional(claim.dual, claim.dual_block_norms)
    functional = check_functional(norm, witness, problem.dimension, places)  # 3
    lower = Fraction(
        problem.separation(claim.dual.indices, functional),
        claim.dual.denominator.numerator * problem.denominator,
    )
    require(lower == claim.lower, "the dual value is not the claimed lower end", "/lower")  # 4
    total = claim.primal.denominator.numerator
    upper = norm_bounds(norm, problem.residual(alpha, total), total * problem.denominator)[1]
    require(upper == claim.upper, "the primal value is not the claimed upper end", "/upper")  # 5
    require(lower <= upper, "the lower end exceeds the upper end", "/lower")

    def bound(side: str, value: Fraction) -> ScopedBound:
        return ScopedBound(
            quantity="relaxed_floor",
            side="lower" if side == "lower" else "upper",
            value=value,
            objective="endpoint",
            domain="witnesses",
            depths=EVERY_DEPTH,
            subject=digest,
            code=claim.code,
            covers="every_schedule" if side == "lower" else "one_schedule",
            evidence=Evidence.FINITE_WITNESS_CERTIFIED,
            kind="affine_lp",
            claim=claim_digest(claim),
        )

    return bound("lower", lower), bound("upper", upper)

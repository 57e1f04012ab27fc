"""Checker of ``operator_norm`` (theory T10.5).

Claim: the l2 operator norm of one matrix of the question is at most ``value``.

Obligations, numbered as in ``schemas/operator_norm.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the question holds the matrix that is named: ``system`` and ``target`` have index 0, ``atom`` the
   index of an atom given as a map of the witnesses;
3. ``definite``: ``value^2 I - W^T W`` (or ``W W^T``, whichever is smaller) is positive
   semidefinite, shown in integers; ``products``: ``value^2 >= ||W||_1 ||W||_inf``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from qreplace.check.bounds import ScopedConstants, require, require_subject
from qreplace.claims import claim_digest
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.errors import Rejected
from qreplace.exact.spectral import MAX_ROWS, at_most, products
from qreplace.premises import Evidence
from qreplace.question.matrices import NamedMatrix, named_matrix
from qreplace.question.model import AffineDynamicsSystem
from qreplace.question.operator_bounds import euclidean
from qreplace.question.subject import Subject


def check(subject: Subject, claim: OperatorNormClaim) -> tuple[ScopedConstants, ...]:
    """What the bound says about the field: A's gives L everywhere; raises ``Rejected``."""
    digest = require_subject(subject, claim.subject, claim.code)  # 1
    matrix = named_matrix(subject, claim.code, claim.matrix, claim.index)
    if matrix is None:
        raise Rejected("the question holds no such matrix", pointer="/matrix")  # 2
    check_matrix(matrix, claim.method, claim.value)  # 3
    lipschitz = claim.value if _is_lipschitz(subject, claim) else None
    return (
        ScopedConstants(
            subject=digest,
            code=claim.code,
            margin=None,
            reach_step=None,
            field_bound=None,
            state_lipschitz=lipschitz,
            growth_rate=None,
            step_limit=None,
            time_variation=None,
            difference_bound=None,
            difference_lipschitz=None if lipschitz is None else Fraction(0),
            difference_variation=None,
            evidence=Evidence.INTERVAL_CERTIFIED,
            kind="operator_norm",
            claim=claim_digest(claim),
        ),
    )


def check_matrix(
    matrix: NamedMatrix,
    method: Literal["definite", "products"],
    value: Fraction,
    max_rows: int = MAX_ROWS,
) -> None:
    """Obligation 3 for any matrix of at most ``max_rows`` rows; raises ``Rejected``."""
    rows, denominator = matrix.rows, matrix.denominator
    require(value >= 0, "a norm is not negative", "/value")
    if method == "products":
        enough = value**2 >= products(rows, denominator)
        require(enough, "the product of norms exceeds the bound", "/value")
        return
    shown = at_most(rows, denominator, value, max_rows)
    require(shown, "the norm is not shown to be within the bound", "/value")


def _is_lipschitz(subject: Subject, claim: OperatorNormClaim) -> bool:
    """Whether the bound is that of every Jacobian in the question's norm.

    A multiple of the identity has the same norm in every norm.
    """
    question = subject.question
    if claim.matrix != "system" or not isinstance(question.system, AffineDynamicsSystem):
        return False
    scalar = question.system.matrix is None
    return scalar or euclidean(question.norm, subject.dimension(claim.code))

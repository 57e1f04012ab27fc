"""``affine_lp``: a primal point and a dual witness that bracket an affine floor (theory T7.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import SparseVector


@dataclass(frozen=True, slots=True)
class AffineLPClaim:
    """``lower <= min over the simplex of ||B alpha - y|| <= upper`` for the problem ``subject``.

    ``method`` says how the numbers were found (it proves nothing): ``optimal_basis`` (both basis
    systems solved exactly), ``refined_basis`` (the basis of a more precise solve), ``rounded``
    (simplex rounding of a float solution), ``tangent_cuts`` (block l2).
    """

    format: Literal["qreplace/claim/affine_lp/v1"]
    subject: str
    code: int
    method: Literal["optimal_basis", "refined_basis", "rounded", "tangent_cuts"]
    primal: SparseVector
    """Mixing weights alpha: nonnegative, sum 1."""
    dual: SparseVector
    """The dual witness lambda, dual norm at most 1."""
    dual_block_norms: tuple[Fraction, ...]
    """For block l2: upper bounds of the l2 norms of lambda's nonzero blocks; else empty."""
    lower: Fraction
    upper: Fraction

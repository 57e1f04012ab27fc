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
from itertools import pairwise

from qreplace.check.bounds import EVERY_DEPTH, ScopedBound, require, require_code
from qreplace.claims import claim_digest
from qreplace.claims.affine_lp import AffineLPClaim, SparseVector
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.subject import Subject


def check(subject: Subject, claim: AffineLPClaim) -> tuple[ScopedBound, ...]:
    """The lower and the upper bound that the claim proves, recomputed; raises ``Rejected``."""
    require_code(subject.question, claim.code)  # 1
    digest = subject.problem_digest(claim.code)
    require(claim.subject == digest, "the claim is about another question", "/subject")  # 1
    problem = subject.lifted(claim.code)
    norm = subject.question.norm
    alpha = _dense(claim.primal, len(problem.atoms), "/primal")
    _check_simplex(alpha, claim.primal)  # 2
    _check_dual_norm(norm, claim, problem.dimension)  # 3
    functional = [_integer(n, "/dual/numerators") for n in claim.dual.numerators]
    lower = Fraction(
        problem.separation(claim.dual.indices, functional),
        _integer(claim.dual.denominator, "/dual/denominator") * problem.denominator,
    )
    require(lower == claim.lower, "the dual value is not the claimed lower end", "/lower")  # 4
    total = _integer(claim.primal.denominator, "/primal/denominator")
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


def _check_simplex(alpha: list[int], primal: SparseVector) -> None:
    denominator = _integer(primal.denominator, "/primal/denominator")
    require(all(a >= 0 for a in alpha), "a mixing weight is negative", "/primal/numerators")
    require(sum(alpha) == denominator, "the mixing weights do not sum to 1", "/primal/numerators")


def _check_dual_norm(norm: Norm, claim: AffineLPClaim, dimension: int) -> None:
    """Obligation 3: ``||lambda||_* <= 1`` in the dual of the question's norm."""
    _check_indices(claim.dual, dimension, "/dual")
    numbers = [_integer(n, "/dual/numerators") for n in claim.dual.numerators]
    denominator = _integer(claim.dual.denominator, "/dual/denominator")
    excess = "the dual norm of the witness exceeds 1"
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        _check_block_norms(claim, numbers, denominator, block_size(norm, dimension))
        return
    require(not claim.dual_block_norms, "block norms belong to block l2", "/dual_block_norms")
    if isinstance(norm, LinfNorm):
        within = sum(map(abs, numbers)) <= denominator
    elif isinstance(norm, L1Norm):
        within = all(abs(n) <= denominator for n in numbers)
    else:
        weights = [norm.weights[i] for i in claim.dual.indices]
        if isinstance(norm, WeightedLinfNorm):
            total = sum((abs(n) / w for n, w in zip(numbers, weights, strict=True)), Fraction(0))
            within = total <= denominator
        elif isinstance(norm, WeightedL1Norm):
            within = all(abs(n) <= w * denominator for n, w in zip(numbers, weights, strict=True))
        else:
            raise Rejected(f"no dual norm is known for {norm.kind}")
    require(within, excess, "/dual/numerators")


def _check_block_norms(
    claim: AffineLPClaim, numbers: list[int], denominator: int, block: int
) -> None:
    squares: dict[int, int] = {}
    for index, number in zip(claim.dual.indices, numbers, strict=True):
        squares[index // block] = squares.get(index // block, 0) + number * number
    bounds = claim.dual_block_norms
    require(
        len(bounds) == len(squares), "one norm bound a nonzero block is needed", "/dual_block_norms"
    )
    for bound, square in zip(bounds, squares.values(), strict=True):
        require(
            bound >= 0 and bound * bound * denominator * denominator >= square,
            "a block norm bound is too small",
            "/dual_block_norms",
        )
    require(
        sum(bounds, Fraction(0)) <= 1, "the dual norm of the witness exceeds 1", "/dual_block_norms"
    )


def _check_indices(vector: SparseVector, size: int, pointer: str) -> None:
    indices = vector.indices
    require(
        len(indices) == len(vector.numerators), "as many numerators as indices are needed", pointer
    )
    ascending = all(a < b for a, b in pairwise(indices))
    within = not indices or (indices[0] >= 0 and indices[-1] < size)
    require(ascending and within, "indices are not ascending within range", f"{pointer}/indices")
    require(_integer(vector.denominator, pointer) > 0, "a denominator is positive", f"{pointer}")


def _dense(vector: SparseVector, size: int, pointer: str) -> list[int]:
    _check_indices(vector, size, pointer)
    values = [0] * size
    for index, number in zip(vector.indices, vector.numerators, strict=True):
        values[index] = _integer(number, f"{pointer}/numerators")
    return values


def _integer(value: Fraction, pointer: str) -> int:
    require(value.denominator == 1, "numerators and denominators are integers", pointer)
    return value.numerator

"""Checker of ``affine_dynamics`` (theory T7.2, T3.6).

Claim: ``lower <= E_inf <= upper`` for ``z' = A z + b_j(t)``, or ``lower <= E_D`` at one depth.

Obligations, numbered as in ``schemas/affine_dynamics.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. lambda has dual norm at most 1;
3. the claim is small enough to be checked: its times are short numbers, and ``||A|| T``, the cells
   and the number of products stay within the stated limits;
4. without a depth: the dominant pieces end at ascending times, the last at the horizon, and name
   atoms of the question; at a depth: there are none, and the depth is at least 1;
5. ``lower`` is at most ``lambda . y - sigma``, sigma the upper enclosure of the support function
   ``lambda^T e^{AT} z_0 + int_0^T max_j lambda^T e^{A(T-t)} b_j(t) dt``; at a depth, of the sum
   ``lambda^T (I + hA)^D z_0 + h sum_k max_j lambda^T (I + hA)^{D-1-k} b_j(t_k)``;
6. the control's pieces end at ascending times, the last at the horizon, with simplex weights;
7. ``upper`` is at least the norm of the target less the control's endpoint, enclosed outward, and
   is claimed exactly when there is a control, which there is not at a depth.

The bounds returned are the claim's own ends, once they are seen to be implied.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from operator import mul

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import check_functional, check_simplex
from qreplace.claims.affine_dynamics import AffineDynamicsClaim, DominantPiece
from qreplace.claims.functional import Functional
from qreplace.exact.affine_flow import (
    MAX_FORCING_DEGREE,
    MAX_GROWTH,
    MAX_WORK,
    AffineData,
    Enclosure,
    Mixture,
    discrete_work,
    endpoint,
    forcing_degree,
    growth,
    work,
)
from qreplace.exact.support_function import discrete_support, support
from qreplace.premises import Evidence
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import Norm
from qreplace.question.norms import coordinate_radius, norm_bounds
from qreplace.question.subject import Subject

MAX_PIECES = 1024
MAX_TIME_BITS = 256
"""Longest numerator or denominator of a time, in bits."""
MAX_DEPTH_BITS = 64


def check(subject: Subject, claim: AffineDynamicsClaim) -> tuple[ScopedBound, ...]:
    """The ends that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem, norm = subject.affine_floor(claim.code)
    functional = check_functional(norm, claim.witness, problem.dimension)  # 2
    require_affordable(problem, len(claim.dominant) + len(claim.control))  # 3
    if claim.depth is not None:
        sigma = _discrete(problem, claim, functional)
    else:
        check_dominant(problem, claim.dominant)  # 3, 4
        sigma = support_bound(problem, claim.witness, functional, claim.dominant)
    aim = value_at_target(problem, claim.witness, functional)
    require(
        claim.lower <= aim - sigma, "the dual value is below the claimed lower end", "/lower"
    )  # 5
    if claim.upper is not None:
        control = check_control(problem, claim)  # 3, 6
        error = error_bound(norm, problem, endpoint(problem, control))
        require(
            error <= claim.upper, "the control ends beyond the claimed upper end", "/upper"
        )  # 7
    else:
        require(not claim.control, "a control comes with an upper end", "/control")  # 7
    return floor_bounds(
        subject,
        claim,
        lower=claim.lower,
        upper=claim.upper,
        evidence=Evidence.INTERVAL_CERTIFIED,
        depth=claim.depth,
    )


def require_affordable(problem: AffineData, pieces: int, pointer: str = "") -> None:
    """Raise ``Rejected`` unless enclosures with so many pieces stay within the limits."""
    degree = forcing_degree(problem)
    require(degree <= MAX_FORCING_DEGREE, "a forcing's degree is too large to enclose", pointer)
    size = growth(problem)
    require(size <= MAX_GROWTH, "the state matrix is too large over the horizon", pointer)
    require(pieces <= MAX_PIECES, "the claim has too many pieces", pointer)
    require(work(problem, pieces) <= MAX_WORK, "the claim takes too long to check", pointer)


def check_dominant(problem: AffineProblem, pieces: Sequence[DominantPiece]) -> None:
    """Raise ``Rejected`` unless the pieces cut the horizon and name atoms."""
    _check_ends([piece.end for piece in pieces], problem.horizon, "/dominant")  # 3, 4
    known = all(0 <= piece.atom < len(problem.atoms) for piece in pieces)
    require(known, "a dominant atom is not in the dictionary", "/dominant")  # 4


def check_control(problem: AffineProblem, claim: AffineDynamicsClaim) -> list[Mixture]:
    """The pieces of the control in integers; raises ``Rejected``."""
    _check_ends([piece.end for piece in claim.control], problem.horizon, "/control")  # 3, 6
    found = []
    for position, piece in enumerate(claim.control):
        place = f"/control/{position}/weights"
        weights = check_simplex(piece.weights, len(problem.atoms), place)  # 6
        total = piece.weights.denominator.numerator
        require(total.bit_length() <= MAX_TIME_BITS, "a weight has too many digits", place)  # 3
        found.append(Mixture(piece.end, weights, total))
    return found


def _check_ends(ends: list[Fraction], horizon: Fraction, pointer: str) -> None:
    short = all(
        max(end.numerator.bit_length(), end.denominator.bit_length()) <= MAX_TIME_BITS
        for end in ends
    )
    require(short, "a time has too many digits", pointer)
    ascending = all(a < b for a, b in pairwise([Fraction(0), *ends]))
    require(ascending, "the pieces do not end one after another", pointer)
    require(bool(ends) and ends[-1] == horizon, "the last piece ends at the horizon", pointer)


def support_bound(
    problem: AffineProblem,
    witness: Functional,
    functional: list[int],
    dominant: Sequence[DominantPiece],
) -> Fraction:
    """The upper enclosure of the support function along a checked functional."""
    vector = witness.vector
    ends = [(piece.end, piece.atom) for piece in dominant]
    return support(problem, vector.indices, functional, vector.denominator.numerator, ends)


def _discrete(
    problem: AffineProblem, claim: AffineDynamicsClaim, functional: list[int]
) -> Fraction:
    depth = claim.depth or 0
    require(depth >= 1, "a depth is at least 1", "/depth")  # 4
    require(not claim.dominant, "a sum at a depth has no dominant pieces", "/dominant")  # 4
    require(claim.upper is None, "a control says nothing at a depth", "/upper")  # 7
    affordable = depth.bit_length() <= MAX_DEPTH_BITS and discrete_work(problem, depth) <= MAX_WORK
    require(affordable, "the depth takes too long to check", "/depth")  # 3
    vector = claim.witness.vector
    return discrete_support(
        problem, vector.indices, functional, vector.denominator.numerator, depth
    )


def value_at_target(
    problem: AffineProblem, witness: Functional, functional: Sequence[int]
) -> Fraction:
    """``lambda . y``."""
    target = (problem.target[i] for i in witness.vector.indices)
    unit = witness.vector.denominator.numerator * problem.denominator
    return Fraction(sum(map(mul, functional, target)), unit)


def error_bound(norm: Norm, problem: AffineProblem, state: Enclosure) -> Fraction:
    """An upper bound of the norm of an enclosed state less the target."""
    factor = state.denominator // problem.denominator
    offset = [z - factor * y for z, y in zip(state.centre, problem.target, strict=True)]
    centre = norm_bounds(norm, offset, state.denominator)[1]
    return centre + coordinate_radius(norm, problem.dimension, state.radius)

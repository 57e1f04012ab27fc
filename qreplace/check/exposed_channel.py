"""Checker of ``exposed_channel`` (theory T9.1, T9.2).

Claim: at each depth from ``first`` to ``last`` the ideal error of every schedule is at least
``lower``.

Obligations, numbered as in ``schemas/exposed_channel.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the depths ascend and are few, the numbers are short, there is one label an atom, the rate is
   moderate over the horizon, no defect is negative, and the search asked for is bounded;
3. l has dual norm at most 1;
4. without a tube the defect is 0; with one the system is polynomial and no Euler trajectory of
   these depths leaves the tube;
5. ``l G_j(t, z) = q_j - lam l z`` for every atom: as an identity, or up to the defect on the tube;
6. at every depth ``lower`` is at most the channel's distance from ``l y`` over all schedules, less
   the defect times ``h sum_k |1 - lam h|^k``.

Then ``||z_D - y|| >= |l z_D - l y| >= lower``, for ``l z_D`` is an end of the channel but for what
the defect adds up to. Ends in closed form are enclosed outward, searched ones are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

from qreplace.check.bounds import (
    DepthSet,
    ScopedBound,
    floor_bounds,
    require,
    require_subject,
)
from qreplace.check.functional import check_functional, dense
from qreplace.check.region import box_of, check_box
from qreplace.check.work import Work, oversized_is_rejected
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import Rejected
from qreplace.exact.affine_flow import MAX_GROWTH
from qreplace.exact.exposed_channel import (
    MAX_DEPTHS,
    MAX_LAST,
    MAX_SEARCH,
    Channel,
    closed_distance,
    least_distance,
    search_work,
    weight_sum,
)
from qreplace.exact.intervals import range_on_cells
from qreplace.exact.polynomial import Polynomial, Terms, from_terms
from qreplace.premises import Evidence
from qreplace.question.dynamics import AffineProblem, PolynomialProblem
from qreplace.question.model import PolynomialSystem
from qreplace.question.subject import Subject

MAX_BITS = 4096
"""Longest numerator and common denominator of the rate, the labels or the defect."""
MOVED = "an atom does not move the functional by its label and the rate"


def check(subject: Subject, claim: ExposedChannelClaim) -> tuple[ScopedBound, ...]:
    """The lower end that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem: AffineProblem | PolynomialProblem
    if isinstance(subject.question.system, PolynomialSystem):
        problem, norm = subject.polynomial(claim.code), subject.question.norm
    else:
        problem, norm = subject.affine_floor(claim.code)
    _check_shape(claim, problem)  # 2
    check_functional(norm, claim.witness, problem.dimension)  # 3
    functional = dense(claim.witness.vector, problem.dimension)
    if isinstance(problem, PolynomialProblem):
        channel = _polynomial_channel(problem, claim, functional)  # 4, 5
    else:
        require(claim.tube is None, "a tube belongs to polynomial systems", "/tube")  # 4
        require(claim.mode_defect == 0, "a defect needs a tube", "/mode_defect")  # 4
        channel = _affine_channel(problem, claim, functional)  # 5
    _check_lower(channel, claim)  # 2, 6
    return floor_bounds(
        subject,
        claim,
        lower=claim.lower,
        evidence=Evidence.INTERVAL_CERTIFIED,
        depths=DepthSet(claim.first, claim.last),
    )


def _check_shape(claim: ExposedChannelClaim, problem: AffineProblem | PolynomialProblem) -> None:
    ordered = 1 <= claim.first <= claim.last <= MAX_LAST
    require(ordered, "the depths do not ascend from 1 within the limit", "/last")
    few = claim.last - claim.first < MAX_DEPTHS
    require(few, f"a claim is about at most {MAX_DEPTHS} depths", "/last")
    atoms = len(problem.atoms)
    require(len(claim.labels) == atoms, "one label an atom is needed", "/labels")
    _require_short([claim.rate], "/rate")
    _require_short(claim.labels, "/labels")
    _require_short([claim.mode_defect], "/mode_defect")
    moderate = abs(claim.rate) * problem.horizon <= MAX_GROWTH
    require(moderate, "the rate is too large over the horizon", "/rate")
    require(claim.mode_defect >= 0, "a defect is negative", "/mode_defect")


def _require_short(values: Sequence[Fraction], pointer: str) -> None:
    """The common denominator and every numerator are short."""
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        if max(common.bit_length(), value.numerator.bit_length()) > MAX_BITS:
            raise Rejected("the numbers of the channel have too many digits", pointer=pointer)


def _check_lower(channel: Channel, claim: ExposedChannelClaim) -> None:
    """Obligation 6, depth by depth; the searches are bounded before the first one."""
    work = 0
    for depth in range(claim.first, min(claim.last, claim.searched) + 1):
        work += search_work(channel, depth)
        require(work <= MAX_SEARCH, "the search takes too long to check", "/searched")  # 2
    for depth in range(claim.first, claim.last + 1):
        found = least_distance if depth <= claim.searched else closed_distance
        lost = claim.mode_defect * weight_sum(channel, depth) if claim.mode_defect else Fraction(0)
        shown = found(channel, depth) - lost
        reason = f"at depth {depth} the channel comes closer"
        require(claim.lower <= shown, reason, "/lower")  # 6


# --- affine dynamics ------------------------------------------------------------------------------


def _affine_channel(
    problem: AffineProblem, claim: ExposedChannelClaim, functional: Sequence[Fraction]
) -> Channel:
    """The channel of affine dynamics; raises ``Rejected`` unless the identity holds."""
    vector = claim.witness.vector
    numbers = [n.numerator for n in vector.numerators]
    scale = vector.denominator.numerator
    moved = [Fraction(0)] * problem.dimension
    if problem.matrix is not None:
        rows = [problem.matrix[i] for i in vector.indices]
        unit = problem.matrix_denominator * scale
        moved = [
            Fraction(sum(map(mul, numbers, column)), unit) for column in zip(*rows, strict=True)
        ] or moved
    shift = problem.rate + claim.rate
    steady = all(m + shift * entry == 0 for m, entry in zip(moved, functional, strict=True))
    require(steady, "the functional does not decay at the rate", "/rate")

    def along(values: Sequence[int]) -> Fraction:
        seen = sum(n * values[i] for i, n in zip(vector.indices, numbers, strict=True))
        return Fraction(seen, scale * problem.denominator)

    for j, (atom, label) in enumerate(zip(problem.atoms, claim.labels, strict=True)):
        for piece in atom:
            constant, *rest = map(along, piece.coefficients)
            require(constant == label and not any(rest), MOVED, f"/labels/{j}")
    start, target = along(problem.initial), along(problem.target)
    return Channel(claim.rate, start, claim.labels, target, problem.horizon)


# --- polynomial dynamics --------------------------------------------------------------------------


def _polynomial_channel(
    problem: PolynomialProblem, claim: ExposedChannelClaim, functional: Sequence[Fraction]
) -> Channel:
    """The channel of polynomial dynamics; raises ``Rejected`` unless it holds on the tube."""
    tube = claim.tube
    with oversized_is_rejected():
        rests = [_rest(claim, field, label, functional)
                 for field, label in zip(problem.atoms, claim.labels, strict=True)]  # fmt: skip
        if tube is None:
            require(claim.mode_defect == 0, "a defect needs a tube", "/mode_defect")  # 4
            for j, rest in enumerate(rests):
                require(not rest.exponents, MOVED, f"/labels/{j}")  # 5
        else:
            _require_affordable(problem, claim, tube, rests)  # 2
            # A wall holds for short steps: the longest ones are those of the first depth.
            check_box(problem, tube, "/tube", claim.first)  # 4
            box = box_of(problem, tube, "/tube")
            for j, rest in enumerate(rests):
                cells = [n if rest.involves(i) else 1 for i, n in enumerate(tube.cells)]
                low, high = range_on_cells(rest, box, cells)
                within = max(-low, high) <= claim.mode_defect
                require(within, "an atom is off its label by more than the defect",
                        f"/labels/{j}")  # fmt: skip  # 5
    start, target = (
        sum(map(mul, functional, values), Fraction(0))
        for values in (problem.initial, problem.target)
    )
    return Channel(claim.rate, start, claim.labels, target, problem.horizon)


def _rest(
    claim: ExposedChannelClaim,
    field: Sequence[Polynomial],
    label: Fraction,
    functional: Sequence[Fraction],
) -> Polynomial:
    """``l G_j + lam l z - q_j``."""
    size = len(functional)
    terms: Terms = {(0,) * (size + 1): -label}
    for i, (entry, component) in enumerate(zip(functional, field, strict=True)):
        if entry:
            own = tuple(int(k == i + 1) for k in range(size + 1))
            terms[own] = terms.get(own, Fraction(0)) + claim.rate * entry
            for exponents, c in zip(component.exponents, component.coefficients, strict=True):
                terms[exponents] = terms.get(exponents, Fraction(0)) + entry * c
    return from_terms(terms)


def _require_affordable(
    problem: PolynomialProblem,
    claim: ExposedChannelClaim,
    tube: BoxPart,
    rests: Sequence[Polynomial],
) -> None:
    """Raise ``Rejected`` when the tube asks for more arithmetic than is done for one claim."""
    box_of(problem, tube, "/tube")  # its shape
    work = Work(problem.dimension + 1, claim, problem)
    work.box(problem, tube)
    for rest in rests:
        work.ranges(rest, tube.cells)

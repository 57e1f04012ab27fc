"""Shared obligations of claims about piecewise-affine maps (theory T8)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound, require
from qreplace.claims import claim_digest, claim_kind
from qreplace.errors import InputError, Rejected
from qreplace.premises import Evidence, weakest
from qreplace.question.maps import Point, homogeneous
from qreplace.question.model import FullDomain, PwaSystem
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.subject import Subject

InputDomain = Literal["witnesses", "full"]


def require_piecewise(subject: Subject, code: int) -> PwaProblem:
    """The piecewise-affine problem at a code; raises ``Rejected`` where the question holds none."""
    if not isinstance(subject.question.system, PwaSystem):
        raise Rejected("the claim is about piecewise-affine maps, the question is not")
    try:
        return subject.piecewise(code)
    except InputError as error:
        raise Rejected(error.message) from None


def input_domain(subject: Subject) -> InputDomain:
    """On which inputs the question's error is a maximum."""
    return "full" if isinstance(subject.question.domain, FullDomain) else "witnesses"


def require_inputs(
    subject: Subject, problem: PwaProblem, points: Sequence[Sequence[Fraction]], pointer: str
) -> list[Point]:
    """The points, homogeneous, once each is an input of the question; raises ``Rejected``.

    On a full domain that is a point of its region, else one of the witnesses.
    """
    found = []
    witnesses = set(problem.witnesses or ())
    full = input_domain(subject) == "full"
    for index, point in enumerate(points):
        where = f"{pointer}/{index}"
        require(len(point) == problem.inputs, "a point has one coordinate an input", where)
        exact = homogeneous(point)
        if full:
            inside = problem.region is not None and problem.region.contains(exact)
            require(inside, "a point lies outside the region of the inputs", where)
        else:
            require(exact in witnesses, "a point is not one of the witnesses", where)
        found.append(exact)
    return found


def piecewise_bound(
    claim: Any,
    quantity: Literal["relaxed_floor", "ideal_error", "comparator_error"],
    side: Literal["lower", "upper"],
    value: Fraction,
    *,
    domain: InputDomain,
    depth: int | None = None,
    covers: Literal["every_schedule", "one_schedule"],
    evidence: Evidence = Evidence.ANALYTIC_CERTIFIED,
) -> ScopedBound:
    """A bound with its scope; what holds on witnesses is at best finite-witness certified.

    ``claim`` names the problem by its ``subject`` and ``code``, which the caller has checked.
    """
    if domain == "witnesses":
        evidence = weakest([evidence, Evidence.FINITE_WITNESS_CERTIFIED])
    return ScopedBound(
        quantity=quantity,
        side=side,
        value=value,
        objective="endpoint",
        domain=domain,
        depths=EVERY_DEPTH if depth is None else DepthSet(depth, depth),
        subject=claim.subject,
        code=claim.code,
        covers=covers,
        evidence=evidence,
        kind=claim_kind(claim),
        claim=claim_digest(claim),
    )

"""What a checked claim returns: a bound with its scope (theory T11.1).

Bounds combine only when their scopes match; the decision is the only place that combines them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from qreplace.claims import claim_digest, claim_kind
from qreplace.errors import Rejected
from qreplace.premises import Evidence, weakest
from qreplace.question.model import CodesMetadata, Question
from qreplace.question.subject import Subject


def require(condition: bool, reason: str, pointer: str = "") -> None:
    """Raise ``Rejected`` with the reason unless the obligation holds."""
    if not condition:
        raise Rejected(reason, pointer=pointer)


def require_code(question: Question, code: int) -> None:
    """Raise ``Rejected`` unless a dictionary runs at ``code`` metadata bits."""
    known = not isinstance(question.metadata, CodesMetadata) or code in question.codes
    require(known and code >= 0, "the question has no dictionary at this code", "/code")


def require_subject(subject: Subject, stated: str, code: int) -> str:
    """The digest of the problem at ``code``; raises ``Rejected`` unless the claim names it."""
    require_code(subject.question, code)
    digest = subject.problem_digest(code)
    require(stated == digest, "the claim is about another question", "/subject")
    return digest


@dataclass(frozen=True, slots=True)
class DepthSet:
    """The depths a bound speaks about: ``first`` to ``last``, without end when ``last`` is None."""

    first: int
    last: int | None

    def __contains__(self, depth: int) -> bool:
        return self.first <= depth and (self.last is None or depth <= self.last)


EVERY_DEPTH = DepthSet(1, None)


@dataclass(frozen=True, slots=True)
class ScopedBound:
    """One side of one quantity, recomputed by a checker, with everything it is true about.

    ``quantity``: ``relaxed_floor`` is E_inf, ``ideal_error`` is E_D in exact execution,
    ``executed_error`` is E_D as declared to run, ``comparator_error`` that of a comparator given as
    a map (T1.2). ``subject`` is the digest of the problem it was
    proved for; it fixes norm, horizon, target, witnesses and dictionary. ``domain`` says whether it
    holds on the witnesses or on every input. ``covers`` says whether a lower bound speaks about
    every schedule, or an upper bound about one.
    """

    quantity: Literal["relaxed_floor", "ideal_error", "executed_error", "comparator_error"]
    side: Literal["lower", "upper"]
    value: Fraction
    objective: Literal["endpoint", "path"]
    domain: Literal["witnesses", "full"]
    depths: DepthSet
    subject: str
    code: int
    covers: Literal["every_schedule", "one_schedule"]
    evidence: Evidence
    kind: str
    claim: str
    """SHA-256 of the claim it came from."""


@dataclass(frozen=True, slots=True)
class ScopedConstants:
    """Constants of every atom that a checker recomputed, with the tube they hold on (theory T3).

    ``None`` says nothing about a constant. The tube holds every relaxed and mixed Euler state with
    room ``margin`` about them, in the question's norm; ``None``: the constants hold everywhere.
    ``reach_step``: Euler states of larger steps were not shown to stay there; ``None``: all were.
    """

    subject: str
    code: int
    margin: Fraction | None
    reach_step: Fraction | None
    field_bound: Fraction | None
    state_lipschitz: Fraction | None
    growth_rate: Fraction | None
    step_limit: Fraction | None
    """The largest step at which the growth rate was shown."""
    time_variation: Fraction | None
    difference_bound: Fraction | None
    difference_lipschitz: Fraction | None
    difference_variation: Fraction | None
    evidence: Evidence
    kind: str
    claim: str
    """SHA-256 of the claim it came from."""


@dataclass(frozen=True, slots=True)
class ScopedRegisters:
    """No register of the declared execution overflows, for any schedule, at these depths (T4.10).

    ``subject`` is the digest of the problem together with its execution. ``exact_carry``: what a
    rounding leaves lies on the carry's lattice, so the carry is never rounded (theory T4.7).
    """

    subject: str
    code: int
    depths: DepthSet
    exact_carry: bool
    evidence: Evidence
    kind: str
    claim: str
    """SHA-256 of the claim it came from."""


Checked = ScopedBound | ScopedConstants | ScopedRegisters
"""What a checker may return."""


def floor_bounds(
    subject: Subject,
    claim: Any,
    *,
    lower: Fraction | None = None,
    upper: Fraction | None = None,
    evidence: Evidence,
    depth: int | None = None,
    depths: DepthSet | None = None,
) -> tuple[ScopedBound, ...]:
    """Ends of E_inf, or of the ideal error at one or several depths, that a checked claim proves.

    The claim names ``subject`` and ``code``. Systems lifted to witness inputs are known on those
    only, so their label is at best ``finite_witness_certified``.
    """
    lifted = subject.question.domain.inputs is not None
    label = weakest([evidence, Evidence.FINITE_WITNESS_CERTIFIED]) if lifted else evidence
    digest = claim_digest(claim)
    kind = claim_kind(claim)
    if depths is None and depth is not None:
        depths = DepthSet(depth, depth)

    def bound(side: Literal["lower", "upper"], value: Fraction) -> ScopedBound:
        return ScopedBound(
            quantity="relaxed_floor" if depths is None else "ideal_error",
            side=side,
            value=value,
            objective="endpoint",
            domain="witnesses",
            depths=EVERY_DEPTH if depths is None else depths,
            subject=claim.subject,
            code=claim.code,
            covers="every_schedule" if side == "lower" else "one_schedule",
            evidence=label,
            kind=kind,
            claim=digest,
        )

    ends: list[ScopedBound] = []
    if lower is not None:
        ends.append(bound("lower", lower))
    if upper is not None:
        ends.append(bound("upper", upper))
    return tuple(ends)

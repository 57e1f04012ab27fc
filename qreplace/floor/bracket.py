"""Ends of a bracket: what is known about E_inf, E_D and the executed error, with provenance.

Checked bounds enter only when their scope matches the question's problem; a declared bracket
enters as a declared premise (theory T11.1, design rules 5, 6 and 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound
from qreplace.errors import Contradiction
from qreplace.exact.rational import format_rational
from qreplace.premises import Evidence, Premise
from qreplace.question.model import DeclaredFloor
from qreplace.question.subject import Subject


@dataclass(frozen=True, slots=True)
class End:
    """One side of one quantity at one dictionary code."""

    quantity: Literal["relaxed_floor", "ideal_error", "executed_error"]
    side: Literal["lower", "upper"]
    value: Fraction
    evidence: Evidence
    declared: tuple[str, ...]
    domain: Literal["witnesses", "full"]
    objective: Literal["endpoint", "path"]
    depths: DepthSet
    covers_family: bool
    """Proved for every dictionary of the family, so the metadata radius does not apply (T5.1)."""
    kind: str
    claim: str | None
    """SHA-256 of the claim; ``None`` for a declared end."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The tightest floor ends: ``certified`` ones from claims only, and all together."""

    lower: End | None
    upper: End | None


def ends_at(subject: Subject, bits: int, bounds: Sequence[ScopedBound]) -> list[End]:
    """Every end that speaks about the dictionary at ``bits`` metadata bits."""
    problem = subject.problem_digest(bits) if bounds else ""
    executed = subject.execution_digest(bits) if bounds else ""
    ends = []
    for bound in bounds:
        wanted = executed if bound.quantity == "executed_error" else problem
        if bound.subject != wanted or (bound.side == "lower" and bound.covers != "every_schedule"):
            continue
        if bound.quantity == "comparator_error":
            continue
        ends.append(
            End(
                quantity=bound.quantity,
                side=bound.side,
                value=bound.value,
                evidence=bound.evidence,
                declared=(),
                domain=bound.domain,
                objective=bound.objective,
                depths=bound.depths,
                covers_family=False,
                kind=bound.kind,
                claim=bound.claim,
            )
        )
    ends.extend(_declared_ends(subject, bits))
    _refuse_contradictions(ends)
    return ends


def _declared_ends(subject: Subject, bits: int) -> list[End]:
    """The declared bracket. It is about the question's dictionary, not about a code's own one."""
    question = subject.question
    own = question.dictionary_for(bits) == question.dictionary
    block = question.floor
    if not isinstance(block, DeclaredFloor):
        return []
    domain: Literal["witnesses", "full"] = "full" if question.domain.kind == "full" else "witnesses"

    def end(side: Literal["lower", "upper"], premise: Premise) -> End:
        return End(
            quantity="relaxed_floor",
            side=side,
            value=premise.lower if side == "lower" else premise.upper,
            evidence=premise.evidence,
            declared=(f"floor_{side}",),
            domain=domain,
            objective=question.scope,
            depths=EVERY_DEPTH,
            covers_family=block.covers == "family",
            kind="declared",
            claim=None,
        )

    ends = []
    if block.lower is not None and (own or block.covers == "family"):
        ends.append(end("lower", block.lower))
    if block.upper is not None and own:
        ends.append(end("upper", block.upper))
    return [e for e in ends if e.evidence is not Evidence.UNAVAILABLE]


def comparator_interval(
    subject: Subject, bounds: Sequence[ScopedBound]
) -> tuple[ScopedBound | None, ScopedBound | None]:
    """The tightest checked ends of the comparator's own error (theory T1.2).

    A lower end on witnesses holds on the full domain; an upper end speaks of its own domain only.
    Raises ``Contradiction`` when checked ends cross.
    """
    asked = subject.question.domain.kind
    own = [
        bound
        for bound in bounds
        if bound.quantity == "comparator_error"
        and bound.subject == subject.problem_digest(bound.code)
    ]
    lowers = [b for b in own if b.side == "lower" and b.domain in ("witnesses", asked)]
    uppers = [b for b in own if b.side == "upper" and b.domain == asked]
    lower = max(lowers, key=lambda bound: bound.value, default=None)
    upper = min(uppers, key=lambda bound: bound.value, default=None)
    if lower is not None and upper is not None and lower.value > upper.value:
        raise Contradiction(
            f"a checked lower end {format_rational(lower.value)} of the comparator's error exceeds "
            f"a checked upper end {format_rational(upper.value)}"
        )
    return lower, upper


def bracket(ends: Sequence[End], *, certified: bool) -> Bracket:
    """The tightest floor bracket; from checked claims only when ``certified``."""
    floors = [
        e for e in ends if e.quantity == "relaxed_floor" and (e.claim is not None or not certified)
    ]
    lowers = [e for e in floors if e.side == "lower"]
    uppers = [e for e in floors if e.side == "upper"]
    return Bracket(
        max(lowers, key=lambda e: e.value, default=None),
        min(uppers, key=lambda e: e.value, default=None),
    )


def _refuse_contradictions(ends: Sequence[End]) -> None:
    """Design rule 8: checked ends of one quantity that cross, in scopes that meet, are an error."""
    checked = [e for e in ends if e.claim is not None]
    for lower in checked:
        for upper in checked:
            if lower.side == "lower" and upper.side == "upper" and _crosses(lower, upper):
                raise Contradiction(
                    f"a checked lower end {format_rational(lower.value)} ({lower.kind}) exceeds a "
                    f"checked upper end {format_rational(upper.value)} ({upper.kind})"
                )


def _crosses(lower: End, upper: End) -> bool:
    """Whether ``lower`` must not exceed ``upper`` and does.

    The error on every input is at least that on the witnesses, the path's at least the endpoint's.
    """
    comparable = (
        lower.quantity == upper.quantity
        and (lower.domain == "witnesses" or upper.domain == "full")
        and (lower.objective == "endpoint" or upper.objective == "path")
    )
    return comparable and lower.value > upper.value and _depths_meet(lower.depths, upper.depths)


def _depths_meet(one: DepthSet, other: DepthSet) -> bool:
    first = max(one.first, other.first)
    return first in one and first in other

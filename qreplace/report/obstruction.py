"""Why no control comes closer: what the claim behind an impossible verdict says, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.claims import Claim, claim_kind
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.functional import Functional, SparseVector
from qreplace.question.model import LiftedAffineSystem, VectorTarget
from qreplace.report.context import ReportContext
from qreplace.report.decimals import Number, at_least, at_most
from qreplace.report.states import state_names
from qreplace.report.text import capitalised, counted

_SEPARATED = {
    "affine_lp": "One linear functional separates the target from everything that mixtures of the "
    "atoms can reach.",
    "affine_dynamics": "One linear functional separates the target from everything that the affine "
    "system can reach.",
    "perturbed": "One linear functional separates the target from everything that a nearby affine "
    "system can reach, even when its field error is given away.",
    "support": "One linear functional separates the target from everything that the system can "
    "reach: a polynomial bounds how far the states can get along it.",
    "observable": "One linear functional has the same value at the end of every schedule, and "
    "another value at the target.",
    "exposed_channel": "One linear functional moves by one label an atom and a rate, whatever the "
    "rest of the state does; no sum of labels that a schedule can form ends nearer to the target.",
}
_BARRED = {
    "hjb_sos": "A polynomial value function does not fall along any admissible trajectory and ends "
    "below the squared error, so its value at the start bounds every error from below.",
    "compositional": "A value function for each block bounds its share of the squared error from "
    "below; what the coupling between blocks could undo is already paid for.",
    "schedule_minimum": "For every prefix of a schedule there is an input at which all its "
    "continuations miss the target.",
    "count_minimum": "Every choice of counts is cut off from the target, part after part, by a "
    "linear functional.",
    "net_floor": "For every control, cut into short steps, there is an input at which it misses "
    "the target; what the cutting could cost is already paid for.",
}


@dataclass(frozen=True, slots=True)
class WeighedCoordinate:
    """A coordinate of the dual witness; ``share`` of the whole weight, if that is known."""

    witness: int
    output: int
    coordinate: int
    name: str
    """What the state's coordinate is called; empty on witness lifts."""
    weight: Number
    share: str


@dataclass(frozen=True, slots=True)
class Obstruction:
    """Why no control comes closer."""

    words: tuple[str, ...]
    by_witness: bool
    heaviest: tuple[WeighedCoordinate, ...]
    """Empty where no functional is behind it."""
    missed_by: Number


def obstruction(document: Mapping[str, Any], context: ReportContext) -> Obstruction | None:
    """What stands in the way, if a decision document says so."""
    found = document["obstruction"]
    if not found:
        return None
    by_witness = not isinstance(context.question.target, VectorTarget)
    named = not by_witness and not isinstance(context.question.system, LiftedAffineSystem)
    names = state_names(context) if named and found["heaviest"] else ()
    claim = _behind(found, context.claims)
    total = _dual_weight(claim)

    def weighed(entry: Mapping[str, Any]) -> WeighedCoordinate:
        place = entry["coordinate"]
        return WeighedCoordinate(
            witness=entry["witness"],
            output=entry["output"],
            coordinate=place,
            name=names[place] if place < len(names) else "",
            weight=at_least(entry["weight"]),
            share=_percent(abs(Fraction(entry["weight"])) / total) if total else "",
        )

    return Obstruction(
        words=_words(found, claim, context, by_witness=by_witness),
        by_witness=by_witness,
        heaviest=tuple(map(weighed, found["heaviest"])),
        missed_by=at_least(found["missed_by"]),
    )


def _words(
    found: Mapping[str, Any], claim: Claim | None, context: ReportContext, *, by_witness: bool
) -> tuple[str, str]:
    kind, lower, missed = found["claim"], at_least(found["lower"]), at_least(found["missed_by"])
    allowed = f"so the tolerance {at_most(found['tolerance'])} is missed by at least {missed}"
    if not found["coordinates"]:
        how = _BARRED.get(kind, _SEPARATED.get(kind, "A checked claim bounds every error."))
        who = capitalised(_who(kind, claim))
        return how, f"{who} misses the target by at least {lower}, {allowed}."
    weighed = counted(found["coordinates"], "coordinate")
    if by_witness:
        inputs = context.question.domain.inputs
        of = f" of the {inputs.shape[0]:,}" if inputs is not None and len(inputs.shape) == 2 else ""
        weighed += f", at {counted(len(found['witnesses']), 'witness', 'witnesses')}{of}"
    how = _SEPARATED.get(kind, "One linear functional separates the target from what is reachable.")
    return (
        f"{how} It weighs {weighed}.",
        f"Along it {_who(kind, claim)} misses the target by at least {lower}, {allowed}.",
    )


def _who(kind: str, claim: Claim | None) -> str:
    """What misses the target: a claim about one depth says nothing of other depths."""
    depth = getattr(claim, "depth", None)
    if isinstance(claim, ExposedChannelClaim) and claim.first < claim.last:
        return f"every schedule of depth {claim.first:,} to {claim.last:,}"
    if isinstance(claim, ExposedChannelClaim):
        depth = claim.first
    if depth is not None:
        return f"every schedule of depth {depth:,}"
    return "every mixture of the atoms" if kind == "affine_lp" else "every control"


def _behind(found: Mapping[str, Any], claims: Sequence[Claim]) -> Claim | None:
    """The claim that an obstruction is about, if it is at hand."""
    lower = Fraction(found["lower"])
    same = [claim for claim in claims if claim_kind(claim) == found["claim"]]
    return next((claim for claim in same if getattr(claim, "lower", None) == lower), None)


def _dual_weight(claim: Claim | None) -> Fraction:
    """The sum of the magnitudes of a claim's functional; 0 without one."""
    if isinstance(claim, AffineLPClaim):
        return _weight(claim.dual)
    witness = getattr(claim, "witness", None)
    return _weight(witness.vector) if isinstance(witness, Functional) else Fraction(0)


def _weight(functional: SparseVector) -> Fraction:
    return sum(map(abs, functional.numerators), Fraction(0)) / functional.denominator


def _percent(share: Fraction) -> str:
    """A share in percent with one decimal, nearest; for reading only."""
    tenths = round(share * 1000)
    return f"{tenths // 10}.{tenths % 10} %"

"""The verdict of a study, with everything that is said beside it (theory T11, design.md).

``decide`` is a pure function of the question, its arrays and the *checked* bounds; the engine and
the offline checker call the same one, so a bundle's verdict is recomputed, never believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.check.bounds import Checked, ScopedBound
from qreplace.claims import Claim, claim_digest, claim_kind
from qreplace.decision.evaluate import Answer, radius_at
from qreplace.decision.levels import CERTIFIED, EVERYTHING, Level
from qreplace.decision.names import WITHHELD, Verdict, named
from qreplace.decision.plan import obstruction, plan
from qreplace.decision.routes import Route
from qreplace.decision.rows import Row, frontier, interval, interval_document, rows
from qreplace.decision.search import Candidate, Search
from qreplace.decision.words import (
    asked,
    beyond_reason,
    feasible_reason,
    impossible_reason,
    not_shown,
    unresolved_reasons,
)
from qreplace.exact.rational import format_rational
from qreplace.floor.bracket import End, bracket
from qreplace.premises import Evidence, weakest
from qreplace.question.model import DepthRange, Question
from qreplace.question.subject import Subject

__all__ = ["Outcome", "Verdict", "decide", "outcome_of", "resolve"]


@dataclass(frozen=True)
class Outcome:
    """A verdict with the level it was reached at."""

    verdict: Verdict
    level: Level | None
    best: Candidate | None = None
    from_depth: int | None = None
    """Every depth from here on is impossible, if shown; certified, beside a feasible candidate."""
    support: tuple[Route, ...] = ()
    """The routes that the verdict rests on."""
    beyond: tuple[Route, ...] = ()
    """Beside a feasible candidate: the routes that exclude every depth from ``from_depth`` on."""


def decide(subject: Subject, claims: Sequence[Claim], bounds: Sequence[Checked]) -> dict[str, Any]:
    """The decision document: exact strings, integers and texts only; keys as design.md lists them.

    ``bounds`` are what the checkers returned for ``claims``, constants included. Raises
    ``Contradiction`` when checked bounds exclude each other.
    """
    search = Search(subject, bounds)
    outcome = outcome_of(search)
    withheld = _withheld_certificates(subject.question, claims)
    return _document(search, outcome, claims, bounds, withheld)


def resolve(subject: Subject, bounds: Sequence[Checked]) -> tuple[Verdict, int | None]:
    """The verdict alone, with the depth of the chosen candidate if there is one.

    It does not look at required certificates (theory T11.3).
    """
    outcome = outcome_of(Search(subject, bounds))
    return outcome.verdict, None if outcome.best is None else outcome.best.depth


# --- the outcome ----------------------------------------------------------------------------------


def outcome_of(search: Search) -> Outcome:
    """Levels from the strongest; at each: feasible, then impossible, then asymptotically so."""
    for level in search.live_levels:
        best = search.cheapest_feasible(level)
        if best is not None:
            verdict = named(level, feasible=True)
            support = _feasible_support(search, best, level)
            later = search.impossible_from(CERTIFIED)
            if later is None:
                return Outcome(verdict, level, best, support=support)
            return Outcome(verdict, level, best, later[0], support, tuple(later[1]))
        everywhere = search.impossible_everywhere(level)
        if everywhere is None and not level.certified:
            continue
        start = search.impossible_from(level)
        if everywhere is not None:
            verdict = named(level, feasible=False)
        elif start is not None:
            verdict = Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE
        else:
            continue
        first, beyond = start if start is not None else (None, [])
        return Outcome(verdict, level, None, first, (*(everywhere or ()), *beyond))
    return Outcome(Verdict.UNRESOLVED, None)


def _feasible_support(search: Search, best: Candidate, level: Level) -> tuple[Route, ...]:
    """The best evidenced route that proves the candidate feasible."""
    for route in search.admitted(best.bits, level, "upper"):
        if search.proves(route, best.depth, best.depth) is Answer.ALL:
            return (route,)
    return ()


def _withheld_certificates(question: Question, claims: Sequence[Claim]) -> list[str]:
    """Required certificates that no checked claim satisfies (theory T11.3)."""
    present = {(claim_kind(claim), claim_digest(claim)) for claim in claims}
    kinds = {kind for kind, _ in present}
    missing = []
    for certificate in question.certificates:
        if not certificate.required:
            continue
        if certificate.sha256 is None:
            satisfied = certificate.claim in kinds
        else:
            satisfied = (certificate.claim, certificate.sha256) in present
        if not satisfied:
            missing.append(certificate.claim)
    return missing


# --- the document ---------------------------------------------------------------------------------


def _document(
    search: Search,
    outcome: Outcome,
    claims: Sequence[Claim],
    bounds: Sequence[Checked],
    withheld: list[str],
) -> dict[str, Any]:
    question = search.question
    verdict = WITHHELD.get(outcome.verdict, outcome.verdict) if withheld else outcome.verdict
    evidence, declared = _evidence(search, outcome)
    if withheld and outcome.verdict.resolved:
        evidence = Evidence.UNAVAILABLE
        declared = sorted({*declared, *(f"certificate:{name}" for name in withheld)})
    threshold = search.threshold
    shown_bits = outcome.best.bits if outcome.best else search.easiest[0]
    ends = search.environment(shown_bits, EVERYTHING).ends
    floor = bracket(ends, certified=True)
    if floor.lower is None and floor.upper is None:
        floor = bracket(ends, certified=False)
    reported = rows(search, outcome.best.depth if outcome.best else None, bounds)
    best = _best(search, outcome)
    upper_limit = threshold.impossible if threshold.impossible is not None else threshold.feasible
    return {
        "study": question.study_id,
        "verdict": verdict.value,
        "domain": question.domain.kind,
        "evidence": evidence.value,
        "asked": asked(question),
        "declared": declared,
        "tolerance": {
            "lo": format_rational(threshold.feasible),
            "hi": format_rational(upper_limit),
        },
        "bracket": _bracket_document(floor.lower, floor.upper),
        "best": best,
        "minimal": outcome.best is not None and _minimal(search, outcome),
        "impossible_from": outcome.from_depth,
        "depths": [row.document() for row in reported],
        "frontier": frontier(reported),
        "plan": _plan(search, outcome, claims),
        "obstruction": _obstruction(search, verdict, claims, shown_bits, upper_limit),
        "claims": _claims_document(claims, bounds),
        "weakest": _weakest_text(evidence, declared, outcome.support, withheld),
        "reasons": _reasons(search, outcome, withheld, reported),
        "not_shown": not_shown(question, claims, verdict.value),
    }


def _evidence(search: Search, outcome: Outcome) -> tuple[Evidence, list[str]]:
    """The weakest label used and the declared premises used; all declared ones when unresolved."""
    names = set(search.objective_premises)
    if outcome.level is None:
        for bits in search.easiest:
            for route in search.routes(bits):
                names.update(route.declared)
        return Evidence.UNAVAILABLE, sorted(names)
    labels = [route.evidence for route in outcome.support]
    if search.objective_evidence is not None:
        labels.append(search.objective_evidence)
    labels.extend(end.evidence for end in search.comparator if end is not None)
    for route in outcome.support:
        names.update(route.declared)
    return weakest(labels), sorted(names)


def _bracket_document(lower: End | None, upper: End | None) -> dict[str, Any] | None:
    if lower is None and upper is None:
        return None
    return {
        "lower": format_rational(lower.value) if lower else "0",
        "upper": format_rational(upper.value) if upper else None,
    }


def _minimal(search: Search, outcome: Outcome) -> bool:
    """Every smaller depth certified impossible, at every budget."""
    if outcome.best is None or outcome.best.depth == 1:
        return outcome.best is not None
    below = [DepthRange(1, outcome.best.depth - 1, 1)]
    return search.impossible_everywhere(CERTIFIED, below) is not None


def _best(search: Search, outcome: Outcome) -> dict[str, Any] | None:
    if outcome.best is None or outcome.level is None:
        return None
    depth, bits = outcome.best.depth, outcome.best.bits
    return {
        "depth": depth,
        "metadata_bits": bits,
        "cost": format_rational(outcome.best.cost),
        "interval": interval_document(*interval(search, depth, bits, outcome.level)),
        "radii": _radii(search, depth, bits, outcome.level),
    }


def _plan(search: Search, outcome: Outcome, claims: Sequence[Claim]) -> dict[str, Any] | None:
    """What to run at the chosen candidate; the rounding loss is that of the level reached."""
    if outcome.best is None or outcome.level is None:
        return None
    depth, bits = outcome.best.depth, outcome.best.bits
    losses = [
        radius_at(chosen.synthesis.relaxed_to_pure, depth)
        for chosen in search.environment(bits, outcome.level).chosen
    ]
    rounding = min((loss for loss in losses if loss is not None), default=None)
    return plan(search.subject, claims, depth, bits, rounding)


def _radii(search: Search, depth: int, bits: int, level: Level) -> dict[str, Any]:
    """Every radius at a candidate: those of the route used, then the alternatives."""
    found: dict[str, Any] = {}
    upper = search.tightest(depth, bits, "upper", level)
    used = list(upper.route.radii) if upper else []
    others = [
        radius
        for chosen in search.environment(bits, level).chosen
        for radius in (
            chosen.synthesis.relaxed_to_pure,
            chosen.synthesis.paper,
            chosen.synthesis.pure_to_relaxed,
        )
        if radius is not None
    ]
    for radius in [*used, *others]:
        if not radius.formula:
            continue
        name = radius.name
        taken = {entry["formula"] for entry in found.values()}
        if radius.formula in taken:
            continue
        if name in found:
            name = f"{radius.name}: {radius.formula}"
        value = radius_at(radius, depth)
        found[name] = {
            "value": None if value is None else format_rational(value),
            "formula": radius.formula,
            "evidence": radius.evidence.value,
            "used": radius in used,
        }
    return found


def _obstruction(
    search: Search, verdict: Verdict, claims: Sequence[Claim], bits: int, limit: Fraction
) -> dict[str, Any] | None:
    impossible = verdict in (
        Verdict.CERTIFIED_IMPOSSIBLE,
        Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE,
        Verdict.CONDITIONALLY_IMPOSSIBLE,
    )
    return obstruction(search.subject, claims, bits, limit) if impossible else None


def _claims_document(claims: Sequence[Claim], bounds: Sequence[Checked]) -> list[dict[str, Any]]:
    documents = []
    for claim in claims:
        digest = claim_digest(claim)
        own = [entry for entry in bounds if entry.claim == digest]
        ends = [entry for entry in own if isinstance(entry, ScopedBound)]
        lowers = [bound.value for bound in ends if bound.side == "lower"]
        uppers = [bound.value for bound in ends if bound.side == "upper"]
        documents.append(
            {
                "kind": claim_kind(claim),
                "sha256": digest,
                "lower": format_rational(max(lowers)) if lowers else None,
                "upper": format_rational(min(uppers)) if uppers else None,
                "evidence": weakest([entry.evidence for entry in own]).value,
            }
        )
    return documents


def _weakest_text(
    evidence: Evidence, declared: Sequence[str], support: Sequence[Route], withheld: list[str]
) -> str:
    """What a verdict leans on most: something declared before anything checked here."""
    if withheld:
        return f"required certificate {', '.join(withheld)} is absent or unchecked"
    if not support:
        return "nothing decided: no premise was used"
    for route in support:
        for radius in route.radii:
            if radius.evidence is evidence and radius.declared:
                return f"{radius.name}: {', '.join(radius.declared)} ({evidence.value})"
        if route.end.evidence is evidence and route.end.declared:
            return f"{route.end.kind} {route.end.side} end ({evidence.value})"
    if declared:
        return f"declared: {', '.join(declared)}; the weakest label used is {evidence.value}"
    for route in support:
        if route.end.evidence is evidence:
            return f"{route.end.kind} {route.end.side} end ({evidence.value})"
    return f"every premise used is {evidence.value}"


def _reasons(
    search: Search, outcome: Outcome, withheld: list[str], reported: Sequence[Row]
) -> list[str]:
    found = [
        f"required certificate {name} is absent or unchecked, so nothing is certified"
        for name in withheld
    ]
    if outcome.best is not None and outcome.level is not None:
        found.append(feasible_reason(search, outcome.best, outcome.level))
        if outcome.from_depth is not None:
            found.append(
                f"more depth loses it: {beyond_reason(outcome.from_depth, outcome.beyond)}"
            )
    elif outcome.level is not None:
        found.append(impossible_reason(outcome.verdict, outcome.from_depth, outcome.support))
        found.extend(_shallow_exceptions(outcome, reported))
    else:
        found.extend(unresolved_reasons(search))
    if search.budget.spent:
        found.append("the search stopped at its node budget; undecided depths count as unresolved")
    return found


def _shallow_exceptions(outcome: Outcome, reported: Sequence[Row]) -> list[str]:
    """Beside "no large depth": the searched depths that are not excluded, or that even work."""
    if outcome.verdict is not Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE:
        return []
    found = ["smaller depths are not all excluded; the table says which"]
    works = [row.depth for row in reported if row.verdict is Verdict.CONDITIONALLY_FEASIBLE]
    if works:
        found.append(f"given the declared premises, depth {works[0]} does meet the tolerance")
    return found

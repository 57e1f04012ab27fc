"""The five questions of QR 11, in order: geometry, synthesis, execution, routing, search.

Later resources cannot repair an earlier failure, so they are answered in this order. Numbers are
those of the chosen candidate, else of the one with the smallest upper end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.check.bounds import Checked
from qreplace.decision.evaluate import radius_at
from qreplace.decision.levels import EVERYTHING, Level
from qreplace.decision.routes import ChosenRadii, upper_routes
from qreplace.decision.search import Search
from qreplace.decision.verdict import Outcome, outcome_of
from qreplace.exact.rational import decimal_text
from qreplace.floor.bracket import Bracket, End, bracket
from qreplace.premises import Evidence
from qreplace.question.model import ExactExecution, NoRouting
from qreplace.question.subject import Subject
from qreplace.radii.radius import Radius

Name = Literal["geometry", "synthesis", "execution", "routing", "search"]
Standing = Literal["yes", "no", "open", "not_asked"]

ASKED: dict[Name, str] = {
    "geometry": "Is the structural floor small enough?",
    "synthesis": "Is the price of pure steps, beside infinitely fast switching, bounded?",
    "execution": "Is what finite arithmetic adds bounded?",
    "routing": "Does the router keep the target's route?",
    "search": "Is there a depth, and metadata, that meets the tolerance?",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the five, with its number and the label of what the number rests on.

    ``value`` is the number that the text names, ``None`` where there is none; ``declared``: it
    rests on a premise that nothing here checked.
    """

    name: Name
    standing: Standing
    text: str
    value: Fraction | None = None
    evidence: Evidence | None = None
    declared: bool = False


def five_questions(subject: Subject, checked: Sequence[Checked]) -> tuple[Answer, ...]:
    """The answers, from the same search that the verdict comes from."""
    search = Search(subject, checked)
    outcome = outcome_of(search)
    place = _place(search, outcome)
    return (
        _geometry(search, place[1]),
        _synthesis(search, place),
        _execution(search, place, outcome),
        _routing(search, place),
        _searched(search, outcome, place),
    )


_Place = tuple[int, int, Level]
"""Depth, metadata bits and the level at which they are looked at."""


def _place(search: Search, outcome: Outcome) -> _Place:
    if outcome.best is not None and outcome.level is not None:
        return outcome.best.depth, outcome.best.bits, outcome.level
    closest = search.closest()
    depth = search.grid[0].first if closest is None else closest[0]
    return depth, search.closest_bits_at(depth), EVERYTHING


def _geometry(search: Search, bits: int) -> Answer:
    ends = search.environment(bits, EVERYTHING).ends
    found = bracket(ends, certified=True)
    if found == Bracket(None, None):
        found = bracket(ends, certified=False)
    lower, upper, limit = found.lower, found.upper, search.threshold
    if lower is not None and limit.impossible is not None and lower.value > limit.impossible:
        text = f"the floor is at least {decimal_text(lower.value, up=False)}, above the tolerance"
        return _from_end("no", text, lower)
    if upper is not None and upper.value <= limit.feasible:
        text = f"the floor is at most {decimal_text(upper.value, up=True)}"
        return _from_end("yes", text, upper)
    if upper is not None:
        low = "0" if lower is None else decimal_text(lower.value, up=False)
        text = f"the floor lies between {low} and {decimal_text(upper.value, up=True)}"
        return _from_end("open", f"{text}, and the tolerance too", upper)
    if lower is not None:
        text = f"the floor is at least {decimal_text(lower.value, up=False)}; no upper end is known"
        return _from_end("open", text, lower)
    return Answer("geometry", "open", "nothing is known about the floor")


def _from_end(standing: Standing, text: str, end: End) -> Answer:
    return Answer("geometry", standing, text, end.value, end.evidence, bool(end.declared))


def _synthesis(search: Search, place: _Place) -> Answer:
    depth, bits, level = place
    route = search.tightest(depth, bits, "upper", level)
    inside = route is not None and any(r.name == "routing" for r in route.route.radii)
    named = () if route is None else tuple(r for r in route.route.radii if r.name == "synthesis")
    if route is not None and not named and not inside:
        text = f"nothing at depth {depth:,}: the bound is that of one schedule, not of the floor"
        return Answer("synthesis", "yes", text, Fraction(0), route.route.end.evidence)
    radii = named or [own.synthesis.relaxed_to_pure for own in _chosen(search, place)]
    return _of_radius("synthesis", radii, depth)


def _execution(search: Search, place: _Place, outcome: Outcome) -> Answer:
    depth = place[0]
    execution = search.question.execution
    if isinstance(execution, ExactExecution):
        return Answer("execution", "not_asked", "the question is about exact arithmetic")
    if execution is None:
        return Answer("execution", "open", "the execution block is omitted")
    arithmetic = [own.arithmetic for own in _chosen(search, place)]
    found = _of_radius("execution", [r for r in arithmetic if r is not None], depth)
    routes = (*outcome.support, *outcome.beyond)
    if any(route.end.kind == "frozen" for route in routes):
        more = f"the state never moves from depth {outcome.from_depth or depth:,} on"
        return Answer(
            "execution", found.standing, f"{found.text}; {more}", found.value, found.evidence,
            found.declared,
        )  # fmt: skip
    return found


def _routing(search: Search, place: _Place) -> Answer:
    if isinstance(search.question.routing, NoRouting):
        return Answer("routing", "not_asked", "there is no router")
    depth, bits, level = place
    route = search.tightest(depth, bits, "upper", level)
    if route is not None:
        radii = [radius for radius in route.route.radii if radius.name == "routing"]
        return _of_radius("routing", radii, depth)
    env = search.environment(bits, EVERYTHING)
    tried = [r for r in search.routes(bits) if r.end.kind == "oracle"]
    tried += [r for end in env.ends if end.side == "upper"
              for r in upper_routes(search.question, env, end)]  # fmt: skip
    radii = [radius for r in tried for radius in r.radii if radius.name == "routing"]
    return _of_radius("routing", radii, depth)


def _searched(search: Search, outcome: Outcome, place: _Place) -> Answer:
    asked = sum((r.last - r.first) // r.step + 1 for r in search.grid) * len(search.bits)
    count = f"{asked:,} candidate{'' if asked == 1 else 's'} searched"
    if outcome.best is not None:
        best = outcome.best
        metadata = f" with {best.bits} metadata bits" if search.bits != (0,) else ""
        text = f"depth {best.depth:,}{metadata} does, the cheapest of {count}"
        labels = [route.evidence for route in outcome.support]
        declared = any(route.declared for route in outcome.support)
        return Answer("search", "yes", text, Fraction(best.depth), labels[0], declared)
    if outcome.level is not None:
        text = f"none of {count} does"
        if outcome.from_depth is not None:
            text += f", and no depth from {outcome.from_depth:,} on"
        labels = [route.evidence for route in outcome.support]
        declared = any(route.declared for route in outcome.support)
        worst = max(labels, key=lambda label: label.rank)
        return Answer("search", "no", text, None, worst, declared)
    closest = search.closest()
    if closest is None:
        return Answer("search", "open", f"{count}, no upper end at any depth")
    text = f"{count}; depth {place[0]:,} comes closest, with an error of at most "
    return Answer("search", "open", text + decimal_text(closest[1], up=True), closest[1])


def _chosen(search: Search, place: _Place) -> tuple[ChosenRadii, ...]:
    return search.environment(place[1], place[2]).chosen


def _of_radius(name: Name, radii: Sequence[Radius], depth: int) -> Answer:
    """The smallest of several radii at a depth; else why there is none."""
    known = [(value, radius) for radius in radii
             if (value := radius_at(radius, depth)) is not None]  # fmt: skip
    if known:
        value, radius = min(known, key=lambda entry: entry[0])
        text = f"at most {decimal_text(value, up=True)} at depth {depth:,}: {radius.formula}"
        return Answer(name, "yes", text, value, radius.evidence, bool(radius.declared))
    reasons = [gap.reason for radius in radii for gap in radius.gaps]
    reasons += [guard.reason for radius in radii for guard in radius.guards]
    reasons += [g.reason for radius in radii for piece in radius.pieces for g in piece.guards]
    why = next(iter(dict.fromkeys(reasons)), "nothing bounds it")
    return Answer(name, "open", why)

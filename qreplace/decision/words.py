"""The sentences of a verdict: what was asked, why it is open, what is not shown (QR Table 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qreplace.claims import Claim, claim_kind
from qreplace.decision.evaluate import reasons_at
from qreplace.decision.levels import EVERYTHING, Level
from qreplace.decision.names import Verdict
from qreplace.decision.routes import PROBE_END, Route, upper_routes
from qreplace.exact.rational import decimal_text
from qreplace.floor.bracket import Bracket, End, bracket
from qreplace.premises import Absent, Evidence
from qreplace.question.model import (
    AccuracyMatching,
    BoundedVariationSynthesis,
    ExactExecution,
    FullDomain,
    NoMetadata,
    NoRouting,
    PwaSystem,
    QuantizedExecution,
    Question,
    Registers,
    Unbounded,
)

if TYPE_CHECKING:
    from qreplace.decision.search import Candidate, Search

MAX_SHOWN = 4
"""Claims named in one reason."""

NOT_SHOWN_BY_KIND = {
    "affine_lp": "affine_lp: the bracket is exact for the lifted witnesses; it says nothing about "
    "inputs between them and nothing about any particular optimiser",
    "schedule_error": "schedule_error: the error of this one schedule on the witnesses; not that a "
    "better schedule does not exist",
    "frozen": "frozen: the declared grid and rounding never move the state; not what another "
    "kernel or an undocumented accumulator does",
    "affine_dynamics": "affine_dynamics: the ends hold for this affine system, horizon and initial "
    "state; not that a search finds the control, and not what finite depth costs",
    "perturbed": "perturbed: a lower end on the claim's own tube; not how much of the gap to the "
    "true floor the nominal system is to blame for, and no control",
    "hjb_sos": "hjb_sos: no control comes closer, for this field, horizon and initial state; not "
    "that any control comes that close, and not why one optimiser stays above it",
    "compositional": "compositional: a lower end that pays for all coupling between the blocks; "
    "what the coupling costs may be the method's loss, not the system's",
    "support": "support: no endpoint lies beyond this one functional's bound; nothing about other "
    "directions, and not that any control reaches the bound",
    "observable": "observable: every schedule ends at one value of these functionals; nothing "
    "about the part of the state that they do not see",
    "relaxed_control": "relaxed_control: this one control ends that close; not that a short "
    "schedule or a training run does, and not that no control comes closer",
    "operator_norm": "operator_norm: an upper bound of one matrix's norm; not that it is attained, "
    "and nothing about the error by itself",
    "field_constants": "field_constants: constants of the ideal fields on the claim's tube; "
    "nothing outside it, and nothing about fields as a kernel computes them",
    "pwa_supremum": "pwa_supremum: the largest error of this one map over its inputs; not that "
    "another schedule is no better",
    "schedule_minimum": "schedule_minimum: no schedule of that one depth comes closer; nothing "
    "about other depths, and not that a search finds the best one",
    "count_minimum": "count_minimum: no counts of that one depth come closer on the witnesses; "
    "nothing about other depths or about inputs between the witnesses",
    "net_floor": "net_floor: ends that pay for the steps of time and the net of inputs; most of "
    "their distance may be the method's, and no schedule of finite depth is bounded by it",
    "lattice": "lattice: the declared registers hold every code at the claim's depths, for the "
    "named witnesses and exactly evaluated fields; not that another kernel adds up in this order",
    "exposed_channel": "exposed_channel: no schedule of those depths steers this one functional "
    "nearer; nothing about the rest of the state, other depths or the limit of large depth",
}
"""What a certificate of each kind does not show: its line of QR Table 8."""


def asked(question: Question) -> list[str]:
    """Explicit ``none`` and ``exact`` declarations: part of what is asked, repeated up front."""
    found = []
    if isinstance(question.execution, ExactExecution):
        found.append("exact execution")
    if isinstance(question.execution, QuantizedExecution):
        if isinstance(question.execution.field_error, Absent):
            found.append("exactly evaluated fields")
        if isinstance(question.execution.initial_error, Absent):
            found.append("exact initial state")
        if isinstance(question.execution.overflow, Unbounded):
            found.append("registers as wide as needed")
        elif isinstance(question.execution.overflow, Registers):
            found.append("registers without a declared width as wide as needed")
        elif question.execution.semantics != "write_back":
            found.append("a state register as wide as needed")
    if isinstance(question.metadata, NoMetadata):
        found.append("no metadata")
    if isinstance(question.routing, NoRouting):
        found.append("no routing")
    synthesis = question.synthesis
    if isinstance(synthesis, BoundedVariationSynthesis):
        if isinstance(synthesis.time_variation, Absent):
            found.append("fields that do not depend on time")
        if isinstance(synthesis.difference_variation, Absent):
            found.append("field differences that do not depend on time")
    if question.scope == "path":
        found.append("the whole path")
    return found


def not_shown(question: Question, claims: Sequence[Claim], verdict: str) -> list[str]:
    """What the verdict and its certificates do not establish."""
    kinds = list(dict.fromkeys(claim_kind(claim) for claim in claims))
    found = [NOT_SHOWN_BY_KIND[kind] for kind in kinds]
    if question.domain.kind == "witnesses":
        found.append("domain: the verdict is about the named witnesses, not about every input")
    elif isinstance(question.system, PwaSystem):
        found.append("domain: the verdict is about the inputs of the declared region, not others")
    elif isinstance(question.domain, FullDomain) and question.domain.covering is None:
        found.append(
            "domain: no covering remainder is declared, so witness upper ends do not count"
        )
    if isinstance(question.execution, ExactExecution):
        found.append("execution: rounding, overflow and kernels are not part of this question")
    if verdict.endswith("impossible"):
        found.append(
            "impossibility is about this dictionary and target; another library may do better"
        )
    elif verdict.endswith("feasible"):
        found.append(
            "feasibility is an error bound; it is no statement about task accuracy or speed"
        )
    found.append("costs are declared proxies, not measurements")
    return found


_UPPER = {
    "schedule_error": "the error of its schedule",
    "affine_lp": "the floor's upper end",
    "frozen": "the error of the frozen state",
    "affine_dynamics": "the floor's upper end",
    "relaxed_control": "the error of its control",
    "pwa_supremum": "the largest error of its schedule",
    "net_floor": "the floor's upper end",
    "declared": "the declared floor",
}
_LOWER = {
    "affine_lp": "the floor is at least",
    "frozen": "the frozen state is off by at least",
    "affine_dynamics": "the support function shows",
    "perturbed": "the nominal system, less its field error, shows",
    "hjb_sos": "the value function shows",
    "compositional": "the blocks' value functions, less the coupling, show",
    "support": "a bound of one functional shows",
    "observable": "what no schedule can change shows",
    "pwa_supremum": "one input of its map shows",
    "schedule_minimum": "a bound of every schedule shows",
    "count_minimum": "a bound of every choice of counts shows",
    "net_floor": "every control on the net shows",
    "exposed_channel": "a functional that moves by labels alone shows",
    "declared": "the declared floor is at least",
}


def _shown(end: End) -> str:
    """What shows a lower end, and its size; empty for an end that needs no words."""
    if end.kind not in _LOWER:
        return ""
    words, value = _LOWER[end.kind], decimal_text(end.value, up=False)
    if words.endswith("at least"):
        return f"{words} {value}"
    if end.quantity == "relaxed_floor":
        return f"{words} a floor of at least {value}"
    first, last = end.depths.first, end.depths.last
    depths = f"depth {first}" if first == last else f"depths {first} to {last}"
    return f"{words} an ideal error of at least {value} at {depths}"


def feasible_reason(search: Search, best: Candidate, level: Level) -> str:
    """Where the tolerance is met, by how much, and what the bound is made of."""
    upper = search.tightest(best.depth, best.bits, "upper", level)
    if upper is None:
        return f"depth {best.depth} meets the tolerance"
    pieces = [_UPPER.get(upper.route.end.kind, upper.route.end.kind)]
    pieces.extend(radius.name for radius in upper.route.radii if radius.pieces)
    plain = isinstance(search.question.metadata, NoMetadata)
    budget = "" if plain else f" with {best.bits} metadata bits"
    return (
        f"at depth {best.depth}{budget} the error is at most "
        f"{decimal_text(upper.value, up=True)} ({' + '.join(pieces)}), within the tolerance"
    )


def beyond_reason(start: int, support: Sequence[Route]) -> str:
    """Beside a depth that works: the depths from which on none does."""
    return impossible_reason(Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE, start, support)


def impossible_reason(verdict: Verdict, start: int | None, support: Sequence[Route]) -> str:
    """At which depths the tolerance is exceeded, and what shows it."""
    if start is None:
        depths = "at every depth of the declared grid"
    elif start == 1:
        depths = "at every depth"
    else:
        depths = f"at every depth from {start} on"
        if verdict is not Verdict.CERTIFIED_ASYMPTOTICALLY_IMPOSSIBLE:
            depths += " and at every depth of the declared grid"
    text = f"the error exceeds the tolerance {depths}"
    shown = dict.fromkeys(_shown(route.end) for route in support)
    named = [words for words in shown if words]
    text += "".join(f"; {words}" for words in named[:MAX_SHOWN])
    if len(named) > MAX_SHOWN:
        text += f"; and {len(named) - MAX_SHOWN} more claims"
    return text


def unresolved_reasons(search: Search) -> list[str]:
    """Why nothing was decided, and what would resolve it."""
    bits = search.easiest[0]
    ends = search.environment(bits, EVERYTHING).ends
    closest = search.closest()
    bounded = any(end.side == "upper" for end in ends)
    found = [f"missing: {reason}" for reason in _missing(search, bits, bounded=bounded)]
    found.extend(_open_comparator(search))
    if not bounded:
        found.append("there is no upper end: request a floor engine or declare a bracket")
    place = _place_of_floor(search, bracket(ends, certified=False), reached=closest is not None)
    if place:
        found.append(place)
    if closest is not None:
        where, value = closest
        found.append(
            f"the smallest upper end found is {decimal_text(value, up=True)} at depth {where}; "
            f"{decimal_text(search.threshold.feasible, up=False)} would be needed"
        )
    return found or ["nothing that was declared or checked decides the question"]


def _open_comparator(search: Search) -> list[str]:
    """Which checked ends the error of a comparator given as a map still lacks."""
    objective = search.question.objective
    if not isinstance(objective, AccuracyMatching) or objective.comparator_map is None:
        return []
    sides = ("lower", "upper")
    lacking = [s for s, end in zip(sides, search.comparator, strict=True) if end is None]
    return [f"the comparator's own error has no checked {side} end" for side in lacking]


def _missing(search: Search, bits: int, *, bounded: bool) -> list[str]:
    """What routes lack at the deepest searched depth, each thing once.

    ``bounded``: there is an upper end. Without one it is seen what a route from it would lack.
    """
    found = [
        f"{name}: its evidence is unavailable"
        for name, premise in search.objective_premises.items()
        if premise.evidence is Evidence.UNAVAILABLE
    ]
    probes = []
    if not bounded:
        env = search.environment(bits, EVERYTHING)
        probes = upper_routes(search.question, env, PROBE_END)
    for route in [*search.routes(bits), *probes]:
        found.extend(reasons_at(route, search.grid[-1].last))
    return list(dict.fromkeys(found))


def _place_of_floor(search: Search, floor: Bracket, *, reached: bool) -> str:
    """How the floor lies to the tolerance; ``reached``: some upper route has a value."""
    limit = search.threshold.impossible
    if floor.lower is not None and limit is not None and floor.lower.value > limit:
        return (
            f"the floor {decimal_text(floor.lower.value, up=False)} exceeds the tolerance: with "
            "exact execution no large depth could meet it, but the declared execution is not "
            "bounded tightly enough to say so"
        )
    if floor.upper is None:
        return ""
    if floor.upper.value > search.threshold.feasible:
        lower = floor.lower.value if floor.lower is not None else None
        if limit is not None and lower is not None and search.threshold.feasible < lower:
            return (
                "the floor lies inside the comparator's interval: a tighter comparator would "
                "resolve it"
            )
        return (
            "the floor's bracket does not lie on one side of the tolerance: a tighter bracket "
            "would resolve it"
        )
    if not reached:
        return "the floor's upper end meets the tolerance; what is missing stands in the way"
    return (
        "the floor's upper end meets the tolerance but the radii are too large at every "
        "searched depth: search deeper, or tighten the largest radius"
    )

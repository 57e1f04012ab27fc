"""Routes: every way to an upper or lower end of the executed error at depth D (theory T11.1).

A route is an end of some quantity plus the radii that carry it to the executed error in the
question's scope. Each route is valid by itself; the decision takes the best allowed one. A route
that misses something it needs is kept with the reason, so that a report can say what would help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound
from qreplace.floor.bracket import End, ends_at
from qreplace.premises import Evidence, weakest
from qreplace.question.model import CoveringMetadata, FullDomain, NoRouting, Question
from qreplace.question.subject import Subject
from qreplace.radii.arithmetic import arithmetic_radius
from qreplace.radii.constants import FieldConstants, field_constants
from qreplace.radii.depth_function import constant
from qreplace.radii.metadata import metadata_radius
from qreplace.radii.radius import Constant, Premises, Radius, everywhere, unavailable
from qreplace.radii.synthesis import SynthesisRadii, synthesis_radii


@dataclass(frozen=True, slots=True)
class Route:
    """``end (+ or -) sum of radii`` on the end's depths."""

    side: Literal["lower", "upper"]
    end: End
    radii: tuple[Radius, ...]

    @property
    def evidence(self) -> Evidence:
        """The weakest label used."""
        return weakest([self.end.evidence, *(radius.evidence for radius in self.radii)])

    @property
    def declared(self) -> tuple[str, ...]:
        """Every declared premise used; empty for a certified route."""
        names = set(self.end.declared)
        for radius in self.radii:
            names.update(radius.declared)
        return tuple(sorted(names))

    @property
    def certified(self) -> bool:
        """Nothing declared, and every label a certified one (theory T11.2)."""
        return not self.declared and self.evidence.certified

    @property
    def depths(self) -> DepthSet:
        """Where the end speaks."""
        return self.end.depths


ZERO_END = End(
    quantity="executed_error",
    side="lower",
    value=Fraction(0),
    evidence=Evidence.ANALYTIC_CERTIFIED,
    declared=(),
    domain="full",
    objective="endpoint",
    depths=EVERY_DEPTH,
    covers_family=True,
    kind="norm",
    claim=None,
)
"""An error is not negative."""


@dataclass(frozen=True)
class Environment:
    """Everything about one metadata budget that routes are made of."""

    ends: list[End]
    synthesis: SynthesisRadii
    metadata: Radius | None
    arithmetic: Radius | None
    routing: Radius | None
    covering: Radius | None
    constants: FieldConstants


def environment(subject: Subject, bits: int, bounds: Sequence[ScopedBound]) -> Environment:
    """Gather ends and radii at ``bits`` metadata bits."""
    question = subject.question
    constants = field_constants(subject, bits)
    return Environment(
        ends=ends_at(subject, bits, bounds),
        synthesis=synthesis_radii(question, constants),
        metadata=metadata_radius(question, constants, bits),
        arithmetic=arithmetic_radius(subject, constants, bits),
        routing=_routing(question),
        covering=_covering(question),
        constants=constants,
    )


def routes(question: Question, env: Environment) -> list[Route]:
    """Every route, upper ones first."""
    found: list[Route] = []
    for end in env.ends:
        make = _upper_routes if end.side == "upper" else _lower_routes
        found.extend(make(question, env, end))
    found.append(Route("lower", ZERO_END, ()))
    return found


def _upper_routes(question: Question, env: Environment, end: End) -> list[Route]:
    tail: list[Radius | None] = [env.covering if end.domain == "witnesses" else None]
    if question.scope == "path" and end.objective == "endpoint":
        tail.append(unavailable("path", "an endpoint upper end says nothing about the path"))
    if end.quantity == "executed_error":
        return [Route("upper", end, _present([*_as_executed(question, env), *tail]))]
    shared = [env.metadata, env.arithmetic, env.routing, *tail]
    if end.quantity == "ideal_error":
        return [Route("upper", end, _present(shared))]
    return [
        Route("upper", end, _present([synthesis, *shared]))
        for synthesis in env.synthesis.relaxed_to_pure
    ]


def _lower_routes(question: Question, env: Environment, end: End) -> list[Route]:
    # A witness lower end holds on the full domain: the objective is a maximum over inputs there.
    if end.quantity == "executed_error":
        return [Route("lower", end, _present(_as_executed(question, env)))]
    coded = isinstance(question.metadata, CoveringMetadata) and not end.covers_family
    omitted = question.metadata is None
    shared = [env.metadata if coded or omitted else None, env.arithmetic, env.routing]
    if end.quantity == "ideal_error":
        return [Route("lower", end, _present(shared))]
    return [
        Route("lower", end, _present([synthesis, *shared]))
        for synthesis in env.synthesis.pure_to_relaxed
    ]


def _as_executed(question: Question, env: Environment) -> list[Radius | None]:
    """What stands between a claim about the executed error and the question (theory T11.1).

    Such a claim is about the listed dictionary, run without a router: a covering code runs another
    dictionary, and an omitted block is unavailable, not absent.
    """
    coded = env.metadata
    if isinstance(question.metadata, CoveringMetadata):
        coded = unavailable("metadata", "the claim is about the dictionary before coding")
    return [coded, env.routing]


def _present(radii: Sequence[Radius | None]) -> tuple[Radius, ...]:
    return tuple(radius for radius in radii if radius is not None)


def _routing(question: Question) -> Radius | None:
    """No router, or no engine: routing is never ignored (design rule 4)."""
    if isinstance(question.routing, NoRouting):
        return None
    if question.routing is None:
        return unavailable("routing", "the routing block is omitted")
    kind = question.routing.kind.replace("_", "-")
    return unavailable("routing", f"no engine for {kind} routing exists yet (theory T6)")


def _covering(question: Question) -> Radius | None:
    """Theory T7.12: what lies between the witnesses of a full-domain question."""
    domain = question.domain
    if not isinstance(domain, FullDomain):
        return None
    if domain.covering is None:
        return unavailable(
            "covering", "a witness upper end needs a covering remainder 2 K_y eta (T7.12)"
        )
    used = Premises()
    value = used.need("covering", Constant.of("covering", domain.covering))
    if used.missing:
        return unavailable("covering", "missing premise: covering")
    return everywhere("covering", "T7.12 2 K_y eta", constant(value), used)

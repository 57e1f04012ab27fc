"""Routes: every way to an upper or lower end of the executed error at depth D (theory T11.1).

A route is an end of some quantity plus the radii that carry it to the executed error in the
question's scope. Each route is valid by itself; the decision takes the best allowed one. A route
that misses something it needs is kept with the reason, so that a report can say what would help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from qreplace.check.bounds import EVERY_DEPTH, ScopedBound, ScopedConstants, ScopedRegisters
from qreplace.floor.bracket import End, ends_at
from qreplace.premises import Evidence, weakest
from qreplace.question.model import (
    CoveringMetadata,
    FullDomain,
    LiftedAffineSystem,
    NoRouting,
    PrescribedRouting,
    Question,
    StateDependentRouting,
)
from qreplace.question.subject import Subject
from qreplace.radii.arithmetic import arithmetic_radii
from qreplace.radii.constants import GrowthChoice, Sight, field_constants
from qreplace.radii.depth_function import monomial
from qreplace.radii.metadata import metadata_radius
from qreplace.radii.radius import Piece, Premises, Radius, added, everywhere, unavailable
from qreplace.radii.routing import RoutedSetting, lower_routing, oracle_routing, upper_routing
from qreplace.radii.synthesis import SynthesisRadii, synthesis_radii


@dataclass(frozen=True, eq=False)
class Route:
    """``end (+ or -) sum of radii`` on the end's depths."""

    side: Literal["lower", "upper"]
    end: End
    radii: tuple[Radius, ...]

    @cached_property
    def evidence(self) -> Evidence:
        """The weakest label used."""
        return weakest([self.end.evidence, *(radius.evidence for radius in self.radii)])

    @cached_property
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

    @cached_property
    def segments(self) -> tuple[Piece, ...]:
        """Where the route says something, with what; empty when a radius is missing altogether."""
        return added(self.radii, self.end.depths.first, self.end.depths.last)


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

ORACLE_END = replace(ZERO_END, side="upper", objective="path", kind="oracle")
"""Stands where the routing radius is the whole error, from a declared error of the oracle run."""

PROBE_END = replace(ZERO_END, quantity="relaxed_floor", side="upper", domain="witnesses", kind="")
"""Stands for an upper end that is not there, to see what else would be missing."""


@dataclass(frozen=True, slots=True)
class ChosenRadii:
    """The radii that one growth rate gives."""

    choice: GrowthChoice
    synthesis: SynthesisRadii
    metadata: Radius | None
    arithmetic: Radius | None
    routed: RoutedSetting


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything about one metadata budget that routes are made of, at one level of evidence."""

    ends: list[End]
    """Checked ends, and the declared ones that the level admits."""
    chosen: tuple[ChosenRadii, ...]
    """Alternatives, one a tube and growth rate; each is valid by itself."""
    covering: Radius | None


def environment(
    subject: Subject,
    bits: int,
    bounds: Sequence[ScopedBound],
    checked: Sequence[ScopedConstants],
    registers: Sequence[ScopedRegisters],
    sight: Sight,
) -> Environment:
    """Gather ends and radii at ``bits`` metadata bits from the premises in sight."""
    question = subject.question
    ends = [
        end
        for end in ends_at(subject, bits, bounds)
        if not end.declared or (sight.weakest and end.evidence.rank <= sight.weakest.rank)
    ]
    return Environment(
        ends=ends,
        chosen=tuple(
            ChosenRadii(
                choice=choice,
                synthesis=synthesis_radii(question, constants, choice, sight),
                metadata=metadata_radius(question, choice, bits, sight),
                arithmetic=arithmetic,
                routed=RoutedSetting(question, constants, choice, sight),
            )
            # Nothing declared and nothing checked: no radius matters.
            for constants in (
                field_constants(subject, bits, checked, sight) if ends or sight.weakest else ()
            )
            for choice in constants.choices
            for arithmetic in arithmetic_radii(subject, constants, choice, bits, sight, registers)
        ),
        covering=_covering(question, sight),
    )


def with_bits(question: Question, env: Environment, bits: int, sight: Sight) -> Environment:
    """The same dictionary at another budget of a covering: only the metadata radius differs."""
    chosen = tuple(
        replace(c, metadata=metadata_radius(question, c.choice, bits, sight)) for c in env.chosen
    )
    return replace(env, chosen=chosen)


def routes(question: Question, env: Environment) -> list[Route]:
    """Every route, upper ones first."""
    found: list[Route] = []
    for end in sorted(env.ends, key=lambda end: end.side != "upper"):
        make = upper_routes if end.side == "upper" else _lower_routes
        found.extend(make(question, env, end))
    found.append(Route("lower", ZERO_END, ()))
    found.extend(_oracle_routes(env))
    return found


def _oracle_routes(env: Environment) -> list[Route]:
    """Upper routes from a declared error of the run that is given the target's route (T6.1)."""
    radii = [oracle_routing(chosen.routed) for chosen in env.chosen]
    return _distinct(
        [Route("upper", ORACLE_END, (radius,)) for radius in radii if radius is not None]
    )


def upper_routes(question: Question, env: Environment, end: End) -> list[Route]:
    """Every way from an upper end to the executed error."""
    tail: list[Radius | None] = [env.covering if end.domain == "witnesses" else None]
    if question.scope == "path" and end.objective == "endpoint":
        tail.append(unavailable("path", "an endpoint upper end says nothing about the path"))
    if end.quantity == "executed_error":
        if end.domain == "witnesses" and isinstance(question.domain, FullDomain):
            reason = "rounding jumps, so an executed upper end says nothing between the witnesses"
            tail = [unavailable("covering", reason)]
        return [Route("upper", end, _present([*_as_executed(question, env), *tail]))]
    lifted = isinstance(question.system, LiftedAffineSystem)
    if lifted and end.domain == "full" and end.quantity == "relaxed_floor":
        reason = "the atoms' differences are known on the witnesses only"
        tail.append(unavailable("synthesis", reason))
    found: list[Route] = []
    for chosen in env.chosen:
        shared = _present([chosen.metadata, chosen.arithmetic, *tail])
        steps: list[tuple[Radius, ...]] = [()]
        if end.quantity != "ideal_error":
            steps = [(other.synthesis.relaxed_to_pure,) for other in env.chosen]
        for step in steps:
            radii = upper_routing(chosen.routed, end.value, end.objective, (*step, *shared))
            found.append(Route("upper", end, radii))
    return _distinct(found)


def _lower_routes(question: Question, env: Environment, end: End) -> list[Route]:
    # A witness lower end holds on the full domain: the objective is a maximum over inputs there.
    # An endpoint lower end holds for the path. Neither is true the other way round.
    scope: list[Radius | None] = []
    if end.domain == "full" and question.domain.kind == "witnesses":
        scope.append(unavailable("domain", "a lower end on every input says nothing of the named"))
    if end.objective == "path" and question.scope == "endpoint":
        scope.append(unavailable("path", "a lower end on the path says nothing of the endpoint"))
    if end.quantity == "executed_error":
        return [Route("lower", end, _present([*_as_executed(question, env), *scope]))]
    coded = isinstance(question.metadata, CoveringMetadata) and not end.covers_family
    widened = coded or question.metadata is None
    found: list[Route] = []
    for chosen in env.chosen:
        metadata = chosen.metadata if widened else None
        shared = _present([metadata, chosen.arithmetic, lower_routing(chosen.routed), *scope])
        if end.quantity == "ideal_error":
            found.append(Route("lower", end, shared))
        else:
            steps = [other.synthesis.pure_to_relaxed for other in env.chosen]
            found.extend(Route("lower", end, (step, *shared)) for step in steps)
    return _distinct(found)


def _as_executed(question: Question, env: Environment) -> list[Radius | None]:
    """What stands between a claim about the executed error and the question (theory T11.1).

    Such a claim is about the listed dictionary, run without a router: a covering code runs another
    dictionary, and an omitted block is unavailable, not absent.
    """
    coded = env.chosen[0].metadata
    if isinstance(question.metadata, CoveringMetadata):
        coded = unavailable("metadata", "the claim is about the dictionary before coding")
    return [coded, _unrouted(question)]


def _distinct(found: list[Route]) -> list[Route]:
    """Without repetitions: growth rates that a route does not use give the same route."""
    kept: list[Route] = []
    for route in found:
        if all(route.radii != other.radii for other in kept):
            kept.append(route)
    return kept


def _present(radii: Sequence[Radius | None]) -> tuple[Radius, ...]:
    return tuple(radius for radius in radii if radius is not None)


def _unrouted(question: Question) -> Radius | None:
    """A claim about executed runs is about runs without a router."""
    if isinstance(question.routing, NoRouting):
        return None
    if question.routing is None:
        return unavailable("routing", "the routing block is omitted")
    return unavailable("routing", "the claim is about runs without a router (theory T6)")


def _covering(question: Question, sight: Sight) -> Radius | None:
    """Theory T7.12: what lies between the witnesses of a full-domain question."""
    domain = question.domain
    if not isinstance(domain, FullDomain):
        return None
    if isinstance(question.routing, (PrescribedRouting, StateDependentRouting)):
        reason = "a routed map jumps between inputs, so witnesses say nothing of the rest (T6.6)"
        return unavailable("covering", reason)
    if domain.covering is None:
        return unavailable(
            "covering", "a witness upper end needs a covering remainder 2 K_y eta (T7.12)"
        )
    used = Premises()
    value = used.need("covering", sight.upper("covering", domain.covering))
    if used.missing:
        return unavailable("covering", used.lack)
    return everywhere("covering", "T7.12 2 K_y eta", monomial(value), used)

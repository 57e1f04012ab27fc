"""The routing radius as a function of depth (theory T6): frozen, prescribed and state-driven.

A router that the state drives replaces the upper radius: ``E_bar = (delta_D + 2 S sum Delta_r
eta_r / nu_r + S h sum Delta_r) / (1 - chi)`` bounds the executed path; ``delta_D`` is the path
error of the run that is given the target's route and holds every other radius already. It has no
converse: an executed map may leave the target's routes and come nearer by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.exact.rational import decimal_text
from qreplace.premises import Premise, weakest
from qreplace.question.model import (
    BoundedVariationSynthesis,
    DeclaredSystem,
    DeclaredTube,
    FrozenRouting,
    NoRouting,
    PrescribedEvent,
    PrescribedRouting,
    Question,
    RouteEvent,
    StateDependentRouting,
)
from qreplace.radii.constants import FieldConstants, GrowthChoice, Sight
from qreplace.radii.depth_function import ZERO, DepthSum, exp_upper, monomial
from qreplace.radii.radius import (
    Constant,
    Guard,
    Piece,
    Premises,
    Radius,
    added,
    everywhere,
    unavailable,
)
from qreplace.radii.small_gain import EventNumbers, geometry_failures, loop_gain
from qreplace.radii.synthesis import half_l1_discrepancy, on_growth

NO_CONVERSE = (
    "a router that the state drives may leave the target's routes: no impossibility follows from "
    "an end about unrouted runs (theory T6)"
)
PATH_NEEDED = "the router sees the whole path, and this end speaks of its endpoint only (T6.1)"
LISTED = (
    "the listed atoms are those of one route; where the route changes them, declare the system and "
    "its constants for every route (theory T6)"
)
UNROUTED = "the end is about schedules that are run without a router (T11.1)"
FORMULAS: dict[str, str] = {
    "frozen": "T6.4 the margin keeps the target's route: nothing is added",
    "prescribed": "T6.5 jumps enter V and V_Delta of T3.3",
    "state_dependent": "T6.1 E_bar - end, E_bar = (delta_D + 2 S sum Delta eta / nu"
    " + S h sum Delta) / (1 - chi)",
}


@dataclass(frozen=True, slots=True)
class RoutedSetting:
    """What the routing radius of one growth rate is made from."""

    question: Question
    constants: FieldConstants
    choice: GrowthChoice
    sight: Sight


def lower_routing(setting: RoutedSetting) -> Radius | None:
    """What stands between a lower end about unrouted runs and the executed error."""
    match setting.question.routing:
        case NoRouting():
            return None
        case None:
            return unavailable("routing", "the routing block is omitted")
        case PrescribedRouting(events=events):
            if _is_listed(setting):
                return unavailable("routing", LISTED)
            return _jumps(setting, events, "lower")
    return unavailable("routing", NO_CONVERSE)


def _is_listed(setting: RoutedSetting) -> bool:
    """Claims and constants are then about the listed atoms, which are those of one route."""
    return not isinstance(setting.question.system, DeclaredSystem)


def upper_routing(
    setting: RoutedSetting,
    end: Fraction,
    objective: Literal["endpoint", "path"],
    others: Sequence[Radius],
) -> tuple[Radius, ...]:
    """The radii that carry an upper end to the executed error, the router's with them.

    ``others`` are the radii without a router. A router that the state drives puts one radius in
    their place; the other kinds stand beside them.
    """
    match setting.question.routing:
        case NoRouting():
            return tuple(others)
        case None:
            return (*others, unavailable("routing", "the routing block is omitted"))
        case PrescribedRouting(events=events):
            if _is_listed(setting):
                return (*others, unavailable("routing", LISTED))
            return (*others, _jumps(setting, events, "upper"))
        case FrozenRouting() as block:
            if objective != "path":
                return (*others, unavailable("routing", PATH_NEEDED))
            return (*others, _frozen(setting, block, end, others))
        case StateDependentRouting() as block:
            if _is_listed(setting):
                return (unavailable("routing", LISTED),)
            if objective != "path":
                return (unavailable("routing", PATH_NEEDED),)
            if all(radius.name != "synthesis" for radius in others):
                return (unavailable("routing", UNROUTED),)
            # The oracle's fields jump where the target's route changes.
            oracle = (*others, _jumps(setting, block.events, "upper"))
            return (_state_driven(setting, block, end, oracle),)


def oracle_routing(setting: RoutedSetting) -> Radius | None:
    """The whole radius from a declared oracle error; ``None`` where none is declared.

    It bounds the executed error by itself, whatever else is known.
    """
    block = setting.question.routing
    if not isinstance(block, StateDependentRouting) or block.oracle_error is None:
        return None
    if _is_listed(setting):
        return unavailable("routing", LISTED)
    used = Premises()
    path = "routing.oracle_error"
    known = used.need(path, setting.sight.upper(path, block.oracle_error))
    if used.missing:
        return unavailable("routing", used.lack)
    oracle = everywhere("oracle", "declared path error of the oracle", monomial(known), used)
    return _state_driven(setting, block, Fraction(0), (oracle,))


# --- events known in advance ----------------------------------------------------------------------


def _jumps(
    setting: RoutedSetting,
    events: Sequence[PrescribedEvent | RouteEvent],
    side: Literal["upper", "lower"],
) -> Radius:
    """What jumps at known times add to T3.3: J of them to V in Q_D, two to V_Delta in P_D."""
    question, constants = setting.question, setting.constants
    declared = question.synthesis
    if not (constants.proved or isinstance(declared, BoundedVariationSynthesis)):
        reason = (
            "jumps at prescribed times enter the variation of a bounded_variation synthesis block; "
            "this study has none"
        )
        return unavailable("routing", reason)
    used = Premises()
    total = Fraction(0)
    for index, event in enumerate(events):
        path = f"routing.events.{index}.jump"
        total += used.need(path, setting.sight.upper(path, event.jump))
    lipschitz = used.need("state_lipschitz", constants.state_lipschitz)
    t, choice = constants.horizon, setting.choice
    added_sum = monomial(t * constants.atom_count * total, -1, choice.prefix)
    if side == "upper":
        weight = 2 * total * half_l1_discrepancy(constants.atom_count)
        added_sum += monomial(t * weight, -1)
        added_sum += monomial(t * weight * lipschitz, -1, choice.growth)
    return on_growth("routing", FORMULAS["prescribed"], added_sum, choice, used)


# --- a margin on the whole path -------------------------------------------------------------------


def _frozen(
    setting: RoutedSetting, block: FrozenRouting, end: Fraction, others: Sequence[Radius]
) -> Radius:
    """Zero, while the margin exceeds ``2 (eta_s + L_s E)`` with E the error of the whole path."""
    used, sight = Premises(), setting.sight
    margin = used.need("routing.margin", sight.lower("routing.margin", block.margin))
    error = used.need("routing.score_error", sight.upper("routing.score_error", block.score_error))
    slope = used.need(
        "routing.score_lipschitz", sight.upper("routing.score_lipschitz", block.score_lipschitz)
    )
    if used.missing:
        return unavailable("routing", used.lack)
    room = margin / 2 - error
    reason = "the score margin is within reach of score and state errors (T6.4)"
    if room <= 0:
        return unavailable("routing", reason)
    pieces = tuple(
        Piece(
            piece.first,
            piece.last,
            ZERO,
            (Guard(piece.sum.scaled(slope), room - slope * end, reason, strict=True),),
        )
        for piece in added(others)
    )
    return Radius("routing", FORMULAS["frozen"], used.evidence, used.declared, pieces)


# --- events that the state drives -----------------------------------------------------------------


def _state_driven(
    setting: RoutedSetting, block: StateDependentRouting, end: Fraction, others: Sequence[Radius]
) -> Radius:
    """``E_bar - end`` in the place of the other radii (theory T6.1)."""
    used, sight = Premises(), setting.sight
    events = _events(block, sight, used)
    eta = used.need("routing.score_error", sight.upper("routing.score_error", block.score_error))
    slope = used.need(
        "routing.score_lipschitz", sight.upper("routing.score_lipschitz", block.score_lipschitz)
    )
    outer = used.need(
        "routing.outer_isolation", sight.lower("routing.outer_isolation", block.outer_isolation)
    )
    growth = _growth(setting, used)
    if used.missing or setting.choice.refused:
        return unavailable("routing", used.lack or setting.choice.refused)
    horizon = setting.constants.horizon
    broken = geometry_failures(events, horizon)
    if broken:
        return unavailable("routing", "; ".join(failure.message for failure in broken) + " (T6.1)")
    chi = loop_gain(events, growth)
    if chi >= 1:
        text = f"the loop gain chi is {decimal_text(chi, up=True)}; needed below 1 (T6.1)"
        return unavailable("routing", text)
    factor = 1 / (1 - chi)
    limits = [*_limits(events, eta, slope, outer), *_tube_limits(setting, used)]
    forced = growth * sum((2 * e.jump * e.gap_error / e.slope for e in events), Fraction(0))
    jumps = growth * horizon * sum((e.jump for e in events), Fraction(0))
    fixed = monomial(factor * forced) + monomial(factor * jumps, -1) + monomial(end * (factor - 1))
    if setting.question.scope == "path":
        bound = used.need("field_bound", setting.constants.field_bound)
        if used.missing:
            return unavailable("routing", used.lack)
        between = monomial(bound * horizon, -1)
    else:
        between = ZERO
    first = max(setting.choice.first, used.first)
    pieces = tuple(
        _piece(piece, factor, fixed, between, end, limits) for piece in added(others, first)
    )
    gaps = tuple(gap for radius in others for gap in radius.gaps)
    label = weakest([used.evidence, *(radius.evidence for radius in others)])
    names = {*used.declared, *(name for radius in others for name in radius.declared)}
    formula = FORMULAS["state_dependent"]
    return Radius("routing", formula, label, tuple(sorted(names)), pieces, gaps)


def _piece(
    piece: Piece,
    factor: Fraction,
    fixed: DepthSum,
    between: DepthSum,
    end: Fraction,
    limits: Sequence[tuple[Fraction, str]],
) -> Piece:
    reached = (piece.sum.scaled(factor) + fixed).merged()
    guards = tuple(Guard(reached, limit - end, text, strict=True) for limit, text in limits)
    return Piece(piece.first, piece.last, reached + between, (*piece.guards, *guards))


def _events(block: StateDependentRouting, sight: Sight, used: Premises) -> list[EventNumbers]:
    """The events with the unfavourable end of each premise."""

    def upper(index: int, name: str, premise: Premise) -> Fraction:
        path = f"routing.events.{index}.{name}"
        return used.need(path, sight.upper(path, premise))

    def lower(index: int, name: str, premise: Premise) -> Fraction:
        path = f"routing.events.{index}.{name}"
        return used.need(path, sight.lower(path, premise))

    return [
        EventNumbers(
            time_low=lower(i, "time", event.time),
            time_high=upper(i, "time", event.time),
            slope=lower(i, "slope", event.slope),
            jump=upper(i, "jump", event.jump),
            gap_error=upper(i, "gap_error", event.gap_error),
            gap_lipschitz=upper(i, "gap_lipschitz", event.gap_lipschitz),
            isolation=lower(i, "isolation", event.isolation),
            neighbourhood=lower(i, "neighbourhood", event.neighbourhood),
        )
        for i, event in enumerate(block.events)
    ]


def _growth(setting: RoutedSetting, used: Premises) -> Fraction:
    """An upper bound of ``S = max(1, kappa^D)`` at every depth: ``e^{mT}`` where m > 0."""
    rate = used.need("state_lipschitz", setting.choice.rate)
    if rate <= 0 or setting.choice.refused:
        return Fraction(1)
    return exp_upper(rate * setting.constants.horizon)


def _limits(
    events: Sequence[EventNumbers], eta: Fraction, slope: Fraction, outer: Fraction
) -> list[tuple[Fraction, str]]:
    """What ``E_bar`` has to stay below, each with what is wrong otherwise."""
    found = []
    for r, event in enumerate(events):
        text = f"the window of event {r} leaves its neighbourhood (T6.1)"
        room = event.neighbourhood * event.slope - event.gap_error
        found.append((_quotient(room, event.gap_lipschitz), text))
        text = f"a third expert is within reach of the scores at event {r} (T6.1)"
        found.append((_quotient(event.isolation - eta, slope), text))
    text = "another expert is within reach of the scores away from the events (T6.1)"
    found.append((_quotient(outer - eta, slope), text))
    return [(limit, text) for limit, text in found if limit is not None]


def _quotient(room: Fraction, slope: Fraction) -> Fraction | None:
    """The error below which ``slope * error < room``; ``None``: every error is."""
    if slope > 0:
        return room / slope
    return None if room > 0 else Fraction(0)


def _tube_limits(setting: RoutedSetting, used: Premises) -> list[tuple[Fraction, str]]:
    """The tube of the constants holds every state that the bound allows."""
    text = "the executed path may leave the tube of the constants (T6.1, route tube)"
    rooms: list[Constant | None] = [setting.choice.rate, setting.constants.state_lipschitz]
    found = [c.margin for c in rooms if c is not None and c.margin is not None]
    tube = setting.question.tube
    if isinstance(tube, DeclaredTube) and not setting.constants.proved:
        found.append(used.need("tube_margin", setting.sight.lower("tube_margin", tube.margin)))
    return [(margin, text) for margin in found]

"""The route-window small-gain theorem at one depth (theory T6.1), every premise by itself.

A router driven by the state changes experts where two scores cross. Score errors and state errors
move the crossing; the wrong expert then moves the state. The theorem bounds this loop: with ``chi =
2 S sum Delta_r L_r / nu_r < 1`` the executed states stay within ``E_bar`` of the target's path and
the executed route differs from the target's only in windows about its events.

``radii.routing`` writes the same as functions of depth; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

PremiseName = Literal[
    "simultaneous", "outside", "grazing", "overlap", "small_gain", "foreign_expert",
    "away_from_events", "window", "chattering",
]  # fmt: skip
"""The premises that can fail: two events at once, an event not inside the horizon, no transversal
crossing, neighbourhoods that meet, ``chi >= 1``, a third expert within reach at an event or between
them, a window that leaves its neighbourhood, and several switches of the implemented router."""


@dataclass(frozen=True, slots=True)
class EventNumbers:
    """One event of the target's route; every number is the unfavourable end of its premise.

    The target gap ``gamma_r`` vanishes at a time in ``[time_low, time_high]`` and grows there with
    slope at least ``slope`` within ``neighbourhood`` (half width of ``U_r``). ``jump`` is
    ``Delta_r``; ``gap_error`` and ``gap_lipschitz`` are ``eta_r`` and ``L_r``; ``isolation`` is
    ``Gamma_r``; ``implemented_slope`` is ``zeta_r`` of theory T6.3, or ``None``.
    """

    time_low: Fraction
    time_high: Fraction
    slope: Fraction
    jump: Fraction
    gap_error: Fraction
    gap_lipschitz: Fraction
    isolation: Fraction
    neighbourhood: Fraction
    implemented_slope: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A premise that does not hold, where (``None``: not about one event), and in words."""

    premise: PremiseName
    event: int | None
    message: str


@dataclass(frozen=True, slots=True)
class SmallGain:
    """What the theorem says at one depth; ``bound`` counts only where ``failures`` is empty."""

    chi: Fraction
    bound: Fraction | None
    """``E_bar``: executed states are this close to the target's path; ``None`` where chi >= 1."""
    windows: tuple[Fraction, ...]
    """``w_r``: half widths about the event times."""
    failures: tuple[Failure, ...]

    @property
    def holds(self) -> bool:
        """Every premise holds."""
        return self.bound is not None and not self.failures


def geometry_failures(events: Sequence[EventNumbers], horizon: Fraction) -> list[Failure]:
    """What is wrong with the events before any depth is chosen: T6.1 excludes it altogether."""
    found: list[Failure] = []
    for r, event in enumerate(events):
        if event.time_low <= 0 or event.time_high >= horizon:
            text = f"event {r} is not strictly inside the horizon"
            found.append(Failure("outside", r, text))
        if event.slope <= 0:
            text = f"event {r} grazes: its gap has no positive slope"
            found.append(Failure("grazing", r, text))
    ordered = sorted(range(len(events)), key=lambda r: events[r].time_low)
    for a, b in pairwise(ordered):
        one, other = events[a], events[b]
        if one.time_high >= other.time_low:
            text = f"events {a} and {b} may be simultaneous"
            found.append(Failure("simultaneous", b, text))
        elif one.time_high + one.neighbourhood > other.time_low - other.neighbourhood:
            text = f"the neighbourhoods of events {a} and {b} meet"
            found.append(Failure("overlap", b, text))
    return found


def loop_gain(events: Sequence[EventNumbers], growth: Fraction) -> Fraction:
    """``chi = 2 S sum Delta_r L_r / nu_r``; events need positive slopes."""
    total = sum((e.jump * e.gap_lipschitz / e.slope for e in events), Fraction(0))
    return 2 * growth * total


def small_gain(
    events: Sequence[EventNumbers],
    *,
    growth: Fraction,
    step: Fraction,
    oracle_error: Fraction,
    score_error: Fraction,
    score_lipschitz: Fraction,
    outer_isolation: Fraction,
    horizon: Fraction,
) -> SmallGain:
    """Theory T6.1 at step ``h``, with ``S h sum Delta_r`` for the grid (the paper has twice that).

    ``growth`` is an upper bound of ``S = max(1, kappa^D)``; ``oracle_error`` is ``delta_D``, the
    error of the run that is given the target's route, at every grid time; ``score_error`` and
    ``score_lipschitz`` are ``eta_s`` and ``L_s``; ``outer_isolation`` is ``Gamma_out``.
    """
    failures = geometry_failures(events, horizon)
    if any(event.slope <= 0 for event in events):
        return SmallGain(Fraction(0), None, (), tuple(failures))
    chi = loop_gain(events, growth)
    if chi >= 1:
        text = "the loop gain chi is at least 1: route and state errors may feed each other"
        failures.append(Failure("small_gain", None, text))
        return SmallGain(chi, None, (), tuple(failures))
    forced = sum((e.jump * (2 * e.gap_error / e.slope + step) for e in events), Fraction(0))
    bound = (oracle_error + growth * forced) / (1 - chi)
    windows = tuple((e.gap_error + e.gap_lipschitz * bound) / e.slope for e in events)
    reach = score_error + score_lipschitz * bound
    for r, (event, width) in enumerate(zip(events, windows, strict=True)):
        if width >= event.neighbourhood:
            text = f"the window of event {r} leaves its neighbourhood"
            failures.append(Failure("window", r, text))
        if reach >= event.isolation:
            text = f"a third expert is within reach of the scores at event {r}"
            failures.append(Failure("foreign_expert", r, text))
    if reach >= outer_isolation:
        text = "another expert is within reach of the scores away from the events"
        failures.append(Failure("away_from_events", None, text))
    return SmallGain(chi, bound, windows, tuple(failures))


def unique_switches(
    events: Sequence[EventNumbers], gain: SmallGain, field_bound: Fraction, step: Fraction
) -> tuple[tuple[Fraction, ...] | None, tuple[Failure, ...]]:
    """Theory T6.3: one implemented switch an event, within ``w~_r`` of the target's.

    Needs a signed slope of the *implemented* gap of at least ``zeta_r > 0`` (no chattering), and
    ``E~ = E_bar + B h`` about the interpolated path (the paper has ``2 B h``; theory T3.5).
    """
    if gain.bound is None:
        return None, gain.failures
    failures = list(gain.failures)
    between = gain.bound + field_bound * step
    widths = []
    for r, event in enumerate(events):
        if event.implemented_slope is None or event.implemented_slope <= 0:
            text = f"nothing excludes that the implemented router chatters at event {r}"
            failures.append(Failure("chattering", r, text))
        width = (event.gap_error + event.gap_lipschitz * between) / event.slope
        if width >= event.neighbourhood:
            text = f"the window of event {r} leaves its neighbourhood between the grid times"
            failures.append(Failure("window", r, text))
        widths.append(width)
    return (None if failures else tuple(widths)), tuple(failures)


# --- constants of isolation and of mixtures of experts --------------------------------------------


def isolation_from_gaps(other_gaps: Sequence[Fraction]) -> Fraction:
    """Theory T6.2: an isolation radius (not attained) from the smallest other pair gap."""
    return min(other_gaps) / 2


@dataclass(frozen=True, slots=True)
class MixtureConstants:
    """Theory T6.7: constants of a routed mixture from those of its experts and gates."""

    state_lipschitz: Fraction
    """``L_z <= L_E + B_E L_pi``."""
    jump: Fraction
    """``Delta_r``."""
    field_error: Fraction
    """``eta_G <= eta_E + B_E eta_pi``."""
    gap_lipschitz: Fraction
    """``L_r <= 2 L_s``."""
    gap_error: Fraction
    """``eta_r <= 2 eta_s``."""


def mixture_constants(
    *,
    expert_bound: Fraction,
    expert_lipschitz: Fraction,
    expert_error: Fraction,
    score_lipschitz: Fraction,
    score_error: Fraction,
    gates: Literal["one_hot", "uniform", "weighted"],
    top_k: int = 1,
    gate_lipschitz: Fraction = Fraction(0),
    gate_error: Fraction = Fraction(0),
    gate_jump: Fraction = Fraction(2),
) -> MixtureConstants:
    """Theory T6.7. ``gate_lipschitz``, ``gate_error`` and ``gate_jump`` are in l1 of the weights.

    One-hot and uniform gates do not depend on the state between events; two weight vectors are at
    most 2 apart in l1.
    """
    if gates == "weighted":
        lipschitz = expert_lipschitz + expert_bound * gate_lipschitz
        jump, moved = expert_bound * gate_jump, expert_error + expert_bound * gate_error
    else:
        lipschitz, moved = expert_lipschitz, expert_error
        jump = 2 * expert_bound / (top_k if gates == "uniform" else 1)
    return MixtureConstants(lipschitz, jump, moved, 2 * score_lipschitz, 2 * score_error)

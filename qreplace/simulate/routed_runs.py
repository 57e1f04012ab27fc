"""``simulate routing``: executed routes beside the target's, and what theory T6.1 says of them.

The target path is computed in many steps, event data are measured along it, so every number is a
diagnostic; what holds exactly is in the tests, where target paths are known in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.errors import InputError
from qreplace.exact.rational import decimal_text, format_rational, round_down, round_up
from qreplace.premises import Evidence
from qreplace.radii.route_events import CertifiedEvents
from qreplace.radii.small_gain import EventNumbers, SmallGain, small_gain
from qreplace.simulate.build import depths_of, routed_of, schedules_of
from qreplace.simulate.documents import columns, numbers, shown
from qreplace.simulate.labels import Basis, label
from qreplace.simulate.request import MAX_DEPTHS, RoutingRequest
from qreplace.simulate.routed import Runs, fine_path, noise_rows, require_size, route
from qreplace.simulate.routed_certified import certify
from qreplace.simulate.routed_events import (
    SCALES,
    Change,
    FinePath,
    Measured,
    changes,
    fine_data,
    measure,
    step_growth,
)
from qreplace.simulate.routed_model import Routed, binary64, members, mixed

MAX_FINE = 16_777_216
"""Points of the target path times what is kept at each, coordinates and scores."""
MAX_STATES = 4_000_000
"""Steps of all depths together, times coordinates."""
BITS = 64
"""Bits after the point of a premise."""
RADIUS_BITS = 20
"""Bits after the point of the radius within which certified events hold."""

LEGEND = (
    "error: executed path to the target's, linf; of at most: E_bar of T6.1; oracle: on the "
    "target's route; outside: mismatches that no window explains"
)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RoutingRow:
    """The runs at one depth, and the theorem with the premises that were measured."""

    depth: int
    runs: Runs[float]
    gain: SmallGain | None
    """``None`` where the target's route has no simple events."""
    inside: tuple[bool, ...]
    """For each mismatch, whether it lies in a window and between that event's two supports."""

    @property
    def outside(self) -> int:
        """Mismatches that the windows do not explain."""
        return len(self.inside) - sum(self.inside)

    @property
    def holds(self) -> bool:
        """Every measured premise holds."""
        return self.gain is not None and self.gain.holds


@dataclass(frozen=True)
class RoutingResult:
    """Every depth that was asked for."""

    title: str
    rows: tuple[RoutingRow, ...]
    path: FinePath
    found: tuple[Change, ...]
    measured: Measured | None
    certified: CertifiedEvents | None
    """The same, enclosed along a validated path, where ``cells`` asked for it."""
    uncertified: str
    """Why there is nothing of that kind although it was asked for."""
    irregular: str
    """Why the target's route has no simple events; empty where it does."""
    steps: int
    moved: float
    """How far half as many steps put the target path, linf: what its own error is like."""

    @property
    def basis(self) -> Basis:
        """What the numbers rest on."""
        depths = ", ".join(str(row.depth) for row in self.rows[:8])
        more = " and others" if len(self.rows) > 8 else ""
        instance = f"one schedule of the simulated routed system at depths {depths}{more}"
        return Basis("measured", instance, exact=False)

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints: exact strings, each with a decimal companion."""
        own = self.measured
        return {
            "kind": "routing",
            "title": self.title,
            "norm": "linf",
            "label": label(self.basis).value,
            "target_steps": self.steps,
            **numbers(target_moved_by_halving=Fraction(self.moved)),
            "events": [] if own is None else [
                _event_document(change, event)
                for change, event in zip(self.found, own.events, strict=True)
            ],
            **({} if own is None else numbers(
                score_error=own.score_error,
                score_lipschitz=own.score_lipschitz,
                outer_isolation=own.outer_isolation,
            )),
            "certified": None if self.certified is None else _certified_document(self.certified),
            "rows": [_row_document(row) for row in self.rows],
            "notes": self.notes(),
        }  # fmt: skip

    def text(self) -> str:
        """The result for a terminal."""
        lines = [self.title, ""] if self.title else []
        if self.measured is not None and self.found:
            lines += [*_event_lines(self.found, self.measured.events), ""]
        header = ["D", "mismatches", "outside", "error", "of at most", "oracle", "chi", "premises"]
        cells = [
            [
                f"{row.depth:,}",
                f"{len(row.inside):,}",
                f"{row.outside:,}",
                shown(Fraction(row.runs.state_error)),
                shown(row.gain.bound) if row.gain is not None and row.holds else "",
                shown(Fraction(row.runs.oracle_error)),
                shown(row.gain.chi) if row.gain is not None else "",
                "hold" if row.holds else "fail",
            ]
            for row in self.rows
        ]
        lines += columns(header, cells)
        lines += ["", LEGEND]
        for note in self.notes():
            lines += ["", note]
        return "\n".join(lines)

    def notes(self) -> list[str]:
        """What else to know: premises that fail, a route that never changes, the label."""
        found = [self.irregular] if self.irregular else []
        if self.measured is not None and not self.found:
            found.append(_frozen_note(self.measured, self.rows))
        grouped: dict[str, list[int]] = {}
        for row in self.rows:
            for failure in row.gain.failures if row.gain is not None else ():
                grouped.setdefault(failure.message, []).append(row.depth)
        for message, depths in grouped.items():
            more = ", .." if len(depths) > 6 else ""
            found.append(f"{message} (D = {', '.join(map(str, depths[:6]))}{more})")
        if self.certified is not None:
            found.append(_certified_note(self.certified))
        if self.uncertified:
            found.append(f"no certified events: {self.uncertified}")
        if any(row.holds and row.outside for row in self.rows):
            found.append("mismatches outside the windows although every measured premise holds: "
                         "the premises are measured too coarsely; raise target_steps")  # fmt: skip
        found.append(
            f"target path in {self.steps:,} steps; half as many put it {self.moved:.3g} away. "
            f"Label: {label(self.basis).value}, a measurement of these runs and no bound"
        )
        return found

    def premises(self) -> str:
        """The ``routing`` block as YAML, of what was certified, else of what was measured.

        Empty where nothing was.
        """
        own = self.certified or self.measured
        if own is None or any(event.slope <= 0 for event in own.events):
            return ""
        source = "qreplace simulate routing: measured on one target path and its runs"
        evidence = label(self.basis).value
        lines = ["# delta_D (oracle_error) is left to the other radii", "routing:"]
        if self.certified is not None:
            source = "qreplace simulate routing: enclosed along the validated path of the target"
            evidence = Evidence.INTERVAL_CERTIFIED.value
            radius = format_rational(self.certified.radius)
            lines.insert(0, f"# holds within {radius} of the target's path: the tube's margin")

        def premise(value: Fraction, up: bool) -> str:
            text = format_rational((round_up if up else round_down)(value, BITS))
            return f'{{value: "{text}", evidence: {evidence}, source: "{source}"}}'

        if not own.events:
            lines += ["  kind: frozen", f"  margin: {premise(2 * own.outer_isolation, False)}"]
        else:
            lines += ["  kind: state_dependent", "  events:"]
            for event in own.events:
                ends = [format_rational(round_down(event.time_low, BITS)),
                        format_rational(round_up(event.time_high, BITS))]  # fmt: skip
                lines += [
                    f'    - time: {{value: {{lo: "{ends[0]}", hi: "{ends[1]}"}}, evidence: '
                    f'{evidence}, source: "{source}"}}',
                    f"      slope: {premise(event.slope, False)}",
                    f"      jump: {premise(event.jump, True)}",
                    f"      gap_error: {premise(event.gap_error, True)}",
                    f"      gap_lipschitz: {premise(event.gap_lipschitz, True)}",
                    f"      isolation: {premise(event.isolation, False)}",
                    f"      neighbourhood: {premise(event.neighbourhood, False)}",
                ]
        lines += [
            f"  score_error: {premise(own.score_error, True)}",
            f"  score_lipschitz: {premise(own.score_lipschitz, True)}",
        ]
        if own.events:
            lines.append(f"  outer_isolation: {premise(own.outer_isolation, False)}")
        return "\n".join([*lines, "  norm: linf", ""])


# --- running --------------------------------------------------------------------------------------


def run_routing(request: RoutingRequest, progress: Progress | None = None) -> RoutingResult:
    """Both runs at every depth; raises ``InputError`` before anything long starts."""
    exact, weights = routed_of(request)
    depths = depths_of(request.depths, MAX_DEPTHS)
    relaxed, system = binary64(mixed(exact, weights)), binary64(exact)
    _require(system, depths, request.target_steps)
    path, moved = _target(system, relaxed, request.target_steps)
    runs = []
    for done, depth in enumerate(depths):
        if progress is not None:
            progress("routing", done, len(depths))
        runs.append(_runs(request, system, path, depth))
    found, irregular = changes(path)
    radius = max(own.state_error for own in runs)
    chosen: Measured | None = None
    gains: Sequence[SmallGain | None] = [None] * len(depths)
    if not irregular:
        chosen, gains = _best(path, found, request.noise, radius, depths, runs)
    rows = [
        RoutingRow(depth, own, gain, tuple(_inside(path, found, gain, own, depth)))
        for depth, own, gain in zip(depths, runs, gains, strict=True)
    ]
    certified, uncertified = _certified(request, exact, weights, rows)
    return RoutingResult(
        request.title, tuple(rows), path, tuple(found), chosen, certified, uncertified, irregular,
        request.target_steps, moved,
    )  # fmt: skip


def _certified(
    request: RoutingRequest,
    exact: Routed[Fraction],
    weights: tuple[Fraction, ...],
    rows: Sequence[RoutingRow],
) -> tuple[CertifiedEvents | None, str]:
    """Certified events within the largest bound of a depth at which the premises hold."""
    if request.cells is None:
        return None, ""
    bounds = [row.gain.bound for row in rows if row.holds and row.gain is not None]
    seen = [Fraction(row.runs.state_error) for row in rows]
    radius = round_up(max([b for b in bounds if b is not None] or seen), RADIUS_BITS)
    try:
        return certify(exact, weights, request.noise, radius, request.cells)[1], ""
    except InputError as error:
        return None, error.message


def _require(system: Routed[float], depths: Sequence[int], steps: int) -> None:
    kept = steps * (system.dimension + system.experts)
    if kept > MAX_FINE:
        raise InputError(
            f"the target path has {steps} steps of {system.dimension} coordinates and "
            f"{system.experts} scores; needed at most {MAX_FINE} numbers",
            pointer="/target_steps",
        )
    for depth in (steps, *depths):
        require_size(system, depth)
    if sum(depths) * system.dimension > MAX_STATES:
        raise InputError(
            f"the depths are {sum(depths)} steps together, of {system.dimension} coordinates; "
            f"needed at most {MAX_STATES} coordinate steps",
            pointer="/depths",
        )


def _target(system: Routed[float], relaxed: Routed[float], steps: int) -> tuple[FinePath, float]:
    """The fine path, and how far the path in half as many steps is from it."""
    import numpy as np

    even = steps + steps % 2
    states, supports = fine_path(relaxed, even)
    coarse, _ = fine_path(relaxed, even // 2)
    if not (np.isfinite(states).all() and np.isfinite(coarse).all()):
        raise InputError("the target path leaves the range of binary64: a state is not finite")
    return fine_data(system, states, supports), float(np.abs(states[::2] - coarse).max())


def _runs(
    request: RoutingRequest, system: Routed[float], path: FinePath, depth: int
) -> Runs[float]:
    import numpy as np

    times = np.arange(depth + 1) * (system.horizon / depth)
    target = np.stack([np.interp(times, path.times, own) for own in path.states.T], axis=1)
    target[0] = system.initial
    schedule: Any = [0] * depth
    if request.schedule is not None:
        (schedule,) = schedules_of(request.schedule, len(system.atoms), depth)
    errors = None
    if request.noise:
        errors = noise_rows(depth, system.experts, float(request.noise), request.seed)
    return route(system, schedule, target, errors)


def _best(
    path: FinePath,
    found: Sequence[Change],
    noise: Fraction,
    radius: float,
    depths: Sequence[int],
    runs: Sequence[Runs[float]],
) -> tuple[Measured, list[SmallGain]]:
    """The neighbourhoods with which the premises hold at most depths, the widest of these."""
    tried = []
    for scale in SCALES if found else SCALES[:1]:
        own = measure(path, found, scale, noise, radius)
        gains = [_gain(path, own, depth, run) for depth, run in zip(depths, runs, strict=True)]
        tried.append((own, gains))
    return max(tried, key=lambda pair: sum(gain.holds for gain in pair[1]))


def _gain(path: FinePath, own: Measured, depth: int, run: Runs[float]) -> SmallGain:
    supports = sorted({int(support) for support in run.target_supports})
    horizon = Fraction(path.system.horizon)
    return small_gain(
        own.events,
        growth=Fraction(step_growth(path.system, supports, depth)),
        step=horizon / depth,
        oracle_error=Fraction(run.oracle_error),
        score_error=own.score_error,
        score_lipschitz=own.score_lipschitz,
        outer_isolation=own.outer_isolation,
        horizon=horizon,
    )


def _inside(
    path: FinePath,
    found: Sequence[Change],
    gain: SmallGain | None,
    run: Runs[float],
    depth: int,
) -> list[bool]:
    """For each mismatch, whether a window and the two supports of its event explain it."""
    import numpy as np

    places = np.array(run.mismatches, dtype=np.int64)
    times, supports = places * (path.system.horizon / depth), run.supports[places]
    explained = np.zeros(len(places), dtype=bool)
    for change, width in zip(found, gain.windows if gain is not None else (), strict=False):
        first = float(path.times[change.point]) - float(width)
        last = float(path.times[change.point + 1]) + float(width)
        own = (supports == change.before) | (supports == change.after)
        explained |= own & (first <= times) & (times <= last)
    return [bool(one) for one in explained]


def _certified_document(own: CertifiedEvents) -> dict[str, Any]:
    return {
        "label": Evidence.INTERVAL_CERTIFIED.value,
        "events": [_numbers_of(event) for event in own.events],
        **numbers(
            score_error=own.score_error,
            score_lipschitz=own.score_lipschitz,
            outer_isolation=own.outer_isolation,
            radius=own.radius,
        ),
    }


def _certified_note(own: CertifiedEvents) -> str:
    times = [
        f"{decimal_text(e.time_low, up=False)} to {decimal_text(e.time_high, up=True)}"
        for e in own.events
    ]
    what = f"events at {', '.join(times)}" if times else "no event"
    radius = decimal_text(own.radius, up=True)
    return (
        f"certified along a validated path: {what}; numbers hold within {radius} of it and are in "
        "the routing block"
    )


# --- words ----------------------------------------------------------------------------------------


def _event_document(change: Change, event: EventNumbers) -> dict[str, Any]:
    return {
        "leaving": change.leaving,
        "entering": change.entering,
        "support_before": members(change.before),
        "support_after": members(change.after),
        **_numbers_of(event),
    }


def _numbers_of(event: EventNumbers) -> dict[str, Any]:
    return numbers(
        time_low=event.time_low,
        time_high=event.time_high,
        slope=event.slope,
        jump=event.jump,
        gap_error=event.gap_error,
        gap_lipschitz=event.gap_lipschitz,
        isolation=event.isolation,
        neighbourhood=event.neighbourhood,
    )


def _row_document(row: RoutingRow) -> dict[str, Any]:
    gain = row.gain
    windows = gain.windows if gain is not None else ()
    return {
        "depth": row.depth,
        "mismatches": len(row.inside),
        "outside_windows": row.outside,
        "first_mismatches": list(row.runs.mismatches[:64]),
        **numbers(
            state_error=Fraction(row.runs.state_error),
            oracle_error=Fraction(row.runs.oracle_error),
            loop_gain=gain.chi if gain is not None else None,
            bound=gain.bound if gain is not None else None,
        ),
        "windows": [format_rational(width) for width in windows],
        "windows~": [float(width) for width in windows],
        "premises_hold": row.holds,
        "failures": [
            {"premise": f.premise, "event": f.event, "message": f.message}
            for f in (gain.failures if gain is not None else ())
        ],
    }


def _event_lines(found: Sequence[Change], events: Sequence[EventNumbers]) -> list[str]:
    header = ["event", "time", "experts", "slope", "jump", "gap error", "gap per state",
              "isolation", "neighbourhood"]  # fmt: skip
    cells = [
        [
            str(r),
            decimal_text(event.time_low, up=False),
            f"{change.leaving} -> {change.entering}",
            decimal_text(event.slope, up=False),
            decimal_text(event.jump, up=True),
            decimal_text(event.gap_error, up=True),
            decimal_text(event.gap_lipschitz, up=True),
            decimal_text(event.isolation, up=False),
            decimal_text(event.neighbourhood, up=False),
        ]
        for r, (change, event) in enumerate(zip(found, events, strict=True))
    ]
    return columns(header, cells)


def _frozen_note(own: Measured, rows: Sequence[RoutingRow]) -> str:
    margin = 2 * own.outer_isolation
    worst = max(Fraction(row.runs.oracle_error) for row in rows)
    reach = 2 * (own.score_error + own.score_lipschitz * worst)
    return (
        f"the target's route never changes (T6.4): its margin is {float(margin):.4g}, and "
        f"2 (eta_s + L_s E) is {float(reach):.4g} at the depth with the largest error"
    )

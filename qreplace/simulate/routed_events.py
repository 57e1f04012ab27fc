"""Event data measured along a computed target path: what theory T6.1 asks of a route.

Everything is read off at the points of a fine path in binary64, so it is a diagnostic and no proof:
a spec's premises of the same names want bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from qreplace.radii.small_gain import EventNumbers
from qreplace.simulate.routed import values
from qreplace.simulate.routed_model import Affine, Routed, members

MAX_EVENTS = 64
"""Changes of the target's support that are measured; more are a route that chatters."""
NEAR = 16
"""Points next to an event that are not looked at for its slope: there its time counts too much."""
SCALES = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16))
"""Half widths of neighbourhoods that are tried, in parts of the room to the next event or end."""


@dataclass(frozen=True, slots=True)
class Change:
    """The target's support changes between two points of the fine path: one expert for another."""

    before: int
    after: int
    point: int
    """The last point with the support ``before``."""

    @property
    def leaving(self) -> int:
        """The expert that leaves."""
        return members(self.before & ~self.after)[0]

    @property
    def entering(self) -> int:
        """The expert that enters."""
        return members(self.after & ~self.before)[0]


@dataclass(frozen=True)
class FinePath:
    """A target path at evenly spread points, with scores of both routers there."""

    system: Routed[float]
    states: Any
    """(points, q)."""
    supports: Any
    """(points,) int64."""
    times: Any
    scores: Any
    """(points, experts), the target's."""
    errors: Any
    """Implemented minus target scores, score noise left out."""

    @property
    def spacing(self) -> float:
        """Time between two points."""
        return self.system.horizon / (len(self.times) - 1)


def fine_data(system: Routed[float], states: Any, supports: Any) -> FinePath:
    """The path with everything that is measured on it; the last point has the support before it."""
    import numpy as np

    count = len(states)
    times = np.arange(count) * (system.horizon / (count - 1))
    scores = _along(system.scores, times, states)
    errors = _along(system.implemented, times, states) - scores
    held = np.concatenate([supports, supports[-1:]])
    return FinePath(system, states, held, times, scores, errors)


def _along(own: Affine[float], times: Any, states: Any) -> Any:
    import numpy as np

    slope = states @ np.array(own.matrix).T + np.array(own.offset)
    return slope + np.outer(times, np.array(own.drift))


def changes(path: FinePath) -> tuple[list[Change], str]:
    """The events of the target's route, or what makes it no route of simple events, in words."""
    import numpy as np

    points = np.flatnonzero(path.supports[1:] != path.supports[:-1])
    if len(points) > MAX_EVENTS:
        return [], f"the target's support changes {len(points)} times; at most {MAX_EVENTS} are "\
            "measured: a route that chatters or slides has no simple events"  # fmt: skip
    found = [Change(int(path.supports[p]), int(path.supports[p + 1]), int(p)) for p in points]
    for change in found:
        if (change.before & ~change.after).bit_count() != 1:
            time = path.times[change.point]
            return [], f"more than one expert changes at about t = {time:.6g}: simultaneous events"
    return found, ""


@dataclass(frozen=True, slots=True)
class Measured:
    """The event data of one choice of neighbourhoods, and what holds along the whole path."""

    events: tuple[EventNumbers, ...]
    score_error: Fraction
    """``eta_s``."""
    score_lipschitz: Fraction
    """``L_s``."""
    outer_isolation: Fraction
    """``Gamma_out``; with no event at all, half the margin of theory T6.4."""


def _time(path: FinePath, change: Change) -> float:
    """Where the gap is 0 on the straight line between the two points about an event."""
    first, last = (
        float(path.scores[k, change.entering] - path.scores[k, change.leaving])
        for k in (change.point, change.point + 1)
    )
    share = -first / (last - first) if last > first else 0.5
    return float(path.times[change.point]) + path.spacing * min(1.0, max(0.0, share))


def measure(
    path: FinePath, found: Sequence[Change], scale: Fraction, noise: Fraction, radius: float
) -> Measured:
    """Event data with neighbourhoods of ``scale`` times the room about each event.

    ``noise`` is the size of score errors that come on top; jumps hold for states within ``radius``
    of the path, linf.
    """
    import numpy as np

    halves = [float(scale) * room for room in _rooms(path, found)]
    outside = np.ones(len(path.times), dtype=bool)
    events = []
    for change, half in zip(found, halves, strict=True):
        near = np.abs(path.times - _time(path, change)) <= half
        outside &= ~near
        events.append(_event(path, change, near, half, noise, radius))
    rows = np.abs(np.array(path.system.implemented.matrix)).sum(axis=1)
    return Measured(
        tuple(events),
        Fraction(float(np.abs(path.errors).max())) + noise,
        Fraction(float(rows.max())),
        Fraction(float(_boundary(path, outside)) / 2),
    )


def _rooms(path: FinePath, found: Sequence[Change]) -> list[float]:
    """How far each event is from the ends of the horizon, and half as far from the next event."""
    times = [_time(path, change) for change in found]
    rooms = [min(t, path.system.horizon - t) for t in times]
    for r, (one, other) in enumerate(pairwise(times)):
        rooms[r] = min(rooms[r], (other - one) / 2)
        rooms[r + 1] = min(rooms[r + 1], (other - one) / 2)
    return rooms


def _event(
    path: FinePath, change: Change, near: Any, half: float, noise: Fraction, radius: float
) -> EventNumbers:
    import numpy as np

    a, b = change.entering, change.leaving
    away = path.times - _time(path, change)
    gap = path.scores[:, a] - path.scores[:, b]
    tried = near & (np.abs(away) > NEAR * path.spacing)
    slope = float((gap[tried] / away[tried]).min()) if tried.any() else 0.0
    error = float(np.abs(path.errors[near][:, a] - path.errors[near][:, b]).max(initial=0.0))
    rows = path.system.implemented.matrix
    return EventNumbers(
        time_low=Fraction(float(path.times[change.point])),
        time_high=Fraction(float(path.times[change.point + 1])),
        slope=Fraction(max(0.0, slope)),
        jump=Fraction(_jump(path, change, near, radius)),
        gap_error=Fraction(error) + 2 * noise,
        gap_lipschitz=Fraction(sum(abs(x - y) for x, y in zip(rows[a], rows[b], strict=True))),
        isolation=Fraction(_isolation(path, change, near)),
        neighbourhood=Fraction(half),
    )


def _jump(path: FinePath, change: Change, near: Any, radius: float) -> float:
    """``Delta_r``: along the path, plus what states within ``radius`` of it add."""
    import numpy as np

    states, times = path.states[near], path.times[near]
    largest = 0.0
    for atom in range(len(path.system.atoms)):
        before = gated_field(path.system, atom, change.before)
        after = gated_field(path.system, atom, change.after)
        matrix, offset, drift = (y - x for x, y in zip(before, after, strict=True))
        jumps = states @ matrix.T + offset + np.outer(times, drift)
        more = radius * float(np.abs(matrix).sum(axis=1).max())
        largest = max(largest, float(np.abs(jumps).max(initial=0.0)) + more)
    return largest


def gated_field(system: Routed[float], atom: int, support: int) -> tuple[Any, Any, Any]:
    """Matrix, offset and drift of ``G_j^m``, as arrays."""
    import numpy as np

    chosen = members(support)
    weight = sum(system.gates[e] for e in chosen)
    parts = [(system.gates[e] / weight, system.atoms[atom][e]) for e in chosen]
    matrix = sum(share * np.array(own.matrix) for share, own in parts)
    offset = sum(share * np.array(own.offset) for share, own in parts)
    drift = sum(share * np.array(own.drift) for share, own in parts)
    return matrix, offset, drift


def _isolation(path: FinePath, change: Change, near: Any) -> float:
    """``Gamma_r`` by theory T6.2: half the smallest gap of ranks other than the pair's."""
    scores = path.scores[near]
    both, pair = change.before | change.after, [change.leaving, change.entering]
    kept = members(change.before & change.after)
    others = [e for e in range(path.system.experts) if not both >> e & 1]
    gaps = [4 * _span(path)]  # a pair without company: any score error is small beside this
    if kept:
        gaps.append(float((scores[:, kept].min(axis=1) - scores[:, pair].max(axis=1)).min()))
    if others:
        gaps.append(float((scores[:, pair].min(axis=1) - scores[:, others].max(axis=1)).min()))
    return max(0.0, min(gaps) / 2)


def _span(path: FinePath) -> float:
    import numpy as np

    sizes = np.abs(path.scores).max() + np.abs(path.errors).max()
    return 1.0 + float(sizes)


def _boundary(path: FinePath, outside: Any) -> float:
    """The smallest gap between the support and the rest at the chosen points."""
    import numpy as np

    experts = path.system.experts
    if path.system.top_k == experts or not outside.any():
        return 4 * _span(path)
    bits = path.supports[outside][:, np.newaxis] >> np.arange(experts) & 1
    scores = path.scores[outside]
    inside = np.where(bits == 1, scores, np.inf).min(axis=1)
    beyond = np.where(bits == 0, scores, -np.inf).max(axis=1)
    return max(0.0, float((inside - beyond).min()))


def step_growth(system: Routed[float], supports: Sequence[int], depth: int) -> float:
    """``max(1, kappa^D)`` in linf over the atoms of these supports, at most 1e300."""
    import numpy as np

    step, one = system.horizon / depth, np.eye(system.dimension)
    kappa = 0.0
    for support in supports:
        for atom in range(len(system.atoms)):
            matrix = gated_field(system, atom, support)[0]
            kappa = max(kappa, float(np.abs(one + step * matrix).sum(axis=1).max()))
    if kappa <= 1:
        return 1.0
    return float(np.exp(min(690.0, depth * np.log(kappa))))


def gap_of(own: Affine[float], change: Change, time: float, state: Sequence[float]) -> float:
    """The score of the entering expert less that of the leaving one."""
    found = values(own, time, state)
    return found[change.entering] - found[change.leaving]

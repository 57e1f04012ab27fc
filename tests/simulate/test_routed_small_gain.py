"""The small-gain theorem on thousands of routed systems whose target is known exactly (theory T6).

Runs are in binary64 and compared with a relative 1e-9 of room; others are run in exact rationals
without any.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from random_routed import Case, Maker

from qreplace.decision.schedules import chairman_schedule
from qreplace.radii.small_gain import SmallGain, small_gain, unique_switches
from qreplace.simulate.routed import Runs, plain, route, route_compiled
from qreplace.simulate.routed_kernels import Compiled

F = Fraction
SYSTEMS = 2000
"""On which every premise holds."""
DEPTHS = (8, 16, 33, 64, 100, 200, 400)
ROOM = 1e-9
PATTERNS = ("signs", "uniform", "wrong", "late", "early", "sway")


def score_errors(rng: Any, case: Case, pattern: str, supports: Any) -> Any:
    """Errors within the case's noise, some of them adversarial; ``supports`` are the target's."""
    size, depth, experts = float(case.noise), len(supports), case.system.experts
    if pattern == "signs":
        return size * rng.choice([-1.0, 1.0], (depth, experts))
    if pattern == "uniform":
        return size * rng.uniform(-1.0, 1.0, (depth, experts))
    inside = supports[:, np.newaxis] >> np.arange(experts) & 1
    if pattern == "wrong":
        return size * (1.0 - 2.0 * inside)
    entering = np.zeros(experts)
    entering[[swap.entering for swap in case.swaps]] = 1.0
    entering[[swap.leaving for swap in case.swaps]] -= 1.0
    found = np.tile(size * entering, (depth, 1))
    if pattern == "sway":
        return found * np.where(np.arange(depth) % 2, 1.0, -1.0)[:, np.newaxis]
    return found if pattern == "early" else -found


def gain_of(case: Case, depth: int, oracle: Fraction, growth: Fraction) -> SmallGain | None:
    """The theorem for states in a tube that its own bound stays in; ``None`` where it does not."""

    def at(radius: Any) -> SmallGain:
        return small_gain(
            case.events(radius),
            growth=growth,
            step=F(case.system.horizon) / depth,
            oracle_error=oracle,
            score_error=F(case.eta),
            score_lipschitz=F(case.score_lipschitz),
            outer_isolation=F(case.outer_isolation),
            horizon=F(case.system.horizon),
        )

    first = at(0)
    if first.bound is None:
        return None
    radius = F(float(2 * first.bound))
    found = at(radius if isinstance(case.noise, Fraction) else float(radius))
    if not found.holds or found.bound is None or found.bound > radius:
        return None
    return found


@dataclass(frozen=True)
class Found:
    """One system on which the premises hold."""

    case: Case
    depth: int
    runs: Runs[Any]
    gain: SmallGain
    noisy: bool


def float_path(case: Case, depth: int) -> Any:
    times = np.arange(depth + 1) * (case.system.horizon / depth)
    places = np.array(case.places)
    found = np.stack([np.interp(times, case.corners, own) for own in places.T], axis=1)
    found[0] = case.system.initial
    return found


def schedule_of(case: Case, depth: int) -> list[int]:
    first = [F(weight) for weight in case.weights[:-1]]
    return chairman_schedule([*first, 1 - sum(first, F(0))], depth)


@lru_cache(maxsize=1)
def population() -> tuple[list[Found], int]:
    """The systems on which every premise holds, and how many were drawn for them."""
    maker, rng, kept, drawn = Maker(2026, binary=True), np.random.default_rng(2026), [], 0
    while len(kept) < SYSTEMS:
        drawn += 1
        case = maker.case()
        if case is None:
            continue
        depth = DEPTHS[drawn % len(DEPTHS)]
        target, schedule = float_path(case, depth), schedule_of(case, depth)
        compiled, noisy = Compiled(case.system), bool(case.noise)
        runs = route_compiled(compiled, schedule, target)
        gain = gain_of(case, depth, F(runs.oracle_error + 1e-12), case.growth(depth))
        if gain is None:
            continue
        if noisy:
            pattern = PATTERNS[drawn % len(PATTERNS)]
            errors = score_errors(rng, case, pattern, runs.target_supports)
            runs = route_compiled(compiled, schedule, target, errors)
        kept.append(Found(case, depth, runs, gain, noisy))
    return kept, drawn


def unexplained(case: Case, depth: int, runs: Runs[Any], gain: SmallGain, room: Any) -> list[int]:
    """Mismatches outside every window, or with a support that is neither side's of its event."""
    step = case.system.horizon / depth
    return [
        k
        for k in runs.mismatches
        if not any(
            abs(k * step - swap.time) <= width + room
            and int(runs.supports[k]) in case.supports[r : r + 2]
            for r, (swap, width) in enumerate(zip(case.swaps, gain.windows, strict=True))
        )
    ]


def test_mismatches_lie_in_the_windows_and_nowhere_else() -> None:
    found, _ = population()
    for own in found:
        assert not unexplained(own.case, own.depth, own.runs, own.gain, ROOM)
    # Enough of them have something to explain.
    assert sum(bool(own.runs.mismatches) for own in found) > SYSTEMS // 3


def test_the_executed_path_stays_within_the_bound() -> None:
    found, _ = population()
    ratios = []
    for own in found:
        assert own.gain.bound is not None
        bound = float(own.gain.bound)
        assert own.runs.state_error <= bound * (1 + ROOM) + ROOM
        ratios.append(own.runs.state_error / bound)
    wrong = [r for r, own in zip(ratios, found, strict=True) if own.runs.mismatches]
    # How loose it is; these are the figures of the documentation, to a tenth.
    assert 0.1 < median(ratios) < 0.4 and max(ratios) > 0.9
    assert 0.1 < median(wrong) < 0.5


def test_the_population_is_varied() -> None:
    """Several events, experts that stay in, third experts, state-dependent atoms and jumps."""
    found, drawn = population()
    assert drawn < 3 * SYSTEMS
    assert {len(own.case.swaps) for own in found} == {1, 2, 3}
    assert {own.case.system.top_k for own in found} == {1, 2}
    assert {len(own.case.system.atoms) for own in found} == {1, 2, 3}
    assert sum(own.gain.chi > F(1, 4) for own in found) > SYSTEMS // 20
    assert sum(own.case.growth(own.depth) > 2 for own in found) > SYSTEMS // 20
    assert sum(own.noisy for own in found) > SYSTEMS // 2


def implemented_zeros(own: Found, r: int) -> list[float]:
    """Times in ``U_r`` at which the gap of the interpolated executed path is zero."""
    case, swap = own.case, own.case.swaps[r]
    step = case.system.horizon / own.depth
    row, drifts = np.array(case.gap_row(swap)), case.system.implemented.drift
    offsets = case.system.implemented.offset
    times = np.arange(own.depth + 1) * step
    gaps = own.runs.states @ row + offsets[swap.entering] - offsets[swap.leaving]
    gaps = gaps + (drifts[swap.entering] - drifts[swap.leaving]) * times
    found = []
    for k in range(own.depth):
        if gaps[k] * gaps[k + 1] <= 0 and gaps[k] != gaps[k + 1]:
            zero = times[k] + step * gaps[k] / (gaps[k] - gaps[k + 1])
            if abs(zero - swap.time) <= swap.half and (not found or zero > found[-1] + 1e-12):
                found.append(float(zero))
    return found


def test_one_implemented_switch_an_event_where_nothing_chatters() -> None:
    """Theory T6.3, with ``zeta_r`` from the fields in the tube of the bound."""
    checked = 0
    for own in population()[0]:
        if own.noisy:
            continue
        case, gain = own.case, own.gain
        assert gain.bound is not None
        step, radius = case.system.horizon / own.depth, float(gain.bound)
        slopes = [case.implemented_slope(r, radius, step) for r in range(len(case.swaps))]
        events = [
            replace(event, implemented_slope=None if slope is None else F(slope))
            for event, slope in zip(case.events(radius), slopes, strict=True)
        ]
        widths, _ = unique_switches(events, gain, F(case.field_bound(radius)), F(step))
        if widths is None:
            continue
        for r, width in enumerate(widths):
            zeros = implemented_zeros(own, r)
            assert len(zeros) == 1
            assert abs(zeros[0] - case.swaps[r].time) <= width + ROOM
            checked += 1
    assert checked > 100


# --- without rounding -----------------------------------------------------------------------------


def exact_errors(rng: random.Random, case: Case, supports: list[int]) -> list[list[Fraction]]:
    wrong = rng.random() < 0.8
    return [
        [
            case.noise * ((-1 if support >> e & 1 else 1) if wrong else rng.choice([-1, 0, 1]))
            for e in range(case.system.experts)
        ]
        for support in supports
    ]


def test_exact_runs_keep_both_statements_exactly() -> None:
    maker, rng, checked, wrong = Maker(77), random.Random(77), 0, 0
    while checked < 50:
        case = maker.case()
        if case is None:
            continue
        depth = rng.choice([8, 12, 20])
        schedule, target = chairman_schedule(case.weights, depth), case.path(depth)
        runs = plain(case.system, schedule, target)
        kappa = case.step_lipschitz(case.system.horizon / depth)
        gain = gain_of(case, depth, runs.oracle_error, max(F(1), kappa**depth))
        if gain is None:
            continue
        if case.noise:
            errors = exact_errors(rng, case, runs.target_supports)
            runs = plain(case.system, schedule, target, errors)
        checked += 1
        wrong += bool(runs.mismatches)
        assert gain.bound is not None
        assert runs.state_error <= gain.bound
        assert not unexplained(case, depth, runs, gain, 0)
    assert wrong >= 8


# --- frozen routes --------------------------------------------------------------------------------


def test_a_margin_above_score_and_state_errors_freezes_the_route() -> None:
    """Theory T6.4, on systems without events; the run is the oracle's, bit for bit."""
    maker, rng = Maker(8, binary=True), np.random.default_rng(8)
    frozen = broken = 0
    for n in range(1200):
        case = maker.case(swaps=0)
        if case is None:
            continue
        noise = (0.0, 0.1, 0.4, 1.0)[n % 4]
        case = replace(case, noise=noise)
        depth = DEPTHS[n % 4]
        target, schedule = float_path(case, depth), schedule_of(case, depth)
        supports = np.full(depth, case.supports[0])
        errors = score_errors(rng, case, ("wrong", "signs")[n % 2], supports)
        runs = route(case.system, schedule, target, errors)
        margin = 2 * case.outer_isolation
        if margin > 2 * (case.eta + case.score_lipschitz * runs.oracle_error):
            frozen += 1
            assert runs.mismatches == ()
            assert runs.states.tobytes() == runs.oracle.tobytes()
        else:
            broken += bool(runs.mismatches)
    assert frozen > 300 and broken > 50

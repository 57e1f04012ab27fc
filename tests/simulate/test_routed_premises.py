"""Why each premise of theory T6 is there: routed systems by hand, exact where it matters.

Where a premise fails, a support really differs outside the window; where all hold, the bound is
attained in the limit and the windows are filled.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qreplace.radii.populations import margin_law
from qreplace.radii.small_gain import (
    EventNumbers,
    SmallGain,
    small_gain,
    unique_switches,
)
from qreplace.simulate.routed import Runs, plain, route
from qreplace.simulate.routed_kernels import Compiled
from qreplace.simulate.routed_model import Affine, Routed, binary64, members

F = Fraction


def scalar(offset: Any, drift: Any = 0) -> Affine[Any]:
    return Affine(((F(0),),), (F(offset),), (F(drift),))


def scores(rows: list[tuple[Any, Any, Any]]) -> Affine[Any]:
    """One (slope in the state, offset, slope in time) an expert."""
    return Affine(
        tuple((F(a),) for a, _, _ in rows),
        tuple(F(b) for _, b, _ in rows),
        tuple(F(c) for _, _, c in rows),
    )


def shifted(own: Affine[Any], errors: list[Any]) -> Affine[Any]:
    """The scores with constant errors."""
    return replace(own, offset=tuple(b + F(e) for b, e in zip(own.offset, errors, strict=True)))


def one_event(**changes: Any) -> EventNumbers:
    numbers: dict[str, Any] = {
        "time_low": F(1, 2), "time_high": F(1, 2), "slope": F(1), "jump": F(1),
        "gap_error": F(0), "gap_lipschitz": F(0), "isolation": F(100), "neighbourhood": F(1, 4),
    }  # fmt: skip
    return EventNumbers(**{**numbers, **changes})


def theorem(events: list[EventNumbers], depth: int, **changes: Any) -> SmallGain:
    setting: dict[str, Any] = {
        "growth": F(1), "step": F(1, depth), "oracle_error": F(0), "score_error": F(0),
        "score_lipschitz": F(0), "outer_isolation": F(100), "horizon": F(1),
    }  # fmt: skip
    return small_gain(events, **{**setting, **changes})


def test_every_sequence_of_errors_of_a_small_system() -> None:
    """Expert 1 moves by 0, expert 0 by 1/4; the gap is ``2 (t - 2/3) + z``: all 3^6 sequences.

    The tie at t = 2/3, a grid time, goes to expert 0, so the oracle is on the target exactly.
    """
    depth, eta = 6, F(1, 8)
    gap = scores([(1, F(-4, 3), 2), (0, 0, 0)])
    system = Routed(((scalar(F(1, 4)), scalar(0)),), gap, gap, (F(1),) * 2, 1, (F(0),), F(1))
    tau = F(2, 3)
    target = [(max(F(0), (F(k, 6) - tau) / 4),) for k in range(depth + 1)]
    own = one_event(time_low=tau, time_high=tau, slope=F(2), jump=F(1, 4), gap_error=2 * eta,
                    gap_lipschitz=F(1), neighbourhood=F(1, 3))  # fmt: skip
    gain = theorem([own], depth, score_error=eta, score_lipschitz=F(1), oracle_error=F(0))
    assert gain.holds and gain.bound is not None
    worst, seen = F(0), set()
    for signs in itertools.product((-1, 0, 1), repeat=depth):
        errors = [(sign * eta, -sign * eta) for sign in signs]
        runs = plain(system, [0] * depth, target, errors)
        assert runs.oracle_error == 0
        assert runs.state_error <= gain.bound
        assert all(abs(F(k, 6) - tau) <= gain.windows[0] for k in runs.mismatches)
        worst = max(worst, runs.state_error)
        seen.add(runs.mismatches)
    assert len(seen) > 1 and worst >= gain.bound / 4


def test_the_bound_is_attained_in_the_limit() -> None:
    """One grid point in a window that shrinks: ``S h Delta`` is needed, the paper's 2 is not."""
    depth = 64
    gap = scores([(0, 0, 0), (0, F(-1, 2), 1)])
    eta = F(1, 1000 * depth)
    late = shifted(gap, [eta, -eta])
    system = Routed(((scalar(0), scalar(1)),), gap, late, (F(1),) * 2, 1, (F(0),), F(1))
    # The tie at t = 1/2 goes to expert 0 by the tie rule: so the event is a little earlier.
    tau = F(1, 2) - eta
    gap = scores([(0, 0, 0), (0, -tau, 1)])
    system = replace(system, scores=gap, implemented=shifted(gap, [eta, -eta]))
    target = [(max(F(0), F(k, depth) - tau),) for k in range(depth + 1)]
    runs = plain(system, [0] * depth, target)
    event = one_event(time_low=tau, time_high=tau, gap_error=2 * eta)
    gain = theorem([event], depth, score_error=eta, oracle_error=runs.oracle_error)
    assert gain.holds and gain.bound is not None
    assert runs.mismatches == (depth // 2,)
    assert F(99, 100) * gain.bound < runs.state_error <= gain.bound


def test_windows_are_filled_by_an_adversary() -> None:
    """Errors against the target's expert: every grid time within ``eta / nu`` is a mismatch."""
    depth, eta = 200, F(1, 16)
    gap = scores([(0, 0, 0), (0, F(-1, 2), 1)])
    system = Routed(((scalar(0), scalar(1)),), gap, gap, (F(1),) * 2, 1, (F(0),), F(1))
    target = [(max(F(0), F(k, depth) - F(1, 2)),) for k in range(depth + 1)]
    errors = [((eta, -eta) if 2 * k > depth else (-eta, eta)) for k in range(depth)]
    runs = plain(system, [0] * depth, target, errors)
    gain = theorem([one_event(gap_error=2 * eta)], depth, score_error=eta)
    assert gain.windows == (2 * eta,)
    inside = [k for k in range(depth) if abs(F(k, depth) - F(1, 2)) < gain.windows[0]]
    assert set(inside) - {depth // 2} <= set(runs.mismatches)
    assert all(abs(F(k, depth) - F(1, 2)) <= gain.windows[0] for k in runs.mismatches)


# --- why each premise is there --------------------------------------------------------------------


def runaway(eta: Fraction, depth: int) -> tuple[Runs[float], Any]:
    """Expert 0 moves by ``4 (1/2 - t)``, expert 1 by 0; the gap is ``t - 1/2 + 4 (z - z*(1/2))``.

    The target changes at t = 1/2 with slope at least 1. A router late by a score error ``eta`` is
    carried down by expert 0: its gap is ``s - 8 s^2 - eta`` at ``s = t - 1/2``, at most
    ``1/32 - eta``.
    """
    top = F(1, 2)  # z*(1/2) from 0
    gap = scores([(0, 0, 0), (4, F(-1, 2) - 4 * top, 1)])
    system: Routed[Any] = Routed(
        ((scalar(2, -4), scalar(0)),), gap, shifted(gap, [0, -eta]), (F(1),) * 2, 1, (F(0),), F(1)
    )
    times = [min(F(k, depth), F(1, 2)) for k in range(depth + 1)]
    target = np.array([[float(2 * t - 2 * t * t)] for t in times])
    runs = route(binary64(system), [0] * depth, target)

    def gain(half: Fraction) -> SmallGain:
        event = one_event(jump=4 * half, gap_error=eta, gap_lipschitz=F(4), neighbourhood=half)
        return theorem([event], depth, score_error=eta, score_lipschitz=F(4),
                       oracle_error=F(runs.oracle_error))  # fmt: skip

    return runs, gain


HALVES = [F(n, 512) for n in range(1, 129)]


def test_without_small_gain_the_router_may_never_switch() -> None:
    depth = 8192
    runs, gain = runaway(F(1, 25), depth)  # beyond 1/32
    assert set(range(depth // 2 + 1, depth)) <= set(runs.mismatches)
    assert runs.state_error > 0.4
    failures = [{own.premise for own in gain(half).failures} for half in HALVES]
    assert all(own & {"small_gain", "window"} for own in failures)
    assert {"small_gain", "window"} <= set().union(*failures)


def test_with_small_gain_the_same_router_switches_in_its_window() -> None:
    runs, gain = runaway(F(1, 400), 8192)
    found = [gain(half) for half in HALVES]
    good = [own for own in found if own.holds]
    assert good and runs.mismatches
    for own in good:
        assert own.bound is not None and runs.state_error <= own.bound
        assert all(abs(k / 8192 - 0.5) <= own.windows[0] for k in runs.mismatches)


def grazing(eta: Fraction, depth: int) -> Runs[Any]:
    """``z* = (t - 1/2)^2``, the gap of expert 1 is ``-z``: it touches 0 and does not cross."""
    fields = tuple(Affine(((F(0),), (F(0),)), (F(-1), F(jump)), (F(2), F(0))) for jump in (0, 1))
    fields = tuple(replace(own, matrix=((F(0), F(0)),) * 2) for own in fields)
    gap = Affine(((F(0), F(0)), (F(-1), F(0))), (F(0), F(0)), (F(0), F(0)))
    system = Routed((fields,), gap, shifted(gap, [0, eta]), (F(1),) * 2, 1, (F(1, 4), F(0)), F(1))
    target = [((F(k, depth) - F(1, 2)) ** 2, F(0)) for k in range(depth + 1)]
    return plain(system, [0] * depth, target)


def test_where_a_gap_grazes_mismatches_spread_like_the_root_of_the_error() -> None:
    depth = 400
    spread = {}
    for eta in (F(1, 25), F(1, 100), F(1, 400)):
        runs = grazing(eta, depth)
        assert set(runs.target_supports) == {1}
        spread[eta] = max(abs(F(k, depth) - F(1, 2)) for k in runs.mismatches)
        root = {F(1, 25): F(1, 5), F(1, 100): F(1, 10), F(1, 400): F(1, 20)}[eta]
        assert abs(spread[eta] - root) <= F(5, depth)
    # A window eta / nu with one slope for all of them would shrink by 16, not by 4.
    assert spread[F(1, 25)] < 5 * spread[F(1, 400)]
    gain = theorem([one_event(slope=F(0))], depth)
    assert [own.premise for own in gain.failures] == ["grazing"]


def test_a_third_expert_within_reach_is_chosen() -> None:
    """Expert 2 is 1/100 below the crossing of experts 0 and 1; a score error of 1/50 puts it on."""
    depth, eta = 100, F(1, 50)
    three = scores([(0, 0, 0), (0, F(-1, 2), 1), (0, F(-1, 100), 0)])
    fields = (scalar(0), scalar(0), scalar(1))
    system = Routed((fields,), three, shifted(three, [0, 0, eta]), (F(1),) * 3, 1, (F(0),), F(1))
    runs = plain(system, [0] * depth, [(F(0),)] * (depth + 1))
    strangers = [k for k in runs.mismatches if members(runs.supports[k]) == [2]]
    # Ever since the start: where the target is on expert 0 as well, outside any window.
    assert strangers[0] == 0 and len(strangers) > depth // 2
    event = one_event(jump=F(0), gap_error=F(0), isolation=F(1, 200))
    gain = theorem([event], depth, score_error=eta, outer_isolation=F(1, 200))
    assert {own.premise for own in gain.failures} == {"foreign_expert", "away_from_events"}
    assert any(abs(F(k, depth) - F(1, 2)) > gain.windows[0] for k in runs.mismatches)


def test_at_a_simultaneous_crossing_an_expert_of_neither_side_runs() -> None:
    """Experts 1 and 2 overtake expert 0 together: the target jumps from 0 to 2, past 1."""
    depth, eta = 100, F(1, 20)
    three = scores([(0, 0, 0), (0, F(-1, 2), 1), (0, -1, 2)])
    fields = (scalar(0), scalar(1), scalar(0))
    system = Routed((fields,), three, shifted(three, [0, eta, 0]), (F(1),) * 3, 1, (F(0),), F(1))
    runs = plain(system, [0] * depth, [(F(0),)] * (depth + 1))
    assert set(runs.target_supports) == {1, 4}
    assert {runs.supports[k] for k in runs.mismatches} == {2}
    events = [one_event(), one_event(slope=F(2))]
    assert "simultaneous" in {own.premise for own in theorem(events, depth).failures}


def test_a_chattering_router_switches_often_but_inside_its_window() -> None:
    """Errors that change sign: T6.1 holds, T6.3's single switch does not and is not claimed."""
    depth, eta = 200, F(1, 16)
    gap = scores([(0, 0, 0), (0, F(-1, 2), 1)])
    system = Routed(((scalar(0), scalar(1)),), gap, gap, (F(1),) * 2, 1, (F(0),), F(1))
    target = [(max(F(0), F(k, depth) - F(1, 2)),) for k in range(depth + 1)]
    errors = [((eta, -eta) if k % 2 else (-eta, eta)) for k in range(depth)]
    runs = plain(system, [0] * depth, target, errors)
    event = one_event(gap_error=2 * eta)
    gain = theorem([event], depth, score_error=eta, oracle_error=runs.oracle_error)
    assert gain.holds and gain.bound is not None and runs.state_error <= gain.bound
    assert all(abs(F(k, depth) - F(1, 2)) <= gain.windows[0] for k in runs.mismatches)
    assert sum(a != b for a, b in itertools.pairwise(runs.supports)) > 20
    widths, failures = unique_switches([event], gain, F(1), F(1, depth))
    assert widths is None and "chattering" in {own.premise for own in failures}


# --- margins and populations ----------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [False, True])
def test_at_the_margin_itself_a_route_may_change(wrong: bool) -> None:
    """A margin of 2 eta: errors of eta tie the two, and a hair more turns them."""
    eta = F(1, 8)
    gap = scores([(0, 0, 0), (0, 2 * eta, 0)])
    system = Routed(((scalar(0), scalar(0)),), gap, gap, (F(1),) * 2, 1, (F(0),), F(1))
    errors = [(eta, -eta if wrong else -eta + F(1, 10**6))] * 4
    runs = plain(system, [0] * 4, [(F(0),)] * 5, errors)
    assert runs.target_supports == [2] * 4
    assert bool(runs.mismatches) is wrong


@pytest.mark.parametrize("alpha", [1, 2, 3])
@pytest.mark.parametrize("adversary", [False, True])
def test_the_margin_law_bounds_the_mass_of_misrouted_inputs(alpha: int, adversary: bool) -> None:
    """Theory T6.6: gap ``xi^(1/alpha)`` for xi uniform, so ``mu{gap <= u} = u^alpha``."""
    count, rng = 20_000, np.random.default_rng(alpha)
    inputs = (np.arange(count) + 0.5) / count
    gaps = inputs ** (1 / alpha)
    score = scores([(0, 0, 0), (1, 0, 0)])
    system: Routed[Any] = Routed(
        ((scalar(0), scalar(3)),), score, score, (F(1),) * 2, 1, (F(0),), F(1)
    )
    wanted = Compiled(binary64(system)).supports(gaps[:, np.newaxis], 0.0)
    for error in (F(1, 64), F(1, 16), F(1, 5)):
        law = float(margin_law(F(1), F(alpha), F(1), error))
        size = float(error)
        if adversary:
            misled = shifted(score, [error, -error])
            found = Compiled(binary64(replace(system, scores=misled))).supports(
                gaps[:, np.newaxis], 0.0
            )
        else:
            noise = rng.uniform(-size, size, (count, 2))
            found = np.where(gaps + noise[:, 1] > noise[:, 0], 2, 1)
        mass = float((found != wanted).mean())
        assert mass <= law + 1 / count
        if adversary:
            assert mass >= law - 1 / count
        for p in (1, 2, 4):
            # The two experts are 3 apart.
            error_p = float(((3.0 * (found != wanted)) ** p).mean()) ** (1 / p)
            assert error_p <= 3 * (law + 1 / count) ** (1 / p)

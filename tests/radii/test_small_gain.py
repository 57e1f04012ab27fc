"""The small-gain theorem: every premise by itself, and the radius that says the same at depths."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.radii.small_gain import (
    EventNumbers,
    MixtureConstants,
    isolation_from_gaps,
    mixture_constants,
    small_gain,
    unique_switches,
)

F = Fraction
EVENT = EventNumbers(
    time_low=F(2, 5),
    time_high=F(1, 2),
    slope=F(2),
    jump=F(1, 10),
    gap_error=F(1, 100),
    gap_lipschitz=F(1, 2),
    isolation=F(1, 5),
    neighbourhood=F(1, 10),
)
LATER = replace(EVENT, time_low=F(4, 5), time_high=F(4, 5))
SETTING: dict[str, Fraction] = {
    "growth": F(2),
    "step": F(1, 64),
    "oracle_error": F(1, 50),
    "score_error": F(1, 200),
    "score_lipschitz": F(1, 4),
    "outer_isolation": F(1, 5),
    "horizon": F(1),
}


def test_the_bound_is_the_formula() -> None:
    found = small_gain([EVENT, LATER], **SETTING)
    assert found.holds
    assert found.chi == 2 * 2 * 2 * F(1, 10) * F(1, 2) / 2 == F(1, 5)
    base = F(1, 50) + 2 * 2 * 2 * F(1, 10) * F(1, 100) / 2 + 2 * F(1, 64) * F(1, 5)
    assert found.bound == base / (1 - F(1, 5))
    assert found.windows == ((F(1, 100) + found.bound / 2) / 2,) * 2


@pytest.mark.parametrize(("changes", "setting", "premise", "event"), [
    ({"slope": F(0)}, {}, "grazing", 0),
    ({"time_low": F(0)}, {}, "outside", 0),
    ({"time_high": F(4, 5)}, {}, "simultaneous", 1),
    ({"neighbourhood": F(1, 4)}, {}, "overlap", 1),
    ({"jump": F(1, 2), "gap_lipschitz": F(2)}, {}, "small_gain", None),
    ({"neighbourhood": F(1, 100)}, {}, "window", 0),
    ({"isolation": F(1, 100)}, {}, "foreign_expert", 0),
    ({}, {"outer_isolation": F(1, 100)}, "away_from_events", None),
    ({}, {"score_error": F(1, 2)}, "away_from_events", None),
])  # fmt: skip
def test_every_premise_fails_by_its_own_name(
    changes: dict[str, Any], setting: dict[str, Fraction], premise: str, event: int | None
) -> None:
    found = small_gain([replace(EVENT, **changes), LATER], **{**SETTING, **setting})
    assert not found.holds
    assert (premise, event) in [(own.premise, own.event) for own in found.failures]
    assert all(own.message for own in found.failures)
    assert (found.bound is None) == (premise in ("small_gain", "grazing"))


amounts = st.builds(Fraction, st.integers(0, 20), st.integers(1, 40))


@settings(max_examples=300)
@given(st.data())
def test_worse_premises_never_give_a_better_bound(data: st.DataObject) -> None:
    """Design rule 4: what is known less well never helps."""
    more = {name: data.draw(amounts, name) for name in ("jump", "gap_error", "gap_lipschitz")}
    worse = replace(
        EVENT,
        slope=EVENT.slope / (1 + data.draw(amounts, "slope")),
        **{name: getattr(EVENT, name) + value for name, value in more.items()},
    )
    setting = {
        name: value + (data.draw(amounts, name) if name in ("oracle_error", "step") else 0)
        for name, value in SETTING.items()
    }
    good, bad = small_gain([EVENT], **SETTING), small_gain([worse], **setting)
    assert good.bound is not None
    assert bad.bound is None or bad.bound >= good.bound
    assert bad.chi >= good.chi


def test_one_switch_an_event_needs_a_slope_of_the_implemented_gap() -> None:
    gain = small_gain([EVENT], **SETTING)
    assert gain.bound is not None
    widths, failures = unique_switches([EVENT], gain, F(1, 2), F(1, 64))
    assert widths is None
    assert [own.premise for own in failures] == ["chattering"]
    steady = replace(EVENT, implemented_slope=F(1))
    widths, failures = unique_switches([steady], gain, F(1, 2), F(1, 64))
    assert not failures
    assert widths == ((F(1, 100) + (gain.bound + F(1, 128)) / 2) / 2,)
    widths, failures = unique_switches([steady], gain, F(40), F(1, 64))
    assert [own.premise for own in failures] == ["window"]


def test_isolation_is_half_the_smallest_other_gap() -> None:
    """Scores below that distance change a gap by less than twice it (theory T6.2)."""
    gaps = [F(3, 10), F(1, 5)]
    radius = isolation_from_gaps(gaps)
    assert radius == F(1, 10)
    assert all(gap - 2 * (radius - F(1, 1000)) > 0 for gap in gaps)


@pytest.mark.parametrize(("gates", "top_k", "jump", "lipschitz", "error"), [
    ("one_hot", 1, F(4), F(1), F(1, 10)),
    ("uniform", 4, F(1), F(1), F(1, 10)),
    ("weighted", 2, F(2) * F(1, 2), F(1) + 2 * F(1, 4), F(1, 10) + 2 * F(1, 20)),
])  # fmt: skip
def test_constants_of_a_mixture(
    gates: Any, top_k: int, jump: Fraction, lipschitz: Fraction, error: Fraction
) -> None:
    found = mixture_constants(
        expert_bound=F(2),
        expert_lipschitz=F(1),
        expert_error=F(1, 10),
        score_lipschitz=F(3),
        score_error=F(1, 8),
        gates=gates,
        top_k=top_k,
        gate_lipschitz=F(1, 4),
        gate_error=F(1, 20),
        gate_jump=F(1, 2),
    )
    assert found == MixtureConstants(lipschitz, jump, error, F(6), F(1, 4))

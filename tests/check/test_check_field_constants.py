"""No sampled value exceeds a checked constant, and no trajectory leaves a checked tube."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from corpora.field_constants import ACCEPTED, JUMP, NEAR, REJECTED, SWITCH, TURN, subject
from hypothesis import given, settings
from hypothesis import strategies as st
from random_dynamics import World, length, minus, random_question, random_weights, world

from qreplace.check.bounds import ScopedConstants
from qreplace.check.field_constants import check
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.errors import ProducerFailed, Rejected
from qreplace.premises import Evidence
from qreplace.produce.field_constants import produce
from qreplace.question.model import Norm
from qreplace.question.reach import growth_factor
from qreplace.question.subject import Subject

ROUNDING = 1 + 1e-9


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[a[1] for a in ACCEPTED])
def test_accepted(kind: str, name: str, claim: FieldConstantsClaim) -> None:
    found = check(subject(name.split("--")[0]), claim)
    assert found[0].margin == claim.margin and found[0].field_bound == claim.field_bound
    assert all(entry.evidence is Evidence.INTERVAL_CERTIFIED for entry in found)
    assert all(entry.kind == kind for entry in found)


@pytest.mark.parametrize(
    ("kind", "name", "claim", "pointer", "words"), REJECTED, ids=[r[1] for r in REJECTED]
)
def test_rejected(
    kind: str, name: str, claim: FieldConstantsClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message and caught.value.pointer == pointer


def test_what_walls_and_rates_show_is_about_small_steps_only() -> None:
    assert check(subject("fields-switch"), SWITCH)[0].reach_step == 1
    assert check(subject("fields-turn"), NEAR)[0].reach_step == 1
    turn = subject("fields-turn")
    assert check(turn, TURN)[0].reach_step is None
    # Either the reach alone or the field bound alone may rest on the rate.
    assert check(turn, replace(NEAR, field_bound=Fraction(99)))[0].reach_step == 1
    assert check(turn, replace(TURN, field_bound=Fraction(5, 2)))[0].reach_step == 1


def test_slopes_that_are_the_same_everywhere_need_no_tube() -> None:
    on_tube, everywhere = check(subject("fields-jump"), JUMP)
    assert everywhere.margin is None and everywhere.reach_step is None
    assert everywhere.field_bound is None and everywhere.difference_bound is None
    assert everywhere.state_lipschitz == on_tube.state_lipschitz == 1
    assert everywhere.time_variation == 1


def test_the_growth_factor_bounds_both_sums() -> None:
    """Phi_m(T) and the Euler sum at every depth, for rates of either sign."""
    rates = [Fraction(n, 7) for n in range(-21, 22)] + [Fraction(1, 10**30)]
    for rate, horizon in itertools.product(rates, (Fraction(1, 3), Fraction(1), Fraction(5, 2))):
        factor = growth_factor(rate, horizon)
        assert factor is not None and factor <= horizon * 2 ** max(0, 4 * int(rate * horizon) + 4)
        for depth in (1, 2, 3, 10, 50):
            step = horizon / depth
            kappa = 1 + step * rate
            if kappa < 0:
                continue
            total = step * sum((kappa**k for k in range(depth)), Fraction(0))
            assert total <= factor
    assert growth_factor(Fraction(65), Fraction(1)) is None
    assert growth_factor(Fraction(1, 10**900), Fraction(1)) is None


# --- sampled values -------------------------------------------------------------------------------


def produced(seed: int) -> tuple[Subject, FieldConstantsClaim, World, random.Random] | None:
    """A random system with its produced claim; ``None`` where states may escape."""
    rng = random.Random(seed)
    about = Subject(random_question(rng), {})
    try:
        claim = produce(about)
    except ProducerFailed:
        return None
    return about, claim, world(about), rng


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_nothing_sampled_exceeds_what_is_checked(seed: int) -> None:
    """Values, slopes, steps, variations in time and trajectories of a random system."""
    made = produced(seed)
    if made is None:
        return
    about, claim, system, rng = made
    constants = check(about, claim)[0]
    compare_points(about, claim, constants, system, rng)
    compare_variations(about, claim, constants, system, rng)
    compare_trajectories(about, claim, constants, system, rng)


def compare_points(
    about: Subject,
    claim: FieldConstantsClaim,
    constants: ScopedConstants,
    system: World,
    rng: random.Random,
) -> None:
    """At random points of the tube, often its corners."""
    norm = about.question.norm
    sides = list(zip(claim.tube.lower, claim.tube.upper, strict=True))
    ball = _ball_bound(claim, norm, system)
    for _ in range(12):
        t = rng.uniform(0, system.horizon)
        one, other = ([_corner(rng, low, high) for low, high in sides] for _ in range(2))
        _compare_values(system, constants, norm, t, one, ball=ball)
        _compare_slopes(system, constants, norm, rng, t, one, other)


def _ball_bound(claim: FieldConstantsClaim, norm: Norm, system: World) -> float | None:
    """How far from the initial state the field bound speaks, where growth gave it."""
    start = system.start
    moments = [system.horizon * k / 8 for k in range(9)]
    slowest = max(length(norm, field(t, start)) for field in system.fields for t in moments)
    lipschitz = float(claim.state_lipschitz)
    return (float(claim.field_bound) - slowest) / lipschitz if lipschitz else None


def _corner(rng: random.Random, low: Fraction, high: Fraction) -> float:
    """A coordinate, often at an end: bounds are attained there."""
    kind = rng.randint(0, 3)
    return float(low if kind == 0 else high if kind == 1 else low + (high - low) * _unit(rng))


def _unit(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(0, 64), 64)


def _compare_values(
    system: World,
    constants: ScopedConstants,
    norm: Norm,
    t: float,
    z: Sequence[float],
    *,
    ball: float | None,
) -> None:
    values = [field(t, z) for field in system.fields]
    if ball is None or length(norm, minus(z, system.start)) <= ball:
        assert max(length(norm, v) for v in values) <= _upper(constants.field_bound)
    else:
        inside = [s + ball * (x - s) / length(norm, minus(z, system.start))
                  for x, s in zip(z, system.start, strict=True)]  # fmt: skip
        for field in system.fields:
            assert length(norm, field(t, inside)) <= _upper(constants.field_bound)
    for one, other in itertools.combinations(values, 2):
        assert length(norm, minus(one, other)) <= _upper(constants.difference_bound)


def _compare_slopes(
    system: World,
    constants: ScopedConstants,
    norm: Norm,
    rng: random.Random,
    t: float,
    one: Sequence[float],
    other: Sequence[float],
) -> None:
    """Lipschitz constants of atoms and differences, and of one step of any allowed size."""
    apart = minus(one, other)
    distance = length(norm, apart)
    if distance == 0:
        return
    changes = [minus(field(t, one), field(t, other)) for field in system.fields]
    for change in changes:
        assert length(norm, change) <= _upper(constants.state_lipschitz) * distance + 1e-9
    for first, second in itertools.combinations(changes, 2):
        largest = _upper(constants.difference_lipschitz) * distance + 1e-9
        assert length(norm, minus(first, second)) <= largest
    assert constants.step_limit is not None and constants.growth_rate is not None
    step = float(constants.step_limit) * rng.choice([1.0, rng.random()])
    kappa = 1 + step * float(constants.growth_rate)
    for change in changes:
        moved = [a + step * c for a, c in zip(apart, change, strict=True)]
        assert length(norm, moved) <= kappa * distance + 1e-9 * (1 + distance)


def _upper(value: Fraction | None) -> float:
    assert value is not None
    return float(value) * ROUNDING + 1e-9


def compare_variations(
    about: Subject,
    claim: FieldConstantsClaim,
    constants: ScopedConstants,
    system: World,
    rng: random.Random,
) -> None:
    """Atoms at any states; differences at the states where they vary most on each cell."""
    norm = about.question.norm
    sides = list(zip(claim.tube.lower, claim.tube.upper, strict=True))
    states = [[_corner(rng, low, high) for low, high in sides] for _ in range(4)]
    cells = rng.randint(1, 5)
    times = [[system.horizon * (c + k / 12) / cells for k in range(13)] for c in range(cells)]
    total = sum(
        max(sum(_variation(norm, [field(t, z) for t in cell]) for cell in times) for z in states)
        for field in system.fields
    )
    assert total <= _upper(constants.time_variation)
    pairs = list(itertools.combinations(system.fields, 2))
    worst = sum(
        max(
            _variation(norm, [minus(one(t, z), other(t, z)) for t in cell])
            for one, other in pairs
            for z in states
        )
        for cell in times
    )
    assert worst <= _upper(constants.difference_variation)


def _variation(norm: Norm, values: Sequence[Sequence[float]]) -> float:
    return sum(length(norm, minus(b, a)) for a, b in itertools.pairwise(values))


# --- trajectories ---------------------------------------------------------------------------------


def compare_trajectories(
    about: Subject,
    claim: FieldConstantsClaim,
    constants: ScopedConstants,
    system: World,
    rng: random.Random,
) -> None:
    """Mixed Euler states at every depth for which the reach was shown, coarse and fine."""
    step = constants.reach_step
    least = 1 if step is None else -(-about.question.horizon // step)
    low = [float(x) - 1e-9 for x in claim.reach_lower]
    high = [float(x) + 1e-9 for x in claim.reach_upper]
    for depth in (least, least + rng.randint(0, 3), 60):
        rows = [random_weights(rng, len(system.fields)) for _ in range(max(depth, least))]
        if rng.random() < 0.5:
            rows = [rows[0]] * len(rows)
        for state in system.euler([[float(w) for w in row] for row in rows]):
            assert all(a <= x <= b for a, x, b in zip(low, state, high, strict=True))


def test_most_random_systems_get_constants() -> None:
    """The property tests above are about something."""
    found = [produced(seed) is not None for seed in range(12)]
    assert sum(found) >= 10

"""Stepping: compiled codes are the plain rationals bit for bit, and the definitions hold."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_arithmetic import arithmetics, schedules, systems

from qreplace.errors import InputError
from qreplace.simulate.arithmetic import _Plain, simulate, simulate_plain
from qreplace.simulate.integers import lowered
from qreplace.simulate.model import (
    ROUNDINGS,
    Accumulator,
    Arithmetic,
    Atom,
    FixedPoint,
    Rounding,
    Run,
    Semantics,
    System,
    grid,
)

ROUNDED: list[Semantics] = ["write_back", "increment", "error_feedback", "rounded_carry"]
LEAK = System(
    (Atom((Fraction(1),), ((Fraction(-1),),)), Atom((Fraction(0),), ((Fraction(-1),),))),
    (Fraction(0),),
    Fraction(1),
)
ALTERNATING = [0, 1] * 8


def outcome(run: object) -> object:
    """A run, or the message that it was refused with."""
    try:
        return run() if callable(run) else run
    except InputError as error:
        return error.message


@settings(max_examples=250, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
@pytest.mark.parametrize("semantics", ROUNDED)
def test_codes_are_the_plain_run_bit_for_bit(semantics: Semantics, data: st.DataObject) -> None:
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms)))
    own = data.draw(arithmetics(semantics, len(schedule), system.dimension))
    plain = outcome(lambda: simulate_plain(system, schedule, own))
    assert outcome(lambda: simulate(system, schedule, own)) == plain


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_codes_were_really_run(data: st.DataObject) -> None:
    """Not only the fallback: ordinary systems lower to 64-bit codes."""
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms)))
    found = lowered(system, schedule, Arithmetic("error_feedback", "floor", grid(Fraction(1, 8))))
    assert found is not None and found.run() is not None


def test_codes_too_large_for_64_bits_run_plainly() -> None:
    explosive = System((Atom((Fraction(1),), ((Fraction(10**6),),)),), (Fraction(1),), Fraction(1))
    schedule, own = [0] * 12, Arithmetic("write_back", "nearest_even", grid(Fraction(1, 3**20)))
    found = lowered(explosive, schedule, own)
    assert found is None or found.run() is None
    run = simulate(explosive, schedule, own)
    assert run == simulate_plain(explosive, schedule, own)
    assert run.executed[0] > 10**20


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(ROUNDINGS))
def test_conservation_holds_exactly_in_every_mode(data: st.DataObject, rounding: Rounding) -> None:
    """Theory T4.6, and a carry within one rounding."""
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms)))
    step = Fraction(1, 8)
    run = simulate(system, schedule, Arithmetic("error_feedback", rounding, grid(step), seed=5))
    assert run.conserved is True
    total = _sum_of_increments(system, schedule, run, step, rounding)
    assert run.carry is not None
    assert tuple(z + r for z, r in zip(run.executed, run.carry, strict=True)) == total
    nearest = rounding.startswith("nearest")
    for r in run.carry:
        assert abs(r) <= step / 2 if nearest else abs(r) < step


def _sum_of_increments(
    system: System, schedule: list[int], run: Run, step: Fraction, rounding: Rounding
) -> tuple[Fraction, ...]:
    """``z_0 + sum h G(z_k)`` along the executed states, computed apart."""
    trace = _Plain(system, schedule, Arithmetic("error_feedback", rounding, grid(step), seed=5))
    states = trace.run().states
    h = system.horizon / len(schedule)
    total = list(states[0])
    for state, pick in zip(states[:-1], schedule, strict=True):
        atom = system.atoms[pick]
        for i in range(len(total)):
            linear = sum((a * z for a, z in zip(atom.matrix[i], state, strict=True)), Fraction(0)
                         ) if atom.matrix else Fraction(0)  # fmt: skip
            bent = Fraction(0)
            if atom.inner and atom.outer:
                for v, row, b in zip(atom.outer[i], atom.inner, atom.bias, strict=True):
                    u = sum((w * z for w, z in zip(row, state, strict=True)), b)
                    if atom.activation == "relu":
                        bent += v * max(u, Fraction(0))
                    else:
                        size = max(abs(u) - atom.threshold, Fraction(0))
                        bent += v * (size if u > 0 else -size)
            total[i] += h * (atom.offset[i] + linear + bent)
    return tuple(total)


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data(), st.sampled_from(ROUNDED))
def test_the_a_posteriori_bound_is_never_crossed(data: st.DataObject, semantics: Semantics) -> None:
    """Theory T4.13, whatever the registers do: saturation, wrapping, carries, activations."""
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms)))
    own = data.draw(arithmetics(semantics, len(schedule), system.dimension))
    try:
        run = simulate(system, schedule, own)
    except InputError:
        return
    assert run.a_posteriori is not None
    assert run.error <= run.a_posteriori


def test_the_bound_is_the_formula() -> None:
    """By hand: two write-back steps of z' = -z + 1 on quarters."""
    run = simulate(LEAK, [0, 0], Arithmetic("write_back", "nearest_away", grid(Fraction(1, 4))))
    # z: 0 -> 1/2 -> 3/4 exactly; ideal 0, 1/2, 3/4.
    assert run.executed == (Fraction(3, 4),)
    assert run.a_posteriori == 0
    third = simulate(LEAK, [0, 0, 0], Arithmetic("write_back", "floor", grid(Fraction(1, 4))))
    # 1/3 -> 1/4, then 1/4 + 1/4 = 1/2, then 1/2 + 1/6 -> 1/2; R: 0, -1/12, -1/12, -1/4.
    assert third.executed == (Fraction(1, 2),)
    assert third.deviation == (Fraction(-1, 4),)
    kappa = Fraction(2, 3)
    assert third.a_posteriori == Fraction(1, 4) + Fraction(1, 3) * (
        kappa * Fraction(1, 12) + Fraction(1, 12)
    )
    assert third.error == Fraction(19, 27) - Fraction(1, 2)


@pytest.mark.parametrize("rounding", ["nearest_even", "nearest_away"])
@pytest.mark.parametrize("start", [Fraction(0), Fraction(3, 8), Fraction(-7, 8)])
def test_nearest_write_back_freezes_below_half_a_cell(rounding: Rounding, start: Fraction) -> None:
    """Theory T4.4: at D with T max|G| / D < Delta / 2 no schedule moves the state."""
    system = System(LEAK.atoms, (start,), LEAK.horizon)
    largest = max(abs(-start + 1), abs(start))
    step = Fraction(1, 8)
    depth = int(2 * largest / step) + 1
    own = Arithmetic("write_back", rounding, grid(step))
    for schedule in ([0] * depth, [1] * depth, ([0, 1] * depth)[:depth]):
        assert simulate(system, schedule, own).executed == (start,)


def test_directed_write_back_is_not_frozen() -> None:
    """An increment far below half a cell moves the state down a whole cell under floor."""
    system = System((Atom((Fraction(-1),)),), (Fraction(0),), Fraction(1))
    run = simulate(system, [0] * 64, Arithmetic("write_back", "floor", grid(Fraction(1, 8))))
    assert run.executed == (Fraction(-8),)


def test_a_two_bit_register_wraps_and_saturates() -> None:
    system = System((Atom((Fraction(3),)),), (Fraction(0),), Fraction(1))
    for mode, last in (("wrap", -1), ("saturate", 1)):
        own = Arithmetic("write_back", "floor", FixedPoint(((Fraction(1),),), 2, mode))  # type: ignore[arg-type]
        run = simulate(system, [0, 0, 0], own)
        assert run.executed == (Fraction(last),)
        assert run.overflows == {"state": 1 if mode == "wrap" else 2}
    with pytest.raises(InputError, match="state register overflows at step 1, coordinate 0"):
        own = Arithmetic("write_back", "floor", grid(Fraction(1), 2))
        simulate(system, [0, 0, 0], own)


def test_a_narrow_accumulator_is_part_of_the_run() -> None:
    system = System(
        (Atom((Fraction(0),) * 2, ((Fraction(1), Fraction(1)),) * 2),),
        (Fraction(3), Fraction(3)),
        Fraction(1),
    )
    exact = Arithmetic("write_back", "floor", grid(Fraction(1)))
    narrow = Arithmetic(
        "write_back", "floor", grid(Fraction(1)), accumulator=Accumulator(3, "saturate")
    )
    assert simulate(system, [0], exact).executed == (Fraction(9),) * 2
    run = simulate(system, [0], narrow)
    assert run.executed == (Fraction(6),) * 2
    assert run.overflows == {"accumulator": 2}
    assert run.extremes["accumulator"] == (0, 6)
    assert run.field_error == 3


def test_stochastic_runs_repeat_and_differ_by_seed() -> None:
    def run(seed: int) -> tuple[Fraction, ...]:
        own = Arithmetic("write_back", "stochastic", grid(Fraction(1, 8)), seed=seed)
        return simulate(LEAK, ALTERNATING * 4, own).executed

    assert run(1) == run(1)
    assert len({run(seed) for seed in range(20)}) > 1


def test_stochastic_rounding_is_right_on_average() -> None:
    system = System((Atom((Fraction(1),)),), (Fraction(0),), Fraction(1))
    own = [
        Arithmetic("write_back", "stochastic", grid(Fraction(1, 2)), seed=seed)
        for seed in range(400)
    ]
    mean = sum(simulate(system, [0] * 16, a).executed[0] for a in own) / 400
    assert abs(mean - 1) < Fraction(1, 10)


@pytest.mark.parametrize(("own", "words"), [
    (Arithmetic("write_back", "floor"), "write-back needs the state's register"),
    (Arithmetic("increment", "floor"), "increment needs the increment's register"),
    (Arithmetic("rounded_carry", "floor", grid(Fraction(1))), "needs the carry's register"),
    (Arithmetic("write_back", "floor", FixedPoint(((Fraction(1),),) * 3)), "needed 1 or 2"),
    (Arithmetic("write_back", "floor", FixedPoint(((Fraction(1),) * 3,))), "3 steps a row"),
    (Arithmetic("increment", "floor", grid(Fraction(1)), grid(Fraction(1, 2))), "1/2 of the"),
])  # fmt: skip
def test_formats_that_do_not_fit_are_refused_first(own: Arithmetic, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate(LEAK, [0, 1], own)


@pytest.mark.parametrize("schedule", [[], [2], [-1], [0] * 5_000_001])
def test_schedules_that_do_not_fit_are_refused_first(schedule: list[int]) -> None:
    with pytest.raises(InputError):
        simulate(LEAK, schedule, Arithmetic("ideal", "floor"))


@pytest.mark.parametrize("bits", [0, 64, -3])
def test_widths_beyond_63_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match="needed 1 to 63"):
        grid(Fraction(1), bits)


def test_ideal_states_are_enclosed_where_they_are_not_exact() -> None:
    """Every schedule of a small depth exactly; a long run within its stated radius."""
    own = Arithmetic("error_feedback", "nearest_even", grid(Fraction(1, 64)))
    long = simulate(LEAK, [0] * 200, own)
    exact = 1 - Fraction(199, 200) ** 200
    assert 0 < long.ideal_radius < Fraction(1, 2**180)
    assert abs(long.ideal[0] - exact) <= long.ideal_radius
    assert abs(long.executed[0] - exact) <= long.error
    for schedule in itertools.product(range(2), repeat=6):
        run = simulate(LEAK, list(schedule), own)
        assert run.ideal_radius == 0
        state = Fraction(0)
        for pick in schedule:
            state += (Fraction(1 - pick) - state) / 6
        assert run.ideal == (state,)

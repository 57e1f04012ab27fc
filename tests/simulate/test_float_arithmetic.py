"""Stepping in floating formats: exact and binary64 runs agree, and T4's statements hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_arithmetic import arithmetics, schedules, systems

from qreplace.errors import InputError
from qreplace.exact.block_formats import BLOCK_FORMATS, number_format
from qreplace.exact.float_formats import FORMATS, FloatFormat
from qreplace.exact.rounding import ROUNDINGS
from qreplace.premises import Evidence
from qreplace.simulate.arithmetic import simulate, simulate_plain
from qreplace.simulate.binary64 import simulate_float, simulate_function
from qreplace.simulate.float_arithmetic import simulate_exact
from qreplace.simulate.labels import Basis, label
from qreplace.simulate.model import (
    Accumulator,
    Arithmetic,
    Atom,
    FloatingPoint,
    Format,
    Run,
    Semantics,
    System,
    grid,
)

ROUNDED: list[Semantics] = ["write_back", "increment", "error_feedback", "rounded_carry"]
FLOATS = ["bf16", "fp16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]
ONE = Fraction(1)
LEAK = System((Atom((ONE,), ((-ONE,),)), Atom((Fraction(0),), ((-ONE,),))), (Fraction(0),), ONE)


def floating(name: str) -> FloatingPoint:
    return FloatingPoint(name)


def constant(rates: list[Fraction], start: list[Fraction]) -> System:
    """``z' = rates``, whatever the state."""
    return System((Atom(tuple(rates)),), tuple(start), ONE)


# --- the two paths, and the integer simulator -----------------------------------------------------


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize("semantics", ROUNDED)
def test_fixed_point_runs_are_those_of_the_integer_simulator(
    semantics: Semantics, data: st.DataObject
) -> None:
    """Saturation, wrapping, carries, activations and draws: nothing means anything else here."""
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms)))
    own = data.draw(arithmetics(semantics, len(schedule), system.dimension))
    try:
        plain = simulate_plain(system, schedule, own)
    except InputError as error:
        if "off its grid" not in error.message:
            with pytest.raises(InputError):
                simulate_exact(system, schedule, own)
        return
    assert simulate_exact(system, schedule, own) == plain


@st.composite
def formats(draw: st.DrawFn, names: list[str]) -> Format:
    """A floating format, sometimes a grid."""
    name = draw(st.sampled_from([*names, "grid"]))
    return grid(Fraction(1, 16)) if name == "grid" else FloatingPoint(name)


@st.composite
def float_arithmetics(draw: st.DrawFn, semantics: Semantics, names: list[str]) -> Arithmetic:
    return Arithmetic(
        semantics,
        draw(st.sampled_from(ROUNDINGS)),
        state=draw(formats(names)),
        increment=draw(st.none() | formats(names)),
        carry=draw(formats(names)) if semantics == "rounded_carry" else None,
        activation=draw(st.none() | formats(names)),
        seed=draw(st.integers(0, 2**32)),
    )


NARROW = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "mxfp4", "mxfp8_e4m3", "mxfp6_e3m2"]
"""Formats whose sums fit binary64 for the systems here, so that both paths are exact."""


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize("semantics", ROUNDED)
def test_binary64_runs_are_the_exact_ones_where_binary64_is(
    semantics: Semantics, data: st.DataObject
) -> None:
    system = data.draw(systems())
    depth = data.draw(st.sampled_from([1, 2, 4]))
    schedule = data.draw(
        st.lists(st.integers(0, len(system.atoms) - 1), min_size=depth, max_size=depth)
    )
    own = data.draw(float_arithmetics(semantics, NARROW))
    try:
        exact = simulate_exact(system, schedule, own)
    except InputError as error:
        with pytest.raises(InputError) as raised:
            simulate_float(system, schedule, own)
        assert raised.value.message == error.message
        return
    found = simulate_float(system, schedule, own)
    assert (found.executed, found.ideal, found.carry) == (exact.executed, exact.ideal, exact.carry)
    assert (found.extremes, found.overflows) == (exact.extremes, exact.overflows)
    assert (found.error, found.path_error) == (exact.error, exact.path_error)
    assert (found.deviation, found.a_posteriori) == (exact.deviation, exact.a_posteriori)
    assert found.field_error == exact.field_error
    assert (exact.exact, found.exact) == (True, False)


def test_the_simulator_takes_floating_formats() -> None:
    own = Arithmetic("write_back", "nearest_even", floating("bf16"))
    assert simulate(LEAK, [0, 1] * 8, own) == simulate_exact(LEAK, [0, 1] * 8, own)


# --- T4 -------------------------------------------------------------------------------------------


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(ROUNDED))
def test_the_a_posteriori_bound_is_never_crossed(data: st.DataObject, semantics: Semantics) -> None:
    """Theory T4.13, in every format and mode."""
    system = data.draw(systems())
    schedule = data.draw(schedules(len(system.atoms), 8))
    own = data.draw(float_arithmetics(semantics, [*FLOATS, *BLOCK_FORMATS]))
    try:
        run = simulate_exact(system, schedule, own)
    except InputError:
        return
    assert run.a_posteriori is not None
    assert run.error <= run.a_posteriori


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_conservation_is_exact_in_every_mode(data: st.DataObject) -> None:
    """Theory T4.6 with a rounded sum: ``z + r`` grows by exactly what was computed."""
    system = data.draw(systems())
    system = System(tuple(Atom(atom.offset) for atom in system.atoms), system.initial, ONE)
    schedule = data.draw(schedules(len(system.atoms)))
    own = data.draw(float_arithmetics("error_feedback", ["bf16", "fp16", "e5m2", "mxfp8_e5m2"]))
    run = simulate_exact(system, schedule, own)
    assert run.conserved is True and run.carry is not None
    h, start = Fraction(1, len(schedule)), _stored(system, own)
    for i, (z, r) in enumerate(zip(run.executed, run.carry, strict=True)):
        grown = sum((h * system.atoms[pick].offset[i] for pick in schedule), Fraction(0))
        assert z + r == start[i] + grown


def _stored(system: System, own: Arithmetic) -> tuple[Fraction, ...]:
    """The initial state in its register: a run that goes nowhere."""
    still = System((Atom((Fraction(0),) * system.dimension),), system.initial, ONE)
    return simulate_exact(still, [0], own).executed


def test_a_run_that_goes_nowhere_keeps_what_is_stored() -> None:
    system = constant([Fraction(0)], [Fraction(1, 3)])
    for semantics in ROUNDED:
        own = Arithmetic(semantics, "nearest_even", floating("e4m3"), carry=floating("e4m3"))
        assert simulate_exact(system, [0] * 5, own).executed == (Fraction(11, 32),)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("rounding", ["nearest_even", "nearest_away"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_write_back_is_frozen_below_the_threshold(name: str, rounding: Any, sign: int) -> None:
    """T4.4 through T4.12, every value of the format a coordinate (some of the 16-bit ones)."""
    own = FORMATS[name]
    values = list(own.values()[:: 997 if own.bits == 16 else 1])
    depth = 4
    below = [sign * depth * own.freezes_below(v, sign) * Fraction(999, 1000) for v in values]
    arithmetic = Arithmetic("write_back", rounding, floating(name))
    run = simulate_exact(constant(below, values), [0] * depth, arithmetic)
    assert run.executed == tuple(values)
    inside = [i for i, v in enumerate(values) if abs(v) < own.largest / 2]
    above = [
        sign * depth * own.freezes_below(values[i], sign) * Fraction(1001, 1000) for i in inside
    ]
    moved = simulate_exact(constant(above, [values[i] for i in inside]), [0] * depth, arithmetic)
    assert all(z != values[i] for z, i in zip(moved.executed, inside, strict=True))


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_write_back_stays_within_its_radius(data: st.DataObject) -> None:
    """T4.3 with T4.12's radius: ``rho S1 / h`` for the tube that the run stayed in."""
    name = data.draw(st.sampled_from(["bf16", "fp16", "e4m3", "e5m2", "mxfp4", "mxfp8_e4m3"]))
    rounding = data.draw(st.sampled_from(ROUNDINGS))
    schedule = data.draw(schedules(2, 16))
    own = number_format(name)
    run = simulate_exact(LEAK, schedule, Arithmetic("write_back", rounding, floating(name), seed=3))
    # The leak keeps states in [0, 1] up to a rounding, which 2 has room for.
    rho = own.write_back_radius(Fraction(2), rounding)
    kappa = 1 - Fraction(1, len(schedule))
    assert run.error <= rho * sum(kappa**k for k in range(len(schedule)))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_feedback_stays_within_its_radius(data: st.DataObject) -> None:
    """T4.6: ``rho + L rho S1``, rho of the increment's rounding and the sum's together."""
    state = data.draw(st.sampled_from(["bf16", "fp16", "e4m3"]))
    increment = data.draw(st.sampled_from(["bf16", "e4m3", "e5m2"]))
    rounding = data.draw(st.sampled_from(ROUNDINGS))
    schedule = data.draw(schedules(2, 16))
    own = Arithmetic("error_feedback", rounding, floating(state), floating(increment), seed=9)
    run = simulate_exact(LEAK, schedule, own)
    rho = FORMATS[state].write_back_radius(Fraction(2), rounding)
    rho += FORMATS[increment].write_back_radius(Fraction(2), rounding)
    h = Fraction(1, len(schedule))
    total = h * sum((1 - h) ** k for k in range(len(schedule)))
    assert run.error <= rho + rho * total
    assert run.carry is not None and max(map(abs, run.carry)) <= rho


def test_feedback_moves_what_write_back_freezes() -> None:
    """256 increments of 1/256 in e4m3: write-back stops at 1/16, feedback arrives."""
    system = constant([ONE], [Fraction(0)])
    stuck = simulate_exact(
        system, [0] * 256, Arithmetic("write_back", "nearest_even", floating("e4m3"))
    )
    carried = simulate_exact(
        system, [0] * 256, Arithmetic("error_feedback", "nearest_even", floating("e4m3"))
    )
    h, own = Fraction(1, 256), FORMATS["e4m3"]
    assert h <= own.freezes_below(stuck.executed[0], 1) and stuck.executed[0] < Fraction(1, 8)
    assert carried.error <= own.half_gap(ONE) * 2
    assert carried.executed[0] + carried.carry[0] == 1  # type: ignore[index]


# --- overflow -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), [("e4m3", 440), ("fp16", 65000), ("bf16", 3 * 2**126)])
@pytest.mark.parametrize("run", [simulate_exact, simulate_float])
def test_overflow_to_what_is_no_number_is_refused(name: str, start: int, run: Any) -> None:
    system = constant([Fraction(2 * start)], [Fraction(start)])
    with pytest.raises(InputError, match=r"state register overflows at step \d, coordinate 0"):
        run(system, [0, 0], Arithmetic("write_back", "nearest_even", floating(name)))


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2"])
def test_a_saturating_format_is_counted(name: str) -> None:
    own = FORMATS[name]
    system = constant([own.largest], [own.largest])
    found = simulate_exact(
        system, [0] * 4, Arithmetic("write_back", "nearest_even", floating(name))
    )
    assert found.executed == (own.largest,)
    assert found.overflows == {"state": 4}
    assert found.extremes["state"] == (own.code_of(own.largest),) * 2


def test_codes_carry_their_sign() -> None:
    system = constant([Fraction(4), Fraction(-4)], [Fraction(0), Fraction(1)])
    own = FORMATS["e2m1"]
    run = simulate_exact(system, [0, 0], Arithmetic("write_back", "floor", floating("e2m1")))
    assert run.executed == (4, -3)
    assert run.extremes["state"] == (-own.code_of(Fraction(3)), own.code_of(Fraction(4)))


# --- functions ------------------------------------------------------------------------------------


def leak(t: float, z: Any, atom: int) -> Any:
    return (1.0 - atom) - z


WRITE_BACK = Arithmetic("write_back", "nearest_even", floating("bf16"))


def run_function(field: Any, schedule: list[int], own: Arithmetic = WRITE_BACK) -> Run:
    return simulate_function(field, 2, [0.0], ONE, schedule, own, constants=(ONE, ONE))


@pytest.mark.parametrize("name", ["bf16", "e4m3", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("semantics", ROUNDED)
def test_a_function_is_run_as_the_same_system_is(name: str, semantics: Semantics) -> None:
    own = Arithmetic(semantics, "stochastic", floating(name), carry=floating("bf16"), seed=5)
    schedule = [0, 1, 1, 0] * 8
    found = simulate_function(
        lambda t, z, j: np.array([1.0 - j]) + np.array([[-1.0]]) @ z, 2, [0.0], ONE, schedule, own,
        constants=(ONE, 1 - Fraction(1, 32)),
    )  # fmt: skip
    assert found == simulate_float(LEAK, schedule, own)
    assert found.exact is False
    assert found.error <= found.a_posteriori + Fraction(1, 2**40)  # type: ignore[operator]


def test_what_a_function_shows_is_a_diagnostic() -> None:
    run = run_function(leak, [0, 1, 0, 1])
    assert label(Basis("exhaustive", "one run", run.exact)) is Evidence.DIAGNOSTIC


def test_time_is_that_of_the_step() -> None:
    seen: list[float] = []

    def field(t: float, z: Any, atom: int) -> Any:
        seen.append(t)
        z[0] = 99.0  # the function's own copy
        return np.zeros(1)

    run = run_function(field, [0, 1, 0, 1])
    assert sorted(set(seen)) == [0.0, 0.25, 0.5, 0.75]
    assert run.executed == run.ideal == (0,)


def at_second(answer: Any) -> Any:
    """A field that goes wrong at the third step, where atom 1 runs."""
    return lambda t, z, atom: answer if t == 0.5 else np.zeros(1)


@pytest.mark.parametrize(("answer", "words"), [
    (np.array([np.nan]), "the field is nan at step 2, atom 1, coordinate 0"),
    (np.array([-np.inf]), "the field is -inf at step 2, atom 1"),
    (np.zeros(2), r"shape \(2,\) at step 2, atom 1; needed \(1,\)"),
    (0.0, r"shape \(\) at step 2, atom 1"),
    (np.array([1j]), "complex128 entries at step 2, atom 1"),
    (np.array(["1"]), "entries at step 2, atom 1; needed real numbers"),
    (np.array([True]), "bool entries at step 2, atom 1"),
    (None, "at step 2, atom 1"),
])  # fmt: skip
def test_a_field_that_answers_no_vector_is_refused_where_it_does(answer: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run_function(at_second(answer), [0, 0, 1, 0])


@pytest.mark.parametrize(("horizon", "words"), [
    (2, r"the state outgrows binary64 at step \d\d"),
    (2000, "the increment register is given inf at step 0, coordinate 0"),
])  # fmt: skip
def test_what_outgrows_binary64_is_refused(horizon: int, words: str) -> None:
    own = Arithmetic("increment", "nearest_even", None, grid(ONE))
    with pytest.raises(InputError, match=words):
        simulate_function(
            lambda t, z, j: np.array([1.7e308]), 1, [1.0], Fraction(horizon), [0] * 64, own
        )


def test_every_coordinate_has_its_own_draw_and_runs_repeat() -> None:
    def run() -> Run:
        own = Arithmetic("write_back", "stochastic", floating("e4m3"), seed=1)
        return simulate_function(
            lambda t, z, j: np.tanh(1 - z), 1, [0.0] * 1000, ONE, [0] * 64, own
        )

    found = run()
    assert found == run()
    assert len(set(found.executed)) > 3
    mean = sum(found.executed) / 1000
    assert abs(mean - found.ideal[0]) < Fraction(1, 50) < found.error


def test_clipping_freezes_a_block_even_under_stochastic_rounding() -> None:
    """The largest element is 1.75 * 2^8: between that and the next power of two all is clipped.

    Nothing random is left there, so small increments never get past it, in any mode.
    """
    system = constant([Fraction(1, 2)], [Fraction(0)])
    for rounding in ROUNDINGS:
        own = Arithmetic("write_back", rounding, floating("mxfp8_e4m3"), seed=1)
        run = simulate_exact(system, [0] * 64, own)
        assert run.executed == (Fraction(7, 64),)
        assert run.overflows["state"] > 30
    wider = Arithmetic("write_back", "stochastic", floating("e4m3"), seed=1)
    assert simulate_exact(system, [0] * 64, wider).executed[0] > Fraction(1, 4)


# --- refusals before anything runs ----------------------------------------------------------------

WIDE = System((Atom((ONE,) * 100, ((ONE,) * 100,) * 100),), (ONE,) * 100, ONE)


@pytest.mark.parametrize(("system", "schedule", "own", "words"), [
    (LEAK, [0], Arithmetic("write_back", "floor", floating("fp12")), "no floating format 'fp12'"),
    (LEAK, [0], Arithmetic("write_back", "floor", floating("e8m0")), "no floating format"),
    (LEAK, [0], Arithmetic("increment", "floor", None, None, floating("bf16")), "needs the increm"),
    (LEAK, [2], Arithmetic("write_back", "floor", floating("bf16")), "there are 2"),
    (LEAK, [0], Arithmetic("write_back", "floor", floating("bf16"), accumulator=Accumulator(8)),
     "accumulator adds codes"),
    (WIDE, [0] * 200, Arithmetic("write_back", "floor", floating("bf16")), "needed at most"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_first(
    system: System, schedule: list[int], own: Arithmetic, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        simulate(system, schedule, own)


@pytest.mark.parametrize(("changes", "words"), [
    ({"initial": []}, "at least one coordinate"),
    ({"initial": [float("nan")]}, "all are finite"),
    ({"horizon": Fraction(0)}, "horizon is positive"),
    ({"schedule": []}, "depth is 0"),
    ({"initial": [0.0] * 1000, "schedule": [0] * 6000}, "needed at most"),
    ({"arithmetic": Arithmetic("write_back", "floor", floating("x"))}, "no floating format"),
    ({"arithmetic": Arithmetic("write_back", "floor", floating("bf16"), activation=grid(ONE))},
     "no activation register"),
])  # fmt: skip
def test_a_function_that_does_not_fit_is_never_called(changes: Any, words: str) -> None:
    def field(t: float, z: Any, atom: int) -> Any:
        raise AssertionError("called")

    given: dict[str, Any] = {"initial": [0.0], "horizon": ONE, "schedule": [0, 1],
                             "arithmetic": WRITE_BACK, **changes}  # fmt: skip
    with pytest.raises(InputError, match=words):
        simulate_function(field, 2, **given)


def test_numbers_too_large_for_binary64_are_refused() -> None:
    with pytest.raises(InputError, match="binary64 does not hold"):
        simulate_float(constant([Fraction(10**400)], [ONE]), [0], WRITE_BACK)


def test_formats_are_what_they_are_named() -> None:
    for name in FLOATS:
        own = number_format(name)
        assert isinstance(own, FloatFormat) and own.name == name

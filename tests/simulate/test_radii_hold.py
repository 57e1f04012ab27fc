"""What is executed never leaves the radii of theory T4.2-T4.8, and their regimes are seen.

Every bound is computed twice: by ``qreplace.radii`` for a question with declared constants, and by
the formula as it stands in the theory.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from declared_questions import premise, radii_of
from hypothesis import given, settings
from hypothesis import strategies as st
from radii_truth import KINDS, Case, cell, lipschitz, random_case, random_system

from qreplace.decision.evaluate import radius_at, reasons_at
from qreplace.decision.routes import PROBE_END, Route
from qreplace.question import model as q
from qreplace.radii.radius import Radius
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.fields import exact_field, linf_constants
from qreplace.simulate.ideal import ideal_states
from qreplace.simulate.model import (
    ROUNDINGS,
    Arithmetic,
    Atom,
    FixedPoint,
    Rounding,
    Semantics,
    System,
    grid,
)

ROUNDED: tuple[Semantics, ...] = ("write_back", "increment", "error_feedback", "rounded_carry")
NEAREST: tuple[Rounding, ...] = ("nearest_even", "nearest_away")
SEEDS = st.integers(0, 2**32 - 1)
SLACK = Fraction(1, 2**100)
"""Radii are rounded up beyond this place."""


def arithmetic_radii(case: Case, **blocks: object) -> list[tuple[Fraction, Radius]]:
    """The project's radii with the growth factor that each was made with."""
    found = []
    for chosen in radii_of(case.question(**blocks)):
        assert chosen.arithmetic is not None and chosen.choice.rate is not None
        found.append((1 + case.h * chosen.choice.rate.value, chosen.arithmetic))
    assert found
    return found


def reasons(radius: Radius, depth: int) -> list[str]:
    return reasons_at(Route("upper", PROBE_END, (radius,)), depth)


# --- T4.2, T4.3, T4.5, T4.6, T4.7 -----------------------------------------------------------------


def held(seed: int, semantics: Semantics) -> float:
    """Check one random run against every radius; its error over the sharpest one."""
    case = random_case(random.Random(f"{semantics}{seed}"), semantics)
    run = simulate(case.system, case.schedule, case.arithmetic)
    assert run.exact and run.ideal_radius == 0 and not run.overflows
    assert run.field_error <= case.eta
    sharpest = case.radius()
    assert run.error <= sharpest
    assert run.error <= case.radius(eta=run.field_error)
    assert run.path_error <= case.radius(path=True)
    for kappa, radius in arithmetic_radii(case):
        bound = radius_at(radius, case.depth)
        assert bound is not None and run.path_error <= bound
        transcribed = case.radius(kappa, path=True)
        assert transcribed <= bound <= transcribed + SLACK
    return float(run.error / sharpest)


@pytest.mark.parametrize("semantics", ROUNDED)
@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_observed_error_never_exceeds_the_radius(semantics: Semantics, seed: int) -> None:
    held(seed, semantics)


@pytest.mark.parametrize("semantics", ROUNDED)
def test_the_radius_is_nearly_attained(semantics: Semantics) -> None:
    assert max(held(seed, semantics) for seed in range(60)) > 0.3


@settings(max_examples=60)
@given(seed=SEEDS)
def test_constants_of_the_simulator_are_the_row_sums(seed: int) -> None:
    rng = random.Random(seed)
    system, step = random_system(rng), Fraction(rng.randint(1, 9), rng.randint(1, 9))
    slow = (
        max(lipschitz(atom) for atom in system.atoms),
        max(lipschitz(atom, step) for atom in system.atoms),
    )
    assert linf_constants(system, step) == slow
    a, b = ([Fraction(rng.randint(-9, 9), 3) for _ in system.initial] for _ in range(2))
    apart = max(abs(x - y) for x, y in zip(a, b, strict=True))
    for atom in system.atoms:
        pairs = list(zip(exact_field(atom, a), exact_field(atom, b), strict=True))
        assert max(abs(x - y) for x, y in pairs) <= slow[0] * apart
        moved = [x - y + step * (g - h) for x, y, (g, h) in zip(a, b, pairs, strict=True)]
        assert max(map(abs, moved)) <= slow[1] * apart


def test_stable_and_unstable_systems_of_every_kind_were_run() -> None:
    """The cases above are what they claim to be."""
    seen = set()
    for kind in KINDS:
        for seed in range(40):
            system = random_system(random.Random(f"{kind}{seed}"), kind)
            kappa = max(lipschitz(atom, Fraction(1, 4)) for atom in system.atoms)
            seen.add((kind, kappa < 1, system.dimension > 1))
    assert seen >= {(kind, stable, kind != "scalar") for kind in KINDS for stable in (True, False)}


@settings(max_examples=25)
@given(seed=SEEDS, semantics=st.sampled_from(ROUNDED))
def test_long_runs_beside_an_enclosed_ideal_one(seed: int, semantics: Semantics) -> None:
    """Depths at which the exact ideal states would explode."""
    rng = random.Random(seed)
    case = random_case(rng, semantics, activation=False)
    picks = [rng.randrange(len(case.system.atoms)) for _ in range(rng.randint(60, 160))]
    case = replace(case, schedule=picks)
    run = simulate(case.system, case.schedule, case.arithmetic)
    # ``error`` is an upper end: what the enclosure adds is far below the radius.
    assert run.error <= case.radius() + 2 * run.ideal_radius
    assert run.ideal_radius < SLACK


@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_field_error_alone(seed: int) -> None:
    """T4.2: hidden values are rounded, and increments lie on the increment's grid by themselves."""
    rng = random.Random(seed)
    size, hidden = rng.randint(1, 2), rng.randint(1, 3)
    eighths = [[Fraction(rng.randint(-8, 8), 8) for _ in range(8)] for _ in range(8)]
    atom = Atom(
        tuple(eighths[0][:size]),
        None,
        tuple(tuple(row[:size]) for row in eighths[1 : 1 + hidden]),
        tuple(eighths[4][:hidden]),
        tuple(tuple(row[:hidden]) for row in eighths[5 : 5 + size]),
        "relu",
    )
    system = System((atom,), tuple(eighths[7][:size]), Fraction(1))
    depth, activation = 2 ** rng.randint(0, 4), Fraction(1, 2 ** rng.randint(0, 3))
    fine = Fraction(1, depth * 64 * 8)
    rounding = rng.choice(ROUNDINGS)
    own = Arithmetic("increment", rounding, None, grid(fine), activation=grid(activation),
                     seed=seed)  # fmt: skip
    case = Case(system, [0] * depth, own, fine, None, activation)
    run = simulate(system, case.schedule, own)
    s1 = case.h * sum((case.kappa**i for i in range(depth)), Fraction(0))
    assert run.error <= run.field_error * s1 <= case.eta * s1


@settings(max_examples=80)
@given(seed=SEEDS)
def test_grids_of_their_own_for_every_step_and_channel(seed: int) -> None:
    """T4.1: a defect of each step's own, carried on by ``kappa`` from there."""
    rng = random.Random(seed)
    system = random_system(rng)
    depth = rng.randint(1, 14)
    steps = tuple(
        tuple(Fraction(rng.randint(1, 4), rng.randint(4, 60)) for _ in system.initial)
        for _ in range(depth)
    )
    rounding = rng.choice(ROUNDINGS)
    own = Arithmetic("write_back", rounding, FixedPoint(steps), seed=seed)
    schedule = [rng.randrange(len(system.atoms)) for _ in range(depth)]
    run = simulate(system, schedule, own)
    kappa = max(lipschitz(atom, system.horizon / depth) for atom in system.atoms)
    bound = max(cell(step, rounding) for step in steps[0])  # the stored initial state
    for row in steps:
        bound = kappa * bound + max(cell(step, rounding) for step in row)
    assert run.error <= bound


def test_write_back_attains_its_radius_at_every_depth() -> None:
    """z' = 1 with increments of ``k + 1/2`` cells: every tie goes up, D times half a cell."""
    cells = 3 * 3 * 5 * 7 * 11
    step = Fraction(1, cells)
    system = System((Atom((Fraction(1),)),), (Fraction(0),), Fraction(1))
    depths = [2 * cells // odd for odd in (7, 9, 11, 15, 21, 33, 35, 45, 63)]
    own = Arithmetic("write_back", "nearest_away", grid(step))
    for depth in depths:
        run = simulate(system, [0] * depth, own)
        case = Case(system, [0] * depth, own, step, None, None)
        assert run.error == depth * step / 2 == case.radius()
    errors = [float(depth * step / 2) for depth in depths]
    assert slope(depths, errors) == pytest.approx(1)


# --- T4.8, T4.9: registers that are too narrow ----------------------------------------------------


def margin(case: Case, bits: int) -> Fraction:
    """The distance of every ideal prefix from the box that ``bits`` bits hold."""
    low, high = -(1 << (bits - 1)) * case.step, ((1 << (bits - 1)) - 1) * case.step
    states = [state for state, _ in ideal_states(case.system, case.schedule)]
    return min(min(x - low, high - x) for state in states for x in state)


def test_saturation_never_acts_inside_the_margin() -> None:
    """T4.8, and its other side: where it acted, the bound had reached the margin."""
    seen = {"inside": 0, "acted": 0, "close": 0}
    for seed in range(260):
        rng = random.Random(f"margin{seed}")
        case = random_case(rng, "write_back", activation=rng.random() < 0.3, most=10)
        wide = simulate(case.system, case.schedule, case.arithmetic)
        needed = 1 + max(abs(code) for code in wide.extremes["state"]).bit_length()
        bits = max(2, needed + rng.randint(-1, 3))
        room = margin(case, bits)
        state = FixedPoint(((case.step,),), bits, "saturate")
        run = simulate(case.system, case.schedule, replace(case.arithmetic, state=state))
        bound = case.radius(path=True)
        seen["acted"] += bool(run.overflows)
        if bound < room:
            seen["inside"] += 1
            seen["close"] += bound > room / 2
            assert not run.overflows and run == wide
        _saturating_question(case, bits, room, bool(run.overflows))
    assert min(seen.values()) > 5, seen


def _saturating_question(case: Case, bits: int, room: Fraction, acted: bool) -> None:
    """The project gives no radius where saturation acted, and the same one where it can't act."""
    overflow = q.Saturating("saturate", premise(max(room, Fraction(0))))
    limit = (1 << (bits - 1)) * case.step
    for kappa, radius in arithmetic_radii(case, limit=limit, overflow=overflow):
        bound = radius_at(radius, case.depth)
        wanted = case.radius(kappa, path=True)
        assert (bound is not None) == (wanted < room)
        assert not (acted and bound is not None)
        if bound is None:
            assert "T4.8" in reasons(radius, case.depth)[0]


@pytest.mark.parametrize("semantics", ["increment", "error_feedback", "rounded_carry"])
def test_increment_registers_that_cover_the_increments_never_saturate(
    semantics: Semantics,
) -> None:
    """T4.6's condition, the project's guard, and that one bit less saturates in some."""
    covered = acted = 0
    for seed in range(100):
        rng = random.Random(f"{semantics}{seed}")
        case = random_case(rng, semantics)
        atoms = tuple(Atom(atom.offset) for atom in case.system.atoms)
        case = replace(case, system=replace(case.system, atoms=atoms), activation_step=None)
        bound = max(max(map(abs, atom.offset)) for atom in atoms)
        # The register's end is on the grid: what does not exceed it is not rounded beyond it.
        carried = Fraction(0) if semantics == "increment" else case.rho + case.carry_rho
        reach = (case.h * bound + carried) / case.step
        enough = 1 + math.ceil(reach).bit_length()
        for bits in (enough, max(1, enough - 1)):
            register = FixedPoint(((case.step,),), bits, "saturate")
            own = replace(case.arithmetic, increment=register, activation=None)
            run = simulate(case.system, case.schedule, own)
            limit = ((1 << (bits - 1)) - 1) * case.step
            cells = case.step + (case.carry_step or Fraction(0))
            for _, radius in arithmetic_radii(case, limit=limit) if limit else ():
                if reasons(radius, case.depth):
                    assert limit < case.h * bound + cells
                else:
                    covered += 1
                    assert not run.overflows
            if bits == enough:
                assert not run.overflows
                assert run.error <= case.radius()
            acted += bool(run.overflows)
    assert covered >= 60 and acted > 5, (covered, acted)


@pytest.mark.parametrize("semantics", ROUNDED)
def test_wrapping_is_the_unbounded_run_exactly_where_nothing_overflows(
    semantics: Semantics,
) -> None:
    """T4.9: the extremes of the unbounded run decide."""
    agreed = wrapped = 0
    for seed in range(100):
        rng = random.Random(f"wrap{semantics}{seed}")
        case = random_case(rng, semantics, most=10)
        own = replace(case.arithmetic, state=case.arithmetic.state or grid(case.step))
        wide = simulate(case.system, case.schedule, own)
        low, high = wide.extremes["state"]
        needed = 1 + max(high, ~low, 0).bit_length()
        bits = max(1, needed + rng.randint(-2, 1))
        state = replace(own.state, bits=bits, on_overflow="wrap")  # type: ignore[type-var]
        # The increment's register does not narrow with the state's.
        step = own.increment or (None if semantics == "write_back" else grid(case.step))
        run = simulate(case.system, case.schedule, replace(own, state=state, increment=step))
        fits = -(1 << (bits - 1)) <= low and high < 1 << (bits - 1)
        assert fits == (not run.overflows)
        if fits:
            assert run == wide
        agreed, wrapped = agreed + fits, wrapped + (not fits)
    assert agreed > 20 and wrapped > 20


# --- T4.4: below half a cell ----------------------------------------------------------------------


def still(rng: random.Random, kind: object) -> tuple[System, Fraction, int, Fraction]:
    """A system that starts on its grid, a cell, a depth, and the largest first increment."""
    system = random_system(rng, kind)  # type: ignore[arg-type]
    step = Fraction(rng.randint(1, 3), rng.randint(1, 20))
    start = tuple(step * rng.randint(-9, 9) for _ in system.initial)
    system = replace(system, initial=start)
    largest = max(max(map(abs, exact_field(atom, start))) for atom in system.atoms)
    depth = rng.randint(1, 40)
    return system, step, depth, system.horizon / depth * largest


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounding", NEAREST)
def test_below_half_a_cell_nearest_write_back_never_moves(kind: str, rounding: Rounding) -> None:
    """T4.4 for every tie rule and every schedule; depth is what freezes: ``D = 2 B T / Delta``."""
    frozen = moved = 0
    for seed in range(80):
        rng = random.Random(f"{kind}{seed}")
        system, step, depth, largest = still(rng, kind)
        schedule = [rng.randrange(len(system.atoms)) for _ in range(depth)]
        run = simulate(system, schedule, Arithmetic("write_back", rounding, grid(step)))
        if largest < step / 2:
            frozen += 1
            assert run.executed == system.initial
        else:
            moved += run.executed != system.initial
    assert frozen > 10 and moved > 10


def test_exactly_half_a_cell_is_a_matter_of_the_tie_rule() -> None:
    """The threshold is strict: even codes stay, odd ones and ties away from zero move."""
    step = Fraction(1, 4)
    for code, sign in itertools.product(range(-3, 4), (-1, 1)):
        start, half = step * code, sign * step / 2
        for rounding in NEAREST:
            for scale, freezes in ((Fraction(999, 1000), True), (Fraction(1), None)):
                system = System((Atom((scale * half,)),), (start,), Fraction(1))
                run = simulate(system, [0], Arithmetic("write_back", rounding, grid(step)))
                stays = run.executed == (start,)
                if freezes:
                    assert stays
                elif rounding == "nearest_even":
                    assert stays == (code % 2 == 0)
                else:
                    assert stays == (code * sign < 0)


@pytest.mark.parametrize("rounding", ["toward_zero", "floor", "stochastic"])
def test_directed_and_stochastic_rounding_do_not_freeze_but_keep_to_their_radii(
    rounding: Rounding,
) -> None:
    """T4.3 with a whole cell: T4.4 is not theirs."""
    moved = ratio = Fraction(0)
    for seed in range(150):
        rng = random.Random(f"{rounding}{seed}")
        system, step, depth, largest = still(rng, None)
        if largest >= step / 2 or largest == 0:
            continue
        schedule = [rng.randrange(len(system.atoms)) for _ in range(depth)]
        own = Arithmetic("write_back", rounding, grid(step), seed=seed)
        run = simulate(system, schedule, own)
        case = Case(system, schedule, own, step, None, None)
        assert run.error <= case.radius() + 2 * run.ideal_radius
        moved += run.executed != system.initial
        ratio = max(ratio, run.error / case.radius())
        for kappa, radius in arithmetic_radii(case):
            bound = radius_at(radius, depth)
            assert bound is not None and run.path_error <= bound + 2 * run.ideal_radius
            transcribed = case.radius(kappa, path=True)
            assert transcribed <= bound <= transcribed + SLACK
    assert moved > 5 and ratio > Fraction(1, 5)


# --- the two branches -----------------------------------------------------------------------------

LEAK = System((Atom((Fraction(1),), ((Fraction(-1),),)),), (Fraction(0),), Fraction(1))
"""z' = 1 - z from 0: at time 1 it is 1 - 1/e."""
CELL = Fraction(1, 2**17)
SHALLOW, DEEP = [8, 16, 32, 64], [1024, 2048, 4096, 8192]


def slope(depths: list[int], errors: list[float]) -> float:
    """Of ``log error`` against ``log D``, least squares."""
    x = [math.log(depth) for depth in depths]
    y = [math.log(error) for error in errors]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def total_error(depth: int, own: Arithmetic) -> float:
    """Against the continuous solution, and within the synthesis and arithmetic radii (T3.3, T4)."""
    run = simulate(LEAK, [0] * depth, own)
    error = abs(float(run.executed[0]) - (1 - math.exp(-1)))
    step = own.increment or own.state
    assert isinstance(step, FixedPoint)
    case = Case(LEAK, [0] * depth, own, step.steps[0][0], None, None)
    kappa = 1 - Fraction(1, depth)
    s1 = float(1 - kappa**depth)
    quadrature = s1 / (2 * depth)  # h L B S1 / 2
    rho = float(case.rho)
    feedback = rho + rho * s1
    assert error <= quadrature + (
        depth * rho * s1 if own.semantics in ("write_back", "increment") else feedback
    )
    return error


def test_write_back_improves_with_depth_and_turns_up_again() -> None:
    """-1 left of the optimum ``D ~ sqrt(C/rho_z)``, +1 right of it (T4.3)."""
    own = Arithmetic("write_back", "floor", grid(CELL))
    left = [total_error(depth, own) for depth in SHALLOW]
    right = [total_error(depth, own) for depth in DEEP]
    assert slope(SHALLOW, left) == pytest.approx(-1, abs=0.1)
    assert slope(DEEP, right) == pytest.approx(1, abs=0.1)
    assert total_error(256, own) < min(*left, *right)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_error_feedback_keeps_first_order(rounding: Rounding) -> None:
    """T4.6 with ``rho = h rho_bar``: -1 at every depth, with the cell shrinking like 1/D."""
    depths = [*SHALLOW, *DEEP[:2]]
    errors = []
    for depth in depths:
        step = grid(Fraction(1, 16 * depth))
        errors.append(total_error(depth, Arithmetic("error_feedback", rounding, None, step)))
    assert slope(depths, errors) == pytest.approx(-1, abs=0.1)


def test_increments_without_a_carry_do_not_vanish() -> None:
    """T4.5 with the very same cells: the error stays, at ``rho_bar`` times a constant."""
    depths = [*SHALLOW, *DEEP[:2]]
    errors = []
    for depth in depths:
        step = grid(Fraction(1, 16 * depth))
        errors.append(total_error(depth, Arithmetic("increment", "floor", None, step)))
    assert abs(slope(DEEP[:2], errors[-2:])) < 0.1
    # D steps lose half a cell of 1/(16 D) on average, damped by S1.
    assert errors[-1] == pytest.approx((1 - math.exp(-1)) / 32, rel=0.1)

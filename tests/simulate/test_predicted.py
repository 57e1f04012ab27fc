"""Predicted radii: those of ``radii`` for a declared question, and never below what happens."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest
from declared_questions import bounded_variation, declared, growth, premise, quantized, radii_of
from hypothesis import given
from hypothesis import strategies as st

from qreplace.decision.evaluate import radius_at
from qreplace.errors import InputError
from qreplace.exact.fixed_point import exponential
from qreplace.question import model as q
from qreplace.simulate.arithmetic import distance
from qreplace.simulate.fields import exact_field
from qreplace.simulate.ideal import ideal_states
from qreplace.simulate.ideal_endpoint import ideal_end
from qreplace.simulate.model import Atom, Matrix, Semantics, System
from qreplace.simulate.predicted import (
    FORMULAS,
    Cells,
    arithmetic_radius,
    chairman_half_l1,
    constants_at,
    freezing_depth,
    growth_sum,
    is_frozen,
    pair_lipschitz,
    rounding_cell,
    synthesis_radius,
)
from qreplace.simulate.targets import relaxed_target

SLACK = Fraction(1, 2**90)
"""Radii are rounded up beyond this place."""
SEEDS = st.integers(0, 2**32 - 1)
ROUNDED: tuple[Semantics, ...] = ("write_back", "increment", "error_feedback", "rounded_carry")
KINDS = ("constant", "affine", "own matrices", "relu")


def number(rng: random.Random, size: int = 3) -> Fraction:
    return Fraction(rng.randint(-8 * size, 8 * size), 8)


def matrix(rng: random.Random, dimension: int) -> Matrix:
    return tuple(tuple(number(rng, 2) for _ in range(dimension)) for _ in range(dimension))


def some_system(rng: random.Random, kind: str | None = None) -> System:
    """Stable and unstable systems of one to three coordinates and one to three atoms."""
    own = kind or rng.choice(KINDS)
    dimension, count = rng.randint(1, 3), rng.randint(1, 3)
    shared = matrix(rng, dimension)
    atoms = []
    for _ in range(count):
        offset = tuple(number(rng) for _ in range(dimension))
        if own == "constant":
            atoms.append(Atom(offset))
        elif own == "relu":
            bias = tuple(number(rng) for _ in range(dimension))
            atoms.append(
                Atom(offset, None, matrix(rng, dimension), bias, matrix(rng, dimension), "relu")
            )
        else:
            atoms.append(Atom(offset, shared if own == "affine" else matrix(rng, dimension)))
    initial = tuple(number(rng, 1) for _ in range(dimension))
    return System(tuple(atoms), initial, Fraction(rng.randint(1, 6), 4))


def some_schedule(rng: random.Random, system: System, depth: int) -> list[int]:
    return [rng.randrange(len(system.atoms)) for _ in range(depth)]


# --- the formulas are those of the decision -----------------------------------------------------


@pytest.mark.parametrize("semantics", ROUNDED)
@given(SEEDS)
def test_arithmetic_radii_are_those_of_a_declared_question(semantics: Semantics, seed: int) -> None:
    rng = random.Random(f"{semantics}{seed}")
    system, depth = some_system(rng), rng.randint(1, 40)
    own = constants_at(system, depth)
    step = Fraction(1, rng.randint(1, 500))
    finer = step / 2 ** rng.randint(0, 5)
    eta, start = Fraction(rng.randint(0, 4), 64), Fraction(rng.randint(0, 4), 512)
    carry = q.Grid(q.DepthRule(finer, 0), "nearest", None) if semantics == "rounded_carry" else None
    question = declared(
        horizon=system.horizon,
        synthesis=bounded_variation(
            state_lipschitz=own.lipschitz, growth=growth(own.rate, own.step)
        ),
        execution=quantized(
            "error_feedback" if semantics == "rounded_carry" else semantics,
            step,
            carry=carry,
            field_error=premise(eta),
            initial_error=premise(start),
        ),
    )
    cells = Cells(
        rounding_cell(step, "nearest_even"), rounding_cell(finer, "nearest_even"), eta, start
    )
    mine = arithmetic_radius(semantics, own, cells)
    found = [
        radius_at(chosen.arithmetic, depth)
        for chosen in radii_of(question)
        if chosen.arithmetic is not None
        and chosen.choice.rate is not None
        and chosen.choice.rate.value == own.rate
    ]
    assert len(found) == 1 and found[0] is not None
    # kappa^D is at most 1 for a contraction; the decision leaves the initial error at that.
    shrunk = start * max(Fraction(0), -own.rate) * own.growth
    assert abs(mine + shrunk - found[0]) <= SLACK


@given(SEEDS)
def test_the_synthesis_radius_is_that_of_a_declared_question(seed: int) -> None:
    rng = random.Random(seed)
    system, depth = some_system(rng), rng.randint(1, 40)
    own = constants_at(system, depth)
    question = declared(
        horizon=system.horizon,
        atoms=len(system.atoms),
        synthesis=bounded_variation(
            field_bound=own.field_bound,
            state_lipschitz=own.lipschitz,
            growth=growth(own.rate, own.step),
            difference_bound=min(own.difference_bound, 2 * own.field_bound),
            difference_lipschitz=own.difference_lipschitz,
        ),
    )
    found = [
        radius_at(chosen.synthesis.relaxed_to_pure, depth)
        for chosen in radii_of(question)
        if chosen.choice.rate is not None and chosen.choice.rate.value == own.rate
    ]
    assert len(found) == 1 and found[0] is not None
    assert synthesis_radius(own) >= found[0] - SLACK
    if own.difference_bound <= 2 * own.field_bound:
        assert synthesis_radius(own) - found[0] <= SLACK


def test_half_l1_bound_of_the_chairman_rule() -> None:
    assert [chairman_half_l1(n) for n in (1, 2, 3, 4)] == [
        0, Fraction(1, 2), Fraction(3, 4), Fraction(5, 3),
    ]  # fmt: skip


def test_every_semantics_has_its_formula_and_ideal_runs_have_no_rounding() -> None:
    own = constants_at(some_system(random.Random(0)), 4)
    assert set(FORMULAS) == {"ideal", *ROUNDED}
    everything = Cells(Fraction(1), Fraction(1), Fraction(0), Fraction(0))
    assert arithmetic_radius("ideal", own, everything) == 0


# --- the constants hold -------------------------------------------------------------------------


@given(SEEDS)
def test_no_euler_path_leaves_the_ball_of_the_constants(seed: int) -> None:
    rng = random.Random(seed)
    system, depth = some_system(rng), rng.randint(1, 24)
    own = constants_at(system, depth)
    schedule = some_schedule(rng, system, depth)
    for state, radius in ideal_states(system, schedule):
        fields = [exact_field(atom, state) for atom in system.atoms]
        assert max(abs(g) for field in fields for g in field) <= own.field_bound + radius
        for one, two in pairwise(fields):
            assert distance(one, two) <= own.difference_bound + radius


@given(SEEDS)
def test_differences_of_atoms_are_lipschitz(seed: int) -> None:
    rng = random.Random(seed)
    system = some_system(rng)
    bound = pair_lipschitz(system.atoms)
    z = [number(rng) for _ in range(system.dimension)]
    y = [number(rng) for _ in range(system.dimension)]
    for one, two in pairwise(system.atoms):
        at_z = [a - b for a, b in zip(exact_field(one, z), exact_field(two, z), strict=True)]
        at_y = [a - b for a, b in zip(exact_field(one, y), exact_field(two, y), strict=True)]
        assert distance(at_z, at_y) <= bound * distance(z, y)


def test_a_long_growth_sum_is_rounded_up_and_stays_close() -> None:
    rate, horizon, depth = Fraction(-1, 3), Fraction(7, 5), 3000
    exact = ((1 + horizon * rate / depth) ** depth - 1) / rate
    found = growth_sum(rate, horizon, depth)
    assert exact <= found <= exact + Fraction(1, 2**150)
    assert found.denominator <= 2**160


def test_growth_too_steep_to_enclose_is_refused() -> None:
    steep = System((Atom((Fraction(0),), ((Fraction(10**6),),)),), (Fraction(1),), Fraction(1))
    with pytest.raises(InputError, match="needed at most 4096"):
        constants_at(steep, 8)


def test_freezing_is_strict_and_asks_for_nearest_and_a_start_on_the_grid() -> None:
    system = System((Atom((Fraction(3, 4),)),), (Fraction(1, 8),), Fraction(1))
    step = Fraction(1, 8)
    assert freezing_depth(system, step) == 12
    assert not is_frozen(system, 12, step, "nearest_even")
    assert is_frozen(system, 13, step, "nearest_even")
    assert not is_frozen(system, 13, step, "floor")
    assert not is_frozen(system, 40, Fraction(1, 4), "nearest_away")  # 1/8 is off that grid


# --- ideal endpoints and targets ----------------------------------------------------------------


@given(SEEDS)
def test_the_ideal_end_is_that_of_the_exact_states(seed: int) -> None:
    rng = random.Random(seed)
    system, depth = some_system(rng), rng.randint(1, 40)
    schedule = some_schedule(rng, system, depth)
    states = list(ideal_states(system, schedule))
    assert all(radius == 0 for _, radius in states)
    found = ideal_end(system, schedule)
    assert distance(found.state, states[-1][0]) <= found.radius <= Fraction(1, 2**150)
    assert max(abs(z) for state, _ in states for z in state) <= found.reach


def test_the_ideal_end_of_a_long_run_meets_the_enclosure_of_the_states() -> None:
    rng = random.Random(5)
    system = some_system(rng, "own matrices")
    schedule = some_schedule(rng, system, 400)
    *_, (state, radius) = ideal_states(system, schedule)
    found = ideal_end(system, schedule)
    assert distance(found.state, state) <= found.radius + radius <= Fraction(1, 2**150)


def test_a_leaky_target_is_the_closed_form() -> None:
    leak, horizon = Fraction(3, 2), Fraction(5, 4)
    atoms = tuple(Atom((Fraction(u),), ((-leak,),)) for u in (1, -2))
    found = relaxed_target(
        System(atoms, (Fraction(1, 3),), horizon), [Fraction(3, 4), Fraction(1, 4)]
    )
    assert found is not None and found.how.startswith("enclosed")
    low, high = (Fraction(end, 2**200) for end in exponential(-leak * horizon, 200))
    mean = Fraction(1, 4)
    ends = [Fraction(1, 3) * decay + mean * (1 - decay) / leak for decay in (low, high)]
    assert min(ends) - found.radius <= found.value[0] <= max(ends) + found.radius
    assert found.radius <= Fraction(1, 2**100)


def test_a_target_with_a_matrix_encloses_the_polynomial_of_a_nilpotent_one() -> None:
    nilpotent: Matrix = ((Fraction(0), Fraction(1)), (Fraction(0), Fraction(0)))
    zero = (Fraction(0), Fraction(0))
    other: Matrix = ((Fraction(0), Fraction(3)), zero)
    atoms = Atom((Fraction(0), Fraction(1)), nilpotent), Atom(zero, other)
    found = relaxed_target(
        System(atoms, (Fraction(0), Fraction(1, 2)), Fraction(2)), [Fraction(1, 2), Fraction(1, 2)]
    )
    # z_2 = 1/2 + t/2 and z_1' = 2 z_2: z_1(2) = 2 + 2.
    assert found is not None
    assert distance(found.value, (Fraction(4), Fraction(3, 2))) <= found.radius < SLACK


def test_a_target_of_constant_atoms_is_exact_and_of_bent_ones_unknown() -> None:
    atoms = Atom((Fraction(1),)), Atom((Fraction(-1),))
    found = relaxed_target(
        System(atoms, (Fraction(1, 7),), Fraction(3)), [Fraction(1, 3), Fraction(2, 3)]
    )
    assert found is not None
    assert found.value == (Fraction(1, 7) - 1,)
    assert found.radius == 0
    assert found.how.startswith("exact")
    bent = some_system(random.Random(2), "relu")
    weights = [Fraction(1, len(bent.atoms))] * len(bent.atoms)
    assert relaxed_target(bent, weights) is None


@pytest.mark.parametrize("weights", [
    [Fraction(1, 3), Fraction(2, 3) + Fraction(1, 10**30)],
    [Fraction(4, 3), Fraction(-1, 3)],
    [Fraction(1)],
])  # fmt: skip
def test_weights_off_the_simplex_are_refused(weights: list[Fraction]) -> None:
    system = System((Atom((Fraction(1),)), Atom((Fraction(-1),))), (Fraction(0),), Fraction(1))
    with pytest.raises(InputError, match="sum to exactly 1"):
        relaxed_target(system, weights)

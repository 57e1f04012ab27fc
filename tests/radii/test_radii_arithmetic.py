"""Executed trajectories never leave the arithmetic radius (theory T4)."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import executed_systems as ex
import pytest
from declared_questions import (
    bounded_variation,
    covering,
    declared,
    depths,
    growth,
    premise,
    quantized,
    radii_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import (
    L1,
    L2,
    LINF,
    block_l2,
    make_question,
    vector,
    weighted_l1,
    weighted_linf,
)

from qreplace.decision.evaluate import radius_at, reasons_at
from qreplace.decision.routes import PROBE_END, Route
from qreplace.premises import ABSENT, Evidence
from qreplace.question import model as q
from qreplace.radii.radius import Radius

SEMANTICS = ("write_back", "increment", "error_feedback")


def arithmetic(question: q.Question, choice: int = 0) -> Radius:
    radius = radii_of(question)[choice].arithmetic
    assert radius is not None
    return radius


def reasons(radius: Radius, depth: int) -> list[str]:
    return reasons_at(Route("upper", PROBE_END, (radius,)), depth)


def run(seed: int, semantics: Any) -> float:
    """The largest deviation over any prefix relative to the radius, for every growth rate."""
    rng = random.Random(f"{semantics}{seed}")
    system = ex.random_affine(rng)
    n, count = len(system.start), len(system.offsets)
    least = max(2, -(-system.horizon.numerator // system.horizon.denominator))
    depth = rng.randint(least, 22)
    rounding: ex.Rounding = rng.choice(["nearest", "directed", "stochastic"])
    coefficient, power = Fraction(1, rng.randint(1, 40)), rng.randint(0, 2)
    eta = Fraction(rng.randint(0, 4), 40)
    carry = None
    if semantics == "error_feedback" and rng.random() < 0.6:
        carry = q.Grid(q.DepthRule(coefficient / rng.randint(2, 9), power), rounding, None)
    shift = ex.noise(rng, system.norm, n, Fraction(rng.randint(0, 3), 30))()
    execution = quantized(
        semantics,
        coefficient,
        power,
        rounding,
        carry=carry,
        field_error=premise(eta) if eta else ABSENT,
        initial_error=premise(ex.length(system.norm, shift)) if any(shift) else ABSENT,
    )
    machine = ex.Machine(
        semantics=semantics,
        step=coefficient / depth**power,
        round=ex.rounder(rng, rounding),
        carry_step=None if carry is None else carry.step.coefficient / depth**power,
        carry_round=ex.rounder(rng, rounding),
        field_noise=ex.noise(rng, system.norm, n, eta),
    )
    schedule = [rng.randrange(count) for _ in range(depth)]
    start = ex.add(system.start, shift)
    executed, _ = ex.execute(system, machine, schedule, start)
    deviation = max(
        ex.length(system.norm, ex.add(a, ex.scaled(Fraction(-1), b)))
        for a, b in zip(executed, system.ideal(schedule), strict=True)
    )
    worst = 0.0
    for chosen in radii_of(system.question(execution)):
        assert chosen.arithmetic is not None
        bound = radius_at(chosen.arithmetic, depth)
        assert bound is not None and deviation <= bound
        worst = max(worst, float(deviation / bound))
    return worst


@pytest.mark.parametrize("semantics", SEMANTICS)
@settings(derandomize=True, max_examples=120)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_executed_trajectory_leaves_the_radius(semantics: str, seed: int) -> None:
    assert run(seed, semantics) <= 1


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_the_radius_is_nearly_attained_by_some(semantics: str) -> None:
    assert max(run(seed, semantics) for seed in range(150)) > 0.4


def test_write_back_attains_its_radius_exactly() -> None:
    """x' = -x/2 + 1/4 pushed down by half a cell at each step: T4.3 with equality at D = 1."""
    # One step of size 1 from 0 with field 1/2: 1/2 is halfway between the multiples of 1.
    system = ex.Affine(LINF, [[[Fraction(0)]]], [[Fraction(1, 2)]], [Fraction(0)], Fraction(1),
                       Fraction(0), None)  # fmt: skip
    radius = arithmetic(system.question(quantized(step=1)))
    assert radius_at(radius, 1) == Fraction(1, 2)
    machine = ex.Machine("write_back", Fraction(1), lambda x, s: Fraction(0), None,
                         lambda x, s: x, lambda: [Fraction(0)])  # fmt: skip
    executed, _ = ex.execute(system, machine, [0], system.start)
    assert abs(executed[-1][0] - system.ideal([0])[-1][0]) == Fraction(1, 2)


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("norm", "cell"),
    [
        (LINF, Fraction(1)),
        (L1, Fraction(4)),
        (L2, Fraction(2)),
        (block_l2(4), Fraction(2)),
        (weighted_linf(1, 2, 3, 5), Fraction(5)),
        (weighted_l1(1, 2, 3, 5), Fraction(11)),
    ],
)
@pytest.mark.parametrize(("rounding", "part"), [("nearest", 2), ("directed", 1), ("stochastic", 1)])
def test_rounding_radii_in_every_norm(
    norm: q.Norm, cell: Fraction, rounding: str, part: int
) -> None:
    """Write-back with L = 0: D cells of Delta/2 (nearest) or Delta in the study's norm."""
    question = declared(
        norm=norm,
        dimension=4,
        synthesis=bounded_variation(state_lipschitz=0),
        execution=quantized(step=Fraction(1, 3), rounding=rounding),
    )
    assert radius_at(arithmetic(question), 7) == 7 * cell / 3 / part


def test_the_three_semantics_and_a_rounded_carry_to_the_digit() -> None:
    """T = 2, L = 3, kappa = 1 + 3h at D = 4: S1 = (2.5^4 - 1)/3 = 12.6875 = 203/16."""
    growth_sum = Fraction(203, 16)
    fields: dict[str, Any] = {"step": "1/8", "field_error": premise("1/10")}
    expected = {
        "write_back": (Fraction(1, 16) + Fraction(1, 2) / 10) * growth_sum * 2,
        "increment": (Fraction(1, 16) + Fraction(1, 2) / 10) * growth_sum * 2,
        "error_feedback": Fraction(1, 16) + (3 * Fraction(1, 16) + Fraction(1, 10)) * growth_sum,
    }
    for semantics, value in expected.items():
        question = declared(
            horizon=Fraction(2),
            synthesis=bounded_variation(state_lipschitz=3),
            execution=quantized(semantics, **fields),
        )
        close(radius_at(arithmetic(question), 4), value)
    carry = q.Grid(q.DepthRule(Fraction(1, 32), 0), "nearest", None)
    question = declared(
        horizon=Fraction(2),
        synthesis=bounded_variation(state_lipschitz=3),
        execution=quantized("error_feedback", carry=carry, **fields),
    )
    close(
        radius_at(arithmetic(question), 4),
        expected["error_feedback"] + Fraction(1, 64) * growth_sum * 2,
    )


def close(value: Fraction | None, true: Fraction) -> None:
    assert value is not None and true <= value < true + Fraction(1, 1 << 110)


def test_an_initial_error_grows_with_the_trajectory_and_never_shrinks_below_itself() -> None:
    """kappa^D ||e_0|| for expansions; for contractions the prefix bound is ||e_0|| itself."""
    execution = quantized(step="1/1000000", initial_error=premise(1))
    rough = Fraction(1, 100)
    expanding = declared(synthesis=bounded_variation(state_lipschitz=1), execution=execution)
    value = radius_at(arithmetic(expanding), 2)
    assert value is not None and Fraction(9, 4) <= value < Fraction(9, 4) + rough
    shrinking = declared(synthesis=bounded_variation(growth=growth(-1)), execution=execution)
    value = radius_at(arithmetic(shrinking, 1), 2)
    assert value is not None and 1 <= value < 1 + rough


def test_a_radius_with_a_vanishing_step_has_the_limit_of_theory_4_5() -> None:
    """rho = h rho_bar does not vanish: (rho_bar + eta) S1 with rho_bar = 1/2, S1 = 1."""
    question = declared(
        synthesis=bounded_variation(state_lipschitz=0),
        execution=quantized("increment", step=1, power=1),
    )
    radius = arithmetic(question)
    assert {radius_at(radius, depth) for depth in (1, 10, 1000)} == {Fraction(1, 2)}
    assert radius.pieces[0].sum.limit(64) == 1 << 63
    feedback = declared(
        synthesis=bounded_variation(state_lipschitz=0),
        execution=quantized("error_feedback", step=1, power=1),
    )
    assert arithmetic(feedback).pieces[0].sum.limit(64) == 0


# --- freezing (T4.4) ------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_freezing_starts_exactly_where_the_claim_says(seed: int) -> None:
    """From first_depth on no schedule moves the state; one step shallower some schedule can."""
    from qreplace.produce.frozen import produce
    from qreplace.question.frozen_start import frozen_start
    from qreplace.question.subject import Subject

    rng = random.Random(seed)
    n, count = rng.randint(1, 3), rng.randint(1, 3)
    atoms = [[ex.small(rng) for _ in range(n)] for _ in range(count)]
    step = Fraction(1, rng.randint(2, 8))
    question = make_question([Fraction(1)] * n, atoms, execution=quantized(step=step))
    subject = Subject(question, {})
    claim = produce(subject, 0, frozen_start(subject, 0), q.DepthRule(step, 0))
    assert claim is not None
    first = claim.first_depth
    zero = [[Fraction(0)] * n for _ in range(n)]
    system = ex.Affine(
        LINF, [zero] * count, atoms, [Fraction(0)] * n, Fraction(1), Fraction(0), None
    )
    for depth in {first, first + rng.randint(0, 5)}:
        schedule = [rng.randrange(count) for _ in range(depth)]
        machine = ex.Machine("write_back", step, ex.rounder(rng, "nearest"), None,
                             lambda x, s: x, lambda: [Fraction(0)] * n)  # fmt: skip
        executed, _ = ex.execute(system, machine, schedule, system.start)
        assert executed[-1] == system.start
    if first > 1:

        def away(x: Fraction, cell: Fraction) -> Fraction:
            """Nearest, ties away from zero."""
            sign = 1 if x >= 0 else -1
            return sign * cell * ((abs(x) / cell + Fraction(1, 2)).__floor__())

        machine = ex.Machine("write_back", step, away, None, lambda x, s: x,
                             lambda: [Fraction(0)] * n)  # fmt: skip
        moved = [
            ex.execute(system, machine, [j] * (first - 1), system.start)[0][-1]
            for j in range(count)
        ]
        assert any(state != system.start for state in moved)


# --- overflow -------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_where_the_radius_speaks_clipping_never_acts(seed: int) -> None:
    """T4.8 with a margin recomputed from the atoms: the clipped run is the unclipped one."""
    rng = random.Random(seed)
    n, count, depth = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 12)
    atoms = [[ex.small(rng) for _ in range(n)] for _ in range(count)]
    largest = max(abs(x) for atom in atoms for x in atom)
    step = Fraction(1, rng.randint(4, 60))
    limit = step * rng.randint(1, 1 + int(2 * (largest + 1) / step))
    norm: q.Norm = rng.choice([LINF, L1, L2])
    rounding: ex.Rounding = rng.choice(["nearest", "directed", "stochastic"])
    execution = quantized(
        step=step, rounding=rounding, limit=limit, overflow=q.Saturating("saturate", None)
    )
    radius = arithmetic(make_question([Fraction(1)] * n, atoms, norm, execution=execution))
    bound = radius_at(radius, depth)
    if bound is None:
        assert reasons(radius, depth)
        return
    assert not radius.declared
    zero = [[Fraction(0)] * n for _ in range(n)]
    system = ex.Affine(
        norm, [zero] * count, atoms, [Fraction(0)] * n, Fraction(1), Fraction(0), None
    )
    plain = ex.rounder(rng, rounding)

    def clipped(x: Fraction, cell: Fraction) -> Fraction:
        return min(limit, max(-limit, plain(x, cell)))

    machine = ex.Machine("write_back", step, clipped, None, lambda x, s: x,
                         lambda: [Fraction(0)] * n)  # fmt: skip
    schedule = [rng.randrange(count) for _ in range(depth)]
    executed, inputs = ex.execute(system, machine, schedule, system.start)
    assert all(abs(x) <= limit for value in inputs for x in value)
    for a, b in zip(executed, system.ideal(schedule), strict=True):
        assert ex.length(norm, ex.add(a, ex.scaled(Fraction(-1), b))) <= bound


def test_saturation_examples_both_speak_and_refuse() -> None:
    """|b| <= 1, limit 2: margin 1; D/2 cells of 1/8 stay below it up to D = 15."""
    execution = quantized(step="1/8", limit=2, overflow=q.Saturating("saturate", None))
    radius = arithmetic(make_question([1], [[1], [-1]], execution=execution))
    assert radius_at(radius, 15) == Fraction(15, 16)
    assert radius_at(radius, 16) is None
    assert reasons(radius, 16) == ["arithmetic: it reaches the saturation margin (T4.8)"]
    assert [guard.limit for guard in radius.pieces[0].guards] == [1]
    tight = quantized(step="1/8", limit=1, overflow=q.Saturating("saturate", None))
    refused = arithmetic(make_question([1], [[1], [-1]], execution=tight))
    assert reasons(refused, 1) == ["arithmetic: missing premise: saturation_margin"]


@pytest.mark.parametrize(
    "blocks",
    [
        {"domain": q.FullDomain("full", None, premise("1/10"))},
        {"metadata": covering(), "search": depths(1, 8, bits=(4,))},
    ],
    ids=["full domain", "covering code"],
)
def test_recomputed_ranges_count_only_where_the_atoms_that_run_are_known(blocks: Any) -> None:
    """Between the witnesses, and for a coded dictionary, states and fields may be larger."""
    for semantics, lacking in (("write_back", "saturation_margin"), ("increment", "field_bound")):
        execution = quantized(
            semantics, step="1/8", limit=2, overflow=q.Saturating("saturate", None)
        )
        radius = arithmetic(make_question([1], [[1], [-1]], execution=execution, **blocks))
        assert reasons(radius, 1) == [f"arithmetic: missing premise: {lacking}"]
        listed = arithmetic(make_question([1], [[1], [-1]], execution=execution))
        assert radius_at(listed, 1) is not None


def test_the_better_of_a_declared_and_a_recomputed_margin_counts() -> None:
    for declared_margin, ceiling, names in (("1/2", 1, ()), (3, 3, ("saturation_margin",))):
        execution = quantized(
            step="1/8", limit=2, overflow=q.Saturating("saturate", premise(declared_margin))
        )
        radius = arithmetic(make_question([1], [[1], [-1]], execution=execution))
        assert [guard.limit for guard in radius.pieces[0].guards] == [ceiling]
        assert radius.declared == names


@settings(derandomize=True, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_register_that_is_wide_enough_is_never_exceeded(seed: int) -> None:
    """T4.6: where the guard holds, every input and output of the increment's rounding fits."""
    rng = random.Random(seed)
    n, count, depth = rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 14)
    atoms = [[ex.small(rng) for _ in range(n)] for _ in range(count)]
    step = Fraction(1, rng.randint(2, 30))
    limit = step * rng.randint(1, 60)
    rounding: ex.Rounding = rng.choice(["nearest", "directed", "stochastic"])
    semantics: Any = rng.choice(["increment", "error_feedback"])
    norm: q.Norm = rng.choice([LINF, weighted_linf(*(["1/2", 3][:n]))])
    carry = None
    if semantics == "error_feedback" and rng.random() < 0.5:
        carry = q.Grid(q.DepthRule(step / 3, 0), rounding, None)
    bound = max(ex.length(norm, atom) for atom in atoms)
    question = declared(
        norm=norm,
        dimension=n,
        synthesis=bounded_variation(field_bound=premise(bound), state_lipschitz=0),
        execution=quantized(
            semantics,
            step,
            rounding=rounding,
            limit=limit,
            carry=carry,
            overflow=q.Saturating("saturate", premise(10**6)),
        ),
    )
    radius = arithmetic(question)
    if radius_at(radius, depth) is None:
        assert reasons(radius, depth) == ["arithmetic: the increment register can saturate (T4.6)"]
        return
    zero = [[Fraction(0)] * n for _ in range(n)]
    system = ex.Affine(
        norm, [zero] * count, atoms, [Fraction(0)] * n, Fraction(1), Fraction(0), None
    )
    machine = ex.Machine(semantics, step, ex.rounder(rng, rounding),
                         None if carry is None else carry.step.coefficient,
                         ex.rounder(rng, rounding), lambda: [Fraction(0)] * n)  # fmt: skip
    schedule = [rng.randrange(count) for _ in range(depth)]
    executed, inputs = ex.execute(system, machine, schedule, system.start)
    assert all(abs(x) <= limit for value in inputs for x in value)
    deviation = ex.length(
        norm, ex.add(executed[-1], ex.scaled(Fraction(-1), system.ideal(schedule)[-1]))
    )
    assert deviation <= (radius_at(radius, depth) or 0)


def test_wrapping_needs_an_invariant_that_leaves_room_for_rounding() -> None:
    """Values below the limit are written a cell's rounding further at most."""

    def wrapping(invariant: q.Premise | None, limit: int | None = 2) -> Radius:
        execution = quantized(step="1/4", limit=limit, overflow=q.Wrapping("wrap", invariant))
        return arithmetic(declared(execution=execution))

    assert reasons(wrapping(None), 1) == [
        "arithmetic: wrapping without a no-overflow invariant is uncertified (T4.9)"
    ]
    assert reasons(wrapping(premise(1, "1875001/1000000")), 1) == [
        "arithmetic: the no-overflow invariant and rounding reach beyond the grid's limit (T4.9)"
    ]
    assert reasons(wrapping(premise(2), None), 1) == [
        "arithmetic: a register that can overflow needs its range (T4.6, T4.9)"
    ]
    assert reasons(wrapping(premise(2, evidence=Evidence.UNAVAILABLE)), 1)
    held = wrapping(premise(1, "15/8"))
    assert radius_at(held, 1) is not None and "no_overflow" in held.declared


def test_a_margin_of_the_state_changes_nothing_for_an_increment_register() -> None:
    """Its premise, there or not, neither widens nor narrows what is known (design rule 4)."""
    radii = []
    for margin in (None, premise("1/1000"), premise(100)):
        execution = quantized(
            "error_feedback", step="1/8", limit=9, overflow=q.Saturating("saturate", margin)
        )
        radii.append(arithmetic(declared(execution=execution)))
    assert radii[0] == radii[1] == radii[2]
    assert radius_at(radii[0], 8) is not None


def test_a_carry_register_must_hold_what_one_rounding_leaves() -> None:
    """Nearest rounding to 1/8 leaves 1/16, and its own rounding to 1/64 adds 1/128."""
    for limit, holds in (("9/128", True), ("8/128", False)):
        carry = q.Grid(q.DepthRule(Fraction(1, 64), 0), "nearest", Fraction(limit))
        execution = quantized(
            "error_feedback", step="1/8", limit=9, carry=carry,
            overflow=q.Saturating("saturate", None),
        )  # fmt: skip
        radius = arithmetic(declared(execution=execution))
        assert (radius_at(radius, 8) is not None) == holds
        if not holds:
            assert "the carry register is narrower" in reasons(radius, 8)[0]


# --- what it rests on -----------------------------------------------------------------------------


def test_omitted_terms_are_missing_and_absent_ones_are_zero() -> None:
    omitted = arithmetic(declared(execution=quantized(field_error=None, initial_error=None)))
    assert reasons(omitted, 1) == ["arithmetic: missing premise: field_error, initial_error"]
    asked = arithmetic(declared(execution=quantized()))
    assert asked.declared == ("state_lipschitz",)


def test_lifted_data_give_the_initial_error_themselves() -> None:
    """0 from a state on the grid, one rounding from any other, which `exact` cannot deny.

    A looser declared bound is not used, a tighter one is, as a declared premise.
    """
    off, on = vector(["1/3"]), vector(["3/4"])
    for initial, error, value in (
        (None, None, 0),
        (on, None, 0),
        (on, ABSENT, 0),
        (off, None, Fraction(1, 8)),
        (off, ABSENT, Fraction(1, 8)),
        (off, premise(1), Fraction(1, 8)),
        (off, premise("1/16"), Fraction(1, 16)),
    ):
        execution = quantized(step="1/4", initial_error=error)
        radius = arithmetic(make_question([2], [[1]], initial=initial, execution=execution))
        assert radius_at(radius, 1) == Fraction(1, 8) + value
        assert bool(radius.declared) == (value == Fraction(1, 16))
    # Increments are added to a state that stays where it is.
    execution = quantized("increment", step="1/4", initial_error=ABSENT)
    radius = arithmetic(make_question([2], [[1]], initial=off, execution=execution))
    assert radius_at(radius, 1) == Fraction(1, 8)


def test_error_feedback_needs_room_in_a_declared_tube_for_its_carry() -> None:
    tube = q.DeclaredTube("declared", premise("1/100"))
    question = declared(
        tube=tube,
        synthesis=bounded_variation(growth=growth(-1)),
        execution=quantized("error_feedback", step="1/4", power=1),
    )
    assert radius_at(arithmetic(question, 0), 1) is not None
    radius = arithmetic(question, 1)
    assert reasons(radius, 12) == [
        "arithmetic: the tube's margin is smaller than the carry radius rho of T4.6"
    ]
    assert radius_at(radius, 13) is not None
    written = declared(
        tube=tube, synthesis=bounded_variation(growth=growth(-1)), execution=quantized()
    )
    assert radius_at(arithmetic(written, 1), 1) is not None


def test_negative_bounds_are_no_premises() -> None:
    from qreplace.errors import Malformed

    with pytest.raises(Malformed, match="the premise field_error bounds a size"):
        radii_of(declared(execution=quantized(field_error=premise(-1))))

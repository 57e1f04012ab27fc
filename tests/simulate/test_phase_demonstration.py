"""Phase demonstrations: every prediction holds, a wrong one is found, and the regimes are seen."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.simulate import phase as module
from qreplace.simulate.arithmetic import distance, simulate
from qreplace.simulate.lattice import Falsified
from qreplace.simulate.model import Arithmetic, Atom, FixedPoint, Rounding, System, grid
from qreplace.simulate.phase import (
    HeatMap,
    default_depths,
    default_heat_plan,
    default_plan,
    default_system,
    heat,
    phase,
    roomy_limit,
)
from qreplace.simulate.phase_table import (
    CURVES,
    Curve,
    PhasePlan,
    PhaseTable,
    fitted_slope,
    grid_step,
    thinned,
)
from qreplace.simulate.predicted import StepConstants, constants_at
from qreplace.spec.blocks.execution import QuantizedExecutionSpec

SEEDS = st.integers(0, 2**32 - 1)
ROUNDINGS: tuple[Rounding, ...] = (
    "nearest_even", "nearest_away", "toward_zero", "floor", "stochastic",
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> PhaseTable:
    """The built-in demonstration."""
    return phase(default_plan())


@pytest.fixture(scope="module")
def heated() -> HeatMap:
    """The built-in heat map."""
    plan, bits = default_heat_plan(default_plan())
    return heat(plan, bits)


def a_plan(rng: random.Random) -> PhasePlan:
    """Any affine system, register and mode, at a few depths."""
    q, count = rng.randint(1, 3), rng.randint(1, 3)

    def number(size: int = 8) -> Fraction:
        return Fraction(rng.randint(-size, size), 8)

    atoms = tuple(
        Atom(tuple(number() for _ in range(q)),
             tuple(tuple(number(12) for _ in range(q)) for _ in range(q)))
        for _ in range(count)
    )  # fmt: skip
    shares = [rng.randint(0, 4) for _ in range(count)]
    total = sum(shares)
    weights = tuple(Fraction(s, total) for s in shares) if total else None
    return PhasePlan(
        system=System(atoms, tuple(number() for _ in range(q)), Fraction(rng.randint(1, 6), 4)),
        weights=weights or (Fraction(1), *(Fraction(0),) * (count - 1)),
        depths=tuple(sorted({rng.randint(1, 60) for _ in range(3)})),
        state_bits=rng.randint(3, 14),
        limit=Fraction(rng.choice([1, 8, 64])),
        rounding=rng.choice(ROUNDINGS),
        carry_bits=rng.randint(0, 6),
        seed=rng.randint(0, 99),
    )


# --- predictions hold, and a wrong one is found ---------------------------------------------------


@settings(max_examples=60)
@given(SEEDS)
def test_no_run_crosses_its_prediction(seed: int) -> None:
    found = phase(a_plan(random.Random(seed)))
    assert len(found.rows) == len(found.plan.depths) * len(CURVES)
    for row in found.rows:
        assert (row.predicted is None) == (row.overflows > 0)
        if row.predicted is not None:
            assert row.error <= row.predicted + 2 * found.target_radius


def smaller(**factors: int) -> module.ConstantsAt:
    """The constants with some of them divided."""

    def constants(system: System, depth: int) -> StepConstants:
        own = constants_at(system, depth)
        return replace(own, **{name: getattr(own, name) / by for name, by in factors.items()})

    return constants


@pytest.mark.parametrize(("factors", "words"), [
    ({"growth": 4}, "T4.3 .* is falsified at depth .* write_back"),
    ({"field_bound": 100, "difference_bound": 100}, "T3.3 .* is falsified at depth 4, ideal"),
])  # fmt: skip
def test_a_wrong_constant_is_falsified(factors: dict[str, int], words: str) -> None:
    with pytest.raises(Falsified, match=words):
        phase(default_plan(), constants=smaller(**factors))


def test_a_wrong_constant_is_falsified_in_the_heat_map_too() -> None:
    plan, bits = default_heat_plan(default_plan())
    with pytest.raises(Falsified):
        heat(plan, bits, constants=smaller(growth=4))


def test_a_wrong_freezing_line_is_falsified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_frozen", lambda *_: True)
    with pytest.raises(Falsified, match=r"T4\.4: write_back moves at depth 4"):
        phase(default_plan())


# --- the rows are the definitions -----------------------------------------------------------------


def by_hand(plan: PhasePlan, curve: Curve, depth: int, schedule: list[int]) -> list[Fraction]:
    """The executed endpoint of affine atoms to nearest, ties to even, written out again."""
    step = grid_step(plan.limit, plan.state_bits)
    fine = step / 2**plan.carry_bits

    def nearest(value: Fraction, unit: Fraction) -> Fraction:
        return round(value / unit) * unit  # Python rounds a Fraction's ties to even

    state = [nearest(z, step) for z in plan.system.initial]
    carry = [Fraction(0)] * len(state)
    for pick in schedule:
        atom = plan.system.atoms[pick]
        moves = [
            plan.system.horizon / depth * (b + sum(a * z for a, z in zip(row, state, strict=True)))
            for b, row in zip(atom.offset, atom.matrix or (), strict=True)
        ]
        if curve == "write_back":
            state = [nearest(z + v, step) for z, v in zip(state, moves, strict=True)]
            continue
        wanted = [v + r for v, r in zip(moves, carry, strict=True)]
        taken = [nearest(w, step) for w in wanted]
        state = [z + t for z, t in zip(state, taken, strict=True)]
        if curve != "increment":
            carry = [w - t for w, t in zip(wanted, taken, strict=True)]
        if curve == "rounded_carry":
            carry = [nearest(r, fine) for r in carry]
    return state


@pytest.mark.parametrize("curve", ["write_back", "increment", "error_feedback", "rounded_carry"])
def test_rows_are_the_definitions(curve: Curve) -> None:
    system, weights = default_system()
    plan = PhasePlan(system, weights, (1, 4, 7, 30), state_bits=7, carry_bits=2, curves=(curve,))
    found = phase(plan)
    for row in found.rows:
        schedule = chairman_schedule(weights, row.depth)
        executed = by_hand(plan, curve, row.depth, schedule)
        state, ideal = [Fraction(z) for z in system.initial], system.horizon / row.depth
        for pick in schedule:
            offset = system.atoms[pick].offset
            state = [z + ideal * (b - z) for z, b in zip(state, offset, strict=True)]
        exact = distance(executed, state)
        assert exact <= row.to_ideal <= exact + Fraction(1, 2**100)


@settings(max_examples=40)
@given(SEEDS)
def test_the_short_way_to_an_endpoint_is_that_of_simulate(seed: int) -> None:
    rng = random.Random(seed)
    plan = a_plan(rng)
    depth = plan.depths[0]
    schedule = chairman_schedule(plan.weights, depth)
    state = FixedPoint(((plan.grid_step,),), plan.state_bits, "saturate")
    increment = grid(plan.grid_step)
    own = Arithmetic("error_feedback", plan.rounding, state, increment, seed=plan.seed)
    found = module._endpoint_in_codes(plan.system, schedule, own)
    run = simulate(plan.system, schedule, own)
    assert found == (run.executed, sum(run.overflows.values()), run.field_error)


# --- the regimes ----------------------------------------------------------------------------------


def test_slopes_of_the_built_in_demonstration(table: PhaseTable) -> None:
    found = {(slope.curve, slope.branch): slope for slope in table.slopes}
    assert set(found) == {
        ("ideal", "all"), ("scaled_feedback", "all"),
        ("write_back", "left"), ("write_back", "right"),
    }  # fmt: skip
    for slope in found.values():
        assert slope.slope is not None and slope.count >= 5
        assert abs(slope.slope - slope.expected) <= 0.1


def test_the_measured_optimum_is_near_the_predicted_one(table: PhaseTable) -> None:
    best = table.measured_optimum
    assert best is not None
    assert table.optimum / 2 <= best.depth <= 2 * table.optimum
    predicted = table.predicted_best("write_back")
    assert predicted is not None and table.optimum / 2 <= predicted.depth <= 2 * table.optimum


def test_beyond_the_freezing_line_the_error_is_that_of_the_initial_state(
    table: PhaseTable,
) -> None:
    line = table.freezing_depth
    assert table.plan.depths[-2] < line < table.plan.depths[-1]
    for curve in ("write_back", "increment"):
        frozen = [row for row in table.by_curve[curve] if row.frozen]
        assert [row.depth for row in frozen] == [d for d in table.plan.depths if d > line]
        assert all(row.predicted is not None and row.formula.startswith("T4.4") for row in frozen)
        assert all(row.predicted == row.error for row in frozen)
    assert not any(row.frozen for row in table.by_curve["error_feedback"])


def test_feedback_beats_write_back_beyond_the_optimum(table: PhaseTable) -> None:
    last = {curve: table.by_curve[curve][-3] for curve in CURVES}
    assert last["error_feedback"].error * 1000 < last["write_back"].error
    assert last["scaled_feedback"].error < last["error_feedback"].error
    assert last["rounded_carry"].error > last["error_feedback"].error


def test_increments_of_a_start_on_the_grid_are_write_back(table: PhaseTable) -> None:
    pairs = zip(table.by_curve["increment"], table.by_curve["write_back"], strict=True)
    assert all(one.error == two.error for one, two in pairs)


def test_floor_rounding_never_freezes() -> None:
    plan = replace(default_plan(), rounding="floor", depths=(16384,), curves=("write_back",))
    (row,) = phase(plan).rows
    assert not row.frozen
    assert row.to_ideal > Fraction(1, 10)


def test_an_overflowing_register_has_no_prediction_and_says_so() -> None:
    plan = replace(default_plan(), limit=Fraction(1, 200), depths=(16, 32))
    found = phase(plan)
    over = [row for row in found.rows if row.overflows]
    assert over and all(row.predicted is None and row.arithmetic is None for row in over)
    assert "overflow" in found.text()
    assert any(row["predicted"] is None for row in found.document()["rows"])


def test_the_target_of_a_bent_field_is_the_ideal_run() -> None:
    one = ((Fraction(1),),)
    half = ((Fraction(1, 2),),)
    atoms = tuple(
        Atom((Fraction(b),), ((Fraction(-1),),), one, (Fraction(b),), half, "relu") for b in (1, -1)
    )
    system = System(atoms, (Fraction(0),), Fraction(1))
    found = phase(PhasePlan(system, (Fraction(1, 2), Fraction(1, 2)), (8, 32), state_bits=10))
    assert found.target == "the ideal run at the same depth"
    assert all(row.error == row.to_ideal and row.synthesis == 0 for row in found.rows)
    assert all(row.error == 0 for row in found.by_curve["ideal"])
    assert any(row.error > 0 for row in found.by_curve["write_back"])


# --- the heat map ---------------------------------------------------------------------------------


def test_the_heat_map_is_frozen_beyond_its_line_and_best_near_its_optimum(heated: HeatMap) -> None:
    for bits in heated.bits:
        rows = [heated.rows["write_back", bits, depth] for depth in heated.plan.depths]
        assert [row.frozen for row in rows] == [row.depth > heated.freezing[bits] for row in rows]
        moving = [row for row in rows if not row.frozen]
        best = min(moving, key=lambda row: row.error)
        assert heated.optimum[bits] / 4 <= best.depth <= 4 * heated.optimum[bits]
    assert any(row.frozen for row in heated.rows.values())


def test_heat_cells_are_the_rows_of_a_table(table: PhaseTable, heated: HeatMap) -> None:
    shared = {row.depth: row for row in table.by_curve["write_back"]}
    for bits, depth, row in heated.cells("write_back"):
        if bits == table.plan.state_bits:
            assert row == shared[depth]


# --- documents ------------------------------------------------------------------------------------


def test_the_document_is_exact_and_json(table: PhaseTable) -> None:
    document = json.loads(json.dumps(table.document()))
    assert (document["kind"], document["evidence"]) == ("phase", "diagnostic")
    assert document["norm"] == "linf"
    row = document["rows"][-1]
    assert row["semantics"] == "scaled_feedback"
    assert Fraction(row["error"]) == table.rows[-1].error
    assert row["error~"] == pytest.approx(float(table.rows[-1].error))
    assert document["optimum"]["measured"] == 128
    assert Fraction(document["freezing_depth"]) == table.freezing_depth


def test_the_text_names_what_matters(table: PhaseTable) -> None:
    text = table.text()
    for words in (" frozen", "freezing line", "optimum of write-back", "right branch: +",
                  "label: diagnostic", "linf"):  # fmt: skip
        assert words in text
    tables = text.split("errors are linf")[0].splitlines()
    assert max(map(len, tables)) <= 100
    assert sum(line[0].isdigit() for line in tables if line) == 2 * 14


def blocks(table: PhaseTable) -> Iterator[Any]:
    return iter(YAML(typ="safe").load_all(table.premise_block()))


def test_premise_blocks_are_execution_blocks_of_a_specification(table: PhaseTable) -> None:
    found = [QuantizedExecutionSpec.model_validate(block["execution"]) for block in blocks(table)]
    assert [block.semantics for block in found] == [
        "write_back", "increment", "error_feedback", "error_feedback", "error_feedback",
    ]  # fmt: skip
    for block in found:
        assert not isinstance(block.field_error, str) and block.field_error is not None
        assert block.field_error.evidence.value == "diagnostic"
    assert found[0].grid.bits == 14
    assert found[0].grid.limit == 1
    step = found[1].grid.step
    assert step is not None and (step.coefficient, step.power) == (table.plan.grid_step, 0)
    scaled = found[4].grid.step
    assert scaled is not None and (scaled.coefficient, scaled.power) == (table.scaled_step, 1)
    assert found[3].carry is not None and found[2].carry is None


@pytest.mark.parametrize(("rounding", "word"), [("floor", "directed"), ("stochastic",) * 2])
def test_premise_blocks_name_the_rounding(rounding: Rounding, word: str) -> None:
    plan = replace(default_plan(), rounding=rounding, depths=(8,))
    assert {block["execution"]["grid"]["rounding"] for block in blocks(phase(plan))} == {word}


def test_progress_counts_the_depths() -> None:
    seen: list[tuple[str, int, int]] = []
    phase(replace(default_plan(), depths=(4, 8)), lambda *step: seen.append(step))
    assert seen == [("depths", 0, 2), ("depths", 1, 2), ("depths", 2, 2)]


# --- refusals, before anything runs ---------------------------------------------------------------


@pytest.mark.parametrize(("changes", "words"), [
    ({"depths": ()}, "needed depths from 1"),
    ({"depths": (0, 4)}, "needed depths from 1"),
    ({"depths": (8, 4)}, "ascending depths"),
    ({"depths": (10**7 + 1,)}, "needed depths from 1 to 10000000"),
    ({"depths": (10**7,)}, "coordinate steps; needed at most"),
    ({"state_bits": 0}, "has 0 bits"),
    ({"state_bits": 64}, "has 64 bits"),
    ({"state_bits": 60}, "needed at most 48"),
    ({"carry_bits": -1}, "needed 0 to 48"),
    ({"limit": Fraction(0)}, "are positive"),
    ({"scaled_step": Fraction(-1)}, "are positive"),
    ({"curves": ()}, "needed some of the semantics"),
    ({"weights": (Fraction(1), Fraction(1, 10**30))}, "sum to exactly 1"),
])  # fmt: skip
def test_bad_plans_are_refused(
    changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Site, "at", None)  # nothing runs
    with pytest.raises(InputError, match=words):
        phase(replace(default_plan(), **changes))
    if "curves" not in changes and "state_bits" not in changes:
        with pytest.raises(InputError, match=words):
            heat(replace(default_plan(), **changes), [8])


def test_bad_widths_of_a_heat_map_are_refused() -> None:
    with pytest.raises(InputError, match="has 0 bits"):
        heat(default_plan(), [8, 0])


@given(SEEDS)
def test_a_roomy_limit_holds_the_ideal_paths(seed: int) -> None:
    plan = a_plan(random.Random(seed))
    limit = roomy_limit(plan.system, plan.depths)
    for row in phase(replace(plan, limit=limit, curves=("ideal",))).rows:
        assert row.margin + row.step >= limit / 2 - limit / 2**plan.state_bits
    assert limit.denominator == 1 and limit.numerator.bit_count() == 1


def test_parts() -> None:
    assert fitted_slope([(x, 3 * x**-2.5) for x in (1.0, 2.0, 8.0)]) == pytest.approx(-2.5)
    assert thinned(range(1, 101), 4) == [1, 34, 67, 100]
    assert thinned([1, 5], 4) == [1, 5]
    depths = default_depths()
    assert all(depth % 4 == 0 for depth in depths) and list(depths) == sorted(set(depths))

"""Error against depth in every semantics, each beside its predicted radius (theory T4.3-T4.7).

A demonstration recomputes every bound on every run; one that a run crosses is an error, not a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.simulate.arithmetic import distance, simulate
from qreplace.simulate.ideal_endpoint import IdealEnd, ideal_end
from qreplace.simulate.lattice import Falsified
from qreplace.simulate.model import (
    MAX_SIMULATED_DEPTH,
    ROUNDINGS,
    SEMANTICS,
    Arithmetic,
    Atom,
    FixedPoint,
    System,
    Vector,
    grid,
    require_width,
)
from qreplace.simulate.phase_table import (
    CURVES,
    Curve,
    PhasePlan,
    PhaseRow,
    PhaseTable,
    grid_step,
    semantics_of,
)
from qreplace.simulate.predicted import (
    FORMULAS,
    Cells,
    StepConstants,
    arithmetic_radius,
    constants_at,
    freezing_depth,
    is_frozen,
    path_radius,
    rounding_cell,
    short,
    synthesis_radius,
    write_back_optimum,
)
from qreplace.simulate.rounding import round_to_grid
from qreplace.simulate.targets import Target, relaxed_target, require_weights

MAX_STEPS = 5_000_000
"""Steps times coordinates of all runs of one demonstration."""
MAX_BITS = 48
"""Widest state register of a demonstration."""
HEAT_CURVES: tuple[Curve, ...] = ("write_back", "error_feedback")

Progress = Callable[[str, int, int], None]
ConstantsAt = Callable[[System, int], StepConstants]


def default_system() -> tuple[System, tuple[Fraction, ...]]:
    """A leaky scalar map of two atoms at four inputs, and the weights of its target.

    ``z' = -z - 17/24 y`` and ``z' = -z + 7/24 y``, a quarter and three quarters of the time, at y =
    5/8, 6/8, 7/8 and 1. The atoms all but balance, so the state stays small beside the increments
    and rounding errors of the same sign add up; nearest rounding of a state that moves fast
    averages them out instead. The largest error over several inputs grows evenly with depth, where
    that of one input jumps about with the remainders.
    """
    inputs = [Fraction(k, 8) for k in (5, 6, 7, 8)]
    q = len(inputs)
    leak = tuple(tuple(Fraction(-(i == k)) for k in range(q)) for i in range(q))
    forcings = Fraction(-17, 24), Fraction(7, 24)
    atoms = tuple(Atom(tuple(u * y for y in inputs), leak) for u in forcings)
    return System(atoms, (Fraction(0),) * q, Fraction(1)), (Fraction(1, 4), Fraction(3, 4))


def default_depths() -> tuple[int, ...]:
    """Multiples of the weights' period, two an octave, across the optimum and the freezing line."""
    return tuple(sorted({4 * round(2 ** (k / 2)) for k in range(25)}))


def default_plan() -> PhasePlan:
    """The built-in demonstration."""
    system, weights = default_system()
    return PhasePlan(system, weights, default_depths())


def roomy_limit(system: System, depths: Sequence[int]) -> Fraction:
    """A power of two that leaves executed states room: twice what ideal ones reach, at least."""
    start = max(map(abs, system.initial))
    reach = max(path_radius(system, depth) for depth in (depths[0], depths[-1]))
    limit = Fraction(1)
    while limit < 2 * (start + reach):
        limit *= 2
    return limit


def phase(
    plan: PhasePlan, progress: Progress | None = None, constants: ConstantsAt = constants_at
) -> PhaseTable:
    """Run every depth in every semantics and compare it with what theory predicts.

    ``constants`` gives B, L and the growth at a depth. Raises ``InputError`` before anything runs
    for a plan that is too large or contradicts itself, and ``Falsified`` when a run crosses its
    prediction.
    """
    _require(plan)
    target = relaxed_target(plan.system, plan.weights)
    last = constants(plan.system, plan.depths[-1])
    cell = rounding_cell(plan.grid_step, plan.rounding)
    optimum = write_back_optimum(last, plan.system.horizon, cell)
    if plan.scaled_step is None:
        meeting = 1 if math.isnan(optimum) else max(1, round(optimum))
        plan = replace(plan, scaled_step=plan.grid_step * meeting)
    rows: list[PhaseRow] = []
    for done, depth in enumerate(plan.depths):
        if progress is not None:
            progress("depths", done, len(plan.depths))
        site = _Site.at(plan, target, depth, constants)
        rows.extend(site.row(curve, plan.state_bits) for curve in plan.curves)
    if progress is not None:
        progress("depths", len(plan.depths), len(plan.depths))
    return PhaseTable(
        plan=plan,
        target="the ideal run at the same depth" if target is None else target.how,
        target_radius=Fraction(0) if target is None else target.radius,
        rows=tuple(rows),
        freezing_depth=freezing_depth(plan.system, plan.grid_step),
        optimum=optimum,
        scaled_step=plan.scaled_step or plan.grid_step,
        lipschitz=last.lipschitz,
    )


def _require(plan: PhasePlan, widths: Sequence[int] = ()) -> None:
    """Everything that can be wrong with a plan, before a run starts."""
    require_weights(plan.weights, len(plan.system.atoms))
    for bits in (plan.state_bits, *widths):
        require_width(bits, "the state's register")
        if bits > MAX_BITS:
            raise InputError(
                f"the state's register has {bits} bits; needed at most {MAX_BITS}",
                pointer="/state_bits",
            )
    if not 0 <= plan.carry_bits <= MAX_BITS:
        raise InputError(f"the carry has {plan.carry_bits} more bits; needed 0 to {MAX_BITS}")
    if plan.limit <= 0 or (plan.scaled_step is not None and plan.scaled_step <= 0):
        raise InputError("the limit and the scaled step are positive")
    depths = plan.depths
    if not depths or depths[0] < 1 or depths[-1] > MAX_SIMULATED_DEPTH:
        raise InputError(f"needed depths from 1 to {MAX_SIMULATED_DEPTH}", pointer="/depths")
    if list(depths) != sorted(set(depths)):
        raise InputError("needed ascending depths, each once", pointer="/depths")
    if not plan.curves or not set(plan.curves) <= set(CURVES):
        raise InputError(f"needed some of the semantics {', '.join(CURVES)}")
    runs = len(plan.curves) * max(1, len(widths))
    work = sum(depths) * plan.system.dimension * runs
    if work > MAX_STEPS:
        raise InputError(
            f"the demonstration takes {work} coordinate steps; needed at most {MAX_STEPS}",
            pointer="/depths",
            remedy="Ask for fewer or smaller depths.",
        )


@dataclass(frozen=True)
class _Site:
    """What all semantics share at one depth."""

    plan: PhasePlan
    depth: int
    schedule: list[int]
    ideal: IdealEnd
    target: Target
    constants: StepConstants
    synthesis: Fraction

    @classmethod
    def at(
        cls, plan: PhasePlan, target: Target | None, depth: int, constants: ConstantsAt
    ) -> _Site:
        """The ideal run of the depth's schedule, and the constants there."""
        schedule = chairman_schedule(plan.weights, depth)
        own = constants(plan.system, depth)
        ideal = ideal_end(plan.system, schedule)
        if target is None:
            aim = Target(ideal.state, ideal.radius, "")
            return cls(plan, depth, schedule, ideal, aim, own, Fraction(0))
        synthesis = synthesis_radius(own)
        apart = distance(ideal.state, target.value) - ideal.radius - target.radius
        _require_below("T3.3 Q_D + P_D", depth, "ideal", apart, synthesis)
        return cls(plan, depth, schedule, ideal, target, own, synthesis)

    def row(self, curve: Curve, bits: int) -> PhaseRow:
        """One run, checked against its bounds."""
        plan, semantics = self.plan, semantics_of(curve)
        step = self._step(curve, bits)
        initial = self._initial_error(curve, step)
        executed, overflows, field_error = self._run(curve, bits, step)
        cells = Cells(
            own=rounding_cell(step, plan.rounding),
            carry=rounding_cell(step / 2**plan.carry_bits, plan.rounding),
            field_error=field_error,
            initial_error=initial,
        )
        to_ideal = distance(executed, self.ideal.state)
        error = distance(executed, self.target.value)
        arithmetic = None
        if not overflows:
            arithmetic = arithmetic_radius(semantics, self.constants, cells)
            low = to_ideal - self.ideal.radius
            _require_below(FORMULAS[semantics], self.depth, curve, low, arithmetic)
        frozen = curve in ("write_back", "increment") and is_frozen(
            plan.system, self.depth, step, plan.rounding
        )
        if frozen and executed != plan.system.initial:
            raise Falsified(f"T4.4: {curve} moves at depth {self.depth}, beyond the freezing line")
        predicted = None if arithmetic is None else self.synthesis + arithmetic
        formula = FORMULAS[semantics]
        if frozen and predicted is not None and error + self.target.radius < predicted:
            predicted, formula = error + self.target.radius, "T4.4 frozen, exact"
        return PhaseRow(
            depth=self.depth,
            curve=curve,
            bits=bits,
            step=step,
            error=short(error + self.target.radius),
            to_ideal=short(to_ideal + self.ideal.radius),
            synthesis=self.synthesis,
            arithmetic=arithmetic,
            predicted=None if predicted is None else short(predicted),
            formula=formula,
            frozen=frozen,
            overflows=overflows,
            initial_error=initial,
            field_error=field_error,
            margin=plan.limit - grid_step(plan.limit, bits) / 2 - self.ideal.reach,
        )

    def _step(self, curve: Curve, bits: int) -> Fraction:
        if curve == "ideal":
            return Fraction(0)
        if curve == "scaled_feedback" and self.plan.scaled_step is not None:
            return self.plan.scaled_step / self.depth
        return grid_step(self.plan.limit, bits)

    def _initial_error(self, curve: Curve, step: Fraction) -> Fraction:
        """How far the stored initial state is off; the scaled grid's is kept as it is."""
        if curve in ("ideal", "scaled_feedback"):
            return Fraction(0)
        start, mode = self.plan.system.initial, self.plan.rounding
        return max(abs(step * round_to_grid(z, step, mode) - z) for z in start)

    def _run(self, curve: Curve, bits: int, step: Fraction) -> tuple[Vector, int, Fraction]:
        """The executed endpoint, how often a register saturated, and the measured eta."""
        if curve == "ideal":
            return self.ideal.state, 0, Fraction(0)
        arithmetic = self._arithmetic(curve, bits, step)
        found = _endpoint_in_codes(self.plan.system, self.schedule, arithmetic)
        if found is not None:
            return found
        run = simulate(self.plan.system, self.schedule, arithmetic)
        return run.executed, sum(run.overflows.values()), run.field_error

    def _arithmetic(self, curve: Curve, bits: int, step: Fraction) -> Arithmetic:
        plan, semantics = self.plan, semantics_of(curve)
        if curve == "scaled_feedback":
            return Arithmetic(semantics, plan.rounding, increment=grid(step), seed=plan.seed)
        carry = None
        if curve == "rounded_carry":
            carry = grid(step / 2**plan.carry_bits)
        state = FixedPoint(((step,),), bits, "saturate")
        increment = None if curve == "write_back" else grid(step)
        return Arithmetic(semantics, plan.rounding, state, increment, carry, seed=plan.seed)


def _endpoint_in_codes(
    system: System, schedule: list[int], arithmetic: Arithmetic
) -> tuple[Vector, int, Fraction] | None:
    """What ``simulate`` finds at the end of a run, without its path; ``None`` beyond 64 bits."""
    from qreplace.simulate.integers import lowered

    codes = lowered(system, schedule, arithmetic)
    if codes is None:
        return None
    from qreplace.simulate.arithmetic_kernels import FINE, run_codes

    found = run_codes(
        codes.lattice,
        codes.schedule,
        SEMANTICS.index(arithmetic.semantics),
        ROUNDINGS.index(arithmetic.rounding),
        arithmetic.seed,
    )
    if found.status != FINE:
        return None
    unit = codes.lattice.unit
    executed = tuple(int(code) * unit for code in found.states[-1])
    overflows = sum(int(count) for count in found.overflows)
    if codes.initial_extremes is not None:
        overflows += codes.initial_extremes[2]
    return executed, overflows, int(found.field_error) * unit / codes.step


def _require_below(
    formula: str, depth: int, curve: str, measured: Fraction, bound: Fraction
) -> None:
    if measured > bound:
        raise Falsified(
            f"{formula} is falsified at depth {depth}, {curve}: measured at least "
            f"{float(measured):.6g}, predicted at most {float(bound):.6g}"
        )


@dataclass(frozen=True)
class HeatMap:
    """Write-back and error feedback over depth and state bits, every cell checked."""

    plan: PhasePlan
    bits: tuple[int, ...]
    rows: Mapping[tuple[Curve, int, int], PhaseRow]
    """By semantics, bits and depth."""
    freezing: Mapping[int, Fraction]
    """The freezing line's depth for each width (theory T4.4)."""
    optimum: Mapping[int, float]
    """Write-back's predicted optimum for each width (theory T4.3)."""

    def cells(self, curve: Curve) -> Iterator[tuple[int, int, PhaseRow]]:
        """Bits, depth and row of every cell of one semantics."""
        for bits in self.bits:
            for depth in self.plan.depths:
                yield bits, depth, self.rows[curve, bits, depth]


def default_heat_plan(plan: PhasePlan) -> tuple[PhasePlan, tuple[int, ...]]:
    """About one depth an octave of a plan, and the widths around its own."""
    depths = [plan.depths[0]]
    for depth in plan.depths[1:]:
        if depth >= 2 * depths[-1]:
            depths.append(depth)
    first = max(2, plan.state_bits - 8)
    widths = tuple(range(first, min(MAX_BITS, plan.state_bits + 4) + 1, 2))
    return replace(plan, depths=tuple(depths), curves=HEAT_CURVES), widths


def heat(
    plan: PhasePlan,
    bits: Sequence[int],
    progress: Progress | None = None,
    constants: ConstantsAt = constants_at,
) -> HeatMap:
    """The errors of write-back and error feedback at every depth and width.

    Raises as ``phase`` does.
    """
    plan = replace(plan, curves=HEAT_CURVES)
    widths = tuple(sorted(set(bits)))
    _require(plan, widths)
    target = relaxed_target(plan.system, plan.weights)
    rows: dict[tuple[Curve, int, int], PhaseRow] = {}
    for done, depth in enumerate(plan.depths):
        if progress is not None:
            progress("heat map", done, len(plan.depths))
        site = _Site.at(plan, target, depth, constants)
        for width in widths:
            for curve in HEAT_CURVES:
                rows[curve, width, depth] = site.row(curve, width)
    if progress is not None:
        progress("heat map", len(plan.depths), len(plan.depths))
    last = constants(plan.system, plan.depths[-1])
    freezing, optimum = {}, {}
    for width in widths:
        step = grid_step(plan.limit, width)
        freezing[width] = freezing_depth(plan.system, step)
        cell = rounding_cell(step, plan.rounding)
        optimum[width] = write_back_optimum(last, plan.system.horizon, cell)
    return HeatMap(plan, widths, rows, freezing, optimum)

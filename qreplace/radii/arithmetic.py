"""The execution-arithmetic radius ``A_D`` (theory T4.1-T4.9)."""

from __future__ import annotations

from fractions import Fraction

from qreplace.premises import Evidence
from qreplace.question.model import (
    DeclaredSystem,
    DeclaredTube,
    ExactExecution,
    Grid,
    QuantizedExecution,
    Question,
    Saturating,
    WeightedL1Norm,
    WeightedLinfNorm,
    Wrapping,
)
from qreplace.question.norms import coordinate_radius
from qreplace.question.subject import Subject
from qreplace.radii.constants import FieldConstants, premise_constant, term_constant
from qreplace.radii.depth_function import DepthSum, EulerGrowth
from qreplace.radii.radius import (
    Constant,
    Guard,
    Piece,
    Premises,
    Radius,
    monomial,
    unavailable,
)
from qreplace.radii.synthesis import growth_pieces

FORMULAS = {
    "write_back": "T4.3 (rho_z + h eta) S1 / h",
    "increment": "T4.5 (rho + h eta) S1 / h",
    "error_feedback": "T4.6 rho + (L rho + eta) S1",
}


def arithmetic_radius(subject: Subject, constants: FieldConstants, bits: int) -> Radius | None:
    """``A_D`` of the declared execution; ``None`` when the question is about exact execution."""
    execution = subject.question.execution
    if isinstance(execution, ExactExecution):
        return None
    if execution is None:
        return unavailable("arithmetic", "the execution block is omitted")
    return _Arithmetic(subject, execution, constants, bits).radius()


class _Arithmetic:
    """One execution block with the constants of one dictionary."""

    def __init__(
        self, subject: Subject, execution: QuantizedExecution, constants: FieldConstants, bits: int
    ) -> None:
        self.subject = subject
        self.question: Question = subject.question
        self.execution = execution
        self.constants = constants
        self.bits = bits
        self.used = Premises()
        self.dimension = _dimension(subject, bits)

    def radius(self) -> Radius:
        """The radius on each growth piece, with its overflow conditions."""
        used, c = self.used, self.constants
        field_error = used.need(
            "field_error", term_constant("field_error", self.execution.field_error)
        )
        start = used.need("initial_error", self._initial_error())
        lipschitz = used.need("state_lipschitz", c.state_lipschitz)
        pieces, gaps = growth_pieces(c, used)
        blocked = self._overflow_conditions(field_error)
        if used.missing or blocked:
            names = ", ".join(dict.fromkeys(used.missing))
            return unavailable("arithmetic", blocked or f"missing premise: {names}")
        made = tuple(
            Piece(first, last, self._sum(rate, lipschitz, field_error, start))
            for first, last, rate in pieces
        )
        ceiling: Fraction | None = None
        if isinstance(self.execution.overflow, Saturating):
            ceiling = used.need("saturation_margin", self._saturation_margin())
            if used.missing:
                return unavailable("arithmetic", f"missing premise: {', '.join(used.missing)}")
        formula = FORMULAS[self.execution.semantics]
        if self.execution.carry is not None:
            formula += " + T4.7 rho_r S1 / h"
        return Radius(
            "arithmetic", formula, used.evidence, used.declared, made, gaps, used.guards, ceiling
        )

    def _sum(
        self, rate: Fraction, lipschitz: Fraction, field_error: Fraction, start: Fraction
    ) -> DepthSum:
        horizon = self.constants.horizon
        growth = EulerGrowth(rate, horizon)
        grid = self.execution.grid
        rho, power = self._cell(grid), grid.step.power
        total = monomial(field_error, 0, growth)
        if self.execution.semantics == "error_feedback":
            total = total + monomial(rho, -power) + monomial(lipschitz * rho, -power, growth)
        else:
            total = total + monomial(rho / horizon, 1 - power, growth)
        if self.execution.carry is not None:
            carry = self.execution.carry
            total = total + monomial(self._cell(carry) / horizon, 1 - carry.step.power, growth)
        # kappa^D = 1 + m S1, at most 1 for a contraction.
        total = total + monomial(start)
        if rate > 0:
            total = total + monomial(start * rate, 0, growth)
        return total

    def _cell(self, grid: Grid) -> Fraction:
        """Rounding radius times ``D**power``, in the study's norm (theory T4)."""
        cell = grid.step.coefficient / (2 if grid.rounding == "nearest" else 1)
        return coordinate_radius(self.question.norm, self.dimension, cell)

    def _initial_error(self) -> Constant | None:
        """A declared initial error; for lifted data, 0 from the state 0, else one rounding."""
        declared = term_constant("initial_error", self.execution.initial_error)
        if declared is not None or not self.constants.state_independent:
            return declared
        value = Fraction(0)
        if self.question.initial is not None:
            value = self._cell(self.execution.grid)
        return Constant("initial_error", value, Evidence.ANALYTIC_CERTIFIED, False)

    def _overflow_conditions(self, field_error: Fraction) -> str:
        """Record what overflow demands; a non-empty answer says why there is no radius at all."""
        overflow = self.execution.overflow
        if isinstance(overflow, Wrapping):
            if overflow.no_overflow is None:
                return "wrapping without a no-overflow invariant is uncertified (T4.9)"
            self.used.need("no_overflow", premise_constant("no_overflow", overflow.no_overflow))
        if self.execution.semantics == "error_feedback":
            self._carry_tube_condition()
        if not isinstance(overflow, Saturating) or self.execution.semantics == "write_back":
            return ""
        limit = self.execution.grid.limit
        if limit is None:
            return "a saturating increment register needs its range (T4.6)"
        bound = self.used.need("field_bound", self.constants.field_bound)
        grid, horizon = self.execution.grid, self.constants.horizon
        step = monomial(self._coordinate(bound + field_error) * horizon, -1)
        carried = monomial(grid.step.coefficient, -grid.step.power)
        if self.execution.carry is not None:
            carry = self.execution.carry.step
            carried = carried + monomial(carry.coefficient, -carry.power)
        self.used.conditions.append(
            Guard(step + carried, limit, "the increment register can saturate (T4.6)")
        )
        return ""

    def _coordinate(self, bound: Fraction) -> Fraction:
        """A coordinate bound from a bound in the study's norm."""
        norm = self.question.norm
        if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
            return bound / min(norm.weights)
        return bound

    def _carry_tube_condition(self) -> None:
        """T4.6 needs the tube enlarged by rho about executed states, unless ``m = L``."""
        tube = self.question.tube
        if self.constants.growth is None or not isinstance(tube, DeclaredTube):
            return
        margin = tube.margin
        self.used.need("tube_margin", Constant("tube_margin", margin.lower, margin.evidence, True))
        grid = self.execution.grid
        self.used.conditions.append(
            Guard(
                monomial(self._cell(grid), -grid.step.power),
                margin.lower,
                "the tube's margin is smaller than the carry radius rho of T4.6",
            )
        )

    def _saturation_margin(self) -> Constant | None:
        """T4.8: the distance of every ideal prefix from the box, declared or recomputed."""
        overflow = self.execution.overflow
        if isinstance(overflow, Saturating) and overflow.margin is not None:
            declared = overflow.margin
            return Constant("saturation_margin", declared.lower, declared.evidence, True)
        return self._computed_margin() if self.constants.state_independent else None

    def _computed_margin(self) -> Constant | None:
        """Ideal prefixes of state-independent atoms stay within ``|z_0| + T max_j |b_j|``."""
        limit = self.execution.grid.limit
        if limit is None or self.execution.semantics != "write_back" or self.question.initial:
            return None
        problem = self.subject.lifted(self.bits)
        largest = Fraction(max(max(map(abs, atom)) for atom in problem.atoms), problem.denominator)
        room = limit - largest * self.constants.horizon
        if room <= 0:
            return None
        return Constant(
            "saturation_margin", self._norm_margin(room), Evidence.ANALYTIC_CERTIFIED, False
        )

    def _norm_margin(self, room: Fraction) -> Fraction:
        """A norm bound below which every coordinate stays below ``room``."""
        norm = self.question.norm
        if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
            return room * min(norm.weights)
        return room


def _dimension(subject: Subject, bits: int) -> int:
    system = subject.question.system
    return (
        system.dimension if isinstance(system, DeclaredSystem) else subject.lifted(bits).dimension
    )

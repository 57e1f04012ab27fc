"""The execution-arithmetic radius ``A_D`` (theory T4.1-T4.9)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedRegisters
from qreplace.premises import Absent, Evidence, weakest
from qreplace.question.model import (
    MAX_DEPTH,
    CoveringMetadata,
    DeclaredSystem,
    ExactExecution,
    FullDomain,
    Grid,
    QuantizedExecution,
    Question,
    Registers,
    Saturating,
    Unbounded,
    WeightedL1Norm,
    WeightedLinfNorm,
    Wrapping,
)
from qreplace.question.norms import coordinate_radius
from qreplace.question.subject import Subject
from qreplace.radii.constants import FieldConstants, GrowthChoice, Sight
from qreplace.radii.depth_function import DepthSum, monomial
from qreplace.radii.radius import (
    Constant,
    Guard,
    Premises,
    Radius,
    larger,
    on_depths,
    smaller,
    unavailable,
)
from qreplace.radii.synthesis import need_room, on_growth, smallest_margin

FORMULAS = {
    "write_back": "T4.3 (rho_z + h eta) S1 / h",
    "increment": "T4.5 (rho + h eta) S1 / h",
    "error_feedback": "T4.6 rho + (L rho + eta) S1",
}


UNCOVERED = "no checked lattice claim covers this depth: its registers may overflow (T4.9, T4.10)"
LEFT = "executed states may leave the tube of the checked constants: the radius exceeds its margin"


def arithmetic_radii(
    subject: Subject,
    constants: FieldConstants,
    choice: GrowthChoice,
    bits: int,
    sight: Sight,
    registers: Sequence[ScopedRegisters] = (),
) -> list[Radius | None]:
    """``A_D`` of the declared execution, each way to it; ``None``: it is about exact execution.

    With checked ``registers`` of this execution: at their depths nothing overflows and a carry is
    exact, whatever else is declared (theory T4.10).
    """
    execution = subject.question.execution
    if isinstance(execution, ExactExecution):
        return [None]
    if execution is None:
        return [unavailable("arithmetic", "the execution block is omitted")]
    made = _Arithmetic(subject, execution, constants, choice, bits, sight)
    own = [entry for entry in registers if entry.code == bits and made.runs_as_listed]
    digest = subject.execution_digest(bits) if own else ""
    own = [entry for entry in own if entry.subject == digest]
    if not own:
        return [made.radius()]
    held = _Arithmetic(subject, execution, constants, choice, bits, sight).held(own)
    return [held] if isinstance(execution.overflow, Registers) else [made.radius(), held]


class _Arithmetic:
    """One execution block with the constants of one dictionary and one growth rate."""

    def __init__(
        self,
        subject: Subject,
        execution: QuantizedExecution,
        constants: FieldConstants,
        choice: GrowthChoice,
        bits: int,
        sight: Sight,
    ) -> None:
        self.subject = subject
        self.question: Question = subject.question
        self.execution = execution
        self.constants = constants
        self.choice = choice
        self.bits = bits
        self.sight = sight
        self.used = Premises()
        self.dimension = subject.dimension(bits)

    def held(self, registers: Sequence[ScopedRegisters]) -> Radius:
        """The radius at the depths at which checked claims exclude every overflow."""
        used = self.used
        field_error = used.need(
            "field_error", self.sight.upper("field_error", self.execution.field_error)
        )
        exact_carry = all(entry.exact_carry for entry in registers)
        total = self._sum(field_error, rounded_carry=not exact_carry)
        self._need_rooms(total)
        label = weakest([entry.evidence for entry in registers])
        used.used.append(Constant("registers", Fraction(0), label, False))
        formula = FORMULAS[self.execution.semantics] + ", T4.10 no register overflows"
        radius = on_growth("arithmetic", formula, total, self.choice, used)
        return on_depths(radius, _joined(registers), UNCOVERED)

    def _need_rooms(self, total: DepthSum) -> None:
        """What a tube's margin must leave: room for executed states, and for the carry."""
        self._feedback_room()
        room = smallest_margin([*self.used.used, self.choice.rate])
        if room is not None:
            # Step by step: while executed states are this close to ideal ones, the constants hold.
            self.used.conditions.append(Guard(total, room, LEFT))

    def radius(self) -> Radius:
        """The radius where its growth rate holds, with its overflow conditions."""
        used = self.used
        field_error = used.need(
            "field_error", self.sight.upper("field_error", self.execution.field_error)
        )
        total = self._sum(field_error, rounded_carry=True)
        blocked = self._overflow_conditions(field_error)
        if blocked:
            return unavailable("arithmetic", blocked)
        self._need_rooms(total)
        ceiling: Fraction | None = None
        if isinstance(self.execution.overflow, Saturating) and (
            self.execution.semantics == "write_back"
        ):
            # The limit is the written register's; of the others it is the increment's (T4.6), and
            # a margin of the state, declared or not, changes nothing.
            ceiling = used.need("saturation_margin", self._saturation_margin())
        formula = FORMULAS[self.execution.semantics]
        if self.execution.carry is not None:
            formula += " + T4.7 rho_r S1 / h"
        return on_growth("arithmetic", formula, total, self.choice, used, ceiling)

    def _sum(self, field_error: Fraction, *, rounded_carry: bool) -> DepthSum:
        used, horizon = self.used, self.constants.horizon
        growth, rate = self.choice.growth, self.choice.growth.rate
        grid = self.execution.grid
        rho, power = self._cell(grid), grid.step.power
        total = monomial(field_error, 0, growth)
        if self.execution.semantics == "error_feedback":
            lipschitz = used.need("state_lipschitz", self.constants.state_lipschitz)
            total += monomial(rho, -power) + monomial(lipschitz * rho, -power, growth)
        else:
            total += monomial(rho / horizon, 1 - power, growth)
        if self.execution.carry is not None and rounded_carry:
            carry = self.execution.carry
            total += monomial(self._cell(carry) / horizon, 1 - carry.step.power, growth)
        # kappa^D = 1 + m S1, at most 1 for a contraction.
        start = used.need("initial_error", self._initial_error())
        total += monomial(start)
        if rate > 0:
            total += monomial(start * rate, 0, growth)
        return total

    def _cell(self, grid: Grid) -> Fraction:
        """Rounding radius times ``D**power``, in the study's norm (theory T4)."""
        cell = grid.step.coefficient / (2 if grid.rounding == "nearest" else 1)
        return coordinate_radius(self.question.norm, self.dimension, cell)

    def _initial_error(self) -> Constant | None:
        """A declared bound; for given data also 0 from the state 0, else one rounding."""
        declared = self.sight.upper("initial_error", self.execution.initial_error)
        if isinstance(self.question.system, DeclaredSystem):
            return declared
        # Only write-back puts the initial state itself on a grid.
        moved = self.execution.semantics == "write_back" and not self._starts_on_grid()
        value = self._cell(self.execution.grid) if moved else Fraction(0)
        computed = Constant("initial_error", value, Evidence.ANALYTIC_CERTIFIED, False)
        if moved and isinstance(self.execution.initial_error, Absent):
            return computed  # `exact` is refuted by the data
        return smaller(declared, computed)

    def _starts_on_grid(self) -> bool:
        """Whether every initial coordinate is a multiple of the step, at every depth.

        A floating format is sure to hold 0 only: its step is no spacing of its values.
        """
        if self.question.initial is None:
            return True
        step = self.execution.grid.step
        state = self.subject.array(self.question.initial, "initial state")
        if self.execution.grid.rounding == "floating":
            return not any(state.numerators)
        return step.power == 0 and all(
            (Fraction(n, state.denominator) / step.coefficient).denominator == 1
            for n in state.numerators
        )

    def _overflow_conditions(self, field_error: Fraction) -> str:
        """Record what overflow demands; a non-empty answer says why there is no radius at all."""
        overflow, limit = self.execution.overflow, self.execution.grid.limit
        if isinstance(overflow, Unbounded):
            return ""
        if isinstance(overflow, Registers):
            return UNCOVERED
        if limit is None:
            return "a register that can overflow needs its range (T4.6, T4.9)"
        self._carry_condition()
        if isinstance(overflow, Wrapping):
            return self._wrapping_condition(overflow, limit)
        if self.execution.semantics != "write_back":
            self._increment_condition(field_error, limit)
        return ""

    def _feedback_room(self) -> None:
        if self.execution.semantics == "error_feedback" and self.choice.needs_room:
            grid = self.execution.grid
            rho = monomial(self._cell(grid), -grid.step.power)
            reason = "the tube's margin is smaller than the carry radius rho of T4.6"
            question, constants = self.question, self.constants
            need_room(question, constants, self.choice, rho, reason, self.used, self.sight)

    def _wrapping_condition(self, overflow: Wrapping, limit: Fraction) -> str:
        """T4.9: an invariant for every value before it is written; rounding may add a cell."""
        invariant = self.sight.upper("no_overflow", overflow.no_overflow)
        if invariant is None:
            return "wrapping without a no-overflow invariant is uncertified (T4.9)"
        reason = "the no-overflow invariant and rounding reach beyond the grid's limit (T4.9)"
        room = limit - self.used.need("no_overflow", invariant)
        self.used.conditions.append(Guard(_rounding(self.execution.grid), room, reason))
        return ""

    def _carry_condition(self) -> None:
        """T4.6, T4.7: a carry register holds what one rounding leaves, rounded itself."""
        carry = self.execution.carry
        if carry is not None and carry.limit is not None:
            left = _rounding(self.execution.grid) + _rounding(carry)
            reason = "the carry register is narrower than one rounding of the increment (T4.6)"
            self.used.conditions.append(Guard(left, carry.limit, reason))

    def _increment_condition(self, field_error: Fraction, limit: Fraction) -> None:
        """T4.6: a saturating increment register covers ``|h G_hat| + rho + rho_r``.

        A recomputed field bound counts only where the atoms that run are known.
        """
        known = self.constants.field_bound
        if self.constants.state_independent and not self.runs_as_listed:
            known = None
        bound = self.used.need("field_bound", known)
        grid, horizon = self.execution.grid, self.constants.horizon
        step = monomial(self._coordinate(bound + field_error) * horizon, -1)
        carried = monomial(grid.step.coefficient, -grid.step.power)
        if self.execution.carry is not None:
            carry = self.execution.carry.step
            carried += monomial(carry.coefficient, -carry.power)
        self.used.conditions.append(
            Guard(step + carried, limit, "the increment register can saturate (T4.6)")
        )

    def _coordinate(self, bound: Fraction) -> Fraction:
        """A coordinate bound from a bound in the study's norm."""
        norm = self.question.norm
        if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
            return bound / min(norm.weights)
        return bound

    def _saturation_margin(self) -> Constant | None:
        """T4.8: the distance of every ideal prefix from the box, declared or recomputed."""
        overflow = self.execution.overflow
        margin = overflow.margin if isinstance(overflow, Saturating) else None
        declared = self.sight.lower("saturation_margin", margin)
        computed = self._computed_margin() if self.constants.state_independent else None
        return larger(declared, computed)

    def _computed_margin(self) -> Constant | None:
        """Ideal prefixes of state-independent atoms stay within ``|z_0| + T max_j |b_j|``."""
        limit = self.execution.grid.limit
        if limit is None or self.execution.semantics != "write_back":
            return None
        if self.question.initial is not None or not self.runs_as_listed:
            return None
        problem = self.subject.lifted(self.bits)
        largest = Fraction(max(max(map(abs, atom)) for atom in problem.atoms), problem.denominator)
        room = limit - largest * self.constants.horizon
        if room <= 0:
            return None
        return Constant(
            "saturation_margin", self._norm_margin(room), Evidence.ANALYTIC_CERTIFIED, False
        )

    @property
    def runs_as_listed(self) -> bool:
        """Whether the atoms that run are the listed ones on the witnesses.

        A covering code runs other atoms; the full domain has inputs between the witnesses.
        """
        coded = isinstance(self.question.metadata, CoveringMetadata)
        return not coded and not isinstance(self.question.domain, FullDomain)

    def _norm_margin(self, room: Fraction) -> Fraction:
        """A norm bound below which every coordinate stays below ``room``."""
        norm = self.question.norm
        if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
            return room * min(norm.weights)
        return room


def _joined(registers: Sequence[ScopedRegisters]) -> list[tuple[int, int]]:
    """The depths that checked claims cover, as ranges in order and apart."""
    found: list[tuple[int, int]] = []
    for entry in sorted(registers, key=lambda entry: entry.depths.first):
        first, last = entry.depths.first, entry.depths.last
        if last is None:
            last = MAX_DEPTH
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def _rounding(grid: Grid) -> DepthSum:
    """The largest rounding error of one coordinate: half a step to nearest, else a step."""
    cell = grid.step.coefficient / (2 if grid.rounding == "nearest" else 1)
    return monomial(cell, -grid.step.power)

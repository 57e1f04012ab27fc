"""A study's own system on its own execution block, at its witnesses (theory T4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.claims import Claim
from qreplace.decision.plan import mixing_weights, plan, tightest_control
from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.premises import Absent
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import (
    AffineDynamicsSystem,
    ExactExecution,
    FullDomain,
    Grid,
    LiftedAffineSystem,
    QuantizedExecution,
    Registers,
    Saturating,
)
from qreplace.question.subject import Subject
from qreplace.simulate.model import (
    Arithmetic,
    Atom,
    FixedPoint,
    Matrix,
    OnOverflow,
    Rounding,
    Semantics,
    System,
    Vector,
    grid,
)
from qreplace.simulate.switching_weights import Weights, piece_weights, weights_of

MAX_MATRIX = 256
"""State coordinates up to which a state matrix is simulated entry by entry."""

ROUNDING: dict[str, Rounding] = {
    "nearest": "nearest_even",
    "directed": "floor",
    "stochastic": "stochastic",
}
"""The mode that a grid of a question runs in; it names a family of modes."""


def study_system(subject: Subject, bits: int) -> tuple[System, Vector]:
    """The system of a study with affine atoms, and its target; raises ``InputError`` for others."""
    question = subject.question
    if not isinstance(question.system, (LiftedAffineSystem, AffineDynamicsSystem)):
        raise InputError(
            f"a study of a {question.system.kind} system is not simulated",
            remedy="Write a simulation request with the system in it (docs/simulate.md).",
        )
    if isinstance(question.domain, FullDomain):
        raise InputError("a simulation runs the witnesses; this study asks about every input")
    problem = subject.affine(bits)
    matrix = _state_matrix(problem)
    atoms = tuple(Atom(_offset(problem, j), matrix) for j in range(len(problem.atoms)))
    target = tuple(Fraction(n, problem.denominator) for n in problem.target)
    initial = tuple(Fraction(n, problem.denominator) for n in problem.initial)
    return System(atoms, initial, problem.horizon), target


def _state_matrix(problem: AffineProblem) -> Matrix | None:
    if problem.rate == 0 and problem.matrix is None:
        return None
    q = problem.dimension
    if q > MAX_MATRIX:
        raise InputError(f"the state has {q} coordinates; needed at most {MAX_MATRIX}")
    return tuple(tuple(problem.entry(i, j) for j in range(q)) for i in range(q))


def _offset(problem: AffineProblem, atom: int) -> Vector:
    pieces = problem.atoms[atom]
    if len(pieces) > 1 or len(pieces[0].coefficients) > 1:
        raise InputError(f"atom {atom} changes with time; needed constant forcings")
    return tuple(Fraction(n, problem.denominator) for n in pieces[0].coefficients[0])


def study_arithmetic(subject: Subject, depth: int) -> Arithmetic:
    """The execution block at one depth; raises ``InputError`` where it says too little to run."""
    execution = subject.question.execution
    if isinstance(execution, ExactExecution):
        return Arithmetic("ideal", "nearest_even")
    if execution is None:
        raise InputError(
            "the execution block is omitted, so there is nothing to run",
            remedy="Write execution: exact, or declare its grids.",
        )
    if not isinstance(execution.field_error, Absent):
        raise InputError(
            "the field is computed with an error that is only bounded, not described",
            remedy="Write field_error: exact, or simulate a request with its registers.",
        )
    return _arithmetic(execution, depth)


def has_accumulator(subject: Subject) -> bool:
    """Whether the study declares the width that its fields are added up in (theory T4.11)."""
    execution = subject.question.execution
    return (
        isinstance(execution, QuantizedExecution)
        and isinstance(execution.overflow, Registers)
        and execution.overflow.accumulator_bits is not None
    )


def _arithmetic(execution: QuantizedExecution, depth: int) -> Arithmetic:
    if any(
        own is not None and own.rounding == "floating" for own in (execution.grid, execution.carry)
    ):
        raise InputError(
            "a study keeps the rounding radius of its floating format, not the format",
            remedy="Write a simulation request that names the format.",
        )
    semantics: Semantics = execution.semantics
    if semantics == "error_feedback" and execution.carry is not None:
        semantics = "rounded_carry"
    state, own, carry = _registers(execution, depth)
    return Arithmetic(
        semantics=semantics,
        rounding=ROUNDING[execution.grid.rounding],
        state=state,
        increment=None if execution.semantics == "write_back" else own,
        carry=carry,
    )


def _registers(
    execution: QuantizedExecution, depth: int
) -> tuple[FixedPoint, FixedPoint, FixedPoint | None]:
    """The registers of state, increment and carry; an accumulator's width is not simulated."""
    own, overflow = execution.grid, execution.overflow
    step = _step(own, depth)
    fine = None if execution.carry is None else _step(execution.carry, depth)
    if isinstance(overflow, Registers):
        mode: OnOverflow = overflow.on_overflow
        return (
            grid(step, overflow.state_bits, mode),
            grid(step, overflow.increment_bits, mode),
            None if fine is None else grid(fine, overflow.carry_bits, mode),
        )
    mode = "saturate" if isinstance(overflow, Saturating) else "wrap"
    written = _limited(own, step, mode)
    state = written if execution.semantics == "write_back" else grid(step)
    return (
        state,
        written,
        None if execution.carry is None or fine is None else _limited(execution.carry, fine, mode),
    )


def _step(own: Grid, depth: int) -> Fraction:
    return own.step.coefficient * Fraction(1, depth**own.step.power)


def _limited(own: Grid, step: Fraction, mode: OnOverflow) -> FixedPoint:
    """A grid as a register: the narrowest two's-complement one that holds its limit."""
    if own.limit is None:
        return grid(step)
    largest = int(own.limit / step)
    return grid(step, largest.bit_length() + 1, mode)


def study_weights(
    subject: Subject, claims: Sequence[Claim], depth: int, bits: int
) -> tuple[Weights, str]:
    """The relaxed control that a study's claims hold, averaged over ``depth`` cells (theory T3.3).

    The control of the smallest upper end, else the mixing weights of an affine dual; in words where
    they come from. Raises ``InputError`` where no claim holds one.
    """
    own = [claim for claim in claims if claim.code == bits]
    atoms = subject.question.dictionary_for(bits).atom_count
    control = tightest_control(own)
    if control is not None:
        made = piece_weights(control[1], atoms, subject.question.horizon, depth)
        return made, "the control of its claims with the smallest error, averaged over the steps"
    mixed = mixing_weights(own, atoms)
    if mixed is None:
        raise InputError(
            "the study's claims hold no relaxed control to switch",
            remedy="Write a simulation request with the weights in it (docs/simulate.md).",
        )
    return weights_of([mixed], depth), "the mixing weights of its affine_lp claim"


def study_schedule(
    subject: Subject, claims: Sequence[Claim], depth: int, bits: int
) -> tuple[list[int], str]:
    """The schedule of the study's plan at a depth, and in words where it comes from."""
    # The amount only enters the plan's own error bound; given, a control is rounded to a schedule.
    found = plan(subject, claims, depth, bits, rounding=Fraction(0))
    if found is not None and found["schedule"] is not None:
        return list(found["schedule"]), f"the study's plan, {found['order']}"
    atoms = subject.question.dictionary_for(bits).atom_count
    weights = [Fraction(1, atoms)] * atoms
    return chairman_schedule(weights, depth), "equal weights: the study has no plan at this depth"

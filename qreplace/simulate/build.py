"""From a simulation request, or from a study, to the data that the simulators run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.decision.controls import greedy
from qreplace.decision.schedules import chairman_schedule
from qreplace.errors import InputError
from qreplace.exact.rational import format_rational
from qreplace.simulate.model import (
    MAX_SIMULATED_DEPTH,
    Accumulator,
    Arithmetic,
    Atom,
    FixedPoint,
    FloatingPoint,
    Format,
    Matrix,
    Semantics,
    System,
    grid,
)
from qreplace.simulate.request import (
    AccumulatorSpec,
    AffineAtomSpec,
    ArithmeticSpec,
    AtomSpec,
    FixedPointSpec,
    FormatSpec,
    ReluAtomSpec,
    RoutedMapSpec,
    RoutingRequest,
    ScheduleSpec,
    SoftThresholdAtomSpec,
    SystemSpec,
)
from qreplace.simulate.routed_model import Affine, Routed
from qreplace.spec.blocks.search import DepthEntry

MAX_SCHEDULES = 65_536
"""Schedules that ``all`` may enumerate at one depth."""


def depths_of(entries: Sequence[DepthEntry], most: int) -> list[int]:
    """The named depths, ascending; refused when there are more than ``most`` or one is too deep."""
    total = sum((entry.last - entry.first) // entry.step + 1 for entry in entries)
    if total > most:
        raise InputError(f"{total} depths are named; needed at most {most}", pointer="/depths")
    found = sorted({d for e in entries for d in range(e.first, e.last + 1, e.step)})
    if not found or found[-1] > MAX_SIMULATED_DEPTH:
        raise InputError(f"needed depths from 1 to {MAX_SIMULATED_DEPTH}", pointer="/depths")
    return found


def system_of(spec: SystemSpec) -> System:
    """The system that a request describes; raises ``InputError`` where shapes disagree."""
    q = len(spec.initial_state)
    shared = _shared_matrix(spec, q)
    atoms = tuple(_atom(atom, shared, q) for atom in spec.atoms)
    return System(atoms, spec.initial_state, spec.horizon)


def _shared_matrix(spec: SystemSpec, q: int) -> Matrix | None:
    matrix = spec.matrix
    if matrix is not None and (len(matrix) != q or any(len(row) != q for row in matrix)):
        raise InputError(f"the matrix needs shape {q} x {q}", pointer="/system/matrix")
    return _sum(matrix, _scaled_identity(spec.rate, q))


def _scaled_identity(rate: Fraction | None, q: int) -> Matrix | None:
    if not rate:
        return None
    zero = Fraction(0)
    return tuple(tuple(rate if i == j else zero for j in range(q)) for i in range(q))


def _sum(one: Matrix | None, other: Matrix | None) -> Matrix | None:
    if one is None or other is None:
        return one if other is None else other
    if len(one) != len(other) or any(len(a) != len(b) for a, b in zip(one, other, strict=True)):
        raise InputError("the matrix of an atom has another shape than the state asks for")
    return tuple(
        tuple(a + b for a, b in zip(row, more, strict=True))
        for row, more in zip(one, other, strict=True)
    )


def _atom(spec: AtomSpec, shared: Matrix | None, q: int) -> Atom:
    zero = (Fraction(0),) * q
    match spec:
        case AffineAtomSpec():
            return Atom(offset=spec.offset, matrix=_sum(spec.matrix, shared))
        case ReluAtomSpec():
            return Atom(
                offset=zero if spec.offset is None else spec.offset,
                matrix=shared,
                inner=spec.inner,
                bias=spec.bias,
                outer=spec.outer,
                activation="relu",
            )
        case SoftThresholdAtomSpec():
            return Atom(
                offset=zero,
                matrix=_sum(_scaled_identity(Fraction(-1), q), shared),
                inner=spec.inner,
                bias=spec.bias,
                outer=_scaled_identity(Fraction(1), q),
                activation="soft_threshold",
                threshold=spec.threshold,
            )


def routed_of(request: RoutingRequest) -> tuple[Routed[Fraction], tuple[Fraction, ...]]:
    """The routed system of a request and the target's weights; raises ``InputError`` for shapes."""
    spec, q = request.system, len(request.system.initial_state)
    experts = len(spec.scores.offset)
    scores = _affine(spec.scores, q)
    gates = (Fraction(1),) * experts if spec.gates is None else spec.gates
    if len(gates) != experts:
        raise InputError(
            f"needed {experts} gates, one a score; received {len(gates)}", pointer="/system/gates"
        )
    implemented = scores if request.implemented is None else _affine(request.implemented, q)
    system = Routed(
        atoms=tuple(tuple(_affine(field, q) for field in row) for row in spec.atoms),
        scores=scores,
        implemented=implemented,
        gates=gates,
        top_k=spec.top_k,
        initial=spec.initial_state,
        horizon=spec.horizon,
    )
    weights = request.schedule.weights if request.schedule is not None else None
    return system, (Fraction(1),) if weights is None else weights


def _affine(spec: RoutedMapSpec, q: int) -> Affine[Fraction]:
    zeros = (Fraction(0),) * len(spec.offset)
    matrix = ((Fraction(0),) * q,) * len(spec.offset) if spec.matrix is None else spec.matrix
    return Affine(matrix, spec.offset, zeros if spec.drift is None else spec.drift)


def arithmetic_of(spec: ArithmeticSpec, semantics: Semantics, depth: int) -> Arithmetic:
    """The declared arithmetic at one depth, where a step may depend on it."""
    return Arithmetic(
        semantics=semantics,
        rounding=spec.rounding,
        state=_format(spec.state, depth),
        increment=_format(spec.increment, depth),
        carry=_format(spec.carry, depth),
        activation=_format(spec.activation, depth),
        accumulator=_accumulator(spec.accumulator),
        seed=spec.seed,
    )


def _format(spec: FormatSpec | None, depth: int) -> Format | None:
    if spec is None:
        return None
    if not isinstance(spec, FixedPointSpec):
        return FloatingPoint(spec.format)
    if spec.steps is not None:
        return FixedPoint(spec.steps, spec.bits, spec.on_overflow)
    if spec.step is not None:
        step = spec.step.coefficient / depth**spec.step.power
        return grid(step, spec.bits, spec.on_overflow)
    if spec.limit is None or spec.bits is None:
        raise InputError("a register needs its step, or bits and limit")
    return grid(2 * spec.limit / (2**spec.bits - 1), spec.bits, spec.on_overflow)


def _accumulator(spec: AccumulatorSpec | None) -> Accumulator | None:
    if spec is None:
        return None
    return Accumulator(spec.bits, spec.on_overflow, spec.tile, spec.inner_bits, spec.pairwise)


def schedule_count(spec: ScheduleSpec, atoms: int, depth: int) -> int:
    """How many schedules are run at a depth; raises ``InputError`` for too many."""
    if not spec.all:
        return 1
    count = atoms**depth if depth <= MAX_SCHEDULES.bit_length() or atoms == 1 else MAX_SCHEDULES + 1
    if count > MAX_SCHEDULES:
        raise InputError(
            f"there are {atoms}^{depth} schedules at depth {depth}; needed at most {MAX_SCHEDULES}",
            pointer="/schedule/all",
        )
    return count


def schedules_of(spec: ScheduleSpec, atoms: int, depth: int) -> Iterator[list[int]]:
    """The schedules to run at a depth; raises ``InputError`` where they do not fit the system."""
    if spec.all:
        schedule_count(spec, atoms, depth)
        return (list(picks) for picks in itertools.product(range(atoms), repeat=depth))
    if spec.steps is not None:
        if len(spec.steps) != depth:
            raise InputError(
                f"the schedule has {len(spec.steps)} steps, the depth is {depth}",
                pointer="/schedule/steps",
            )
        return iter([list(spec.steps)])
    weights = spec.weights or ()
    if len(weights) != atoms or sum(weights) != 1:
        raise InputError(
            f"needed {atoms} weights that sum to 1 exactly, received {len(weights)} that sum to "
            f"{format_rational(sum(weights, Fraction(0)))}"[:300],
            pointer="/schedule/weights",
        )
    if spec.rule in (None, "chairman"):
        return iter([chairman_schedule(weights, depth)])
    return iter([greedy([weights] * depth)])

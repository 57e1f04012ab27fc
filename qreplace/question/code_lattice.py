"""A study's execution in whole numbers: its common lattice, and what its registers hold (T4.10).

State codes count the grid's step ``Delta``, fine codes ``delta = Delta / m``. With exact fields
every increment is ``P z + p_j`` fine codes; what a rounding leaves is at most ``slack`` of them.
All bounds hold for every schedule at once, and for every rule within the rounding that is declared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import InputError
from qreplace.premises import Absent
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import (
    AffineDynamicsSystem,
    FullDomain,
    Grid,
    LiftedAffineSystem,
    QuantizedExecution,
    Registers,
    Saturating,
    Wrapping,
)
from qreplace.question.subject import Subject

REGISTERS = ("state", "increment", "carry", "accumulator")
MAX_STEPS = 4_000_000
"""Multiplications of one propagation: depth times the entries of the state matrix."""
MAX_REACHED = 200_000
"""Codes of states and carries that an enumeration visits."""
MAX_WORK = 40_000_000
"""What is followed in all for one claim, in about microseconds of one core."""
MAX_CODE_BITS = 4096
"""Codes of an unstable system outgrow every register long before."""


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Whole numbers from ``lower`` to ``upper``."""

    lower: int
    upper: int

    def hull(self, other: CodeRange) -> CodeRange:
        """The smallest range that holds both."""
        return CodeRange(min(self.lower, other.lower), max(self.upper, other.upper))

    def within(self, other: CodeRange) -> bool:
        """Whether the other range holds this one."""
        return other.lower <= self.lower and self.upper <= other.upper


class Work:
    """A running total of what is followed, estimated before it is done."""

    def __init__(self, most: int | None = None) -> None:
        self.most = MAX_WORK if most is None else most
        self.total = 0

    def add(self, amount: int) -> None:
        """So many microseconds more, about; raises ``InputError`` beyond the most."""
        self.total += amount
        if self.total > self.most:
            raise InputError("codes at these depths are more than are followed")


Ranges = dict[str, CodeRange]
"""What each register holds before it could overflow, over all steps, coordinates and schedules."""


def fits(found: Ranges, held: Ranges) -> bool:
    """Whether every register that ``held`` names holds its codes."""
    return all(found[name].within(own) for name, own in held.items())


@dataclass(frozen=True, slots=True)
class CodeLattice:
    """One depth of an execution in codes."""

    depth: int
    ratio: int
    """m, fine codes in a state code."""
    slack: int
    """``floor(m / 2)`` to nearest, ``m - 1`` for directed and stochastic rounding."""
    matrix: tuple[tuple[int, ...], ...] | None
    """P: fine codes of the increment for each state code; ``None`` for state-independent atoms."""
    offsets: tuple[tuple[int, ...], ...]
    """p_j, fine codes, one row an atom."""
    initial: tuple[int, ...]
    """State codes."""
    feedback: bool
    """What a rounding leaves is carried on."""

    @property
    def dimension(self) -> int:
        """q, the number of coordinates."""
        return len(self.initial)


def lattice_problem(subject: Subject, bits: int) -> tuple[QuantizedExecution, AffineProblem]:
    """The execution and the affine data that codes are made of; raises ``InputError``."""
    question = subject.question
    execution = question.execution
    if not isinstance(execution, QuantizedExecution):
        raise InputError("registers are those of a quantized execution")
    if not isinstance(question.system, (LiftedAffineSystem, AffineDynamicsSystem)):
        raise InputError("codes are computed for affine systems with given atoms")
    if isinstance(execution.overflow, (Saturating, Wrapping)) and execution.grid.limit is None:
        raise InputError("a register that can overflow needs its range")
    if any(
        grid is not None and grid.rounding == "floating"
        for grid in (execution.grid, execution.carry)
    ):
        raise InputError("the numbers of a floating format lie on no uniform grid")
    if isinstance(question.domain, FullDomain):
        raise InputError(
            "codes are those of the witnesses, and this question asks about all inputs"
        )
    if not isinstance(execution.field_error, Absent):
        raise InputError("codes need an exactly evaluated field")
    if not isinstance(execution.initial_error, Absent):
        raise InputError("codes need an exact initial state")
    problem = subject.affine(bits)
    if any(len(pieces) > 1 or len(pieces[0].coefficients) > 1 for pieces in problem.atoms):
        raise InputError("codes need forcings that are constant in time")
    return execution, problem


def code_lattice(execution: QuantizedExecution, problem: AffineProblem, depth: int) -> CodeLattice:
    """The lattice of one depth; raises ``InputError`` where something is off it."""
    coarse = _step(execution.grid, depth)
    h = problem.horizon / depth
    offsets = [
        [h * Fraction(n, problem.denominator) for n in pieces[0].coefficients[0]]
        for pieces in problem.atoms
    ]
    rows = _rows(problem)
    reading = [] if rows is None else [h * coarse * a for row in rows for a in row]
    if execution.carry is None:
        parts = [value / coarse for row in offsets for value in row]
        ratio = math.lcm(
            *(v.denominator for v in parts), *((v / coarse).denominator for v in reading)
        )
        fine = coarse / ratio
    else:
        fine = _step(execution.carry, depth)
        if (coarse / fine).denominator != 1:
            raise InputError(f"the ratio of the grids is no whole number at depth {depth}")
        ratio = int(coarse / fine)
    values = [value / fine for row in offsets for value in row] + [v / fine for v in reading]
    if any(value.denominator != 1 for value in values):
        raise InputError(f"an increment is not on the carry's lattice at depth {depth}")
    start = [Fraction(n, problem.denominator) / coarse for n in problem.initial]
    if any(value.denominator != 1 for value in start):
        raise InputError(f"the initial state is not on the grid at depth {depth}")
    nearest = execution.grid.rounding == "nearest"
    return CodeLattice(
        depth=depth,
        ratio=ratio,
        slack=ratio // 2 if nearest else ratio - 1,
        matrix=None
        if rows is None
        else tuple(tuple(int(h * coarse * a / fine) for a in row) for row in rows),
        offsets=tuple(tuple(int(value / fine) for value in row) for row in offsets),
        initial=tuple(int(value) for value in start),
        feedback=execution.semantics == "error_feedback",
    )


def _step(grid: Grid, depth: int) -> Fraction:
    return grid.step.coefficient * Fraction(1, depth**grid.step.power)


def _rows(problem: AffineProblem) -> list[list[Fraction]] | None:
    if problem.rate == 0 and problem.matrix is None:
        return None
    q = problem.dimension
    if q * q > MAX_STEPS:
        raise InputError(f"a state matrix of {q} x {q} entries; needed at most {MAX_STEPS}")
    return [[problem.entry(i, j) for j in range(q)] for i in range(q)]


def declared_ranges(execution: QuantizedExecution, depth: int) -> Ranges:
    """The codes that each declared register holds at a depth; unlimited ones are left out."""
    overflow = execution.overflow
    if isinstance(overflow, Registers):
        widths = {
            "state": overflow.state_bits,
            "increment": overflow.increment_bits,
            "carry": overflow.carry_bits,
            "accumulator": overflow.accumulator_bits,
        }
        return {name: _signed(bits) for name, bits in widths.items() if bits is not None}
    found: Ranges = {}
    written = "state" if execution.semantics == "write_back" else "increment"
    for name, grid in ((written, execution.grid), ("carry", execution.carry)):
        if grid is not None and grid.limit is not None:
            most = int(grid.limit / _step(grid, depth))
            found[name] = CodeRange(-most, most)
    return found


def _signed(bits: int) -> CodeRange:
    return CodeRange(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def codes_are_constant(execution: QuantizedExecution, problem: AffineProblem) -> bool:
    """Whether increments and ratio are the same codes at every depth: grids that go as ``1/D``.

    State-independent atoms from the state 0: what the registers hold then only grows with depth,
    and what they can hold does not. A ``limit`` is another: it holds more codes at larger depths.
    """
    grids = [execution.grid, *([execution.carry] if execution.carry is not None else [])]
    still = problem.rate == 0 and problem.matrix is None and not any(problem.initial)
    return still and all(grid.step.power == 1 and grid.limit is None for grid in grids)


def ranges_at(
    execution: QuantizedExecution,
    problem: AffineProblem,
    depth: int,
    method: Literal["intervals", "enumeration"],
    work: Work,
    within: Ranges | None = None,
) -> Ranges:
    """What every register is asked to hold at one depth, by one method; raises ``InputError``.

    An enumeration ends early where its codes are not ``within`` given ranges.
    """
    q = problem.dimension
    reads = problem.rate != 0 or problem.matrix is not None
    work.add(10 * q * (len(problem.atoms) + (q if reads else 1)))
    lattice = code_lattice(execution, problem, depth)
    if method == "intervals":
        return interval_ranges(lattice, work)
    return enumerated_ranges(lattice, work, within)


# --- every schedule at once, by intervals ---------------------------------------------------------


def interval_ranges(lattice: CodeLattice, work: Work | None = None) -> Ranges:
    """Ranges that hold every code; raises ``InputError`` where that is too much work.

    State-independent atoms: prefix sums of the hull of their codes, whatever the depth (T4.10).
    Else step by step; under feedback ``w = m z + r`` moves by the exact step, so only what the
    carry hides from the field widens it.
    """
    if lattice.matrix is None:
        return _free(lattice)
    return _reading(lattice, lattice.matrix, work or Work())


def _hull(lattice: CodeLattice) -> list[CodeRange]:
    """The hull of the atoms' offsets, one range a coordinate."""
    columns = zip(*lattice.offsets, strict=True)
    return [CodeRange(min(column), max(column)) for column in columns]


def _free(lattice: CodeLattice) -> Ranges:
    found: Ranges = {}
    m, s, depth = lattice.ratio, lattice.slack, lattice.depth
    for own, start in zip(_hull(lattice), lattice.initial, strict=True):
        taken = _taken(own, lattice)
        if lattice.feedback:
            # Prefix sums lie between 0 and the depth's; z is within the slack of their share.
            low, high = min(0, depth * own.lower), max(0, depth * own.upper)
            state = CodeRange(start - (-low + s) // m, start + (high + s) // m)
        else:
            state = CodeRange(
                start + depth * min(0, taken.lower), start + depth * max(0, taken.upper)
            )
        adding = CodeRange(min(0, own.lower), max(0, own.upper))
        _note(found, lattice, state, taken, adding)
    return found


def _taken(increment: CodeRange, lattice: CodeLattice) -> CodeRange:
    """Codes of the rounded increment: of ``c + r`` under feedback, else of ``c``."""
    m, s = lattice.ratio, lattice.slack
    spread = 2 * s if lattice.feedback else s
    return CodeRange(-((spread - increment.lower) // m), (increment.upper + spread) // m)


def _note(
    found: Ranges, lattice: CodeLattice, state: CodeRange, taken: CodeRange, adding: CodeRange
) -> None:
    s = lattice.slack if lattice.feedback else 0
    seen = {
        "state": state,
        "increment": taken,
        "carry": CodeRange(-s, s),
        "accumulator": adding,
    }
    for name, own in seen.items():
        _require_short(own.lower, own.upper)
        found[name] = own.hull(found[name]) if name in found else own


def _require_short(*codes: int) -> None:
    if any(code.bit_length() > MAX_CODE_BITS for code in codes):
        raise InputError(f"codes outgrow {MAX_CODE_BITS} bits")


def _reading(lattice: CodeLattice, matrix: tuple[tuple[int, ...], ...], work: Work) -> Ranges:
    q, m, s = lattice.dimension, lattice.ratio, lattice.slack
    if lattice.depth * q * q > MAX_STEPS:
        raise InputError(
            f"a propagation over {lattice.depth} steps of {q} coordinates; needed at most "
            f"{MAX_STEPS} products"
        )
    work.add(2 * lattice.depth * q * (q + 10))
    hull, found = _hull(lattice), Ranges()
    hidden = [s * sum(map(abs, row)) for row in matrix]
    whole = [CodeRange(m * z, m * z) for z in lattice.initial]
    state = [CodeRange(z, z) for z in lattice.initial]
    for i in range(q):
        found["state"] = state[i].hull(found.get("state", state[i]))
    for _ in range(lattice.depth):
        increments = [_affine(row, state, own) for row, own in zip(matrix, hull, strict=True)]
        following = []
        for i in range(q):
            exact = _stepped(matrix[i], i, whole if lattice.feedback else state, hull[i], lattice)
            if lattice.feedback:
                low = -((hidden[i] - exact.lower) // m)
                whole_i = CodeRange(low, (exact.upper + hidden[i]) // m)
                following.append(whole_i)
                exact = whole_i
            next_state = CodeRange(-((s - exact.lower) // m), (exact.upper + s) // m)
            _note(found, lattice, next_state, _taken(increments[i], lattice),
                  _partial_sums(matrix[i], state, hull[i]))  # fmt: skip
            if not lattice.feedback:
                following.append(next_state)
        if lattice.feedback:
            whole = following
            state = [CodeRange(-((s - w.lower) // m), (w.upper + s) // m) for w in whole]
        else:
            state = following
    return found


def _stepped(
    row: tuple[int, ...], i: int, values: list[CodeRange], hull: CodeRange, lattice: CodeLattice
) -> CodeRange:
    """``(m I + P) z + p``, in fine codes; for ``w`` in place of ``z`` times m."""
    m = lattice.ratio
    scale = m if lattice.feedback else 1
    own = [a + m * (i == j) for j, a in enumerate(row)]
    low = scale * hull.lower
    high = scale * hull.upper
    for a, value in zip(own, values, strict=True):
        low += a * (value.lower if a >= 0 else value.upper)
        high += a * (value.upper if a >= 0 else value.lower)
    return CodeRange(low, high)


def _affine(row: tuple[int, ...], state: list[CodeRange], hull: CodeRange) -> CodeRange:
    low, high = hull.lower, hull.upper
    for a, value in zip(row, state, strict=True):
        low += a * (value.lower if a >= 0 else value.upper)
        high += a * (value.upper if a >= 0 else value.lower)
    return CodeRange(low, high)


def _partial_sums(row: tuple[int, ...], state: list[CodeRange], hull: CodeRange) -> CodeRange:
    """Every partial sum in every order: the negative parts and the positive parts (T4.11)."""
    low, high = min(0, hull.lower), max(0, hull.upper)
    for a, value in zip(row, state, strict=True):
        ends = (a * value.lower, a * value.upper)
        low += min(0, *ends)
        high += max(0, *ends)
    return CodeRange(low, high)


# --- every schedule, one by one -------------------------------------------------------------------

_State = tuple[tuple[int, ...], tuple[int, ...]]
"""State codes and carried fine codes."""


def enumerated_ranges(
    lattice: CodeLattice, work: Work | None = None, within: Ranges | None = None
) -> Ranges:
    """Ranges of exactly the codes that some schedule and some admitted rounding reach.

    Raises ``InputError`` where there are more than ``MAX_REACHED``, and at the first step whose
    codes are not ``within`` given ranges.
    """
    q = lattice.dimension
    cost = 5 + q * (4 if lattice.matrix is None else 4 + q)
    work = work or Work()
    reached: set[_State] = {(lattice.initial, (0,) * q)}
    found: Ranges = {}
    for z in lattice.initial:
        _widen(found, "state", z)
    _widen(found, "carry", 0)
    visited = 0
    for _ in range(lattice.depth):
        following: set[_State] = set()
        work.add(len(reached) * len(lattice.offsets) * cost)
        for state in reached:
            for offset in lattice.offsets:
                for after in _steps(lattice, state, offset, found):
                    following.add(after)
                    visited += 1
                    work.add(1 + q)
                    if visited > MAX_REACHED:
                        raise InputError(
                            f"more than {MAX_REACHED} codes are reached by depth {lattice.depth}"
                        )
        if within is not None and not fits(found, within):
            raise InputError("a code that some schedule reaches overflows")
        if following == reached:
            return found  # nothing new at any later step
        reached = following
    return found


def _steps(
    lattice: CodeLattice, state: _State, offset: tuple[int, ...], found: Ranges
) -> Iterator[_State]:
    """Every state after one step, with the codes that it meets noted."""
    z, r = state
    options: list[list[tuple[int, int]]] = []
    for i in range(lattice.dimension):
        c = offset[i]
        low, high = min(0, c), max(0, c)
        if lattice.matrix is not None:
            for a, code in zip(lattice.matrix[i], z, strict=True):
                low, high = low + min(0, a * code), high + max(0, a * code)
                c += a * code
        _widen(found, "accumulator", low)
        _widen(found, "accumulator", high)
        options.append(list(_roundings(lattice, c + r[i] if lattice.feedback else c)))
        for q, left in options[-1]:
            _widen(found, "increment", q)
            _widen(found, "state", z[i] + q)
            _widen(found, "carry", left)
    yield from _combined(z, options)


def _roundings(lattice: CodeLattice, value: int) -> Iterator[tuple[int, int]]:
    """Each code that a rule within the declared rounding may give, and what it leaves."""
    m = lattice.ratio
    below = value // m
    for q in (below, below + 1) if value % m else (below,):
        left = value - m * q
        if abs(left) <= lattice.slack:
            yield q, left if lattice.feedback else 0


def _combined(z: tuple[int, ...], options: list[list[tuple[int, int]]]) -> Iterator[_State]:
    """The product of the coordinates' choices."""
    if math.prod(map(len, options)) > MAX_REACHED:
        raise InputError(f"one step reaches more than {MAX_REACHED} codes")
    for picks in itertools.product(*options):
        states = tuple(code + q for code, (q, _) in zip(z, picks, strict=True))
        yield states, tuple(left for _, left in picks)


def _widen(found: Ranges, name: str, code: int) -> None:
    own = found.get(name)
    if own is None or not own.lower <= code <= own.upper:
        _require_short(code)
        found[name] = CodeRange(code, code) if own is None else own.hull(CodeRange(code, code))

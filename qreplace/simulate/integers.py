"""A run on one common lattice: increments, states, steps and carries in whole numbers (T4.10).

With rational data there is always a unit of which everything is a multiple; where its codes fit 64
bits, compiled loops run on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qreplace.errors import InputError
from qreplace.simulate.fields import CHANNELS_OF_STATE, Meters, step_at, unit_of
from qreplace.simulate.model import (
    ROUNDINGS,
    SEMANTICS,
    Arithmetic,
    FixedPoint,
    Register,
    System,
    Vector,
)
from qreplace.simulate.rounding import round_to_grid

if TYPE_CHECKING:
    from qreplace.simulate.arithmetic import Trace

ROOM = 1 << 60
"""Codes stay below this, so that sums of a few of them fit 64 bits."""
MAX_ENTRIES = 4_000_000
"""Entries of all matrices of a run on codes."""
REGISTERS: tuple[Register, ...] = ("state", "increment", "carry", "activation")
MODES = ("detect", "saturate", "wrap")
ACTIVATIONS = (None, "relu", "soft_threshold")


@dataclass(frozen=True)
class Lattice:
    """The data of a run in codes; arrays are int64.

    ``unit`` (delta) is the value of code 1 of states, increments and carries; ``hidden_unit`` that
    of hidden values. States are multiples of ``coarse`` codes; matrices act on ``state // coarse``.
    """

    unit: Fraction
    hidden_unit: Fraction
    coarse: int
    matrix: Any
    """(J, q, q), or (J, 0, 0) where no atom reads the state linearly."""
    offset: Any
    """(J, q)"""
    inner: Any
    """(J, p, q), or (J, 0, q) without hidden values."""
    bias: Any
    """(J, p)"""
    hidden: Any
    """(J,): how many hidden values an atom has."""
    threshold: Any
    """(J,), in hidden units."""
    activation: Any
    """(J,): 0 none, 1 relu, 2 soft threshold."""
    outer: Any
    """(J, q, p)"""
    initial: Any
    """(q,): the stored initial state."""
    steps: tuple[Any, Any, Any, Any]
    """(rows, columns) of the registers state, increment, carry, activation; (0, 0) without one."""
    bits: Any
    """(4,); 0: as wide as needed."""
    modes: Any
    """(4,): 0 detect, 1 saturate, 2 wrap."""
    largest_state: int
    """``|state // coarse|`` up to which every number of a step fits."""


@dataclass(frozen=True)
class CodeRun:
    """A lowered run, ready for the compiled loop."""

    lattice: Lattice
    schedule: Any
    arithmetic: Arithmetic
    initial_extremes: tuple[int, int, int] | None
    """Of the stored initial state's codes: smallest, largest, overflows."""
    step: Fraction
    """h"""

    def run(self) -> Trace | None:
        """The trace; ``None`` where codes outgrow 64 bits. Raises ``InputError`` on overflow."""
        from qreplace.simulate.arithmetic import Trace
        from qreplace.simulate.arithmetic_kernels import run_codes

        found = run_codes(
            self.lattice,
            self.schedule,
            SEMANTICS.index(self.arithmetic.semantics),
            ROUNDINGS.index(self.arithmetic.rounding),
            self.arithmetic.seed,
        )
        if found.status == 1:
            return None
        if found.status == 2:
            register = REGISTERS[found.place[0]]
            raise InputError(
                f"the {register} register overflows at step {found.place[1]}, coordinate "
                f"{found.place[2]}: code {found.place[3]} needs more than "
                f"{self.lattice.bits[found.place[0]]} bits",
                remedy="Widen it, or say that it saturates or wraps.",
            )
        unit = self.lattice.unit

        def values(codes: Any) -> Vector:
            return tuple(int(code) * unit for code in codes)

        return Trace(
            states=[values(row) for row in found.states],
            carry=values(found.carry),
            conserved=bool(found.conserved),
            deviations=[values(row) for row in found.deviations],
            field_error=int(found.field_error) * unit / self.step,
            meters=self._meters(found),
        )

    def _meters(self, found: Any) -> Meters:
        meters = Meters({}, {})
        if self.initial_extremes is not None:
            meters.see("state", *self.initial_extremes)
        for index, register in enumerate(REGISTERS):
            low, high = (int(code) for code in found.extremes[index])
            if low <= high:
                meters.see(register, low, high, int(found.overflows[index]))
        return meters


def lowered(system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> CodeRun | None:
    """The run in codes; ``None`` where it has an accumulator, or codes beyond 64 bits."""
    if arithmetic.semantics == "ideal" or arithmetic.accumulator is not None:
        return None
    import numpy as np

    step = system.horizon / len(schedule)
    initial, extremes = _stored(system, arithmetic)
    lattice = _lattice(system, step, arithmetic, initial)
    if lattice is None:
        return None
    picks = np.asarray(schedule, dtype=np.int64)
    return CodeRun(lattice, picks, arithmetic, extremes, step)


def _stored(
    system: System, arithmetic: Arithmetic
) -> tuple[list[Fraction], tuple[int, int, int] | None]:
    """The initial state as the state's register stores it."""
    from qreplace.simulate.draws import draw

    own = arithmetic.state
    if not isinstance(own, FixedPoint):
        return list(system.initial), None
    meters, stored = Meters({}, {}), []
    for i, value in enumerate(system.initial):
        size = step_at(own, 0, i)
        chosen = draw(arithmetic.seed, -1, CHANNELS_OF_STATE + i)
        code = round_to_grid(value, size, arithmetic.rounding, chosen)
        stored.append(size * meters.store("state", code, own, 0, i))
    low, high = meters.extremes["state"]
    return stored, (low, high, meters.overflows.get("state", 0))


def _grids(arithmetic: Arithmetic) -> list[FixedPoint | None]:
    """The registers in the order of ``REGISTERS``; those that the semantics uses."""

    def fixed(own: Any) -> FixedPoint | None:
        return own if isinstance(own, FixedPoint) else None

    state, increment = fixed(arithmetic.state), fixed(arithmetic.increment)
    carry = fixed(arithmetic.carry) if arithmetic.semantics == "rounded_carry" else None
    if arithmetic.semantics == "write_back":
        increment = None
    elif increment is None and state is not None:
        increment = FixedPoint(state.steps)
    return [state, increment, carry, fixed(arithmetic.activation)]


def _sizes(grids: Iterable[FixedPoint | None]) -> list[Fraction]:
    return [size for own in grids if own is not None for row in own.steps for size in row]


def _lattice(
    system: System, step: Fraction, arithmetic: Arithmetic, initial: Sequence[Fraction]
) -> Lattice | None:
    """Units and integer arrays; ``None`` where something does not fit."""
    state, increment, carry, activation = _grids(arithmetic)
    q, atoms = system.dimension, system.atoms
    hidden = max((len(atom.inner) for atom in atoms if atom.inner is not None), default=0)
    reads = any(atom.matrix is not None for atom in atoms)
    if len(atoms) * q * (q * reads + 2 * hidden + 1) > MAX_ENTRIES:
        return None
    coarse = unit_of([*_sizes([state, increment]), *initial])
    inner = [coarse * w for atom in atoms if atom.inner for row in atom.inner for w in row]
    biases = [b for atom in atoms for b in atom.bias] + [atom.threshold for atom in atoms]
    hidden_unit = unit_of([*inner, *biases, *_sizes([activation])])
    unit = unit_of(
        [
            coarse,
            *_sizes([carry]),
            *(step * b for atom in atoms for b in atom.offset),
            *(
                step * coarse * a
                for atom in atoms
                if atom.matrix
                for row in atom.matrix
                for a in row
            ),
            *(
                step * hidden_unit * v
                for atom in atoms
                if atom.outer
                for row in atom.outer
                for v in row
            ),
        ]
    )
    return _arrays(system, step, initial, (state, increment, carry, activation),
                   coarse, hidden_unit, unit, hidden, reads)  # fmt: skip


def _arrays(
    system: System,
    step: Fraction,
    initial: Sequence[Fraction],
    grids: tuple[FixedPoint | None, ...],
    coarse: Fraction,
    hidden_unit: Fraction,
    unit: Fraction,
    hidden: int,
    reads: bool,
) -> Lattice | None:
    import numpy as np

    q, count = system.dimension, len(system.atoms)
    zeros = {
        "matrix": np.zeros((count, q * reads, q * reads), dtype=object),
        "offset": np.zeros((count, q), dtype=object),
        "inner": np.zeros((count, hidden, q), dtype=object),
        "bias": np.zeros((count, hidden), dtype=object),
        "hidden": np.zeros(count, dtype=object),
        "threshold": np.zeros(count, dtype=object),
        "outer": np.zeros((count, q, hidden), dtype=object),
    }
    kinds = np.zeros(count, dtype=np.int64)
    for j, atom in enumerate(system.atoms):
        zeros["offset"][j] = [int(step * b / unit) for b in atom.offset]
        if atom.matrix is not None:
            zeros["matrix"][j] = [[int(step * coarse * a / unit) for a in r] for r in atom.matrix]
        if atom.inner is None or atom.outer is None:
            continue
        p = len(atom.inner)
        zeros["hidden"][j] = p
        zeros["inner"][j, :p] = [[int(coarse * w / hidden_unit) for w in r] for r in atom.inner]
        zeros["bias"][j, :p] = [int(b / hidden_unit) for b in atom.bias]
        zeros["outer"][j, :, :p] = [
            [int(step * hidden_unit * v / unit) for v in r] for r in atom.outer
        ]
        zeros["threshold"][j] = int(atom.threshold / hidden_unit)
        kinds[j] = ACTIVATIONS.index(atom.activation)
    units = (unit, unit, unit, hidden_unit)
    steps = [_codes_of(own, size) for own, size in zip(grids, units, strict=True)]
    largest = _largest_state(zeros, steps)
    start = np.array([int(z / unit) for z in initial], dtype=object)
    factor = int(coarse / unit)
    everything = [*zeros.values(), *steps, start]
    if largest is None or factor > ROOM or any(
        array.size and max(abs(int(x)) for x in array.flat) > ROOM for array in everything
    ):  # fmt: skip
        return None
    whole = {name: array.astype(np.int64) for name, array in zeros.items()}
    return Lattice(
        unit=unit,
        hidden_unit=hidden_unit,
        coarse=factor,
        activation=kinds,
        initial=start.astype(np.int64),
        steps=tuple(array.astype(np.int64) for array in steps),
        bits=np.array([0 if g is None else g.bits or 0 for g in grids], dtype=np.int64),
        modes=np.array(
            [0 if g is None else MODES.index(g.on_overflow) for g in grids], dtype=np.int64
        ),
        largest_state=min(largest, ROOM // max(1, factor)),
        **whole,
    )


def _codes_of(own: FixedPoint | None, unit: Fraction) -> Any:
    import numpy as np

    if own is None:
        return np.zeros((0, 0), dtype=object)
    return np.array([[int(size / unit) for size in row] for row in own.steps], dtype=object)


def _largest_state(arrays: dict[str, Any], steps: Sequence[Any]) -> int | None:
    """``|state // coarse|`` up to which no number of a step exceeds ``ROOM``; else ``None``."""

    def row_sums(array: Any) -> int:
        sums = [sum(abs(int(x)) for x in row) for atom in array for row in atom]
        return max(sums, default=0)

    def most(array: Any) -> int:
        return max((abs(int(x)) for x in array.flat), default=0)

    inner, outer = row_sums(arrays["inner"]), row_sums(arrays["outer"])
    slack = most(arrays["bias"]) + most(steps[3])  # a rounded hidden value moves by a step
    per_state = row_sums(arrays["matrix"]) + outer * inner
    fixed = most(arrays["offset"]) + outer * slack
    if fixed >= ROOM or slack >= ROOM:
        return None
    rooms = [(ROOM - fixed) // per_state if per_state else ROOM]
    rooms.append((ROOM - slack) // inner if inner else ROOM)
    return max(1, min(rooms)) if min(rooms) >= 1 else None

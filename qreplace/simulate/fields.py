"""The field of an atom: exact, and as declared registers compute it (theory T4.11, T4.12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.simulate.accumulators import accumulate
from qreplace.simulate.model import (
    Accumulator,
    Atom,
    FixedPoint,
    Matrix,
    Register,
    Rounding,
    System,
)
from qreplace.simulate.rounding import fit, round_to_grid

Draw = Callable[[int], int]
"""The random number of a coordinate at the present step."""

CHANNELS_OF_STATE, CHANNELS_OF_CARRY, CHANNELS_OF_ACTIVATION = 0, 1 << 40, 1 << 41
"""Where the random channels of each register start: a coordinate's index is added."""


def unit_of(values: Iterable[Fraction]) -> Fraction:
    """The largest number of which every value is a whole multiple; 1 when all are 0."""
    numerators, denominators = [], [1]
    for value in values:
        if value:
            numerators.append(value.numerator)
            denominators.append(value.denominator)
    common = math.lcm(*denominators)
    return Fraction(_gcd_over(numerators, denominators[1:], common), common)


def _gcd_over(numerators: list[int], denominators: list[int], common: int) -> int:
    scaled = (n * (common // d) for n, d in zip(numerators, denominators, strict=True))
    return math.gcd(*scaled) or 1


def product(matrix: Matrix, vector: Sequence[Fraction]) -> list[Fraction]:
    """``matrix vector``, exactly."""
    return [
        sum((a * x for a, x in zip(row, vector, strict=True) if a and x), Fraction(0))
        for row in matrix
    ]


def activate(atom: Atom, value: Fraction) -> Fraction:
    """``act(u)`` of an atom, exactly."""
    if atom.activation == "relu":
        return max(Fraction(0), value)
    size = max(Fraction(0), abs(value) - atom.threshold)
    return size if value > 0 else -size


def exact_field(atom: Atom, state: Sequence[Fraction]) -> list[Fraction]:
    """``G(z)`` in rationals."""
    total = list(atom.offset)
    if atom.matrix is not None:
        total = [a + b for a, b in zip(total, product(atom.matrix, state), strict=True)]
    if atom.inner is not None and atom.outer is not None:
        before = product(atom.inner, state)
        hidden = [activate(atom, u + b) for u, b in zip(before, atom.bias, strict=True)]
        total = [a + b for a, b in zip(total, product(atom.outer, hidden), strict=True)]
    return total


def lipschitz(atom: Atom) -> Fraction:
    """A Lipschitz constant of the atom in the linf norm; activations are 1-Lipschitz."""
    return max(_row_bounds(atom, Fraction(0), Fraction(1)))


def step_factor(atom: Atom, step: Fraction) -> Fraction:
    """A Lipschitz constant of ``I + step G`` in the linf norm."""
    return max(_row_bounds(atom, Fraction(1), step))


def _row_bounds(atom: Atom, identity: Fraction, step: Fraction) -> list[Fraction]:
    """Row sums of ``|identity I + step matrix| + step |outer| |inner|``."""
    q = len(atom.offset)
    bounds = [identity] * q
    if atom.matrix is not None:
        bounds = [
            sum(
                (abs(step * a + (identity if i == j else 0)) for j, a in enumerate(row)),
                Fraction(0),
            )
            for i, row in enumerate(atom.matrix)
        ]
    if atom.inner is not None and atom.outer is not None:
        sums = [sum(map(abs, row), Fraction(0)) for row in atom.inner]
        bent = [
            sum((abs(v) * s for v, s in zip(row, sums, strict=True)), Fraction(0))
            for row in atom.outer
        ]
        bounds = [b + step * extra for b, extra in zip(bounds, bent, strict=True)]
    return bounds


def linf_constants(system: System, step: Fraction) -> tuple[Fraction, Fraction]:
    """``(L, kappa)`` of every atom in the linf norm at this step."""
    return (
        max(lipschitz(atom) for atom in system.atoms),
        max(step_factor(atom, step) for atom in system.atoms),
    )


@dataclass
class Meters:
    """The extremes that registers held, and how often each overflowed."""

    extremes: dict[Register, tuple[int, int]]
    overflows: dict[Register, int]

    def see(self, register: Register, low: int, high: int, overflows: int = 0) -> None:
        """Note codes that a register held, or would have held."""
        known = self.extremes.get(register, (low, high))
        self.extremes[register] = min(known[0], low), max(known[1], high)
        if overflows:
            self.overflows[register] = self.overflows.get(register, 0) + overflows

    def store(
        self, register: Register, code: int, own: FixedPoint, step: int, coordinate: int
    ) -> int:
        """What the register holds of a code; raises ``InputError`` where overflow is an error."""
        if own.bits is None:
            self.see(register, code, code)
            return code
        held, over = fit(code, own.bits, own.on_overflow)
        if over and own.on_overflow == "detect":
            raise InputError(
                f"the {register} register overflows at step {step}, coordinate {coordinate}: code "
                f"{code} needs more than {own.bits} bits",
                remedy="Widen it, or say that it saturates or wraps.",
            )
        self.see(register, code, code, int(over))
        return held


def step_at(own: FixedPoint, step: int, coordinate: int) -> Fraction:
    """The grid step that a format has at a step of the run and a coordinate."""
    row = own.steps[step if len(own.steps) > 1 else 0]
    return row[coordinate if len(row) > 1 else 0]


class ComputedField:
    """A field with a declared accumulator and a declared activation register."""

    def __init__(
        self,
        rounding: Rounding,
        activation: FixedPoint | None,
        accumulator: Accumulator | None,
        state_unit: Fraction,
        meters: Meters,
    ) -> None:
        self._rounding: Rounding = rounding
        self._activation = activation
        self._accumulator = accumulator
        self._state_unit = state_unit
        self._meters = meters

    @property
    def exact(self) -> bool:
        """Whether nothing is rounded and no register can overflow."""
        return self._activation is None and self._accumulator is None

    def __call__(
        self, atom: Atom, state: Sequence[Fraction], step: int, draw: Draw
    ) -> list[Fraction]:
        """``G_hat(z)`` of one atom at a step of the run."""
        total = list(atom.offset)
        if atom.matrix is not None:
            own = self._dot(atom.matrix, state, self._state_unit)
            total = [a + b for a, b in zip(total, own, strict=True)]
        if atom.inner is not None and atom.outer is not None:
            before = self._dot(atom.inner, state, self._state_unit)
            hidden = [activate(atom, u + b) for u, b in zip(before, atom.bias, strict=True)]
            if self._activation is not None:
                hidden = [
                    self._rounded(value, step, i, draw(CHANNELS_OF_ACTIVATION + i))
                    for i, value in enumerate(hidden)
                ]
            after = self._dot(atom.outer, hidden, unit_of(hidden))
            total = [a + b for a, b in zip(total, after, strict=True)]
        return total

    def _rounded(self, value: Fraction, step: int, unit: int, draw: int) -> Fraction:
        own = self._activation
        if own is None:
            return value
        size = step_at(own, step, unit)
        code = round_to_grid(value, size, self._rounding, draw)
        return size * self._meters.store("activation", code, own, step, unit)

    def _dot(self, matrix: Matrix, vector: Sequence[Fraction], unit: Fraction) -> list[Fraction]:
        """``matrix vector``, added up in the accumulator: codes times codes."""
        if self._accumulator is None:
            return product(matrix, vector)
        scale = unit_of(entry for row in matrix for entry in row)
        codes = [int(x / unit) for x in vector]
        found = []
        for row in matrix:
            products = [int(a / scale) * x for a, x in zip(row, codes, strict=True)]
            done = accumulate(products, self._accumulator)
            self._meters.see("accumulator", done.low, done.high, done.overflows)
            found.append(scale * unit * done.value)
        return found

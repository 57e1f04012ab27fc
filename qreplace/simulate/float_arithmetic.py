"""Stepping with floating and block registers, exactly (theory T4.2-T4.7, T4.12).

A sum in a floating state's register is rounded too: ``z = Q_state(z + q)``. Under error feedback
what is left is what the state did not move by, ``h G + r - (z' - z)``, so that ``z + r`` still
grows by exactly the computed increments (T4.6) and the carry is bounded by both roundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.errors import InputError
from qreplace.simulate.arithmetic import (
    Trace,
    _require,
    distance,
    finish,
)
from qreplace.simulate.fields import (
    CHANNELS_OF_ACTIVATION,
    CHANNELS_OF_CARRY,
    CHANNELS_OF_STATE,
    Meters,
    activate,
    exact_field,
    linf_constants,
    product,
)
from qreplace.simulate.float_registers import (
    ExactRegister,
    FloatRegister,
    VectorRegister,
    own_format,
)
from qreplace.simulate.model import (
    Arithmetic,
    Atom,
    FixedPoint,
    Format,
    Register,
    Run,
    System,
    Vector,
)

MAX_EXACT_WORK = 2_000_000
"""Steps times the entries of an atom, of a run in rationals."""
CHANNELS_OF_SUM = 1 << 42
"""Random channels of the sum in the state's register: the increment has drawn already."""


@dataclass(frozen=True)
class Registers:
    """What a run writes to; ``None`` keeps everything."""

    state: VectorRegister | None
    total: VectorRegister | None
    """The state's register where a sum is rounded in it."""
    increment: VectorRegister | None
    carry: VectorRegister | None
    activation: VectorRegister | None
    sums_are_exact: bool
    """State and increment are fixed-point: what is left is what the increment did not hold."""

    @staticmethod
    def of(
        own: Arithmetic, kind: type[ExactRegister] | type[FloatRegister], meters: Meters
    ) -> Registers:
        """Of the declared formats; raises ``InputError`` for an unknown name."""

        def register(
            name: Register, declared: Format | None, channel: int
        ) -> VectorRegister | None:
            if declared is None:
                return None
            return kind(name, own_format(declared), own.rounding, own.seed, channel, meters)

        if own.semantics == "ideal":
            return Registers(None, None, None, None, None, True)
        increment = own.increment
        if increment is None and own.state is not None:
            # A grid as wide as needed, or the same floating format.
            fixed = isinstance(own.state, FixedPoint)
            increment = FixedPoint(own.state.steps) if fixed else own.state  # type: ignore[union-attr]
        return Registers(
            state=register("state", own.state, CHANNELS_OF_STATE),
            total=register("state", own.state, CHANNELS_OF_SUM),
            increment=register("increment", increment, CHANNELS_OF_STATE),
            carry=register("carry", own.carry, CHANNELS_OF_CARRY),
            activation=register("activation", own.activation, CHANNELS_OF_ACTIVATION),
            sums_are_exact=isinstance(increment, FixedPoint)
            and (own.state is None or isinstance(own.state, FixedPoint)),
        )

    def advance(
        self, own: Arithmetic, z: Any, carry: Any, increments: Any, k: int
    ) -> tuple[Any, Any]:
        """The next state and carry, by the definitions of ``model.Arithmetic``."""
        if own.semantics == "ideal" or self.increment is None:
            return z + increments, carry
        if own.semantics == "write_back" and self.state is not None:
            return self.state.write(z + increments, k), carry
        wanted = increments if own.semantics == "increment" else increments + carry
        taken = self.increment.write(wanted, k)
        following = z + taken if self.total is None else self.total.write(z + taken, k)
        if own.semantics == "increment":
            return following, carry
        left = wanted - taken if self.sums_are_exact else wanted - (following - z)
        if own.semantics == "rounded_carry" and self.carry is not None:
            left = self.carry.write(left, k)
        return following, left


def simulate_exact(
    system: System,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    *,
    constants: tuple[Fraction, Fraction] | None = None,
) -> Run:
    """``arithmetic.simulate`` for any formats: every number is exact.

    Raises ``InputError`` before anything runs for an unknown format, an integer accumulator beside
    floating formats, and more than ``MAX_EXACT_WORK``; later where a register overflows to what is
    no number.
    """
    _require(system, schedule, arithmetic)
    require_no_accumulator(arithmetic)
    work = len(schedule) * max(map(_entries, system.atoms))
    if work > MAX_EXACT_WORK:
        raise InputError(
            f"an exact run in floating formats of {work} products; needed at most {MAX_EXACT_WORK}",
            remedy="Take fewer steps, or run it in binary64 (simulate_float), as a diagnostic.",
        )
    chosen = constants or linf_constants(system, system.horizon / len(schedule))
    return finish(system, schedule, arithmetic, _trace(system, schedule, arithmetic), chosen)


def _entries(atom: Atom) -> int:
    q = len(atom.offset)
    hidden = 0 if atom.inner is None else len(atom.inner)
    return q * (1 + (0 if atom.matrix is None else q) + 2 * hidden)


def require_no_accumulator(own: Arithmetic) -> None:
    """Refuse an integer accumulator beside floating registers."""
    if own.accumulator is not None:
        raise InputError(
            "an accumulator adds codes of a fixed-point state; this run has floating registers",
            remedy="Leave the accumulator out, or make every register fixed-point.",
        )


def _trace(system: System, schedule: Sequence[int], own: Arithmetic) -> Trace:
    import numpy as np

    meters = Meters({}, {})
    registers = Registers.of(own, ExactRegister, meters)
    h = system.horizon / len(schedule)
    z = np.array(system.initial, dtype=object)
    if registers.state is not None:
        z = registers.state.write(z, 0, source=-1)
    carry = np.array([Fraction(0)] * len(z), dtype=object)
    deviation = carry
    states: list[Vector] = [tuple(z)]
    deviations: list[Vector] = [tuple(deviation)]
    eta, conserved = Fraction(0), True
    for k, pick in enumerate(schedule):
        atom = system.atoms[pick]
        exact = exact_field(atom, list(z))
        field = exact
        if registers.activation is not None:
            field = _computed(atom, list(z), registers.activation, k)
            eta = max(eta, distance(field, exact))
        increments = np.array([h * g for g in field], dtype=object)
        following, left = registers.advance(own, z, carry, increments, k)
        conserved &= bool(np.all(following + left == z + carry + increments))
        ideal = np.array([h * g for g in exact], dtype=object)
        deviation = deviation + (following - z) - ideal
        z, carry = following, left
        states.append(tuple(z))
        deviations.append(tuple(deviation))
    return Trace(states, tuple(carry), conserved, deviations, eta, meters)


def _computed(
    atom: Atom, state: Sequence[Fraction], register: VectorRegister, k: int
) -> list[Fraction]:
    """``G(z)`` with its hidden values rounded."""
    if atom.inner is None or atom.outer is None:
        return exact_field(atom, state)
    before = product(atom.inner, state)
    hidden = [activate(atom, u + b) for u, b in zip(before, atom.bias, strict=True)]
    after = product(atom.outer, list(register.write(hidden, k)))
    linear = [Fraction(0)] * len(state) if atom.matrix is None else product(atom.matrix, state)
    return [b + a + o for b, a, o in zip(atom.offset, linear, after, strict=True)]

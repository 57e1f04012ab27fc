"""Stepping with fields and sums in binary64: diagnostics, also of a user's own function.

Registers round the binary64 numbers exactly, with the same draws as exact runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from qreplace.errors import InputError
from qreplace.simulate.arithmetic import MAX_RUN, _require, a_posteriori, distance
from qreplace.simulate.fields import Meters, linf_constants
from qreplace.simulate.float_arithmetic import Registers, require_no_accumulator
from qreplace.simulate.float_registers import FloatRegister
from qreplace.simulate.model import Arithmetic, Atom, Run, System, Vector, require_schedule

FloatField = Callable[[float, Any, int], Any]
"""``field(t, z, atom)``: time, a binary64 state (q,), the atom's index; answers (q,)."""


def simulate_float(
    system: System,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    *,
    constants: tuple[Fraction, Fraction] | None = None,
) -> Run:
    """``simulate_exact`` with the field in binary64: for systems too large to run exactly.

    Raises ``InputError`` for formats that do not fit, and where a register or the state overflows.
    """
    _require(system, schedule, arithmetic)
    require_no_accumulator(arithmetic)
    chosen = constants or linf_constants(system, system.horizon / len(schedule))
    meters = Meters({}, {})
    registers = Registers.of(arithmetic, FloatRegister, meters)
    atoms = [_FloatAtom(atom) for atom in system.atoms]
    run = _FloatRun(
        lambda t, z, j: atoms[j](z), _binary64(system.initial), system.horizon,
        schedule, arithmetic, registers, meters, chosen,
    )  # fmt: skip
    activation = registers.activation
    if activation is not None:
        run.computed = lambda k, z, j: atoms[j](z, lambda hidden: activation.write(hidden, k))
    return run.finish()


def simulate_function(
    field: FloatField,
    atoms: int,
    initial: Sequence[float],
    horizon: Fraction,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    *,
    constants: tuple[Fraction, Fraction] | None = None,
) -> Run:
    """Run a NumPy function as the field, in binary64: a diagnostic (``exact`` is ``False``).

    One step is ``z += (horizon / D) field(t, z, atom)`` at ``t = k horizon / D``, in the declared
    registers; the ideal run beside it is binary64 too. ``constants`` are ``(L, kappa)`` in the linf
    norm, for T4.13's sum. Raises ``InputError`` before anything runs for data that does not fit,
    and at the step where the field answers another shape, NaN or infinity, or a register overflows.
    """
    require_schedule(schedule, atoms)
    _require_function(initial, horizon, arithmetic, len(schedule))
    meters = Meters({}, {})
    registers = Registers.of(arithmetic, FloatRegister, meters)
    return _FloatRun(
        field, initial, horizon, schedule, arithmetic, registers, meters, constants
    ).finish()


def _require_function(
    initial: Sequence[float], horizon: Fraction, own: Arithmetic, depth: int
) -> None:
    if horizon <= 0:
        raise InputError("the horizon is positive")
    if len(initial) < 1 or not all(math.isfinite(x) for x in initial):
        raise InputError("an initial state has at least one coordinate, and all are finite")
    if depth * len(initial) > MAX_RUN:
        raise InputError(
            f"a run of {depth} steps and {len(initial)} coordinates; needed at most {MAX_RUN}"
        )
    require_no_accumulator(own)
    if own.activation is not None:
        raise InputError("a function's hidden values are its own; needed no activation register")
    # The formats are judged as those of a system of the same size.
    zero = (Fraction(0),) * len(initial)
    _require(System((Atom(zero),), zero, horizon), [0] * depth, own)


def _binary64(values: Any) -> Any:
    """Rationals, nested in tuples, as binary64; raises ``InputError`` where one is too large."""
    if isinstance(values, Fraction):
        try:
            return float(values)
        except OverflowError:
            raise InputError("the system has a number that binary64 does not hold") from None
    return [_binary64(part) for part in values]


class _FloatAtom:
    """``exact_field`` in binary64."""

    def __init__(self, atom: Atom) -> None:
        import numpy as np

        def array(part: Any) -> Any:
            return None if part is None else np.array(_binary64(part))

        self._offset, self._matrix = array(atom.offset), array(atom.matrix)
        self._inner, self._outer = array(atom.inner), array(atom.outer)
        self._bias, self._threshold = array(atom.bias), array([atom.threshold])
        self._relu = atom.activation == "relu"

    def __call__(self, z: Any, rounded: Callable[[Any], Any] = lambda hidden: hidden) -> Any:
        import numpy as np

        total = self._offset if self._matrix is None else self._offset + self._matrix @ z
        if self._inner is None:
            return total
        u = self._inner @ z + self._bias
        if self._relu:
            hidden = np.maximum(0.0, u)
        else:
            hidden = np.copysign(np.maximum(0.0, np.abs(u) - self._threshold), u)
        return total + self._outer @ rounded(hidden)


class _FloatRun:
    """One run in binary64, and the ideal one in step with it."""

    def __init__(
        self,
        field: FloatField,
        initial: Sequence[float],
        horizon: Fraction,
        schedule: Sequence[int],
        own: Arithmetic,
        registers: Registers,
        meters: Meters,
        constants: tuple[Fraction, Fraction] | None,
    ) -> None:
        import numpy as np

        self.field, self.schedule, self.own = field, schedule, own
        self.registers, self.meters, self.constants = registers, meters, constants
        self.initial = np.array(initial, dtype=np.float64)
        self.horizon = horizon
        self.computed: Callable[[int, Any, int], Any] | None = None
        """The field with its hidden values in their register, by step; ``None``: the field."""

    def finish(self) -> Run:
        """Run it, and compare; what outgrows binary64 is refused, not warned about."""
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            return self._stepped()

    def _stepped(self) -> Run:
        import numpy as np

        depth = len(self.schedule)
        h, own, registers = float(self.horizon / depth), self.own, self.registers
        ideal = z = self.initial
        if own.semantics != "ideal" and registers.state is not None:
            z = registers.state.write(z, 0, source=-1)
        carry = deviation = np.zeros(len(z))
        start = path = np.abs(z - ideal).max()
        sizes, eta = [0.0], 0.0
        for k, pick in enumerate(self.schedule):
            exact = field = self._answer(k, z, pick)
            if self.computed is not None and own.semantics != "ideal":
                field = self._checked(self.computed(k, z, pick), k, pick)
                eta = max(eta, float(np.abs(field - exact).max()))
            following, carry = registers.advance(own, z, carry, h * field, k)
            deviation = deviation + (following - z - h * exact)
            ideal = ideal + h * self._answer(k, ideal, pick)
            z = following
            self._require_finite(k, z, ideal, carry)
            path = max(path, np.abs(z - ideal).max())
            sizes.append(float(np.abs(deviation).max()))
        return self._run(z, ideal, carry, deviation, (float(start), float(path), eta), sizes)

    def _answer(self, k: int, z: Any, pick: int) -> Any:
        time = float(self.horizon * k / len(self.schedule))
        return self._checked(self.field(time, z.copy(), pick), k, pick)

    def _checked(self, answer: Any, k: int, pick: int) -> Any:
        """A field's answer as binary64, refused where it is not a finite vector of this size."""
        import numpy as np

        found = np.asarray(answer)
        where = f"at step {k}, atom {pick}"
        if found.shape != self.initial.shape:
            raise InputError(
                f"the field has shape {found.shape} {where}; needed {self.initial.shape}"
            )
        if found.dtype.kind not in "fiu":
            raise InputError(f"the field has {found.dtype} entries {where}; needed real numbers")
        found = found.astype(np.float64)
        if not np.isfinite(found).all():
            i = int(np.argmin(np.isfinite(found)))
            raise InputError(f"the field is {found[i]} {where}, coordinate {i}")
        return found

    def _require_finite(self, k: int, *vectors: Any) -> None:
        import numpy as np

        if not all(np.isfinite(vector).all() for vector in vectors):
            raise InputError(f"the state outgrows binary64 at step {k}")

    def _run(
        self,
        z: Any,
        ideal: Any,
        carry: Any,
        deviation: Any,
        largest: tuple[float, float, float],
        sizes: list[float],
    ) -> Run:
        def exactly(vector: Any) -> Vector:
            return tuple(Fraction(float(x)) for x in vector)

        start, path, eta = map(Fraction, largest)
        step = self.horizon / len(self.schedule)
        bound = None
        if self.constants is not None:
            bound = a_posteriori([(Fraction(x),) for x in sizes], start, step, self.constants)
        feeds = self.own.semantics in ("error_feedback", "rounded_carry")
        executed, reference = exactly(z), exactly(ideal)
        return Run(
            executed=executed,
            ideal=reference,
            carry=exactly(carry) if feeds else None,
            error=distance(executed, reference),
            path_error=path,
            ideal_radius=Fraction(0),
            extremes=self.meters.extremes,
            overflows=self.meters.overflows,
            deviation=exactly(deviation),
            field_error=eta,
            a_posteriori=bound,
            conserved=None,
            exact=False,
        )

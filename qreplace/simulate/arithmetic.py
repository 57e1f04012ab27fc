"""Stepping a system in its declared arithmetic, beside the ideal run (theory T4.2-T4.9, T4.13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.simulate.draws import draw
from qreplace.simulate.fields import (
    CHANNELS_OF_CARRY,
    CHANNELS_OF_STATE,
    ComputedField,
    Draw,
    Meters,
    exact_field,
    linf_constants,
    step_at,
    unit_of,
)
from qreplace.simulate.ideal import ideal_states
from qreplace.simulate.model import (
    Arithmetic,
    FixedPoint,
    FloatingPoint,
    Format,
    Register,
    Run,
    System,
    Vector,
    require_schedule,
)
from qreplace.simulate.rounding import round_to_grid

MAX_RUN = 5_000_000
"""Steps times coordinates of one run that keeps its path."""
SUM_BITS = 192
"""Bits after the point of T4.13's sum, rounded up."""


def simulate(
    system: System,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    *,
    constants: tuple[Fraction, Fraction] | None = None,
) -> Run:
    """Run ``schedule`` in ``arithmetic`` and ideally; every number is exact.

    ``constants`` are ``(L, kappa)`` in the linf norm for T4.13's bound; without them they are
    computed from the atoms. Integer codes in compiled loops where they fit 64 bits, else Python's
    whole numbers: the results are the same. Raises ``InputError`` before anything runs for formats
    that do not fit the system, and where a register overflows that must not.
    """
    _require(system, schedule, arithmetic)
    chosen = constants or linf_constants(system, system.horizon / len(schedule))
    if any(isinstance(own, FloatingPoint) for own in _formats(arithmetic).values()):
        from qreplace.simulate.float_arithmetic import simulate_exact

        return simulate_exact(system, schedule, arithmetic, constants=chosen)
    return finish(system, schedule, arithmetic, _executed(system, schedule, arithmetic), chosen)


def trace_of(system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> Trace:
    """The executed run of ``simulate`` state by state, for figures; fixed-point formats only."""
    _require(system, schedule, arithmetic)
    if any(isinstance(own, FloatingPoint) for own in _formats(arithmetic).values()):
        raise InputError("the path of a run in floating formats is not kept")
    return _executed(system, schedule, arithmetic)


def _executed(system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> Trace:
    """On codes where they fit 64 bits, else in rationals."""
    from qreplace.simulate.integers import lowered

    codes = lowered(system, schedule, arithmetic)
    trace = None if codes is None else codes.run()
    return _Plain(system, schedule, arithmetic).run() if trace is None else trace


def simulate_plain(
    system: System,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    *,
    constants: tuple[Fraction, Fraction] | None = None,
) -> Run:
    """The same in rationals, by the definitions; the reference of the compiled loops."""
    _require(system, schedule, arithmetic)
    chosen = constants or linf_constants(system, system.horizon / len(schedule))
    trace = _Plain(system, schedule, arithmetic).run()
    return finish(system, schedule, arithmetic, trace, chosen)


@dataclass
class Trace:
    """What an executed run leaves: every state, every ideal increment along it, and the meters."""

    states: list[Vector]
    """After 0, 1, .. D steps."""
    carry: Vector
    conserved: bool
    """``z + r`` grew by exactly the computed increment in every step (T4.6)."""
    deviations: list[Vector]
    """R_0, .. R_D of theory T4.13."""
    field_error: Fraction
    meters: Meters = field(default_factory=lambda: Meters({}, {}))


def finish(
    system: System,
    schedule: Sequence[int],
    arithmetic: Arithmetic,
    trace: Trace,
    constants: tuple[Fraction, Fraction],
) -> Run:
    """Compare an executed run with the ideal one, and apply T4.13."""
    path_error = Fraction(0)
    ideal, radius, error = list(system.initial), Fraction(0), Fraction(0)
    for executed, (ideal, radius) in zip(trace.states, ideal_states(system, schedule), strict=True):
        error = distance(executed, ideal) + radius
        path_error = max(path_error, error)
    feeds = arithmetic.semantics in ("error_feedback", "rounded_carry")
    conserved: bool | None = None
    if arithmetic.semantics == "error_feedback":
        conserved = trace.conserved
    return Run(
        executed=trace.states[-1],
        ideal=tuple(ideal),
        carry=trace.carry if feeds else None,
        error=error,
        path_error=path_error,
        ideal_radius=radius,
        extremes=trace.meters.extremes,
        overflows=trace.meters.overflows,
        deviation=trace.deviations[-1],
        field_error=trace.field_error,
        a_posteriori=a_posteriori(
            trace.deviations,
            distance(trace.states[0], system.initial),
            system.horizon / len(schedule),
            constants,
        ),
        conserved=conserved,
        exact=True,
    )


def a_posteriori(
    deviations: Sequence[Vector],
    initial: Fraction,
    step: Fraction,
    constants: tuple[Fraction, Fraction],
) -> Fraction:
    """Theory T4.13: ``||R_D|| + h L sum_k kappa^{D-1-k} ||R_k|| + kappa^D ||z_hat_0 - z_0||``.

    A bound, linf, on the endpoint error of the very run that the deviations are from; long sums are
    rounded up.
    """
    lipschitz, kappa = constants
    total = Fraction(0)
    start = initial
    for deviation in deviations[:-1]:
        total = _up(kappa * total + _size(deviation))
        start = _up(kappa * start)
    return _size(deviations[-1]) + step * lipschitz * total + start


def distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The linf distance."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _size(values: Sequence[Fraction]) -> Fraction:
    return max(map(abs, values))


def _up(value: Fraction) -> Fraction:
    if value.denominator.bit_length() <= SUM_BITS:
        return value
    return Fraction(-((-value.numerator << SUM_BITS) // value.denominator), 1 << SUM_BITS)


def _formats(arithmetic: Arithmetic) -> dict[Register, Format]:
    found: dict[Register, Format | None] = {
        "state": arithmetic.state,
        "increment": arithmetic.increment,
        "carry": arithmetic.carry,
        "activation": arithmetic.activation,
    }
    if arithmetic.semantics == "ideal":
        return {}
    return {name: own for name, own in found.items() if own is not None}


def _require(system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> None:
    """Everything that can be wrong with a run, before it starts."""
    require_schedule(schedule, len(system.atoms))
    depth, q = len(schedule), system.dimension
    if depth * q > MAX_RUN:
        raise InputError(f"a run of {depth} steps and {q} coordinates; needed at most {MAX_RUN}")
    formats = _formats(arithmetic)
    semantics = arithmetic.semantics
    if semantics == "write_back" and arithmetic.state is None:
        raise InputError("write-back needs the state's register")
    if semantics in ("increment", "error_feedback", "rounded_carry") and not (
        arithmetic.increment or arithmetic.state
    ):
        raise InputError(f"{semantics} needs the increment's register, or the state's")
    if semantics == "rounded_carry" and arithmetic.carry is None:
        raise InputError("rounded_carry needs the carry's register")
    for name, own in formats.items():
        if isinstance(own, FixedPoint):
            _require_steps(own, name, depth, _width(system, name))
    _require_multiples(arithmetic, depth, q)


def _width(system: System, register: Register) -> int:
    if register != "activation":
        return system.dimension
    return max((len(atom.inner) for atom in system.atoms if atom.inner is not None), default=1)


def _require_steps(own: FixedPoint, name: str, depth: int, width: int) -> None:
    rows, columns = len(own.steps), len(own.steps[0])
    if rows not in (1, depth):
        raise InputError(f"the {name} register has {rows} rows of steps; needed 1 or {depth}")
    if columns not in (1, width):
        raise InputError(f"the {name} register has {columns} steps a row; needed 1 or {width}")


def _require_multiples(arithmetic: Arithmetic, depth: int, q: int) -> None:
    """The state's register holds sums of increments: its step divides each of theirs."""
    state, increment = arithmetic.state, arithmetic.increment
    if arithmetic.semantics in ("ideal", "write_back") or not (
        isinstance(state, FixedPoint) and isinstance(increment, FixedPoint)
    ):
        return
    rows = max(len(state.steps), len(increment.steps))
    columns = max(len(state.steps[0]), len(increment.steps[0]))
    for k in range(rows):
        for i in range(columns):
            ratio = step_at(increment, k, i) / step_at(state, k, i)
            if ratio.denominator != 1:
                raise InputError(
                    f"the increment's step is {ratio} of the state's; needed a whole multiple"
                )


class _Plain:
    """One run in rationals."""

    def __init__(self, system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> None:
        self.system = system
        self.schedule = schedule
        self.own = arithmetic
        self.meters = Meters({}, {})
        self.step = system.horizon / len(schedule)
        self.state = _fixed(arithmetic.state)
        increment = _fixed(arithmetic.increment)
        if increment is None and self.state is not None:
            increment = FixedPoint(self.state.steps)
        self.increment = increment
        self.carry = _fixed(arithmetic.carry)

    def run(self) -> Trace:
        """Every step, by the definitions of ``model.Arithmetic``."""
        schedule = self.schedule
        z = self._initial()
        q = len(z)
        compute = ComputedField(
            self.own.rounding, _fixed(self.own.activation), self.own.accumulator,
            self._state_unit(z), self.meters,
        )  # fmt: skip
        carry = [Fraction(0)] * q
        deviation = [Fraction(0)] * q
        states, deviations, eta = [tuple(z)], [tuple(deviation)], Fraction(0)
        conserved = True
        for k, pick in enumerate(schedule):
            atom = self.system.atoms[pick]
            exact = exact_field(atom, z)
            field = exact if self.own.semantics == "ideal" or compute.exact else compute(
                atom, z, k, self._draw(k)
            )  # fmt: skip
            eta = max(eta, distance(field, exact))
            increments = [self.step * g for g in field]
            following, left = self._advance(z, carry, increments, k)
            conserved &= all(
                new + r == old + c + v
                for new, r, old, c, v in zip(following, left, z, carry, increments, strict=True)
            )
            deviation = [
                r + new - old - self.step * g
                for r, new, old, g in zip(deviation, following, z, exact, strict=True)
            ]
            z, carry = following, left
            states.append(tuple(z))
            deviations.append(tuple(deviation))
        return Trace(states, tuple(carry), conserved, deviations, eta, self.meters)

    def _draw(self, step: int) -> Draw:
        return lambda channel: draw(self.own.seed, step, channel)

    def _initial(self) -> list[Fraction]:
        """The initial state as it is stored; its draws are those of step -1."""
        z = list(self.system.initial)
        if self.own.semantics == "ideal" or self.state is None:
            return z
        source = self._draw(-1)
        return [self._write("state", self.state, x, 0, i, source(i)) for i, x in enumerate(z)]

    def _state_unit(self, initial: Sequence[Fraction]) -> Fraction:
        """The lattice that stored states lie on."""
        grids = [own for own in (self.state, self.increment) if own is not None]
        steps = [size for own in grids for row in own.steps for size in row]
        return unit_of([*steps, *initial])

    def _write(
        self, register: Register, own: FixedPoint, value: Fraction, k: int, i: int, draw: int
    ) -> Fraction:
        size = step_at(own, k, i)
        code = round_to_grid(value, size, self.own.rounding, draw)
        return size * self.meters.store(register, code, own, k, i)

    def _advance(
        self, z: list[Fraction], carry: list[Fraction], increments: list[Fraction], k: int
    ) -> tuple[list[Fraction], list[Fraction]]:
        """The next state and carry."""
        semantics, source = self.own.semantics, self._draw(k)
        sums = [x + v for x, v in zip(z, increments, strict=True)]
        if semantics == "ideal" or self.increment is None:
            return sums, carry
        if semantics == "write_back" and self.state is not None:
            own = self.state
            written = [
                self._write("state", own, value, k, i, source(CHANNELS_OF_STATE + i))
                for i, value in enumerate(sums)
            ]
            return written, carry
        following, left = [], []
        for i, (x, v, r) in enumerate(zip(z, increments, carry, strict=True)):
            wanted = v if semantics == "increment" else v + r
            chosen = source(CHANNELS_OF_STATE + i)
            taken = self._write("increment", self.increment, wanted, k, i, chosen)
            following.append(self._added(x + taken, k, i))
            left.append(self._carried(wanted - taken, k, i, source))
        return following, carry if semantics == "increment" else left

    def _added(self, value: Fraction, k: int, i: int) -> Fraction:
        """A sum in the state's register: on its grid already, but it may be too large."""
        if self.state is None:
            return value
        size = step_at(self.state, k, i)
        code = value / size
        if code.denominator != 1:
            raise InputError(
                f"coordinate {i} of the state is off its grid at step {k}: {value} is no multiple "
                f"of {size}"
            )
        return size * self.meters.store("state", code.numerator, self.state, k, i)

    def _carried(self, left: Fraction, k: int, i: int, source: Draw) -> Fraction:
        if self.own.semantics != "rounded_carry" or self.carry is None:
            return left
        chosen = source(CHANNELS_OF_CARRY + i)
        return self._write("carry", self.carry, left, k, i, chosen)


def _fixed(own: Format | None) -> FixedPoint | None:
    return own if isinstance(own, FixedPoint) else None

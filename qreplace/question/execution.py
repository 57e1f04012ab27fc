"""Tube, execution and routing blocks (theory T4, T6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Malformed
from qreplace.premises import Premise, Term


@dataclass(frozen=True, slots=True)
class WholeSpaceTube:
    """The constants hold everywhere."""

    kind: Literal["whole_space"]


@dataclass(frozen=True, slots=True)
class DeclaredTube:
    """A convex tube of all states, with room ``margin`` about the mixed and executed ones."""

    kind: Literal["declared"]
    margin: Premise


Tube = WholeSpaceTube | DeclaredTube


@dataclass(frozen=True, slots=True)
class DepthRule:
    """A number that may depend on depth: ``coefficient / D**power``."""

    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.coefficient <= 0 or not 0 <= self.power <= 8:
            raise Malformed("a depth rule is a positive coefficient over D**power, power 0 to 8")


@dataclass(frozen=True, slots=True)
class Grid:
    """A fixed-point grid: coordinate step, rounding, and the half range ``[-limit, limit]``.

    ``floating`` rounding is that of a floating format (theory T4.12): within the half range it
    moves a number by at most ``step``. Its values lie on no uniform grid, so nothing that counts in
    steps (freezing, a common lattice, a start on the grid) holds for it.
    """

    step: DepthRule
    rounding: Literal["nearest", "directed", "stochastic", "floating"]
    limit: Fraction | None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit <= 0:
            raise Malformed("the half range of a grid is positive")
        if self.rounding == "floating" and (self.limit is None or self.step.power):
            raise Malformed("floating rounding has a fixed step, within a half range")


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The registers are as wide as they need to be; part of what is asked."""

    kind: Literal["unbounded"]


@dataclass(frozen=True, slots=True)
class Saturating:
    """T4.8: clipping; ``margin`` is the distance of every ideal prefix from the box boundary."""

    kind: Literal["saturate"]
    margin: Premise | None


@dataclass(frozen=True, slots=True)
class Wrapping:
    """T4.9: two's complement; uncertified unless a no-overflow invariant is attached."""

    kind: Literal["wrap"]
    no_overflow: Premise | None


MAX_REGISTER_BITS = 63


@dataclass(frozen=True, slots=True)
class Registers:
    """T4.10, T4.11: two's-complement registers on a common lattice, of so many bits each.

    State and increment count in units of the grid's step; carry, and the accumulator in which
    ``h G`` is added up, in units of the carry's step, or of the least lattice that holds every
    increment. ``None``: as wide as it needs to be.
    """

    kind: Literal["registers"]
    on_overflow: Literal["saturate", "wrap"]
    state_bits: int | None
    increment_bits: int | None
    carry_bits: int | None
    accumulator_bits: int | None

    def __post_init__(self) -> None:
        widths = (self.state_bits, self.increment_bits, self.carry_bits, self.accumulator_bits)
        given = [bits for bits in widths if bits is not None]
        if not given:
            raise Malformed("registers need the width of at least one of them")
        if any(not 1 <= bits <= MAX_REGISTER_BITS for bits in given):
            raise Malformed(f"a register has 1 to {MAX_REGISTER_BITS} bits")


Overflow = Unbounded | Saturating | Wrapping | Registers


@dataclass(frozen=True, slots=True)
class ExactExecution:
    """Ideal real arithmetic: the question is about exact execution."""

    kind: Literal["exact"]


@dataclass(frozen=True, slots=True)
class QuantizedExecution:
    """Write-back, increment quantization or error feedback on declared grids (theory T4.3-T4.9).

    ``field_error`` is eta, ``initial_error`` the distance of the executed initial state; ``None``
    is unavailable. ``carry`` is the carry's grid, or ``Absent`` when it is kept exactly.
    """

    kind: Literal["quantized"]
    semantics: Literal["write_back", "increment", "error_feedback"]
    grid: Grid
    carry: Grid | None
    field_error: Term | None
    initial_error: Term | None
    overflow: Overflow

    def __post_init__(self) -> None:
        limits = (self.grid.limit, self.carry.limit if self.carry is not None else None)
        if isinstance(self.overflow, Unbounded) and limits != (None, None):
            raise Malformed("a register with a limit overflows; say whether it saturates or wraps")
        if isinstance(self.overflow, Registers) and limits != (None, None):
            raise Malformed("registers are limited by their bits, not by a limit of the grid")
        if isinstance(self.overflow, Registers):
            if self.semantics == "write_back" and self.overflow.increment_bits is not None:
                raise Malformed("write-back rounds no increment, so it has no increment register")
            if self.semantics != "error_feedback" and self.overflow.carry_bits is not None:
                raise Malformed("only error feedback carries, so there is no carry register")


Execution = ExactExecution | QuantizedExecution


@dataclass(frozen=True, slots=True)
class NoRouting:
    """There is no router."""

    kind: Literal["none"]


@dataclass(frozen=True, slots=True)
class FrozenRouting:
    """T6.4: a score margin on the whole path."""

    kind: Literal["frozen"]
    margin: Premise | None
    score_error: Premise | None
    score_lipschitz: Premise | None


@dataclass(frozen=True, slots=True)
class RouteEvent:
    """T6.1: one event of the target route, where two scores cross.

    ``slope`` is nu_r, at least, of the target's gap within ``neighbourhood`` (half the width of
    U_r, or more) of the event; ``jump`` is Delta_r, the most by which an atom changes there; the
    implemented gap is off by at most ``gap_error`` plus ``gap_lipschitz`` times the state error;
    scores less than ``isolation`` off let in no third expert.
    """

    time: Premise
    slope: Premise
    jump: Premise
    gap_error: Premise
    gap_lipschitz: Premise
    isolation: Premise
    neighbourhood: Premise


@dataclass(frozen=True, slots=True)
class PrescribedEvent:
    """A time at which every atom may jump, by at most ``jump``, whatever the state."""

    time: Premise
    jump: Premise


@dataclass(frozen=True, slots=True)
class PrescribedRouting:
    """T6.5: event times known in advance, the same for every input."""

    kind: Literal["prescribed"]
    events: tuple[PrescribedEvent, ...]


@dataclass(frozen=True, slots=True)
class StateDependentRouting:
    """T6.1: events driven by the state.

    ``oracle_error`` bounds the path error of the run that is given the target's route; ``None``:
    it is formed from a path's upper end and the other radii.
    """

    kind: Literal["state_dependent"]
    events: tuple[RouteEvent, ...]
    score_error: Premise | None
    score_lipschitz: Premise | None
    outer_isolation: Premise | None
    oracle_error: Premise | None


Routing = NoRouting | FrozenRouting | PrescribedRouting | StateDependentRouting

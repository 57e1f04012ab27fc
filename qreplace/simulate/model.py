"""What is simulated, exactly and as data: fields, formats, registers, semantics (theory T4).

Everything here is rational; ``integers`` lowers it to codes of one common lattice, the kernels run
on those codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import InputError
from qreplace.exact.rounding import ROUNDINGS as ROUNDINGS
from qreplace.exact.rounding import Rounding as Rounding

Semantics = Literal["ideal", "write_back", "increment", "error_feedback", "rounded_carry"]
SEMANTICS: tuple[Semantics, ...] = (
    "ideal", "write_back", "increment", "error_feedback", "rounded_carry",
)  # fmt: skip
OnOverflow = Literal["detect", "saturate", "wrap"]
"""``detect``: the run stops with an error that names the register and the step."""

MAX_WIDTH = 63
MAX_SIMULATED_DEPTH = 10_000_000
MAX_SIMULATED_DIMENSION = 65_536

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]


def require_width(bits: int | None, what: str) -> None:
    """Refuse a register width that int64 codes cannot hold."""
    if bits is not None and not 1 <= bits <= MAX_WIDTH:
        raise InputError(f"{what} has {bits} bits; needed 1 to {MAX_WIDTH}")


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """A fixed-point format: value = step * code, two's-complement codes of ``bits`` bits.

    ``steps`` has one row (every step of the run) or D rows (one a step), each with one entry (per
    tensor) or q entries (per channel). ``bits`` ``None``: as wide as needed.
    """

    steps: Matrix
    bits: int | None = None
    on_overflow: OnOverflow = "detect"

    def __post_init__(self) -> None:
        require_width(self.bits, "a fixed-point format")
        if not self.steps or any(not row for row in self.steps):
            raise InputError("a fixed-point format needs at least one step")
        if len({len(row) for row in self.steps}) != 1:
            raise InputError("the steps of a fixed-point format have rows of different lengths")
        if any(step <= 0 for row in self.steps for step in row):
            raise InputError("the steps of a fixed-point format are positive")


@dataclass(frozen=True, slots=True)
class FloatingPoint:
    """A floating or block format by its name in ``exact.float_formats`` (theory T4.12)."""

    name: str


Format = FixedPoint | FloatingPoint


def grid(step: Fraction, bits: int | None = None, on_overflow: OnOverflow = "detect") -> FixedPoint:
    """The format with one step for every coordinate and every step of a run."""
    return FixedPoint(((step,),), bits, on_overflow)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The register that dot products add up in (theory T4.11); codes are of the products' lattice.

    ``tile``: so many terms are added in a register of ``inner_bits`` first, tile sums in one of
    ``bits``. ``pairwise``: pairs of products are added with 16-bit saturation before that, as some
    8-bit instructions do. Terms are added in the order of their index.
    """

    bits: int | None = None
    on_overflow: OnOverflow = "detect"
    tile: int | None = None
    inner_bits: int | None = None
    pairwise: bool = False

    def __post_init__(self) -> None:
        require_width(self.bits, "an accumulator")
        require_width(self.inner_bits, "a tile's accumulator")
        if self.tile is not None and self.tile < 1:
            raise InputError("a tile has at least one term")


@dataclass(frozen=True, slots=True)
class Atom:
    """``G(z) = matrix z + offset + outer act(inner z + bias)``; parts that are ``None`` are absent.

    ``act`` is ``max(0, u)`` (``relu``) or ``sign(u) max(0, |u| - threshold)`` (``soft_threshold``).
    An unfolded proximal step ``S(W z + b) - z`` has matrix -I and outer I; a ReLU residual block
    ``V relu(W z + b)`` has outer V and no matrix.
    """

    offset: Vector
    matrix: Matrix | None = None
    inner: Matrix | None = None
    bias: Vector = ()
    outer: Matrix | None = None
    activation: Literal["relu", "soft_threshold"] | None = None
    threshold: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class System:
    """Atoms, the initial state (q) and the horizon T; one step is ``z += (T/D) G_j(z)``."""

    atoms: tuple[Atom, ...]
    initial: Vector
    horizon: Fraction

    @property
    def dimension(self) -> int:
        """q, the number of state coordinates."""
        return len(self.initial)

    def __post_init__(self) -> None:
        if self.horizon <= 0:
            raise InputError("the horizon is positive")
        if not self.atoms:
            raise InputError("a system has at least one atom")
        if not 1 <= len(self.initial) <= MAX_SIMULATED_DIMENSION:
            raise InputError(f"a state has 1 to {MAX_SIMULATED_DIMENSION} coordinates")
        for index, atom in enumerate(self.atoms):
            _check_atom(atom, index, self.dimension)


def _check_atom(atom: Atom, index: int, q: int) -> None:
    def shape(matrix: Matrix | None, rows: int, columns: int, what: str) -> None:
        if matrix is not None and (
            len(matrix) != rows or any(len(row) != columns for row in matrix)
        ):
            raise InputError(f"the {what} of atom {index} needs shape {rows} x {columns}")

    if len(atom.offset) != q:
        raise InputError(f"the offset of atom {index} has {len(atom.offset)} entries, needed {q}")
    shape(atom.matrix, q, q, "matrix")
    parts = (atom.inner, atom.outer, atom.activation)
    if any(part is None for part in parts) and any(part is not None for part in parts):
        raise InputError(f"atom {index} needs inner, outer and activation together")
    if atom.inner is not None:
        hidden = len(atom.inner)
        shape(atom.inner, hidden, q, "inner matrix")
        shape(atom.outer, q, hidden, "outer matrix")
        if len(atom.bias) != hidden:
            raise InputError(f"the bias of atom {index} needs {hidden} entries")
        if atom.threshold < 0:
            raise InputError(f"the threshold of atom {index} is negative")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a system runs (theory T4.2-T4.9).

    - ``ideal``: nothing is rounded, whatever the formats.
    - ``write_back``: ``z = Q_state(z + h G)``.
    - ``increment``: ``z += Q_increment(h G)``.
    - ``error_feedback``: ``q = Q_increment(h G + r)``, ``z += q``, ``r`` is what is left, exactly.
    - ``rounded_carry``: the same, with ``r`` rounded to the carry's format.

    ``increment`` defaults to the state's grid, in a register as wide as needed. In the last three
    the state's format gives the width of the register that is added up in; every step of the
    increment is a multiple of the state's. A declared state format stores the initial state too.
    """

    semantics: Semantics
    rounding: Rounding
    state: Format | None = None
    increment: Format | None = None
    carry: Format | None = None
    activation: Format | None = None
    accumulator: Accumulator | None = None
    seed: int = 0


def require_schedule(schedule: Sequence[int], atoms: int) -> None:
    """Refuse a schedule that names an atom which is not there, or that is too long."""
    if not 1 <= len(schedule) <= MAX_SIMULATED_DEPTH:
        raise InputError(f"the depth is {len(schedule)}; needed 1 to {MAX_SIMULATED_DEPTH} steps")
    for step, pick in enumerate(schedule):
        if not 0 <= pick < atoms:
            raise InputError(f"step {step} runs atom {pick}; there are {atoms}")


Register = Literal["state", "increment", "carry", "activation", "accumulator", "tile"]


@dataclass(frozen=True, slots=True)
class Run:
    """One executed run beside the ideal one, exactly.

    ``executed`` and ``ideal`` are the endpoints, ``carry`` what error feedback left over, ``error``
    the endpoint error in the linf norm and ``path_error`` the largest over the prefixes.
    ``extremes`` are the smallest and largest codes that each register held (or would have held
    before it saturated or wrapped); ``overflows`` counts how often each one did. ``deviation`` is
    the sum of executed minus ideal steps *along the executed states*, R_D of theory T4.13.
    ``field_error`` is the largest distance, linf, of the computed field from the exact one along
    the run (eta, measured). ``conserved``: ``z + r`` grew by exactly the computed increment in
    every step (T4.6), recomputed; ``None`` where the semantics does not promise it.
    """

    executed: Vector
    ideal: Vector
    carry: Vector | None
    error: Fraction
    path_error: Fraction
    """Both are upper ends where the ideal states were enclosed (``ideal_radius`` above 0)."""
    ideal_radius: Fraction
    """How far the exact ideal states may be from ``ideal``: 0, or the width of an enclosure."""
    extremes: dict[Register, tuple[int, int]]
    overflows: dict[Register, int]
    deviation: Vector
    field_error: Fraction
    a_posteriori: Fraction | None
    """Theory T4.13's bound on this run's endpoint error; ``None`` without constants."""
    conserved: bool | None
    exact: bool
    """Every number above came from integers; ``False`` for a float simulation (diagnostic)."""

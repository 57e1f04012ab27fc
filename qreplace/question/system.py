"""System, target and dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from qreplace.errors import Malformed
from qreplace.exact.polynomial import MAX_VARIABLES, Polynomial
from qreplace.question.piecewise import NetworkTarget, PwaAtom, PwaSystem, ScheduleTarget
from qreplace.question.terms import Array

MAX_ATOMS = 4096
MAX_POLYNOMIAL_DIMENSION = MAX_VARIABLES - 1
MAX_FORCING_PIECES = 256


@dataclass(frozen=True, slots=True)
class LiftedAffineSystem:
    """State-independent autonomous atoms on a finite witness lift, ``z' = b_j`` (theory T7.1)."""

    kind: Literal["lifted_affine"]


@dataclass(frozen=True, slots=True)
class DeclaredSystem:
    """A system known only through declared premises; ``dimension`` is that of its state."""

    kind: Literal["declared"]
    dimension: int


@dataclass(frozen=True, slots=True)
class AffineDynamicsSystem:
    """``z' = (rate I + matrix) z + b_j(t)`` (theory T7.2); ``matrix`` has shape (q, q).

    Without a matrix every coordinate decays or grows by itself, at any dimension.
    """

    kind: Literal["affine_dynamics"]
    rate: Fraction
    matrix: Array | None


@dataclass(frozen=True, slots=True)
class PolynomialSystem:
    """``z' = G_j(t, z)`` with polynomials over the rationals (theory T7.4)."""

    kind: Literal["polynomial"]
    dimension: int

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= MAX_POLYNOMIAL_DIMENSION:
            raise Malformed(f"a polynomial system has 1 to {MAX_POLYNOMIAL_DIMENSION} coordinates")


System = LiftedAffineSystem | AffineDynamicsSystem | PolynomialSystem | PwaSystem | DeclaredSystem


@dataclass(frozen=True, slots=True)
class VectorTarget:
    """The lifted target itself."""

    kind: Literal["vector"]
    values: Array


@dataclass(frozen=True, slots=True)
class LinearTarget:
    """``x -> W x`` on the witnesses; ``weights`` has shape (outputs, inputs)."""

    kind: Literal["linear_map"]
    weights: Array


@dataclass(frozen=True, slots=True)
class DeclaredTarget:
    """A named map; nothing about it is recomputed here."""

    kind: Literal["declared"]
    name: str


Target = VectorTarget | LinearTarget | ScheduleTarget | NetworkTarget | DeclaredTarget


@dataclass(frozen=True, slots=True)
class VectorAtom:
    """The lifted atom itself."""

    kind: Literal["vector"]
    values: Array


@dataclass(frozen=True, slots=True)
class LinearAtom:
    """``x -> W x`` on the witnesses; ``weights`` has shape (outputs, inputs)."""

    kind: Literal["linear_map"]
    weights: Array


@dataclass(frozen=True, slots=True)
class QuantizedLinearAtom:
    """``x -> diag(scales) (codes - zero_point) x``; one scale, or one an output row."""

    kind: Literal["quantized_linear"]
    codes: Array
    scales: Array
    zero_point: int


@dataclass(frozen=True, slots=True)
class ForcingPiece:
    """``b(t) = sum_k coefficients[k] t^k`` from ``start`` to the next piece; shape (degree+1, q).

    ``t`` is the time since the start of the horizon, not since the start of the piece.
    """

    start: Fraction
    coefficients: Array


@dataclass(frozen=True, slots=True)
class ForcingAtom:
    """A forcing ``b_j(t)``, polynomial on each of finitely many pieces (theory T7.2)."""

    kind: Literal["forcing"]
    pieces: tuple[ForcingPiece, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.pieces) <= MAX_FORCING_PIECES:
            raise Malformed(f"a forcing has 1 to {MAX_FORCING_PIECES} pieces")
        if self.pieces[0].start != 0:
            raise Malformed("the first piece of a forcing starts at time 0")
        if any(one.start >= other.start for one, other in pairwise(self.pieces)):
            raise Malformed("the pieces of a forcing start one after another")


@dataclass(frozen=True, slots=True)
class PolynomialAtom:
    """``G_j(t, z)``: one polynomial in ``t, z_1 .. z_n`` a coordinate."""

    kind: Literal["polynomial"]
    field: tuple[Polynomial, ...]


Atom = VectorAtom | LinearAtom | QuantizedLinearAtom | ForcingAtom | PolynomialAtom | PwaAtom


@dataclass(frozen=True, slots=True)
class ListedDictionary:
    """The atoms themselves. ``bits`` is the declared width of an atom's codes."""

    kind: Literal["listed"]
    atoms: tuple[Atom, ...]
    bits: int
    learned: bool
    shared_schedule: bool

    def __post_init__(self) -> None:
        if not 1 <= len(self.atoms) <= MAX_ATOMS:
            raise Malformed(f"a dictionary has 1 to {MAX_ATOMS} atoms, received {len(self.atoms)}")

    @property
    def atom_count(self) -> int:
        """J, the number of atoms."""
        return len(self.atoms)


@dataclass(frozen=True, slots=True)
class DeclaredDictionary:
    """A dictionary known by its size only."""

    kind: Literal["declared"]
    atom_count: int
    bits: int
    learned: bool
    shared_schedule: bool

    def __post_init__(self) -> None:
        if not 1 <= self.atom_count <= MAX_ATOMS:
            raise Malformed(f"a dictionary has 1 to {MAX_ATOMS} atoms, received {self.atom_count}")


Dictionary = ListedDictionary | DeclaredDictionary

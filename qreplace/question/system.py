"""System, target and dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qreplace.errors import Malformed
from qreplace.question.terms import Array

MAX_ATOMS = 4096


@dataclass(frozen=True, slots=True)
class LiftedAffineSystem:
    """State-independent autonomous atoms on a finite witness lift, ``z' = b_j`` (theory T7.1)."""

    kind: Literal["lifted_affine"]


@dataclass(frozen=True, slots=True)
class DeclaredSystem:
    """A system known only through declared premises; ``dimension`` is that of its state."""

    kind: Literal["declared"]
    dimension: int


System = LiftedAffineSystem | DeclaredSystem


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


Target = VectorTarget | LinearTarget | DeclaredTarget


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


Atom = VectorAtom | LinearAtom | QuantizedLinearAtom


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

"""A routed system as data: experts, their library atoms, scores and gates (theory T6).

Everything is affine in state and time, so an exact run has rational states. ``routed`` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from qreplace.errors import InputError
from qreplace.simulate.model import MAX_SIMULATED_DIMENSION

N = TypeVar("N", float, Fraction)
"""Runs are in binary64 or exact, by the same lines of code."""

MAX_EXPERTS = 62
"""A support is the bits of one 64-bit number."""


@dataclass(frozen=True, slots=True)
class Affine(Generic[N]):
    """``matrix z + offset + drift t``: a field (q rows), or scores (one row an expert)."""

    matrix: tuple[tuple[N, ...], ...]
    offset: tuple[N, ...]
    drift: tuple[N, ...]

    @property
    def rows(self) -> int:
        """How many numbers it gives."""
        return len(self.offset)


@dataclass(frozen=True, slots=True)
class Routed(Generic[N]):
    """Library atoms of every expert, the scores that choose among the experts, and the gates.

    Atom j runs ``G_j^m(t, z) = sum_{e in m} gates_e E_je(t, z) / sum_{e in m} gates_e``, where the
    support ``m`` holds the ``top_k`` experts of the largest scores; among equal scores the lowest
    index wins. ``scores`` are the target's, ``implemented`` those of the executed router.
    """

    atoms: tuple[tuple[Affine[N], ...], ...]
    """One row an atom, in it one field an expert."""
    scores: Affine[N]
    implemented: Affine[N]
    gates: tuple[N, ...]
    """Positive; all equal: the experts of a support have equal weights."""
    top_k: int
    initial: tuple[N, ...]
    horizon: N

    @property
    def experts(self) -> int:
        """How many experts the router chooses among."""
        return len(self.gates)

    @property
    def dimension(self) -> int:
        """q, the number of state coordinates."""
        return len(self.initial)

    def __post_init__(self) -> None:
        q, experts = self.dimension, self.experts
        if not 1 <= q <= MAX_SIMULATED_DIMENSION:
            raise InputError(f"a state has 1 to {MAX_SIMULATED_DIMENSION} coordinates")
        if not 1 <= experts <= MAX_EXPERTS:
            raise InputError(f"a router has {experts} experts; needed 1 to {MAX_EXPERTS}")
        if not 1 <= self.top_k <= experts:
            raise InputError(f"top_k is {self.top_k}; needed 1 to {experts}, the experts")
        if not self.horizon > 0:
            raise InputError("the horizon is positive")
        if not all(gate > 0 for gate in self.gates):
            raise InputError("the gate weights are positive")
        if not self.atoms:
            raise InputError("a system has at least one atom")
        for j, row in enumerate(self.atoms):
            if len(row) != experts:
                raise InputError(f"atom {j} has {len(row)} experts; needed {experts}")
            for e, field in enumerate(row):
                _require_shape(field, q, q, f"expert {e} of atom {j}")
        _require_shape(self.scores, experts, q, "the score function")
        _require_shape(self.implemented, experts, q, "the implemented score function")


def _require_shape(own: Affine[N], rows: int, columns: int, what: str) -> None:
    shapes = {"offset": len(own.offset), "drift": len(own.drift), "matrix": len(own.matrix)}
    for part, received in shapes.items():
        if received != rows:
            raise InputError(f"the {part} of {what} has {received} rows; needed {rows}")
    if any(len(row) != columns for row in own.matrix):
        raise InputError(f"the matrix of {what} needs {columns} columns")


def binary64(system: Routed[Fraction]) -> Routed[float]:
    """The system with every number rounded to binary64; raises ``InputError`` where one is too big.

    A gate or a horizon that rounds to 0 is refused as one that is not positive.
    """
    try:
        return Routed(
            atoms=tuple(tuple(_floats(field) for field in row) for row in system.atoms),
            scores=_floats(system.scores),
            implemented=_floats(system.implemented),
            gates=tuple(map(float, system.gates)),
            top_k=system.top_k,
            initial=tuple(map(float, system.initial)),
            horizon=float(system.horizon),
        )
    except OverflowError:
        raise InputError("the system has a number that binary64 does not hold") from None


def _floats(own: Affine[Fraction]) -> Affine[float]:
    rows = tuple(tuple(map(float, row)) for row in own.matrix)
    return Affine(rows, tuple(map(float, own.offset)), tuple(map(float, own.drift)))


def mixed(system: Routed[Fraction], weights: tuple[Fraction, ...]) -> Routed[Fraction]:
    """The relaxed system of constant weights: one atom, routed by the target's own scores.

    Its path is the target ``z*``; run in many steps it is computed (theory T6, before T6.1).
    """
    if len(weights) != len(system.atoms) or sum(weights) != 1 or min(weights) < 0:
        raise InputError(
            f"needed {len(system.atoms)} weights, at least 0, that sum to 1 exactly; received "
            f"{len(weights)} that sum to {sum(weights, Fraction(0))}"[:300]
        )
    row = tuple(_combined([own[e] for own in system.atoms], weights) for e in range(system.experts))
    return Routed(
        (row,), system.scores, system.scores, system.gates, system.top_k, system.initial,
        system.horizon,
    )  # fmt: skip


def _combined(fields: list[Affine[Fraction]], weights: tuple[Fraction, ...]) -> Affine[Fraction]:
    def total(parts: list[Fraction]) -> Fraction:
        return sum((w * part for w, part in zip(weights, parts, strict=True)), Fraction(0))

    first = fields[0]
    return Affine(
        tuple(
            tuple(total([f.matrix[i][c] for f in fields]) for c in range(len(first.matrix[i])))
            for i in range(first.rows)
        ),
        tuple(total([f.offset[i] for f in fields]) for i in range(first.rows)),
        tuple(total([f.drift[i] for f in fields]) for i in range(first.rows)),
    )


def members(support: int) -> list[int]:
    """The experts of a support, ascending."""
    return [e for e in range(support.bit_length()) if support >> e & 1]

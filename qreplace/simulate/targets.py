"""The endpoint of a relaxed control with constant weights, exact or enclosed (theory T7.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.affine_flow import Enclosure, Mixture, ScalarPiece, endpoint
from qreplace.simulate.model import Atom, Matrix, System, Vector


@dataclass(frozen=True, slots=True)
class Target:
    """A point within ``radius``, linf, of ``value``, and in words how it is known."""

    value: Vector
    radius: Fraction
    how: str


@dataclass(frozen=True)
class _MeanFlow:
    """``z' = A z + b``, the weighted mean of affine atoms, as ``exact.affine_flow`` reads it."""

    rate: Fraction
    matrix: Sequence[Sequence[int]] | None
    matrix_denominator: int
    initial: Sequence[int]
    atoms: Sequence[Sequence[ScalarPiece]]
    denominator: int
    horizon: Fraction


def relaxed_target(system: System, weights: Sequence[Fraction]) -> Target | None:
    """The endpoint of ``z' = sum_j weights[j] G_j(z)``; ``None`` for atoms that are not affine.

    Raises ``InputError`` for weights that are not a point of the simplex.
    """
    require_weights(weights, len(system.atoms))
    if any(atom.inner is not None for atom in system.atoms):
        return None
    found = _enclosed(system, weights)
    value = tuple(Fraction(n, found.denominator) for n in found.centre)
    if found.radius == 0:
        return Target(value, found.radius, "exact: the atoms do not read the state")
    return Target(value, found.radius, "enclosed: the flow of the mean affine field")


def require_weights(weights: Sequence[Fraction], atoms: int) -> None:
    """Refuse weights that leave the simplex, by however little."""
    total = sum(weights, Fraction(0))
    if len(weights) != atoms or any(w < 0 for w in weights) or total != 1:
        raise InputError(
            f"needed {atoms} weights of at least 0 that sum to exactly 1, received "
            f"{len(weights)} that sum to {total}",
            pointer="/weights",
        )


def _enclosed(system: System, weights: Sequence[Fraction]) -> Enclosure:
    forcing = [
        sum((w * atom.offset[i] for w, atom in zip(weights, system.atoms, strict=True)),
            Fraction(0))
        for i in range(system.dimension)
    ]  # fmt: skip
    mean = _mean_matrix(system.atoms, weights)
    rate = _scalar(mean)
    denominator = _common([*forcing, *system.initial])
    scale = 1 if mean is None or rate is not None else _common(a for row in mean for a in row)
    matrix = None
    if mean is not None and rate is None:
        matrix = [[int(a * scale) for a in row] for row in mean]
    piece = ScalarPiece(
        Fraction(0), system.horizon, (tuple(int(b * denominator) for b in forcing),)
    )
    flow = _MeanFlow(
        rate=rate or Fraction(0),
        matrix=matrix,
        matrix_denominator=scale,
        initial=[int(z * denominator) for z in system.initial],
        atoms=((piece,),),
        denominator=denominator,
        horizon=system.horizon,
    )
    return endpoint(flow, [Mixture(system.horizon, (1,), 1)])


def _mean_matrix(atoms: Sequence[Atom], weights: Sequence[Fraction]) -> Matrix | None:
    if all(atom.matrix is None for atom in atoms):
        return None
    q = len(atoms[0].offset)
    zero: Matrix = ((Fraction(0),) * q,) * q
    matrices = [atom.matrix or zero for atom in atoms]
    return tuple(
        tuple(
            sum((w * m[i][k] for w, m in zip(weights, matrices, strict=True)), Fraction(0))
            for k in range(q)
        )
        for i in range(q)
    )


def _scalar(matrix: Matrix | None) -> Fraction | None:
    """The c with ``matrix = c I``; ``None`` if there is none."""
    if matrix is None:
        return Fraction(0)
    c = matrix[0][0]
    alike = all(
        a == (c if i == k else 0) for i, row in enumerate(matrix) for k, a in enumerate(row)
    )
    return c if alike else None


def _common(values: Iterable[Fraction]) -> int:
    return math.lcm(*(value.denominator for value in values))

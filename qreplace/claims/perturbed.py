"""``perturbed``: an affine nominal system with an atom-wise field error (theory T7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.affine_dynamics import DominantPiece
from qreplace.claims.functional import Functional
from qreplace.claims.region import BoxPart


@dataclass(frozen=True, slots=True)
class NominalAtom:
    """``b~_j(t) = sum of coefficients[k] t^k``, each coefficient a vector of the state."""

    coefficients: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class PerturbedClaim:
    """``E_inf >= lower`` for a polynomial system close to ``z' = A~ z + b~_j(t)`` on its tube.

    ``matrix`` is A~ row by row. On ``tube``, which every true trajectory keeps to,
    ``||G_j - (A~ z + b~_j)|| <= field_error`` in the question's norm, by interval bounds on its
    cells. The nominal lower end drops by ``int ||e^{A~^T s} lambda||_* ds * field_error``, bounded
    on ``dominant``'s pieces.
    """

    format: Literal["qreplace/claim/perturbed/v1"]
    subject: str
    code: int
    matrix: tuple[tuple[Fraction, ...], ...]
    atoms: tuple[NominalAtom, ...]
    tube: BoxPart
    field_error: Fraction
    witness: Functional
    dominant: tuple[DominantPiece, ...]
    lower: Fraction

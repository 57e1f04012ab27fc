"""Dynamics as a claim sees them: affine in integers, polynomial over the rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from qreplace.errors import InputError
from qreplace.exact.polynomial import Polynomial, Terms, from_terms
from qreplace.question.model import MAX_POLYNOMIAL_DIMENSION


@dataclass(frozen=True)
class ForcingOnPiece:
    """``b_j(t) = sum_k coefficients[k] t^k / denominator`` on ``[start, end]``; t from 0."""

    start: Fraction
    end: Fraction
    coefficients: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class AffineProblem:
    """``z' = A z + b_j(t)`` on ``[0, horizon]`` in integers (theory T7.2).

    ``A = rate I + matrix / matrix_denominator``; initial state, target and forcings are over one
    common ``denominator``. ``atoms[j]`` are the pieces of ``b_j``, which cover the horizon.
    """

    rate: Fraction
    matrix: tuple[tuple[int, ...], ...] | None
    matrix_denominator: int
    initial: tuple[int, ...]
    target: tuple[int, ...]
    atoms: tuple[tuple[ForcingOnPiece, ...], ...]
    denominator: int
    horizon: Fraction

    @property
    def dimension(self) -> int:
        """The number of coordinates, q."""
        return len(self.target)

    @cached_property
    def breaks(self) -> tuple[Fraction, ...]:
        """The times at which some forcing changes its polynomial, strictly inside the horizon."""
        starts = {piece.start for atom in self.atoms for piece in atom}
        return tuple(sorted(starts - {Fraction(0)}))

    def piece_at(self, atom: int, start: Fraction, end: Fraction) -> ForcingOnPiece:
        """The piece of an atom that holds on ``[start, end]``; raises ``InputError`` if none."""
        for piece in self.atoms[atom]:
            if piece.start <= start and end <= piece.end:
                return piece
        raise InputError(f"no piece of atom {atom} covers the times {start} to {end}")

    def entry(self, row: int, column: int) -> Fraction:
        """An entry of A."""
        own = self.rate if row == column else Fraction(0)
        if self.matrix is None:
            return own
        return own + Fraction(self.matrix[row][column], self.matrix_denominator)


@dataclass(frozen=True)
class PolynomialProblem:
    """``z' = G_j(t, z)`` with polynomials in ``t, z_1 .. z_n`` (theory T7.4)."""

    atoms: tuple[tuple[Polynomial, ...], ...]
    initial: tuple[Fraction, ...]
    target: tuple[Fraction, ...]
    horizon: Fraction

    @property
    def dimension(self) -> int:
        """The number of coordinates, n."""
        return len(self.target)

    @property
    def start(self) -> tuple[Fraction, ...]:
        """The point ``(0, z_0)``."""
        return (Fraction(0), *self.initial)


def as_polynomial(affine: AffineProblem) -> PolynomialProblem:
    """Affine dynamics whose forcings have one piece each, as polynomials."""
    size = affine.dimension
    if size > MAX_POLYNOMIAL_DIMENSION:
        raise InputError(
            f"polynomials have at most {MAX_POLYNOMIAL_DIMENSION} coordinates, the state has {size}"
        )
    if affine.breaks:
        raise InputError("a forcing with several pieces is not one polynomial in time")
    atoms = []
    for (piece,) in affine.atoms:
        field = []
        for row in range(size):
            terms: Terms = {
                (0, *(int(i == column) for i in range(size))): affine.entry(row, column)
                for column in range(size)
            }
            for power, values in enumerate(piece.coefficients):
                key = (power, *([0] * size))
                terms[key] = Fraction(values[row], affine.denominator)
            field.append(from_terms(terms))
        atoms.append(tuple(field))
    scale = affine.denominator
    return PolynomialProblem(
        tuple(atoms),
        tuple(Fraction(n, scale) for n in affine.initial),
        tuple(Fraction(n, scale) for n in affine.target),
        affine.horizon,
    )

"""Polynomial fields in floats, many points at a time; for proposals only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qreplace.exact.polynomial import Polynomial
from qreplace.question.dynamics import PolynomialProblem

Floats = NDArray[np.float64]


class FloatPolynomial:
    """Values of one polynomial at points of shape (..., variables)."""

    def __init__(self, polynomial: Polynomial, arity: int) -> None:
        self.exponents = np.array(polynomial.exponents, dtype=np.int64).reshape(-1, arity)
        self.coefficients = np.array([float(c) for c in polynomial.coefficients])

    def __call__(self, points: Floats) -> Floats:
        """The values, shape (...)."""
        values = np.zeros(points.shape[:-1])
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            term = np.full(points.shape[:-1], coefficient)
            for index in np.flatnonzero(exponents):
                term = term * points[..., index] ** exponents[index]
            values = values + term
        return values


class FloatField:
    """All atoms' components of a problem and their own partial derivatives."""

    def __init__(self, problem: PolynomialProblem) -> None:
        arity = problem.dimension + 1
        self.dimension = problem.dimension
        self.atoms = [[FloatPolynomial(p, arity) for p in atom] for atom in problem.atoms]
        self.slopes = [
            [FloatPolynomial(p.derivative(i + 1), arity) for i, p in enumerate(atom)]
            for atom in problem.atoms
        ]

    def component(self, index: int, points: Floats) -> Floats:
        """One component of every atom, shape (atoms, ...)."""
        return np.stack([atom[index](points) for atom in self.atoms])

    def slope(self, index: int, points: Floats) -> Floats:
        """``d G_ji / d z_i`` of every atom, shape (atoms, ...)."""
        return np.stack([atom[index](points) for atom in self.slopes])

    def __call__(self, points: Floats) -> Floats:
        """Every atom's field, shape (atoms, ..., dimension)."""
        return np.stack([self.component(i, points) for i in range(self.dimension)], axis=-1)


def gradient(polynomial: Polynomial, arity: int) -> Sequence[FloatPolynomial]:
    """The partial derivatives by every variable."""
    return [FloatPolynomial(polynomial.derivative(i), arity) for i in range(arity)]

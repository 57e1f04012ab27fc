"""Functionals that every atom moves by a label and one rate, exactly (theory T9.2).

With ``G_j = A z + b_j + n_j(t, z)``: the l with ``l n_j = 0`` for every atom and ``l A = -lam l``.
Without a matrix of its own (``A = rate I``) they are all functionals; else there is one space for
each rational eigenvalue of A. Coordinates of polynomial atoms that are off a label by little on a
tube are found besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any

import flint
import numpy as np

from qreplace.claims.region import BoxPart
from qreplace.errors import ProducerFailed
from qreplace.exact.exposed_channel import Channel
from qreplace.exact.intervals import range_on_cells
from qreplace.exact.polynomial import Polynomial, Terms, from_terms
from qreplace.produce.linear_program import Floats
from qreplace.produce.reaches import reaches_of
from qreplace.question.dynamics import AffineProblem, PolynomialProblem
from qreplace.question.polynomial_fields import PolynomialFields

MAX_DIMENSION = 48
"""Largest state with a matrix of its own whose eigenvalues are sought."""
Rows = list[list[Fraction]]


@dataclass(frozen=True)
class SharedRate:
    """What functionals see of atoms that share a matrix: constants ``b_j``, one row an atom.

    Only functionals that vanish on every row of ``hidden`` see nothing else. ``matrix`` None is
    ``rate I``.
    """

    matrix: Rows | None
    rate: Fraction
    hidden: Rows
    constants: Rows
    initial: list[Fraction]
    target: list[Fraction]
    horizon: Fraction

    def channel(self, functional: Sequence[Fraction], rate: Fraction) -> Channel:
        """The channel along a functional of a space with that rate."""

        def along(values: Sequence[Fraction]) -> Fraction:
            return sum(map(mul, functional, values), Fraction(0))

        labels = tuple(map(along, self.constants))
        return Channel(rate, along(self.initial), labels, along(self.target), self.horizon)

    @cached_property
    def constants_float(self) -> Floats:
        """``b_j`` in floats, shape (J, q)."""
        return np.array([[float(x) for x in row] for row in self.constants])

    @cached_property
    def initial_float(self) -> Floats:
        """The initial state in floats."""
        return np.array([float(x) for x in self.initial])

    @cached_property
    def target_float(self) -> Floats:
        """The target in floats."""
        return np.array([float(x) for x in self.target])


@dataclass(frozen=True)
class ChannelSpace:
    """Independent functionals of one rate; ``rows`` None stands for all of them."""

    rate: Fraction
    rows: Rows | None


def of_affine(problem: AffineProblem) -> SharedRate:
    """Parts of forcings that depend on time are hidden: what is not the first piece's constant."""
    unit, size = problem.denominator, problem.dimension
    hidden: dict[tuple[int, ...], list[Fraction]] = {}
    constants = []
    for atom in problem.atoms:
        first = atom[0].coefficients[0]
        constants.append([Fraction(n, unit) for n in first])
        for piece in atom:
            jump = tuple(a - b for a, b in zip(piece.coefficients[0], first, strict=True))
            for row in (jump, *piece.coefficients[1:]):
                if any(row):
                    hidden[tuple(row)] = [Fraction(n) for n in row]
    matrix = None
    if problem.matrix is not None and size <= MAX_DIMENSION:
        matrix = [[problem.entry(i, j) for j in range(size)] for i in range(size)]
    elif problem.matrix is not None:
        raise ProducerFailed(f"eigenvalues are sought up to {MAX_DIMENSION} coordinates")
    return SharedRate(
        matrix,
        problem.rate,
        list(hidden.values()),
        constants,
        [Fraction(n, unit) for n in problem.initial],
        [Fraction(n, unit) for n in problem.target],
        problem.horizon,
    )


def of_polynomial(problem: PolynomialProblem) -> SharedRate:
    """The first atom's linear part is A; other monomials, and other linear parts, are hidden."""
    size = problem.dimension
    hidden: dict[tuple[int, tuple[int, ...]], list[Fraction]] = {}
    constants = [[Fraction(0)] * size for _ in problem.atoms]
    matrix = [[Fraction(0)] * size for _ in range(size)]
    for i, component in enumerate(problem.atoms[0]):
        for k in range(size):
            matrix[i][k] = component.coefficient(_linear(k, size))
    for j, field in enumerate(problem.atoms):
        for i, component in enumerate(field):
            terms = component.terms
            constants[j][i] = terms.pop((0,) * (size + 1), Fraction(0))
            for k in range(size):
                key = _linear(k, size)
                terms[key] = terms.get(key, Fraction(0)) - matrix[i][k]
            for exponents, c in terms.items():
                if c:
                    hidden.setdefault((j, exponents), [Fraction(0)] * size)[i] = c
    return SharedRate(
        matrix,
        Fraction(0),
        list(hidden.values()),
        constants,
        list(problem.initial),
        list(problem.target),
        problem.horizon,
    )


def channel_spaces(shared: SharedRate) -> list[ChannelSpace]:
    """Every space of functionals that move by labels and one rational rate, largest rate first."""
    if shared.matrix is None:
        if not shared.hidden:
            return [ChannelSpace(-shared.rate, None)]
        rows = _null_space(shared.hidden)
        return [ChannelSpace(-shared.rate, rows)] if rows else []
    size = len(shared.matrix)
    columns = [list(column) for column in zip(*shared.matrix, strict=True)]
    found = []
    for value in sorted(_rational_eigenvalues(shared.matrix)):
        shifted = [
            [entry - value * (i == k) for k, entry in enumerate(column)]
            for i, column in enumerate(columns)
        ]
        rows = _null_space([*shifted, *shared.hidden]) if size else []
        if rows:
            found.append(ChannelSpace(-value, rows))
    return found


def _rational_eigenvalues(matrix: Rows) -> list[Fraction]:
    polynomial = _rational(matrix).charpoly()
    found = []
    for factor, _ in polynomial.factor()[1]:
        if factor.degree() == 1:
            root = -factor[0] / factor[1]
            found.append(Fraction(int(root.p), int(root.q)))
    return found


def _null_space(rows: Rows) -> Rows:
    """The vectors that every row annihilates, a basis with a 1 in a coordinate of its own."""
    size = len(rows[0])
    reduced, rank = _rational(rows).rref()
    entries = [Fraction(int(x.p), int(x.q)) for x in reduced.entries()]
    table = [entries[r * size : (r + 1) * size] for r in range(rank)]
    pivots = [next(k for k, x in enumerate(row) if x) for row in table]
    basis = []
    for free in sorted(set(range(size)) - set(pivots)):
        vector = [Fraction(int(k == free)) for k in range(size)]
        for row, pivot in zip(table, pivots, strict=True):
            vector[pivot] = -row[free]
        basis.append(vector)
    return basis


def _rational(rows: Rows) -> Any:
    entries = [flint.fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return flint.fmpq_mat(len(rows), len(rows[0]), entries)


def _linear(index: int, size: int) -> tuple[int, ...]:
    return tuple(int(k == index + 1) for k in range(size + 1))


# --- coordinates that are off their label by a defect ---------------------------------------------


@dataclass(frozen=True)
class NearChannel:
    """On the tube every atom moves ``coordinate`` by its label less ``rate z``, up to a defect."""

    coordinate: int
    rate: Fraction
    labels: tuple[Fraction, ...]
    defect: Fraction
    tube: BoxPart


def nearly_exposed(problem: PolynomialProblem, depth: int) -> Iterator[NearChannel]:
    """One for each coordinate and linear part of it, on a box that Euler steps keep from ``depth``
    on. Labels are the middles of their ranges. Nothing where no box is found.
    """
    step = problem.horizon / depth
    tubes = [
        BoxPart(
            "box",
            tuple(low for low, _ in found.sides),
            tuple(high for _, high in found.sides),
            (found.slices, *([1] * problem.dimension)),
        )
        for found in reaches_of(PolynomialFields(problem))
        if found.step is None or step <= found.step
    ]
    if not tubes:
        return
    tube = min(tubes, key=_width)
    box = ((Fraction(0), problem.horizon), *zip(tube.lower, tube.upper, strict=True))
    for index in range(problem.dimension):
        own = _linear(index, problem.dimension)
        for rate in sorted({-field[index].coefficient(own) for field in problem.atoms}):
            ranges = []
            for field in problem.atoms:
                rest = _plus(field[index], own, rate)
                cells = [n if rest.involves(i) else 1 for i, n in enumerate(tube.cells)]
                ranges.append(range_on_cells(rest, box, cells))
            labels = tuple((low + high) / 2 for low, high in ranges)
            defect = max((high - low) / 2 for low, high in ranges)
            if defect == 0:
                continue  # a channel everywhere, tube or not
            yield NearChannel(index, rate, labels, defect, tube)


def _width(part: BoxPart) -> Fraction:
    return max(high - low for low, high in zip(part.lower, part.upper, strict=True))


def _plus(polynomial: Polynomial, key: tuple[int, ...], value: Fraction) -> Polynomial:
    terms: Terms = polynomial.terms
    terms[key] = terms.get(key, Fraction(0)) + value
    return from_terms(terms)

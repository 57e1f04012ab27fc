"""Ranges of polynomial atoms, their derivatives and their differences on boxes (theory T3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

from qreplace.exact.intervals import Box, Interval, magnitude, range_on
from qreplace.exact.intervals import cells as cut
from qreplace.exact.polynomial import Polynomial
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.field_ranges import MAX_PAIRED_ATOMS, Rows, Sides, spread
from qreplace.question.model import Norm
from qreplace.question.operator_bounds import norm_upper

Vector = Sequence[Polynomial]

START_CELLS = 16
"""Parts of the horizon on which the field at the initial state is bounded."""


class PolynomialFields:
    """``Fields`` of a polynomial problem."""

    def __init__(self, problem: PolynomialProblem) -> None:
        self.problem = problem
        self.horizon = problem.horizon
        self.initial: Sequence[Fraction] = problem.initial

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.problem.dimension

    @cached_property
    def constant_slopes(self) -> bool:
        """Every atom is affine in the state with a constant matrix."""
        return all(entry.degree == 0 for rows in self._jacobians for row in rows for entry in row)

    def work(self, cells: Sequence[int]) -> int:
        """Cells times terms, for every atom, pair and derivative."""
        atoms = self.problem.atoms
        terms = sum(len(part.exponents) for atom in atoms for part in atom)
        each = (self.dimension + 2) * terms * (self.dimension + 2)
        paired = len(atoms) if len(atoms) <= MAX_PAIRED_ATOMS else 2
        return math.prod(cells) * each * paired

    # --- ranges ---------------------------------------------------------------------------------

    def hull(self, end: Fraction, box: Sides) -> list[Interval]:
        """The range of each component over all atoms, at times from 0 to ``end``."""
        region = ((Fraction(0), end), *box)
        return [self._over_atoms(i, region) for i in range(self.dimension)]

    def component(self, index: int, box: Sides) -> Interval:
        """The range of one component over all atoms at every time."""
        return self._over_atoms(index, self._region(box))

    def _over_atoms(self, index: int, region: Box) -> Interval:
        ranges = [range_on(atom[index], region) for atom in self.problem.atoms]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def start_bound(self, norm: Norm) -> Fraction:
        """An upper bound of every ``||G_j(t, z_0)||``."""
        cells = [START_CELLS, *([1] * self.dimension)]
        return self.bound(norm, [(z, z) for z in self.initial], cells)

    def slope(self, index: int, box: Sides) -> Fraction:
        """A lower bound of ``d G_i / d z_i`` over all atoms."""
        region = self._region(box)
        return min(range_on(rows[index][index], region)[0] for rows in self._jacobians)

    def _region(self, box: Sides) -> Box:
        return ((Fraction(0), self.horizon), *box)

    # --- constants ------------------------------------------------------------------------------

    def bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """B."""
        region = self._region(box)
        return max(_sup(norm, atom, region, cells) for atom in self.problem.atoms)

    def difference_bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """``sup ||G_i - G_j||``."""
        return self._largest_difference(self.problem.atoms, norm, self._region(box), cells)

    def _largest_difference(
        self, vectors: Sequence[Vector], norm: Norm, region: Box, cells: Sequence[int]
    ) -> Fraction:
        if len(vectors) <= MAX_PAIRED_ATOMS:
            pairs = itertools.combinations(vectors, 2)
            return max((_sup(norm, _minus(a, b), region, cells) for a, b in pairs), default=ZERO)
        parts = [part for vector in vectors for part in vector]
        found = ZERO
        for cell in _cells(parts, region, cells):
            ranges = [[range_on(part, cell) for part in vector] for vector in vectors]
            sizes = [spread(column) for column in zip(*ranges, strict=True)]
            found = max(found, norm_upper(norm, sizes))
        return found

    @cached_property
    def _jacobians(self) -> list[list[list[Polynomial]]]:
        return [
            [[part.derivative(k + 1) for k in range(self.dimension)] for part in atom]
            for atom in self.problem.atoms
        ]

    def jacobians(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """Entries of every atom's Jacobian, cell by cell."""
        for rows in self._jacobians:
            yield from self._entries(rows, box, cells)

    def jacobian_differences(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """Entries of the Jacobians of differences, cell by cell."""
        if len(self._jacobians) <= MAX_PAIRED_ATOMS:
            for one, other in itertools.combinations(self._jacobians, 2):
                rows = [_minus(a, b) for a, b in zip(one, other, strict=True)]
                yield from self._entries(rows, box, cells)
            return
        size = range(self.dimension)
        parts = [entry for rows in self._jacobians for row in rows for entry in row]
        for cell in _cells(parts, self._region(box), cells):
            found = []
            for i in size:
                widths = [
                    spread([range_on(rows[i][k], cell) for rows in self._jacobians]) for k in size
                ]
                found.append([(-width, width) for width in widths])
            yield found

    def _entries(
        self, rows: Sequence[Vector], box: Sides, cells: Sequence[int]
    ) -> Iterator[list[list[Interval]]]:
        parts = [entry for row in rows for entry in row]
        for cell in _cells(parts, self._region(box), cells):
            yield [[range_on(entry, cell) for entry in row] for row in rows]

    # --- time -----------------------------------------------------------------------------------

    def variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """V: at most the integral of ``sup_z ||d_t G_j||``, summed over atoms."""
        inner = [1, *cells[1:]]

        def heights(region: Box) -> Fraction:
            return sum((_sup(norm, atom, region, inner) for atom in self._moving), ZERO)

        return self._integral(heights, box, cells) if self._moving else ZERO

    def difference_variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """At most the integral of the largest ``sup_z ||d_t (G_i - G_j)||``."""
        if not self._moving:
            return ZERO
        derivatives = [[part.derivative(0) for part in atom] for atom in self.problem.atoms]
        inner = [1, *cells[1:]]
        return self._integral(
            lambda region: self._largest_difference(derivatives, norm, region, inner), box, cells
        )

    @cached_property
    def _moving(self) -> list[list[Polynomial]]:
        """The time derivatives of the atoms that have one."""
        derivatives = [[part.derivative(0) for part in atom] for atom in self.problem.atoms]
        return [vector for vector in derivatives if any(part.exponents for part in vector)]

    def _integral(
        self, height: Callable[[Box], Fraction], box: Sides, cells: Sequence[int]
    ) -> Fraction:
        step = self.horizon / cells[0]
        parts = (((step * k, step * (k + 1)), *box) for k in range(cells[0]))
        return step * sum((height(part) for part in parts), ZERO)


ZERO = Fraction(0)


def _minus(one: Vector, other: Vector) -> list[Polynomial]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _cells(parts: Vector, region: Box, counts: Sequence[int]) -> Iterator[Box]:
    """The cells of a region, cut only along variables that some part involves."""
    used = [
        count if any(part.involves(i) for part in parts) else 1 for i, count in enumerate(counts)
    ]
    return cut(region, used)


def _sup(norm: Norm, vector: Vector, region: Box, counts: Sequence[int]) -> Fraction:
    """An upper bound of the norm of a polynomial vector on a region."""
    return max(
        norm_upper(norm, [magnitude(range_on(part, cell)) for part in vector])
        for cell in _cells(vector, region, counts)
    )

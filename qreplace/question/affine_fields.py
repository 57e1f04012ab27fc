"""Ranges of affine dynamics ``A z + b_j(t)`` on boxes (theory T3, T7.2).

Only time is cut into cells: on a box the affine part is bounded exactly, coordinate by coordinate.
What takes every coordinate is done in integers over a common denominator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from operator import mul

from qreplace.exact.intervals import Interval, range_on
from qreplace.exact.polynomial import from_terms
from qreplace.question.dynamics import AffineProblem, ForcingOnPiece
from qreplace.question.field_ranges import MAX_PAIRED_ATOMS, Rows, Sides
from qreplace.question.model import Norm
from qreplace.question.norms import norm_bounds
from qreplace.question.operator_bounds import norm_upper

ZERO = Fraction(0)
START_CELLS = 16
"""Parts of the horizon on which forcings are bounded along with the initial state."""
Coefficients = Sequence[Sequence[int]]
Ends = tuple[list[int], list[int], int]
"""Lower ends, upper ends and their denominator."""


class AffineFields:
    """``Fields`` of an affine problem; its slopes hold everywhere."""

    def __init__(self, problem: AffineProblem) -> None:
        self.problem = problem
        self.horizon = problem.horizon
        scale = problem.denominator
        self.initial: Sequence[Fraction] = [Fraction(n, scale) for n in problem.initial]
        self._hulls: dict[Interval, Ends] = {}
        pieces = [piece for atom in problem.atoms for piece in atom]
        self._degree = max(len(piece.coefficients) for piece in pieces) - 1
        self._constant = self._degree == 0 and not problem.breaks

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.problem.dimension

    @property
    def constant_slopes(self) -> bool:
        """Always: A is one matrix."""
        return True

    def work(self, cells: Sequence[int]) -> int:
        """Moments times atoms times coordinates, and the matrix."""
        size, atoms = self.dimension, len(self.problem.atoms)
        times = len(self.problem.breaks) + (cells[0] if self._degree else 1)
        matrix = 0 if self.problem.matrix is None else size * size
        paired = min(atoms, MAX_PAIRED_ATOMS)
        forced = size * times * (self._degree + 1) ** 2 * atoms * paired
        total = (matrix * (cells[0] + 16) + 16 * size * cells[0] + forced) // 8
        if not self.problem.breaks:
            return total
        # The hull of a slice looks at every piece that began before its end.
        pieces = sum(len(atom) for atom in self.problem.atoms)
        return total + cells[0] * pieces * size * (self._degree + 1) // 2

    # --- ranges ---------------------------------------------------------------------------------

    def hull(self, end: Fraction, box: Sides) -> list[Interval]:
        """The range of each component over all atoms, at times from 0 to ``end``."""
        lows, highs, denominator = _sum(self._linear(box), self._forcing_hull(ZERO, end))
        return [
            (Fraction(low, denominator), Fraction(high, denominator))
            for low, high in zip(lows, highs, strict=True)
        ]

    def component(self, index: int, box: Sides) -> Interval:
        """The range of one component over all atoms at every time."""
        low, high = self._linear_row(index, box)
        lows, highs, scale = self._forcing_hull(ZERO, self.horizon)
        return low + Fraction(lows[index], scale), high + Fraction(highs[index], scale)

    def start_bound(self, norm: Norm) -> Fraction:
        """An upper bound of every ``||A z_0 + b_j(t)||``."""
        return self.bound(norm, [(z, z) for z in self.initial], [START_CELLS])

    def slope(self, index: int, box: Sides) -> Fraction:
        """``A_ii``, everywhere."""
        del box
        return self.problem.entry(index, index)

    def _linear(self, box: Sides) -> Ends:
        """The range of ``A z`` on the box."""
        common = math.lcm(*(end.denominator for side in box for end in side))
        lows = [low.numerator * (common // low.denominator) for low, _ in box]
        highs = [high.numerator * (common // high.denominator) for _, high in box]
        if self._signed is None:
            rate = self.problem.rate
            if rate < 0:
                lows, highs = highs, lows
            factor = rate.numerator
            return (
                [factor * x for x in lows],
                [factor * x for x in highs],
                common * rate.denominator,
            )
        rising, falling, denominator = self._signed
        below = [
            sum(map(mul, up, lows)) + sum(map(mul, down, highs))
            for up, down in zip(rising, falling, strict=True)
        ]
        above = [
            sum(map(mul, up, highs)) + sum(map(mul, down, lows))
            for up, down in zip(rising, falling, strict=True)
        ]
        return below, above, common * denominator

    @cached_property
    def _signed(self) -> tuple[list[list[int]], list[list[int]], int] | None:
        """The positive and the negative entries of A over a common denominator."""
        problem = self.problem
        if problem.matrix is None:
            return None
        common = math.lcm(problem.matrix_denominator, problem.rate.denominator)
        factor = common // problem.matrix_denominator
        shift = problem.rate.numerator * (common // problem.rate.denominator)
        rows = [
            [factor * entry + (shift if i == j else 0) for j, entry in enumerate(row)]
            for i, row in enumerate(problem.matrix)
        ]
        rising = [[max(entry, 0) for entry in row] for row in rows]
        falling = [[min(entry, 0) for entry in row] for row in rows]
        return rising, falling, common

    def _linear_row(self, row: int, box: Sides) -> Interval:
        if self.problem.matrix is None:
            ends = self.problem.rate * box[row][0], self.problem.rate * box[row][1]
            return min(ends), max(ends)
        low = high = ZERO
        for column, (below, above) in enumerate(box):
            entry = self.problem.entry(row, column)
            if entry:
                ends = entry * below, entry * above
                low, high = low + min(ends), high + max(ends)
        return low, high

    def _forcing_hull(self, start: Fraction, end: Fraction) -> Ends:
        """The range of each coordinate over all forcings between two times."""
        key = (ZERO, self.horizon) if self._constant else (start, end)
        if key not in self._hulls:
            ranges = [
                self._range(piece.coefficients, max(start, piece.start), min(end, piece.end))
                for atom in self.problem.atoms
                for piece in atom
                if piece.start <= end and start <= piece.end
            ]
            common = math.lcm(*(denominator for _, _, denominator in ranges))
            spread = [_over(each, common) for each in ranges]
            self._hulls[key] = (
                [min(column) for column in zip(*(lows for lows, _, _ in spread), strict=True)],
                [max(column) for column in zip(*(highs for _, highs, _ in spread), strict=True)],
                common,
            )
        return self._hulls[key]

    def _range(self, coefficients: Coefficients, start: Fraction, end: Fraction) -> Ends:
        """The range of every coordinate of ``sum_k coefficients[k] t^k / denominator``."""
        if len(coefficients) == 1:
            values = list(coefficients[0])
            return values, values, self.problem.denominator
        lows, highs = [], []
        for column in zip(*coefficients, strict=True):
            polynomial = from_terms({(k,): Fraction(c) for k, c in enumerate(column)})
            if len(column) == 2:
                ends = polynomial.at((start,)), polynomial.at((end,))
                low, high = min(ends), max(ends)
            else:
                low, high = range_on(polynomial, [(start, end)])
            lows.append(low)
            highs.append(high)
        common = math.lcm(*(x.denominator for x in (*lows, *highs)))
        return (
            [x.numerator * (common // x.denominator) for x in lows],
            [x.numerator * (common // x.denominator) for x in highs],
            common * self.problem.denominator,
        )

    # --- constants ------------------------------------------------------------------------------

    def bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """B."""
        linear, found = self._linear(box), ZERO
        for start, end in self._moments(cells):
            for piece in self._pieces(start, end):
                total = _sum(linear, self._range(piece.coefficients, start, end))
                found = max(found, _norm_of(norm, total))
        return found

    def difference_bound(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """``sup ||b_i - b_j||``."""
        del box
        return max(
            self._largest_difference(
                norm, [piece.coefficients for piece in self._pieces(start, end)], start, end
            )
            for start, end in self._moments(cells)
        )

    def jacobians(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """A, once; one entry when A is a multiple of the identity, whose norms are all equal."""
        del box, cells
        yield self._matrix

    @cached_property
    def _matrix(self) -> list[list[Interval]]:
        problem = self.problem
        if problem.matrix is None:
            return [[(problem.rate, problem.rate)]]
        size = range(self.dimension)
        entries = [[problem.entry(i, j) for j in size] for i in size]
        return [[(entry, entry) for entry in row] for row in entries]

    def jacobian_differences(self, box: Sides, cells: Sequence[int]) -> Iterator[Rows]:
        """None: the atoms differ by their forcings."""
        del box, cells
        return iter(())

    # --- time -----------------------------------------------------------------------------------

    def variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """V: integrals of ``||b_j'||`` and the jumps between pieces, summed over atoms."""
        del box
        found = ZERO
        for start, end in self._moving(cells):
            for piece in self._pieces(start, end):
                slope = self._range(_derivative(piece.coefficients), start, end)
                found += (end - start) * _norm_of(norm, slope)
        for jumps in self._jumps():
            for jump in jumps:
                found += norm_upper(norm, [abs(x) for x in jump])
        return found

    def difference_variation(self, norm: Norm, box: Sides, cells: Sequence[int]) -> Fraction:
        """The same for the pair that varies most, moment by moment."""
        del box
        found = ZERO
        for start, end in self._moving(cells):
            slopes = [_derivative(piece.coefficients) for piece in self._pieces(start, end)]
            found += (end - start) * self._largest_difference(norm, slopes, start, end)
        for jumps in self._jumps():
            widths = [max(column) - min(column) for column in zip(*jumps, strict=True)]
            found += norm_upper(norm, widths)
        return found

    def _moments(self, cells: Sequence[int]) -> list[Interval]:
        """Time cut into equal cells and where a forcing changes; once if nothing depends on it."""
        count = cells[0] if self._degree else 1
        times = {self.horizon * Fraction(k, count) for k in range(count + 1)}
        return list(itertools.pairwise(sorted(times.union(self.problem.breaks))))

    def _moving(self, cells: Sequence[int]) -> list[Interval]:
        """The moments at which some forcing has a slope."""
        return self._moments(cells) if self._degree else []

    def _pieces(self, start: Fraction, end: Fraction) -> list[ForcingOnPiece]:
        atoms = range(len(self.problem.atoms))
        return [self.problem.piece_at(index, start, end) for index in atoms]

    def _jumps(self) -> Iterator[list[list[Fraction]]]:
        """At every break, each forcing's value after it less that before."""
        times = [ZERO, *self.problem.breaks, self.horizon]
        for before, at, after in zip(times, times[1:], times[2:], strict=False):
            left, right = self._pieces(before, at), self._pieces(at, after)
            yield [
                [
                    (b - a) / self.problem.denominator
                    for a, b in zip(
                        _value(one.coefficients, at), _value(other.coefficients, at), strict=True
                    )
                ]
                for one, other in zip(left, right, strict=True)
            ]

    def _largest_difference(
        self, norm: Norm, vectors: Sequence[Coefficients], start: Fraction, end: Fraction
    ) -> Fraction:
        """The largest norm of a difference of two polynomial vectors between two times."""
        if len(vectors) <= MAX_PAIRED_ATOMS:
            pairs = itertools.combinations(vectors, 2)
            return max(
                (_norm_of(norm, self._range(_minus(a, b), start, end)) for a, b in pairs),
                default=ZERO,
            )
        ranges = [self._range(vector, start, end) for vector in vectors]
        common = math.lcm(*(denominator for _, _, denominator in ranges))
        wide = [_over(each, common) for each in ranges]
        tops = [max(column) for column in zip(*(highs for _, highs, _ in wide), strict=True)]
        bottoms = [min(column) for column in zip(*(lows for lows, _, _ in wide), strict=True)]
        sizes = [top - bottom for top, bottom in zip(tops, bottoms, strict=True)]
        return norm_bounds(norm, sizes, common)[1]


def _over(ends: Ends, common: int) -> Ends:
    """The same over a multiple of their denominator."""
    lows, highs, denominator = ends
    factor = common // denominator
    if factor == 1:
        return ends
    return [factor * x for x in lows], [factor * x for x in highs], common


def _sum(one: Ends, other: Ends) -> Ends:
    common = math.lcm(one[2], other[2])
    (a, b, _), (c, d, _) = _over(one, common), _over(other, common)
    return (
        [x + y for x, y in zip(a, c, strict=True)],
        [x + y for x, y in zip(b, d, strict=True)],
        common,
    )


def _norm_of(norm: Norm, ends: Ends) -> Fraction:
    """An upper bound of the norm of every vector between the ends."""
    lows, highs, denominator = ends
    sizes = [max(-low, high) for low, high in zip(lows, highs, strict=True)]
    return norm_bounds(norm, sizes, denominator)[1]


def _value(coefficients: Coefficients, time: Fraction) -> list[Fraction]:
    powers = [time**k for k in range(len(coefficients))]
    return [
        sum((p * c for p, c in zip(powers, column, strict=True)), ZERO)
        for column in zip(*coefficients, strict=True)
    ]


def _derivative(coefficients: Coefficients) -> Coefficients:
    if len(coefficients) == 1:
        return [[0] * len(coefficients[0])]
    return [[k * c for c in row] for k, row in enumerate(coefficients) if k]


def _minus(one: Coefficients, other: Coefficients) -> list[list[int]]:
    """The difference of two coefficient lists of perhaps different degree."""
    zeros = [0] * len(one[0])
    pairs = itertools.zip_longest(one, other, fillvalue=zeros)
    return [[a - b for a, b in zip(x, y, strict=True)] for x, y in pairs]

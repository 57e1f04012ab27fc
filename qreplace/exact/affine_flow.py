"""Outward-rounded flows of ``z' = A z + b_j(t)`` and of their adjoints (theory T7.2, T3.6, T7.7).

Vectors are integers in units of ``2**-bits`` (over the data's denominator where they are states),
with *one* radius a vector: every coordinate is within it of the true one. Time is cut into cells on
which ``||A|| * width <= 2``; on a cell the flow is its Taylor series, whose rounding errors and
remainder are counted in the radius. Where ``A = rate I`` everything that is propagated is a scalar,
so the dimension does not matter.

``bits`` grows with ``||A|| T``, by which errors can grow, so that ``GUARD_BITS`` bits are left of
the data's last unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import Protocol

from qreplace.errors import Malformed
from qreplace.exact.fixed_point import exponential
from qreplace.exact.rational import round_up

GUARD_BITS = 128
CELL_GROWTH = 2
"""Largest ``||A|| * width`` of a cell."""
MAX_GROWTH = 512
"""Largest ``||A|| T``: beyond it neither a bracket nor a precision of this size is of use."""
MAX_CELLS = 8192
STEP_COST, ATOM_COST = 400, 100
"""What a step, and an atom in it, cost beside their products."""
MAX_WORK = 3 * 10**8
"""Most products of integers in one enclosure, about a minute."""
MAX_FORCING_DEGREE = 32
MAX_EXACT_BITS = 16384
"""Endpoints of ``z' = b_j`` are exact while their times and weights are together this short."""


class Piece(Protocol):
    """``b(t) = sum_k coefficients[k] t^k`` on ``[start, end]``."""

    @property
    def start(self) -> Fraction:
        """When it begins."""

    @property
    def end(self) -> Fraction:
        """When it ends."""

    @property
    def coefficients(self) -> Sequence[Sequence[int]]:
        """One vector a power of t."""


class AffineData(Protocol):
    """``z' = (rate I + matrix / matrix_denominator) z + b_j(t)``, integers over ``denominator``."""

    @property
    def rate(self) -> Fraction:
        """The multiple of the identity in A."""

    @property
    def matrix(self) -> Sequence[Sequence[int]] | None:
        """The rest of A row by row, if any."""

    @property
    def matrix_denominator(self) -> int:
        """Its denominator."""

    @property
    def initial(self) -> Sequence[int]:
        """z_0."""

    @property
    def atoms(self) -> Sequence[Sequence[Piece]]:
        """The pieces of every b_j."""

    @property
    def denominator(self) -> int:
        """Of the initial state and of the forcings."""

    @property
    def horizon(self) -> Fraction:
        """T."""


@dataclass(frozen=True)
class Mixture:
    """Constant weights ``weights[j] / total`` up to the time ``end``."""

    end: Fraction
    weights: Sequence[int]
    total: int


@dataclass(frozen=True)
class Enclosure:
    """A vector whose coordinates are within ``radius`` of ``centre / denominator``."""

    centre: list[int]
    denominator: int
    radius: Fraction


@dataclass(frozen=True)
class AdjointCell:
    """``e^{A^T s} lambda`` on ``s = start + width x``, ``0 <= x <= 1``.

    It is ``sum_k coefficients[k] x^k`` up to ``radius`` a coordinate, in units of ``2**-bits``.
    ``s`` is the time that is left.
    """

    start: Fraction
    width: Fraction
    coefficients: list[list[int]]
    radius: int


# --- sizes -------------------------------------------------------------------------------------


def growth(data: AffineData) -> Fraction:
    """``||A|| T`` in the larger of the maximum row and column sums."""
    generator = Generator(data)
    return max(generator.row_norm, generator.column_norm) * data.horizon


def forcing_degree(data: AffineData) -> int:
    """The largest degree of a forcing in time."""
    return max(len(piece.coefficients) for atom in data.atoms for piece in atom) - 1


def work(data: AffineData, cuts: int) -> int:
    """About how many products of integers one enclosure with so many cuts takes."""
    size = 1 if data.matrix is None else len(data.initial)
    atoms = len(data.atoms)
    degree = forcing_degree(data) + 1
    cells = cuts + sum(map(len, data.atoms)) + int(growth(data)) // CELL_GROWTH + 1
    order = 40 + precision(data) // 8
    return cells * order * (size * size + atoms * (size * degree + order))


def discrete_work(data: AffineData, depth: int) -> int:
    """About how many products of integers ``depth`` Euler steps take, their overhead included."""
    if data.matrix is None and constant_atoms(data) and 1 + data.rate * data.horizon / depth >= 0:
        return 1
    size = 1 if data.matrix is None else len(data.initial)
    degree = forcing_degree(data) + 1
    return depth * (STEP_COST + size * size + len(data.atoms) * (ATOM_COST + size * degree))


def precision(data: AffineData, depth: int = 0) -> int:
    """Bits after the point: errors grow at most by ``e^(||A|| T)``, and ``log2 e < 3/2``."""
    size = growth(data)
    degree = forcing_degree(data) + 1
    length = (data.horizon.numerator // data.horizon.denominator).bit_length()
    return GUARD_BITS + 3 * (int(size) + 1) // 2 + degree * length + depth.bit_length() + 32


class Generator:
    """A with integer entries over one denominator, and its norms; a scalar without a matrix."""

    def __init__(self, data: AffineData) -> None:
        self.scalar = data.matrix is None
        rate, matrix = data.rate, data.matrix if data.matrix is not None else ((0,),)
        self.denominator = math.lcm(rate.denominator, data.matrix_denominator)
        factor = self.denominator // data.matrix_denominator
        own = rate.numerator * (self.denominator // rate.denominator)
        self.rows = [
            [factor * entry + (own if i == j else 0) for j, entry in enumerate(row)]
            for i, row in enumerate(matrix)
        ]
        self.columns = [list(column) for column in zip(*self.rows, strict=True)]
        self.row_norm = Fraction(max(sum(map(abs, row)) for row in self.rows), self.denominator)
        self.column_norm = Fraction(
            max(sum(map(abs, column)) for column in self.columns), self.denominator
        )


def constant_atoms(data: AffineData) -> bool:
    """Whether no forcing depends on time."""
    return all(len(atom) == 1 and len(atom[0].coefficients) == 1 for atom in data.atoms)


def cut_times(data: AffineData, ends: Iterable[Fraction], norm: Fraction) -> list[Fraction]:
    """Ascending times from 0 to T: the given ends, every change of a forcing, short cells."""
    marks = {Fraction(0), data.horizon, *ends}
    marks.update(piece.start for atom in data.atoms for piece in atom)
    ordered = sorted(marks)
    if ordered[0] < 0 or ordered[-1] > data.horizon:
        raise Malformed("the times of a flow lie within the horizon")
    cuts = [Fraction(0)]
    for start, end in pairwise(ordered):
        parts = max(1, math.ceil(norm * (end - start) / CELL_GROWTH))
        if len(cuts) + parts > MAX_CELLS + 1:
            raise Malformed(f"a flow is cut into at most {MAX_CELLS} cells")
        cuts.extend(start + (end - start) * Fraction(k, parts) for k in range(1, parts))
        cuts.append(end)
    return cuts


def piece_at(atom: Sequence[Piece], start: Fraction, end: Fraction) -> Piece:
    """The piece of a forcing that holds on ``[start, end]``."""
    for piece in atom:
        if piece.start <= start and end <= piece.end:
            return piece
    raise Malformed(f"no forcing covers the times {start} to {end}")


def piece_from(atom: Sequence[Piece], time: Fraction) -> Piece:
    """The piece that holds from ``time`` on: a change takes effect at its own time."""
    for piece in reversed(atom):
        if piece.start <= time:
            return piece
    raise Malformed(f"no forcing covers the time {time}")


# --- the Taylor series on a cell ---------------------------------------------------------------


@dataclass(frozen=True)
class _Series:
    coefficients: list[list[int]]
    error: int
    """Of the polynomial on the cell, from the exact start; units, every coordinate."""
    factor: Fraction
    """By which an error at the start of the cell grows at most, anywhere on it."""


def _series(
    rows: Sequence[Sequence[int]],
    denominator: int,
    norm: Fraction,
    start: list[int],
    width: Fraction,
    forcing: Sequence[Sequence[int]] = (),
    forcing_error: int = 0,
) -> _Series:
    """``c' = width (M c + sum_k forcing[k] x^k)``, ``M = rows / denominator``, from ``start``.

    ``c_{k+1} = width (M c_k + forcing_k) / (k + 1)``. Coefficient ``k`` is off by at most ``e_k``,
    ``e_{k+1} = (x e_k + width * forcing_error) / (k + 1) + 1`` with ``x = norm * width``; once
    ``x <= (k + 2) / 2`` the rest is at most ``2 x / (k + 1)`` times the last coefficient.
    """
    x = round_up(norm * width, 64)
    scaled_width = math.ceil(width * forcing_error)
    coefficients, current, error, total = [start], start, 0, 0
    k = 0
    while True:
        largest = max(map(abs, current), default=0) + error
        rest = 2 * x * largest / (k + 1)
        if k >= len(forcing) and rest <= 1 and 2 * x <= k + 2:
            return _Series(coefficients, total + math.ceil(rest), _exponential(x))
        numerator, divisor = width.numerator, denominator * width.denominator * (k + 1)
        moved = [sum(map(mul, row, current)) for row in rows]
        if k < len(forcing):
            moved = [m + denominator * f for m, f in zip(moved, forcing[k], strict=True)]
        current = [m * numerator // divisor for m in moved]
        error = math.ceil((x * error + (scaled_width if k < len(forcing) else 0)) / (k + 1)) + 1
        total += error
        coefficients.append(current)
        k += 1


def _exponential(x: Fraction) -> Fraction:
    return Fraction(exponential(x, 64)[1], 1 << 64)


# --- forwards: endpoints -----------------------------------------------------------------------


def endpoint(data: AffineData, control: Sequence[Mixture]) -> Enclosure:
    """The state at the horizon under piecewise-constant weights, whose last end is the horizon."""
    if data.matrix is None:
        lengths = sum(m.end.denominator.bit_length() + m.total.bit_length() for m in control)
        if data.rate == 0 and constant_atoms(data) and lengths <= MAX_EXACT_BITS:
            return _linear_endpoint(data, control)
        return _scalar_endpoint(data, control)
    generator = Generator(data)
    bits = precision(data)
    ends = [mixture.end for mixture in control]
    cuts = cut_times(data, ends, generator.row_norm)
    state, radius = [n << bits for n in data.initial], 0
    for start, end in pairwise(cuts):
        mixture = next(m for m in control if end <= m.end)
        forcing, error = _mixed_forcing(data, mixture, start, end, bits)
        series = _series(
            generator.rows, generator.denominator, generator.row_norm, state, end - start,
            forcing, error,
        )  # fmt: skip
        state = [sum(column) for column in zip(*series.coefficients, strict=True)]
        radius = math.ceil(series.factor * radius) + series.error
    unit = data.denominator << bits
    return Enclosure(state, unit, Fraction(radius, unit))


def _mixed_forcing(
    data: AffineData, mixture: Mixture, start: Fraction, end: Fraction, bits: int
) -> tuple[list[list[int]], int]:
    """``sum_j alpha_j b_j(start + width x)`` by powers of x, and the error of each coefficient."""
    active = [
        (weight, piece_at(atom, start, end).coefficients)
        for weight, atom in zip(mixture.weights, data.atoms, strict=True)
        if weight
    ]
    size = len(data.initial)
    degree = max((len(coefficients) for _, coefficients in active), default=1)
    sums: list[list[int]] = []
    for m in range(degree):
        mixed = [0] * size
        for weight, coefficients in active:
            if m < len(coefficients):
                mixed = [s + weight * c for s, c in zip(mixed, coefficients[m], strict=True)]
        sums.append(mixed)
    width = end - start
    local = []
    for i in range(degree):
        vector = [0] * size
        for m in range(i, degree):
            factor = math.comb(m, i) * start ** (m - i) * width**i
            numerator, divisor = factor.numerator << bits, factor.denominator * mixture.total
            if numerator:
                vector = [
                    v + s * numerator // divisor for v, s in zip(vector, sums[m], strict=True)
                ]
        local.append(vector)
    return local, degree


def _linear_endpoint(data: AffineData, control: Sequence[Mixture]) -> Enclosure:
    """``z' = b_j``: exactly ``z_0`` and every atom for its share of the time."""
    shares = [Fraction(0)] * len(data.atoms)
    start = Fraction(0)
    for mixture in control:
        for j, weight in enumerate(mixture.weights):
            if weight:
                shares[j] += (mixture.end - start) * Fraction(weight, mixture.total)
        start = mixture.end
    common = math.lcm(*(share.denominator for share in shares))
    state = [common * n for n in data.initial]
    for share, atom in zip(shares, data.atoms, strict=True):
        factor = share.numerator * (common // share.denominator)
        if factor:
            vector = atom[0].coefficients[0]
            state = [z + factor * b for z, b in zip(state, vector, strict=True)]
    return Enclosure(state, data.denominator * common, Fraction(0))


def _scalar_endpoint(data: AffineData, control: Sequence[Mixture]) -> Enclosure:
    """``A = rate I``: ``e^{aT} z_0 + sum W_ji B_ji`` with enclosed scalars W."""
    bits = precision(data)
    degree = forcing_degree(data) + 1
    # One atom a power of t, so that its integrand on a cell is e^{as} t^i.
    powers = ScalarData(data, tuple(_power_pieces(data.horizon, i) for i in range(degree)), (0,), 1)
    ends = [mixture.end for mixture in control]
    weights: dict[tuple[int, int, int], list[int]] = {}
    final = [1 << bits]
    final_radius = 0
    for cell in adjoint_cells(powers, (1,), 1, cut_times(data, ends, abs(data.rate)), bits):
        end = data.horizon - cell.start
        start = end - cell.width
        mixture = next(m for m in control if end <= m.end)
        integrals = [integral(f, cell.width) for f in integrands(powers, cell)]
        for j, (weight, atom) in enumerate(zip(mixture.weights, data.atoms, strict=True)):
            if not weight:
                continue
            piece = piece_at(atom, start, end)
            number = list(atom).index(piece)
            for i in range(len(piece.coefficients)):
                entry = weights.setdefault((j, number, i), [0, 0])
                centre, error = integrals[i]
                entry[0] += centre * weight // mixture.total
                entry[1] += error + 1  # the weight is at most 1
        final = [sum(column) for column in zip(*cell.coefficients, strict=True)]
        final_radius = cell.radius
    state = [final[0] * n for n in data.initial]
    radius = final_radius * max(map(abs, data.initial), default=0)
    for (j, number, i), (centre, error) in sorted(weights.items()):
        vector = data.atoms[j][number].coefficients[i]
        state = [s + centre * v for s, v in zip(state, vector, strict=True)]
        radius += error * max(map(abs, vector), default=0)
    unit = data.denominator << bits
    return Enclosure(state, unit, Fraction(radius, unit))


@dataclass(frozen=True)
class ScalarPiece:
    """A piece of a scalar forcing."""

    start: Fraction
    end: Fraction
    coefficients: tuple[tuple[int, ...], ...]


def _power_pieces(horizon: Fraction, exponent: int) -> tuple[ScalarPiece, ...]:
    return (ScalarPiece(Fraction(0), horizon, ((0,),) * exponent + ((1,),)),)


class ScalarData:
    """One coordinate of dynamics with ``A = rate I``, or a functional of all of them."""

    matrix = None
    matrix_denominator = 1

    def __init__(
        self,
        data: AffineData,
        atoms: tuple[tuple[ScalarPiece, ...], ...],
        initial: tuple[int, ...],
        denominator: int,
    ) -> None:
        self.rate = data.rate
        self.horizon = data.horizon
        self.atoms = atoms
        self.initial = initial
        self.denominator = denominator


def discrete_endpoint(data: AffineData, atom: int, depth: int) -> Enclosure:
    """The state after ``depth`` Euler steps ``z += h (A z + b(t_k))`` of one atom throughout."""
    generator = Generator(data)
    if data.matrix is None:
        raise Malformed("single coordinates of scalar dynamics are not run in steps")
    rows = generator.rows
    bits = precision(data, depth)
    step = data.horizon / depth
    factor = step_norm(rows, generator.denominator, step)
    numerator, divisor = step.numerator, step.denominator * generator.denominator
    state, radius = [n << bits for n in data.initial], 0
    for k in range(depth):
        time = k * step
        pieces = piece_from(data.atoms[atom], time).coefficients
        drift, error = _at_time(pieces, time, bits)
        moved = [sum(map(mul, row, state)) + generator.denominator * d
                 for row, d in zip(rows, drift, strict=True)]  # fmt: skip
        state = [z + m * numerator // divisor for z, m in zip(state, moved, strict=True)]
        radius = math.ceil(factor * radius + step * error) + 1
    unit = data.denominator << bits
    return Enclosure(state, unit, Fraction(radius, unit))


def _at_time(
    coefficients: Sequence[Sequence[int]], time: Fraction, bits: int
) -> tuple[list[int], int]:
    """``sum_i coefficients[i] time^i`` in units of ``2**-bits``, and its error."""
    value = [0] * len(coefficients[0])
    for i, row in enumerate(coefficients):
        scale = time**i
        numerator, divisor = scale.numerator << bits, scale.denominator
        value = [v + c * numerator // divisor for v, c in zip(value, row, strict=True)]
    return value, len(coefficients)


def step_norm(rows: Sequence[Sequence[int]], denominator: int, step: Fraction) -> Fraction:
    """The largest row sum of ``|I + step * rows / denominator|``, rounded up."""
    unit = denominator * step.denominator
    largest = max(
        sum(abs((unit if i == j else 0) + step.numerator * entry) for j, entry in enumerate(row))
        for i, row in enumerate(rows)
    )
    return round_up(Fraction(largest, unit), 64)


# --- backwards: support functions ---------------------------------------------------------------


def adjoint_cells(
    data: AffineData,
    numerators: Sequence[int],
    denominator: int,
    times: Sequence[Fraction],
    bits: int,
) -> Iterator[AdjointCell]:
    """``e^{A^T s} lambda`` cell by cell, from the horizon back to 0.

    ``lambda = numerators / denominator``, dense; ``times`` ascend from 0 to the horizon.
    """
    generator = Generator(data)
    current = [(n << bits) // denominator for n in numerators]
    radius = 0 if denominator == 1 else 1
    for start, end in pairwise(reversed(times)):
        width = start - end
        series = _series(
            generator.columns, generator.denominator, generator.column_norm, current, width
        )
        radius = math.ceil(series.factor * radius) + series.error
        yield AdjointCell(data.horizon - start, width, series.coefficients, radius)
        current = [sum(column) for column in zip(*series.coefficients, strict=True)]


@dataclass(frozen=True)
class Integrand:
    """``sum_k coefficients[k] x^k`` on a cell, up to ``error``, both in the cell's units."""

    coefficients: list[int]
    error: int


def integrands(data: AffineData, cell: AdjointCell) -> list[Integrand]:
    """``<e^{A^T s} lambda, b_j(T - s)>`` on a cell for every atom, as polynomials in x."""
    end = data.horizon - cell.start
    start = end - cell.width
    return [_integrand(piece_at(atom, start, end), cell, end) for atom in data.atoms]


def _integrand(piece: Piece, cell: AdjointCell, end: Fraction) -> Integrand:
    """Horner's scheme in the time ``end - width x``; every product is rounded once."""
    divisor = math.lcm(end.denominator, cell.width.denominator)
    a = end.numerator * (divisor // end.denominator)
    b = cell.width.numerator * (divisor // cell.width.denominator)
    value: list[int] = []
    error = 0
    for vector in reversed(piece.coefficients):
        products = [sum(map(mul, vector, c)) for c in cell.coefficients]
        own = cell.radius * sum(map(abs, vector))
        if not value:
            value, error = products, own
            continue
        shifted = [a * high - b * low for high, low in zip([*value, 0], [0, *value], strict=True)]
        value = [n // divisor for n in shifted]
        for k, product in enumerate(products):
            value[k] += product
        error = math.ceil(error * end) + len(value) + own
    return Integrand(value, error)


def integral(function: Integrand, width: Fraction) -> tuple[int, int]:
    """The integral over the cell, with its error."""
    common = math.lcm(*range(1, len(function.coefficients) + 1))
    numerator = sum(c * (common // (k + 1)) for k, c in enumerate(function.coefficients))
    centre = numerator * width.numerator // (common * width.denominator)
    return centre, math.ceil(function.error * width) + 1

"""Producer of ``perturbed`` (theory T7.3).

The nominal system is the affine one nearest to the fields on the tube, in the largest error over
sample points; its error is then bounded by intervals, cell by cell. The functional is that of the
nominal system's floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qreplace.claims.affine_dynamics import DominantPiece
from qreplace.claims.functional import Functional
from qreplace.claims.perturbed import NominalAtom, PerturbedClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import ProducerFailed
from qreplace.exact.affine_flow import MAX_GROWTH, adjoint_cells, cut_times, growth, precision
from qreplace.exact.intervals import Interval, cells, magnitude, range_on
from qreplace.exact.polynomial import Polynomial, affine_form
from qreplace.exact.rational import round_down, round_up
from qreplace.produce.affine_dynamics import lower_end, refined
from qreplace.produce.float_flow import FloatFlow
from qreplace.produce.linear_program import Floats, LinearProgram, solve
from qreplace.produce.mixture_program import float_dual_norm, float_norm
from qreplace.produce.threads import single_threaded
from qreplace.produce.tubes import find_box, reach
from qreplace.question.dynamics import AffineProblem, ForcingOnPiece, PolynomialProblem
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

SAMPLES = 240
SEED = 0
NOMINAL_BITS = 24
"""Nominal numbers are multiples of ``2**-NOMINAL_BITS``."""
ERROR_BITS = 40
END_BITS = 120
MAX_TIME_DEGREE = 6
CELL_BUDGET = 256
"""Most interval bounds of single components for the field error."""
MOST_CELLS = 32
"""Along one variable."""
MARGIN = 1e-9
"""Relative room for what floats add to the integral of the adjoint's length."""


def produce(subject: Subject, bits: int) -> PerturbedClaim:
    """A positive lower end for a polynomial system by its nearest affine one.

    Raises ``ProducerFailed`` when no tube is found, or when the field error leaves nothing of the
    nominal lower end.
    """
    problem = subject.polynomial(bits)
    norm = subject.question.norm
    tube = _with_finer_cells(problem, find_box(problem))
    with single_threaded():
        matrix, atoms = _nearest_affine(problem, tube)
        nominal = _nominal_problem(problem, matrix, atoms)
        if growth(nominal) > MAX_GROWTH:
            raise ProducerFailed("the nominal matrix is too large over the horizon")
        proposal = refined(norm, FloatFlow(nominal))
    error = _field_error(norm, problem, matrix, atoms, tube)
    own = lower_end(nominal, proposal.functional, proposal.dominant)
    room = _adjoint_integral(norm, nominal, proposal.functional, proposal.dominant)
    lower = round_down(own - error * room, END_BITS)
    if lower <= 0:
        raise ProducerFailed(
            f"the field error {float(error):.3g} times {float(room):.3g} leaves nothing of the "
            f"nominal lower end {float(own):.3g}"
        )
    return PerturbedClaim(
        format="qreplace/claim/perturbed/v1",
        subject=subject.problem_digest(bits),
        code=bits,
        matrix=matrix,
        atoms=atoms,
        tube=tube,
        field_error=error,
        witness=proposal.functional,
        dominant=proposal.dominant,
        lower=lower,
    )


def _with_finer_cells(problem: PolynomialProblem, tube: BoxPart) -> BoxPart:
    """More cells along the variables that occur nonlinearly: the field error gains from them.

    A box that holds by walls is sliced in time only, so cells along the states change nothing.
    """
    components = [p for atom in problem.atoms for p in atom]
    used = [
        any(p.degree > 1 and p.involves(v) for p in components)
        for v in range(problem.dimension + 1)
    ]
    budget = CELL_BUDGET // (len(problem.atoms) * problem.dimension)
    finer = _refined_cells(tube.cells, used, budget)
    if _by_speed(problem, tube, finer):
        return replace(tube, cells=finer)
    if _by_speed(problem, tube, tube.cells):
        return tube
    return replace(tube, cells=_refined_cells(tube.cells, [False, *used[1:]], budget))


def _refined_cells(given: Sequence[int], used: Sequence[bool], budget: int) -> tuple[int, ...]:
    """The largest power of 2 along the used variables that keeps to the budget."""
    best, count = tuple(given), 2
    while count <= MOST_CELLS:
        finer = tuple(max(n, count) if use else n for n, use in zip(given, used, strict=True))
        if math.prod(finer) > budget:
            break
        best, count = finer, 2 * count
    return best


def _by_speed(problem: PolynomialProblem, tube: BoxPart, cells: Sequence[int]) -> bool:
    sides = list(zip(tube.lower, tube.upper, strict=True))
    return all(
        c <= a and b <= d
        for (a, b), (c, d) in zip(reach(problem, sides, cells), sides, strict=True)
    )


# --- the nearest affine system -----------------------------------------------------------------


def _nearest_affine(
    problem: PolynomialProblem, tube: BoxPart
) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[NominalAtom, ...]]:
    """``A~`` and ``b~_j(t)``: coordinate by coordinate the least largest error over samples."""
    size, count = problem.dimension, len(problem.atoms)
    degree = min(
        max((e[0] for atom in problem.atoms for p in atom for e in p.exponents), default=0),
        MAX_TIME_DEGREE,
    )
    points = _samples(problem, tube)
    powers = points[:, :1] ** np.arange(degree + 1)
    matrix = np.zeros((size, size))
    forcings = np.zeros((count, degree + 1, size))
    for i in range(size):
        values = np.array([_values(atom[i], points) for atom in problem.atoms])
        blocks = [
            np.hstack(
                [
                    points[:, 1:],
                    *(powers if k == j else np.zeros_like(powers) for k in range(count)),
                ]
            )
            for j in range(count)
        ]
        found = _least_largest(np.vstack(blocks), values.reshape(-1))
        matrix[i] = found[:size]
        forcings[:, :, i] = found[size:].reshape(count, degree + 1)
    exact = tuple(tuple(_dyadic(x) for x in row) for row in matrix)
    atoms = tuple(
        NominalAtom(tuple(tuple(_dyadic(x) for x in row) for row in forcing))
        for forcing in forcings
    )
    return exact, atoms


def _least_largest(rows: Floats, values: Floats) -> Floats:
    """``min max |rows x - values|``."""
    width = rows.shape[1]
    ones = np.ones((len(rows), 1))
    solution = solve(
        LinearProgram(
            cost=np.append(np.zeros(width), 1.0),
            matrix=np.vstack([np.hstack([rows, -ones]), np.hstack([-rows, -ones])]),
            row_lower=np.full(2 * len(rows), -np.inf),
            row_upper=np.concatenate([values, -values]),
            lower=np.append(np.full(width, -np.inf), 0.0),
        )
    )
    return solution.values[:width]


def _samples(problem: PolynomialProblem, tube: BoxPart) -> Floats:
    """Seeded points of the tube, its corners among them while they are few; time first."""
    low = np.array([0.0, *map(float, tube.lower)])
    high = np.array([float(problem.horizon), *map(float, tube.upper)])
    random = np.random.default_rng(SEED).random((SAMPLES, low.size))
    random[: SAMPLES // 2] = np.rint(random[: SAMPLES // 2] * 2) / 2
    return np.asarray(low + random * (high - low))


def _values(polynomial: Polynomial, points: Floats) -> Floats:
    total = np.zeros(len(points))
    for exponents, c in zip(polynomial.exponents, polynomial.coefficients, strict=True):
        total += float(c) * np.prod(points ** np.array(exponents), axis=1)
    return total


def _dyadic(value: float) -> Fraction:
    return Fraction(round(Fraction(float(value)) * (1 << NOMINAL_BITS)), 1 << NOMINAL_BITS)


def _nominal_problem(
    problem: PolynomialProblem,
    matrix: Sequence[Sequence[Fraction]],
    atoms: Sequence[NominalAtom],
) -> AffineProblem:
    entries = [x for atom in atoms for row in atom.coefficients for x in row]
    common = math.lcm(*(x.denominator for x in (*entries, *problem.initial, *problem.target)))
    below = math.lcm(*(x.denominator for row in matrix for x in row))

    def over(row: Sequence[Fraction], unit: int) -> tuple[int, ...]:
        return tuple(x.numerator * (unit // x.denominator) for x in row)

    return AffineProblem(
        rate=Fraction(0),
        matrix=tuple(over(row, below) for row in matrix),
        matrix_denominator=below,
        initial=over(problem.initial, common),
        target=over(problem.target, common),
        atoms=tuple(
            (
                ForcingOnPiece(
                    Fraction(0),
                    problem.horizon,
                    tuple(over(row, common) for row in atom.coefficients),
                ),
            )
            for atom in atoms
        ),
        denominator=common,
        horizon=problem.horizon,
    )


# --- what the approximation costs --------------------------------------------------------------


def _field_error(
    norm: Norm,
    problem: PolynomialProblem,
    matrix: Sequence[Sequence[Fraction]],
    atoms: Sequence[NominalAtom],
    tube: BoxPart,
) -> Fraction:
    """The largest interval bound over the cells, rounded up."""
    sides: list[Interval] = list(zip(tube.lower, tube.upper, strict=True))
    box = ((Fraction(0), problem.horizon), *sides)
    largest = 0.0
    for field, atom in zip(problem.atoms, atoms, strict=True):
        parts = [
            part - affine_form(matrix[i], [vector[i] for vector in atom.coefficients])
            for i, part in enumerate(field)
        ]
        used = [any(p.involves(v) for p in parts) for v in range(len(box))]
        counts = [n if use else 1 for n, use in zip(tube.cells, used, strict=True)]
        for cell in cells(box, counts):
            sizes = np.array([float(magnitude(range_on(part, cell))) for part in parts])
            largest = max(largest, float_norm(norm, sizes))
    return round_up(Fraction(largest * (1 + MARGIN)), ERROR_BITS)


def _adjoint_integral(
    norm: Norm, nominal: AffineProblem, witness: Functional, dominant: Sequence[DominantPiece]
) -> Fraction:
    """``int ||e^{A^T s} lambda||_* ds`` by the Bernstein coefficients of every cell, with room."""
    vector = [0] * nominal.dimension
    for index, number in zip(witness.vector.indices, witness.vector.numerators, strict=True):
        vector[index] = number.numerator
    bits = precision(nominal)
    times = cut_times(nominal, (), growth(nominal) / nominal.horizon)
    unit = witness.vector.denominator.numerator
    total = 0.0
    for cell in adjoint_cells(nominal, vector, unit, times, bits):
        terms = np.array([[n / (1 << bits) for n in row] for row in cell.coefficients])
        degree = len(terms) - 1
        basis = np.array(
            [[math.comb(i, k) / math.comb(degree, k) for k in range(degree + 1)]
             for i in range(degree + 1)]
        )  # fmt: skip
        lengths = [float_dual_norm(norm, point) for point in basis @ terms]
        total += float(cell.width) * float(np.mean(lengths))
    return Fraction(total * (1 + MARGIN))

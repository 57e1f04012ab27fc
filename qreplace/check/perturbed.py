"""Checker of ``perturbed`` (theory T7.3).

Claim: ``E_inf >= lower`` for a polynomial system that stays close to ``z' = A~ z + b~_j(t)``.

Obligations, numbered as in ``schemas/perturbed.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the nominal system has the state's dimension and one forcing an atom, within the stated limits;
3. lambda has dual norm at most 1;
4. the dominant pieces end at ascending times, the last at the horizon, and name atoms;
5. no trajectory leaves the tube within the horizon (by speeds and walls);
6. on every cell of the tube ``||G_j(t, z) - (A~ z + b~_j(t))|| <= field_error`` for every atom, in
   the question's norm, by interval bounds;
7. ``lower`` is at most ``lambda . y - sigma - field_error * I``: sigma the upper enclosure of the
   nominal support function, I one of ``int_0^T ||e^{A~^T s} lambda||_* ds``.

A true relaxed trajectory solves the nominal equation with an extra term of norm at most
``field_error``, which moves ``lambda . z(T)`` by at most ``field_error * I``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

from qreplace.check.affine_dynamics import (
    check_dominant,
    require_affordable,
    support_bound,
    value_at_target,
)
from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import check_functional
from qreplace.check.region import MAX_SLICES, check_box
from qreplace.claims.functional import Functional
from qreplace.claims.perturbed import NominalAtom, PerturbedClaim
from qreplace.exact.affine_flow import adjoint_cells, cut_times, growth, precision
from qreplace.exact.bernstein import bernstein
from qreplace.exact.intervals import Box, cells, magnitude, range_on
from qreplace.exact.polynomial import affine_form
from qreplace.exact.roots import sqrt_bounds
from qreplace.premises import Evidence
from qreplace.question.dynamics import AffineProblem, ForcingOnPiece, PolynomialProblem
from qreplace.question.model import (
    L1Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.reach import ROUNDS
from qreplace.question.subject import Subject

MAX_RANGES = 20_000
"""Most interval bounds of single components."""
MAX_BITS = 4096
"""Longest common denominator of the nominal system."""


def check(subject: Subject, claim: PerturbedClaim) -> tuple[ScopedBound, ...]:
    """The lower end that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = subject.polynomial(claim.code)
    norm = subject.question.norm
    nominal = nominal_problem(problem, claim)  # 2
    functional = check_functional(norm, claim.witness, problem.dimension)  # 3
    require_affordable(nominal, len(claim.dominant), "/matrix")  # 2
    check_dominant(nominal, claim.dominant)  # 4
    components = problem.dimension * len(problem.atoms)
    slices = ROUNDS * min(claim.tube.cells[0], MAX_SLICES) if claim.tube.cells else 0
    number = (math.prod(claim.tube.cells) + slices) * components
    require(number <= MAX_RANGES, "the field error takes too long to bound", "/tube/cells")  # 2
    box = check_box(problem, claim.tube, "/tube")  # 5
    _check_field_error(norm, problem, claim, box)  # 6
    sigma = support_bound(nominal, claim.witness, functional, claim.dominant)
    room = adjoint_integral(norm, nominal, claim.witness, functional)
    aim = value_at_target(nominal, claim.witness, functional)
    value = aim - sigma - claim.field_error * room
    require(
        claim.lower <= value, "the perturbed value is below the claimed lower end", "/lower"
    )  # 7
    return floor_bounds(subject, claim, lower=claim.lower, evidence=Evidence.INTERVAL_CERTIFIED)


def nominal_problem(problem: PolynomialProblem, claim: PerturbedClaim) -> AffineProblem:
    """The nominal system over common denominators; raises ``Rejected`` if it does not fit."""
    size = problem.dimension
    square = len(claim.matrix) == size and all(len(row) == size for row in claim.matrix)
    require(square, "the nominal matrix has another dimension", "/matrix")
    require(
        len(claim.atoms) == len(problem.atoms), "one nominal forcing an atom is needed", "/atoms"
    )
    for position, atom in enumerate(claim.atoms):
        fitting = bool(atom.coefficients) and all(len(row) == size for row in atom.coefficients)
        require(fitting, "a nominal forcing has another dimension", f"/atoms/{position}")
    below = _common([x for row in claim.matrix for x in row], "/matrix")
    entries = [x for atom in claim.atoms for row in atom.coefficients for x in row]
    common = _common([*entries, *problem.initial, *problem.target], "/atoms")
    return AffineProblem(
        rate=Fraction(0),
        matrix=tuple(_over(row, below) for row in claim.matrix),
        matrix_denominator=below,
        initial=_over(problem.initial, common),
        target=_over(problem.target, common),
        atoms=tuple((_whole(atom, problem.horizon, common),) for atom in claim.atoms),
        denominator=common,
        horizon=problem.horizon,
    )


def _whole(atom: NominalAtom, horizon: Fraction, common: int) -> ForcingOnPiece:
    rows = tuple(_over(row, common) for row in atom.coefficients)
    return ForcingOnPiece(Fraction(0), horizon, rows)


def _common(values: Sequence[Fraction], pointer: str) -> int:
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        short = common.bit_length() <= MAX_BITS
        require(short, "the nominal numbers have too many digits", pointer)
    return common


def _over(row: Sequence[Fraction], denominator: int) -> tuple[int, ...]:
    return tuple(x.numerator * (denominator // x.denominator) for x in row)


# --- the field error ---------------------------------------------------------------------------


def _check_field_error(
    norm: Norm, problem: PolynomialProblem, claim: PerturbedClaim, box: Box
) -> None:
    for field, atom in zip(problem.atoms, claim.atoms, strict=True):
        parts = [
            component - affine_form(claim.matrix[i], [vector[i] for vector in atom.coefficients])
            for i, component in enumerate(field)
        ]
        used = [any(p.involves(v) for p in parts) for v in range(len(box))]
        counts = [n if use else 1 for n, use in zip(claim.tube.cells, used, strict=True)]
        for cell in cells(box, counts):
            sizes = [magnitude(range_on(part, cell)) for part in parts]
            common = math.lcm(*(size.denominator for size in sizes))
            largest = norm_bounds(norm, _over(sizes, common), common)[1]
            within = largest <= claim.field_error
            require(within, "the field differs by more than its claimed error", "/field_error")  # 6


# --- the adjoint's length ----------------------------------------------------------------------


def adjoint_integral(
    norm: Norm, nominal: AffineProblem, witness: Functional, functional: Sequence[int]
) -> Fraction:
    """An upper bound of ``int_0^T ||e^{A^T s} lambda||_* ds``.

    On a cell the vector is a mixture of its Bernstein coefficients, so its dual norm is at most the
    same mixture of theirs, and every Bernstein polynomial has the same integral.
    """
    dense = [0] * nominal.dimension
    for index, number in zip(witness.vector.indices, functional, strict=True):
        dense[index] = number
    unit = witness.vector.denominator.numerator
    bits = precision(nominal)
    times = cut_times(nominal, (), max(growth(nominal) / nominal.horizon, Fraction(0)))
    ones = dual_norm_bound(norm, [1] * nominal.dimension, 1)
    total = Fraction(0)
    for cell in adjoint_cells(nominal, dense, unit, times, bits):
        rows = [bernstein(coordinate) for coordinate in zip(*cell.coefficients, strict=True)]
        scale = rows[0][1]
        points = list(zip(*(row for row, _ in rows), strict=True))
        lengths = [dual_norm_bound(norm, point, scale << bits) for point in points]
        mean = sum(lengths, Fraction(0)) / len(points)
        total += cell.width * (mean + ones * Fraction(cell.radius, 1 << bits))
    return total


def dual_norm_bound(norm: Norm, numerators: Sequence[int], denominator: int) -> Fraction:
    """An upper bound of the dual norm of ``numerators / denominator``; exact for linear norms."""
    sizes = list(map(abs, numerators))
    if isinstance(norm, LinfNorm):
        return Fraction(sum(sizes), denominator)
    if isinstance(norm, L1Norm):
        return Fraction(max(sizes), denominator)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        parts = [n / w for n, w in zip(sizes, norm.weights, strict=True)]
        largest = max(parts) if isinstance(norm, WeightedL1Norm) else sum(parts, Fraction(0))
        return largest / denominator
    block = block_size(norm, len(sizes))
    total = Fraction(0)
    for start in range(0, len(sizes), block):
        part = sizes[start : start + block]
        square = sum(map(mul, part, part))
        total += sqrt_bounds(Fraction(square, denominator * denominator))[1]
    return total

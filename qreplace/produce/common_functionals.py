"""Linear functionals that every atom moves alike, exactly (theory T7.7).

They are the vectors lambda with ``lambda . (G_j - G_0) = 0`` for every atom and no nonlinear part,
a null space; the largest part of it that is invariant under ``A^T`` evolves by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import flint

from qreplace.errors import ProducerFailed
from qreplace.exact.observables import DriftPiece
from qreplace.question.dynamics import AffineProblem, PolynomialProblem

PRIMES = ((1 << 61) - 1, (1 << 521) - 1, (1 << 2203) - 1)
MAX_DIMENSION = 400
"""Largest state with a matrix of its own; dynamics of one rate have no limit here."""
MAX_ROWS = 128
NONE = "the atoms share no observable"


@dataclass(frozen=True)
class CommonDynamics:
    """``differences`` of the atoms row by row, and what they share.

    Functionals that vanish on every row of ``differences`` see ``z' = A z + drift``, ``A`` being
    ``matrix``; with ``matrix`` None it is ``rate I``.
    """

    differences: list[list[Fraction]]
    matrix: list[list[Fraction]] | None
    rate: Fraction
    drift: list[DriftPiece]
    initial: list[Fraction]
    target: list[Fraction]
    horizon: Fraction


def of_affine(problem: AffineProblem) -> CommonDynamics:
    """The first atom's dynamics, and what the others add to it."""
    unit = problem.denominator
    marks = [Fraction(0), *problem.breaks, problem.horizon]
    differences: list[list[Fraction]] = []
    drift = []
    for start, end in pairwise(marks):
        rows = [problem.piece_at(j, start, end).coefficients for j in range(len(problem.atoms))]
        for other in rows[1:]:
            for k in range(max(len(rows[0]), len(other))):
                a = other[k] if k < len(other) else (0,) * problem.dimension
                b = rows[0][k] if k < len(rows[0]) else (0,) * problem.dimension
                if a != b:
                    differences.append([Fraction(x - y, unit) for x, y in zip(a, b, strict=True)])
        drift.append(
            DriftPiece(start, end, tuple(tuple(Fraction(n, unit) for n in r) for r in rows[0]))
        )
    size = problem.dimension
    matrix = None
    if problem.matrix is not None:
        matrix = [[problem.entry(i, j) for j in range(size)] for i in range(size)]
    return CommonDynamics(
        _distinct(differences),
        matrix,
        problem.rate,
        drift,
        [Fraction(n, unit) for n in problem.initial],
        [Fraction(n, unit) for n in problem.target],
        problem.horizon,
    )


def of_polynomial(problem: PolynomialProblem) -> CommonDynamics:
    """Coefficient by coefficient; monomials that are not linear in z alone have to vanish."""
    size = problem.dimension
    first = problem.atoms[0]
    rows: dict[tuple[int, tuple[int, ...]], list[Fraction]] = {}
    matrix = [[Fraction(0)] * size for _ in range(size)]
    degree = max((e[0] for p in first for e in p.exponents if not any(e[1:])), default=0)
    drift = [[Fraction(0)] * size for _ in range(degree + 1)]
    for j, field in enumerate(problem.atoms):
        for i, component in enumerate(field):
            terms = component.terms
            if j:
                for exponents, c in first[i].terms.items():
                    terms[exponents] = terms.get(exponents, Fraction(0)) - c
            for exponents, c in terms.items():
                time, states = exponents[0], exponents[1:]
                if not j and not any(states):
                    drift[time][i] = c
                elif not j and not time and sum(states) == 1:
                    matrix[i][states.index(1)] = c
                elif c:
                    rows.setdefault((j, exponents), [Fraction(0)] * size)[i] = c
    piece = DriftPiece(Fraction(0), problem.horizon, tuple(map(tuple, drift)))
    return CommonDynamics(
        _distinct(list(rows.values())),
        matrix,
        Fraction(0),
        [piece],
        list(problem.initial),
        list(problem.target),
        problem.horizon,
    )


def _distinct(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    found = {tuple(row): row for row in rows if any(row)}
    return list(found.values())


@dataclass(frozen=True)
class Invariant:
    """Functionals ``O`` (m, q), independent, with ``O A = M O``."""

    rows: list[list[Fraction]]
    dynamics: list[list[Fraction]]


def single(row: list[Fraction], rate: Fraction) -> Invariant:
    """One functional of dynamics with ``A = rate I``."""
    return Invariant([row], [[rate]])


def invariant_functionals(common: CommonDynamics) -> Invariant:
    """A basis of the functionals that evolve by themselves.

    Computed modulo a prime and lifted to rationals, which are then seen to be right; another
    prime where they are not. Raises ``ProducerFailed`` when there are none, or too many for a
    claim.
    """
    size = len(common.target)
    if size > MAX_DIMENSION:
        raise ProducerFailed(
            f"observables of coupled states are searched up to {MAX_DIMENSION} coordinates, the "
            f"state has {size}"
        )
    matrix = common.matrix
    if matrix is None:
        matrix = [[common.rate * (i == j) for j in range(size)] for i in range(size)]
    for prime in PRIMES:
        residues = _modular_null_space(common.differences, matrix, prime)
        if not residues:
            raise ProducerFailed(NONE)
        if len(residues) > MAX_ROWS:
            raise ProducerFailed(
                f"the atoms may share {len(residues)} observables; a claim holds at most {MAX_ROWS}"
            )
        rows = [[_lifted(x, prime) for x in row] for row in residues]
        found = _shown([[x for x in row if x is not None] for row in rows], common, matrix)
        if found is not None:
            return found
    raise ProducerFailed("the common observables have too many digits")


def _modular_null_space(
    differences: list[list[Fraction]], matrix: list[list[Fraction]], prime: int
) -> list[list[int]]:
    """A basis of the null space of ``d, A d, A^2 d, ..`` over all differences d, modulo a prime.

    Every row is 1 at its own last coordinate and 0 at the others' last ones. The powers double.
    """
    size = len(matrix)
    if not differences:
        return [[int(i == j) for j in range(size)] for i in range(size)]
    step = _modular(matrix, prime).transpose()
    stacked, rank = _modular(differences, prime).rref()
    while 0 < rank < size:
        top = _modular_rows(stacked)[:rank]
        moved = _modular_rows(_modular_matrix(top, size, prime) * step)
        stacked, grown = _modular_matrix(top + moved, size, prime).rref()
        if grown == rank:
            break
        rank, step = grown, step * step
    reduced = _modular_rows(stacked)[:rank]
    pivots = [next(c for c, x in enumerate(row) if x) for row in reduced]
    basis = []
    for free in sorted(set(range(size)) - set(pivots)):
        vector = [0] * size
        vector[free] = 1
        for row, pivot in zip(reduced, pivots, strict=True):
            vector[pivot] = -row[free] % prime
        basis.append(vector)
    return basis


def _shown(
    rows: list[list[Fraction]], common: CommonDynamics, matrix: list[list[Fraction]]
) -> Invariant | None:
    """The rows with their dynamics, if both identities hold exactly."""
    size = len(matrix)
    if any(len(row) != size for row in rows):
        return None
    own = _rational(rows)
    if common.differences:
        seen = own * _rational(common.differences).transpose()
        if any(x != 0 for x in seen.entries()):
            return None
    moved = own * _rational(matrix)
    # The last nonzero entries of the rows are 1, each in a column of its own.
    last = [max(i for i, x in enumerate(row) if x) for row in rows]
    table = _rows_of(moved)
    dynamics = [[row[i] for i in last] for row in table]
    if _rational(dynamics) * own != moved:
        return None
    return Invariant(rows, dynamics)


def _lifted(residue: int, prime: int) -> Fraction | None:
    """The rational with small numerator and denominator that a residue stands for, if any."""
    if residue in (0, 1):
        return Fraction(residue)
    bound = math.isqrt(prime // 2)
    previous, current = (prime, 0), (residue, 1)
    while current[0] > bound:
        quotient = previous[0] // current[0]
        following = (previous[0] - quotient * current[0], previous[1] - quotient * current[1])
        previous, current = current, following
    if current[1] == 0 or abs(current[1]) > bound:
        return None
    return Fraction(current[0], current[1])


def _modular(rows: list[list[Fraction]], prime: int) -> Any:
    """The matrix times its common denominator."""
    common = math.lcm(*(x.denominator for row in rows for x in row))
    scaled = [[x.numerator * (common // x.denominator) % prime for x in row] for row in rows]
    return _modular_matrix(scaled, len(rows[0]), prime)


def _modular_matrix(rows: list[list[int]], width: int, prime: int) -> Any:
    entries = [x for row in rows for x in row]
    if prime < 1 << 63:
        return flint.nmod_mat(len(rows), width, entries, prime)
    return flint.fmpz_mod_mat(len(rows), width, entries, flint.fmpz_mod_ctx(prime))


def _modular_rows(matrix: Any) -> list[list[int]]:
    width = matrix.ncols()
    entries = [int(x) for x in matrix.entries()]
    return [entries[i * width : (i + 1) * width] for i in range(matrix.nrows())]


def _rational(rows: list[list[Fraction]]) -> Any:
    entries = [flint.fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return flint.fmpq_mat(len(rows), len(rows[0]), entries)


def _rows_of(matrix: Any) -> list[list[Fraction]]:
    width = matrix.ncols()
    entries = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
    return [entries[i * width : (i + 1) * width] for i in range(matrix.nrows())]

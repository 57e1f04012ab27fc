"""Checker of ``observable`` (theory T7.7).

Claim: every schedule ends with the same ``<lambda, z(T)>``, so ``E >= |<lambda, y - z(T)>|``.

Obligations, numbered as in ``schemas/observable.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. rows, dynamics and combination have matching shapes, within the stated limits;
3. lambda has dual norm at most 1;
4. lambda is the combination of the rows;
5. ``O G_j(t, z) = a(t) + M O z`` for every atom, as an identity, with one ``a`` for all of them;
6. ``lower`` is at most the distance of ``lambda . y`` from the enclosed ``c . w(T)``, with
   ``w' = a(t) + M w`` from ``w(0) = O z_0``, or the Euler steps of the claim's depth.

Nothing is asked of a tube: the identity holds for every state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from operator import mul

from qreplace.check.affine_dynamics import MAX_DEPTH_BITS, require_affordable
from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import check_functional, dense
from qreplace.claims.observable import ObservableClaim
from qreplace.exact.affine_flow import MAX_WORK, discrete_work
from qreplace.exact.observables import DriftPiece, combined_endpoint, observable_flow
from qreplace.exact.polynomial import Polynomial, Terms, from_terms
from qreplace.premises import Evidence
from qreplace.question.dynamics import AffineProblem, PolynomialProblem
from qreplace.question.model import PolynomialSystem
from qreplace.question.subject import Subject

MAX_ROWS = 128
MAX_BITS = 4096
"""Longest common denominator, and longest numerator over it, of a row or of the dynamics."""


def check(subject: Subject, claim: ObservableClaim) -> tuple[ScopedBound, ...]:
    """The lower end that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem: AffineProblem | PolynomialProblem
    if isinstance(subject.question.system, PolynomialSystem):
        problem, norm = subject.polynomial(claim.code), subject.question.norm
    else:
        problem, norm = subject.affine_floor(claim.code)
    _check_shapes(claim, problem.dimension)  # 2
    check_functional(norm, claim.witness, problem.dimension)  # 3
    witness = dense(claim.witness.vector, problem.dimension)
    combined = [
        sum(map(mul, claim.combination, column), Fraction(0))
        for column in zip(*claim.rows, strict=True)
    ]
    require(witness == combined, "the witness is not the combination of the rows", "/witness")  # 4
    if isinstance(problem, PolynomialProblem):
        drift = _polynomial_drift(problem, claim)  # 5
        initial, target = problem.initial, problem.target
    else:
        drift = _affine_drift(problem, claim)  # 5
        unit = problem.denominator
        initial = tuple(Fraction(n, unit) for n in problem.initial)
        target = tuple(Fraction(n, unit) for n in problem.target)
    start = [sum(map(mul, row, initial), Fraction(0)) for row in claim.rows]
    flow = observable_flow(claim.dynamics, drift, start, problem.horizon)
    require_affordable(flow, 1, "/dynamics")  # 2
    if claim.depth is not None:
        _check_depth(claim.depth, discrete_work(flow, claim.depth))
    low, high = combined_endpoint(flow, claim.combination, claim.depth)
    aim = sum(map(mul, witness, target), Fraction(0))
    distance = max(aim - high, low - aim)
    require(claim.lower <= distance, "the observable ends nearer to the target", "/lower")  # 6
    return floor_bounds(
        subject,
        claim,
        lower=claim.lower,
        evidence=Evidence.INTERVAL_CERTIFIED,
        depth=claim.depth,
    )


def _check_depth(depth: int, steps: int) -> None:
    require(depth >= 1, "a depth is at least 1", "/depth")  # 2
    affordable = depth.bit_length() <= MAX_DEPTH_BITS and steps <= MAX_WORK
    require(affordable, "the depth takes too long to check", "/depth")  # 2


def _check_shapes(claim: ObservableClaim, dimension: int) -> None:
    count = len(claim.rows)
    require(1 <= count <= MAX_ROWS, f"an observable has 1 to {MAX_ROWS} rows", "/rows")
    fitting = all(len(row) == dimension for row in claim.rows)
    require(fitting, "a row of the observable has another dimension", "/rows")
    square = len(claim.dynamics) == count and all(len(row) == count for row in claim.dynamics)
    require(square, "the dynamics are not square in the rows", "/dynamics")
    require(len(claim.combination) == count, "one weight a row is needed", "/combination")
    _require_short([x for row in claim.rows for x in row], "/rows")
    _require_short([x for row in claim.dynamics for x in row], "/dynamics")
    _require_short(list(claim.combination), "/combination")


def _require_short(values: list[Fraction], pointer: str) -> None:
    """The common denominator and every numerator over it are short."""
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > MAX_BITS:
            break
    largest = max((abs(x.numerator).bit_length() for x in values), default=0)
    short = max(common.bit_length(), largest) <= MAX_BITS
    require(short, "the numbers of the observable have too many digits", pointer)


# --- affine dynamics ---------------------------------------------------------------------------


def _affine_drift(problem: AffineProblem, claim: ObservableClaim) -> list[DriftPiece]:
    """``a`` on the pieces between all breaks; raises ``Rejected`` unless the identity holds."""
    scale = math.lcm(*(x.denominator for row in claim.rows for x in row))
    rows = [[int(x * scale) for x in row] for row in claim.rows]
    _check_generator(problem, claim, rows)
    marks = [Fraction(0), *problem.breaks, problem.horizon]
    found = []
    for start, end in pairwise(marks):
        values = [
            _along(rows, problem.piece_at(j, start, end).coefficients)
            for j in range(len(problem.atoms))
        ]
        alike = all(value == values[0] for value in values)
        require(alike, "an atom moves the observable otherwise", "/rows")
        unit = scale * problem.denominator
        coefficients = tuple(tuple(Fraction(n, unit) for n in row) for row in values[0])
        found.append(DriftPiece(start, end, coefficients))
    return found


def _along(rows: list[list[int]], coefficients: Sequence[Sequence[int]]) -> list[list[int]]:
    """``O b`` by powers of t, without powers that vanish at the end."""
    values = [[sum(map(mul, row, vector)) for row in rows] for vector in coefficients]
    while len(values) > 1 and not any(values[-1]):
        values.pop()
    return values


def _check_generator(problem: AffineProblem, claim: ObservableClaim, rows: list[list[int]]) -> None:
    """``O A = M O``."""
    columns = list(zip(*rows, strict=True))
    for r, row in enumerate(rows):
        scale = math.lcm(*(x.denominator for x in claim.dynamics[r]))
        mixed = [int(x * scale) for x in claim.dynamics[r]]
        if problem.matrix is None:
            moved = [Fraction(0)] * problem.dimension
        else:
            moved = [
                Fraction(sum(map(mul, row, column)), problem.matrix_denominator)
                for column in zip(*problem.matrix, strict=True)
            ]
        for i in range(problem.dimension):
            expected = Fraction(sum(map(mul, mixed, columns[i])), scale)
            require(
                moved[i] + problem.rate * row[i] == expected,
                "the observable does not evolve by its own dynamics",
                f"/dynamics/{r}",
            )


# --- polynomial dynamics -----------------------------------------------------------------------


def _polynomial_drift(problem: PolynomialProblem, claim: ObservableClaim) -> list[DriftPiece]:
    drifts: list[Polynomial] = []
    arity = problem.dimension + 1
    for r, row in enumerate(claim.rows):
        linear: Terms = {}
        for i in range(problem.dimension):
            slope = sum((m * o[i] for m, o in zip(claim.dynamics[r], claim.rows, strict=True)),
                        Fraction(0))  # fmt: skip
            linear[tuple(int(k == i + 1) for k in range(arity))] = slope
        own = from_terms(linear)
        found = [_combined_field(row, field) - own for field in problem.atoms]
        alike = all(part == found[0] for part in found)
        require(alike, "an atom moves the observable otherwise", "/rows")
        free = not any(found[0].involves(i) for i in range(1, arity))
        reason = "the observable does not evolve by its own dynamics"
        require(free, reason, f"/dynamics/{r}")
        drifts.append(found[0])
    degree = max(drift.degree for drift in drifts)
    coefficients = tuple(
        tuple(drift.coefficient((k, *([0] * problem.dimension))) for drift in drifts)
        for k in range(degree + 1)
    )
    return [DriftPiece(Fraction(0), problem.horizon, coefficients)]


def _combined_field(row: Sequence[Fraction], field: Sequence[Polynomial]) -> Polynomial:
    terms: Terms = {}
    for weight, component in zip(row, field, strict=True):
        if weight:
            for exponents, c in zip(component.exponents, component.coefficients, strict=True):
                terms[exponents] = terms.get(exponents, Fraction(0)) + weight * c
    return from_terms(terms)

"""From a solver's floats to identities that hold exactly (theory T7.9; Peyrl and Parrilo).

Parameters and multipliers are rounded to dyadic numbers; the free part of every identity absorbs
what is then missing, each coefficient spread evenly over the entries of its Gram matrix that make
that monomial: the least-norm projection on the matrices for which the identity holds. Whether they
are still positive semidefinite is decided exactly. When one is not, the programme is solved again
with a larger margin, which is the strictly feasible shift: the value pays for the room it needs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.exact.definite import is_positive_semidefinite
from qreplace.exact.polynomial import Exponents, Polynomial, Terms, accumulate, from_terms
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.direct_solver import solve_directly
from qreplace.produce.modelled_solver import solve
from qreplace.produce.monomials import product
from qreplace.produce.sos_program import (
    Clock,
    Floats,
    FloatSolution,
    GramBlock,
    Identity,
    NoSuchSquares,
    ParameterSet,
    Program,
    Solver,
)

FIRST_BITS = 34
"""Multipliers are rounded to ``2**-34``; parameters a little finer."""
FIRST_MARGIN = {"CLARABEL": 1e-7, "SCS": 1e-5}
LARGEST_MARGIN = 1e-2
MAX_ATTEMPTS = 8

SHRINK = 1 - Fraction(1, 2**44)
"""Norms are bounded from above with rounding; what is scaled back lands strictly inside."""

Rows = list[list[Fraction]]


@dataclass(frozen=True)
class ExactSolution:
    """Parameters and Gram matrices for which every identity holds exactly.

    ``grams[k][i]`` is the whole symmetric matrix of block i of identity k.
    """

    parameters: tuple[Fraction, ...]
    grams: tuple[tuple[Rows, ...], ...]
    floats: FloatSolution
    margin: float


class NotDefinite(ProducerFailed):
    """A Gram matrix lost its positivity; ``eigenvalue`` is its smallest, in floats."""

    def __init__(self, message: str, eigenvalue: float) -> None:
        super().__init__(message)
        self.eigenvalue = eigenvalue


def exact_solution(
    program: Program,
    clock: Clock,
    solver: Solver = "CLARABEL",
    *,
    margin: float | None = None,
    attempts: int = MAX_ATTEMPTS,
    direct: bool = False,
) -> ExactSolution:
    """Solve, round and repair, with a growing margin; ``direct`` leaves out the modelling layer.

    Raises ``ProducerFailed`` with what stopped it: the identity, its smallest eigenvalue, and the
    numerical value, which is a diagnostic only.
    """
    current = FIRST_MARGIN[solver] if margin is None else margin
    failure: ProducerFailed | None = None
    value: float | None = None
    for _ in range(attempts):
        try:
            if direct:
                floats = solve_directly(program, current, clock)
            else:
                floats = solve(program, current, solver, clock)
            value = floats.value
            started = time.perf_counter()
            try:
                return repaired(program, floats, current)
            finally:
                clock.exact_seconds += time.perf_counter() - started
        except NotDefinite as error:
            failure = error
            current = max(8 * current, -4 * error.eigenvalue)
        except NoSuchSquares as error:
            failure = failure or error
            break
        except ProducerFailed as error:
            clock.remaining()
            failure = failure or error
            current *= 8
        if current > LARGEST_MARGIN:
            break
    numerical = "" if value is None else f" (numerical value {value:.6g}, a diagnostic only)"
    reason = failure.message if failure else "no attempt was made"
    raise ProducerFailed(f"no exact certificate: {reason}{numerical}")


def repaired(
    program: Program, floats: FloatSolution, margin: float, bits: int = FIRST_BITS
) -> ExactSolution:
    """The exact solution next to a float one; raises ``NotDefinite``."""
    parameters = rounded_parameters(program, floats.parameters, bits + 6)
    grams = [
        _repair_identity(part, parameters, matrices, bits)
        for part, matrices in zip(program.identities, floats.grams, strict=True)
    ]
    return ExactSolution(parameters, tuple(grams), floats, margin)


def _repair_identity(
    part: Identity, parameters: Sequence[Fraction], matrices: Sequence[Floats], bits: int
) -> tuple[Rows, ...]:
    rounded = [_rounded(matrix, bits) for matrix in matrices]
    missing = _missing(part, parameters, rounded, bits)
    rows: list[Rows] = [
        [[Fraction(entry, 1 << bits) for entry in line] for line in matrix] for matrix in rounded
    ]
    _spread(rows[0], part.blocks[0].basis, missing, bits, part.name)
    for block, matrix in zip(part.blocks, rows, strict=True):
        _require_definite(part, block, matrix)
    return tuple(rows)


def _rounded(matrix: Floats, bits: int) -> list[list[int]]:
    """The symmetric part in units of ``2**-bits``."""
    scaled = np.rint((matrix + matrix.T) * 2.0 ** (bits - 1))
    return [[int(entry) for entry in line] for line in scaled]


def _missing(
    part: Identity,
    parameters: Sequence[Fraction],
    rounded: Sequence[list[list[int]]],
    bits: int,
) -> Terms:
    """The side of the polynomial minus that of the rounded sums of squares."""
    terms: Terms = part.fixed.terms
    for index, polynomial in part.linear.items():
        if parameters[index]:
            accumulate(terms, polynomial, parameters[index])
    for block, matrix in zip(part.blocks, rounded, strict=True):
        accumulate(terms, _expanded(block.basis, matrix, bits) * block.constraint, Fraction(-1))
    return {e: c for e, c in terms.items() if c}


def _expanded(basis: Sequence[Exponents], matrix: list[list[int]], bits: int) -> Polynomial:
    sums: dict[Exponents, int] = {}
    for i, one in enumerate(basis):
        for j in range(i + 1):
            entry = matrix[i][j]
            if entry:
                key = product(one, basis[j])
                sums[key] = sums.get(key, 0) + (entry if i == j else 2 * entry)
    return from_terms({key: Fraction(value, 1 << bits) for key, value in sums.items()})


def _spread(rows: Rows, basis: Sequence[Exponents], missing: Terms, bits: int, name: str) -> None:
    """Add to the free Gram matrix what each coefficient lacks, evenly over its entries."""
    places: dict[Exponents, list[tuple[int, int]]] = {}
    for i, one in enumerate(basis):
        for j in range(i + 1):
            places.setdefault(product(one, basis[j]), []).append((i, j))
    for key, lacking in missing.items():
        entries = places.get(key)
        if entries is None:
            raise ProducerFailed(f"{name}: no Gram entry makes the monomial {key}")
        weight = sum(1 if i == j else 2 for i, j in entries)
        share = _dyadic(lacking / weight, bits + 6)
        rest = lacking - share * weight
        for i, j in entries:
            rows[i][j] += share
            if i != j:
                rows[j][i] += share
        i, j = entries[0]
        rows[i][j] += rest if i == j else rest / 2
        if i != j:
            rows[j][i] += rest / 2


def _dyadic(value: Fraction, bits: int) -> Fraction:
    return Fraction(round(value * (1 << bits)), 1 << bits)


def _require_definite(part: Identity, block: GramBlock, rows: Rows) -> None:
    name = "the free part" if block.number is None else f"the multiplier of g_{block.number}"
    floats = np.array([[float(entry) for entry in line] for line in rows])
    smallest = float(np.linalg.eigvalsh(floats)[0])
    common = math.lcm(*(entry.denominator for line in rows for entry in line))
    lower = [[int(entry * common) for entry in line[: i + 1]] for i, line in enumerate(rows)]
    if smallest < 0 or not is_positive_semidefinite(lower):
        raise NotDefinite(
            f"{part.name}: the Gram matrix of {name} ({len(rows)} rows) is not positive "
            f"semidefinite after rounding, its smallest eigenvalue is about {smallest:.2g}",
            smallest,
        )


# --- parameters -----------------------------------------------------------------------------------


def rounded_parameters(program: Program, values: Floats, bits: int) -> tuple[Fraction, ...]:
    """Dyadic parameters next to the solver's, inside their sets."""
    found = [Fraction(round(float(v) * 2**bits), 1 << bits) for v in values]
    for chosen in program.sets:
        own = [found[a] for a in chosen.parameters]
        if chosen.kind == "budget":
            own = [max(Fraction(0), value) for value in own]
        size = _size(chosen, own)
        if size > 1:
            own = [_towards_zero(value * SHRINK / size, bits) for value in own]
        for parameter, value in zip(chosen.parameters, own, strict=True):
            found[parameter] = value
    return tuple(found)


def _towards_zero(value: Fraction, bits: int) -> Fraction:
    """Every norm used here is monotone in the absolute values of the entries."""
    return Fraction(int(value * (1 << bits)), 1 << bits)


def _size(chosen: ParameterSet, values: Sequence[Fraction]) -> Fraction:
    """The weighted norm, from above."""
    scaled = [abs(v) * s for v, s in zip(values, chosen.sizes, strict=True)]
    if chosen.kind in ("budget", "l1"):
        return sum(scaled, Fraction(0))
    if chosen.kind == "linf":
        return max(scaled, default=Fraction(0))
    return sum(group_norms(scaled, chosen.group), Fraction(0))


def group_norms(values: Sequence[Fraction], group: int) -> list[Fraction]:
    """Rational upper bounds of the l2 norms of consecutive groups."""
    squares = [
        sum((v * v for v in values[start : start + group]), Fraction(0))
        for start in range(0, len(values), group)
    ]
    return [sqrt_bounds(square, 64)[1] for square in squares]

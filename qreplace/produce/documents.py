"""Exact solutions as the combinations that claims hold, in the original variables."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from qreplace.claims.sums_of_squares import NO_SQUARES, Combination, Multiplier, SumOfSquares
from qreplace.exact.polynomial import Polynomial, Terms, accumulate, from_terms
from qreplace.produce.rounding import ExactSolution
from qreplace.produce.scaling import Scaling
from qreplace.produce.sos_program import Identity


def combination(
    part: Identity,
    solution: ExactSolution,
    position: int,
    scaling: Scaling,
    factor: Fraction,
    unit_of: Callable[[int], Fraction],
) -> Combination:
    """Identity ``position`` of a solution, times ``factor``.

    Constraint ``number`` of the claim is ``unit_of(number)`` times the one of the programme.
    """
    free: SumOfSquares = NO_SQUARES
    multipliers = []
    for block, rows in zip(part.blocks, solution.grams[position], strict=True):
        if block.number is None:
            free = scaling.gram(block.basis, rows, factor)
            continue
        sos = scaling.gram(block.basis, rows, factor / unit_of(block.number))
        if sos != NO_SQUARES:
            multipliers.append(Multiplier(block.number, sos))
    multipliers.sort(key=lambda m: m.constraint)
    return Combination(free, tuple(multipliers))


def combined(basis: tuple[Polynomial, ...], parameters: tuple[Fraction, ...]) -> Polynomial:
    """``sum parameters[a] * basis[a]``."""
    terms: Terms = {}
    for polynomial, value in zip(basis, parameters, strict=False):
        if value:
            accumulate(terms, polynomial, value)
    return from_terms(terms)

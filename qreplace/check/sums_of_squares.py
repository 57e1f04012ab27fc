"""Shared obligations about sums of squares: expanded exactly, never sampled (theory T7.4)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from fractions import Fraction

from qreplace.check.bounds import require
from qreplace.claims.sums_of_squares import Combination, Gram, Squares, SumOfSquares
from qreplace.exact.definite import is_positive_semidefinite
from qreplace.exact.polynomial import Polynomial, Terms, accumulate, from_terms

MAX_GRAM_ROWS = 400
MAX_SQUARES = 400


def expand(sos: SumOfSquares, arity: int, pointer: str) -> Polynomial:
    """The polynomial that is shown to be a sum of squares; raises ``Rejected`` if it is not."""
    if isinstance(sos, Squares):
        return _expand_squares(sos, arity, pointer)
    return _expand_gram(sos, arity, pointer)


def _expand_squares(sos: Squares, arity: int, pointer: str) -> Polynomial:
    count = len(sos.polynomials)
    require(count <= MAX_SQUARES, "there are too many squares", pointer)
    require(len(sos.weights) == count, "one weight a square is needed", pointer)
    require(all(w >= 0 for w in sos.weights), "the weight of a square is negative", pointer)
    fits = all(p.fits(arity) for p in sos.polynomials)
    require(fits, "a square has another number of variables", pointer)
    terms: Terms = {}
    for weight, polynomial in zip(sos.weights, sos.polynomials, strict=True):
        accumulate(terms, polynomial * polynomial, weight)
    return from_terms(terms)


def _expand_gram(sos: Gram, arity: int, pointer: str) -> Polynomial:
    size = len(sos.basis)
    require(1 <= size <= MAX_GRAM_ROWS, f"a Gram matrix has 1 to {MAX_GRAM_ROWS} rows", pointer)
    fits = all(len(e) == arity and min(e) >= 0 for e in sos.basis)
    require(fits, "a monomial of a Gram basis does not fit the variables", f"{pointer}/basis")
    require(
        len(sos.lower) == size * (size + 1) // 2,
        "a Gram matrix is given by its whole lower triangle",
        f"{pointer}/lower",
    )
    whole = sos.denominator.denominator == 1 and sos.denominator > 0
    require(whole, "a Gram matrix has a positive whole denominator", f"{pointer}/denominator")
    integer = all(entry.denominator == 1 for entry in sos.lower)
    require(integer, "the numerators of a Gram matrix are integers", f"{pointer}/lower")
    entries = [entry.numerator for entry in sos.lower]
    rows = [entries[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(size)]
    require(
        is_positive_semidefinite(rows),
        "a Gram matrix is not positive semidefinite",
        f"{pointer}/lower",
    )
    sums: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if entry:
                key = tuple(map(sum, zip(sos.basis[i], sos.basis[j], strict=True)))
                sums[key] = sums.get(key, 0) + (entry if i == j else 2 * entry)
    scale = sos.denominator.numerator
    return from_terms({key: Fraction(value, scale) for key, value in sums.items()})


def expand_combination(
    combination: Combination,
    constraints: Sequence[Polynomial],
    arity: int,
    pointer: str,
    *,
    allowed: Container[int] | None = None,
) -> Polynomial:
    """``free + sum of sos_i g_i``, every part expanded; raises ``Rejected``.

    ``allowed``: the constraints that may be named; all when ``None``.
    """
    terms = expand(combination.free, arity, f"{pointer}/free").terms
    previous = -1
    for position, multiplier in enumerate(combination.multipliers):
        place = f"{pointer}/multipliers/{position}"
        number = multiplier.constraint
        named = previous < number < len(constraints)
        require(named, "multipliers do not name constraints in ascending order", place)
        usable = allowed is None or number in allowed
        require(usable, "a multiplier names a constraint that may not be used here", place)
        previous = number
        factor = expand(multiplier.sos, arity, f"{place}/sos")
        accumulate(terms, factor * constraints[number], Fraction(1))
    return from_terms(terms)


def require_nonnegative(
    polynomial: Polynomial,
    combination: Combination,
    constraints: Sequence[Polynomial],
    arity: int,
    pointer: str,
) -> None:
    """Raise ``Rejected`` unless ``polynomial = combination``, coefficient by coefficient."""
    shown = expand_combination(combination, constraints, arity, pointer)
    require(shown == polynomial, "an identity does not hold coefficient by coefficient", pointer)

"""Monomial bases of Gram matrices, and the monomials of a basis that can matter (theory T7.9)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from qreplace.exact.polynomial import Exponents


def monomials(variables: Sequence[int], arity: int, degree: int) -> tuple[Exponents, ...]:
    """All monomials of total degree at most ``degree`` in ``variables``, in graded order."""
    found: list[Exponents] = []
    for order in range(degree + 1):
        found.extend(sorted(_of_degree(variables, arity, order)))
    return tuple(found)


def count(variables: int, degree: int) -> int:
    """How many monomials of degree at most ``degree`` so many variables have."""
    return math.comb(variables + degree, degree)


def product(one: Exponents, other: Exponents) -> Exponents:
    """The exponents of the product of two monomials."""
    return tuple(map(sum, zip(one, other, strict=True)))


def reduced_basis(
    basis: Iterable[Exponents], support: Iterable[Exponents]
) -> tuple[Exponents, ...]:
    """The monomials of a basis that a Gram matrix of a polynomial with this support can use.

    Diagonal inconsistency: a monomial whose square neither occurs in the polynomial nor is the
    product of two other monomials of the basis has a zero diagonal entry in every positive
    semidefinite Gram matrix, hence a zero row. Removing such monomials until none is left implies
    the Newton polytope, and makes the space of Gram matrices one in which positive definite ones
    can exist.
    """
    present = set(support)
    kept = list(basis)
    while True:
        products = set(_products_of_different(kept))
        doubled = {m: product(m, m) for m in kept}
        usable = [m for m in kept if doubled[m] in present or doubled[m] in products]
        if len(usable) == len(kept):
            return tuple(kept)
        kept = usable


def _products_of_different(basis: Sequence[Exponents]) -> Iterator[Exponents]:
    for position, one in enumerate(basis):
        for other in basis[:position]:
            yield product(one, other)


def _of_degree(variables: Sequence[int], arity: int, degree: int) -> Iterator[Exponents]:
    if not variables:
        if degree == 0:
            yield (0,) * arity
        return
    first, rest = variables[0], variables[1:]
    for power in range(degree + 1):
        for monomial in _of_degree(rest, arity, degree - power):
            yield (*monomial[:first], power, *monomial[first + 1 :])

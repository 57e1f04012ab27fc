"""Polynomials over the rationals in ``t, z_1 .. z_n``, exactly.

A polynomial is a frozen value and a document at once: exponent tuples in ascending graded order,
each with a nonzero coefficient. Variable 0 is time unless a function says otherwise. The arity is
that of the exponents; the zero polynomial has none and fits everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import Malformed

Exponents = tuple[int, ...]
Terms = dict[Exponents, Fraction]

MAX_TERMS = 20_000
MAX_DEGREE = 64
MAX_VARIABLES = 65


@dataclass(frozen=True, slots=True)
class Polynomial:
    """``sum of coefficients[k] * product of variable_i ** exponents[k][i]``.

    Exponents ascend by total degree, then lexicographically; no coefficient is 0.
    """

    exponents: tuple[Exponents, ...]
    coefficients: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.exponents) != len(self.coefficients):
            raise Malformed("a polynomial has one coefficient an exponent tuple")
        if len(self.exponents) > MAX_TERMS:
            raise Malformed(f"a polynomial has at most {MAX_TERMS} terms")
        if not self.exponents:
            return
        arity = len(self.exponents[0])
        if not 1 <= arity <= MAX_VARIABLES:
            raise Malformed(f"a polynomial has 1 to {MAX_VARIABLES} variables")
        previous: tuple[int, Exponents] | None = None
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            if len(exponents) != arity or min(exponents) < 0:
                raise Malformed("exponents are not negative, one a variable")
            key = sum(exponents), exponents
            if key[0] > MAX_DEGREE:
                raise Malformed(f"a polynomial has degree at most {MAX_DEGREE}")
            if previous is not None and key <= previous:
                raise Malformed("exponents ascend by degree, then lexicographically")
            if coefficient == 0:
                raise Malformed("a coefficient of a polynomial is not zero")
            previous = key

    # --- parts ----------------------------------------------------------------------------------

    @property
    def terms(self) -> Terms:
        """Coefficients by exponents."""
        return dict(zip(self.exponents, self.coefficients, strict=True))

    @property
    def degree(self) -> int:
        """The total degree; 0 for the zero polynomial."""
        return sum(self.exponents[-1]) if self.exponents else 0

    @property
    def arity(self) -> int | None:
        """The number of variables; ``None`` for the zero polynomial."""
        return len(self.exponents[0]) if self.exponents else None

    def fits(self, variables: int) -> bool:
        """Whether this is a polynomial in so many variables."""
        return self.arity in (None, variables)

    def involves(self, variable: int) -> bool:
        """Whether a variable occurs."""
        return any(exponents[variable] for exponents in self.exponents)

    def coefficient(self, exponents: Exponents) -> Fraction:
        """The coefficient of a monomial."""
        return self.terms.get(exponents, Fraction(0))

    # --- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = self.terms
        accumulate(terms, other, Fraction(1))
        return from_terms(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        terms = self.terms
        accumulate(terms, other, Fraction(-1))
        return from_terms(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial(self.exponents, tuple(-c for c in self.coefficients))

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: Terms = {}
        for left, a in zip(self.exponents, self.coefficients, strict=True):
            for right, b in zip(other.exponents, other.coefficients, strict=True):
                key = tuple(map(sum, zip(left, right, strict=True)))
                terms[key] = terms.get(key, Fraction(0)) + a * b
        return from_terms(terms)

    def scaled(self, factor: Fraction) -> Polynomial:
        """The polynomial times a number."""
        if factor == 0:
            return ZERO
        return Polynomial(self.exponents, tuple(factor * c for c in self.coefficients))

    def power(self, exponent: int) -> Polynomial:
        """A nonnegative integer power of a polynomial that is not zero (``p ** 0`` is 1)."""
        if self.arity is None:
            raise Malformed("the zero polynomial has no powers here: its arity is unknown")
        result = constant(Fraction(1), self.arity)
        for _ in range(exponent):
            result = result * self
        return result

    def derivative(self, variable: int) -> Polynomial:
        """The partial derivative by a variable."""
        terms: Terms = {}
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            order = exponents[variable]
            if order:
                lowered = (*exponents[:variable], order - 1, *exponents[variable + 1 :])
                terms[lowered] = coefficient * order
        return from_terms(terms)

    # --- values ---------------------------------------------------------------------------------

    def at(self, point: Sequence[Fraction]) -> Fraction:
        """The value at a point, one number a variable."""
        total = Fraction(0)
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            product = coefficient
            for value, exponent in zip(point, exponents, strict=True):
                if exponent:
                    product *= value**exponent
            total += product
        return total

    def fixed(self, variable: int, value: Fraction) -> Polynomial:
        """The same arity with one variable set to a number."""
        terms: Terms = {}
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            rest = (*exponents[:variable], 0, *exponents[variable + 1 :])
            terms[rest] = terms.get(rest, Fraction(0)) + coefficient * value ** exponents[variable]
        return from_terms(terms)

    def composed(self, images: Sequence[Polynomial]) -> Polynomial:
        """Every variable replaced by a polynomial; the images share one arity.

        Raises ``Malformed`` when a result would exceed the size limits.
        """
        total: Terms = {}
        powers: dict[tuple[int, int], Polynomial] = {}
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            product: Polynomial | None = None
            for variable, exponent in enumerate(exponents):
                if not exponent:
                    continue
                factor = _power_of(images, variable, exponent, powers)
                product = factor if product is None else product * factor
            if product is None:
                arity = next((p.arity for p in images if p.arity is not None), 1)
                product = constant(Fraction(1), arity)
            accumulate(total, product, coefficient)
        return from_terms(total)

    def renamed(self, places: Sequence[int], arity: int) -> Polynomial:
        """Variable ``i`` becomes variable ``places[i]`` among ``arity`` variables."""
        terms: Terms = {}
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            moved = [0] * arity
            for place, exponent in zip(places, exponents, strict=True):
                moved[place] += exponent
            key = tuple(moved)
            terms[key] = terms.get(key, Fraction(0)) + coefficient
        return from_terms(terms)


ZERO = Polynomial((), ())


def from_terms(terms: Mapping[Exponents, Fraction]) -> Polynomial:
    """The polynomial with these coefficients; zeros are dropped."""
    kept = sorted((sum(e), e, c) for e, c in terms.items() if c)
    return Polynomial(tuple(e for _, e, _ in kept), tuple(c for _, _, c in kept))


def accumulate(terms: Terms, other: Polynomial, factor: Fraction) -> None:
    """Add ``factor * other`` into ``terms``."""
    for exponents, coefficient in zip(other.exponents, other.coefficients, strict=True):
        terms[exponents] = terms.get(exponents, Fraction(0)) + factor * coefficient


def constant(value: Fraction, arity: int) -> Polynomial:
    """A constant in so many variables."""
    return from_terms({(0,) * arity: Fraction(value)})


def variable(index: int, arity: int) -> Polynomial:
    """The variable ``index`` among ``arity``."""
    return from_terms({tuple(int(i == index) for i in range(arity)): Fraction(1)})


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    """The sum of polynomials."""
    terms: Terms = {}
    for polynomial in polynomials:
        accumulate(terms, polynomial, Fraction(1))
    return from_terms(terms)


def affine_form(row: Sequence[Fraction], by_power: Sequence[Fraction]) -> Polynomial:
    """``row . z + sum_k by_power[k] t^k`` in time and ``len(row)`` coordinates."""
    arity = len(row) + 1
    terms: Terms = {
        tuple(int(k == column + 1) for k in range(arity)): x for column, x in enumerate(row)
    }
    for order, value in enumerate(by_power):
        terms[(order, *([0] * len(row)))] = value
    return from_terms(terms)


def lie_derivative(function: Polynomial, field: Sequence[Polynomial]) -> Polynomial:
    """``d_t v + grad v . G`` for ``v(t, z)`` and one polynomial a state coordinate."""
    along = (function.derivative(i + 1) * part for i, part in enumerate(field))
    return total((function.derivative(0), *along))


def after_step(function: Polynomial, field: Sequence[Polynomial], step: Fraction) -> Polynomial:
    """``v(t + h, z + h G(t, z))``: the function after one Euler step of size ``step``."""
    arity = len(field) + 1
    images = [variable(0, arity) + constant(step, arity)]
    images += [variable(i + 1, arity) + part.scaled(step) for i, part in enumerate(field)]
    return function.composed(images)


def _power_of(
    images: Sequence[Polynomial],
    index: int,
    exponent: int,
    powers: dict[tuple[int, int], Polynomial],
) -> Polynomial:
    key = index, exponent
    if key not in powers:
        image = images[index]
        if exponent == 1 or image == ZERO:
            powers[key] = image
        else:
            powers[key] = _power_of(images, index, exponent - 1, powers) * image
    return powers[key]

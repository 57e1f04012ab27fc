"""How much arithmetic a claim asks for, estimated from its shape before any of it is done.

Claims come from strangers, and a short document can ask for a long expansion: a power of a
polynomial, a square of thousands of terms, numbers without a common denominator. A checker adds up
what it is about to do and refuses beyond ``MAX_WORK``. The estimates are upper bounds in the number
of products and rough in the time of one; nothing that is proved rests on them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from qreplace.check.bounds import require
from qreplace.check.region import MAX_SLICES
from qreplace.claims.region import BoxPart, ImpliedPart, InvariantPart, Region
from qreplace.claims.sums_of_squares import Combination, Gram, SumOfSquares
from qreplace.errors import Malformed, Rejected
from qreplace.exact.definite import QUICK_ROWS, is_shown_definite
from qreplace.exact.polynomial import MAX_DEGREE, Polynomial
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.reach import ROUNDS

RANGE_COST = 20
"""What one term of an interval bound costs, in the unit of a product."""
MAX_WORK = 300_000_000
"""Most work for one claim, in about microseconds of one core."""

MAX_NUMBER_BITS = 16_384
"""Most bits of a numerator, and of the common denominator of all numbers of a claim."""


def numbers_of(value: Any) -> Iterator[Fraction]:
    """Every rational in a document, however deep."""
    if isinstance(value, Fraction):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from numbers_of(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers_of(getattr(value, field.name))


def number_bits(*values: Any) -> int:
    """Bits of the longest numerator and of the common denominator; raises ``Rejected`` if long."""
    numbers = set(numbers_of(values))
    bits = max((abs(n.numerator).bit_length() for n in numbers), default=0)
    common = 1
    for denominator in {n.denominator for n in numbers}:
        common = math.lcm(common, denominator)
        short = common.bit_length() <= MAX_NUMBER_BITS
        require(short, "the numbers of the claim have too long a common denominator")
    return bits + common.bit_length()


@contextmanager
def oversized_is_rejected(pointer: str = "") -> Iterator[None]:
    """A polynomial beyond the limits of degree or terms refuses the claim that asked for it."""
    try:
        yield
    except Malformed as error:
        raise Rejected(error.message, pointer=error.pointer or pointer) from None


class Work:
    """A running total; every method adds what one obligation will cost.

    ``values``: the claim's parts and the problem, whose numbers set the price of a product. Raises
    ``Rejected`` when the numbers or the total exceed the limits.
    """

    def __init__(self, arity: int, *values: Any) -> None:
        self.arity = arity
        self.bits = number_bits(*values)
        self.price = 4 + self.bits // 5
        self.total = 0

    def products(self, count: int) -> None:
        """So many products of two terms."""
        self._add(count * self.price)

    def combination(self, combination: Combination, constraints: Sequence[Polynomial]) -> None:
        """Expanding ``free + sum of sos_i g_i``."""
        self._sum_of_squares(combination.free)
        for multiplier in combination.multipliers:
            terms = self._sum_of_squares(multiplier.sos)
            if 0 <= multiplier.constraint < len(constraints):
                self.products(terms * len(constraints[multiplier.constraint].exponents))

    def change(
        self, function: Polynomial, fields: Sequence[Sequence[Polynomial]], depth: int | None
    ) -> None:
        """The change of a function along every field: differentiated, or after one step."""
        for field in fields:
            if depth is None:
                factors = sum(len(part.exponents) for part in field)
                self.products(len(function.exponents) * (factors + 1))
            else:
                self._composition(function, field)

    def region(
        self,
        problem: PolynomialProblem,
        region: Region,
        constraints: Sequence[Polynomial],
        depth: int | None,
    ) -> None:
        """Everything that ``check_region`` does."""
        for part in region:
            if isinstance(part, BoxPart):
                self.box(problem, part)
            elif isinstance(part, InvariantPart):
                self.change(part.constraint, problem.atoms, depth)
                for combination in part.combinations:
                    self.combination(combination, constraints)
                for factor in part.factors:
                    self.products(len(factor.exponents) * len(part.constraint.exponents))
            elif isinstance(part, ImpliedPart):
                self.combination(part.combination, constraints)

    def box(self, problem: PolynomialProblem, part: BoxPart) -> None:
        """The speed bound of every atom on the cells of a box, then its slices of time."""
        terms = 0
        for field in problem.atoms:
            for component in field:
                self.ranges(component, part.cells)
                terms += len(component.exponents) + 1
        slices = min(part.cells[0], MAX_SLICES) if part.cells else 1
        self.products(slices * ROUNDS * RANGE_COST * (problem.dimension + 2) * terms)

    def ranges(self, polynomial: Polynomial, cells: Sequence[int]) -> None:
        """The range of a polynomial on the cells of a box, cut only along variables that occur."""
        involved = [count for i, count in enumerate(cells) if polynomial.involves(i)]
        passes = math.prod(involved) * (len(involved) + 2)
        self.products(passes * len(polynomial.exponents))

    def _sum_of_squares(self, sos: SumOfSquares) -> int:
        """Adds the expansion; returns a bound on its number of terms."""
        if isinstance(sos, Gram):
            rows = len(sos.basis)
            self._factorization(sos)
            pairs = rows * (rows + 1) // 2
            self.products(pairs)
            degree = 2 * max((sum(exponents) for exponents in sos.basis), default=0)
        else:
            pairs = sum(len(p.exponents) ** 2 for p in sos.polynomials)
            self.products(pairs)
            degree = 2 * max((p.degree for p in sos.polynomials), default=0)
        return min(pairs, self._monomials(degree))

    def _factorization(self, sos: Gram) -> None:
        """The quick proof of definiteness and, where it does not serve, the decisive one.

        That is LDL^T without fractions, whose entries grow to minors.
        """
        rows = len(sos.basis)
        bits = max((entry.numerator.bit_length() for entry in sos.lower), default=0)
        self._add(rows**3 // 6 * (1 + bits // 2000))
        if rows >= QUICK_ROWS and _quickly_shown(sos):
            return
        minor = rows * bits / 2
        self._add(int(rows**3 / 3 * (1 + (minor / 1100) ** 2)))

    def _add(self, work: int) -> None:
        self.total += work
        require(self.total <= MAX_WORK, "the claim asks for more arithmetic than is done")

    def _composition(self, function: Polynomial, field: Sequence[Polynomial]) -> None:
        """``function`` with time and every coordinate replaced by their images after one step."""
        sizes = [2, *(len(part.exponents) + 1 for part in field)]
        degrees = [1, *(max(part.degree, 1) for part in field)]
        for exponents in function.exponents:
            size, degree = 1, 0
            for exponent, terms, grade in zip(exponents, sizes, degrees, strict=True):
                power = 1
                for step in range(1, exponent + 1):
                    self.products(power * terms)
                    power = min(power * terms, self._monomials(step * grade))
                degree += exponent * grade
                self.products(size * power)
                size = min(size * power, self._monomials(degree))

    def _monomials(self, degree: int) -> int:
        """The number of monomials up to a degree; what is beyond the limit is refused anyway."""
        return math.comb(min(max(degree, 0), 2 * MAX_DEGREE) + self.arity, self.arity)


def _quickly_shown(sos: Gram) -> bool:
    rows = len(sos.basis)
    if len(sos.lower) != rows * (rows + 1) // 2:
        return True  # refused at once
    entries = [entry.numerator for entry in sos.lower]
    return is_shown_definite(
        [entries[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2] for i in range(rows)]
    )

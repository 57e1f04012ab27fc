"""Polynomials as text: ``"1 - 2/3*t + z1^2*z2"``, read by a small grammar of our own.

    sum     = [sign] product { sign product }
    product = power { "*" power | "/" number }
    power   = atom [ ("^" | "**") digits ]
    atom    = number | name | "(" sum ")"

A number is an integer or a decimal, exactly; nothing is evaluated as code. Texts come from
strangers, so length, nesting, degree, digits and the work of multiplying out are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import Malformed
from qreplace.exact.polynomial import (
    MAX_DEGREE,
    MAX_TERMS,
    Polynomial,
    Terms,
    constant,
    from_terms,
    variable,
)
from qreplace.exact.rational import MAX_DIGITS, format_rational, parse_rational

MAX_TEXT = 100_000
MAX_NESTING = 32
MAX_EXPANDED = 200_000
"""Products of terms formed while reading one text; those of long numbers count more."""
MAX_BITS = 13_287
"""Bits of a numerator or denominator: as many as every number of ``MAX_DIGITS`` digits has."""
_LONG = 256
"""Bits from which a product of numbers counts as more than one."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>\*\*|[-+*/^()]))"
)


def state_names(dimension: int) -> list[str]:
    """``t, z1 .. zn``: the names of the variables."""
    return ["t", *(f"z{i + 1}" for i in range(dimension))]


@dataclass(slots=True)
class Work:
    """Products that may still be formed: shared by several texts, it bounds them together."""

    left: int = MAX_EXPANDED


def parse_polynomial(text: str, names: Sequence[str], work: Work | None = None) -> Polynomial:
    """The polynomial that ``text`` denotes in the variables ``names``.

    Raises ``Malformed`` with the position for anything outside the grammar, for unknown names and
    for results beyond the size limits, or beyond what is left of ``work``.
    """
    if len(text) > MAX_TEXT:
        raise Malformed(
            f"needed a polynomial of at most {MAX_TEXT} characters, received {len(text)}"
        )
    return _Reader(text, {name: i for i, name in enumerate(names)}, work or Work()).whole()


def format_polynomial(polynomial: Polynomial, names: Sequence[str]) -> str:
    """A text that ``parse_polynomial`` reads back, terms in ascending degree."""
    pieces: list[str] = []
    for exponents, coefficient in zip(polynomial.exponents, polynomial.coefficients, strict=True):
        factors = [
            name if exponent == 1 else f"{name}^{exponent}"
            for name, exponent in zip(names, exponents, strict=True)
            if exponent
        ]
        size = format_rational(abs(coefficient))
        if size != "1" or not factors:
            factors.insert(0, size)
        sign = "-" if coefficient < 0 else "+"
        lead = "-" if sign == "-" else ""
        pieces.append(f" {sign} {'*'.join(factors)}" if pieces else f"{lead}{'*'.join(factors)}")
    return "".join(pieces) or "0"


class _Reader:
    def __init__(self, text: str, names: Mapping[str, int], work: Work) -> None:
        self.text = text
        self.names = names
        self.arity = len(names)
        self.position = 0
        self.depth = 0
        self.work = work
        self.spent = 0
        self.token = ""
        self.kind: str | None = None
        self.start = 0
        self._advance()

    def whole(self) -> Polynomial:
        result = self._sum()
        if self.kind is not None:
            raise self._fault("an operator or the end")
        return result

    # --- tokens ---------------------------------------------------------------------------------

    def _fault(self, wanted: str) -> Malformed:
        shown = f"{self.token[:20]!r}" if self.kind else "the end of the text"
        return Malformed(f"needed {wanted} at character {self.start + 1}, received {shown}")

    def _beyond(self, limit: str, received: str) -> Malformed:
        return Malformed(f"needed {limit}, received {received} at character {self.start + 1}")

    def _advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :].lstrip()
            self.start = len(self.text) - len(rest)
            if rest:
                self.token, self.kind = rest[:1], "other"
                raise self._fault("a number, a name or an operator")
            self.token, self.kind = "", None
            return
        self.kind = match.lastgroup
        self.token = match[self.kind or 0]
        self.start = match.end() - len(self.token)
        self.position = match.end()

    def _takes(self, *signs: str) -> str | None:
        if self.kind == "sign" and self.token in signs:
            taken = self.token
            self._advance()
            return taken
        return None

    def _number(self) -> Fraction:
        try:
            value = parse_rational(self.token)
        except Malformed as error:  # too many digits, or an exponent that is too large
            raise Malformed(f"{error.message}; at character {self.start + 1}") from None
        self._limit_digits(_bits((value,)))
        self._advance()
        return value

    # --- the grammar ----------------------------------------------------------------------------

    def _sum(self) -> Polynomial:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self._beyond(f"at most {MAX_NESTING} levels of parentheses", "more")
        sign = self._takes("+", "-")
        terms: Terms = {}
        self._add(terms, self._product(), sign)
        while (sign := self._takes("+", "-")) is not None:
            self._add(terms, self._product(), sign)
        self.depth -= 1
        return from_terms(terms)

    def _product(self) -> Polynomial:
        result = self._power()
        while (sign := self._takes("*", "/")) is not None:
            if sign == "*":
                result = self._times(result, self._power())
                continue
            if self.kind != "number":
                raise self._fault("a number to divide by")
            place = self.start
            divisor = self._number()
            if divisor == 0:
                raise Malformed(
                    f"needed a divisor that is not zero, received 0 at character {place + 1}"
                )
            result = self._times(result, constant(1 / divisor, self.arity))
        return result

    def _power(self) -> Polynomial:
        base = self._atom()
        if self._takes("^", "**") is None:
            return base
        if self.kind != "number" or not self.token.isdigit() or len(self.token) > 3:
            raise self._fault(f"a whole exponent of at most {MAX_DEGREE}")
        exponent = int(self.token)
        if exponent * max(base.degree, 1) > MAX_DEGREE:
            raise self._fault(f"an exponent that gives a degree of at most {MAX_DEGREE}")
        self._advance()
        if len(base.exponents) == 1:
            self._spend(1)
            self._limit_digits(exponent * _bits(base.coefficients))
            raised = tuple(exponent * part for part in base.exponents[0])
            return from_terms({raised: base.coefficients[0] ** exponent})
        result = constant(Fraction(1), self.arity)
        for _ in range(exponent):
            result = self._times(result, base)
        return result

    def _atom(self) -> Polynomial:
        if self.kind == "number":
            return constant(self._number(), self.arity)
        if self.kind == "name":
            if self.token not in self.names:
                raise self._fault(f"one of the names {_listed(list(self.names))}")
            index = self.names[self.token]
            self._advance()
            return variable(index, self.arity)
        if self._takes("(") is None:
            raise self._fault("a number, a name or an opening parenthesis")
        inner = self._sum()
        if self._takes(")") is None:
            raise self._fault("a closing parenthesis")
        return inner

    # --- bounded arithmetic ---------------------------------------------------------------------

    def _add(self, terms: Terms, other: Polynomial, sign: str | None) -> None:
        self._spend(len(other.exponents))
        for exponents, coefficient in zip(other.exponents, other.coefficients, strict=True):
            value = -coefficient if sign == "-" else coefficient
            if exponents in terms:
                value += terms[exponents]
                self._limit_digits(_bits((value,)))
            terms[exponents] = value
        if len(terms) > MAX_TERMS:
            raise self._beyond(f"at most {MAX_TERMS} terms", "more")

    def _times(self, one: Polynomial, other: Polynomial) -> Polynomial:
        bits = _bits(one.coefficients) + _bits(other.coefficients)
        self._limit_digits(bits)
        if len(one.exponents) > 1 and len(other.exponents) > 1:
            # Products of like terms are added up: their common denominator stays short too.
            self._limit_digits(self._common_bits(one) + self._common_bits(other))
        self._spend(len(one.exponents) * len(other.exponents) * (1 + bits // _LONG))
        if one.degree + other.degree > MAX_DEGREE:
            raise self._beyond(f"a degree of at most {MAX_DEGREE}", f"{one.degree + other.degree}")
        try:
            result = one * other
        except Malformed:
            raise self._beyond(f"at most {MAX_TERMS} terms", "more") from None
        self._limit_digits(_bits(result.coefficients))
        return result

    def _common_bits(self, polynomial: Polynomial) -> int:
        common = 1
        for coefficient in polynomial.coefficients:
            common = math.lcm(common, coefficient.denominator)
            self._limit_digits(common.bit_length())
        return common.bit_length()

    def _limit_digits(self, bits: int) -> None:
        if bits > MAX_BITS:
            raise self._beyond(f"coefficients of at most about {MAX_DIGITS} digits", "longer ones")

    def _spend(self, work: int) -> None:
        self.spent += work
        self.work.left -= work
        if self.spent > MAX_EXPANDED:
            raise self._beyond(f"at most {MAX_EXPANDED} products when multiplied out", "more")
        if self.work.left < 0:
            raise self._beyond("fewer products in all these polynomials together", "more")


def _bits(numbers: Sequence[Fraction]) -> int:
    """The length of the longest numerator or denominator."""
    return max((max(n.numerator.bit_length(), n.denominator.bit_length()) for n in numbers),
               default=0)  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"

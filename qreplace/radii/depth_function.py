"""Functions of depth that radii are made of: sums of monomials with growth factors.

A ``DepthSum`` knows its value at a depth, an enclosure over a range of depths, and its limit, all
outward rounded; at moderate depth also its exact rational value. Coefficients are nonnegative.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from qreplace.exact.fixed_point import enclose, exponential, power

Bounds = tuple[int, int | None]
"""Lower and upper end in units of ``2**-bits``; ``None`` is plus infinity."""

EXACT_BITS = 20_000
"""Exact values are formed while ``D`` times the bits of ``kappa`` stays below this."""

MAX_KNOWN = 50_000
"""Values that one function of depth remembers; a search comes back to the same depths."""

MAX_HALVINGS = 1 << 16
"""Bits of metadata beyond which a covering is not refined any further."""


@dataclass(frozen=True)
class EulerGrowth:
    """``S1(D) = h sum_{i<D} kappa^i``, ``kappa = 1 + h m``, ``h = T/D`` (theory, notation).

    Monotone in depth: increasing to ``Phi_m(T)`` for ``m >= 0``, decreasing to it for ``m < 0``.
    Needs ``1 + h m >= 0``.
    """

    rate: Fraction
    horizon: Fraction
    _known: dict[tuple[int | None, int], tuple[int, int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def over(self, first: int, last: int | None, bits: int) -> Bounds:
        """The enclosure over depths ``first..last``."""
        at_first = self._at(first, bits)
        if last == first:
            return at_first
        at_last = self._at(last, bits)
        return min(at_first[0], at_last[0]), max(at_first[1], at_last[1])

    def limit(self, bits: int) -> int:
        """An upper bound of the limit ``Phi_m(T)``."""
        return self._at(None, bits)[1]

    def exact(self, depth: int) -> Fraction | None:
        """The rational value, or ``None`` where it would be too long."""
        m, horizon = self.rate, self.horizon
        if m == 0:
            return horizon
        kappa = 1 + horizon * m / depth
        if depth * max(kappa.denominator.bit_length(), kappa.numerator.bit_length()) > EXACT_BITS:
            return None
        return (kappa**depth - 1) / m

    def _at(self, depth: int | None, bits: int) -> tuple[int, int]:
        key = depth, bits
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = _growth(self.rate, self.horizon, depth, bits)
        return found


@dataclass(frozen=True, slots=True)
class PrefixPower:
    """``max(1, kappa^(D-1))``; 1 for ``m <= 0``, increasing to at most ``e^{mT}`` for ``m > 0``."""

    rate: Fraction
    horizon: Fraction

    def over(self, first: int, last: int | None, bits: int) -> Bounds:
        """The enclosure over depths ``first..last``."""
        if self.rate <= 0:
            return 1 << bits, 1 << bits
        low, high = power(1 + self.horizon * self.rate / first, first - 1, bits)
        if last == first:
            return low, high
        if last is None:
            return low, self.limit(bits)
        # (1 + x/D)^(D-1) increases with D.
        return low, power(1 + self.horizon * self.rate / last, last - 1, bits)[1]

    def limit(self, bits: int) -> int:
        """An upper bound of the limit ``max(1, e^{mT})``."""
        return 1 << bits if self.rate <= 0 else exponential(self.rate * self.horizon, bits)[1]

    def exact(self, depth: int) -> Fraction | None:
        """The rational value, or ``None`` where it would be too long."""
        kappa = max(1 + self.horizon * self.rate / depth, Fraction(1))
        if depth * max(kappa.denominator.bit_length(), kappa.numerator.bit_length()) > EXACT_BITS:
            return None
        return Fraction(kappa ** (depth - 1))


Factor = EulerGrowth | PrefixPower


def _growth(m: Fraction, horizon: Fraction, depth: int | None, bits: int) -> tuple[int, int]:
    if m == 0:
        return enclose(horizon, bits)
    # Dividing by a small m magnifies the error of the power: carry as many more bits.
    extra = max(0, m.denominator.bit_length() - m.numerator.bit_length()) + 16
    guard = bits + extra
    if depth is None:
        low, high = exponential(m * horizon, guard)
    else:
        low, high = power(1 + horizon * m / depth, depth, guard)
    one = 1 << guard
    ends = [_divide(low - one, m, extra), _divide(high - one, m, extra)]
    return max(0, min(end[0] for end in ends)), max(end[1] for end in ends)


def _divide(value: int, m: Fraction, extra: int) -> tuple[int, int]:
    numerator = value * m.denominator
    denominator = m.numerator << extra
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return numerator // denominator, -(-numerator // denominator)


@dataclass(frozen=True, slots=True)
class Monomial:
    """``coefficient * D**power * product of factors``; a fractional power is negative."""

    coefficient: Fraction
    power: Fraction | int
    factors: tuple[Factor, ...] = ()

    def over(self, first: int, last: int | None, bits: int) -> Bounds:
        """The enclosure over depths ``first..last``."""
        low: int
        high: int | None
        low, high = _power_at(self.coefficient, self.power, first, bits)
        if last != first and self.power != 0:
            # Monotone in depth: the other end of the range gives the other end of the enclosure.
            far = None if last is None else _power_at(self.coefficient, self.power, last, bits)
            if self.power > 0:
                high = None if far is None else far[1]
            else:
                low = 0 if far is None else far[0]
        for factor in self.factors:
            factor_low, factor_high = factor.over(first, last, bits)
            low = low * factor_low >> bits
            high = None if high is None or factor_high is None else -(-high * factor_high >> bits)
        return low, high

    def exact(self, depth: int) -> Fraction | None:
        """The rational value, or ``None`` where it would be too long."""
        if self.power.denominator != 1:
            return None
        value = self.coefficient * Fraction(depth) ** int(self.power)
        for factor in self.factors:
            part = factor.exact(depth)
            if part is None:
                return None
            value *= part
        return value

    def limit(self, bits: int) -> int | None:
        """An upper bound of the limit superior; ``None`` is plus infinity."""
        if self.power < 0 or self.coefficient == 0:
            return 0
        if self.power > 0:
            return None
        value = enclose(self.coefficient, bits)[1]
        for factor in self.factors:
            value = -(-value * factor.limit(bits) >> bits)
        return value


def _power_at(c: Fraction, power: Fraction | int, depth: int, bits: int) -> tuple[int, int]:
    """``c * depth**power`` for ``c >= 0``, in integers: the innermost step of every search."""
    over, under = c.numerator << bits, c.denominator
    if type(power) is not int:
        return _root_power_at(over, under, Fraction(power), depth, bits)
    if power < 0:
        under *= depth**-power
    elif power > 0:
        over *= depth**power
    return over // under, -(-over // under)


def _root_power_at(
    over: int, under: int, power: Fraction, depth: int, bits: int
) -> tuple[int, int]:
    """``over / under / depth**(p/q)``: the root of ``depth**p`` is rounded both ways."""
    p, q = -power.numerator, power.denominator
    guard = bits + 32
    root = _integer_root_upper(depth**p << (q * guard), q)
    return (over << guard) // (under * root), -(-(over << guard) // (under * (root - 1)))


@dataclass(frozen=True, slots=True)
class DepthSum:
    """A sum of monomials."""

    terms: tuple[Monomial, ...]
    _known: dict[tuple[int, int], Bounds] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def at(self, depth: int, bits: int) -> Bounds:
        """The enclosure at one depth, remembered: searches and reports ask for it again."""
        key = depth, bits
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = self.over(depth, depth, bits)
        return found

    def over(self, first: int, last: int | None, bits: int) -> Bounds:
        """The enclosure over ``first..last``; ``last`` None is every depth from ``first``."""
        low, high = 0, 0
        infinite = False
        for term in self.terms:
            part_low, part_high = term.over(first, last, bits)
            low += part_low
            if part_high is None:
                infinite = True
            else:
                high += part_high
        return low, None if infinite else high

    @property
    def plain(self) -> bool:
        """Integer powers of depth only: exact values are short."""
        return all(not term.factors and term.power.denominator == 1 for term in self.terms)

    def exact(self, depth: int) -> Fraction | None:
        """The rational value, or ``None`` where it would be too long."""
        total = Fraction(0)
        for term in self.terms:
            value = term.exact(depth)
            if value is None:
                return None
            total += value
        return total

    def limit(self, bits: int) -> int | None:
        """An upper bound of the limit superior as depth grows; ``None`` is plus infinity."""
        total = 0
        for term in self.terms:
            part = term.limit(bits)
            if part is None:
                return None
            total += part
        return total

    def scaled(self, factor: Fraction) -> DepthSum:
        """The same function times a number that is not negative."""
        if factor == 0:
            return DepthSum(())
        return DepthSum(
            tuple(replace(term, coefficient=term.coefficient * factor) for term in self.terms)
        )

    def __add__(self, other: DepthSum) -> DepthSum:
        return DepthSum(self.terms + other.terms)

    def merged(self) -> DepthSum:
        """The same function with like monomials added up: fewer enclosures, less rounding."""
        groups: dict[tuple[Fraction | int, tuple[Factor, ...]], Fraction] = {}
        for term in self.terms:
            key = term.power, term.factors
            groups[key] = groups.get(key, Fraction(0)) + term.coefficient
        return DepthSum(
            tuple(Monomial(c, power, factors) for (power, factors), c in groups.items())
        )


ZERO = DepthSum(())


def monomial(coefficient: Fraction, power: Fraction | int = 0, *factors: Factor) -> DepthSum:
    """A one-term sum, simplified: factors that are constant in depth enter the coefficient."""
    varying = []
    for factor in factors:
        if isinstance(factor, EulerGrowth) and factor.rate == 0:
            coefficient *= factor.horizon
        elif isinstance(factor, EulerGrowth) or factor.rate > 0:
            varying.append(factor)
    if coefficient == 0:
        return ZERO
    whole = int(power) if power.denominator == 1 else power
    return DepthSum((Monomial(coefficient, whole, tuple(varying)),))


def exp_upper(x: Fraction, bits: int = 160) -> Fraction:
    """A dyadic upper bound of ``exp(x)``."""
    return Fraction(exponential(x, bits)[1], 1 << bits)


def phi_upper(rate: Fraction, horizon: Fraction, bits: int = 160) -> Fraction:
    """A dyadic upper bound of ``Phi_m(T) = (e^{mT} - 1)/m``."""
    return Fraction(_growth(rate, horizon, None, bits)[1], 1 << bits)


def exp2_upper(exponent: Fraction, bits: int = 160) -> Fraction:
    """A dyadic upper bound of ``2 ** -exponent`` for ``exponent >= 0``.

    Exact at integers up to ``MAX_HALVINGS``; beyond that it stays where it is.
    """
    whole, rest = divmod(min(exponent, Fraction(MAX_HALVINGS)), 1)
    if rest == 0:
        return Fraction(1, 1 << int(whole))
    low = _log2_lower(bits + 16)
    return Fraction(exponential(-rest * low, bits)[1], 1 << (bits + int(whole)))


@lru_cache(maxsize=8)
def _log2_lower(bits: int) -> Fraction:
    """A lower bound of ``ln 2 = 2 atanh(1/3) = sum_k 2 / ((2k+1) 3^(2k+1))``: a partial sum."""
    total = 0
    k = 0
    while True:
        term = (2 << bits) // ((2 * k + 1) * 3 ** (2 * k + 1))
        if term == 0:
            return Fraction(total, 1 << bits)
        total += term
        k += 1


def rational_power_upper(base: Fraction, exponent: Fraction, bits: int = 160) -> Fraction:
    """A dyadic upper bound of ``base ** exponent`` for positive base and exponent."""
    p, q = exponent.numerator, exponent.denominator
    value = base**p
    scaled = (value.numerator << (q * bits)) // value.denominator + 1
    return Fraction(_integer_root_upper(scaled, q), 1 << bits)


def _integer_root_upper(value: int, degree: int) -> int:
    """The smallest integer whose ``degree``-th power is at least ``value``: Newton from above."""
    if value <= 1:
        return value
    root = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if better >= root:
            return root if root**degree >= value else root + 1
        root = better

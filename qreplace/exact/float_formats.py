"""Floating formats as tables of exact rationals: bf16, fp16, fp8, fp6, fp4 (theory T4.12).

A format is its list of values; rounding to it is rounding of a quotient by the gap at that
magnitude, in whole numbers. Zero has two codes where a format is signed, and one value.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import InputError
from qreplace.exact.rounding import Rounding, round_quotient

MAX_LISTED_BITS = 16
"""Formats up to this width can list their codes."""


class NonFinite(enum.Enum):
    """What a code may hold besides a number."""

    INFINITY = "infinity"
    MINUS_INFINITY = "-infinity"
    NAN = "nan"


Value = Fraction | NonFinite
OnFloatOverflow = Literal["infinity", "nan", "saturate"]


def floor_log2(size: Fraction) -> int:
    """The exponent e with ``2^e <= size < 2^(e + 1)``; ``size`` is positive."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return exponent if power_of_two(exponent) <= size else exponent - 1


def power_of_two(exponent: int) -> Fraction:
    """``2^exponent``, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating format.

    A code is sign, exponent and fraction, from the highest bit; the value of a normal one is
    ``+-1.fraction * 2^(exponent - bias)``, exponent 0 is subnormal. ``special`` says which codes
    are no numbers: ``ieee`` (largest exponent: infinity where the fraction is 0, else NaN),
    ``last`` (exponent and fraction all ones: NaN) or ``none``.
    """

    name: str
    exponent_bits: int
    precision: int
    """p, the bits of the significand with the hidden one."""
    bias: int
    special: Literal["ieee", "last", "none"]
    overflow_up: OnFloatOverflow
    """What becomes of a number that rounds beyond the largest finite one."""
    overflow_down: OnFloatOverflow
    """The same below the smallest negative one."""
    signed: bool = True
    subnormals: bool = True
    """Whether exponent 0 holds zero and subnormals; else it is one more normal exponent."""

    @property
    def bits(self) -> int:
        """The width of a code."""
        return self.signed + self.exponent_bits + self.precision - 1

    @property
    def has_infinity(self) -> bool:
        """Whether infinities have codes."""
        return self.special == "ieee"

    @property
    def smallest_exponent(self) -> int:
        """Of the smallest normal number."""
        return self.subnormals - self.bias

    @property
    def largest_exponent(self) -> int:
        """Of the largest finite number: emax."""
        whole_exponent_lost = self.special == "ieee" or (
            self.special == "last" and self.precision == 1
        )
        return (1 << self.exponent_bits) - 1 - whole_exponent_lost - self.bias

    @property
    def largest(self) -> Fraction:
        """The largest finite number."""
        significand = (1 << self.precision) - 1
        if self.special == "last" and self.precision > 1:
            significand -= 1
        return significand * power_of_two(self.largest_exponent - self.precision + 1)

    @property
    def smallest_normal(self) -> Fraction:
        """The smallest positive normal number."""
        return power_of_two(self.smallest_exponent)

    @property
    def smallest(self) -> Fraction:
        """The smallest positive number: subnormal where there are any."""
        if not self.subnormals:
            return self.smallest_normal
        return power_of_two(self.smallest_exponent - self.precision + 1)

    def codes(self) -> range:
        """Every code; raises ``InputError`` for formats of more than 16 bits."""
        if self.bits > MAX_LISTED_BITS:
            raise InputError(f"the codes of {self.name} are too many to list")
        return range(1 << self.bits)

    def values(self) -> tuple[Fraction, ...]:
        """The finite values, ascending, zero once; as ``codes``."""
        return _values(self)

    def decode(self, code: int) -> Value:
        """What a code holds; both zeros are 0."""
        if not 0 <= code < 1 << self.bits:
            raise InputError(f"{code} is no code of {self.name}; it has {self.bits} bits")
        sign, magnitude = divmod(code, 1 << (self.bits - self.signed))
        exponent, fraction = divmod(magnitude, 1 << (self.precision - 1))
        last_fraction = (1 << (self.precision - 1)) - 1
        if exponent == (1 << self.exponent_bits) - 1:
            if self.special == "ieee" and fraction == 0:
                return NonFinite.MINUS_INFINITY if sign else NonFinite.INFINITY
            if self.special == "ieee" or (self.special == "last" and fraction == last_fraction):
                return NonFinite.NAN
        normal = exponent > 0 or not self.subnormals
        significand = fraction + (normal << (self.precision - 1))
        scale = (exponent if normal else 1) - self.bias - self.precision + 1
        value = significand * power_of_two(scale)
        return -value if sign else value

    def encode(self, value: Fraction, rounding: Rounding = "nearest_even", draw: int = 0) -> int:
        """The code that ``value`` is rounded to; a negative one that vanishes keeps its sign."""
        return self.code_of(self.round(value, rounding, draw), negative=value < 0)

    def code_of(self, value: Value, *, negative: bool = False) -> int:
        """The code of a value of this format; ``negative`` picks the second zero and the NaN.

        Raises ``InputError`` for a number that the format does not hold.
        """
        top = 1 << (self.bits - 1)
        if isinstance(value, NonFinite):
            return self._code_of_special(value, negative)
        if not self.holds(value):
            raise InputError(f"{value} is no value of {self.name}")
        size = abs(value)
        if value == 0:
            return top if negative and self.signed else 0
        exponent = max(floor_log2(size), self.smallest_exponent)
        significand = int(size / power_of_two(exponent - self.precision + 1))
        normal = significand >> (self.precision - 1)
        field = (exponent + self.bias if normal else 0) << (self.precision - 1)
        fraction = significand - (normal << (self.precision - 1))
        return field + fraction + (top if value < 0 else 0)

    def _code_of_special(self, value: NonFinite, negative: bool) -> int:
        if self.special == "none" or (value is not NonFinite.NAN and not self.has_infinity):
            raise InputError(f"{self.name} has no code for {value.value}")
        below = value is NonFinite.MINUS_INFINITY or (value is NonFinite.NAN and negative)
        top = (1 << (self.bits - 1)) if below and self.signed else 0
        exponent = ((1 << self.exponent_bits) - 1) << (self.precision - 1)
        if value is not NonFinite.NAN:
            return top + exponent
        if self.special == "last":
            return top + exponent + (1 << (self.precision - 1)) - 1
        return top + exponent + (1 << (self.precision - 2))  # the quiet one

    def holds(self, value: Fraction) -> bool:
        """Whether a number is one of the format's finite values."""
        if abs(value) > self.largest or (value < 0 and not self.signed):
            return False
        if value == 0 or not self.subnormals:
            return self.subnormals if value == 0 else self.round(value) == value
        return (value / self.gap(value)).denominator == 1

    def gap(self, value: Fraction) -> Fraction:
        """The distance of neighbouring values at this magnitude, upward at a power of two."""
        exponent = floor_log2(abs(value)) if value else self.smallest_exponent
        return power_of_two(max(exponent, self.smallest_exponent) - self.precision + 1)

    def half_gap(self, value: Fraction) -> Fraction:
        """Theory T4.12: ``2^(floor(log2 |x|) - p)``, below the normal numbers the subnormal one.

        Nearest rounding of a number up to that magnitude, within the finite range, loses no more.
        """
        return self.gap(value) / 2

    def write_back_radius(
        self, magnitude: Fraction, rounding: Rounding = "nearest_even"
    ) -> Fraction:
        """The largest rounding error of numbers up to a magnitude (theory T4.12).

        Half the gap there to nearest, else the gap. Raises ``InputError`` beyond the finite range.
        """
        if not 0 <= magnitude <= self.largest:
            raise InputError(
                f"{self.name} holds magnitudes up to {self.largest}; needed room for {magnitude}"
            )
        return self.gap(magnitude) / (2 if rounding.startswith("nearest") else 1)

    def freezes_below(self, value: Fraction, sign: int) -> Fraction:
        """What nearest rounding surely ignores at a value of the format (theory T4.4, T4.12).

        ``round(value + increment) == value`` for every tie rule, where the increment has this sign
        and is smaller than the answer: half the gap on that side. Towards zero from a power of two
        it is a quarter of the gap above. Raises ``InputError`` for what is no value.
        """
        if sign not in (-1, 1):
            raise InputError("a direction is 1 or -1")
        if not self.holds(value):
            raise InputError(f"{value} is no value of {self.name}")
        size = abs(value)
        inward = size > self.smallest_normal and (value > 0) != (sign > 0)
        power = size.numerator & (size.numerator - 1) == 0
        return self.half_gap(value) / (2 if inward and power else 1)

    def round(self, value: Fraction, rounding: Rounding = "nearest_even", draw: int = 0) -> Value:
        """The value of the format that ``value`` is rounded to.

        Ties to even mean an even significand. What rounds beyond the largest finite number, with
        the exponent unlimited, overflows as declared; rounding toward zero never does, nor does
        ``floor`` above. ``draw`` is the random 64-bit number of stochastic rounding.
        """
        if not self.subnormals and value < self.smallest:
            # A scale: there is no zero, and no sign.
            return self.smallest if value > 0 else NonFinite.NAN
        gap = self.gap(value)
        quotient = value / gap
        code = round_quotient(quotient.numerator, quotient.denominator, rounding, draw)
        rounded = code * gap
        if abs(rounded) <= self.largest:
            return rounded
        above = rounded > 0
        if rounding == "toward_zero" or (rounding == "floor" and above):
            return self.largest if above else -self.largest
        match self.overflow_up if above else self.overflow_down:
            case "saturate":
                return self.largest if above else -self.largest
            case "nan":
                return NonFinite.NAN
        return NonFinite.INFINITY if above else NonFinite.MINUS_INFINITY


@functools.cache
def _values(own: FloatFormat) -> tuple[Fraction, ...]:
    # Codes without a sign ascend with their values.
    half = own.codes()[: 1 << (own.bits - own.signed)]
    decoded = map(own.decode, half)
    upper = [value for value in decoded if isinstance(value, Fraction)]
    lower = [-value for value in reversed(upper) if value] if own.signed else []
    return (*lower, *upper)


def _ieee(name: str, exponent_bits: int, precision: int) -> FloatFormat:
    bias = (1 << (exponent_bits - 1)) - 1
    return FloatFormat(name, exponent_bits, precision, bias, "ieee", "infinity", "infinity")


def _finite(name: str, exponent_bits: int, precision: int) -> FloatFormat:
    bias = (1 << (exponent_bits - 1)) - 1
    return FloatFormat(name, exponent_bits, precision, bias, "none", "saturate", "saturate")


FORMATS: dict[str, FloatFormat] = {
    own.name: own
    for own in (
        _ieee("bf16", 8, 8),
        _ieee("fp16", 5, 11),
        _ieee("fp32", 8, 24),
        FloatFormat("e4m3", 4, 4, 7, "last", "nan", "nan"),
        _ieee("e5m2", 5, 3),
        _finite("e3m2", 3, 3),
        _finite("e2m3", 2, 4),
        _finite("e2m1", 2, 2),
        FloatFormat("e8m0", 8, 1, 127, "last", "nan", "nan", signed=False, subnormals=False),
    )
}
"""By name. ``e4m3`` is the finite one with NaN (OCP, ``float8_e4m3fn``), ``e8m0`` holds scales."""

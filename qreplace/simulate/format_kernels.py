"""Compiled rounding of binary64 numbers to floating formats; bit for bit what ``exact`` does.

The rational value of a binary64 number is a significand times a power of two, so rounding it is a
shift of whole numbers: nothing here is rounded twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from qreplace.exact.float_formats import FloatFormat
from qreplace.exact.rounding import ROUNDINGS, Rounding
from qreplace.simulate.draws import MASK
from qreplace.simulate.draws_kernels import draw
from qreplace.simulate.rounding_kernels import FLOOR, NEAREST_AWAY, STOCHASTIC, TOWARD_ZERO

OVERFLOWS = {"infinity": math.inf, "nan": math.nan}
_ONE = np.uint64(1)


def round_values(
    values: Any, own: FloatFormat, rounding: Rounding, seed: int, step: int, channel: int
) -> Any:
    """Finite binary64 numbers, (n,), rounded to a format; infinities and NaN where it overflows.

    A number that vanishes keeps its sign. Number i takes the draw of ``(seed, step, channel + i)``.
    """
    rounded = np.empty(len(values))
    largest = float(own.largest)
    _round_values(
        np.ascontiguousarray(values, dtype=np.float64).view(np.uint64),
        own.precision,
        own.smallest_exponent,
        largest,
        OVERFLOWS.get(own.overflow_up, largest),
        -OVERFLOWS.get(own.overflow_down, largest),
        ROUNDINGS.index(rounding),
        np.uint64(seed & MASK),
        np.uint64(step & MASK),
        channel,
        rounded,
    )
    return rounded


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _round_values(
    bits: Any, precision: int, smallest_exponent: int, largest: float, above: float, below: float,
    mode: int, seed: Any, step: Any, channel: int, rounded: Any,
) -> None:  # fmt: skip
    for i in range(len(bits)):
        negative = bits[i] >> np.uint64(63) != 0
        field: Any = np.int64((bits[i] >> np.uint64(52)) & np.uint64(0x7FF))
        significand = bits[i] & np.uint64((1 << 52) - 1)
        if field > 0:
            significand |= np.uint64(1 << 52)
        # The value is significand * 2^(scale - 52); subnormal binary64 numbers have the scale of
        # the smallest normal ones, far below every format here.
        scale = (field if field > 0 else 1) - 1023
        quantum = (scale if scale > smallest_exponent else smallest_exponent) - precision + 1
        shift = quantum - scale + 52  # at least 29: a format has at most 24 bits
        chosen = np.uint64(0)
        if mode == STOCHASTIC:
            chosen = draw(seed, step, np.uint64(channel + i))
        code = _shifted(significand, shift, negative, mode, chosen)
        value = math.ldexp(float(code), quantum)
        if value > largest:
            if mode == TOWARD_ZERO or (mode == FLOOR and not negative):
                value = largest
            else:
                rounded[i] = below if negative else above
                continue
        rounded[i] = -value if negative else value


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _shifted(significand: Any, shift: int, negative: bool, mode: int, chosen: Any) -> Any:
    """The magnitude of ``+-significand / 2^shift`` rounded; see ``rounding.round_quotient``."""
    short = shift < 64
    quotient = significand >> np.uint64(shift) if short else np.uint64(0)
    rest = significand - (quotient << np.uint64(shift)) if short else significand
    if rest == 0 or mode == TOWARD_ZERO:
        return quotient
    if mode == FLOOR:
        return quotient + _ONE if negative else quotient
    if mode == STOCHASTIC:
        return quotient + _ONE if _away(rest, shift, negative, chosen) else quotient
    if shift > 54:
        return quotient  # the significand has 53 bits: below half
    half = _ONE << np.uint64(shift - 1)
    if rest > half or (rest == half and (mode == NEAREST_AWAY or quotient & _ONE != 0)):
        return quotient + _ONE
    return quotient


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def _away(rest: Any, shift: int, negative: bool, chosen: Any) -> bool:
    """Whether a stochastic rounding goes away from zero; ``0 < rest < 2^shift``.

    Upward when ``floor(chosen 2^shift / 2^64)`` is below the distance from the whole number below:
    that is ``rest``, or ``2^shift - rest`` for a negative number, where upward is towards zero.
    """
    if shift < 64:
        share = chosen >> np.uint64(64 - shift)
        if negative:
            return not share < (_ONE << np.uint64(shift)) - rest
        return bool(share < rest)
    # chosen 2^j < rest for a rest of 53 bits, or, negative, rest < (2^64 - chosen) 2^j.
    j = min(shift - 64, 63)
    whole = rest >> np.uint64(j)
    if negative:
        return not whole <= ~chosen
    return bool(chosen < whole or (chosen == whole and rest != whole << np.uint64(j)))

"""The compiled twin of ``draws``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from qreplace.simulate.draws import FIRST, GOLDEN, SECOND

_GOLDEN, _FIRST, _SECOND = np.uint64(GOLDEN), np.uint64(FIRST), np.uint64(SECOND)
_LOW, _32 = np.uint64((1 << 32) - 1), np.uint64(32)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def mix(value: Any) -> Any:
    """See ``draws.mix``; unsigned arithmetic wraps by itself."""
    value = value + _GOLDEN
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def draw(seed: Any, step: Any, channel: Any) -> Any:
    """See ``draws.draw``; all three arguments and the result are ``uint64``."""
    return mix(mix(mix(seed) ^ step) ^ channel)


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator, unused-ignore]
def high_word(one: Any, other: Any) -> Any:
    """The upper 64 bits of a product of two ``uint64``."""
    low, high = one & _LOW, one >> _32
    low_other, high_other = other & _LOW, other >> _32
    middle = high * low_other + ((low * low_other) >> _32)
    carried = low * high_other + (middle & _LOW)
    return high * high_other + (middle >> _32) + (carried >> _32)

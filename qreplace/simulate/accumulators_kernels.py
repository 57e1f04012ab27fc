"""Compiled matrix-vector products in declared registers; bit for bit ``accumulators.dot``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

DETECT, SATURATE = 0, 1
VALUE, LOW, HIGH, OVERFLOWS, TILE_LOW, TILE_HIGH = 0, 1, 2, 3, 4, 5


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fit(code: int, limits: tuple[int, int], mode: int) -> int:
    """What a register holds of a code that is too large for it."""
    low, high = limits
    if mode == SATURATE:
        return low if code < low else high
    return ((code - low) & (high - low)) + low  # the width's ones, for widths below 64


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def add_rows(
    weights: Any, x: Any, outer: tuple[int, int], inner: tuple[int, int], pair: tuple[int, int],
    mode: int, tile: int, pairwise: bool, found: Any,
) -> int:  # fmt: skip
    """Fill ``found`` (m, 6) with the fields of ``Accumulated``; the row that failed, or -1.

    Sums of absolute products stay below 2**62, so nothing here leaves 64 bits.
    """
    width = 2 if pairwise else 1
    for row in range(weights.shape[0]):
        value: Any = np.int64(0)
        held: Any = np.int64(0)
        low, high, tile_low, tile_high = value, value, value, value
        overflows = 0
        in_tile = 0
        for start in range(0, x.shape[0], width):
            term = weights[row, start] * x[start]
            if pairwise:
                if start + 1 < x.shape[0]:
                    term += weights[row, start + 1] * x[start + 1]
                if term < pair[0] or term > pair[1]:
                    term = _fit(term, pair, SATURATE)
                    overflows += 1
            if tile > 0:
                held += term
                tile_low, tile_high = min(tile_low, held), max(tile_high, held)
                if held < inner[0] or held > inner[1]:
                    if mode == DETECT:
                        return row
                    held = _fit(held, inner, mode)
                    overflows += 1
                in_tile += 1
                if in_tile < tile and start + width < x.shape[0]:
                    continue
                term, held, in_tile = held, np.int64(0), 0
            value += term
            low, high = min(low, value), max(high, value)
            if value < outer[0] or value > outer[1]:
                if mode == DETECT:
                    return row
                value = _fit(value, outer, mode)
                overflows += 1
        found[row, VALUE], found[row, LOW], found[row, HIGH] = value, low, high
        found[row, OVERFLOWS], found[row, TILE_LOW] = overflows, tile_low
        found[row, TILE_HIGH] = tile_high
    return -1

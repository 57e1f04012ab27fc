"""Rounding of binary64 arrays to block formats; bit for bit what ``exact.block_formats`` does.

Scales of MX blocks are powers of two, so elements are those of ``format_kernels``. Other scales
have at most 28 bits: an element's thresholds times such a scale are binary64 numbers, and comparing
them is exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from qreplace.exact.block_formats import BlockFormat
from qreplace.exact.rounding import Rounding
from qreplace.simulate.draws import draw
from qreplace.simulate.format_kernels import round_values


class StoredBlocks(NamedTuple):
    """An array as blocks store it."""

    values: Any
    """(n,) binary64, exact."""
    scales: Any
    """(n,): the scale of each value's block, the tensor's included; exact."""
    saturated: Any
    """(n,) bool: beyond the largest element."""


def round_blocks(
    values: Any, own: BlockFormat, rounding: Rounding, seed: int, step: int, channel: int
) -> StoredBlocks:
    """Finite binary64 numbers, (n,), in blocks of consecutive ones; the last may be shorter.

    The tensor's scale, where there is one, is that of the whole array's largest magnitude.
    """
    sizes = np.abs(values)
    starts = np.arange(0, len(values), own.size)
    largest = np.maximum.reduceat(sizes, starts)
    per_block = _powers(largest, own) if not own.scale.subnormals else _scales(largest, own)
    scales = np.repeat(per_block, own.size)[: len(values)]
    saturated = sizes > scales * float(own.element.largest)
    if not own.scale.subnormals:
        rounded = _power_scaled(values, scales, own, rounding, (seed, step, channel))
    elif rounding == "stochastic":
        rounded = _plain(values, own, (seed, step, channel))
    else:
        rounded = _thresholded(values, scales, own, rounding)
    return StoredBlocks(rounded, scales, saturated)


def _powers(largest: Any, own: BlockFormat) -> Any:
    """OCP scales of blocks by their largest magnitudes."""
    exponents = np.frexp(largest)[1] - 1 - own.element.largest_exponent
    limit = own.scale.largest_exponent
    return np.where(
        largest == 0,
        float(own.scale.smallest),
        np.ldexp(1.0, np.clip(exponents, own.scale.smallest_exponent, limit)),
    )


def _scales(largest: Any, own: BlockFormat) -> Any:
    """Rounded scales, one exact number a block."""
    tensor = own.tensor_scale_of(Fraction(float(largest.max())))
    return np.array([float(own.scale_of(Fraction(float(x)), tensor) * tensor) for x in largest])


def _power_scaled(
    values: Any, scales: Any, own: BlockFormat, rounding: Rounding, source: tuple[int, int, int]
) -> Any:
    wanted = values / scales
    # Below the subnormal binary64 numbers only the sign still matters.
    lost = (wanted == 0) & (values != 0)
    wanted = np.where(lost, np.copysign(5e-324, values), wanted)
    elements = round_values(wanted, own.element, rounding, *source)
    clipped = np.copysign(float(own.element.largest), values)
    return np.where(np.isfinite(elements), elements, clipped) * scales


def _thresholded(values: Any, scales: Any, own: BlockFormat, rounding: Rounding) -> Any:
    """Nearest, towards zero or down, by where a magnitude lies among the scaled elements."""
    grid = np.array([float(value) for value in own.element.values() if value >= 0])
    sizes, negative = np.abs(values), np.signbit(values)
    nearest = rounding.startswith("nearest")
    steps = (grid[1:] + grid[:-1]) / 2 if nearest else grid[1:]
    index = np.zeros(len(values), dtype=np.int64)
    for i, step in enumerate(steps):
        edge = step * scales
        if rounding == "nearest_even":
            index += (sizes >= edge) if i & 1 else (sizes > edge)  # to the even code
        else:
            index += sizes >= edge
    if rounding == "floor":
        index += negative & (sizes > grid[index] * scales)
    rounded = grid[np.minimum(index, len(grid) - 1)] * scales
    return np.copysign(np.where(scales > 0, rounded, 0.0), values)


def _plain(values: Any, own: BlockFormat, source: tuple[int, int, int]) -> Any:
    """Stochastic rounding with scales that are no powers of two: in rationals."""
    seed, step, channel = source
    exact = [Fraction(float(x)) for x in values]
    tensor = own.tensor_scale_of(max(map(abs, exact)))
    found: list[float] = []
    for start in range(0, len(exact), own.size):
        part = exact[start : start + own.size]
        draws = [draw(seed, step, channel + start + i) for i in range(len(part))]
        stored = own.quantize(part, "stochastic", draws, tensor)
        found += [float(value) for value in stored.values]
    return np.copysign(np.array(found), values)

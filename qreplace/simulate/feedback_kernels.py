"""Compiled error feedback of constant increments: whole numbers held in binary64, lanes in blocks.

Binary64 holds every whole number below 2^53, and the processor divides, rounds and multiplies four
or eight of them at once; integers of 64 bits it divides one by one. ``feedback`` proves that the
rounding is exact below its bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

LANES = 512
"""Lanes of a block: its residuals, states and codes stay in the first cache over all steps."""


@njit(cache=True, error_model="numpy")
def run(
    codes: Any, schedule: Any, ratio: float, states: Any, residuals: Any
) -> None:  # pragma: no cover - compiled
    """``p = c + r``, ``q = rint(p / m)``, ``z += q``, ``r = p - m q`` on every lane, in place.

    ``codes`` has shape (J, q) and ``schedule`` is (D,); states and residuals have q lanes. All but
    the schedule are binary64.
    """
    width = states.shape[0]
    for first in range(0, width, LANES):
        last = min(width, first + LANES)
        state, residual = states[first:last], residuals[first:last]
        for step in range(schedule.shape[0]):
            row = codes[schedule[step], first:last]
            for lane in range(state.shape[0]):
                whole = row[lane] + residual[lane]
                moved = np.rint(whole / ratio)
                state[lane] += moved
                residual[lane] = whole - ratio * moved

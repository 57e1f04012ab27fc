"""The compiled twin of ``exact.rounding.round_quotient``, for every kernel that rounds codes."""

from __future__ import annotations

from typing import Any

from numba import njit  # type: ignore[import-untyped, unused-ignore]

NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO, FLOOR, STOCHASTIC = 0, 1, 2, 3, 4
"""The order of ``model.ROUNDINGS``."""


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def quotient(p: Any, m: Any, rounding: int) -> Any:
    """``p / m`` rounded to a whole number; every mode but the stochastic one."""
    below = p // m
    rest = p - below * m
    if rest == 0 or rounding == FLOOR:
        return below
    if rounding == TOWARD_ZERO:
        return below + (1 if p < 0 else 0)
    if 2 * rest != m:
        return below + (1 if 2 * rest > m else 0)
    if rounding == NEAREST_EVEN:
        return below + (below & 1)
    return below + (1 if p > 0 else 0)

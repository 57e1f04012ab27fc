"""Rounding of exact quotients to whole numbers, in every mode that a register declares."""

from __future__ import annotations

from typing import Literal

Rounding = Literal["nearest_even", "nearest_away", "toward_zero", "floor", "stochastic"]
ROUNDINGS: tuple[Rounding, ...] = (
    "nearest_even", "nearest_away", "toward_zero", "floor", "stochastic",
)  # fmt: skip


def round_quotient(numerator: int, divisor: int, rounding: Rounding, draw: int = 0) -> int:
    """``numerator / divisor`` as a whole number; ``divisor`` is positive.

    Within half a unit for the nearest modes, within one unit for the others. ``stochastic`` rounds
    up when ``draw / 2**64``, a uniform 64-bit number's, is below the remainder's share: the answer
    is that of the quotient, however it is written.
    """
    below, rest = divmod(numerator, divisor)
    if rest == 0 or rounding == "floor":
        return below
    if rounding == "toward_zero":
        return below + (numerator < 0)
    if rounding == "stochastic":
        return below + ((draw * divisor) >> 64 < rest)
    if 2 * rest != divisor:
        return below + (2 * rest > divisor)
    if rounding == "nearest_even":
        return below + (below & 1)
    return below + (numerator > 0)

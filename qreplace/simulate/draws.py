"""Counter-based random draws: the same for Python and Numba, on every machine.

A draw depends on the seed, the step and the channel only, so runs can be split or repeated at will.
The mixing function is that of splitmix64.
"""

from __future__ import annotations

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB


def mix(value: int) -> int:
    """The finalizer of splitmix64: a bijection of 64-bit numbers that scatters them."""
    value = (value + GOLDEN) & MASK
    value = ((value ^ (value >> 30)) * FIRST) & MASK
    value = ((value ^ (value >> 27)) * SECOND) & MASK
    return value ^ (value >> 31)


def draw(seed: int, step: int, channel: int) -> int:
    """A uniform 64-bit number for one rounding."""
    return mix(mix(mix(seed & MASK) ^ step) ^ channel)

"""Declared costs of a candidate (theory T11.4): proxies, not measurements."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from qreplace.question.model import Question

LOG2_BITS = 32


@lru_cache(maxsize=1024)
def log2_upper(count: int) -> Fraction:
    """``log2 count`` rounded up to a multiple of ``2**-LOG2_BITS``; exact for powers of two."""
    whole = count.bit_length() - 1
    if count == 1 << whole:
        return Fraction(whole)
    guard = 96
    mantissa = -(-(count << guard) >> whole)
    fraction = 0
    for _ in range(LOG2_BITS):
        mantissa = -(-mantissa * mantissa >> guard)
        fraction <<= 1
        if mantissa >= 2 << guard:
            fraction |= 1
            mantissa = -(-mantissa >> 1)
    return whole + Fraction(fraction + 1, 1 << LOG2_BITS)


def cost(question: Question, depth: int, bits: int) -> Fraction:
    """``codebook + metadata_bit s + schedule_bit D log2 J + step D``."""
    weights = question.costs
    schedule = depth * log2_upper(question.dictionary_for(bits).atom_count)
    return (
        weights.codebook
        + weights.metadata_bit * bits
        + weights.schedule_bit * schedule
        + weights.step * depth
    )

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


class Prices:
    """``codebook + metadata_bit s + schedule_bit D log2 J + step D`` at each candidate."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._a_step: dict[int, Fraction] = {}

    def at(self, depth: int, bits: int) -> Fraction:
        """The declared cost of a candidate."""
        weights = self._question.costs
        return weights.codebook + weights.metadata_bit * bits + self._step(bits) * depth

    def _step(self, bits: int) -> Fraction:
        """What one more step costs with the dictionary that runs at ``bits`` metadata bits."""
        atoms = self._question.dictionary_for(bits).atom_count
        if atoms not in self._a_step:
            weights = self._question.costs
            self._a_step[atoms] = weights.schedule_bit * log2_upper(atoms) + weights.step
        return self._a_step[atoms]

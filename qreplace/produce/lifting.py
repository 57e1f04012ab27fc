"""Exact solutions of integer systems by numeric lifting (Wan's numeric-symbolic method).

A floating-point inverse yields the leading bits of the solution of ``M x = b``; the residual is an
exact integer vector, so the next bits follow from the same inverse, step after step, until a
rational with the solution's denominator is determined. One inverse serves a system and its
transpose. All products stay below ``2**53``, where float64 matrix products are exact; a matrix too
large or too ill conditioned for that is left to python-flint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.produce.linear_program import Floats

EXACT_LIMIT = 2.0**52
MIN_BITS_PER_STEP = 8
MIN_SIZE = 48
"""Below this size python-flint is as fast."""


@dataclass(frozen=True)
class ExactVector:
    """``numerators / denominator`` with one positive common denominator."""

    numerators: list[int]
    denominator: int


class NumericLifting:
    """A square integer matrix with its float inverse.

    Raises ``ProducerFailed`` when the lifting would not be exact; nothing here is relied on by a
    checker.
    """

    def __init__(self, matrix: list[list[int]]) -> None:
        self.size = len(matrix)
        largest = max(max(map(abs, row)) for row in matrix)
        if largest * self.size >= 1 << 30:
            raise ProducerFailed("the entries are too large to lift in floats")
        self.matrix: Floats = np.array(matrix, dtype=np.float64)
        try:
            self.inverse: Floats = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ProducerFailed("the basis is singular") from None
        if not np.all(np.isfinite(self.inverse)):
            raise ProducerFailed("the basis is singular in floats")
        squares = (self.matrix * self.matrix).sum(axis=1)
        # Hadamard: the determinant, and so every denominator, stays below this many bits.
        self.determinant_bits = int(0.5 * float(np.log2(np.maximum(squares, 1.0)).sum())) + 8

    def solve(self, rhs: list[int]) -> ExactVector:
        """``M x = rhs``."""
        return self._lift(self.matrix, self.inverse, rhs)

    def solve_transposed(self, rhs: list[int]) -> ExactVector:
        """``M^T x = rhs``."""
        return self._lift(self.matrix.T.copy(), self.inverse.T.copy(), rhs)

    def _lift(self, matrix: Floats, inverse: Floats, rhs: list[int]) -> ExactVector:
        if max(map(abs, rhs), default=0) >= EXACT_LIMIT:
            raise ProducerFailed("the right-hand side is too large to lift in floats")
        norm = float(np.abs(matrix).sum(axis=1).max())
        gain = float(np.sqrt((inverse * inverse).sum(axis=1)).max())
        size_rhs = float(max(map(abs, rhs), default=0))
        # After the first step a residual is a rounding error seen through the matrix.
        typical = max(2.0 * float(np.sqrt((matrix * matrix).sum(axis=1).max())), size_rhs)
        room = EXACT_LIMIT / max(4.0 * norm * gain * typical, 1.0)
        step = math.floor(math.log2(room)) if room >= 1 else 0
        if step < MIN_BITS_PER_STEP:
            raise ProducerFailed("the basis is too ill conditioned to lift in floats")
        scale = float(1 << step)
        residual = np.array(rhs, dtype=np.float64)
        magnitude = math.ceil(math.log2(max(gain * typical * self.size, 1.0)))
        steps = -(-(2 * self.determinant_bits + magnitude + 64) // step)
        digits = np.empty((steps, self.size), dtype=np.int64)
        for k in range(steps):
            rounded = np.rint(inverse @ residual * scale)
            digits[k] = rounded
            residual = residual * scale - matrix @ rounded
            if max(float(np.abs(rounded).max()) * norm, float(np.abs(residual).max()) * scale) > (
                EXACT_LIMIT
            ):
                raise ProducerFailed("a lifting step left the exact range of floats")
        values = _join(digits, step)
        return _reconstruct(values, step * steps, self.determinant_bits)


def _join(digits: NDArray[np.int64], step: int) -> list[int]:
    """``sum_k digits[k] 2**(step (K - 1 - k))`` entry by entry, by halves."""
    width = step
    largest = int(np.abs(digits).max())
    if largest.bit_length() + step < 62:
        # Pairs still fit a machine word: the first halving is NumPy's.
        if len(digits) % 2:
            digits = np.vstack([np.zeros_like(digits[:1]), digits])
        digits = (digits[::2] << step) + digits[1::2]
        width *= 2
    rows = digits.tolist()
    while len(rows) > 1:
        if len(rows) % 2:
            rows.insert(0, [0] * len(rows[0]))
        rows = [
            [(high << width) + low for high, low in zip(upper, lower, strict=True)]
            for upper, lower in zip(rows[::2], rows[1::2], strict=True)
        ]
        width *= 2
    return list(rows[0])


def _reconstruct(values: list[int], bits: int, denominator_bits: int) -> ExactVector:
    """The rationals near ``values / 2**bits``, one denominator below ``2**denominator_bits``."""
    mask = (1 << 20) - 1
    mixed = sum(value * ((2654435761 * (i + 1)) >> 8 & mask) for i, value in enumerate(values))
    # A combination loses a factor of the denominator now and then; the entries themselves show it.
    denominator = _denominator(mixed, bits, denominator_bits)
    half = 1 << (bits - 1)
    near = 1 << (bits - denominator_bits)
    numerators: list[int] = []
    for value in values:
        scaled = value * denominator
        if abs(scaled - ((scaled + half) >> bits << bits)) > near:
            factor = _denominator(scaled, bits, denominator_bits)
            denominator *= factor
            scaled *= factor
            numerators = [number * factor for number in numerators]
        numerators.append((scaled + half) >> bits)
    common = math.gcd(denominator, *numerators)
    return ExactVector([n // common for n in numerators], denominator // common)


def _denominator(value: int, bits: int, denominator_bits: int) -> int:
    """The last convergent's denominator below ``2**denominator_bits`` of ``value / 2**bits``."""
    limit = 1 << denominator_bits
    a, b = value, 1 << bits
    previous, current = 1, 0
    while b:
        quotient, rest = divmod(a, b)
        following = quotient * current + previous
        if following > limit:
            break
        previous, current = current, following
        a, b = b, rest
    return max(abs(current), 1)

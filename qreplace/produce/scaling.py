"""Exact affine changes of variables that bring time and state to about [-1, 1].

Semidefinite programmes are solved in the scaled variables, certificates are written in the original
ones. Centres and radii are short dyadic numbers: they need only be about right, and short ones keep
the numbers of a certificate short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.sums_of_squares import NO_SQUARES, Gram, SumOfSquares
from qreplace.exact.polynomial import Exponents, Polynomial, constant, variable

CENTRE_STEP = Fraction(1, 4)
"""Centres are multiples of this part of the radius."""


@dataclass(frozen=True)
class Scaling:
    """``x_i = centres[i] + radii[i] s_i`` for time (0) and state coordinates."""

    centres: tuple[Fraction, ...]
    radii: tuple[Fraction, ...]

    @property
    def arity(self) -> int:
        """The number of variables."""
        return len(self.radii)

    def scaled(self, polynomial: Polynomial) -> Polynomial:
        """The polynomial as a function of the scaled variables."""
        arity = self.arity
        images = [
            constant(c, arity) + variable(i, arity).scaled(r)
            for i, (c, r) in enumerate(zip(self.centres, self.radii, strict=True))
        ]
        return polynomial.composed(images)

    def original(self, polynomial: Polynomial) -> Polynomial:
        """A polynomial in the scaled variables as a function of the original ones."""
        arity = self.arity
        images = [
            (variable(i, arity) - constant(c, arity)).scaled(1 / r)
            for i, (c, r) in enumerate(zip(self.centres, self.radii, strict=True))
        ]
        return polynomial.composed(images)

    def point(self, point: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The scaled coordinates of a point."""
        rows = zip(point, self.centres, self.radii, strict=True)
        return tuple((x - c) / r for x, c, r in rows)

    def field(self, field: Sequence[Polynomial]) -> tuple[Polynomial, ...]:
        """The right-hand side of ``ds/ds_0``, one polynomial a state coordinate."""
        time = self.radii[0]
        return tuple(
            self.scaled(part).scaled(time / radius)
            for part, radius in zip(field, self.radii[1:], strict=True)
        )

    def gram(
        self, basis: Sequence[Exponents], matrix: Sequence[Sequence[Fraction]], factor: Fraction
    ) -> SumOfSquares:
        """``factor * b(s)^T Q b(s)`` as a Gram matrix in the original variables.

        ``b(s) = M c(x)`` with the rational matrix M, so the new Gram matrix is ``factor M^T Q M``,
        positive semidefinite with Q. ``matrix`` is the whole symmetric Q.
        """
        one = {m: Fraction(1) for m in basis}
        images = [self.original(Polynomial((m,), (value,))) for m, value in one.items()]
        columns = sorted(
            {e for image in images for e in image.exponents}, key=lambda e: (sum(e), e)
        )
        place = {e: k for k, e in enumerate(columns)}
        rows = [
            [(place[e], c) for e, c in zip(p.exponents, p.coefficients, strict=True)]
            for p in images
        ]
        size = len(columns)
        half = [[Fraction(0)] * size for _ in basis]
        for i, line in enumerate(matrix):
            target = half[i]
            for entry, row in zip(line, rows, strict=True):
                if entry:
                    for k, c in row:
                        target[k] += entry * c
        full = [[Fraction(0)] * size for _ in columns]
        for row, line in zip(rows, half, strict=True):
            for k, c in row:
                target = full[k]
                for j in range(k + 1):
                    if line[j]:
                        target[j] += c * line[j]
        return gram_of(columns, full, factor)


def gram_of(
    basis: Sequence[Exponents], rows: Sequence[Sequence[Fraction]], factor: Fraction
) -> SumOfSquares:
    """A Gram document from rational rows, of which the lower triangle is read."""
    used = [k for k in range(len(basis)) if rows[k][k]]
    if not used:
        return NO_SQUARES
    entries = [factor * rows[i][j] for i in used for j in used if j <= i]
    denominator = math.lcm(*(entry.denominator for entry in entries))
    return Gram(
        "gram",
        tuple(basis[k] for k in used),
        Fraction(denominator),
        tuple(entry * denominator for entry in entries),
    )


def scaling_of(lower: Sequence[float], upper: Sequence[float]) -> Scaling:
    """Powers of two near the half widths, and centres near the middles, of a box."""
    centres, radii = [], []
    for low, high in zip(lower, upper, strict=True):
        width = max((high - low) / 2, 1e-3 * max(1e-3, abs(low), abs(high)))
        radius = Fraction(2) ** round(math.log2(width))
        step = radius * CENTRE_STEP
        centres.append(step * round(Fraction((low + high) / 2) / step))
        radii.append(radius)
    return Scaling(tuple(centres), tuple(radii))


def power_of_two(size: float) -> Fraction:
    """The power of two nearest to a positive size."""
    return Fraction(2) ** round(math.log2(size))

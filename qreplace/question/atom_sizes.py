"""What a norm sees of the atoms of a piecewise-affine system, and of its inputs (theory T8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

from qreplace.exact.intervals import Interval
from qreplace.exact.roots import sqrt_bounds
from qreplace.exact.spectral import at_most, over_common_denominator, products
from qreplace.question.maps import Matrix, Point
from qreplace.question.model import Norm
from qreplace.question.operator_bounds import euclidean, euler_step, norm_upper, operator_upper
from qreplace.question.piecewise_problem import Field
from qreplace.question.regions import Ball, Region

ZERO = Fraction(0)
Rows = list[list[Fraction]]

SPECTRAL_STEPS = 12
"""Halvings between a lower and an upper bound of an l2 norm: to a few parts in ten thousand."""


def spectral_upper(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    """An upper bound of the l2 operator norm of a matrix of any shape (theory T10.5)."""
    numbers, denominator = over_common_denominator(rows)
    columns = list(zip(*numbers, strict=True))
    longest = max(sum(map(mul, line, line)) for line in (*numbers, *columns))
    frobenius = sum(sum(map(mul, row, row)) for row in numbers)
    square = min(products(numbers, denominator), Fraction(frobenius, denominator**2))
    high = sqrt_bounds(square, 64)[1]
    low = sqrt_bounds(Fraction(longest, denominator**2), 64)[1]
    if low >= high or at_most(numbers, denominator, low):
        return min(low, high)
    for _ in range(SPECTRAL_STEPS):
        middle = Fraction(int((low + high) / 2 * (1 << 64)), 1 << 64)
        if not low < middle < high:
            break
        if at_most(numbers, denominator, middle):
            high = middle
        else:
            low = middle
    return high


# --- one atom --------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtomSizes:
    """What a norm sees of one atom; matrices as rationals."""

    field: Field
    norm: Norm

    @cached_property
    def output(self) -> Rows:
        """V, shape (d, n)."""
        return rational(self.field.output, self.field.outer)

    @cached_property
    def state(self) -> Rows:
        """S, shape (n, d)."""
        return rational(self.field.state_weights, self.field.inner)

    @cached_property
    def drift(self) -> Rows:
        """``D = A - leak I``."""
        return rational(self.field.drift, self.field.outer)

    @property
    def leak(self) -> Fraction:
        """The leak."""
        return self.field.atom.leak

    @cached_property
    def nonlinear(self) -> list[list[Interval]]:
        """``V P S`` for every diagonal P of slopes that the activation has."""
        bends = self.field.atom.activation != "identity"
        return slope_products(self.output, self.state, bends)

    @cached_property
    def nonlinear_norm(self) -> Fraction:
        """A bound of ``||V P S||``: in l2 also ``||V|| ||S||``."""
        bound = operator_upper(self.norm, self.nonlinear)
        if not euclidean(self.norm, len(self.drift)):
            return bound
        return min(bound, spectral_upper(self.output) * spectral_upper(self.state))

    def jacobian_norm(self, shift: Fraction) -> Fraction:
        """A bound of ``||V P S + D + shift I||``."""
        moved = [
            [value + shift * (i == j) for j, value in enumerate(row)]
            for i, row in enumerate(self.drift)
        ]
        return self._sum_norm(moved)

    def step_norm(self, step: Fraction) -> Fraction:
        """A bound of ``||I + h (V P S + D)||``."""
        drift = [[(x, x) for x in row] for row in self.drift]
        linear = [[low for low, _ in row] for row in euler_step(drift, step)]
        return self._sum_norm(linear, step)

    def _sum_norm(self, linear: Rows, factor: Fraction = Fraction(1)) -> Fraction:
        """A bound of ``||linear + factor V P S||``."""
        together = [
            [(x + factor * low, x + factor * high) for x, (low, high) in zip(a, b, strict=True)]
            for a, b in zip(linear, self.nonlinear, strict=True)
        ]
        apart = matrix_norm(self.norm, linear) + factor * self.nonlinear_norm
        return min(operator_upper(self.norm, together), apart)

    def forcing(self, point: Point, start: Sequence[Fraction]) -> list[Fraction]:
        """``G(z_0)(y)`` at one input."""
        return field_value(self.field, point, start)


def slope_products(output: Rows, state: Rows, bends: bool) -> list[list[Interval]]:
    """``V P S`` entry by entry for slopes in [0, 1]; for slopes 1 where nothing bends."""
    found = []
    columns = list(zip(*state, strict=True))
    for row in output:
        line = []
        for column in columns:
            terms = [a * b for a, b in zip(row, column, strict=True) if a and b]
            if bends:
                low = sum((t for t in terms if t < 0), ZERO)
                line.append((low, sum((t for t in terms if t > 0), ZERO)))
            else:
                total = sum(terms, ZERO)
                line.append((total, total))
        found.append(line)
    return found


def matrix_norm(norm: Norm, rows: Rows) -> Fraction:
    """An upper bound of the induced norm of a square matrix, sharp in l2."""
    bound = operator_upper(norm, [[(x, x) for x in row] for row in rows])
    return min(bound, spectral_upper(rows)) if euclidean(norm, len(rows)) else bound


def field_value(field: Field, point: Point, state: Sequence[Fraction]) -> list[Fraction]:
    """``G(z)(y)`` exactly."""
    t = point[-1]
    hidden = []
    for k, (weights, row) in enumerate(zip(field.input_weights, field.state_weights, strict=True)):
        u = Fraction(sum(map(mul, weights, point)), t) + field.bias[k]
        u = (u + sum(map(mul, row, state), ZERO)) / field.inner
        level = Fraction(field.thresholds[k], field.inner) if field.thresholds else ZERO
        hidden.append(activation_value(field.atom.activation, u, level))
    return [
        (sum(map(mul, v, hidden), ZERO) + sum(map(mul, d, state), ZERO) + c) / field.outer
        for v, d, c in zip(field.output, field.drift, field.offset, strict=True)
    ]


def activation_value(activation: str, u: Fraction, level: Fraction) -> Fraction:
    """``phi(u)``; every one is monotone and at most ``|u|``."""
    if activation == "soft_threshold":
        return max(u - level, ZERO) + min(u + level, ZERO)
    return max(u, ZERO) if activation == "relu" else u


# --- over the inputs -------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """The inputs that constants are about: the ``points``, or every input of the ``region``."""

    points: tuple[Point, ...]
    region: Region | None

    @cached_property
    def corners(self) -> tuple[Point, ...] | None:
        """Points whose hull holds every input; ``None`` where there are none (a ball)."""
        if self.region is None:
            return self.points
        return None if isinstance(self.region, Ball) else self.region.corners

    def spans(self, rows: Matrix, divisor: int) -> list[Interval]:
        """The range of every row of ``rows y / divisor``."""
        corners = self.corners
        if corners is not None:
            found = []
            for row in rows:
                values = [Fraction(sum(map(mul, row, q)), q[-1] * divisor) for q in corners]
                found.append((min(values), max(values)))
            return found
        if isinstance(self.region, Ball):
            return [self._ball_span(self.region, row, divisor) for row in rows]
        if self.region is None:
            return []
        lower, upper = self.region.box
        return [
            (
                sum((a * (x if a > 0 else y) for a, x, y in zip(row, lower, upper, strict=True)),
                    ZERO) / divisor,
                sum((a * (y if a > 0 else x) for a, x, y in zip(row, lower, upper, strict=True)),
                    ZERO) / divisor,
            )
            for row in rows
        ]  # fmt: skip

    @staticmethod
    def _ball_span(ball: Ball, row: Sequence[int], divisor: int) -> Interval:
        middle = sum(map(mul, row, ball.center), ZERO) / divisor
        length = sqrt_bounds(Fraction(sum(map(mul, row, row)), divisor**2), 64)[1] * ball.radius
        return middle - length, middle + length

    def largest(self, norm: Norm, rows: Rows, offset: Sequence[Fraction]) -> Fraction | None:
        """A bound of ``||rows y + offset||``, or ``None`` where only its coordinates are bounded.

        The norm is convex, so corners decide; a ball is known in l2.
        """
        corners = self.corners
        if corners is not None:
            return max(norm_upper(norm, _affine(rows, offset, q)) for q in corners)
        if isinstance(self.region, Ball) and euclidean(norm, len(rows)):
            middle = [
                sum(map(mul, row, self.region.center), ZERO) + o
                for row, o in zip(rows, offset, strict=True)
            ]
            return norm_upper(norm, [abs(x) for x in middle]) + (
                spectral_upper(rows) * self.region.radius
            )
        return None


def _affine(rows: Rows, offset: Sequence[Fraction], point: Point) -> list[Fraction]:
    return [
        abs(sum(map(mul, row, point), ZERO) / point[-1] + o)
        for row, o in zip(rows, offset, strict=True)
    ]


def constant_part(field: Field, initial: Sequence[Fraction]) -> list[Fraction]:
    """``D z_0 + c``."""
    return [
        (sum(map(mul, row, initial), ZERO) + c) / field.outer
        for row, c in zip(field.drift, field.offset, strict=True)
    ]


def hidden_range(field: Field, initial: Sequence[Fraction], inputs: Inputs) -> list[Interval]:
    """The range of every hidden value ``phi(W y + S z_0 + b)``."""
    found = []
    for k, (low, high) in enumerate(inputs.spans(field.input_weights, field.inner)):
        shift = field.bias[k] + sum(map(mul, field.state_weights[k], initial), ZERO)
        shift = shift / field.inner
        level = Fraction(field.thresholds[k], field.inner) if field.thresholds else ZERO
        kind = field.atom.activation
        found.append(
            (
                activation_value(kind, low + shift, level),
                activation_value(kind, high + shift, level),
            )
        )
    return found


def output_range(output: Rows, hidden: Sequence[Interval]) -> list[Interval]:
    """The range of ``V phi`` for hidden values in these ranges."""
    found = []
    for row in output:
        low = sum((v * (a if v > 0 else b) for v, (a, b) in zip(row, hidden, strict=True)), ZERO)
        high = sum((v * (b if v > 0 else a) for v, (a, b) in zip(row, hidden, strict=True)), ZERO)
        found.append((low, high))
    return found


def rational(rows: Matrix, denominator: int) -> Rows:
    """Integer rows over a denominator as rationals."""
    return [[Fraction(x, denominator) for x in row] for row in rows]

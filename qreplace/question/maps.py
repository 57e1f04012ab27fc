"""Piecewise-affine maps in integers: evaluation, pieces and kinks at exact points (theory T8).

A point is homogeneous: integers ``(x_1 .. x_p, t)`` with ``t > 0`` for ``x / t``. Along a map every
state has one denominator that no point changes, so the side of a hyperplane is the sign of an
integer. A *site* is one coordinate of one activation with a kink; its *kinks* are the levels at
which it bends: ``-lambda`` and ``+lambda`` of a soft threshold, 0 of a ReLU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

from qreplace.question.piecewise import Activation

Point = tuple[int, ...]
Vector = tuple[int, ...]
Matrix = tuple[Vector, ...]

LOW, MIDDLE, HIGH = 1, 2, 4
"""The pieces of a soft threshold, as bits; a ReLU has LOW and HIGH only."""
PIECE_BITS = 3


@dataclass(frozen=True)
class Layer:
    """``z -> (output phi(u) + carry z + offset) / outer``, ``u = (W y + S z + bias) / inner``.

    All entries are integers; thresholds are over ``inner`` and empty without a soft threshold.
    """

    activation: Activation
    inner: int
    input_weights: Matrix
    state_weights: Matrix
    bias: Vector
    thresholds: Vector
    outer: int
    output: Matrix
    carry: Matrix
    offset: Vector


@dataclass(frozen=True)
class Kink:
    """Where a site bends: step, coordinate, and the sign of the level (0 for a ReLU)."""

    step: int
    coordinate: int
    sign: int


@dataclass(frozen=True)
class Step:
    """A layer scaled to the denominators of its map, so that a point costs integer dot products.

    ``u = (inputs X + state Z + bias t) / (unit t)`` and the next state is
    ``(output Phi + carry Z + offset t) / (next_unit t)``; thresholds and Phi are over ``unit t``.
    """

    activation: Activation
    inputs: Matrix
    state: Matrix
    bias: Vector
    thresholds: Vector
    output: Matrix
    carry: Matrix
    offset: Vector
    unit: int
    next_unit: int


@dataclass(frozen=True)
class Trace:
    """A map at one point: pre-activations of every step, and the final state over ``unit * t``."""

    activations: tuple[tuple[int, ...], ...]
    final: tuple[int, ...]


@dataclass(frozen=True)
class PwaMap:
    """Layers applied to an initial state ``initial / initial_unit``; a pure function of the input.

    ``inputs`` is p; every state has its own width, the last one that of the outputs.
    """

    inputs: int
    layers: tuple[Layer, ...]
    initial: Vector
    initial_unit: int

    @property
    def outputs(self) -> int:
        """The width of the final state."""
        return len(self.layers[-1].offset)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The layers scaled to common denominators."""
        unit, found = self.initial_unit, []
        for layer in self.layers:
            step = _scaled(layer, unit)
            found.append(step)
            unit = step.next_unit
        return tuple(found)

    @property
    def unit(self) -> int:
        """The denominator of the final state, beside that of the point."""
        return self.steps[-1].next_unit

    @cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Every kink, step by step, coordinate by coordinate, the lower level first."""
        found = []
        for index, step in enumerate(self.steps):
            signs = {"soft_threshold": (-1, 1), "relu": (0,), "identity": ()}[step.activation]
            for coordinate in range(len(step.bias)):
                found += [Kink(index, coordinate, sign) for sign in signs]
        return tuple(found)

    @cached_property
    def site_count(self) -> int:
        """The number of coordinates of activations that bend."""
        return sum(len(s.bias) for s in self.steps if s.activation != "identity")

    def trace(self, point: Point) -> Trace:
        """Evaluate at a homogeneous point."""
        x, t = point[:-1], point[-1]
        z: Sequence[int] = [value * t for value in self.initial]
        recorded = []
        for step in self.steps:
            u = [
                sum(map(mul, w, x)) + sum(map(mul, s, z)) + b * t
                for w, s, b in zip(step.inputs, step.state, step.bias, strict=True)
            ]
            recorded.append(tuple(u))
            phi = activate(step, u, t)
            z = [
                sum(map(mul, v, phi)) + sum(map(mul, c, z)) + o * t
                for v, c, o in zip(step.output, step.carry, step.offset, strict=True)
            ]
        return Trace(tuple(recorded), tuple(z))

    def value(self, point: Point) -> tuple[Fraction, ...]:
        """The output at a point."""
        denominator = self.unit * point[-1]
        return tuple(Fraction(n, denominator) for n in self.trace(point).final)

    def kink_value(self, kink: Kink, trace: Trace, point: Point) -> int:
        """A positive multiple, fixed by the kink, of ``t * (u - level)``; its sign is the side."""
        value = trace.activations[kink.step][kink.coordinate]
        if not kink.sign:
            return value
        return value - kink.sign * self.steps[kink.step].thresholds[kink.coordinate] * point[-1]

    def pieces(self, trace: Trace, point: Point) -> int:
        """At every site the affine pieces that hold at the point, ``PIECE_BITS`` bits a site.

        On a kink both neighbours hold. A soft threshold of 0 is the identity: every piece holds.
        """
        found, shift, t = 0, 0, point[-1]
        for step, u in zip(self.steps, trace.activations, strict=True):
            if step.activation == "identity":
                continue
            for i, value in enumerate(u):
                level = step.thresholds[i] * t if step.thresholds else 0
                found |= _pieces(step.activation, value, level) << shift
                shift += PIECE_BITS
        return found

    @cached_property
    def sites(self) -> int:
        """The lowest bit of every site."""
        return sum(1 << (PIECE_BITS * i) for i in range(self.site_count))


def activate(step: Step, u: Sequence[int], t: int) -> Sequence[int]:
    """``phi`` of the pre-activations at a point with last coordinate ``t``."""
    if step.activation == "soft_threshold":
        return [
            value - level * t if value > level * t else
            value + level * t if value < -level * t else 0
            for value, level in zip(u, step.thresholds, strict=True)
        ]  # fmt: skip
    if step.activation == "relu":
        return [max(value, 0) for value in u]
    return u


def is_affine(pieces: int, sites: int) -> bool:
    """Whether every site has a piece left: then the map is affine on the hull of the points.

    ``pieces`` is the bitwise *and* of the pieces at points (theory T8.2): if activation after
    activation one piece holds at every point, each pre-activation is affine on their hull.
    """
    return (pieces | pieces >> 1 | pieces >> 2) & sites == sites


def crossing(one: Point, at_one: int, other: Point, at_other: int) -> Point:
    """The point of the segment where an affine function with values ``at / t`` vanishes.

    ``at_one`` and ``at_other`` have opposite signs and share a positive factor with the function.
    """
    if at_one > 0:
        one, at_one, other, at_other = other, at_other, one, at_one
    point = [at_other * a - at_one * b for a, b in zip(one, other, strict=True)]
    shared = math.gcd(*point)
    return tuple(value // shared for value in point)


def homogeneous(point: Sequence[Fraction]) -> Point:
    """Integers ``(x, t)`` for a rational point, without a common factor."""
    common = math.lcm(*(value.denominator for value in point), 1)
    return (*(value.numerator * (common // value.denominator) for value in point), common)


def rational_point(point: Point) -> tuple[Fraction, ...]:
    """The rational coordinates of a homogeneous point."""
    return tuple(Fraction(value, point[-1]) for value in point[:-1])


def difference(one: PwaMap, other: PwaMap, at_one: Trace, at_other: Trace) -> tuple[int, ...]:
    """``one - other`` at a point in integers, over ``difference_unit(one, other) * t``."""
    unit = difference_unit(one, other)
    left, right = unit // one.unit, unit // other.unit
    return tuple(a * left - b * right for a, b in zip(at_one.final, at_other.final, strict=True))


def difference_unit(one: PwaMap, other: PwaMap) -> int:
    """The denominator of a difference, beside that of the point."""
    return math.lcm(one.unit, other.unit)


def _pieces(activation: Activation, value: int, level: int) -> int:
    if activation == "relu":
        return (LOW if value <= 0 else 0) | (HIGH if value >= 0 else 0)
    if level == 0:
        return LOW | MIDDLE | HIGH
    return (
        (LOW if value <= -level else 0)
        | (MIDDLE if -level <= value <= level else 0)
        | (HIGH if value >= level else 0)
    )


def _scaled(layer: Layer, unit: int) -> Step:
    """Bring a layer to the denominator ``unit`` of the state it reads."""
    inner = layer.inner * unit
    next_unit = layer.outer * inner
    carry = _times(layer.carry, layer.inner)
    offset = tuple(value * inner for value in layer.offset)
    shared = math.gcd(next_unit, *_entries(layer.output), *_entries(carry), *offset)
    return Step(
        activation=layer.activation,
        inputs=_times(layer.input_weights, unit),
        state=layer.state_weights,
        bias=tuple(value * unit for value in layer.bias),
        thresholds=tuple(value * unit for value in layer.thresholds),
        output=_over(layer.output, shared),
        carry=_over(carry, shared),
        offset=tuple(value // shared for value in offset),
        unit=inner,
        next_unit=next_unit // shared,
    )


def _entries(matrix: Matrix) -> list[int]:
    return [entry for row in matrix for entry in row]


def _times(matrix: Matrix, factor: int) -> Matrix:
    return tuple(tuple(entry * factor for entry in row) for row in matrix)


def _over(matrix: Matrix, factor: int) -> Matrix:
    return tuple(tuple(entry // factor for entry in row) for row in matrix)

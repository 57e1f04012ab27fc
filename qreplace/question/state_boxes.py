"""What the remaining steps of a schedule can still reach, in integers rounded outward (T8.4).

From the state after a prefix, at one input, every continuation ends somewhere; two enclosures say
how near the target that can be.

*Boxes.* The hull over the atoms of the images of a box of states, step after step. The state that
an Euler step carries is one matrix ``I + h (A - leak I)``, so ``(1 - h leak) z`` is never pulled
apart; activations are monotone.

*Functionals.* For any vectors ``l_k .. l_D`` every continuation satisfies
``l_D z_D >= l_k z_k + sum_q min_j min over box q of (l_{q+1} F_j(z) - l_q z)``, F_j being the step
of atom j; so its error is at least ``(that - l_D F*(y)) / ||l_D||_*`` (theory T3.6). Inside a box
``l_{q+1} F_j(z) - l_q z`` is bounded by its value at the centre and the slopes that activations can
have, ``l_q`` being about ``l_{q+1} dF``. Directions ``l_D`` come from Gilbert's algorithm for the
nearest point of the reached set; whatever they are, the bound holds.

A number is an integer in units of ``2**-BITS``; a box is a list of ``(lower, upper)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from qreplace.errors import InputError
from qreplace.exact.fixed_point import enclose
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.maps import Layer, Point
from qreplace.question.model import (
    L1Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.piecewise_problem import PwaProblem

BITS = 128
"""States are integers in units of ``2**-BITS``."""
MAX_STATE_BITS = 4096
"""States beyond ``2**(MAX_STATE_BITS - BITS)`` are not enclosed."""
DIRECTION_BITS = 48
"""Entries of a functional are integers of about so many bits."""
DIRECTIONS = 6
"""Most functionals that are tried."""

Interval = tuple[int, int]
Box = list[Interval]
Direction = list[int]


class Continuations:
    """Continuations of prefixes at one input of a problem, for schedules of one depth.

    ``norm`` measures one input's output; the schedule takes ``depth`` steps ``horizon / depth``.
    """

    def __init__(self, problem: PwaProblem, norm: Norm, depth: int, point: Point) -> None:
        step = problem.horizon / depth
        self.norm = norm
        self.atoms = [_Atom.at(field.layer(step), point) for field in problem.fields]
        unit = problem.target.unit * point[-1]
        self.target = [_enclosed(n, unit) for n in problem.target.trace(point).final]
        self.initial: Box = [_enclosed(n, problem.initial_unit) for n in problem.initial]
        self.passes = 0
        """Steps of all atoms that were taken to bound distances; a functional's count thrice."""

    def advance(self, state: Box, atom: int) -> Box:
        """The state after one step of an atom."""
        return _bounded(self.atoms[atom].image(state))

    def hull(self, state: Box) -> Box:
        """A box of every state after one step of whatever atom."""
        images = [atom.image(state) for atom in self.atoms]
        return _bounded(
            [(min(b[0] for b in c), max(b[1] for b in c)) for c in zip(*images, strict=True)]
        )

    def distance(self, state: Box, remaining: int, enough: Fraction | None = None) -> Fraction:
        """A lower bound of the error of every continuation of ``remaining`` steps from ``state``.

        Once a bound reaches ``enough`` no better one is sought. After the last step it is the error
        itself, but for rounding. Raises ``InputError`` where states grow beyond all bounds.
        """
        boxes = [state]
        self.passes += remaining + 1
        for _ in range(remaining):
            boxes.append(self.hull(boxes[-1]))
        best = self._box_distance(boxes[-1])
        if not remaining or (enough is not None and best >= enough):
            return best
        nearest = [low + high >> 1 for low, high in boxes[-1]]
        goal = [low + high >> 1 for low, high in self.target]
        for attempt in range(DIRECTIONS):
            residual = [a - b for a, b in zip(nearest, goal, strict=True)]
            direction = _short(residual)
            if direction is None:
                return best
            bound, chosen = self._along(direction, boxes)
            best = max(best, bound)
            if enough is not None and best >= enough:
                return best
            reached = self._endpoint(state, chosen)
            nearest = _nearer(nearest, reached, goal) if attempt else reached
        return best

    def _box_distance(self, box: Box) -> Fraction:
        """The distance from the target to a box."""
        gaps = [
            max(low - up, down - high, 0)
            for (low, high), (down, up) in zip(box, self.target, strict=True)
        ]
        return norm_bounds(self.norm, gaps, 1 << BITS)[0]

    def functionals(
        self, direction: Direction, boxes: Sequence[Box]
    ) -> tuple[list[Direction], list[int], list[int]]:
        """Functionals ``l_k .. l_D`` with constants, and the atoms that attain them, about.

        From a state ``z_q`` in ``boxes[q]`` every continuation has
        ``direction z_D >= rows[q] z_q + constants[q]``, constants in units.
        """
        rows, constants, chosen = [direction], [0], []
        for box in reversed(boxes[:-1]):
            centre = [low + high >> 1 for low, high in box]
            radius = [high - middle for (_, high), middle in zip(box, centre, strict=True)]
            ranges = [atom.ranges(centre, radius) for atom in self.atoms]
            after = rows[-1]
            before = _mean([
                atom.pulled_back(after, found)
                for atom, found in zip(self.atoms, ranges, strict=True)
            ])  # fmt: skip
            lows = [
                atom.least(after, before, box, centre, radius, found)
                for atom, found in zip(self.atoms, ranges, strict=True)
            ]
            rows.append(before)
            constants.append(constants[-1] + min(lows))
            chosen.append(lows.index(min(lows)))
        return rows[::-1], constants[::-1], chosen[::-1]

    def aim(self, direction: Direction) -> int:
        """The largest ``direction F*(y)``, in units."""
        return _greatest_product(direction, self.target)

    def _along(self, direction: Direction, boxes: Sequence[Box]) -> tuple[Fraction, list[int]]:
        """The bound by a functional of the last state, and the atoms it would choose."""
        self.passes += 3 * len(boxes)
        rows, constants, chosen = self.functionals(direction, boxes)
        least = _least_product(rows[0], boxes[0]) + constants[0] - self.aim(direction)
        return Fraction(max(least, 0), 1 << BITS) / dual_norm(self.norm, direction), chosen

    def _endpoint(self, state: Box, schedule: Sequence[int]) -> list[int]:
        """About where a continuation ends."""
        box: Box = [(low + high >> 1,) * 2 for low, high in state]
        for atom in schedule:
            box = self.advance(box, atom)
        return [low for low, _ in box]


@dataclass(frozen=True)
class _Ranges:
    """Activations on a box: value at the centre, values on the box, slopes there."""

    at_centre: list[Interval]
    on_box: list[Interval]
    slopes: list[Interval]


@dataclass(frozen=True)
class _Atom:
    """A step of one atom at one input; ``base`` is ``W y + b``, thresholds are enclosed."""

    layer: Layer
    base: list[Interval]
    thresholds: list[Interval]
    offset: list[int]
    """The offset over ``outer``, in units."""

    @classmethod
    def at(cls, layer: Layer, point: Point) -> _Atom:
        """The step at a homogeneous point."""
        x, t = point[:-1], point[-1]
        base = [
            _enclosed(sum(map(mul, row, x)) + b * t, layer.inner * t)
            for row, b in zip(layer.input_weights, layer.bias, strict=True)
        ]
        levels = [_enclosed(level, layer.inner) for level in layer.thresholds]
        return cls(layer, base, levels, [value << BITS for value in layer.offset])

    def image(self, box: Box) -> Box:
        """A box of the states after the step from a box."""
        layer = self.layer
        u = [
            (
                low + _least_product(row, box) // layer.inner,
                high - (-_greatest_product(row, box) // layer.inner),
            )
            for row, (low, high) in zip(layer.state_weights, self.base, strict=True)
        ]
        phi = self._activated(u)
        found = []
        for row, carry, offset in zip(layer.output, layer.carry, self.offset, strict=True):
            low = _least_product(row, phi) + _least_product(carry, box) + offset
            high = _greatest_product(row, phi) + _greatest_product(carry, box) + offset
            found.append((low // layer.outer, -(-high // layer.outer)))
        return found

    def ranges(self, centre: Sequence[int], radius: Sequence[int]) -> _Ranges:
        """The activations on the box about ``centre``."""
        layer = self.layer
        at_centre, on_box = [], []
        for row, (low, high) in zip(layer.state_weights, self.base, strict=True):
            shift = sum(map(mul, row, centre))
            spread = -(-sum(map(mul, map(abs, row), radius)) // layer.inner)
            low, high = low + shift // layer.inner, high - (-shift // layer.inner)
            at_centre.append((low, high))
            on_box.append((low - spread, high + spread))
        return _Ranges(self._activated(at_centre), self._activated(on_box), self._slopes(on_box))

    def pulled_back(self, after: Direction, found: _Ranges) -> Direction:
        """About ``after dF``: what the functional after the step is before it."""
        layer = self.layer
        combined = _combined(after, layer.output, len(self.base))
        total = _combined(after, layer.carry, len(layer.carry))
        for weight, (low, high), row in zip(
            combined, found.slopes, layer.state_weights, strict=True
        ):
            if weight and (low or high):
                for i, s in enumerate(row):
                    total[i] += weight * s * (low + high) // (2 * layer.inner)
        return [value // layer.outer for value in total]

    def least(
        self,
        after: Direction,
        before: Direction,
        box: Box,
        centre: Sequence[int],
        radius: Sequence[int],
        found: _Ranges,
    ) -> int:
        """A lower bound of ``after F(z) - before z`` on the box."""
        layer = self.layer
        combined = _combined(after, layer.output, len(self.base))
        carried = _combined(after, layer.carry, len(centre))
        linear = [c - layer.outer * b for c, b in zip(carried, before, strict=True)]
        fixed = sum(map(mul, after, self.offset))
        plain = _least_product(combined, found.on_box) + _least_product(linear, box)
        middle = _least_product(combined, found.at_centre) + sum(map(mul, linear, centre))
        for i, r in enumerate(radius):
            if r:
                # ``inner`` times the least and the greatest slope along coordinate i.
                low = high = layer.inner * linear[i]
                for weight, (least, most), row in zip(
                    combined, found.slopes, layer.state_weights, strict=True
                ):
                    product = weight * row[i]
                    low += product * (least if product > 0 else most)
                    high += product * (most if product > 0 else least)
                middle -= -(-max(high, -low) * r // layer.inner)
        total: int = max(plain, middle) + fixed
        return total // layer.outer

    def _activated(self, values: Sequence[Interval]) -> list[Interval]:
        kind = self.layer.activation
        if kind == "identity":
            return list(values)
        if kind == "relu":
            return [(max(low, 0), max(high, 0)) for low, high in values]
        return [
            (max(low - most, 0) + min(low + least, 0), max(high - least, 0) + min(high + most, 0))
            for (low, high), (least, most) in zip(values, self.thresholds, strict=True)
        ]

    def _slopes(self, values: Sequence[Interval]) -> list[Interval]:
        """Least and greatest slope of every activation: 0 or 1."""
        kind = self.layer.activation
        if kind == "identity":
            return [(1, 1)] * len(values)
        if kind == "relu":
            return [(1, 1) if low >= 0 else (0, 0) if high <= 0 else (0, 1) for low, high in values]
        found = []
        for (low, high), (least, most) in zip(values, self.thresholds, strict=True):
            if most == 0 or low >= most or high <= -most:
                found.append((1, 1))
            else:
                found.append((0, 0) if low >= -least and high <= least else (0, 1))
        return found


def dual_norm(norm: Norm, direction: Sequence[int]) -> Fraction:
    """An upper bound of the dual norm of a functional; exact for the linear norms."""
    sizes = [abs(value) for value in direction]
    if isinstance(norm, LinfNorm):
        return Fraction(sum(sizes))
    if isinstance(norm, L1Norm):
        return Fraction(max(sizes))
    if isinstance(norm, WeightedLinfNorm):
        return sum((s / w for s, w in zip(sizes, norm.weights, strict=True)), Fraction(0))
    if isinstance(norm, WeightedL1Norm):
        return max(s / w for s, w in zip(sizes, norm.weights, strict=True))
    block = block_size(norm, len(sizes))
    parts = [sizes[start : start + block] for start in range(0, len(sizes), block)]
    return sum((sqrt_bounds(Fraction(sum(map(mul, p, p))))[1] for p in parts), Fraction(0))


def _enclosed(numerator: int, denominator: int) -> Interval:
    return enclose(Fraction(numerator, denominator), BITS)


def _bounded(box: Box) -> Box:
    limit = 1 << MAX_STATE_BITS
    if any(low < -limit or high > limit for low, high in box):
        raise InputError(
            f"the states of a schedule exceed 2^{MAX_STATE_BITS - BITS}: they are not enclosed"
        )
    return box


def _least_product(row: Sequence[int], box: Sequence[Interval]) -> int:
    """The least ``row z`` on a box."""
    total = 0
    for weight, (low, high) in zip(row, box, strict=True):
        if weight:
            total += weight * (low if weight > 0 else high)
    return total


def _greatest_product(row: Sequence[int], box: Sequence[Interval]) -> int:
    """The greatest ``row z`` on a box."""
    total = 0
    for weight, (low, high) in zip(row, box, strict=True):
        if weight:
            total += weight * (high if weight > 0 else low)
    return total


def _combined(row: Sequence[int], matrix: Sequence[Sequence[int]], width: int) -> list[int]:
    """``row matrix``."""
    total = [0] * width
    for weight, entries in zip(row, matrix, strict=True):
        if weight:
            total = [a + weight * b for a, b in zip(total, entries, strict=True)]
    return total


def _mean(rows: Sequence[Direction]) -> Direction:
    return [sum(column) // len(rows) for column in zip(*rows, strict=True)]


def _short(vector: Sequence[int]) -> Direction | None:
    """A multiple of about ``DIRECTION_BITS`` bits; None for one that is as good as 0."""
    largest = max(map(abs, vector))
    shift = largest.bit_length() - DIRECTION_BITS
    if shift <= 0:
        return None
    return [value >> shift for value in vector]


def _nearer(nearest: list[int], reached: list[int], goal: Sequence[int]) -> list[int]:
    """The point of the segment ``[nearest, reached]`` that is next to the goal, about."""
    along = [b - a for a, b in zip(nearest, reached, strict=True)]
    length = sum(map(mul, along, along))
    part = sum((g - a) * d for g, a, d in zip(goal, nearest, along, strict=True))
    if part <= 0:
        return nearest
    if part >= length:
        return reached
    return [a + d * part // length for a, d in zip(nearest, along, strict=True)]

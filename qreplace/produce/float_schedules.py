"""Schedules of a piecewise-affine problem in floats, with a proved bound of what rounding does.

``FloatSchedules`` holds the Euler steps of every atom and the inputs as arrays; ``off.error`` is by
how much an error computed by ``schedule_kernels`` may differ from the true one, for every schedule
and every input at once.

Derivation, with ``u = 2**-53``, in the maximum norm. Every number of the problem is rounded once to
the nearest float. Let M_k bound the computed states after k steps and e_k their distance from the
true ones. For one atom let alpha bound ``|W y + b|``, lambda its thresholds, o its offset
``|h c|``, and s, v, c the row sums of ``|S|``, ``|h V|`` and ``|I + h (A - leak I)|``.

- ``u_i``: a sum of 1 + d terms, each off by its data's rounding and by e_k. With
  ``U = alpha + s M_k`` it is off by ``s e_k + (d + 4) u U`` and at most U.
- ``phi``: Lipschitz with constant 1 in its argument and in the threshold, which is off by ``u
  lambda``; one difference is rounded. So it is off by ``s e_k + (d + 4) u U + 2 u (U + lambda)``.
- the next state: a sum of 1 + d + n terms of total size at most ``K = v U + c M_k + o``, each off
  by its data's rounding and by what its factor is off. So
  ``e_{k+1} <= (v s + c) e_k + v ((d + 4) u U + 2 u (U + lambda)) + (n + d + 4) u K``.

``rounding`` takes ``(n + d + 8) 2u`` for every factor of u, which covers second-order terms, and
``M_{k+1} = 2**-20 + (1 + 2**-20) K``; a product that underflows is off by far less than the
``2**-500`` added per step. The distance to F*(y) adds ``2 u (M_D + |F*|)``, the norm of d
coordinates a relative ``(d + 4) 2u``. Sums run in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.exact.rational import round_up
from qreplace.produce.schedule_kernels import (
    BLOCKS,
    IDENTITY,
    MAXIMUM,
    RELU,
    SOFT,
    SUM,
    WIDTH,
    Atoms,
    Floats,
    Inputs,
    Measure,
)
from qreplace.question.maps import Layer, Point
from qreplace.question.model import (
    BlockL2Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, coordinate_radius
from qreplace.question.piecewise_problem import PwaProblem

KINDS = {"relu": RELU, "soft_threshold": SOFT, "identity": IDENTITY}
LARGEST = Fraction(1 << 400)
"""States beyond this are not searched in floats."""
UNDERFLOW = Fraction(1, 1 << 500)
PRECISION = 640
"""Bits behind the point of the rounding bound."""


@dataclass(frozen=True)
class Rounding:
    """Bounds over all schedules and inputs: of what is off, and of the states themselves.

    ``error`` is about a computed error, ``state`` about a coordinate of any computed state.
    """

    error: Fraction
    state: Fraction
    largest: Fraction


@dataclass(frozen=True)
class FloatSchedules:
    """All schedules of one depth at given inputs; ``off`` as in the module's docstring.

    ``base`` (m, J, n) is ``W y + b``, ``goal`` (m, d) the target there, exactly ``aims``.
    """

    problem: PwaProblem
    norm: Norm
    depth: int
    points: tuple[Point, ...]
    atoms: Atoms
    measure: Measure
    base: Floats
    goal: Floats
    initial: Floats
    off: Rounding
    aims: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(
        cls, problem: PwaProblem, norm: Norm, depth: int, points: Sequence[Point]
    ) -> FloatSchedules:
        """Form the arrays; raises ``ProducerFailed`` where states are too large for floats."""
        if depth < 1 or not points:
            raise ProducerFailed("a search of schedules needs a depth of at least 1 and inputs")
        aims = tuple(problem.target.value(point) for point in points)
        return cls._at(problem, norm, depth, tuple(points), aims)

    def extended(self, points: Sequence[Point]) -> FloatSchedules:
        """The same with more inputs."""
        aims = tuple(self.problem.target.value(point) for point in points)
        return self._at(
            self.problem, self.norm, self.depth, (*self.points, *points), (*self.aims, *aims)
        )

    @classmethod
    def _at(
        cls,
        problem: PwaProblem,
        norm: Norm,
        depth: int,
        points: tuple[Point, ...],
        aims: tuple[tuple[Fraction, ...], ...],
    ) -> FloatSchedules:
        layers = [field.layer(problem.horizon / depth) for field in problem.fields]
        base = _base(layers, points)
        initial = [Fraction(n, problem.initial_unit) for n in problem.initial]
        off = rounding(norm, depth, layers, base, aims, initial)
        return cls(
            problem,
            norm,
            depth,
            points,
            _atoms(layers, problem.dimension),
            measure_of(norm, problem.dimension),
            base,
            np.array([[_float(v.numerator, v.denominator) for v in aim] for aim in aims]),
            np.array([_float(v.numerator, v.denominator) for v in initial]),
            off,
            aims,
        )

    @property
    def count(self) -> int:
        """The number of atoms, J."""
        return len(self.problem.fields)

    def chunks(self, order: Sequence[int]) -> Inputs:
        """The inputs in an order, in chunks; the last one repeats to fill its chunk."""
        padded = np.asarray([*order, *([order[-1]] * (-len(order) % WIDTH))], dtype=np.int64)
        base, goal = self.base[padded], self.goal[padded]
        m, count, n = base.shape
        return Inputs(
            np.ascontiguousarray(base.reshape(m // WIDTH, WIDTH, count, n).transpose(0, 2, 3, 1)),
            np.ascontiguousarray(goal.reshape(m // WIDTH, WIDTH, -1).transpose(0, 2, 1)),
            self.initial,
        )


def measure_of(norm: Norm, dimension: int) -> Measure:
    """A norm for the kernels."""
    weights = np.ones(dimension)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        weights = np.array([float(weight) for weight in norm.weights])
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        return Measure(BLOCKS, block_size(norm, dimension), weights)
    maximum = isinstance(norm, (LinfNorm, WeightedLinfNorm))
    return Measure(MAXIMUM if maximum else SUM, dimension, weights)


def rounding(
    norm: Norm,
    depth: int,
    layers: Sequence[Layer],
    base: Floats,
    goals: Sequence[Sequence[Fraction]],
    initial: Sequence[Fraction],
) -> Rounding:
    """What rounding does at most; raises ``ProducerFailed`` where states are too large."""
    d = len(initial)
    n = max(len(layer.bias) for layer in layers)
    unit = Fraction(2 * (n + d + 8), 1 << 53)
    sizes = [_sizes(layer, float(np.abs(base[:, j]).max())) for j, layer in enumerate(layers)]
    largest = max(map(abs, initial)) * 2
    off = largest * unit
    most, worst = largest, off
    for _ in range(depth):
        bounds, gaps = [], []
        for alpha, level, offset, s, v, c in sizes:
            u = alpha + s * largest
            total = v * u + c * largest + offset
            bounds.append(total)
            gaps.append((v * s + c) * off + unit * (v * (2 * u + level) + total))
        largest = round_up(max(bounds) * (1 + Fraction(1, 1 << 20)) + Fraction(1, 1 << 20), 64)
        off = round_up(max(gaps) + UNDERFLOW, PRECISION)
        most, worst = max(most, largest), max(worst, off)
        if most > LARGEST:
            raise ProducerFailed("the states of some schedule are too large to search in floats")
    aim = max((abs(v) for goal in goals for v in goal), default=Fraction(0))
    if aim > LARGEST:
        raise ProducerFailed("the target is too large to search schedules in floats")
    error = coordinate_radius(norm, d, off + 2 * unit * (largest + aim) + UNDERFLOW)
    return Rounding(error, worst, most)


def _sizes(layer: Layer, base: float) -> tuple[Fraction, ...]:
    """``alpha, lambda, o, s, v, c`` of a step."""

    def rows(matrix: Sequence[Sequence[int]], unit: int) -> Fraction:
        return Fraction(max(sum(map(abs, row)) for row in matrix), unit)

    return (
        Fraction(base) * 2,
        Fraction(max(layer.thresholds, default=0), layer.inner),
        Fraction(max(map(abs, layer.offset)), layer.outer),
        rows(layer.state_weights, layer.inner),
        rows(layer.output, layer.outer),
        rows(layer.carry, layer.outer),
    )


def _base(layers: Sequence[Layer], points: Sequence[Point]) -> Floats:
    """``W y + b``, each rounded once: (m, J, n), with zeros where an atom is narrower."""
    n = max(len(layer.bias) for layer in layers)
    found = np.zeros((len(points), len(layers), n))
    for i, point in enumerate(points):
        x, t = point[:-1], point[-1]
        for j, layer in enumerate(layers):
            unit = layer.inner * t
            for k, (row, bias) in enumerate(zip(layer.input_weights, layer.bias, strict=True)):
                value = bias * t
                for weight, coordinate in zip(row, x, strict=True):
                    value += weight * coordinate
                found[i, j, k] = _float(value, unit)
    return found


def _atoms(layers: Sequence[Layer], d: int) -> Atoms:
    """The steps as arrays; narrower atoms are filled with activations that nothing reads."""
    count, n = len(layers), max(len(layer.bias) for layer in layers)
    atoms = Atoms(
        np.zeros((count, n, d)),
        np.zeros((count, n)),
        np.array([KINDS[layer.activation] for layer in layers], dtype=np.int64),
        np.zeros((count, d, n)),
        np.zeros((count, d, d)),
        np.zeros((count, d)),
    )
    for j, layer in enumerate(layers):
        width = len(layer.bias)
        atoms.state[j, :width] = _matrix(layer.state_weights, layer.inner)
        if layer.thresholds:
            atoms.thresholds[j, :width] = [_float(v, layer.inner) for v in layer.thresholds]
        atoms.output[j, :, :width] = _matrix(layer.output, layer.outer)
        atoms.carry[j] = _matrix(layer.carry, layer.outer)
        atoms.offset[j] = [_float(v, layer.outer) for v in layer.offset]
    return atoms


def _matrix(rows: Sequence[Sequence[int]], unit: int) -> list[list[float]]:
    return [[_float(value, unit) for value in row] for row in rows]


def _float(numerator: int, denominator: int) -> float:
    """The nearest float of a quotient; raises ``ProducerFailed`` where there is none."""
    try:
        return numerator / denominator
    except OverflowError:
        raise ProducerFailed("a number of the problem is too large for floats") from None

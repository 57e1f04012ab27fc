"""Affine systems run in exact rationals on declared grids: what T4's radii must hold for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from declared_questions import bounded_variation, declared, growth, premise
from lifted_questions import L1, L2, LINF, weighted_l1, weighted_linf

from qreplace.exact.roots import sqrt_bounds
from qreplace.premises import ABSENT
from qreplace.question.model import Norm, QuantizedExecution, Question

Vector = list[Fraction]
Matrix = list[Vector]
Rounding = Literal["nearest", "directed", "stochastic"]
Direction = Literal["up", "down", "in", "out"]


def small(rng: random.Random, size: int = 6) -> Fraction:
    return Fraction(rng.randint(-size, size), rng.randint(1, 6))


def add(*vectors: Vector) -> Vector:
    return [sum(column, Fraction(0)) for column in zip(*vectors, strict=True)]


def scaled(factor: Fraction, vector: Vector) -> Vector:
    return [factor * x for x in vector]


def length(norm: Norm, vector: Vector) -> Fraction:
    """An upper bound of the norm, exact for the linear ones."""
    weights = getattr(norm, "weights", [Fraction(1)] * len(vector))
    sizes = [w * abs(x) for w, x in zip(weights, vector, strict=True)]
    if norm.kind.endswith("linf"):
        return max(sizes)
    if norm.kind.endswith("l1"):
        return sum(sizes, Fraction(0))
    return sqrt_bounds(sum((x * x for x in vector), Fraction(0)))[1]


def operator(norm: Norm, matrix: Matrix) -> Fraction:
    """An upper bound of the induced operator norm."""
    n = len(matrix)
    w = list(getattr(norm, "weights", [Fraction(1)] * n))
    rows = max(
        sum((w[i] * abs(matrix[i][j]) / w[j] for j in range(n)), Fraction(0)) for i in range(n)
    )
    columns = max(
        sum((w[i] * abs(matrix[i][j]) / w[j] for i in range(n)), Fraction(0)) for j in range(n)
    )
    if norm.kind.endswith("linf"):
        return rows
    if norm.kind.endswith("l1"):
        return columns
    return sqrt_bounds(rows * columns)[1]


@dataclass(frozen=True)
class Affine:
    """Atoms ``A_j z + b_j`` with their constants in a norm."""

    norm: Norm
    matrices: list[Matrix]
    offsets: list[Vector]
    start: Vector
    horizon: Fraction
    lipschitz: Fraction
    rate: Fraction | None

    def field(self, atom: int, z: Vector) -> Vector:
        """The atom's value."""
        row = self.matrices[atom]
        return [
            sum((a * x for a, x in zip(r, z, strict=True)), b)
            for r, b in zip(row, self.offsets[atom], strict=True)
        ]

    def ideal(self, schedule: Sequence[int]) -> list[Vector]:
        """The exact states."""
        h = self.horizon / len(schedule)
        states = [self.start]
        for atom in schedule:
            states.append(add(states[-1], scaled(h, self.field(atom, states[-1]))))
        return states

    def question(self, execution: QuantizedExecution, **blocks: object) -> Question:
        """Declared with the system's true constants."""
        rate = None if self.rate is None else growth(self.rate, 1)
        return declared(
            norm=self.norm,
            dimension=len(self.start),
            atoms=len(self.offsets),
            horizon=self.horizon,
            execution=execution,
            synthesis=bounded_variation(
                field_bound=1, state_lipschitz=premise(self.lipschitz), growth=rate
            ),
            **blocks,
        )


def random_affine(rng: random.Random) -> Affine:
    """Dimension one or two, two or three atoms, a contraction of the step or not."""
    n, count = rng.randint(1, 2), rng.randint(2, 3)
    norm: Norm = rng.choice(
        [LINF, L1, L2]
        + ([weighted_linf("1/2", 3), weighted_l1(2, "1/3")] if n == 2 else [weighted_linf(3)])
    )
    matrices = [[[small(rng) for _ in range(n)] for _ in range(n)] for _ in range(count)]
    target = Fraction(rng.randint(1, 9), 10)
    largest = max(operator(norm, m) for m in matrices) or Fraction(1)
    matrices = [[[target * x / largest for x in row] for row in m] for m in matrices]
    contractive = rng.random() < 0.5
    rate = None
    if contractive:
        for m in matrices:
            for i in range(n):
                m[i][i] -= 1
        rate = target - 1
    lipschitz = max(operator(norm, m) for m in matrices)
    offsets = [[small(rng) for _ in range(n)] for _ in range(count)]
    start = [small(rng) for _ in range(n)]
    horizon = Fraction(rng.randint(1, 4), 2)
    return Affine(norm, matrices, offsets, start, horizon, lipschitz, rate)


# --- rounding -------------------------------------------------------------------------------------


def rounder(rng: random.Random, rounding: Rounding) -> Callable[[Fraction, Fraction], Fraction]:
    """Round a number to a multiple of a step, as declared; ties and directions are drawn."""
    direction: Direction = rng.choice(["up", "down", "in", "out"])

    def nearest(x: Fraction) -> int:
        low = x.numerator // x.denominator
        if x - low == Fraction(1, 2):
            return low + rng.randint(0, 1)
        return low if x - low < Fraction(1, 2) else low + 1

    def directed(x: Fraction) -> int:
        low, high = x.numerator // x.denominator, -(-x.numerator // x.denominator)
        if direction == "up" or (direction == "out" and x > 0) or (direction == "in" and x < 0):
            return high
        return low

    def stochastic(x: Fraction) -> int:
        return rng.choice([x.numerator // x.denominator, -(-x.numerator // x.denominator)])

    chosen = {"nearest": nearest, "directed": directed, "stochastic": stochastic}[rounding]
    return lambda x, step: chosen(x / step) * step


@dataclass(frozen=True)
class Machine:
    """How a step is executed: steps of the grids at this depth, rounding, field error."""

    semantics: Literal["write_back", "increment", "error_feedback"]
    step: Fraction
    round: Callable[[Fraction, Fraction], Fraction]
    carry_step: Fraction | None
    carry_round: Callable[[Fraction, Fraction], Fraction]
    field_noise: Callable[[], Vector]


def execute(
    system: Affine, machine: Machine, schedule: Sequence[int], start: Vector
) -> tuple[list[Vector], list[Vector]]:
    """The executed states, and every input of the rounding unit."""
    h = system.horizon / len(schedule)
    state, carry = start, [Fraction(0)] * len(start)
    states, inputs = [state], []
    for atom in schedule:
        field = add(system.field(atom, state), machine.field_noise())
        increment = scaled(h, field)
        if machine.semantics == "write_back":
            inputs.append(add(state, increment))
            state = [machine.round(x, machine.step) for x in inputs[-1]]
        else:
            inputs.append(add(increment, carry))
            written = [machine.round(x, machine.step) for x in inputs[-1]]
            state = add(state, written)
            if machine.semantics == "error_feedback":
                carry = add(inputs[-1], scaled(Fraction(-1), written))
                if machine.carry_step is not None:
                    carry = [machine.carry_round(x, machine.carry_step) for x in carry]
        states.append(state)
    return states, inputs


def noise(rng: random.Random, norm: Norm, dimension: int, eta: Fraction) -> Callable[[], Vector]:
    """Field errors of norm at most ``eta``, often exactly ``eta``."""

    def draw() -> Vector:
        raw = [Fraction(rng.randint(-5, 5)) for _ in range(dimension)]
        size = length(norm, raw)
        return scaled(eta / size if size else Fraction(0), raw)

    return draw


EXACT = ABSENT

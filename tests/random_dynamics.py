"""Random affine and polynomial systems, and a float twin of their fields to hold bounds against."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dynamic_questions import affine_question, forcing, polynomial_question
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf

from qreplace.question.model import Norm, PolynomialSystem, Question
from qreplace.question.subject import Subject

State = list[float]
Field = Callable[[float, Sequence[float]], State]


def small(rng: random.Random, size: int = 4) -> Fraction:
    """A short rational, often 0."""
    return Fraction(rng.randint(-size, size), rng.choice([2, 3, 4, 8]))


def random_norm(rng: random.Random, dimension: int) -> Norm:
    """Any norm of a state."""
    weights = [Fraction(rng.randint(1, 6), 3) for _ in range(dimension)]
    blocks = block_l2(2) if dimension % 2 == 0 else block_l2(1)
    chosen: list[Norm] = [LINF, L1, L2, weighted_linf(*weights), weighted_l1(*weights), blocks]
    return rng.choice(chosen)


def random_polynomial(rng: random.Random, **fields: Any) -> Question:
    """One to three states, two to four atoms of degree up to three, with time or without."""
    size, count = rng.randint(1, 3), rng.randint(2, 4)
    timed = rng.random() < 0.5
    decay = rng.random() < 0.5
    names = [f"z{i + 1}" for i in range(size)] + (["t"] if timed else [])

    def component(index: int) -> str:
        terms = [str(small(rng))]
        for _ in range(rng.randint(0, 2)):
            degree = rng.choice([1, 1, 2, 3])
            factors = "*".join(rng.choice(names) for _ in range(degree))
            terms.append(f"({small(rng, 2)})*{factors}")
        if decay:
            terms.append(f"(-{rng.choice(['1', '3/2'])})*z{index + 1}")
        return " + ".join(f"({term})" for term in terms)

    return polynomial_question(
        [[component(i) for i in range(size)] for _ in range(count)],
        [small(rng) for _ in range(size)],
        [small(rng, 2) for _ in range(size)],
        random_norm(rng, size),
        horizon=Fraction(rng.choice([1, 1, 2]), rng.choice([2, 4])),
        **fields,
    )


def random_affine(rng: random.Random, **fields: Any) -> Question:
    """One to three states, two to four atoms, some of them forcings with pieces."""
    size, count = rng.randint(1, 3), rng.randint(2, 4)
    horizon = Fraction(rng.choice([1, 2, 4]), 2)

    def row() -> list[Fraction]:
        return [small(rng) for _ in range(size)]

    def atom() -> Any:
        kind = rng.randint(0, 2)
        if kind == 0:
            return row()
        first = (0, [row() for _ in range(rng.randint(1, 3))])
        if kind == 1:
            return forcing(first)
        start = horizon * Fraction(rng.randint(1, 4), 5)
        return forcing(first, (start, [row() for _ in range(rng.randint(1, 3))]))

    scalar = rng.random() < 0.3
    return affine_question(
        [atom() for _ in range(count)],
        row(),
        row(),
        random_norm(rng, size),
        rate=Fraction(rng.randint(-2, 1), 2),
        state_matrix=None if scalar else [row() for _ in range(size)],
        horizon=horizon,
        **fields,
    )


def random_question(rng: random.Random, **fields: Any) -> Question:
    """Affine or polynomial."""
    made = random_affine if rng.random() < 0.5 else random_polynomial
    return made(rng, **fields)


@dataclass(frozen=True)
class World:
    """The system in floats: fields, start, horizon and the times at which a field may jump."""

    fields: list[Field]
    start: State
    horizon: float
    breaks: list[float]

    def mixed(self, weights: Sequence[float], t: float, z: Sequence[float]) -> State:
        """The mixture of the fields."""
        values = [field(t, z) for field in self.fields]
        return [
            sum(w * v for w, v in zip(weights, column, strict=True))
            for column in zip(*values, strict=True)
        ]

    def euler(self, weights: Sequence[Sequence[float]]) -> list[State]:
        """Every state of the mixed Euler scheme; unit weights are a pure schedule."""
        step = self.horizon / len(weights)
        states = [list(self.start)]
        for k, row in enumerate(weights):
            slope = self.mixed(row, k * step, states[-1])
            states.append([z + step * v for z, v in zip(states[-1], slope, strict=True)])
        return states

    def relaxed(self, weights: Sequence[Sequence[float]], pieces: int = 24) -> State:
        """The endpoint under weights that are constant on equal cells, by Runge and Kutta."""
        step = self.horizon / len(weights)
        state = list(self.start)
        for k, row in enumerate(weights):
            left, right = k * step, (k + 1) * step
            marks = [left, *(b for b in self.breaks if left < b < right), right]
            for a, b in itertools.pairwise(marks):
                state = self._runge_kutta(row, a, b, state, pieces)
        return state

    def _runge_kutta(
        self, row: Sequence[float], a: float, b: float, state: State, pieces: int
    ) -> State:
        h = (b - a) / pieces
        inset = 1e-12 * (b - a)

        def slope(t: float, z: Sequence[float]) -> State:
            return self.mixed(row, min(max(t, a + inset), b - inset), z)

        def moved(z: State, v: State, by: float) -> State:
            return [x + by * y for x, y in zip(z, v, strict=True)]

        for k in range(pieces):
            t = a + k * h
            one = slope(t, state)
            two = slope(t + h / 2, moved(state, one, h / 2))
            three = slope(t + h / 2, moved(state, two, h / 2))
            four = slope(t + h, moved(state, three, h))
            mean = [
                (p + 2 * q + 2 * r + s) / 6
                for p, q, r, s in zip(one, two, three, four, strict=True)
            ]
            state = moved(state, mean, h)
        return state


def world(subject: Subject) -> World:
    """The float twin of a question's system."""
    horizon = float(subject.question.horizon)
    if isinstance(subject.question.system, PolynomialSystem):
        problem = subject.polynomial(0)
        parts = [
            [
                [(float(c), e) for e, c in zip(p.exponents, p.coefficients, strict=True)]
                for p in atom
            ]
            for atom in problem.atoms
        ]
        fields = [_polynomial_field(atom) for atom in parts]
        return World(fields, [float(z) for z in problem.initial], horizon, [])
    affine = subject.affine(0)
    size = affine.dimension
    matrix = [[float(affine.entry(i, j)) for j in range(size)] for i in range(size)]
    fields = []
    for pieces in affine.atoms:
        steps = [
            (
                float(piece.start),
                [[c / affine.denominator for c in row] for row in piece.coefficients],
            )
            for piece in pieces
        ]
        fields.append(_affine_field(matrix, steps))
    start = [n / affine.denominator for n in affine.initial]
    return World(fields, start, horizon, [float(b) for b in affine.breaks])


def _polynomial_field(parts: Sequence[Sequence[tuple[float, Sequence[int]]]]) -> Field:
    def field(t: float, z: Sequence[float]) -> State:
        point = (t, *z)
        found = []
        for terms in parts:
            total = 0.0
            for coefficient, exponents in terms:
                for value, exponent in zip(point, exponents, strict=True):
                    coefficient *= value**exponent
                total += coefficient
            found.append(total)
        return found

    return field


def _affine_field(
    matrix: Sequence[Sequence[float]], steps: Sequence[tuple[float, Sequence[Sequence[float]]]]
) -> Field:
    def field(t: float, z: Sequence[float]) -> State:
        rows = next(rows for start, rows in reversed(steps) if t >= start or start == 0)
        powers = [t**k for k in range(len(rows))]
        return [
            sum(a * x for a, x in zip(line, z, strict=True))
            + sum(p * row[i] for p, row in zip(powers, rows, strict=True))
            for i, line in enumerate(matrix)
        ]

    return field


def length(norm: Norm, vector: Sequence[float]) -> float:
    """The norm in floats."""
    weights = [float(w) for w in getattr(norm, "weights", [1] * len(vector))]
    sizes = [w * abs(x) for w, x in zip(weights, vector, strict=True)]
    if norm.kind.endswith("linf"):
        return max(sizes)
    if norm.kind.endswith("l1"):
        return sum(sizes)
    block = getattr(norm, "block", len(vector))
    parts = (sizes[start : start + block] for start in range(0, len(sizes), block))
    return max(float(sum(x * x for x in part) ** 0.5) for part in parts)


def minus(one: Sequence[float], other: Sequence[float]) -> State:
    """The difference."""
    return [a - b for a, b in zip(one, other, strict=True)]


def random_weights(rng: random.Random, count: int) -> list[Fraction]:
    """A point of the simplex, sometimes a vertex."""
    parts = [rng.randint(0, 12) for _ in range(count)]
    if sum(parts) == 0 or rng.random() < 0.3:
        parts = [0] * count
        parts[rng.randrange(count)] = 1
    return [Fraction(part, sum(parts)) for part in parts]

"""Small random affine systems, their exact Euler runs and their float endpoints, for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from dynamic_questions import affine_question, forcing
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf

from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import ForcingAtom, Norm
from qreplace.question.subject import Subject


def norms_of(dimension: int) -> list[Norm]:
    """One norm of every kind."""
    weights = [Fraction(k + 1, 2) for k in range(dimension)]
    return [LINF, L1, L2, weighted_linf(*weights), weighted_l1(*weights), block_l2(dimension)]


def random_affine(seed: int, *, norm: Norm | None = None, **fixed: Any) -> Subject:
    """One to three coordinates, two or three atoms; some with forcings, some of one rate."""
    draw = random.Random(seed)
    size = fixed.pop("dimension", draw.randint(1, 3))
    count = draw.randint(2, 3)
    timed = fixed.pop("timed", draw.random() < 0.5)
    coupled = fixed.pop("coupled", draw.random() < 0.7)

    def vector() -> list[Fraction]:
        return [Fraction(draw.randint(-6, 6), 3) for _ in range(size)]

    atoms: list[list[Fraction] | ForcingAtom] = []
    for _ in range(count):
        if not timed:
            atoms.append(vector())
        else:
            pieces = [(Fraction(0), [vector() for _ in range(draw.randint(1, 3))])]
            if draw.random() < 0.5:
                pieces.append((Fraction(2, 5), [vector() for _ in range(2)]))
            atoms.append(forcing(*pieces))
    matrix = [[Fraction(draw.randint(-6, 6), 4) for _ in range(size)] for _ in range(size)]
    question = affine_question(
        atoms,
        [x * 2 for x in vector()],
        vector(),
        draw.choice(norms_of(size)) if norm is None else norm,
        rate=Fraction(draw.randint(-4, 2), 3),
        state_matrix=matrix if coupled else None,
        horizon=draw.choice([Fraction(1), Fraction(3, 2)]),
        **fixed,
    )
    return Subject(question, {})


def forcing_at(problem: AffineProblem, atom: int, time: Fraction) -> list[Fraction]:
    """``b_j(t)``; a change takes effect at its own time."""
    piece = [p for p in problem.atoms[atom] if p.start <= time][-1]
    return [
        sum(
            (Fraction(row[i], problem.denominator) * time**k)
            for k, row in enumerate(piece.coefficients)
        )
        for i in range(problem.dimension)
    ]


def euler(problem: AffineProblem, schedule: Sequence[int]) -> list[Fraction]:
    """The exact endpoint of one atom a step."""
    size = problem.dimension
    step = problem.horizon / len(schedule)
    state = [Fraction(n, problem.denominator) for n in problem.initial]
    matrix = [[problem.entry(i, k) for k in range(size)] for i in range(size)]
    for k, atom in enumerate(schedule):
        drift = forcing_at(problem, atom, k * step)
        state = [
            z + step * (sum(a * x for a, x in zip(row, state, strict=True)) + b)
            for z, row, b in zip(state, matrix, drift, strict=True)
        ]
    return state


def error(problem: AffineProblem, norm: Norm, state: Sequence[Fraction]) -> float:
    """The norm of a state less the target, in floats."""
    from qreplace.produce.mixture_program import float_norm

    target = [Fraction(n, problem.denominator) for n in problem.target]
    offset = [float(z - y) for z, y in zip(state, target, strict=True)]
    return float_norm(norm, np.array(offset))


def float_endpoint(
    problem: AffineProblem, ends: Sequence[float], atoms: Sequence[int], steps: int = 400
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The endpoint of one atom after the other by the fourth-order Runge-Kutta method."""
    size = problem.dimension
    matrix = np.array([[float(problem.entry(i, k)) for k in range(size)] for i in range(size)])
    state = np.array([n / problem.denominator for n in problem.initial])
    marks = sorted({0.0, *ends, *map(float, problem.breaks), float(problem.horizon)})
    for start, end in pairwise(marks):
        atom = next(a for e, a in zip(ends, atoms, strict=True) if (start + end) / 2 <= e)
        middle = Fraction((start + end) / 2)
        piece = [p for p in problem.atoms[atom] if p.start <= middle][-1]
        rows = np.array([[n / problem.denominator for n in row] for row in piece.coefficients])

        def field(t: float, z: Any, rows: Any = rows) -> Any:
            return matrix @ z + t ** np.arange(len(rows)) @ rows

        count = max(1, round(steps * (end - start)))
        h = (end - start) / count
        for k in range(count):
            t = start + k * h
            a = field(t, state)
            b = field(t + h / 2, state + h / 2 * a)
            c = field(t + h / 2, state + h / 2 * b)
            d = field(t + h, state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return state

"""Affine dynamics in floats: columns of endpoints, integrands along a functional, switching times.

Proposals only (theory T7.2); the exact values are formed by ``exact.affine_flow``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.linear_program import Floats
from qreplace.question.dynamics import AffineProblem

MAX_DIMENSION = 600
"""Largest state for which endpoints of single cells are formed."""
SAMPLES = 1024
"""Times at which integrands are compared before crossings are looked for."""
CROSSING_STEPS = 80


@dataclass(frozen=True)
class Arc:
    """One atom is the largest along a functional up to ``end``."""

    end: float
    atom: int


class FloatFlow:
    """The problem in floats; ``unit`` is the largest entry of its data."""

    def __init__(self, problem: AffineProblem) -> None:
        size = problem.dimension
        if size > MAX_DIMENSION:
            raise ProducerFailed(
                f"general affine dynamics are solved up to {MAX_DIMENSION} coordinates, the state "
                f"has {size}"
            )
        self.problem = problem
        self.horizon = float(problem.horizon)
        self.matrix = float(problem.rate) * np.eye(size)
        if problem.matrix is not None:
            self.matrix = self.matrix + _floats(problem.matrix, problem.matrix_denominator)
        self.breaks = [float(t) for t in problem.breaks]
        self.initial = _floats(problem.initial, problem.denominator)
        self.target = _floats(problem.target, problem.denominator)
        self.degree = max(len(p.coefficients) for atom in problem.atoms for p in atom) - 1
        self._forcings: dict[int, Floats] = {}

    @property
    def atoms(self) -> int:
        """J."""
        return len(self.problem.atoms)

    # --- forcings ---------------------------------------------------------------------------------

    def _segment(self, time: float) -> int:
        """The number of the interval between breaks that holds a time inside it."""
        return int(np.searchsorted(self.breaks, time, side="right"))

    def _coefficients(self, segment: int) -> Floats:
        """Forcings between two breaks, shape (degree + 1, J, q)."""
        if segment not in self._forcings:
            marks = [Fraction(0), *self.problem.breaks, self.problem.horizon]
            start, end = marks[segment], marks[segment + 1]
            values = np.zeros((self.degree + 1, self.atoms, self.problem.dimension))
            for j in range(self.atoms):
                rows = self.problem.piece_at(j, start, end).coefficients
                values[: len(rows), j] = _floats(rows, self.problem.denominator)
            self._forcings[segment] = values
        return self._forcings[segment]

    def forcing(self, time: float, inside: float | None = None) -> Floats:
        """``b_j(time)``, shape (J, q); ``inside`` says on which side of a break."""
        values = self._coefficients(self._segment(time if inside is None else inside))
        powers = time ** np.arange(self.degree + 1)
        return np.asarray(np.tensordot(powers, values, axes=1))

    def _local(self, start: float, inside: float) -> Floats:
        """Coefficients in ``u = t - start``, shape (degree + 1, J, q)."""
        values = self._coefficients(self._segment(inside))
        local = np.zeros_like(values)
        for i in range(self.degree + 1):
            for m in range(i, self.degree + 1):
                local[i] += math.comb(m, i) * start ** (m - i) * values[m]
        return local

    # --- endpoints --------------------------------------------------------------------------------

    def free(self) -> Floats:
        """``e^{AT} z_0``."""
        from scipy.linalg import expm

        return np.asarray(expm(self.matrix * self.horizon) @ self.initial)

    def columns(self, cuts: Sequence[float]) -> Floats:
        """``int e^{A(T-t)} b_j(t) dt`` over every cell, shape (q, cells, J)."""
        from scipy.linalg import expm

        size, count = self.problem.dimension, self.atoms
        chain = self.degree + 1
        found = np.zeros((size, len(cuts) - 1, count))
        onward = np.eye(size)
        for cell in reversed(range(len(cuts) - 1)):
            start, width = cuts[cell], cuts[cell + 1] - cuts[cell]
            block = self._chain(start, start + width / 2, range(count))
            moved = expm(block * width)
            found[:, cell] = onward @ moved[:size, size + chain - 1 :: chain]
            onward = onward @ moved[:size, :size]
        return found

    def euler_columns(self, depth: int) -> tuple[Floats, Floats]:
        """``(I + hA)^D z_0`` and ``h (I + hA)^{D-1-k} b_j(t_k)``, shape (q, D, J) (theory T3.6)."""
        step = self.horizon / depth
        found = np.zeros((self.problem.dimension, depth, self.atoms))
        onward = np.eye(self.problem.dimension)
        move = onward + step * self.matrix
        for k in reversed(range(depth)):
            found[:, k] = step * onward @ self.forcing(k * step).T
            onward = onward @ move
        return onward @ self.initial, found

    # --- along a functional -----------------------------------------------------------------------

    def arcs(self, functional: Floats) -> list[Arc]:
        """Which atom is the largest along ``e^{A^T (T - t)} functional``, and until when."""
        from scipy.linalg import expm

        marks = [0.0, *self.breaks, self.horizon]
        found: list[Arc] = []
        adjoint = functional
        for segment in reversed(range(len(marks) - 1)):
            start, end = marks[segment], marks[segment + 1]
            count = max(8, round(SAMPLES * (end - start) / self.horizon))
            step = (end - start) / count
            back = expm(self.matrix * step).T
            rows = [adjoint]
            for _ in range(count):
                rows.append(back @ rows[-1])
            adjoint = rows[-1]
            rows.reverse()
            found[:0] = self._arcs_between(start, step, np.array(rows), (start + end) / 2)
        return _merged(found)

    def along(self, functional: Floats, arcs: Sequence[Arc]) -> tuple[Floats, Floats, Floats]:
        """What the arcs reach beyond ``e^{AT} z_0``; jumps (q, switches) and slopes of switches.

        At a switching time t the jump is ``e^{A(T-t)} (b_new - b_old)`` and the slope the rate at
        which the new integrand overtakes the old one, not negative.
        """
        from scipy.linalg import expm

        size = self.problem.dimension
        reached = np.zeros(size)
        jumps, slopes = [], []
        onward = np.eye(size)
        marks = sorted({0.0, *self.breaks, *(arc.end for arc in arcs)})
        for start, end in reversed(list(pairwise(marks))):
            atom = next(arc.atom for arc in arcs if end <= arc.end)
            moved = expm(self._chain(start, (start + end) / 2, [atom]) * (end - start))
            reached = reached + onward @ moved[:size, -1]
            onward = onward @ moved[:size, :size]
            place = next((k for k, arc in enumerate(arcs[:-1]) if arc.end == start), None)
            if place is None:
                continue
            pair = [arcs[place + 1].atom, arcs[place].atom]
            new, old = self.forcing(start, (start + end) / 2)[pair]
            rate_new, rate_old = self._rates(start, (start + end) / 2)[pair]
            jump = onward @ (new - old)
            slope = float(functional @ (onward @ (rate_new - rate_old) - self.matrix @ jump))
            if slope > 0:  # a break can put another atom ahead at once
                jumps.append(jump)
                slopes.append(slope)
        return reached, np.array(jumps).reshape(-1, size).T, np.array(slopes)

    def _rates(self, time: float, inside: float) -> Floats:
        """The derivatives of the forcings, shape (J, q)."""
        values = self._coefficients(self._segment(inside))
        powers = np.arange(self.degree + 1) * time ** np.maximum(np.arange(self.degree + 1) - 1, 0)
        return np.asarray(np.tensordot(powers, values, axes=1))

    def _chain(self, start: float, inside: float, atoms: Sequence[int]) -> Floats:
        """The generator of the state together with ``u^i / i!`` for the forcings of some atoms."""
        size, chain = self.problem.dimension, self.degree + 1
        local = self._local(start, inside)
        block = np.zeros((size + len(atoms) * chain,) * 2)
        block[:size, :size] = self.matrix
        for position, j in enumerate(atoms):
            first = size + position * chain
            for i in range(chain):
                block[:size, first + chain - 1 - i] = local[i, j] * math.factorial(i)
            block[first : first + chain - 1, first + 1 : first + chain] = np.eye(chain - 1)
        return block

    def _arcs_between(self, start: float, step: float, adjoint: Floats, inside: float) -> list[Arc]:
        """Arcs on one segment; ``adjoint[k]`` is the functional at ``start + k step``."""
        values = self._coefficients(self._segment(inside))
        times = start + step * np.arange(len(adjoint))
        powers = times[:, None] ** np.arange(self.degree + 1)
        products = np.einsum("kq,djq->kdj", adjoint, values)
        largest = np.einsum("kd,kdj->kj", powers, products).argmax(axis=1)
        found = []
        for k in range(len(adjoint) - 1):
            one, other = int(largest[k]), int(largest[k + 1])
            if one != other:
                span = (float(times[k]), float(times[k + 1]))
                found.extend(self._crossings(adjoint[k + 1], span, one, other, inside, 0))
        found.append(Arc(float(times[-1]), int(largest[-1])))
        return found

    def _crossings(
        self,
        at_end: Floats,
        span: tuple[float, float],
        one: int,
        other: int,
        inside: float,
        level: int,
    ) -> list[Arc]:
        """Where ``other`` overtakes ``one``, by way of a third one if that is larger there."""
        series = self._series(at_end, span[1] - span[0])

        def values(time: float) -> Floats:
            return np.asarray(self.forcing(time, inside) @ series(span[1] - time))

        low, high = span
        for _ in range(CROSSING_STEPS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            now = values(middle)
            if now[one] >= now[other]:
                low = middle
            else:
                high = middle
        now = values(high)
        third = int(now.argmax())
        size = float(np.abs(now).max())
        if level < 4 and third not in (one, other) and now[third] > now[other] + 1e-13 * size:
            left = self._crossings(series(span[1] - high), (span[0], high), one, third, inside, 4)
            right = self._crossings(at_end, (high, span[1]), third, other, inside, 4)
            return left + right
        return [Arc(high, one)]

    def _series(self, vector: Floats, width: float) -> Series:
        """``s -> e^{A^T s} vector`` on a short interval by its Taylor series."""
        terms = [vector]
        size = float(np.abs(vector).max()) or 1.0
        k = 0
        while k < 40 and float(np.abs(terms[-1]).max()) * width**k > 1e-18 * size:
            k += 1
            terms.append(self.matrix.T @ terms[-1] / k)
        return Series(np.array(terms))


@dataclass(frozen=True)
class Series:
    """``sum_k terms[k] s^k``."""

    terms: Floats

    def __call__(self, s: float) -> Floats:
        """The value at ``s``."""
        return np.asarray(s ** np.arange(len(self.terms)) @ self.terms)


def _merged(arcs: Sequence[Arc]) -> list[Arc]:
    """Neighbouring arcs of one atom as one; empty arcs are dropped."""
    found: list[Arc] = []
    last = 0.0
    for arc in arcs:
        if arc.end <= last:
            continue
        if found and found[-1].atom == arc.atom:
            found[-1] = arc
        else:
            found.append(arc)
        last = arc.end
    return found


def _floats(values: Sequence[int] | Sequence[Sequence[int]], denominator: int) -> Floats:
    """Integers over a denominator; Python's division is exact to the last bit at any size."""
    rows = [[row] if isinstance(row, int) else row for row in values]
    found = np.array([[n / denominator for n in row] for row in rows], dtype=np.float64)
    return found[:, 0] if values and isinstance(values[0], int) else found

"""Moving sides ``l_i(t) <= z_i <= h_i(t)`` that every trajectory keeps to, proposed in floats.

Where a coordinate sits on a side, every atom must push it inward faster than the side moves; that
is Mueller's theorem, and it holds where a speed bound fails (``z' = -z + u`` over any horizon).
Each side is a short polynomial in time; a linear programme finds the tightest one against the
present sides of the other coordinates, with the field linearised in the side's own coordinate, and
the sides are swept until they settle. Everything here is a proposal: the region's proofs decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import Polynomial, from_terms, variable
from qreplace.produce.float_fields import FloatField, Floats
from qreplace.question.dynamics import PolynomialProblem

GRID = 24
"""Times at which a side is asked to hold; twice as many when it is tried."""
SWEEPS = 40
SETTLED = 1e-4
FULL_FACE_SAMPLING = 4
"""Up to this many other coordinates a face is sampled at corners, edges and middles."""
CORNER_SAMPLING = 7
LARGEST_SIDE = 1e6


@dataclass(frozen=True)
class Sides:
    """Coefficients in ``t`` of the lower and upper side of every coordinate."""

    lower: tuple[tuple[Fraction, ...], ...]
    upper: tuple[tuple[Fraction, ...], ...]

    def constraints(self, index: int) -> tuple[Polynomial, Polynomial]:
        """``z_i - l_i(t)`` and ``h_i(t) - z_i``."""
        arity = len(self.lower) + 1
        z = variable(index + 1, arity)
        low, high = (
            from_terms({(k, *([0] * (arity - 1))): c for k, c in enumerate(side[index])})
            for side in (self.lower, self.upper)
        )
        return z - low, high - z

    def hull(self, horizon: Fraction) -> tuple[list[float], list[float]]:
        """The least and largest value of every coordinate over the horizon, in floats."""
        times = np.linspace(0, float(horizon), 65)
        low = [float(_values(side, times).min()) for side in self.lower]
        high = [float(_values(side, times).max()) for side in self.upper]
        return low, high


def propose_sides(problem: PolynomialProblem, degree: int, room: float) -> Sides:
    """Sides of a degree in time that hold strictly on a grid.

    ``room``: how far, in parts of the speeds met, a side outruns the field. Raises
    ``ProducerFailed`` when no side of that degree is found.
    """
    search = _Search(problem, degree, room)
    for _ in range(SWEEPS):
        if search.sweep() < SETTLED:
            break
    return search.finished()


class _Search:
    """Sides in normalised time, improved one at a time."""

    def __init__(self, problem: PolynomialProblem, degree: int, room: float) -> None:
        self.field = FloatField(problem)
        self.size = problem.dimension
        self.horizon = float(problem.horizon)
        self.degree = degree
        self.room = room
        self.start = np.array([float(x) for x in problem.initial])
        self.lower = np.zeros((self.size, degree + 1))
        self.lower[:, 0] = self.start
        self.upper = self.lower.copy()

    def sweep(self) -> float:
        """Improve every side once; the largest move relative to the widths."""
        before = np.concatenate([self.lower, self.upper])
        speed = self._speeds()
        for index in range(self.size):
            self.lower[index], self.upper[index] = (
                self._side(index, -1, speed[index]),
                self._side(index, +1, speed[index]),
            )
        after = np.concatenate([self.lower, self.upper])
        if not np.isfinite(after).all() or np.abs(after).max() > LARGEST_SIDE:
            raise ProducerFailed("the sides of the region run away: trajectories may escape")
        width = np.abs(self.upper - self.lower).sum(axis=1).max()
        return float(np.abs(after - before).max() / max(width, 1e-300))

    def finished(self) -> Sides:
        """Short dyadic sides, once they hold strictly on a finer grid."""
        speed = self._speeds()
        sides = Sides(
            tuple(self._rounded(row, s) for row, s in zip(self.lower, speed, strict=True)),
            tuple(self._rounded(row, s) for row, s in zip(self.upper, speed, strict=True)),
        )
        times = np.linspace(0, self.horizon, 2 * GRID + 1)
        low = np.array([_values(row, times) for row in sides.lower])
        high = np.array([_values(row, times) for row in sides.upper])
        if (low >= high).any() or (low[:, 0] > self.start).any() or (high[:, 0] < self.start).any():
            raise ProducerFailed("the sides of the region cross")
        for index in range(self.size):
            for sign, own, rows in ((-1, low, sides.lower), (1, high, sides.upper)):
                moves = _values([k * c for k, c in enumerate(rows[index])][1:], times)
                points = self._face(index, times, own[index], low, high)
                ahead = sign * (moves[None, :, None] - self.field.component(index, points))
                if ahead.min() < self.room * speed[index] / 4:
                    raise ProducerFailed("no side of this degree outruns the field")
        return sides

    def _side(self, index: int, sign: int, speed: float) -> Floats:
        """The tightest side against the others; ``sign`` is -1 for the lower one."""
        from scipy.optimize import linprog

        unit = np.linspace(0, 1, GRID + 1)
        times = self.horizon * unit
        powers = unit[:, None] ** np.arange(self.degree + 1)
        moves = np.zeros_like(powers)
        moves[:, 1:] = powers[:, :-1] * np.arange(1, self.degree + 1) / self.horizon
        low, high = powers @ self.lower.T, powers @ self.upper.T
        own = (low if sign < 0 else high)[:, index]
        points = self._face(index, times, own, low.T, high.T)
        value = self.field.component(index, points)
        slope = self.field.slope(index, points)
        # sign * (h' - G(h_now) - slope (h - h_now)) >= room * speed
        rows = sign * (moves[None, :, None, :] - slope[..., None] * powers[None, :, None, :])
        need = sign * (value - slope * own[None, :, None]) + self.room * speed
        gap = self.room * speed * self.horizon / 4
        first = np.zeros(self.degree + 1)
        first[0] = sign
        matrix = np.concatenate([rows.reshape(-1, self.degree + 1), first[None]])
        bound = np.concatenate([need.reshape(-1), [sign * self.start[index] + gap]])
        answer = linprog(sign * powers.mean(axis=0), A_ub=-matrix, b_ub=-bound, bounds=(None, None))
        if answer.status != 0:
            raise ProducerFailed(f"no side of degree {self.degree} in time outruns the field")
        return np.asarray(answer.x)

    def _face(self, index: int, times: Floats, own: Floats, low: Floats, high: Floats) -> Floats:
        """Points ``(t, z)`` with ``z_i`` on the side, shape (times, samples, variables)."""
        others = [k for k in range(self.size) if k != index]
        levels = (0.0, 0.5, 1.0) if len(others) <= FULL_FACE_SAMPLING else (0.0, 1.0)
        if len(others) <= CORNER_SAMPLING:
            every = list(itertools.product(levels, repeat=len(others)))
            samples = np.array(every).reshape(len(every), len(others))
        else:
            generator = np.random.Generator(np.random.PCG64(0))
            samples = generator.integers(0, 2, size=(2**CORNER_SAMPLING, len(others))).astype(float)
        points = np.empty((len(times), len(samples), self.size + 1))
        points[..., 0] = times[:, None]
        points[..., index + 1] = own[:, None]
        for column, k in enumerate(others):
            spread = (high[k] - low[k])[:, None]
            points[..., k + 1] = low[k][:, None] + spread * samples[None, :, column]
        return points

    def _speeds(self) -> Floats:
        """The largest speed of every coordinate on the present sides; never quite 0."""
        unit = np.linspace(0, 1, GRID + 1)
        powers = unit[:, None] ** np.arange(self.degree + 1)
        low, high = (powers @ self.lower.T).T, (powers @ self.upper.T).T
        found = np.empty(self.size)
        for index in range(self.size):
            both = [self._face(index, self.horizon * unit, own[index], low, high)
                    for own in (low, high)]  # fmt: skip
            found[index] = max(np.abs(self.field.component(index, p)).max() for p in both)
        return np.maximum(found, max(1e-2 * found.max(), 1e-6))

    def _rounded(self, row: Floats, speed: float) -> tuple[Fraction, ...]:
        """Coefficients in ``t``, rounded far below the room that was left."""
        unit = self.room * speed * min(self.horizon, 1.0) / 64
        bits = max(0, int(np.ceil(-np.log2(unit))))
        return tuple(
            Fraction(round(c / self.horizon**k * 2**bits), 1 << bits)
            for k, c in enumerate(row.tolist())
        )


def _values(coefficients: Sequence[Fraction] | Floats, times: Floats) -> Floats:
    values = np.zeros_like(times)
    for power, coefficient in enumerate(coefficients):
        values = values + float(coefficient) * times**power
    return values

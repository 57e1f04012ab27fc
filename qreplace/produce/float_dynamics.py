"""Controls followed in floats, with the derivatives of their endpoints; proposals only.

Cells of a time grid carry constant mixing weights. A cell is crossed by Runge-Kutta steps of order
8 (Dormand and Prince); the variational equation is stepped by the same method, so the derivatives
are those of the computed endpoints, to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qreplace.exact.polynomial import Exponents, Polynomial
from qreplace.produce.linear_program import Floats
from qreplace.question.endpoints import SmoothPart

STEP_SIZE = 0.25
"""Largest product of a Runge-Kutta step and the field's Lipschitz constant on the way."""
MAX_SUBSTEPS = 16


class FloatPart:
    """The atoms of one smooth part: ``G_j(t, z) = coefficients[j] @ monomials(t, z)``."""

    def __init__(self, part: SmoothPart, dimension: int) -> None:
        self.dimension = dimension
        self.start, self.end = float(part.start), float(part.end)
        self.places: dict[Exponents, int] = {(0,) * (dimension + 1): 0}
        for i in range(dimension + 1):
            self.places[tuple(int(i == k) for k in range(dimension + 1))] = i + 1
        self.products: list[tuple[int, int]] = []
        derivatives = [
            [[component.derivative(v + 1) for v in range(dimension)] for component in atom]
            for atom in part.atoms
        ]
        for atom, slopes in zip(part.atoms, derivatives, strict=True):
            for component, row in zip(atom, slopes, strict=True):
                for polynomial in (component, *row):
                    for exponents in polynomial.exponents:
                        self._place(exponents)
        self.coefficients = np.array(
            [[self._dense(component) for component in atom] for atom in part.atoms]
        )
        """Shape (atoms, n, monomials)."""
        self.slopes = np.array(
            [[[self._dense(p) for p in row] for row in atom] for atom in derivatives]
        )
        """Shape (atoms, n, n, monomials): entry (j, i, v) is the derivative of G_ji by z_v."""
        self.affine_slope: float | None = None
        """The Lipschitz constant where no Jacobian depends on time or state."""
        if not self.slopes[..., 1:].any():
            self.affine_slope = float(np.abs(self.slopes[..., 0]).sum(axis=2).max())

    def _place(self, exponents: Exponents) -> int:
        if exponents not in self.places:
            variable = next(i for i, exponent in enumerate(exponents) if exponent)
            lowered = list(exponents)
            lowered[variable] -= 1
            left = self._place(tuple(lowered))
            self.products.append((left, variable + 1))
            self.places[exponents] = len(self.places)
        return self.places[exponents]

    def _dense(self, polynomial: Polynomial) -> Floats:
        values = np.zeros(len(self.places))
        for exponents, coefficient in zip(
            polynomial.exponents, polynomial.coefficients, strict=True
        ):
            values[self.places[exponents]] = float(coefficient)
        return values

    def monomials(self, times: Floats, states: Floats) -> Floats:
        """Values of shape (rows, monomials) at times (rows,) and states (rows, n)."""
        values = np.empty((len(states), len(self.places)))
        values[:, 0] = 1.0
        values[:, 1] = times
        values[:, 2 : self.dimension + 2] = states
        for place, (left, right) in enumerate(self.products, self.dimension + 2):
            values[:, place] = values[:, left] * values[:, right]
        return values

    def lipschitz(self, times: Floats, states: Floats) -> float:
        """The largest row sum of any atom's Jacobian at the given points."""
        if self.affine_slope is not None:
            return self.affine_slope
        values = self.monomials(times, states)
        jacobians = np.einsum("jivm,rm->jriv", self.slopes, values)
        return float(np.abs(jacobians).sum(axis=3).max())


class Grid:
    """Cell borders in ``[0, T]``, each cell inside one smooth part."""

    def __init__(self, borders: Sequence[float] | Floats, parts: Sequence[FloatPart]) -> None:
        self.borders = np.asarray(borders, dtype=np.float64)
        middles = (self.borders[1:] + self.borders[:-1]) / 2
        self.parts = [next(p for p in parts if m <= p.end) for m in middles]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.borders) - 1


class Simulator:
    """Endpoints of relaxed controls and of Euler schedules, and their derivatives."""

    def __init__(
        self, parts: Sequence[SmoothPart], initial: Sequence[Fraction], horizon: Fraction
    ) -> None:
        self.dimension = len(initial)
        self.parts = [FloatPart(part, self.dimension) for part in parts]
        self.initial = np.array([float(x) for x in initial])
        self.horizon = float(horizon)
        self.count = len(parts[0].atoms)
        self._tableau = _tableau()

    def grid(self, cells: int) -> Grid:
        """About ``cells`` equal cells, cut at the borders of the parts."""
        equal = np.linspace(0.0, self.horizon, cells + 1)
        cuts = [part.start for part in self.parts]
        borders = np.union1d(equal, cuts)
        close = np.diff(borders) > 1e-12 * self.horizon
        return Grid(np.append(borders[:-1][close], self.horizon), self.parts)

    # --- relaxed controls -----------------------------------------------------------------------

    def trajectories(self, grid: Grid, weights: Floats) -> Floats:
        """States at the borders, shape (rows, cells + 1, n), for weights (rows, cells, atoms).

        Not finite where a trajectory escapes.
        """
        rows = len(weights)
        states = np.empty((rows, grid.cells + 1, self.dimension))
        states[:, 0] = self.initial
        for cell in range(grid.cells):
            part = grid.parts[cell]
            mixed = np.tensordot(weights[:, cell], part.coefficients, axes=1)
            span = grid.borders[cell], grid.borders[cell + 1]
            states[:, cell + 1] = self._cross(part, mixed, span, states[:, cell])
        return states

    def _cross(
        self, part: FloatPart, mixed: Floats, span: tuple[float, float], states: Floats
    ) -> Floats:
        low, high = span
        number = self._substeps(part, high - low, np.full(len(states), low), states)
        step = (high - low) / number
        rows, shifts, final = self._tableau
        stages = np.empty((len(shifts), states.size))
        for k in range(number):
            for s, shift in enumerate(shifts):
                point = states + step * (rows[s][:s] @ stages[:s]).reshape(states.shape)
                times = np.full(len(states), low + (k + shift) * step)
                values = part.monomials(times, point)
                stages[s] = np.matmul(mixed, values[:, :, None]).ravel()
            states = states + step * (final @ stages).reshape(states.shape)
        return states

    def _substeps(self, part: FloatPart, width: float, times: Floats, states: Floats) -> int:
        slope = part.lipschitz(times, states)
        if not np.isfinite(slope):
            return 1
        return int(np.clip(np.ceil(slope * width / STEP_SIZE), 1, MAX_SUBSTEPS))

    def sensitivities(self, grid: Grid, weights: Floats, states: Floats) -> Floats:
        """Derivatives (n, cells, atoms) of the endpoint by the weights (cells, atoms).

        ``states`` (cells + 1, n) are the trajectory at the borders.
        """
        effects = np.empty((self.dimension, grid.cells, self.count))
        onward = np.eye(self.dimension)
        variations = self._variations(grid, weights, states)
        for cell in reversed(range(grid.cells)):
            matrix = variations[cell]
            effects[:, cell] = onward @ matrix[:, self.dimension :]
            onward = onward @ matrix[:, : self.dimension]
        return effects

    def _variations(self, grid: Grid, weights: Floats, states: Floats) -> Floats:
        """Derivatives of the state after each cell: by the state before, then by the weights.

        Shape (cells, n, n + atoms); the cells of one part go together.
        """
        result = np.empty((grid.cells, self.dimension, self.dimension + self.count))
        for part in self.parts:
            cells = [i for i, own in enumerate(grid.parts) if own is part]
            if cells:
                lows = grid.borders[cells]
                widths = grid.borders[np.array(cells) + 1] - lows
                result[cells] = self._variation(part, weights[cells], lows, widths, states[cells])
        return result

    def _variation(
        self, part: FloatPart, weights: Floats, lows: Floats, widths: Floats, states: Floats
    ) -> Floats:
        size, count = self.dimension, len(states)
        mixed = np.tensordot(weights, part.coefficients, axes=1)
        slopes = np.tensordot(weights, part.slopes, axes=1)
        number = self._substeps(part, float(widths.max()), lows, states)
        steps = widths / number
        matrices = np.zeros((count, size, size + self.count))
        matrices[:, :, :size] = np.eye(size)
        rows, shifts, final = self._tableau
        stages = np.empty((len(shifts), count, size))
        changes = np.empty((len(shifts), *matrices.shape))
        for k in range(number):
            for s, shift in enumerate(shifts):
                moved = np.tensordot(rows[s][:s], stages[:s], axes=1)
                values = part.monomials(lows + (k + shift) * steps, states + steps[:, None] * moved)
                stages[s] = np.matmul(mixed, values[:, :, None])[:, :, 0]
                jacobians = np.einsum("civm,cm->civ", slopes, values)
                moved = np.tensordot(rows[s][:s], changes[:s], axes=1)
                changes[s] = jacobians @ (matrices + steps[:, None, None] * moved)
                changes[s, :, :, size:] += np.einsum("jim,cm->cij", part.coefficients, values)
            states = states + steps[:, None] * np.tensordot(final, stages, axes=1)
            matrices = matrices + steps[:, None, None] * np.tensordot(final, changes, axes=1)
        return matrices

    # --- Euler steps ----------------------------------------------------------------------------

    def part_at(self, time: float) -> FloatPart:
        """The part that holds from a time on."""
        slack = 1e-12 * self.horizon
        return next(part for part in self.parts if time < part.end - slack)

    def euler_trajectories(self, weights: Floats) -> Floats:
        """Euler states, shape (rows, depth + 1, n), for weights (rows, depth, atoms)."""
        rows, depth, _ = weights.shape
        step = self.horizon / depth
        states = np.empty((rows, depth + 1, self.dimension))
        states[:, 0] = self.initial
        for k in range(depth):
            part = self.part_at(k * step)
            values = part.monomials(np.full(rows, k * step), states[:, k])
            fields = np.einsum("jim,rm->rji", part.coefficients, values)
            change = np.einsum("rj,rji->ri", weights[:, k], fields)
            states[:, k + 1] = states[:, k] + step * change
        return states

    def euler_sensitivities(self, weights: Floats) -> tuple[Floats, Floats]:
        """Endpoint (n,) and derivatives (n, depth, atoms) by the weights (depth, atoms)."""
        depth = len(weights)
        step = self.horizon / depth
        states = self.euler_trajectories(weights[None])[0]
        effects = np.empty((self.dimension, depth, self.count))
        onward = np.eye(self.dimension)
        for k in reversed(range(depth)):
            part = self.part_at(k * step)
            values = part.monomials(np.array([k * step]), states[k][None])[0]
            effects[:, k] = step * onward @ (part.coefficients @ values).T
            slope = np.tensordot(weights[k], part.slopes, axes=1) @ values
            onward = onward + step * onward @ slope
        return states[-1], effects


def _tableau() -> tuple[list[NDArray[np.float64]], list[float], NDArray[np.float64]]:
    """Stage rows, stage times and weights of Dormand and Prince's method of order 8."""
    from scipy.integrate import DOP853

    number = DOP853.n_stages
    rows = [np.asarray(row) for row in DOP853.A[:number]]
    return rows, [float(c) for c in DOP853.C[:number]], np.asarray(DOP853.B)

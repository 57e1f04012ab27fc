"""Mixed steps of piecewise-affine systems in floats, many inputs at a time (theory T7.11).

Nothing certified is read from here: controls and functionals are proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qreplace.produce.linear_program import Floats
from qreplace.produce.mixture_program import Mixture, solve_mixture
from qreplace.question.atom_sizes import rational
from qreplace.question.maps import Point, rational_point
from qreplace.question.model import BlockL2Norm, L2Norm, LinfNorm, Norm, WeightedLinfNorm
from qreplace.question.piecewise_problem import Field, PwaProblem

ROUNDS = 12
SHORTEST = 1 / 64
"""Shortest part of a linear programme's step that a control search tries."""


def lifted_surrogate(norm: Norm, dimension: int, inputs: int) -> Norm:
    """The largest norm over the inputs as a norm of all outputs; linf for l1, which has none."""
    if isinstance(norm, L2Norm):
        return BlockL2Norm("block_l2", dimension)
    if isinstance(norm, WeightedLinfNorm):
        return WeightedLinfNorm("weighted_linf", norm.weights * inputs)
    return norm if isinstance(norm, BlockL2Norm) else LinfNorm("linf")


class FloatAtom:
    """One atom's arrays, and its field at many states."""

    def __init__(self, field: Field, inputs: Floats) -> None:
        self.activation = field.atom.activation
        weights = _floats(field.input_weights, field.inner)
        bias = np.array([float(Fraction(b, field.inner)) for b in field.bias])
        self.base: Floats = inputs @ weights.T + bias
        self.levels = np.array([float(Fraction(x, field.inner)) for x in field.thresholds])
        self.state = _floats(field.state_weights, field.inner)
        self.output = _floats(field.output, field.outer)
        self.drift = _floats(field.drift, field.outer)
        self.offset = np.array([float(Fraction(c, field.outer)) for c in field.offset])

    def field(self, states: Floats) -> tuple[Floats, Floats]:
        """``G(z)(y)``, and the slopes of the activation, for states (inputs, d)."""
        reads = self.base + states @ self.state.T
        if self.activation == "soft_threshold":
            slopes = (np.abs(reads) > self.levels).astype(np.float64)
            bent = np.sign(reads) * np.maximum(np.abs(reads) - self.levels, 0.0)
        elif self.activation == "relu":
            slopes = (reads > 0).astype(np.float64)
            bent = np.maximum(reads, 0.0)
        else:
            slopes, bent = np.ones_like(reads), reads
        value = bent @ self.output.T + states @ self.drift.T + self.offset
        return np.asarray(value, dtype=np.float64), slopes

    def jacobian(self, slopes: Floats) -> Floats:
        """``V P S + D`` at every input."""
        bent = np.einsum("dn,pn,ne->pde", self.output, slopes, self.state)
        return np.asarray(bent + self.drift, dtype=np.float64)


def _floats(rows: Sequence[Sequence[int]], denominator: int) -> Floats:
    return np.array([[float(x) for x in row] for row in rational(tuple(map(tuple, rows)),
                                                                 denominator)])  # fmt: skip


@dataclass(frozen=True)
class Linearization:
    """Endpoints (inputs * d,) and their slopes (inputs * d, rows, J) in the control's rows."""

    endpoint: Floats
    columns: Floats


class MixedModel:
    """The mixed steps of a problem at some inputs."""

    def __init__(self, problem: PwaProblem, norm: Norm, points: Sequence[Point]) -> None:
        self.problem = problem
        self.points = list(points)
        values = [rational_point(point) for point in points]
        self.inputs = np.array([[float(x) for x in value] for value in values])
        self.atoms = [FloatAtom(field, self.inputs) for field in problem.fields]
        targets = [problem.target.value(point) for point in points]
        self.targets = np.array([[float(x) for x in value] for value in targets])
        start = [float(Fraction(n, problem.initial_unit)) for n in problem.initial]
        self.start = np.tile(np.array(start), (len(self.points), 1))
        self.own_norm = norm
        self.norm = lifted_surrogate(norm, problem.dimension, len(self.points))

    def linearized(self, weights: Floats, repeats: int, step: float) -> Linearization:
        """About a control of ``weights`` (rows, J), each held for ``repeats`` steps."""
        states, traces = self.start, []
        for row in weights:
            for _ in range(repeats):
                found = [atom.field(states) for atom in self.atoms]
                values = np.array([value for value, _ in found])
                traces.append((values, [slopes for _, slopes in found]))
                states = states + step * np.einsum("j,jpd->pd", row, values)
        count, d = states.shape
        columns = np.zeros((count, d, len(weights), len(self.atoms)))
        onward = np.tile(np.eye(d), (count, 1, 1))
        for position in reversed(range(len(traces))):
            values, slopes = traces[position]
            index = position // repeats
            columns[:, :, index] += step * np.einsum("pde,jpe->pdj", onward, values)
            mean = sum(
                w * atom.jacobian(s)
                for w, atom, s in zip(weights[index], self.atoms, slopes, strict=True)
            )
            onward = onward + step * np.einsum("pde,pef->pdf", onward, mean)
        return Linearization(states.reshape(-1), columns.reshape(count * d, *columns.shape[2:]))

    def endpoints(self, weights: Floats, repeats: int, step: float) -> Floats:
        """Endpoints (inputs, d) of a control."""
        states = self.start
        for row in weights:
            for _ in range(repeats):
                values = np.array([atom.field(states)[0] for atom in self.atoms])
                states = states + step * np.einsum("j,jpd->pd", row, values)
        return states

    def errors(self, endpoints: Floats) -> Floats:
        """The error at every input."""
        sizes = np.abs(endpoints.reshape(len(self.points), -1) - self.targets)
        return _sizes(self.own_norm, sizes)

    def nearest(self, around: Linearization, weights: Floats, vertices: Floats) -> Mixture:
        """The best control of cells with ``vertices`` (rows, V, J) for the linear endpoints."""
        columns = np.einsum("qkj,kvj->qkv", around.columns, vertices)
        shift = np.einsum("qkj,kj->q", around.columns, weights)
        aim = self.targets.reshape(-1) - around.endpoint + shift
        return solve_mixture(self.norm, columns, aim, np.ones(len(vertices)))

    def improve(self, weights: Floats, repeats: int, step: float) -> Floats:
        """A control with a smaller largest error: linear programmes one after the other."""
        whole = np.tile(np.eye(len(self.atoms)), (len(weights), 1, 1))
        error = float(self.errors(self.endpoints(weights, repeats, step)).max())
        for _ in range(ROUNDS):
            around = self.linearized(weights, repeats, step)
            aim = self.nearest(around, weights, whole).weights
            share, found = 1.0, None
            while share >= SHORTEST:
                tried = weights + share * (aim - weights)
                reached = float(self.errors(self.endpoints(tried, repeats, step)).max())
                if reached < error:
                    found = tried, reached
                    break
                share /= 4
            if found is None:
                break
            gained = error - found[1]
            weights, error = found
            if gained < 1e-7 * max(error, 1e-12):
                break
        return weights


def _sizes(norm: Norm, sizes: Floats) -> Floats:
    """The norm of every row of magnitudes."""
    weights: NDArray[np.float64] = np.array([float(w) for w in getattr(norm, "weights", ())])
    if weights.size:
        sizes = sizes * weights
    if norm.kind.endswith("linf"):
        return np.asarray(sizes.max(axis=1), dtype=np.float64)
    if norm.kind.endswith("l1"):
        return np.asarray(sizes.sum(axis=1), dtype=np.float64)
    block = norm.block if isinstance(norm, BlockL2Norm) else sizes.shape[1]
    parts = sizes.reshape(len(sizes), -1, block)
    return np.asarray(np.linalg.norm(parts, axis=2).max(axis=1), dtype=np.float64)

"""``min ||B a - y||`` over boxes of shares a, by cutting planes shared by all boxes (theory T7.13).

Every norm is a maximum of functionals of dual norm 1, and a functional says something about every
box, so one growing model in HiGHS serves a whole branch and bound; between boxes only the bounds of
the shares change. The value of any such model bounds the error from below.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.produce.basis import solve_basis
from qreplace.produce.linear_program import Floats, centred_atoms, quiet_simplex
from qreplace.produce.nearest_point import float_norms
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size
from qreplace.question.subject import LiftedProblem

TOLERANCE = 1e-9
"""Of the simplex method; a functional joins when it exceeds the model by more."""
ROOT_ROUNDS = 200
NODE_ROUNDS = 8
LEAST_GAIN = 0.05
"""A node is left when a round closed less than this part of what the model misses."""
MODEL_ROWS = 8
"""At most this many rows an atom; those that were tight longest ago are dropped."""
FUNCTIONALS_A_ROUND = 4
"""So many an atom at most."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A functional of dual norm 1: ``values`` on the coordinates ``indices``."""

    indices: NDArray[np.intp]
    values: Floats


Multipliers = tuple[tuple[int, float], ...]
"""Numbers of cuts with their positive multipliers, whose sum is about 1."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The model's optimum on a box: its value, the shares there, and the multipliers."""

    value: float
    shares: Floats
    multipliers: Multipliers


class Relaxation:
    """The cuts found so far and the solver's model.

    Floats are in units of ``unit`` for errors, and weights of the norm are relative to the largest.
    """

    def __init__(self, problem: LiftedProblem, norm: Norm) -> None:
        self.problem = problem
        self.norm = norm
        self.atoms = centred_atoms(problem)
        weighted = isinstance(norm, (WeightedLinfNorm, WeightedL1Norm))
        self.exact_weights = norm.weights if weighted else ()  # type: ignore[union-attr]
        largest = max(self.exact_weights, default=Fraction(1))
        dimension, self.count = self.atoms.shape
        self.weights = np.array([float(w / largest) for w in self.exact_weights] or [1.0])
        pairs = zip(problem.rows, problem.target, strict=True)
        data = max(1, *(max(abs(n - y) for n in row) for row, y in pairs))
        self.unit = largest * Fraction(data, problem.denominator)
        """The error that is 1 in floats."""
        blocks = isinstance(norm, (BlockL2Norm, L2Norm))
        self.block = block_size(norm, dimension) if blocks else 1  # type: ignore[arg-type]
        self.cuts: list[Cut] = []
        self._known: dict[tuple[int, bool], int] = {}
        self._rows: list[int] = []
        self._last_tight: list[int] = []
        self._solves = 0
        self._model = self._empty_model()
        for start in [np.full(self.count, 1 / self.count), *np.eye(self.count)]:
            self._add(self._exceeding(start, 0.0))

    @property
    def linear(self) -> bool:
        """Whether exact multipliers make sense: the norm is a maximum of finitely many cuts."""
        return not isinstance(self.norm, (BlockL2Norm, L2Norm))

    @property
    def met(self) -> bool:
        """Whether every atom is the target, so that there is nothing to bound."""
        return not self.cuts

    def solve(
        self, lower: Floats, upper: Floats, stop: float, rounds: int = NODE_ROUNDS
    ) -> Relaxed:
        """Refine the model on ``lower <= a <= upper`` until it gains little or reaches ``stop``.

        Raises ``ProducerFailed`` when HiGHS gives no answer.
        """
        self._model.changeColsBounds(self.count, np.arange(self.count), lower, upper)
        previous = -np.inf
        for round_number in range(1, rounds + 1):
            relaxed = self._solved()
            if relaxed.value >= stop or round_number == rounds:
                break
            missing = self.error(relaxed.shares) - relaxed.value
            gained = relaxed.value - previous
            slow = not self._exact_cuts and gained < LEAST_GAIN * missing
            fresh = self._exceeding(relaxed.shares, relaxed.value + TOLERANCE)
            if not fresh or (slow and rounds != ROOT_ROUNDS):
                break
            self._add(fresh)
            previous = relaxed.value
        return relaxed

    def error(self, shares: Floats) -> float:
        """The norm of ``B a - y`` in floats."""
        return float(float_norms(self._plain_norm, self._residual(shares)))

    def vector(self, multipliers: Multipliers) -> Floats:
        """``-sum mu f``: the functional that bounds the error on the box, with the norm's weights
        relative to the largest."""
        total = np.zeros(self.atoms.shape[0])
        for number, multiplier in multipliers:
            cut = self.cuts[number]
            total[cut.indices] -= multiplier * cut.values
        return total

    def direction(self, shares: Floats) -> Floats:
        """The functional that has the error at the shares as its value there."""
        cut = self._exceeding(shares, 0.0)[0]
        total = np.zeros(self.atoms.shape[0])
        total[cut.indices] = -cut.values
        return total

    def exact_vector(self) -> list[Fraction]:
        """The functional of the basis that was solved last, exactly, for the linear norms.

        Raises ``ProducerFailed`` when that basis is not dual feasible in exact arithmetic.
        """
        basis = self._model.getBasis()
        basic = highspy.HighsBasisStatus.kBasic
        tight = [r for r, s in zip(self._rows, basis.row_status[1:], strict=True) if s != basic]
        inner = [j for j in range(self.count) if basis.col_status[j] == basic]
        rows = [self._exact_row(self.cuts[r]) for r in tight]
        # Unknowns: a multiplier a tight row, and the multiplier of the sum of the shares.
        primal = [[row[j] for j in inner] + [1] for row in rows] + [[1] * len(inner) + [0]]
        _, dual = solve_basis(primal, [0] * len(primal), [0] * len(inner) + [1])
        multipliers = dual.numerators[: len(tight)]
        if min(multipliers, default=-1) < 0:
            raise ProducerFailed("the basis is not optimal in exact arithmetic")
        weights = self.exact_weights or (Fraction(1),) * self.atoms.shape[0]
        vector = [Fraction(0)] * len(weights)
        for number, multiplier in zip(tight, multipliers, strict=True):
            share = Fraction(multiplier, dual.denominator)
            cut = self.cuts[number]
            for i, value in zip(cut.indices.tolist(), cut.values.tolist(), strict=True):
                vector[i] -= share * weights[i] * (1 if value > 0 else -1)
        return vector

    def _exact_row(self, cut: Cut) -> list[int]:
        """``f . (b_j - y)`` for every atom over a denominator that all cuts share."""
        signs = [1 if value > 0 else -1 for value in cut.values.tolist()]
        indices = cut.indices.tolist()
        factors: list[int] = signs
        if self.exact_weights:
            common = np.lcm.reduce([w.denominator for w in self.exact_weights], dtype=object)
            weights = self.exact_weights
            factors = [s * int(weights[i] * common) for s, i in zip(signs, indices, strict=True)]
        target = self.problem.target
        return [
            sum(f * (column[i] - target[i]) for f, i in zip(factors, indices, strict=True))
            for column in self.problem.atoms
        ]

    # --- cuts -------------------------------------------------------------------------------------

    @property
    def _exact_cuts(self) -> bool:
        return isinstance(self.norm, (LinfNorm, WeightedLinfNorm))

    @property
    def _plain_norm(self) -> Norm:
        """The norm of residuals that hold the weights already."""
        if isinstance(self.norm, WeightedLinfNorm):
            return LinfNorm("linf")
        return L1Norm("l1") if isinstance(self.norm, WeightedL1Norm) else self.norm

    def _residual(self, shares: Floats) -> Floats:
        return np.asarray((self.atoms @ shares) * self.weights)

    def _exceeding(self, shares: Floats, value: float) -> list[Cut]:
        """Functionals that exceed ``value`` at the shares, the largest ones."""
        residual = self._residual(shares)
        if self._exact_cuts:
            return [
                Cut(np.array([i]), np.array([np.sign(residual[i]) * self._weight(i)]))
                for i in self._worst(np.abs(residual), value)
            ]
        if isinstance(self.norm, (L1Norm, WeightedL1Norm)):
            if not np.abs(residual).sum() > value:
                return []
            values = np.where(residual < 0, -1.0, 1.0) * self.weights
            return [Cut(np.arange(len(residual)), np.broadcast_to(values, residual.shape))]
        parts = residual.reshape(-1, self.block)
        lengths = np.linalg.norm(parts, axis=1)
        return [
            Cut(np.arange(k * self.block, (k + 1) * self.block), parts[k] / lengths[k])
            for k in self._worst(lengths, value)
        ]

    def _weight(self, index: np.intp) -> float:
        return float(self.weights[index if self.exact_weights else 0])

    def _worst(self, sizes: Floats, value: float) -> NDArray[np.intp]:
        found = np.flatnonzero(sizes > max(value, 0.0))
        order = np.argsort(-sizes[found], kind="stable")
        return np.asarray(found[order[: FUNCTIONALS_A_ROUND * self.count]])

    def _add(self, cuts: list[Cut]) -> None:
        present = set(self._rows) if self._exact_cuts else set()
        for cut in cuts:
            number = self._number(cut)
            if number in present:
                continue
            row = cut.values @ self.atoms[cut.indices]
            entries = np.append(row, -1.0)
            columns = np.arange(self.count + 1)
            self._model.addRow(-highspy.kHighsInf, 0.0, len(entries), columns, entries)
            self._rows.append(number)
            self._last_tight.append(self._solves)

    def _number(self, cut: Cut) -> int:
        """The number of a cut, an old one where a coordinate comes again."""
        if self._exact_cuts:
            key = int(cut.indices[0]), bool(cut.values[0] > 0)
            if key in self._known:
                return self._known[key]
            self._known[key] = len(self.cuts)
        self.cuts.append(cut)
        return len(self.cuts) - 1

    # --- the model --------------------------------------------------------------------------------

    def _empty_model(self) -> highspy.Highs:
        """Shares that sum to 1, and the value, which is all the cost."""
        model = quiet_simplex(TOLERANCE, presolve=False)
        infinite = highspy.kHighsInf
        lower, upper = np.zeros(self.count), np.ones(self.count)
        model.addVars(self.count + 1, np.append(lower, -infinite), np.append(upper, infinite))
        model.changeColCost(self.count, 1.0)
        columns = np.arange(self.count)
        model.addRow(1.0, 1.0, self.count, columns, np.ones(self.count))
        return model

    def _solved(self) -> Relaxed:
        self._solves += 1
        self._forget()
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._model.clearSolver()
            self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            status = self._model.modelStatusToString(self._model.getModelStatus())
            raise ProducerFailed(f"the relaxation of the counts ended with status {status!r}")
        solution = self._model.getSolution()
        duals = -np.asarray(solution.row_dual)[1:]
        tight = np.flatnonzero(duals > 0)
        for row in tight.tolist():
            self._last_tight[row] = self._solves
        return Relaxed(
            value=float(self._model.getInfo().objective_function_value),
            shares=np.asarray(solution.col_value)[: self.count],
            multipliers=tuple((self._rows[r], float(duals[r])) for r in tight.tolist()),
        )

    def _forget(self) -> None:
        """Drop the rows that were tight longest ago once there are too many."""
        most = MODEL_ROWS * self.count
        if len(self._rows) <= most:
            return
        order = np.argsort(self._last_tight, kind="stable")
        dropped = np.sort(order[: len(self._rows) - most // 2]).astype(np.int32)
        self._model.deleteRows(len(dropped), dropped + 1)
        gone = set(dropped.tolist())
        kept = [r for r in range(len(self._rows)) if r not in gone]
        self._rows = [self._rows[r] for r in kept]
        self._last_tight = [self._last_tight[r] for r in kept]

"""Tangent cuts for maxima of l2 norms over blocks (theory T7.1, block l2).

A block's norm at a point is the value of one unit functional, the direction of its residual. Cuts
find the active blocks and the support; Newton's method on the optimality conditions then gives the
point to working precision, and the functionals there are the dual witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.lifting import ExactVector
from qreplace.produce.linear_program import Floats, Solution
from qreplace.produce.maximum import Bracket, CuttingPlanes, Functional, round_to_simplex
from qreplace.question.subject import LiftedProblem

CUT_BITS = 50
"""Directions are multiples of ``2**-CUT_BITS``, shrunk so that their l2 norm is at most 1."""
POINT_DENOMINATOR = 1 << 60
MET = 1e-14
"""Residuals below this, the data's largest entry being 1, are rounding errors."""
MAX_ROUNDS = 300
POLISH_EVERY = 8
NEWTON_STEPS = 40


class TangentCuts:
    """The cutting-plane model of ``max over blocks of ||(B alpha - y)_block||_2``."""

    def __init__(self, problem: LiftedProblem, atoms: Floats, block: int) -> None:
        self.planes = CuttingPlanes(problem, atoms)
        self.block = block
        self.blocks = problem.dimension // block
        count = atoms.shape[1]
        self._centred = atoms.reshape(self.blocks, block, count)
        self._owner: list[int] = []
        for start in [np.full(count, 1.0 / count), *np.eye(count)]:
            self._add(self._exceeding(start, 0.0), start)

    def brackets(self) -> Iterator[Bracket]:
        """Ever tighter brackets, until the model stops growing or the rounds are used up."""
        count = self._centred.shape[2]
        solution: Solution | None = None
        if not self.planes.functionals:  # every atom is the target
            point = ExactVector([1] + [0] * (count - 1), 1)
            yield Bracket(point, ExactVector([], 1), [])
            return
        for round_number in range(1, MAX_ROUNDS + 1):
            try:
                solution = self.planes.solve(1e-10, False)
            except ProducerFailed:
                break
            alpha, value = solution.values[:count], float(solution.values[count])
            fresh = self._exceeding(alpha, value * (1 + 1e-13))
            if round_number % POLISH_EVERY == 0 or not fresh:
                polished = self._polished(solution)
                if polished is not None:
                    yield polished
            if not fresh or self._met(alpha):
                break
            self._add(fresh, alpha)
        if solution is not None:
            yield self.planes.rounded_bracket(solution, POINT_DENOMINATOR)

    def _residuals(self, alpha: Floats) -> Floats:
        return np.asarray(self._centred @ alpha)

    def _met(self, alpha: Floats) -> bool:
        """Whether the target is met to working precision, so that no direction means anything."""
        return bool(np.abs(self._residuals(alpha)).max() <= MET)

    def _exceeding(self, alpha: Floats, value: float) -> list[int]:
        """Blocks longer than ``value``; one of length 0 has no direction, whatever a model says."""
        lengths = np.linalg.norm(self._residuals(alpha), axis=1)
        return [int(k) for k in np.flatnonzero(lengths > max(value, 0.0))]

    def _add(self, blocks: list[int], alpha: Floats) -> None:
        residuals = self._residuals(alpha)
        self._owner.extend(blocks)
        self.planes.add([self._functional(k, residuals[k]) for k in blocks])

    def _functional(self, block: int, residual: Floats) -> Functional:
        unit = residual / np.linalg.norm(residual)
        scale = 1 << CUT_BITS
        numbers = [int(x) for x in np.rint(unit * float(scale))]
        square = sum(n * n for n in numbers)
        if square > scale * scale:
            length = isqrt(square) + 1
            numbers = [n * scale // length if n >= 0 else -(-n * scale // length) for n in numbers]
        indices = tuple(range(block * self.block, (block + 1) * self.block))
        return Functional(indices, tuple(numbers), scale)

    def _polished(self, solution: Solution) -> Bracket | None:
        """The bracket at Newton's limit; ``None`` when the optimality conditions are not met."""
        count = self._centred.shape[2]
        duals = np.maximum(-solution.row_duals[: len(self._owner)], 0.0)
        weight: Floats = np.bincount(
            np.array(self._owner), weights=duals, minlength=self.blocks
        ).astype(np.float64)
        support = np.flatnonzero(solution.values[:count] > 1e-7)
        active = np.flatnonzero(weight > 1e-7)
        if active.size == 0 or support.size == 0:
            return None
        found = _newton(
            self._centred[active][:, :, support], solution.values[support], weight[active]
        )
        if found is None:
            return None
        alpha = np.zeros(count)
        alpha[support], mu = found
        residuals = self._residuals(alpha)
        if not np.abs(residuals[active]).max(axis=1).all():
            return None  # a residual of exactly 0 has no direction
        functionals = [self._functional(int(k), residuals[k]) for k in active]
        return Bracket(
            round_to_simplex(alpha, POINT_DENOMINATOR),
            ExactVector(
                [int(m * POINT_DENOMINATOR) for m in mu / mu.sum()], POINT_DENOMINATOR + 64
            ),
            functionals,
        )


def _newton(atoms: Floats, alpha: Floats, mu: Floats) -> tuple[Floats, Floats] | None:
    """Solve ``||r_k|| = t``, ``sum_k mu_k r_k . c_j = nu``, both sums 1, for alpha, mu, t, nu.

    ``atoms`` (k, block, j) are centred at the target, so ``r_k = atoms[k] @ alpha``. ``None`` when
    the iteration leaves the nonnegative orthant or does not converge.
    """
    blocks, _, count = atoms.shape
    scale = max(float(np.abs(atoms).max()), 1e-300)
    atoms = atoms / scale
    alpha, mu = alpha / alpha.sum(), mu / mu.sum()
    residual = atoms @ alpha
    t = float(np.linalg.norm(residual, axis=1).max())
    if t == 0.0:
        return None
    gradient = np.einsum("kbj,kb->kj", atoms, residual)
    nu = float((mu @ gradient).mean())
    size = count + blocks + 2
    for _ in range(NEWTON_STEPS):
        residual = atoms @ alpha
        gradient = np.einsum("kbj,kb->kj", atoms, residual)
        value = np.concatenate(
            [
                0.5 * (residual * residual).sum(axis=1) - 0.5 * t * t,
                mu @ gradient - nu,
                [alpha.sum() - 1.0, mu.sum() - 1.0],
            ]
        )
        jacobian = np.zeros((size, size))
        jacobian[:blocks, :count] = gradient
        jacobian[:blocks, count + blocks] = -t
        hessian = np.einsum("k,kbi,kbj->ij", mu, atoms, atoms)
        jacobian[blocks : blocks + count, :count] = hessian
        jacobian[blocks : blocks + count, count : count + blocks] = gradient.T
        jacobian[blocks : blocks + count, -1] = -1.0
        jacobian[-2, :count] = 1.0
        jacobian[-1, count : count + blocks] = 1.0
        step = np.linalg.lstsq(jacobian, -value, rcond=None)[0]
        alpha, mu = alpha + step[:count], mu + step[count : count + blocks]
        t, nu = t + float(step[-2]), nu + float(step[-1])
        if not np.all(np.isfinite(step)) or float(np.abs(step).max()) > 1e3:
            return None
        if float(np.abs(step).max()) < 1e-14:
            break
    if alpha.min() < -1e-12 or mu.min() < -1e-12 or t <= 0:
        return None
    return np.maximum(alpha, 0.0), np.maximum(mu, 0.0)

"""``min over the simplex of sum_i w_i |B alpha - y|_i``: the programme and its exact basis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

import numpy as np

from qreplace.claims.functional import SparseVector
from qreplace.errors import ProducerFailed
from qreplace.produce.basis import solve_basis, sparse_vector
from qreplace.produce.lifting import ExactVector
from qreplace.produce.linear_program import Floats, LinearProgram, Solution, solve
from qreplace.produce.maximum import round_to_simplex
from qreplace.question.subject import LiftedProblem


class L1Program:
    """The residual split into its positive and negative part: columns alpha, p, n.

    ``atoms`` are those of ``centred_atoms``.
    """

    def __init__(
        self,
        problem: LiftedProblem,
        atoms: Floats,
        weights: Sequence[Fraction],
    ) -> None:
        self.problem = problem
        self.atoms = atoms
        common = math.lcm(*(w.denominator for w in weights))
        self.weights = (
            [w.numerator * (common // w.denominator) for w in weights]
            if weights
            else [1] * len(atoms)
        )
        self.weight_denominator = common
        self.solver_seconds = 0.0

    def exact(self, tolerance: float, presolve: bool) -> tuple[ExactVector, SparseVector]:
        """Solve, then the exact basis; raises ``ProducerFailed`` when it is not optimal."""
        solution = self._solve(tolerance, presolve)
        dimension, count = self.atoms.shape
        basic = set(map(int, solution.basic_columns))
        tight = set(map(int, solution.tight_rows))
        support = [j for j in range(count) if j in basic]
        # lambda_i = -w_i sign(residual_i) off the rows whose residual the basis makes zero.
        signs = [
            -w if count + i in basic else w if count + dimension + i in basic else 0
            for i, w in enumerate(self.weights)
        ]
        # A row that is basic itself has multiplier 0 and leaves the point to the others.
        zero = [i for i, sign in enumerate(signs) if sign == 0 and i in tight]
        atoms, target = self.problem.atoms, self.problem.target
        matrix = [[atoms[j][i] for j in support] for i in zero]
        simplex = [1] if dimension in tight else []
        matrix.extend([1] * len(support) for _ in simplex)
        pull = [-sum(map(mul, signs, atoms[j])) for j in support]
        primal, free = solve_basis(matrix, [target[i] for i in zero] + simplex, pull)
        alpha = [0] * count
        for column, number in zip(support, primal.numerators, strict=True):
            alpha[column] = number
        if min(alpha) < 0 or sum(alpha) != primal.denominator:
            raise ProducerFailed("the basis is not optimal in exact arithmetic")
        entries = [(i, s * free.denominator) for i, s in enumerate(signs) if s]
        for i, number in zip(zero, free.numerators, strict=False):
            if abs(number) > self.weights[i] * free.denominator:
                raise ProducerFailed("the basis is not optimal in exact arithmetic")
            if number:
                entries.append((i, number))
        dual = sparse_vector(sorted(entries), free.denominator * self.weight_denominator)
        return ExactVector(alpha, primal.denominator), dual

    def rounded(self, denominator: int) -> tuple[ExactVector, SparseVector]:
        """Round a float solution; multipliers toward zero and clipped to their boxes."""
        solution = self._solve(1e-7, True)
        alpha = round_to_simplex(solution.values[: self.atoms.shape[1]], denominator)
        entries = []
        duals = np.nan_to_num(solution.row_duals[:-1])
        for i, (dual, weight) in enumerate(zip(duals, self.weights, strict=True)):
            limit = weight * denominator
            number = int(Fraction(float(dual)) * denominator * self.weight_denominator)
            number = max(-limit, min(limit, number))
            if number:
                entries.append((i, number))
        return alpha, sparse_vector(entries, denominator * self.weight_denominator)

    def _solve(self, tolerance: float, presolve: bool) -> Solution:
        dimension, count = self.atoms.shape
        scale = np.array([w / self.weight_denominator for w in self.weights])
        identity = np.eye(dimension)
        top = np.hstack([self.atoms, -identity, identity])
        bottom = np.concatenate([np.ones(count), np.zeros(2 * dimension)])[None, :]
        rhs = np.append(np.zeros(dimension), 1.0)
        program = LinearProgram(
            cost=np.concatenate([np.zeros(count), scale, scale]),
            matrix=np.vstack([top, bottom]),
            row_lower=rhs,
            row_upper=rhs,
            lower=np.zeros(count + 2 * dimension),
        )
        solution = solve(program, tolerance=tolerance, presolve=presolve)
        self.solver_seconds += solution.seconds
        return solution

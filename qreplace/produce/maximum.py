"""``min over the simplex of max_r f_r(B alpha - y)`` by cutting planes, ending in an exact basis.

The maximum, weighted maximum and block-l2 norms are all maxima of linear functionals of dual norm
at most 1; they differ only in the oracle that proposes the next functionals (theory T7.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.basis import solve_basis
from qreplace.produce.lifting import ExactVector
from qreplace.produce.linear_program import Floats, LinearProgram, Solution, solve
from qreplace.question.subject import LiftedProblem


@dataclass(frozen=True)
class Functional:
    """A functional of dual norm at most 1: ``numerators / denominator`` on ``indices``."""

    indices: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int


@dataclass(frozen=True)
class Bracket:
    """A primal point alpha and multipliers mu >= 0, sum at most 1, of functionals."""

    alpha: ExactVector
    multipliers: ExactVector
    functionals: list[Functional]

    def witness(self) -> tuple[list[tuple[int, int]], int]:
        """The dual witness ``-sum_r mu_r f_r`` as (index, numerator) pairs over a denominator."""
        common = math.lcm(*(f.denominator for f in self.functionals), 1)
        total: dict[int, int] = {}
        for functional, mu in zip(self.functionals, self.multipliers.numerators, strict=True):
            if mu:
                factor = mu * (common // functional.denominator)
                for index, number in zip(functional.indices, functional.numerators, strict=True):
                    total[index] = total.get(index, 0) - factor * number
        entries = [(index, total[index]) for index in sorted(total) if total[index]]
        return entries, common * self.multipliers.denominator


Oracle = Callable[[Floats, float], list[Functional]]
"""Given a float point and the model's value there: functionals that exceed the value, or none."""


class CuttingPlanes:
    """The growing set of functionals with its float rows, and the solver time spent.

    ``atoms`` are those of ``centred_atoms``.
    """

    def __init__(self, problem: LiftedProblem, atoms: Floats) -> None:
        self.problem = problem
        self.atoms = atoms
        self.functionals: list[Functional] = []
        self._rows: list[Floats] = []
        self._denominator = 1
        self.solver_seconds = 0.0

    def add(self, functionals: list[Functional]) -> None:
        """Append functionals to the model."""
        for f in functionals:
            coefficients = np.array([n / f.denominator for n in f.numerators])
            self.functionals.append(f)
            self._denominator = math.lcm(self._denominator, f.denominator)
            self._rows.append(coefficients @ self.atoms[list(f.indices)])

    def solve(self, tolerance: float, presolve: bool) -> Solution:
        """The current model in floats: columns alpha, then the value."""
        count = self.atoms.shape[1]
        rows = np.array(self._rows)
        top = np.hstack([rows, -np.ones((len(rows), 1))])
        bottom = np.append(np.ones(count), 0.0)[None, :]
        program = LinearProgram(
            cost=np.append(np.zeros(count), 1.0),
            matrix=np.vstack([top, bottom]),
            row_lower=np.append(np.full(len(rows), -np.inf), 1.0),
            row_upper=np.append(np.zeros(len(rows)), 1.0),
            lower=np.append(np.zeros(count), -np.inf),
        )
        solution = solve(program, tolerance=tolerance, presolve=presolve)
        self.solver_seconds += solution.seconds
        return solution

    def refine(self, oracle: Oracle, *, tolerance: float, presolve: bool, rounds: int) -> Solution:
        """Solve and add what the oracle finds until it finds nothing."""
        for _ in range(rounds):
            solution = self.solve(tolerance, presolve)
            count = self.atoms.shape[1]
            fresh = oracle(solution.values[:count], float(solution.values[count]))
            if not fresh:
                return solution
            self.add(fresh)
        raise ProducerFailed(f"the cutting planes did not settle in {rounds} rounds")

    def exact_bracket(self, solution: Solution) -> Bracket:
        """Solve the solution's basis exactly; raises ``ProducerFailed`` if it is not optimal."""
        count = self.atoms.shape[1]
        tight = [int(r) for r in solution.tight_rows if r < len(self.functionals)]
        support = [int(c) for c in solution.basic_columns if c < count]
        rows = [self._exact_row(self.functionals[r], support) for r in tight]
        # Unknowns: alpha on the support, the value times every denominator.
        matrix = [[*row, -1] for row, _ in rows] + [[1] * len(support) + [0]]
        primal, dual = solve_basis(
            matrix, [rhs for _, rhs in rows] + [1], [0] * len(support) + [-1]
        )
        alpha = [0] * count
        for column, number in zip(support, primal.numerators, strict=False):
            alpha[column] = number
        multipliers = [0] * len(self.functionals)
        for row, number in zip(tight, dual.numerators, strict=False):
            multipliers[row] = number
        # Every row is scaled to the same denominator, so the multipliers need no correction.
        if min(alpha) < 0 or min(multipliers, default=0) < 0:
            raise ProducerFailed("the basis is not optimal in exact arithmetic")
        return Bracket(
            ExactVector(alpha, primal.denominator),
            ExactVector(multipliers, dual.denominator),
            self.functionals,
        )

    def _exact_row(self, f: Functional, support: list[int]) -> tuple[list[int], int]:
        factor = self._denominator // f.denominator
        numerators = [factor * n for n in f.numerators]
        atoms, target = self.problem.atoms, self.problem.target
        if len(f.indices) == 1:
            (i,), (n,) = f.indices, numerators
            return [n * atoms[j][i] for j in support], n * target[i]
        row = [sum(map(mul, numerators, (atoms[j][i] for i in f.indices))) for j in support]
        return row, sum(map(mul, numerators, (target[i] for i in f.indices)))

    def rounded_bracket(self, solution: Solution, denominator: int) -> Bracket:
        """Round the float point and multipliers to the simplex; always a bracket."""
        count = self.atoms.shape[1]
        alpha = round_to_simplex(solution.values[:count], denominator)
        duals = np.nan_to_num(np.maximum(-solution.row_duals[: len(self.functionals)], 0.0))
        total = max(float(duals.sum()), 1e-300)
        floored = [int(value / total * denominator) for value in duals]
        excess = sum(floored) - denominator
        if excess > 0:
            floored[floored.index(max(floored))] -= excess
        # Functionals may have joined the model since it was solved.
        floored.extend([0] * (len(self.functionals) - len(floored)))
        return Bracket(alpha, ExactVector(floored, denominator), self.functionals)


def round_to_simplex(weights: Floats, denominator: int) -> ExactVector:
    """Nonnegative weights as multiples of 1/denominator; the largest takes what is left over."""
    clipped = np.nan_to_num(np.maximum(weights, 0.0))
    if not 0 < clipped.sum() < np.inf:
        clipped = np.ones(len(weights))
    scaled = [int(value * denominator) for value in clipped / clipped.sum()]
    scaled[scaled.index(max(scaled))] += denominator - sum(scaled)
    return ExactVector(scaled, denominator)

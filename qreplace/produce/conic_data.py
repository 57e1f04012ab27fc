"""A programme as numbers: costs, localising matrices and equations over its moments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import Exponents
from qreplace.produce.monomials import product
from qreplace.produce.sos_program import Floats, FloatSolution, GramBlock, Program


class ConicData:
    """Costs and localising matrices over the moments of all identities, one after another."""

    def __init__(self, program: Program) -> None:
        supports = [part.support for part in program.identities]
        self.starts = np.concatenate([[0], np.cumsum([len(s) for s in supports])]).astype(int)
        self.size = int(self.starts[-1])
        self.places = [
            {e: int(start) + k for k, e in enumerate(support)}
            for start, support in zip(self.starts, supports, strict=False)
        ]
        self.program = program
        self.cost = np.zeros(self.size)
        self.sizes: list[int] = []
        """Rows of every Gram matrix, block after block, identity after identity."""
        self.localising: list[Any] = []
        for part, place in zip(program.identities, self.places, strict=True):
            for e, c in part.fixed.terms.items():
                self.cost[place[e]] = float(c)
            for block in part.blocks:
                self.sizes.append(len(block.basis))
                self.localising.append(self._localising(block, place))

    @property
    def numbers(self) -> range:
        """The blocks."""
        return range(len(self.sizes))

    def traces(self) -> Floats:
        """The sum of the traces of all localising matrices, as a linear form of the moments."""
        total = np.zeros(self.size)
        for size, matrix in zip(self.sizes, self.localising, strict=True):
            total += np.asarray(matrix[:: size + 1].sum(axis=0)).ravel()
        return total

    def _localising(self, block: GramBlock, place: Mapping[Exponents, int]) -> Any:
        """The matrix that takes moments to the entries of ``M(g y)``, column by column."""
        import scipy.sparse as sp

        size = len(block.basis)
        terms = [(e, float(c)) for e, c in block.constraint.terms.items()]
        rows, columns, values = [], [], []
        for i, one in enumerate(block.basis):
            for j, other in enumerate(block.basis):
                pair = product(one, other)
                for e, c in terms:
                    rows.append(j * size + i)
                    columns.append(place[product(pair, e)])
                    values.append(c)
        return sp.csr_matrix((values, (rows, columns)), shape=(size * size, self.size))

    def equations(self) -> tuple[Any, Floats]:
        """``objective_a + sum_k <y_k, linear_ka>``, one row a parameter: matrix and offset."""
        import scipy.sparse as sp

        program = self.program
        rows, columns, values = [], [], []
        for part, place in zip(program.identities, self.places, strict=True):
            for parameter, polynomial in part.linear.items():
                for e, c in polynomial.terms.items():
                    rows.append(parameter)
                    columns.append(place[e])
                    values.append(float(c))
        matrix = sp.csr_matrix((values, (rows, columns)), shape=(program.size, self.size))
        offset = [float(program.objective.get(a, 0)) for a in range(program.size)]
        return matrix, np.array(offset)

    def solution(
        self,
        parameters: Floats,
        moments: Floats,
        duals: Sequence[Floats],
        margin: float,
        status: str,
    ) -> FloatSolution:
        """A solver's numbers in the programme's shape; raises ``ProducerFailed`` on no numbers."""
        matrices = [
            dual + margin * np.eye(size) for dual, size in zip(duals, self.sizes, strict=True)
        ]
        if not all(np.isfinite(array).all() for array in (parameters, moments, *matrices)):
            raise ProducerFailed("the solver's answer holds no finite numbers")
        remaining = iter(matrices)
        objective = self.program.objective.items()
        return FloatSolution(
            parameters=parameters,
            grams=tuple(
                tuple(next(remaining) for _ in part.blocks) for part in self.program.identities
            ),
            moments=tuple(moments[a:b] for a, b in itertools.pairwise(self.starts)),
            value=float(sum(float(c) * parameters[a] for a, c in objective)),
            status=status,
        )

"""Producer of ``support``: a functional and a bound of its reach, found together (theory T7.6).

The functional lambda is itself a parameter of the programme, restricted to the dual ball of the
question's norm: one conic problem maximises ``<lambda, y> - w(0, z_0)`` over both, which is the
distance from the target to the mean endpoints of the relaxation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.sums_of_squares import NO_SQUARES, Combination
from qreplace.claims.support import SupportClaim
from qreplace.exact.polynomial import ZERO, Polynomial, constant
from qreplace.exact.rational import round_down
from qreplace.produce.region_search import requested_order
from qreplace.produce.regions import ProvedRegion
from qreplace.produce.rounding import ExactSolution, exact_solution, group_norms
from qreplace.produce.sos_producer import DEFAULT_ORDER, SosProducer
from qreplace.produce.sos_program import Budget, ParameterSet, Program, Solver
from qreplace.produce.value_functions import (
    Reach,
    linear_functional,
    unit_of,
)
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
from qreplace.question.subject import Subject

LOWER_BITS = 64


def produce(
    subject: Subject,
    bits: int,
    *,
    order: int | None = None,
    depth: int | None = None,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> SupportClaim:
    """A lower bound of the floor of the dictionary at ``bits``, or of the ideal error at ``depth``.

    ``order`` is r: the bound has degree 2r in ``(t, z)``. Raises ``ProducerFailed`` when no exact
    certificate comes of it, saying what stopped it.
    """
    producer = SupportProducer(subject, bits, depth=depth, solver=solver, budget=budget)
    return producer.best(order or requested_order(subject) or DEFAULT_ORDER).claim


@dataclass(frozen=True)
class Attempt:
    """One order on one region: the claim and its exact value."""

    claim: SupportClaim
    value: Fraction
    solution: ExactSolution


class SupportProducer(SosProducer[Attempt]):
    """Bounds of one functional of one problem; the functional is found with them."""

    def attempt(self, order: int, region: ProvedRegion) -> Attempt:
        """One programme, solved and repaired; raises ``ProducerFailed``."""
        reach = Reach(self.problem, region, self.depth, order)
        program, unit = self._program(reach)
        solution = exact_solution(program, self.clock, self.solver)
        count = len(reach.basis)
        functional = solution.parameters[count:]
        offset = self._at(functional, self.problem.initial)
        bound = reach.function(solution, unit) + constant(offset, reach.arity)
        aim = self._at(functional, self.problem.target)
        value = aim - bound.at(self.problem.start)
        if value <= 0:
            return Attempt(self.nothing(), value, solution)
        flow, terminal = reach.documents(program, solution, unit)
        claim = self._claim(functional, bound, region, flow, terminal, value)
        return Attempt(claim, value, solution)

    def nothing(self) -> SupportClaim:
        """The claim ``E >= 0``: functional and bound are 0."""
        zero = (Fraction(0),) * self.problem.dimension
        nothing = Combination(NO_SQUARES, ())
        flow = (nothing,) * len(self.problem.atoms)
        return self._claim(zero, ZERO, None, flow, nothing, Fraction(0))

    def _program(self, reach: Reach) -> tuple[Program, Fraction]:
        """States are measured from the initial one, in units of the target's distance."""
        problem, scaling = self.problem, reach.region.scaling
        size = problem.dimension
        coordinates = []
        for i, start in enumerate(problem.initial):
            row = [Fraction(int(k == i)) for k in range(size)]
            shift = constant(start, size + 1)
            coordinates.append(scaling.scaled(linear_functional(row) - shift))
        gaps = [y - z for y, z in zip(problem.target, problem.initial, strict=True)]
        unit = max((unit_of(p) for p in coordinates), default=Fraction(1))
        others = {i: -p.scaled(1 / unit) for i, p in enumerate(coordinates)}
        identities = [*reach.flow_identities(-1), reach.terminal_identity(+1, ZERO, others)]
        count = len(reach.basis)
        objective = {k: -value for k, value in reach.start_values().items()}
        objective |= {count + i: gap / unit for i, gap in enumerate(gaps) if gap}
        ball = dual_ball(self.norm, size, count)
        return Program(tuple(identities), count + size, objective, (ball,)), unit

    def _claim(
        self,
        functional: Sequence[Fraction],
        bound: Polynomial,
        region: ProvedRegion | None,
        flow: tuple[Combination, ...],
        terminal: Combination,
        value: Fraction,
    ) -> SupportClaim:
        return SupportClaim(
            format="qreplace/claim/support/v1",
            subject=self.subject,
            code=self.bits,
            depth=self.depth,
            witness=functional_document(self.norm, functional),
            bound=bound,
            region=region.parts if region else (),
            flow=flow,
            terminal=terminal,
            lower=round_down(value, LOWER_BITS),
        )

    @staticmethod
    def _at(functional: Sequence[Fraction], point: Sequence[Fraction]) -> Fraction:
        return sum((a * b for a, b in zip(functional, point, strict=True)), Fraction(0))


def dual_ball(norm: Norm, dimension: int, first: int) -> ParameterSet:
    """The functionals of dual norm at most 1, as parameters ``first .. first + dimension - 1``."""
    chosen = tuple(range(first, first + dimension))
    ones = (Fraction(1),) * dimension
    if isinstance(norm, LinfNorm):
        return ParameterSet("l1", chosen, ones)
    if isinstance(norm, L1Norm):
        return ParameterSet("linf", chosen, ones)
    if isinstance(norm, WeightedLinfNorm):
        return ParameterSet("l1", chosen, tuple(1 / w for w in norm.weights))
    if isinstance(norm, WeightedL1Norm):
        return ParameterSet("linf", chosen, tuple(1 / w for w in norm.weights))
    return ParameterSet("l2", chosen, ones, block_size(norm, dimension))


def functional_document(norm: Norm, functional: Sequence[Fraction]) -> Functional:
    """A functional as a claim holds it, with the bounds of its block norms where needed."""
    used = [i for i, value in enumerate(functional) if value]
    denominator = math.lcm(1, *(functional[i].denominator for i in used))
    vector = SparseVector(
        Fraction(denominator), tuple(used), tuple(functional[i] * denominator for i in used)
    )
    if not isinstance(norm, (L2Norm, BlockL2Norm)):
        return Functional(vector, ())
    norms = group_norms(functional, block_size(norm, len(functional)))
    return Functional(vector, tuple(bound for bound in norms if bound))

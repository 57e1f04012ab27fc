"""Producer of ``hjb_sos``: a value function by sums of squares, repaired exactly (theory T7.4).

On a region that holds every trajectory, ``v`` grows along every atom and ends below the squared
error, so ``v(0, z_0)`` is below the smallest squared error of all. With a depth, growth is over one
Euler step, and the error is that of the ideal schedules of that depth (theory T3.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.sums_of_squares import NO_SQUARES, Combination, Squares
from qreplace.exact.polynomial import ZERO, constant, variable
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.region_search import requested_order
from qreplace.produce.regions import ProvedRegion
from qreplace.produce.rounding import ExactSolution, exact_solution
from qreplace.produce.sos_producer import DEFAULT_ORDER, SosProducer
from qreplace.produce.sos_program import Budget, ParameterSet, Program, Solver
from qreplace.produce.squared_error import ErrorParts, error_parts, squared_distance
from qreplace.produce.value_functions import Reach, unit_of
from qreplace.question.subject import Subject

ROOT_BITS = 64


def produce(
    subject: Subject,
    bits: int,
    *,
    order: int | None = None,
    depth: int | None = None,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> HjbSosClaim:
    """A lower bound of the floor of the dictionary at ``bits``, or of the ideal error at ``depth``.

    ``order`` is r: the value function has degree 2r in ``(t, z)``; without one the question's, else
    2. Raises ``ProducerFailed`` when no exact certificate comes of it, saying what stopped it.
    """
    producer = HjbSosProducer(subject, bits, depth=depth, solver=solver, budget=budget)
    return producer.best(order or requested_order(subject) or DEFAULT_ORDER).claim


@dataclass(frozen=True)
class Attempt:
    """One order on one region: the claim, its exact value, and the floats it came from."""

    claim: HjbSosClaim
    value: Fraction
    solution: ExactSolution
    program: Program
    reach: Reach


class HjbSosProducer(SosProducer[Attempt]):
    """Value functions of one problem, below the squared error in the question's norm."""

    @cached_property
    def parts(self) -> ErrorParts:
        """The squared error by coordinates or blocks, with the rule of their weights."""
        return error_parts(self.norm, self.problem.dimension)

    def attempt(self, order: int, region: ProvedRegion) -> Attempt:
        """One programme, solved and repaired; raises ``ProducerFailed``."""
        reach = Reach(self.problem, region, self.depth, order)
        program, unit = self._program(reach)
        solution = exact_solution(program, self.clock, self.solver)
        claim, value = self._claim(reach, program, solution, unit)
        return Attempt(claim, value, solution, program, reach)

    def _program(self, reach: Reach) -> tuple[Program, Fraction]:
        """Maximise V at the start, over V and the shares of the error's parts."""
        scaling, target = reach.region.scaling, self.problem.target
        parts = [scaling.scaled(squared_distance(part, target)) for part in self.parts.parts]
        unit = max(unit_of(part) for part in parts)
        parts = [part.scaled(1 / unit) for part in parts]
        count = len(reach.basis)
        sets: tuple[ParameterSet, ...] = ()
        if self.parts.shared:
            fixed, others = ZERO, dict(enumerate(parts))
            chosen = tuple(range(count, count + len(parts)))
            sets = (ParameterSet("budget", chosen, (Fraction(1),) * len(parts)),)
        else:
            fixed, others = parts[0], {}
        identities = [*reach.flow_identities(+1), reach.terminal_identity(-1, fixed, others)]
        size = count + len(others)
        return Program(tuple(identities), size, reach.start_values(), sets), unit

    def _claim(
        self, reach: Reach, program: Program, solution: ExactSolution, unit: Fraction
    ) -> tuple[HjbSosClaim, Fraction]:
        function = reach.function(solution, unit)
        value = function.at(self.problem.start)
        if value <= 0:
            return self.nothing(), value
        flow, terminal = reach.documents(program, solution, unit)
        claim = HjbSosClaim(
            format="qreplace/claim/hjb_sos/v1",
            subject=self.subject,
            code=self.bits,
            depth=self.depth,
            weights=self.parts.weights(solution.parameters[len(reach.basis) :]),
            value_function=function,
            region=reach.region.parts,
            flow=flow,
            terminal_region=(),
            terminal=terminal,
            lower=sqrt_bounds(value, ROOT_BITS)[0],
        )
        return claim, value

    def nothing(self) -> HjbSosClaim:
        """The claim ``E >= 0``: its value function is 0, its terminal proof the error itself."""
        shares = [Fraction(1, len(self.parts.parts))] * len(self.parts.parts)
        weights = self.parts.weights(shares)
        arity = self.problem.dimension + 1
        distances = tuple(
            variable(i + 1, arity) - constant(y, arity) for i, y in enumerate(self.problem.target)
        )
        return HjbSosClaim(
            format="qreplace/claim/hjb_sos/v1",
            subject=self.subject,
            code=self.bits,
            depth=self.depth,
            weights=weights,
            value_function=ZERO,
            region=(),
            flow=(Combination(NO_SQUARES, ()),) * len(self.problem.atoms),
            terminal_region=(),
            terminal=Combination(Squares("squares", weights, distances), ()),
            lower=Fraction(0),
        )

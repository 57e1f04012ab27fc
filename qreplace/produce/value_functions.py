"""Programmes for polynomials that are monotone along every trajectory (theory T7.4, T7.6, T3.6).

The unknown V(s) is a combination of monomials in scaled time and state. For every atom its growth
along the flow (for a depth: over one step, per unit of time) is a combination with the region's
constraints; so is what is asked of it at the horizon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.sums_of_squares import Combination
from qreplace.exact.polynomial import (
    ZERO,
    Polynomial,
    Terms,
    after_step,
    from_terms,
    lie_derivative,
    variable,
)
from qreplace.produce.documents import combination, combined
from qreplace.produce.monomials import monomials
from qreplace.produce.regions import ProvedRegion
from qreplace.produce.rounding import ExactSolution
from qreplace.produce.scaling import power_of_two
from qreplace.produce.sos_program import (
    Budget,
    Identity,
    Program,
    identity,
    require_size,
)
from qreplace.question.dynamics import PolynomialProblem


@dataclass(frozen=True)
class Reach:
    """One problem on one region: what programmes about it have in common."""

    problem: PolynomialProblem
    region: ProvedRegion
    depth: int | None
    order: int

    @property
    def arity(self) -> int:
        """Time and the state."""
        return self.problem.dimension + 1

    @property
    def basis(self) -> tuple[Polynomial, ...]:
        """The monomials of V, degree at most twice the order."""
        found = monomials(range(self.arity), self.arity, 2 * self.order)
        return tuple(from_terms({m: Fraction(1)}) for m in found)

    @property
    def step(self) -> Fraction:
        """One step in scaled time, or 1 for the flow."""
        if self.depth is None:
            return Fraction(1)
        return self.problem.horizon / self.depth / self.region.scaling.radii[0]

    @property
    def flow_factor(self) -> Fraction:
        """What a programme's growth is multiplied by to be that of ``v(t, z) = V(s)``."""
        return 1 / self.region.scaling.radii[0] if self.depth is None else self.step

    def growth(self, function: Polynomial, atom: int) -> Polynomial:
        """``dV/ds_0`` along an atom, or the increment over a step, per unit of scaled time."""
        field = self.region.scaling.field(self.problem.atoms[atom])
        if self.depth is None:
            return lie_derivative(function, field)
        return (after_step(function, field, self.step) - function).scaled(1 / self.step)

    def flow_identities(self, sign: int) -> list[Identity]:
        """``sign * growth`` is a combination, for every atom."""
        constraints = list(enumerate(self.region.scaled))
        degree = flow_degree(self.problem, self.order, self.depth)
        found = []
        for atom in range(len(self.problem.atoms)):
            grown = (self.growth(m, atom) for m in self.basis)
            linear = {k: p if sign > 0 else -p for k, p in enumerate(grown) if p != ZERO}
            found.append(
                identity(
                    f"flow of atom {atom}",
                    ZERO,
                    linear,
                    constraints,
                    range(self.arity),
                    self.arity,
                    degree,
                )
            )
        return found

    def terminal_identity(
        self, sign: int, fixed: Polynomial, others: Mapping[int, Polynomial]
    ) -> Identity:
        """``fixed + others + sign * V(T, .)`` is a combination of the constraints at the end."""
        end = (self.problem.horizon - self.region.scaling.centres[0]) / self.region.scaling.radii[0]
        at_end = [(k, g.fixed(0, end)) for k, g in enumerate(self.region.scaled)]
        at_end = [(k, g) for k, g in at_end if g.degree > 0]
        linear = {k: m.fixed(0, end).scaled(Fraction(sign)) for k, m in enumerate(self.basis)}
        linear |= {len(self.basis) + k: p for k, p in others.items()}
        return identity(
            "terminal",
            fixed,
            linear,
            at_end,
            range(1, self.arity),
            self.arity,
            2 * self.order,
        )

    def start_values(self) -> dict[int, Fraction]:
        """Every monomial of V at the initial state."""
        start = self.region.scaling.point(self.problem.start)
        return {k: value for k, m in enumerate(self.basis) if (value := m.at(start))}

    # --- back to the original variables -----------------------------------------------------------

    def function(self, solution: ExactSolution, unit: Fraction) -> Polynomial:
        """``unit * V`` in the original variables."""
        value = combined(self.basis, solution.parameters[: len(self.basis)])
        return self.region.scaling.original(value).scaled(unit)

    def documents(
        self, program: Program, solution: ExactSolution, unit: Fraction
    ) -> tuple[tuple[Combination, ...], Combination]:
        """The flow combinations and the terminal one, for ``unit * V``."""
        *flows, last = range(len(program.identities))

        def document(k: int, factor: Fraction) -> Combination:
            return combination(
                program.identities[k],
                solution,
                k,
                self.region.scaling,
                factor,
                self.region.unit_of,
            )

        found = tuple(document(k, unit * self.flow_factor) for k in flows)
        return found, document(last, unit)


def unit_of(polynomial: Polynomial) -> Fraction:
    """A power of two near the largest coefficient: programmes see data of size 1."""
    return power_of_two(max((float(abs(c)) for c in polynomial.coefficients), default=1.0) or 1.0)


def linear_functional(vector: Sequence[Fraction]) -> Polynomial:
    """``<vector, z>`` in ``t, z``."""
    terms: Terms = {}
    for i, value in enumerate(vector):
        terms |= variable(i + 1, len(vector) + 1).scaled(value).terms
    return from_terms(terms)


def flow_degree(problem: PolynomialProblem, order: int, depth: int | None) -> int:
    """The degree of the flow identities: even, and at least that of V."""
    fields = max((p.degree for atom in problem.atoms for p in atom), default=0)
    flowing = max(2 * order, 2 * order - 1 + fields)
    degree = flowing if depth is None else 2 * order * max(1, fields)
    return degree + degree % 2


def require_flow_size(
    problem: PolynomialProblem, order: int, depth: int | None, budget: Budget
) -> None:
    """Raise ``ProducerFailed`` when a programme would be too large to start."""
    degree = flow_degree(problem, order, depth)
    require_size(problem.dimension + 1, degree, len(problem.atoms), budget)

"""Regions that hold every trajectory, with the proofs a claim needs (theory T7.4).

A region is time, then moving sides that are shown invariant by sums of squares with the box that
follows from them, or the constant box of speeds and walls, then those of the user's own constraints
for which a proof is found. What was tried and failed is kept in ``notes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from qreplace.claims.region import (
    BoxPart,
    ImpliedPart,
    InvariantPart,
    Region,
    RegionPart,
    TimePart,
)
from qreplace.claims.sums_of_squares import NO_SQUARES, Combination
from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import (
    ZERO,
    Polynomial,
    after_step,
    constant,
    from_terms,
    lie_derivative,
    variable,
)
from qreplace.produce.documents import combination, combined
from qreplace.produce.hulls import hull_part
from qreplace.produce.monomials import monomials, reduced_basis
from qreplace.produce.rounding import exact_solution
from qreplace.produce.scaling import Scaling, power_of_two, scaling_of
from qreplace.produce.sides import Sides, propose_sides
from qreplace.produce.sos_program import (
    Budget,
    Clock,
    GramBlock,
    Identity,
    Program,
    Solver,
    identity,
    require_size,
)
from qreplace.produce.tubes import find_box
from qreplace.question.dynamics import PolynomialProblem

SIDE_DEGREES = (1, 2, 3, 4)
ROOMS = (1 / 64, 1 / 256, 1 / 16)
PROOF_MARGIN = 1e-6
PROOF_ROWS = 36
"""Gram matrices of a proof about the region are at most this large: it is only a means."""
FLOW_ATTEMPTS = ((0, 0, False), (1, 0, False), (1, 2, False), (1, 0, True), (0, 0, True))
"""Degree of the factor p over that of g, how much more the products may reach, on a face or not."""


class NoRegion(ProducerFailed):
    """No region was found that holds every trajectory: nothing can be certified on one."""


NumberedConstraint = tuple[int, Polynomial]


@dataclass(frozen=True)
class ProvedRegion:
    """A region with its proofs, and what a producer needs to use it.

    ``constraints`` are in the original variables and numbered as in the claim; ``scaled`` are those
    in the scaled ones, each over a power of two ``units[i]``.
    """

    parts: Region
    constraints: tuple[Polynomial, ...]
    scaling: Scaling
    scaled: tuple[Polynomial, ...]
    units: tuple[Fraction, ...]
    notes: tuple[str, ...]

    def unit_of(self, number: int) -> Fraction:
        """What constraint ``number`` is divided by in the programme."""
        return self.units[number]


@dataclass
class _Draft:
    """A region under construction."""

    scaling: Scaling
    parts: list[RegionPart] = field(default_factory=list)
    constraints: list[Polynomial] = field(default_factory=list)
    scaled: list[Polynomial] = field(default_factory=list)
    units: list[Fraction] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_constraint(self, constraint: Polynomial) -> int:
        """Number a constraint; its part follows once it is proved."""
        polynomial = self.scaling.scaled(constraint)
        unit = power_of_two(max(map(abs, map(float, polynomial.coefficients)), default=1.0))
        self.constraints.append(constraint)
        self.scaled.append(polynomial.scaled(1 / unit))
        self.units.append(unit)
        return len(self.constraints) - 1

    def drop_last(self) -> None:
        """Take back the last constraint."""
        for values in (self.constraints, self.scaled, self.units):
            values.pop()

    def finished(self) -> ProvedRegion:
        """The region as it stands."""
        return ProvedRegion(
            tuple(self.parts),
            tuple(self.constraints),
            self.scaling,
            tuple(self.scaled),
            tuple(self.units),
            tuple(self.notes),
        )


@dataclass(frozen=True)
class RegionFinder:
    """Everything a search for a region depends on; ``depth`` asks for the discrete twin."""

    problem: PolynomialProblem
    depth: int | None
    wanted: tuple[Polynomial, ...]
    clock: Clock
    solver: Solver = "CLARABEL"

    def candidates(self) -> Iterator[ProvedRegion]:
        """Moving sides by ascending degree, the constant box where there are none.

        Sides are tighter, and cheaper to find. Raises ``NoRegion`` when nothing holds.
        """
        reasons: list[str] = []
        found = False
        attempts = [*(self._sided(degree) for degree in SIDE_DEGREES), self._with_box]
        for attempt in attempts:
            if found and attempt == self._with_box:
                return
            try:
                draft = attempt()
            except ProducerFailed as error:
                self.clock.remaining()
                reasons.append(error.message)
                continue
            found = True
            draft.notes.extend(reasons)
            self._add_wanted(draft)
            yield draft.finished()
        if not found:
            raise NoRegion(
                "no region was found that holds every trajectory: " + "; ".join(reasons),
                remedy="Shorten the horizon or scale the state",
            )

    # --- the base ---------------------------------------------------------------------------------

    def _with_box(self) -> _Draft:
        part = find_box(self.problem, self.depth)
        low, high = list(map(float, part.lower)), list(map(float, part.upper))
        draft = self._start(low, high)
        draft.parts.append(part)
        for constraint in box_constraints(part):
            draft.add_constraint(constraint)
        return draft

    def _sided(self, degree: int) -> Callable[[], _Draft]:
        return lambda: self._with_sides(degree)

    def _with_sides(self, degree: int) -> _Draft:
        failure: ProducerFailed | None = None
        for room in ROOMS:
            try:
                return self._proved_sides(propose_sides(self.problem, degree, room))
            except ProducerFailed as error:
                self.clock.remaining()
                failure = failure or error
        reason = failure.message if failure else "none was tried"
        raise ProducerFailed(f"sides of degree {degree} in time: {reason}")

    def _proved_sides(self, sides: Sides) -> _Draft:
        """``z_i - l_i`` and ``h_i - z_i`` are invariant, and a constant box follows from them."""
        size, horizon = self.problem.dimension, self.problem.horizon
        hulls = [
            hull_part(i, size + 1, sides.lower[i], sides.upper[i], horizon, (2 * i + 1, 2 * i + 2))
            for i in range(size)
        ]
        draft = self._start(*sides.hull(horizon))
        for index in range(size):
            for constraint in sides.constraints(index):
                draft.add_constraint(constraint)
        for part in hulls:
            draft.add_constraint(part.constraint)
        for number in range(1, 2 * size + 1):
            draft.parts.append(self._invariant(draft, number, draft.constraints[number]))
        draft.parts.extend(hulls)
        return draft

    def _start(self, low: Sequence[float], high: Sequence[float]) -> _Draft:
        horizon = self.problem.horizon
        draft = _Draft(scaling_of([0.0, *low], [float(horizon), *high]))
        arity = self.problem.dimension + 1
        time = variable(0, arity)
        draft.add_constraint(time * (constant(horizon, arity) - time))
        draft.parts.append(TimePart("time"))
        return draft

    def _add_implied(self, draft: _Draft, constraint: Polynomial) -> None:
        before = list(enumerate(draft.scaled))
        number = draft.add_constraint(constraint)
        goal = draft.scaled[number]
        degree = _even(max(goal.degree, *(g.degree for _, g in before)))
        try:
            proof = self._combination(draft, goal, before, degree, draft.units[number])
        except ProducerFailed:
            draft.drop_last()
            raise
        draft.parts.append(ImpliedPart("implied", constraint, proof))

    # --- the user's constraints -------------------------------------------------------------------

    def _add_wanted(self, draft: _Draft) -> None:
        for position, constraint in enumerate(self.wanted):
            if constraint == ZERO or constraint.at(self.problem.start) < 0:
                draft.notes.append(f"region constraint {position} fails at the initial state")
                continue
            number = draft.add_constraint(constraint)
            try:
                draft.parts.append(self._invariant(draft, number, constraint))
                continue
            except ProducerFailed as error:
                self.clock.remaining()
                draft.drop_last()
                reason = error.message
            try:
                self._add_implied(draft, constraint)
            except ProducerFailed:
                self.clock.remaining()
                draft.notes.append(f"region constraint {position} is left out: {reason}")

    # --- proofs -----------------------------------------------------------------------------------

    def _invariant(self, draft: _Draft, number: int, constraint: Polynomial) -> InvariantPart:
        proofs, factors = [], []
        for field_of_atom in self.problem.atoms:
            if self.depth is None:
                proof, factor = self._flow_proof(draft, number, field_of_atom)
            else:
                proof, factor = self._step_proof(draft, number, field_of_atom), ZERO
            proofs.append(proof)
            factors.append(factor)
        return InvariantPart("invariant", constraint, tuple(proofs), tuple(factors))

    def _step_proof(self, draft: _Draft, number: int, atom: Sequence[Polynomial]) -> Combination:
        """``g(t + h, z + h G) = combination``, g itself allowed; solved per unit of time."""
        scaling = draft.scaling
        step = self.problem.horizon / (self.depth or 1) / scaling.radii[0]
        moved = after_step(draft.scaled[number], scaling.field(atom), step)
        named = list(enumerate(draft.scaled))
        goal = moved.scaled(1 / step)
        return self._combination(draft, goal, named, _even(goal.degree), step * draft.units[number])

    def _flow_proof(
        self, draft: _Draft, number: int, atom: Sequence[Polynomial]
    ) -> tuple[Combination, Polynomial]:
        """``d_t g + grad g . G - p g = combination`` of the others, and ``p``."""
        scaling = draft.scaling
        own = draft.scaled[number]
        goal = lie_derivative(own, scaling.field(atom))
        rate = 1 / scaling.radii[0]
        if goal == ZERO:
            return Combination(NO_SQUARES, ()), ZERO
        named = [(k, g) for k, g in enumerate(draft.scaled) if k != number]
        failure: ProducerFailed | None = None
        for order, more, face in FLOW_ATTEMPTS:
            basis = self._factors(own, goal, order * own.degree)
            try:
                proof, factor = self._with_factor(draft, goal, named, basis, number, more, face)
            except ProducerFailed as error:
                self.clock.remaining()
                failure = error
                continue
            return proof, scaling.original(factor).scaled(rate)
        raise failure or ProducerFailed("an invariance proof was not found")

    def _factors(self, own: Polynomial, goal: Polynomial, order: int) -> list[Polynomial]:
        """Monomials of a factor p, in the variables that occur."""
        used = _variables(own, goal)
        arity = self.problem.dimension + 1
        return [from_terms({m: Fraction(1)}) for m in monomials(used, arity, order)]

    def _with_factor(
        self,
        draft: _Draft,
        goal: Polynomial,
        named: Sequence[NumberedConstraint],
        factors: Sequence[Polynomial],
        number: int,
        more: int,
        face: bool,
    ) -> tuple[Combination, Polynomial]:
        own = draft.scaled[number]
        linear = {k: -(m * own) for k, m in enumerate(factors)}
        degree = _even(max(goal.degree, *(p.degree for p in linear.values()))) + more
        proof, parameters = self._solved(
            draft, goal, linear, named, degree, draft.units[number] / draft.scaling.radii[0], face
        )
        return proof, combined(tuple(factors), parameters)

    def _combination(
        self,
        draft: _Draft,
        goal: Polynomial,
        named: Sequence[NumberedConstraint],
        degree: int,
        factor: Fraction,
    ) -> Combination:
        """``goal`` itself as a combination."""
        failure: ProducerFailed | None = None
        for more, face in ((0, False), (2, False), (0, True)):
            try:
                return self._solved(draft, goal, {}, named, degree + more, factor, face)[0]
            except ProducerFailed as error:
                self.clock.remaining()
                failure = error
        raise failure or ProducerFailed("a combination was not found")

    def _solved(
        self,
        draft: _Draft,
        goal: Polynomial,
        linear: Mapping[int, Polynomial],
        named: Sequence[NumberedConstraint],
        degree: int,
        factor: Fraction,
        face: bool,
    ) -> tuple[Combination, tuple[Fraction, ...]]:
        """A combination equal to ``goal + sum theta linear``, and theta.

        ``face``: without multipliers, on the face of the Gram matrices that the support leaves.
        """
        arity = self.problem.dimension + 1
        used = _variables(goal, *linear.values())
        near = [(k, g) for k, g in named if set(_variables(g)) <= set(used)]
        rows = min(PROOF_ROWS, self.clock.budget.gram_rows)
        require_size(len(used), degree, 1, Budget(gram_rows=rows))
        part = identity("invariance", goal, linear, near, used, arity, degree)
        part = _on_face(part) if face else part
        solution = exact_solution(
            Program((part,), len(linear), {}),
            self.clock,
            self.solver,
            margin=PROOF_MARGIN,
            attempts=2,
            direct=self.solver == "CLARABEL",
        )
        document = combination(part, solution, 0, draft.scaling, factor, lambda k: draft.units[k])
        return document, solution.parameters


def box_constraints(part: BoxPart) -> list[Polynomial]:
    """``(z_i - lower_i)(upper_i - z_i)``."""
    arity = len(part.lower) + 1
    found = []
    for index, (low, high) in enumerate(zip(part.lower, part.upper, strict=True)):
        z = variable(index + 1, arity)
        found.append((z - constant(low, arity)) * (constant(high, arity) - z))
    return found


def _on_face(part: Identity) -> Identity:
    """The identity without multipliers, on the face that its support leaves (facial reduction)."""
    support = set(part.fixed.exponents)
    for polynomial in part.linear.values():
        support.update(polynomial.exponents)
    free = part.blocks[0]
    basis = reduced_basis(free.basis, support)
    if not basis:
        raise ProducerFailed("no monomial is left on the face of the Gram matrices")
    block = GramBlock(None, free.constraint, basis)
    return Identity(part.name, part.fixed, part.linear, (block,))


def _variables(*polynomials: Polynomial) -> tuple[int, ...]:
    """The variables that occur; never none."""
    found = {i for p in polynomials for e in p.exponents for i, power in enumerate(e) if power}
    return tuple(sorted(found)) or (0,)


def _even(degree: int) -> int:
    return max(2, degree + degree % 2)

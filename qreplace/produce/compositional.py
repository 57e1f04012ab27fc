"""Producer of ``compositional``: local value functions and what their couplings cost (theory T7.5).

Each block is a small programme of its own. What the other blocks do to it is a disturbance with
known ends on the tube, and the programme pays for ``grad v`` times that disturbance while it
maximises ``v(0, z_0)``. The budgets of the claim are then bounded exactly, block by block, from the
value functions found; a block that loses more than it shows keeps the value function 0.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.claims.region import BoxPart
from qreplace.claims.sums_of_squares import NO_SQUARES, Combination
from qreplace.errors import ProducerFailed
from qreplace.exact.intervals import Box, Interval, range_on_cells
from qreplace.exact.polynomial import (
    ZERO,
    Polynomial,
    Terms,
    constant,
    from_terms,
    lie_derivative,
    total,
    variable,
)
from qreplace.exact.rational import round_up
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.documents import combination, combined
from qreplace.produce.monomials import monomials
from qreplace.produce.region_search import requested_order
from qreplace.produce.rounding import ExactSolution, exact_solution
from qreplace.produce.scaling import Scaling, scaling_of
from qreplace.produce.sos_program import (
    Budget,
    Clock,
    Identity,
    ParameterSet,
    Program,
    Solver,
    identity,
    require_size,
)
from qreplace.produce.squared_error import ErrorParts, error_parts, squared_distance
from qreplace.produce.tubes import find_box, reach
from qreplace.produce.value_functions import unit_of
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import ComputedFloor
from qreplace.question.subject import Subject

DEFAULT_ORDER = 1
LARGEST_FOUND_BLOCK = 3
LARGEST_BLOCK = 6
STRONG = Fraction(1, 4)
"""Coordinates are taken into one block when one can move the other this part of its width."""
CELL_COUNTS = (4, 2)
WANTED_CELLS = 4096
BUDGET_BITS = 48
ROOT_BITS = 64

Blocks = tuple[tuple[int, ...], ...]
Field = tuple[Polynomial, ...]


def produce(
    subject: Subject,
    bits: int,
    *,
    order: int | None = None,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> CompositionalClaim:
    """A lower bound of the floor of the dictionary at ``bits`` metadata bits, block by block.

    ``order`` is r: local value functions have degree 2r in time and the block. Blocks are the
    question's, or found from the strength of the couplings. Raises ``ProducerFailed`` when no tube
    is found or no local programme ends exactly.
    """
    producer = CompositionalProducer(subject, bits, solver=solver, budget=budget)
    return producer.claim(order or requested_order(subject) or DEFAULT_ORDER)


class CompositionalProducer:
    """One problem in blocks, its tube, and what solver and exact repair cost."""

    def __init__(
        self,
        subject: Subject,
        bits: int,
        *,
        solver: Solver = "CLARABEL",
        budget: Budget | None = None,
    ) -> None:
        self.problem = subject.polynomial(bits)
        self.norm = subject.question.norm
        self.subject = subject.problem_digest(bits)
        self.bits = bits
        self.solver: Solver = solver
        self.clock = Clock(budget or Budget())
        self.notes: list[str] = []
        """What was tried and did not work."""
        self.tube = _finer(self.problem, find_box(self.problem))
        floor = subject.question.floor
        asked = floor.blocks if isinstance(floor, ComputedFloor) else ()
        self.blocks = asked or found_blocks(self.problem, self.tube)
        largest = max(map(len, self.blocks))
        if largest > LARGEST_BLOCK:
            raise ProducerFailed(f"a block has {largest} coordinates; at most {LARGEST_BLOCK}")

    def claim(self, order: int) -> CompositionalClaim:
        """The better claim of the two ways to split local field and coupling."""
        best: CompositionalClaim | None = None
        failure: ProducerFailed | None = None
        for reference in self._references():
            try:
                found = self._claim(order, reference)
            except ProducerFailed as error:
                self.clock.remaining()
                failure = failure or error
                continue
            best = found if best is None or found.lower > best.lower else best
        if best is None:
            raise failure or ProducerFailed("no local programme ended in an exact certificate")
        return best

    def _references(self) -> list[tuple[Fraction, ...]]:
        """What other blocks' coordinates are replaced by in a local field: the middle, or 0."""
        tube = self.tube
        middle = tuple((a + b) / 2 for a, b in zip(tube.lower, tube.upper, strict=True))
        zero = (Fraction(0),) * self.problem.dimension
        return [middle] if middle == zero else [middle, zero]

    def _claim(self, order: int, reference: tuple[Fraction, ...]) -> CompositionalClaim:
        local = [Local(self, index, reference) for index in range(len(self.blocks))]
        found: list[Block] = []
        reasons: list[str] = []
        for part in local:
            try:
                found.append(part.solved(order))
            except ProducerFailed as error:
                self.clock.remaining()
                reasons.append(error.message)
                found.append(part.nothing())
        if len(reasons) == len(local):
            raise ProducerFailed(f"no block ended in an exact certificate: {reasons[0]}")
        self.notes.extend(reasons)
        return self._chosen(local, found)

    def _chosen(self, local: Sequence[Local], found: Sequence[Block]) -> CompositionalClaim:
        """The blocks that gain, from the set of them that gains most together.

        Value, budgets and weights of a block scale together, so the best shares of the parts of a
        maximum norm are all in one part, or in one block that reaches across parts.
        """
        gains = [
            max(part.gain(block), Fraction(0)) for part, block in zip(local, found, strict=True)
        ]
        sets = _compatible(local)
        sums = [sum((gains[k] for k in own), Fraction(0)) for own in sets]
        best = max(range(len(sets)), key=lambda s: sums[s])
        kept = tuple(
            block if k in sets[best] and gains[k] else part.nothing()
            for k, (part, block) in enumerate(zip(local, found, strict=True))
        )
        return CompositionalClaim(
            format="qreplace/claim/compositional/v1",
            subject=self.subject,
            code=self.bits,
            tube=self.tube,
            blocks=kept,
            lower=sqrt_bounds(sums[best], ROOT_BITS)[0],
        )


@dataclass(frozen=True)
class Local:
    """One block of a problem: its own field, and the disturbance by the others."""

    producer: CompositionalProducer
    index: int
    reference: tuple[Fraction, ...]

    @property
    def problem(self) -> PolynomialProblem:
        """The whole problem."""
        return self.producer.problem

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The block's coordinates."""
        return self.producer.blocks[self.index]

    @property
    def arity(self) -> int:
        """Time and the block's coordinates."""
        return len(self.coordinates) + 1

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """``g_ij``: the other coordinates at their reference, in the block's own variables."""
        return tuple(
            tuple(self._own(atom[c]) for c in self.coordinates) for atom in self.problem.atoms
        )

    def _own(self, component: Polynomial) -> Polynomial:
        place = {0: 0} | {c + 1: k + 1 for k, c in enumerate(self.coordinates)}
        for c, value in enumerate(self.reference):
            if c not in self.coordinates:
                component = component.fixed(c + 1, value)
        terms: Terms = {}
        for exponents, coefficient in component.terms.items():
            key = [0] * self.arity
            for i, power in enumerate(exponents):
                if power:
                    key[place[i]] = power
            terms[tuple(key)] = coefficient
        return from_terms(terms)

    @cached_property
    def couplings(self) -> tuple[Field, ...]:
        """``c_ij``: what the atoms' fields have beyond the local ones, in all variables."""
        arity = self.problem.dimension + 1
        places = [0, *(c + 1 for c in self.coordinates)]
        return tuple(
            tuple(
                atom[c] - own.renamed(places, arity)
                for c, own in zip(self.coordinates, local, strict=True)
            )
            for atom, local in zip(self.problem.atoms, self.fields, strict=True)
        )

    @cached_property
    def disturbances(self) -> tuple[Interval, ...]:
        """For each coordinate of the block, the range of its coupling over atoms and tube."""
        found = []
        for k in range(len(self.coordinates)):
            ranges = [self._range(coupling[k]) for coupling in self.couplings]
            found.append((min(low for low, _ in ranges), max(high for _, high in ranges)))
        return tuple(found)

    @cached_property
    def constraints(self) -> tuple[Polynomial, ...]:
        """``t (T - t)`` and the sides of the block's box, numbered as in the claim."""
        tube, arity = self.producer.tube, self.arity
        time = variable(0, arity)
        found = [time * (constant(self.problem.horizon, arity) - time)]
        for k, c in enumerate(self.coordinates):
            z = variable(k + 1, arity)
            low, high = constant(tube.lower[c], arity), constant(tube.upper[c], arity)
            found.append((z - low) * (high - z))
        return tuple(found)

    @property
    def target(self) -> tuple[Fraction, ...]:
        """The block's part of the target."""
        return tuple(self.problem.target[c] for c in self.coordinates)

    @property
    def start(self) -> tuple[Fraction, ...]:
        """Time 0 and the block's part of the initial state."""
        return (Fraction(0), *(self.problem.initial[c] for c in self.coordinates))

    @property
    def parts(self) -> ErrorParts:
        """The parts of the norm, restricted to the block; shared if none holds all of it."""
        every = error_parts(self.producer.norm, self.problem.dimension).parts
        own = [tuple(part[c] for c in self.coordinates) for part in every]
        whole = [part for part in own if all(part)]
        if whole:
            return ErrorParts((whole[0],), shared=False)
        return ErrorParts(tuple(part for part in own if any(part)), shared=True)

    # --- the claim's block ------------------------------------------------------------------------

    def solved(self, order: int) -> Block:
        """The local value function, its proofs and its exact budgets; raises ``ProducerFailed``."""
        return LocalProgram(self, order).block()

    def nothing(self) -> Block:
        """Value function 0 and weights 0: the block neither shows nor costs anything."""
        zero = (Fraction(0),) * len(self.coordinates)
        empty = Combination(NO_SQUARES, ())
        return Block(
            coordinates=self.coordinates,
            weights=zero,
            value_function=ZERO,
            local=self.fields,
            flow=(empty,) * len(self.problem.atoms),
            terminal=empty,
            coupling=(Fraction(0),) * len(self.producer.blocks),
        )

    def gain(self, block: Block) -> Fraction:
        """What the block adds to the bound of the squared error."""
        loss = self.problem.horizon * sum(block.coupling, Fraction(0))
        return block.value_function.at(self.start) - loss

    def budgets(self, function: Polynomial) -> tuple[Fraction, ...]:
        """For every block, the least budget that covers its part of ``grad v . c`` on the tube."""
        blocks = self.producer.blocks
        found = [Fraction(0)] * len(blocks)
        effects = [self._effects(function, coupling) for coupling in self.couplings]
        for due in range(len(blocks)):
            least = min(self._range(effect[due])[0] for effect in effects)
            found[due] = round_up(-least, BUDGET_BITS)
        return tuple(found)

    def _effects(self, function: Polynomial, coupling: Field) -> list[Polynomial]:
        """``grad v . c`` by the block that each monomial of ``c`` is due to."""
        arity = self.problem.dimension + 1
        places = [0, *(c + 1 for c in self.coordinates)]
        owner = {c: b for b, block in enumerate(self.producer.blocks) for c in block}
        parts: list[list[Polynomial]] = [[] for _ in self.producer.blocks]
        for k, component in enumerate(coupling):
            slope = function.derivative(k + 1).renamed(places, arity)
            shares: list[Terms] = [{} for _ in parts]
            for exponents, coefficient in component.terms.items():
                touched = {owner[i] for i, power in enumerate(exponents[1:]) if power}
                due = min(touched - {self.index}, default=self.index)
                shares[due][exponents] = coefficient
            for due, share in enumerate(shares):
                if share:
                    parts[due].append(slope * from_terms(share))
        return [total(part) for part in parts]

    def _range(self, polynomial: Polynomial) -> Interval:
        """As the checker bounds it: cut only along the variables that occur."""
        cells = self.producer.tube.cells
        counts = [n if polynomial.involves(i) else 1 for i, n in enumerate(cells)]
        return range_on_cells(polynomial, _box(self.problem, self.producer.tube), counts)


class LocalProgram:
    """Maximise ``v(0, z_0) - T sum k`` where ``k`` pays for the worst disturbance of each slope."""

    def __init__(self, local: Local, order: int) -> None:
        self.local = local
        self.order = order
        self.scaling = self._scaling()
        self.units = [unit_of(self.scaling.scaled(g)) for g in local.constraints]
        self.scaled = [
            self.scaling.scaled(g).scaled(1 / unit)
            for g, unit in zip(local.constraints, self.units, strict=True)
        ]
        every = monomials(range(local.arity), local.arity, 2 * order)
        self.basis = tuple(from_terms({m: Fraction(1)}) for m in every)
        errors = [
            self.scaling.scaled(squared_distance(part, local.target)) for part in local.parts.parts
        ]
        self.unit = max(map(unit_of, errors))
        self.errors = [error.scaled(1 / self.unit) for error in errors]

    def block(self) -> Block:
        """Solved, repaired, and with exact budgets."""
        local, producer = self.local, self.local.producer
        degree = self._flow_degree()
        require_size(local.arity, degree, len(local.fields), producer.clock.budget)
        program = self._program(degree)
        solution = exact_solution(program, producer.clock, producer.solver)
        own = combined(self.basis, solution.parameters[: len(self.basis)])
        function = self.scaling.original(own).scaled(self.unit)
        shares = [solution.parameters[a] for chosen in program.sets for a in chosen.parameters]
        count = len(local.fields)
        rate = self.unit / self.scaling.radii[0]
        return Block(
            coordinates=local.coordinates,
            weights=local.parts.weights(shares),
            value_function=function,
            local=local.fields,
            flow=tuple(self._document(program, solution, j, rate) for j in range(count)),
            terminal=self._document(program, solution, count, self.unit),
            coupling=local.budgets(function),
        )

    def _document(
        self, program: Program, solution: ExactSolution, position: int, factor: Fraction
    ) -> Combination:
        part = program.identities[position]
        return combination(part, solution, position, self.scaling, factor, lambda k: self.units[k])

    def _scaling(self) -> Scaling:
        tube, chosen = self.local.producer.tube, self.local.coordinates
        low = [0.0, *(float(tube.lower[c]) for c in chosen)]
        high = [float(self.local.problem.horizon), *(float(tube.upper[c]) for c in chosen)]
        return scaling_of(low, high)

    def _flow_degree(self) -> int:
        fields = max((p.degree for field in self.local.fields for p in field), default=0)
        degree = max(2 * self.order, 2 * self.order - 1 + fields)
        return degree + degree % 2

    def _program(self, degree: int) -> Program:
        local, scaling = self.local, self.scaling
        variables = range(local.arity)
        named = list(enumerate(self.scaled))
        identities: list[Identity] = []
        for field in local.fields:
            moved = scaling.field(field)
            linear = {k: lie_derivative(m, moved) for k, m in enumerate(self.basis)}
            identities.append(
                identity("local flow", ZERO, linear, named, variables, local.arity, degree)
            )
        end = (local.problem.horizon - scaling.centres[0]) / scaling.radii[0]
        at_end = [(k, g.fixed(0, end)) for k, g in named[1:]]
        last = {k: -m.fixed(0, end) for k, m in enumerate(self.basis)}
        fixed, size = self.errors[0], len(self.basis)
        sets: tuple[ParameterSet, ...] = ()
        if local.parts.shared:
            chosen = tuple(range(size, size + len(self.errors)))
            last |= dict(zip(chosen, self.errors, strict=True))
            fixed, size = ZERO, size + len(self.errors)
            sets = (ParameterSet("budget", chosen, (Fraction(1),) * len(chosen)),)
        identities.append(
            identity("terminal", fixed, last, at_end, variables[1:], local.arity, 2 * self.order)
        )
        start = scaling.point(local.start)
        objective = {k: m.at(start) for k, m in enumerate(self.basis)}
        for k, (low, high) in enumerate(local.disturbances):
            if low == high == 0:
                continue
            objective[size] = -local.problem.horizon
            identities.extend(self._paid(k, size, sorted({low, high}), named))
            size += 1
        return Program(tuple(identities), size, objective, sets)

    def _paid(
        self,
        position: int,
        parameter: int,
        ends: Sequence[Fraction],
        named: Sequence[tuple[int, Polynomial]],
    ) -> list[Identity]:
        """``k + d_i v * c >= 0`` at both ends of the disturbance ``c``."""
        arity = self.local.arity
        radius = self.scaling.radii[position + 1]
        slopes = {k: m.derivative(position + 1) for k, m in enumerate(self.basis)}
        found = []
        for end in ends:
            linear = {k: p.scaled(end / radius) for k, p in slopes.items()}
            linear[parameter] = constant(Fraction(1), arity)
            name = f"coupling of coordinate {self.local.coordinates[position]}"
            found.append(identity(name, ZERO, linear, named, range(arity), arity, 2 * self.order))
        return found


def _compatible(local: Sequence[Local]) -> list[list[int]]:
    """Sets of blocks whose errors may be added with their full weights."""
    producer = local[0].producer
    parts = error_parts(producer.norm, producer.problem.dimension).parts
    inside = [
        [k for k, own in enumerate(local) if all(part[c] for c in own.coordinates)]
        for part in parts
    ]
    across = [[k] for k, own in enumerate(local) if own.parts.shared]
    return [own for own in (*inside, *across) if own]


# --- blocks and tube ------------------------------------------------------------------------------


def found_blocks(problem: PolynomialProblem, tube: BoxPart) -> Blocks:
    """Coordinates joined where one strongly moves the other, in blocks that stay small.

    The strength is how far the other coordinate's width can move this one within the horizon,
    relative to its own width. Strong pairs are joined in order of strength.
    """
    box = _box(problem, tube)
    widths = [high - low for low, high in box[1:]]
    size = problem.dimension
    pairs = []
    for i in range(size):
        for k in range(i):
            strength = max(
                _strength(problem, box, widths, i, k), _strength(problem, box, widths, k, i)
            )
            if strength >= STRONG:
                pairs.append((-strength, k, i))
    owner = list(range(size))
    for _, k, i in sorted(pairs):
        one, other = owner[k], owner[i]
        if one != other and owner.count(one) + owner.count(other) <= LARGEST_FOUND_BLOCK:
            owner = [one if o == other else o for o in owner]
    return tuple(tuple(i for i in range(size) if owner[i] == root) for root in sorted(set(owner)))


def _strength(
    problem: PolynomialProblem, box: Box, widths: Sequence[Fraction], moved: int, by: int
) -> Fraction:
    largest = Fraction(0)
    for atom in problem.atoms:
        slope = atom[moved].derivative(by + 1)
        if slope != ZERO:
            low, high = range_on_cells(slope, box, [1] * len(box))
            largest = max(largest, abs(low), abs(high))
    if not largest:
        return Fraction(0)
    if not widths[moved]:
        return Fraction(1)
    return largest * widths[by] * problem.horizon / widths[moved]


def _box(problem: PolynomialProblem, tube: BoxPart) -> Box:
    return ((Fraction(0), problem.horizon), *zip(tube.lower, tube.upper, strict=True))


def _finer(problem: PolynomialProblem, tube: BoxPart) -> BoxPart:
    """The same box on finer cells of the state, for tighter budgets, where it still holds.

    What slices of time and walls show does not depend on the cells of the state; what speeds on
    the cells show is tried again.
    """
    sides = list(zip(tube.lower, tube.upper, strict=True))
    by_speed = _holds(sides, reach(problem, sides, tube.cells))
    for count in CELL_COUNTS:
        cells = (tube.cells[0], *(max(count, c) for c in tube.cells[1:]))
        if math.prod(cells) > WANTED_CELLS:
            continue
        if not by_speed or _holds(sides, reach(problem, sides, cells)):
            return dataclasses.replace(tube, cells=cells)
    return tube


def _holds(sides: Sequence[Interval], wanted: Sequence[Interval]) -> bool:
    return all(a <= c and d <= b for (a, b), (c, d) in zip(sides, wanted, strict=True))

"""Checker of ``compositional`` (theory T7.5).

Claim: ``E_inf >= lower``.

Obligations, numbered as in ``schemas/compositional.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the blocks hold every coordinate exactly once, at most 6 each, with one weight and one local
   field component a coordinate, one local field and one proof an atom and one budget a block, all
   polynomials in time and the block's coordinates, and the arithmetic asked for is bounded;
3. ``phi = sum w_i (z_i - y_i)^2``, over all blocks, is at most the squared error in the question's
   norm;
4. every trajectory stays in the tube;
5. for every block and atom the local value function does not fall along the local field, on the
   block's part of the tube;
6. ``phi_i - v_i(T, .)`` is not negative on the block's part of the tube;
7. for every atom the part of ``grad v_i . c_ij`` that is due to block l is at least minus block i's
   budget for it, on the whole tube;
8. ``lower >= 0`` and ``lower^2 <= sum of v_i(0, z_i0) - T * sum of all budgets``.

Then ``V = sum of v_i`` falls along every relaxed trajectory by at most the budgets:
``lower^2 <= V(0) - T * sum <= V(T) <= phi(z(T)) <= ||z(T) - y||^2``. Only rationals are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.hjb_sos import MAX_STATES, check_weights, squared_error
from qreplace.check.region import box_of, check_box, side_constraint, time_constraint
from qreplace.check.sums_of_squares import require_nonnegative
from qreplace.check.work import Work, oversized_is_rejected
from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.exact.intervals import Box, range_on_cells
from qreplace.exact.polynomial import (
    Polynomial,
    Terms,
    from_terms,
    lie_derivative,
    total,
)
from qreplace.premises import Evidence
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.subject import Subject


def check(subject: Subject, claim: CompositionalClaim) -> tuple[ScopedBound, ...]:
    """The lower bound that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = subject.polynomial(claim.code)
    _check_shape(problem, claim.blocks)  # 2
    weights = [Fraction(0)] * problem.dimension
    for block in claim.blocks:
        for coordinate, weight in zip(block.coordinates, block.weights, strict=True):
            weights[coordinate] = weight
    check_weights(subject.question.norm, weights, "/blocks")  # 3
    with oversized_is_rejected():
        box = box_of(problem, claim.tube, "/tube")  # 2
        work = Work(problem.dimension + 1, claim, problem)  # 2
        work.box(problem, claim.tube)  # 2
        check_box(problem, claim.tube, "/tube")  # 4
        for index, block in enumerate(claim.blocks):
            place = f"/blocks/{index}"
            _check_local(problem, claim, block, work, place)  # 5, 6
            _check_coupling(problem, claim, index, box, work)  # 7
    start = sum((_start(problem, block) for block in claim.blocks), Fraction(0))
    loss = problem.horizon * sum((k for block in claim.blocks for k in block.coupling), Fraction(0))
    require(claim.lower >= 0, "the lower end is negative", "/lower")  # 8
    within = claim.lower**2 <= start - loss
    require(within, "the lower end exceeds what the value functions show", "/lower")  # 8
    return floor_bounds(subject, claim, lower=claim.lower, evidence=Evidence.ANALYTIC_CERTIFIED)


def _check_shape(problem: PolynomialProblem, blocks: Sequence[Block]) -> None:
    named = sorted(coordinate for block in blocks for coordinate in block.coordinates)
    whole = named == list(range(problem.dimension))
    require(whole, "the blocks do not hold every coordinate exactly once", "/blocks")
    for index, block in enumerate(blocks):
        place = f"/blocks/{index}"
        size = len(block.coordinates)
        small = 1 <= size <= MAX_STATES
        require(small, f"a block has 1 to {MAX_STATES} coordinates", f"{place}/coordinates")
        weighted = len(block.weights) == size
        require(weighted, "one weight a coordinate of the block is needed", f"{place}/weights")
        atoms = len(block.local) == len(block.flow) == len(problem.atoms)
        require(atoms, "one local field and one combination an atom are needed", place)
        components = all(len(field) == size for field in block.local)
        require(components, "one component a coordinate of the block is needed", f"{place}/local")
        budgets = len(block.coupling) == len(blocks)
        require(budgets, "one coupling budget a block is needed", f"{place}/coupling")
        own = (block.value_function, *(part for field in block.local for part in field))
        fits = all(polynomial.fits(size + 1) for polynomial in own)
        require(fits, "a local function has another number of variables", place)


def _check_local(
    problem: PolynomialProblem, claim: CompositionalClaim, block: Block, work: Work, place: str
) -> None:
    """The local value function neither falls along the local fields nor ends above ``phi_i``."""
    arity = len(block.coordinates) + 1
    constraints = [time_constraint(problem.horizon, arity)]
    for position, coordinate in enumerate(block.coordinates):
        low, high = claim.tube.lower[coordinate], claim.tube.upper[coordinate]
        constraints.append(side_constraint(position + 1, low, high, arity))
    work.change(block.value_function, block.local, None)
    for combination in (*block.flow, block.terminal):
        work.combination(combination, constraints)
    for index, field in enumerate(block.local):
        change = lie_derivative(block.value_function, field)
        flow = block.flow[index]
        require_nonnegative(change, flow, constraints, arity, f"{place}/flow/{index}")  # 5
    target = [problem.target[coordinate] for coordinate in block.coordinates]
    final = block.value_function.fixed(0, problem.horizon)
    excess = squared_error(block.weights, target) - final
    terminal = [g.fixed(0, problem.horizon) for g in constraints]
    require_nonnegative(excess, block.terminal, terminal, arity, f"{place}/terminal")  # 6


def _check_coupling(
    problem: PolynomialProblem, claim: CompositionalClaim, index: int, box: Box, work: Work
) -> None:
    """Every budget covers what the coupling can take, atom by atom, on the whole tube."""
    block = claim.blocks[index]
    cells = claim.tube.cells
    for atom in range(len(problem.atoms)):
        effects = coupling_effects(problem, claim.blocks, index, atom, work)
        for due, effect in enumerate(effects):
            work.ranges(effect, cells)
            counts = [n if effect.involves(i) else 1 for i, n in enumerate(cells)]
            least = range_on_cells(effect, box, counts)[0]
            covered = block.coupling[due] >= -least
            place = f"/blocks/{index}/coupling/{due}"
            require(covered, "a coupling budget is too small", place)  # 7


def coupling_effects(
    problem: PolynomialProblem, blocks: Sequence[Block], index: int, atom: int, work: Work
) -> list[Polynomial]:
    """``grad v_i . c_ijl`` for every block l: what of the coupling of block i is due to block l.

    A monomial of ``c_ij`` is due to the first other block it has coordinates of, else to i itself.
    """
    arity = problem.dimension + 1
    block = blocks[index]
    places = [0, *(coordinate + 1 for coordinate in block.coordinates)]
    owner = {c + 1: b for b, other in enumerate(blocks) for c in other.coordinates}
    products: list[list[Polynomial]] = [[] for _ in blocks]
    for position, coordinate in enumerate(block.coordinates):
        local = block.local[atom][position].renamed(places, arity)
        slope = block.value_function.derivative(position + 1).renamed(places, arity)
        parts: list[Terms] = [{} for _ in blocks]
        coupling = problem.atoms[atom][coordinate] - local
        for exponents, coefficient in coupling.terms.items():
            others = {owner[i] for i in range(1, arity) if exponents[i]} - {index}
            parts[min(others, default=index)][exponents] = coefficient
        for due, part in enumerate(parts):
            if part:
                work.products(len(slope.exponents) * len(part))
                products[due].append(slope * from_terms(part))
    return [total(product) for product in products]


def _start(problem: PolynomialProblem, block: Block) -> Fraction:
    """``v_i(0, z_i0)``."""
    local = [problem.initial[coordinate] for coordinate in block.coordinates]
    return block.value_function.at([Fraction(0), *local])

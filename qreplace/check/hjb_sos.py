"""Checker of ``hjb_sos`` (theory T7.4, T3.6).

Claim: the error of every schedule is at least ``lower``: E_inf without a depth, E_D with one.

Obligations, numbered as in ``schemas/hjb_sos.v1.md``:

1. the claim's subject is this question's problem at the claim's code;
2. the state has at most 6 coordinates, the depth is one that a question may ask about, the value
   function is in time and these coordinates, and the arithmetic asked for is bounded;
3. ``phi = sum w_i (z_i - y_i)^2`` is at most the squared error in the question's norm;
4. every trajectory stays in the region;
5. for every atom the value function does not fall along it, on the region;
6. every further terminal constraint follows from the region's at the horizon;
7. ``phi - v(T, .)`` is not negative where the terminal constraints are not;
8. ``lower >= 0`` and ``lower^2 <= v(0, z_0)``.

Then ``lower^2 <= v(0, z_0) <= v(T, z(T)) <= phi(z(T)) <= ||z(T) - y||^2`` along every trajectory.
Only rationals are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.region import MAX_CONSTRAINTS, check_region, constraints_of
from qreplace.check.sums_of_squares import expand_combination, require_nonnegative
from qreplace.check.work import Work, oversized_is_rejected
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.sums_of_squares import Combination
from qreplace.errors import Rejected
from qreplace.exact.polynomial import (
    Polynomial,
    after_step,
    constant,
    lie_derivative,
    total,
    variable,
)
from qreplace.premises import Evidence
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import (
    MAX_DEPTH,
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.subject import Subject

MAX_STATES = 6


def check(subject: Subject, claim: HjbSosClaim) -> tuple[ScopedBound, ...]:
    """The lower bound that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    few = subject.dimension(claim.code) <= MAX_STATES
    require(few, f"value functions of at most {MAX_STATES} state variables are checked")  # 2
    problem = subject.polynomial(claim.code)
    check_depth(claim.depth)  # 2
    check_arity(claim.value_function, problem, "/value_function")  # 2
    counted = len(claim.weights) == problem.dimension
    require(counted, "one weight a coordinate is needed", "/weights")  # 3
    check_weights(subject.question.norm, claim.weights)  # 3
    with oversized_is_rejected():
        _require_affordable(problem, claim)  # 2
        constraints = check_region(problem, claim.region, claim.depth)  # 4
        check_flow(problem, claim.value_function, claim.flow, constraints, claim.depth)  # 5
        terminal = _terminal_constraints(problem, claim, constraints)  # 6
        error = squared_error(claim.weights, problem.target)
        final = claim.value_function.fixed(0, problem.horizon)
        arity = problem.dimension + 1
        require_nonnegative(error - final, claim.terminal, terminal, arity, "/terminal")  # 7
    value = claim.value_function.at(problem.start)
    require(claim.lower >= 0, "the lower end is negative", "/lower")  # 8
    within = claim.lower**2 <= value
    require(within, "the lower end exceeds what the value function shows", "/lower")  # 8
    evidence = Evidence.ANALYTIC_CERTIFIED
    return floor_bounds(subject, claim, lower=claim.lower, evidence=evidence, depth=claim.depth)


def check_depth(depth: int | None) -> None:
    """Raise ``Rejected`` unless ``depth`` is ``None`` or one that a question may ask about."""
    known = depth is None or 1 <= depth <= MAX_DEPTH
    require(known, "a depth is out of range", "/depth")


def check_arity(function: Polynomial, problem: PolynomialProblem, pointer: str) -> None:
    """Raise ``Rejected`` unless ``function`` is one of time and the state."""
    fits = function.fits(problem.dimension + 1)
    require(fits, "a function has another number of variables", pointer)


def check_flow(
    problem: PolynomialProblem,
    function: Polynomial,
    flow: Sequence[Combination],
    constraints: Sequence[Polynomial],
    depth: int | None,
) -> None:
    """Raise ``Rejected`` unless ``function`` does not fall along any atom, on the region.

    Mixtures of atoms inherit a differential inequality, which is linear in the field. A step of a
    pure Euler schedule starts in the region, at one of its times.
    """
    count = len(problem.atoms)
    require(len(flow) == count, "one combination an atom is needed", "/flow")
    for index, (field, combination) in enumerate(zip(problem.atoms, flow, strict=True)):
        change = change_along(function, field, problem.horizon, depth)
        place = f"/flow/{index}"
        require_nonnegative(change, combination, constraints, problem.dimension + 1, place)


def change_along(
    function: Polynomial, field: Sequence[Polynomial], horizon: Fraction, depth: int | None
) -> Polynomial:
    """``d_t v + grad v . G``, or ``v(t + h, z + h G) - v(t, z)`` with ``h = T / D`` at a depth."""
    if depth is None:
        return lie_derivative(function, field)
    return after_step(function, field, horizon / depth) - function


def squared_error(weights: Sequence[Fraction], target: Sequence[Fraction]) -> Polynomial:
    """``phi = sum w_i (z_i - y_i)^2`` as a polynomial in time and the state."""
    arity = len(target) + 1
    misses = (variable(i + 1, arity) - constant(y, arity) for i, y in enumerate(target))
    return total((miss * miss).scaled(w) for miss, w in zip(misses, weights, strict=True))


def check_weights(norm: Norm, weights: Sequence[Fraction], pointer: str = "/weights") -> None:
    """Raise ``Rejected`` unless ``sum w_i e_i^2 <= ||e||^2`` for every vector e of that length.

    With ``w_i >= 0`` and N the norm of e:

    - l2: ``w_i <= 1``, term by term; l1 likewise, as ``sum e_i^2 <= (sum |e_i|)^2``;
    - weighted l1: ``w_i <= W_i^2``, as ``sum (W_i e_i)^2 <= N^2``;
    - linf: ``sum w_i <= 1``, as every ``e_i^2 <= N^2``; weighted linf: ``sum w_i / W_i^2 <= 1``, as
      every ``e_i^2 <= N^2 / W_i^2``;
    - block l2: the blocks' largest weights sum to at most 1, as the part of a block B is at most
      ``max_B w`` times its squared l2 norm, which is at most ``N^2``.
    """
    scaled = list(weights)
    if isinstance(norm, (WeightedL1Norm, WeightedLinfNorm)):
        scaled = [w / (W * W) for w, W in zip(weights, norm.weights, strict=True)]
    require(all(w >= 0 for w in weights), "a weight of the squared error is negative", pointer)
    if isinstance(norm, (L2Norm, L1Norm, WeightedL1Norm)):
        within = all(w <= 1 for w in scaled)
    elif isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        within = sum(scaled, Fraction(0)) <= 1
    elif isinstance(norm, BlockL2Norm):
        starts = range(0, len(weights), norm.block)
        heaviest = (max(weights[start : start + norm.block]) for start in starts)
        within = sum(heaviest, Fraction(0)) <= 1
    else:
        raise Rejected(f"no rule of weights is known for {norm.kind}", pointer=pointer)
    require(within, "the weighted error can exceed the squared norm", pointer)


def _terminal_constraints(
    problem: PolynomialProblem, claim: HjbSosClaim, constraints: Sequence[Polynomial]
) -> list[Polynomial]:
    """The region's constraints at the horizon, then the claim's own, each shown to follow."""
    arity = problem.dimension + 1
    fixed = [g.fixed(0, problem.horizon) for g in constraints]
    for position, part in enumerate(claim.terminal_region):
        place = f"/terminal_region/{position}"
        check_arity(part.constraint, problem, place)
        timeless = not part.constraint.involves(0)
        require(timeless, "a terminal constraint depends on time", place)
        shown = expand_combination(part.combination, fixed, arity, f"{place}/combination")
        require(shown == part.constraint, "a terminal constraint does not follow", place)
    return [*fixed, *(part.constraint for part in claim.terminal_region)]


def _require_affordable(problem: PolynomialProblem, claim: HjbSosClaim) -> None:
    """Raise ``Rejected`` when the claim asks for more arithmetic than is done for one."""
    few = len(claim.terminal_region) <= MAX_CONSTRAINTS
    require(few, "there are too many terminal constraints", "/terminal_region")
    constraints = constraints_of(problem, claim.region)
    work = Work(problem.dimension + 1, claim, problem)
    work.region(problem, claim.region, constraints, claim.depth)
    work.change(claim.value_function, problem.atoms, claim.depth)
    named = [*constraints, *(part.constraint for part in claim.terminal_region)]
    terminal_parts = (part.combination for part in claim.terminal_region)
    for combination in (*claim.flow, *terminal_parts, claim.terminal):
        work.combination(combination, named)

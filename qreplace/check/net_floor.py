"""Checker of ``net_floor`` (theory T7.11, QR Table 9).

Claim: ``lower <= E_inf <= upper`` for a piecewise-affine system.

Obligations, numbered as in ``schemas/net_floor.v1.md``:

1. the claim's subject is this question's problem at the claim's code, and its maps are piecewise
   affine;
2. there is a lower side or an upper one; without its side an end is 0, or absent;
3. the points of the lower side are inputs of the question, the functionals name points in order and
   have one short integer a coordinate;
4. the tree is complete: every halving has its two halves, every leaf its functional, and nothing
   comes after;
5. at every leaf the functional separates the target from the last states of the mixed steps, under
   every control of the leaf's cells, by at least ``below.distance``;
6. ``lower`` is at most that distance less the mixed steps' defect, or 0;
7. the rows of the upper side are points of the simplex, and its net covers the question's inputs:
   cells of the region for a full domain, else the witnesses;
8. the control's mixed steps end within ``above.distance`` of the target at every point of the net;
9. ``upper`` is at least that distance, the defect and what lies between the net's points.

Constants of the system are recomputed at the points and the net (``question.invariant_balls``);
limits on the numbers bound the work. The bounds returned are the claim's own ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from qreplace.check.bounds import ScopedBound, require, require_subject
from qreplace.check.piecewise import (
    InputDomain,
    input_domain,
    piecewise_bound,
    require_inputs,
    require_piecewise,
)
from qreplace.claims.net_floor import NetFloorClaim, NetLower, NetUpper
from qreplace.errors import InputError, Rejected
from qreplace.premises import Evidence
from qreplace.question.atom_sizes import Inputs
from qreplace.question.controlled import (
    MAX_WORK,
    Cell,
    Controlled,
    MixedSteps,
    frozen_lipschitz,
    mixed_steps,
    net_cost,
    step_cost,
    whole_simplex,
)
from qreplace.question.input_nets import (
    cell_count,
    control_move,
    half_sides,
    map_move,
    net_points,
)
from qreplace.question.invariant_balls import PwaConstants, pwa_constants
from qreplace.question.maps import Point
from qreplace.question.model import Norm
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.subject import Subject

MAX_STEPS = 4096
MAX_POINTS = 4096
MAX_TREE = 1_000_000
MAX_NET = 65_536
MAX_BITS = 2048
"""Longest coordinate of a point, over the common denominator."""
MAX_VALUE_BITS = 64
MAX_WEIGHT_BITS = 256
MAX_HALVINGS = 40
MAX_PENDING = 1 << 22
"""Most cells of controls that wait at once, step by step."""
LEAF = 200
"""An entry of the tree takes about as long as so many products, beside its steps."""


def check(subject: Subject, claim: NetFloorClaim) -> tuple[ScopedBound, ...]:
    """The ends that the claim proves; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = require_piecewise(subject, claim.code)  # 1
    sides = claim.below is not None or claim.above is not None
    require(sides, "a bracket without a lower and an upper side proves nothing")  # 2
    ends = []
    if claim.below is None:
        require(claim.lower == 0, "a lower end needs its tree", "/lower")  # 2
    else:
        walk = lower_walk(subject, problem, claim.below)  # 3
        _prove_leaves(walk, claim.below)  # 4, 5
        distance = max(Fraction(0), claim.below.distance - walk.steps.defect)
        require(
            claim.lower <= distance, "the distance less the defect is below the lower end", "/lower"
        )  # 6
        ends.append(_end(subject, claim, "lower", claim.lower, input_domain(subject)))
    if claim.above is None:
        require(claim.upper is None, "an upper end needs its control", "/upper")  # 2
    else:
        if claim.upper is None:
            raise Rejected("a control needs its upper end", pointer="/upper")  # 2
        net = upper_net(subject, problem, claim.above)  # 7
        _prove_errors(net.walk, claim.above)  # 8
        require(
            claim.above.distance + net.walk.steps.defect + net.covering <= claim.upper,
            "the distance with the defect and the covering exceeds the upper end",
            "/upper",
        )  # 9
        ends.append(_end(subject, claim, "upper", claim.upper, net.domain))
    return tuple(ends)


def _end(
    subject: Subject, claim: NetFloorClaim, side: str, value: Fraction, domain: InputDomain
) -> ScopedBound:
    return piecewise_bound(
        claim,
        "relaxed_floor",
        "lower" if side == "lower" else "upper",
        value,
        domain=domain,
        covers="every_schedule" if side == "lower" else "one_schedule",
        evidence=Evidence.INTERVAL_CERTIFIED,
    )


@dataclass(frozen=True)
class UpperNet:
    """A control's steps on its net, what lies between its points, and the inputs it covers."""

    walk: Controlled
    covering: Fraction
    domain: InputDomain


def steps_at(
    problem: PwaProblem, norm: Norm, points: Sequence[Point], count: int
) -> tuple[PwaConstants, MixedSteps]:
    """Constants at these points, and the mixed steps; raises ``Rejected`` where there are none."""
    try:
        constants = pwa_constants(problem, norm, Inputs(tuple(points), None), pairs=False)
        return constants, mixed_steps(constants, frozen_lipschitz(problem, norm), count)
    except InputError as error:
        raise Rejected(error.message) from None


# --- the lower side --------------------------------------------------------------------------


def lower_walk(subject: Subject, problem: PwaProblem, below: NetLower) -> Controlled:
    """The mixed steps at the lower side's points; raises ``Rejected``. Leaves are not looked at."""
    require(1 <= below.steps <= MAX_STEPS, "the number of steps is out of range", "/below/steps")
    many = 1 <= len(below.points) <= MAX_POINTS
    require(many, "the number of points is out of range", "/below/points")
    points = require_inputs(subject, problem, below.points, "/below/points")  # 3
    for index, point in enumerate(points):
        short = max(abs(x).bit_length() for x in point) <= MAX_BITS
        require(short, "a point has too many digits", f"/below/points/{index}")
    _check_functionals(problem, below)  # 3
    _check_work(problem, below)
    norm = subject.question.norm
    _, steps = steps_at(problem, norm, points, below.steps)
    return Controlled(problem, norm, steps, points)


def _check_functionals(problem: PwaProblem, below: NetLower) -> None:
    count = len(below.points)
    for number, functional in enumerate(below.functionals):
        place = f"/below/functionals/{number}"
        named = functional.points
        ascending = all(a < b for a, b in pairwise(named))
        within = bool(named) and named[0] >= 0 and named[-1] < count
        require(ascending and within, "a functional names points in order", f"{place}/points")
        fits = len(functional.values) == len(named) and all(
            len(row) == problem.dimension for row in functional.values
        )
        require(fits, "a functional has one number a coordinate", f"{place}/values")
        short = all(abs(x).bit_length() <= MAX_VALUE_BITS for row in functional.values for x in row)
        require(short, "a functional has too many digits", f"{place}/values")


def _check_work(problem: PwaProblem, below: NetLower) -> None:
    require(len(below.tree) <= MAX_TREE, "the tree is too long", "/below/tree")
    sizes = [len(functional.points) for functional in below.functionals]
    known = all(entry < len(sizes) for entry in below.tree)
    require(known, "a leaf names no functional", "/below/tree")  # 4
    passes = sum(sizes[entry] for entry in below.tree if entry >= 0)
    # There and back again: states, then functionals.
    work = 2 * passes * below.steps * step_cost(problem)
    work += len(below.points) * net_cost(problem, 0)
    # A halving copies the steps' cells, and a changed cell is forgotten point by point.
    work += len(below.tree) * (LEAF + below.steps + len(below.points) // 16)
    require(work <= MAX_WORK, "the tree takes too long to check", "/below/tree")


def _prove_leaves(walk: Controlled, below: NetLower) -> None:
    """Every leaf of the tree, with the cells that its halvings left."""
    functionals = [tuple(zip(f.points, f.values, strict=True)) for f in below.functionals]
    atoms = len(walk.problem.fields)
    pending: list[tuple[Cell, ...]] = [(whole_simplex(atoms),) * below.steps]
    for position, entry in enumerate(below.tree):
        place = f"/below/tree/{position}"
        require(bool(pending), "the tree goes on after its last leaf", place)  # 4
        cells = pending.pop()
        if entry < 0:
            step = -1 - entry
            require(step < below.steps, "a halving names no step", place)  # 4
            require(atoms > 1, "a single atom has no controls to halve", place)  # 4
            deep = cells[step].denominator >= 1 << MAX_HALVINGS
            require(not deep, "a cell of controls is halved too often", place)
            first, second = cells[step].halves()
            for half in (second, first):
                pending.append((*cells[:step], half, *cells[step + 1 :]))
            few = len(pending) * below.steps <= MAX_PENDING
            require(few, "the tree takes too long to check", place)
            continue
        for step, cell in enumerate(cells):
            if walk.cell(step) is not cell:
                walk.set_cell(step, cell)
        missed = walk.error_lower(functionals[entry])
        apart = below.distance <= missed
        require(apart, "a leaf is not separated from the target by the distance", place)  # 5
    require(not pending, "the tree ends before its last leaf", "/below/tree")  # 4


# --- the upper side --------------------------------------------------------------------------


def upper_net(subject: Subject, problem: PwaProblem, above: NetUpper) -> UpperNet:
    """The control on its net, and what the net leaves open; raises ``Rejected``."""
    norm = subject.question.norm
    row_cells = _control(problem, above)  # 7
    points, apart, domain = _net(subject, problem, above)  # 7
    constants, steps = steps_at(problem, norm, points, len(row_cells))
    walk = Controlled(problem, norm, steps, points)
    for step, cell in enumerate(row_cells):
        walk.set_cell(step, cell)
    covering = Fraction(0)
    if apart:
        try:
            covering = control_move(problem, norm, constants, apart)
        except InputError as error:
            raise Rejected(error.message) from None
        covering += map_move(problem.target, norm, apart)
    return UpperNet(walk, covering, domain)


def _prove_errors(walk: Controlled, above: NetUpper) -> None:
    for index in range(len(walk.points)):
        reached = walk.error_upper(index) <= above.distance
        require(reached, "the control ends farther from the target", "/above/distance")  # 8
        walk.forget(index)


def _control(problem: PwaProblem, above: NetUpper) -> list[Cell]:
    """The control's weights step by step."""
    place = "/above/weights"
    steps = len(above.weights) * above.repeats
    require(above.repeats >= 1, "a row takes at least one step", "/above/repeats")  # 7
    require(1 <= steps <= MAX_STEPS, "the number of steps is out of range", place)
    found: list[Cell] = []
    for index, row in enumerate(above.weights):
        where = f"{place}/{index}"
        require(len(row) == len(problem.fields), "a row has one weight an atom", where)  # 7
        require(all(x >= 0 for x in row), "a weight is negative", where)  # 7
        require(sum(row, Fraction(0)) == 1, "the weights of a row do not sum to 1", where)  # 7
        common = 1
        for x in row:
            common = math.lcm(common, x.denominator)
            short = common.bit_length() <= MAX_WEIGHT_BITS
            require(short, "a weight has too many digits", where)
        vertex = tuple(int(x * common) for x in row)
        found += [Cell((vertex,), common)] * above.repeats
    return found


def _net(
    subject: Subject, problem: PwaProblem, above: NetUpper
) -> tuple[list[Point], list[Fraction], InputDomain]:
    """The net's points, how far inputs lie from them (nothing for witnesses), and its domain."""
    place = "/above/cells"
    steps = len(above.weights) * above.repeats
    each = net_cost(problem, steps)
    if not above.cells:
        witnesses = problem.witnesses
        if not witnesses:
            raise Rejected("a net without cells needs witnesses", pointer=place)  # 7
        _require_affordable(each * len(witnesses))
        return list(witnesses), [], "witnesses"
    region = problem.region
    full = input_domain(subject) == "full"
    if region is None or not full:
        raise Rejected("cells are those of a full domain's region", pointer=place)  # 7
    fitting = len(above.cells) == problem.inputs and all(n >= 1 for n in above.cells)
    require(fitting, "a net has a number of cells along each input", place)  # 7
    require(cell_count(above.cells) <= MAX_NET, "the net has too many cells", place)
    _require_affordable(each * cell_count(above.cells))
    return list(net_points(region, above.cells)), half_sides(region, above.cells), "full"


def _require_affordable(work: int) -> None:
    require(work <= MAX_WORK, "the net takes too long to check", "/above")

"""Checker of ``schedule_minimum`` (theory T8.4).

Claim: every schedule of ``depth`` steps misses the target by at least ``lower`` at some input.

Obligations, numbered as in ``schemas/schedule_minimum.v1.md``:

1. the claim's subject is this question's problem at the claim's code, a piecewise-affine one, and
   ``depth`` steps are within the limits;
2. every point is an input of the question: of its region on a full domain, else a witness;
3. the tree is complete: it branches into every atom, ends nowhere else, goes no deeper than
   ``depth``, and every leaf names a point;
4. at the point of a leaf every continuation of its prefix misses the target by at least ``lower``.

States are integers rounded outward (``question.state_boxes``); nothing else decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedBound, require, require_subject
from qreplace.check.piecewise import (
    input_domain,
    piecewise_bound,
    require_inputs,
    require_piecewise,
)
from qreplace.check.piecewise_work import MapCost, Work, divisor_cost, point_bits, product_cost
from qreplace.claims.schedule_minimum import BRANCH, ScheduleMinimumClaim
from qreplace.errors import InputError, Rejected
from qreplace.question.maps import Point
from qreplace.question.model import Norm
from qreplace.question.piecewise import MAX_PWA_STEPS
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.state_boxes import BITS, DIRECTIONS, Box, Continuations
from qreplace.question.subject import Subject

MAX_COORDINATE_BITS = 16_384
"""Most bits of the numerators and of the distinct denominators of one point."""
MAX_PRODUCTS = 400_000_000
"""Most products of two numbers that a claim may ask for, if every leaf needs every functional."""
STEP = 20_000
"""What a step of one atom costs beside its products, in nanoseconds."""

Prefix = tuple[int, ...]


def check(subject: Subject, claim: ScheduleMinimumClaim) -> tuple[ScopedBound, ...]:
    """A lower bound of the error of every schedule of one depth; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = require_piecewise(subject, claim.code)  # 1
    within = 1 <= claim.depth <= MAX_PWA_STEPS
    require(within, "a schedule has 1 to 1024 steps", "/depth")  # 1
    for index, point in enumerate(claim.points):
        short = _bits(point) <= MAX_COORDINATE_BITS
        require(short, "the coordinates of a point are too long", f"/points/{index}")
    points = require_inputs(subject, problem, claim.points, "/points")  # 2
    _require_work(problem, claim)
    leaves = _leaves(claim, len(problem.fields))  # 3
    _Walk(problem, subject.question.norm, claim, points).require_every(leaves)  # 4
    bound = piecewise_bound(
        claim,
        "ideal_error",
        "lower",
        claim.lower,
        domain=input_domain(subject),
        depth=claim.depth,
        covers="every_schedule",
    )
    return (bound,)


class _Walk:
    """The leaves in order; states along the present prefix are kept for every point."""

    def __init__(
        self,
        problem: PwaProblem,
        norm: Norm,
        claim: ScheduleMinimumClaim,
        points: Sequence[Point],
    ) -> None:
        self.problem, self.norm, self.claim, self.points = problem, norm, claim, points
        self.reached: dict[int, tuple[Continuations, Prefix, list[Box]]] = {}
        self.work = Work()
        self.target = MapCost.of(problem.target)
        self.step = _step_cost(problem)

    def require_every(self, leaves: Sequence[tuple[int, Prefix, int]]) -> None:
        """Every continuation at every leaf misses the target by ``lower``."""
        for place, prefix, point in leaves:
            try:
                bound = self._bound(prefix, point)
            except InputError as error:
                raise Rejected(error.message, pointer=f"/tree/{place}") from None
            far = bound >= self.claim.lower
            require(far, "a continuation may come closer to the target", f"/tree/{place}")

    def _bound(self, prefix: Prefix, point: int) -> Fraction:
        claim = self.claim
        if point not in self.reached:
            bits = point_bits(self.points[point])
            self.work.add(self.target.trace(bits) + self.step + divisor_cost(bits))
            found = Continuations(self.problem, self.norm, claim.depth, self.points[point])
            self.reached[point] = found, (), [found.initial]
        found, known, states = self.reached[point]
        shared = 0
        while shared < min(len(known), len(prefix)) and known[shared] == prefix[shared]:
            shared += 1
        states = states[: shared + 1]
        for atom in prefix[shared:]:
            states.append(found.advance(states[-1], atom))
        self.reached[point] = found, prefix, states
        before = found.passes
        bound = found.distance(states[-1], claim.depth - len(prefix), claim.lower)
        self.work.add((len(prefix) - shared + found.passes - before) * self.step)
        return bound


def _leaves(claim: ScheduleMinimumClaim, atoms: int) -> list[tuple[int, Prefix, int]]:
    """Place in the tree, prefix and point of every leaf; raises ``Rejected`` if incomplete."""
    leaves = []
    prefixes = _prefixes(claim.tree, atoms, claim.depth)
    for place, (entry, prefix) in enumerate(prefixes):
        if entry != BRANCH:
            known = 0 <= entry < len(claim.points)
            require(known, "a leaf names no point", f"/tree/{place}")
            leaves.append((place, prefix, entry))
    return leaves


def _prefixes(tree: Sequence[int], atoms: int, depth: int) -> Iterator[tuple[int, Prefix]]:
    """Every entry of a preorder tree with its prefix."""
    prefix: Prefix | None = ()
    for place, entry in enumerate(tree):
        where = f"/tree/{place}"
        if prefix is None:
            raise Rejected("the tree goes on after its last leaf", pointer=where)
        yield entry, prefix
        if entry == BRANCH:
            require(len(prefix) < depth, "a branch after the last step", where)
            prefix = (*prefix, 0)
        else:
            prefix = _following(prefix, atoms)
    require(prefix is None, "the tree ends before every schedule is decided", "/tree")


def _following(prefix: Prefix, atoms: int) -> Prefix | None:
    """The prefix after a leaf in preorder; None after the last."""
    length = len(prefix)
    while length and prefix[length - 1] == atoms - 1:
        length -= 1
    return (*prefix[: length - 1], prefix[length - 1] + 1) if length else None


def _bits(point: Sequence[Fraction]) -> int:
    denominators = {value.denominator for value in point}
    numerators = (abs(value.numerator).bit_length() for value in point)
    return sum(numerators) + sum(value.bit_length() for value in denominators)


def _step_cost(problem: PwaProblem) -> int:
    """A step of every atom at one input, in nanoseconds."""
    total = 0
    for field in problem.fields:
        n, d = len(field.bias), len(field.offset)
        bits = field.inner.bit_length() + field.outer.bit_length()
        total += STEP + 2 * (2 * n * d + d * d + 4 * (n + d)) * product_cost(bits, bits + BITS)
    return total


def _require_work(problem: PwaProblem, claim: ScheduleMinimumClaim) -> None:
    """Refuse more than ``MAX_PRODUCTS``: a leaf may cost a pass of boxes and three a functional."""
    leaves = sum(entry != BRANCH for entry in claim.tree)
    widths = [(len(f.bias), len(f.offset)) for f in problem.fields]
    step = sum(2 * n * d + d * d + n * problem.inputs + 4 * (n + d) for n, d in widths)
    target = sum(math.prod((len(s.bias), len(s.offset) + 1)) for s in problem.target.steps)
    passes = 1 + 3 * DIRECTIONS
    total = leaves * claim.depth * step * passes + len(claim.points) * (step + 4 * target)
    require(total <= MAX_PRODUCTS, "the claim asks for more arithmetic than is done", "/tree")

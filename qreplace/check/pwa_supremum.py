"""Checker of ``pwa_supremum`` (theory T8.2, T8.3).

Claim: ``lower <= sup over the inputs of ||map(y) - target(y)|| <= upper``, or one of the two.

Obligations, numbered as in ``schemas/pwa_supremum.v1.md``:

1. the claim's subject is this question's problem at the claim's code, and its maps are piecewise
   affine;
2. the map is one the question holds: a schedule of its atoms, or its comparator;
3. at least one end is claimed, and each with what shows it: ``lower`` with a point, ``upper`` with
   a cover;
4. the point is an input of the question, and the error there is at least ``lower``;
5. witnesses: the question has some, and the error at each is at most ``upper``;
6. cells and boxes: the question is about a full domain;
7. cells: they cover the region (``qreplace.check.cell_cover`` says how, and why);
8. cells: the error on each is at most ``upper``;
9. boxes: the first box holds the region, the halvings end exactly when every box is bounded, and
   every box that is left misses the interior of the region, or the error on its part in the region
   is at most ``upper`` by affine arithmetic, cut by a half-space around the region
   (``qreplace.question.clipped_boxes``). The region is the closure of its interior and the error
   is continuous, so the bound holds on all of it.

Everything is compared exactly: a root by its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedBound, require, require_subject
from qreplace.check.cell_cover import Vertices, check_cover, compared
from qreplace.check.piecewise import (
    InputDomain,
    input_domain,
    piecewise_bound,
    require_inputs,
    require_piecewise,
)
from qreplace.check.piecewise_work import MapCost, Work, divisor_cost, point_bits, product_cost
from qreplace.claims.pwa_supremum import (
    BoxCover,
    Cover,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.clipped_boxes import cut_cost, region_bound
from qreplace.question.maps import Point, PwaMap, difference, difference_unit
from qreplace.question.model import Norm
from qreplace.question.piecewise import MAX_PWA_STEPS
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball, Region
from qreplace.question.relaxation import BITS
from qreplace.question.subject import Subject

MAX_HALVINGS = 256
"""Most halvings of one box."""
SIDE = 3_000
"""What comparing one side of a box costs, in nanoseconds."""


def check(subject: Subject, claim: PwaSupremumClaim) -> tuple[ScopedBound, ...]:
    """The ends of the largest error that the claim proves; raises ``Rejected``.

    About a schedule they are ends of the ideal error at its depth (the lower one says nothing about
    other schedules), else of the comparator's error.
    """
    require_subject(subject, claim.subject, claim.code)  # 1
    problem = require_piecewise(subject, claim.code)  # 1
    pwa, depth = _claimed_map(problem, claim)  # 2
    require(  # 3
        (claim.lower is None) == (claim.point is None),
        "a lower end needs the point that shows it, and a point its lower end",
        "/point",
    )
    require(  # 3
        (claim.upper is None) == (claim.cover is None),
        "an upper end needs the cover that shows it, and a cover its upper end",
        "/cover",
    )
    require(claim.lower is not None or claim.upper is not None, "the claim has no end")  # 3
    checked = _Supremum(subject, problem, pwa)
    found = []
    if claim.lower is not None and claim.point is not None:
        checked.lower(claim.lower, claim.point)  # 4
        domain, evidence = input_domain(subject), Evidence.ANALYTIC_CERTIFIED
        found.append(("lower", claim.lower, domain, evidence))
    if claim.upper is not None and claim.cover is not None:
        domain, evidence = checked.upper(claim.upper, claim.cover)
        found.append(("upper", claim.upper, domain, evidence))
    return tuple(
        piecewise_bound(
            claim,
            "comparator_error" if depth is None else "ideal_error",
            "lower" if side == "lower" else "upper",
            value,
            domain=domain,
            depth=depth,
            covers="one_schedule",
            evidence=evidence,
        )
        for side, value, domain, evidence in found
    )


def _claimed_map(problem: PwaProblem, claim: PwaSupremumClaim) -> tuple[PwaMap, int | None]:
    """The map and its depth, none for the comparator."""
    if isinstance(claim.map, ScheduleMap):
        schedule, place = claim.map.schedule, "/map/schedule"
        within = 1 <= len(schedule) <= MAX_PWA_STEPS
        require(within, "a schedule has 1 to 1024 steps", place)  # 2
        known = all(0 <= j < len(problem.fields) for j in schedule)
        require(known, "a step names no atom of the dictionary", place)  # 2
        return problem.student(schedule), len(schedule)
    if problem.comparator is None:
        raise Rejected("the question has no comparator given as a map", pointer="/map")  # 2
    return problem.comparator, None


class _Supremum:
    """One map against the target: the error at a point, and over what a cover covers."""

    def __init__(self, subject: Subject, problem: PwaProblem, pwa: PwaMap) -> None:
        self.subject = subject
        self.problem = problem
        self.norm: Norm = subject.question.norm
        self.pwa, self.target = pwa, problem.target
        self.costs = MapCost.of(self.pwa), MapCost.of(self.target)
        self.work = Work()

    def lower(self, lower: Fraction, point: tuple[Fraction, ...]) -> None:
        """Obligation 4."""
        try:
            (exact,) = require_inputs(self.subject, self.problem, [point], "")  # 4
        except Rejected as error:
            raise Rejected(error.message, pointer="/point") from None
        reached = self._compared(exact, lower) >= 0
        require(reached, "the error at the point is below the lower end", "/lower")  # 4

    def upper(self, upper: Fraction, cover: Cover) -> tuple[InputDomain, Evidence]:
        """Obligations 5 to 9: on which inputs the upper end holds, and how well it is shown."""
        if isinstance(cover, WitnessCover):
            self._witnesses(upper)  # 5
            return "witnesses", Evidence.ANALYTIC_CERTIFIED
        region = self.problem.region
        if region is None or input_domain(self.subject) != "full":
            raise Rejected(  # 6
                "cells and boxes are about a full domain, the question about its witnesses",
                pointer="/cover",
            )
        if isinstance(cover, BoxCover):
            self._boxes(upper, cover, region)  # 9
            return "full", Evidence.INTERVAL_CERTIFIED
        maps = self.pwa, self.target
        vertices = Vertices(maps, self.norm, cover, upper, self.work)
        check_cover(region, vertices.points, cover, self.work)  # 7
        return "full", vertices.check_bounds(cover)  # 8

    def _witnesses(self, upper: Fraction) -> None:
        witnesses = self.problem.witnesses
        if witnesses is None:
            raise Rejected("the question has no witnesses", pointer="/cover")  # 5
        for point in witnesses:
            below = self._compared(point, upper) <= 0
            require(below, "the error at a witness exceeds the upper end", "/upper")  # 5

    def _boxes(self, upper: Fraction, cover: BoxCover, region: Region) -> None:
        p, place = self.problem.inputs, "/cover"
        sized = len(cover.lower) == p and len(cover.upper) == p
        require(sized, "the first box has one lower and one upper end an input", place)  # 9
        inner = region.box
        holds = all(a <= b for a, b in zip(cover.lower, inner[0], strict=True))
        holds = holds and all(a >= b for a, b in zip(cover.upper, inner[1], strict=True))
        require(holds, "the first box does not hold the region", place)  # 9
        each = self._side_cost(cover, region)
        boxes = [(cover.lower, cover.upper, 0)]
        for index, axis in enumerate(cover.splits):
            where = f"/cover/splits/{index}"
            require(bool(boxes), "the halvings go on after the last box", where)  # 9
            low, high, depth = boxes.pop()
            self.work.add(each)
            if axis == -1:
                bounded = region.avoids_box(low, high) or self._box(low, high, region) <= upper
                require(bounded, "the bound on a box exceeds the upper end", where)  # 9
                continue
            require(0 <= axis < p, "a box is halved along an input", where)  # 9
            require(depth < MAX_HALVINGS, "a box is halved too often", where)  # 9
            middle = (low[axis] + high[axis]) / 2
            boxes.append((_with(low, axis, middle), high, depth + 1))
            boxes.append((low, _with(high, axis, middle), depth + 1))
        require(not boxes, "the halvings end before every box is bounded", "/cover/splits")  # 9

    def _side_cost(self, cover: BoxCover, region: Region) -> int:
        """Halving a box, or comparing all of its sides with the region."""
        ends = (*cover.lower, *cover.upper)
        bits = max(x.numerator.bit_length() + x.denominator.bit_length() for x in ends)
        rows = 1 if isinstance(region, Ball) else len(region.halfspaces)
        return (rows + 1) * len(ends) * (SIDE + divisor_cost(bits))

    def _box(self, low: Sequence[Fraction], high: Sequence[Fraction], region: Region) -> Fraction:
        for pwa, cost in zip((self.pwa, self.target), self.costs, strict=True):
            self.work.add(cost.relaxation(pwa, self.problem.inputs + 1))
        self.work.add(cut_cost(self.problem.inputs, self.pwa.outputs) * product_cost(BITS, BITS))
        return region_bound(self.pwa, self.target, low, high, region, self.norm)

    def _compared(self, point: Point, value: Fraction) -> int:
        """The sign of the error at a point less ``value``."""
        bits = point_bits(point)
        self.work.add(sum(cost.trace(bits) for cost in self.costs))
        one, other = self.pwa, self.target
        gap = difference(one, other, one.trace(point), other.trace(point))
        return compared(self.norm, gap, difference_unit(one, other) * point[-1], value)


def _with(values: tuple[Fraction, ...], index: int, value: Fraction) -> tuple[Fraction, ...]:
    return (*values[:index], value, *values[index + 1 :])

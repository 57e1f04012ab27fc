"""Producer of ``count_minimum``: branch and bound over counts (theory T7.13).

Boxes of counts are taken in the order of their bounds. A box is closed by a functional that was
found before, else by the one of its own relaxation, made exact; a box that stays open is divided at
its most fractional count. What stops a search early is the number of boxes, and a time limit for
safety; open boxes then bound the error by what is known of them, so the claim is always true.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from qreplace.claims.count_minimum import Bounded, CountMinimumClaim, Single, Split
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.errors import ProducerFailed
from qreplace.exact.counts import CountBox, all_counts
from qreplace.exact.rational import round_down
from qreplace.produce.count_functionals import Functionals, is_readable, short_functional
from qreplace.produce.count_relaxation import ROOT_ROUNDS, Multipliers, Relaxation
from qreplace.produce.functionals import ZERO, witness_of
from qreplace.produce.linear_program import Floats
from qreplace.produce.schedule_error import ScheduleProducer, round_counts
from qreplace.produce.threads import single_threaded
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

MAX_NODES = 20_000
"""Boxes looked at unless more are asked for."""
CLOSE = 1e-9
"""A box is closed exactly when its float bound is this near the goal."""
CURVED_SLACK = Fraction(1, 1 << 36)
"""Functionals of l2 norms are never exact: boxes whose bound is the best error close this near."""
BITS = (20, 50)
"""Digits of a box's functional: short ones first."""
LOWER_BITS = 128
"""A lower end that is no schedule's error is rounded down to so many bits, or a little more."""
LEAST_RATE = 1e-9
INTEGRAL = 1e-6
"""A count this near an integer is not divided for being fractional."""

Stopped = Literal["", "nodes", "seconds", "enough"]


@dataclass(frozen=True, slots=True)
class CountSearch:
    """What a search at one depth found.

    ``stopped``: empty when it ended by itself, else what was used up, or ``enough``: a schedule as
    good as asked for was found.
    """

    minimum: CountMinimumClaim
    schedule: ScheduleErrorClaim
    nodes: int
    stopped: Stopped


def produce(
    subject: Subject,
    bits: int,
    depth: int,
    *,
    target: Fraction | None = None,
    enough: Fraction | None = None,
    nodes: int = MAX_NODES,
    seconds: float | None = None,
    start: Sequence[int] | None = None,
) -> CountSearch:
    """The least error of ``depth`` steps, or bounds of it; ``CountProducer.produce`` says more."""
    producer = CountProducer(subject, bits)
    return producer.produce(
        depth, target=target, enough=enough, nodes=nodes, seconds=seconds, start=start
    )


class CountProducer:
    """One lifted problem; cuts and functionals that one depth needed serve the next."""

    def __init__(self, subject: Subject, bits: int) -> None:
        self.subject = subject
        self.bits = bits
        self.problem = subject.lifted(bits)
        self.norm = subject.question.norm
        self.relaxation = Relaxation(self.problem, self.norm)
        self.functionals = Functionals(self.problem, self.relaxation.unit)
        self._schedules: ScheduleProducer | None = None

    def produce(
        self,
        depth: int,
        *,
        target: Fraction | None = None,
        enough: Fraction | None = None,
        nodes: int = MAX_NODES,
        seconds: float | None = None,
        start: Sequence[int] | None = None,
    ) -> CountSearch:
        """Search the counts of ``depth`` steps.

        Without ``target``: until no counts are better than the best ones found. With it: only until
        every error exceeds ``target``, if that is so. A schedule of error at most ``enough`` ends
        the search. ``start``: counts to begin with; else some are searched. Raises
        ``ProducerFailed`` when the solver gives no answer.
        """
        with single_threaded():
            counts = list(start) if start is not None else self._first_counts(depth)
            deadline = math.inf if seconds is None else time.monotonic() + seconds
            search = _Search(self, depth, counts, target, enough)
            return search.run(nodes, deadline)

    def _first_counts(self, depth: int) -> list[int]:
        count = len(self.problem.atoms)
        if self._schedules is None:
            shares = np.full(count, 1 / count)
            if not self.relaxation.met:
                whole = np.zeros(count), np.ones(count)
                shares = self.relaxation.solve(*whole, math.inf, ROOT_ROUNDS).shares
            weights = [Fraction(float(share)) for share in np.maximum(shares, 0)]
            self._schedules = ScheduleProducer(self.subject, self.bits, weights)
        return list(self._schedules.produce(depth).counts)


@dataclass(slots=True)
class _Node:
    """A box with what is known of it; ``closed`` by a functional's number, or as a single."""

    box: CountBox
    bound: float
    multipliers: Multipliers
    shares: Floats | None = None
    part: Split | Bounded | Single | None = None
    least: Fraction = Fraction(0)
    """What the part proves, once there is one."""
    children: tuple[_Node, _Node] | None = None


class _Search:
    """Branch and bound at one depth."""

    def __init__(
        self,
        producer: CountProducer,
        depth: int,
        counts: list[int],
        target: Fraction | None,
        enough: Fraction | None,
    ) -> None:
        self.producer = producer
        self.relaxation = producer.relaxation
        self.functionals = producer.functionals
        self.depth = depth
        self.target = target
        self.enough = enough
        self.best = counts
        self.best_error = self._error(counts)
        self._float_best = self.relaxation.error(np.array(counts) / depth)
        self.nodes = 0
        self._gained, self._divided = np.zeros((2, len(counts))), np.zeros((2, len(counts)))
        self._goal()

    def run(self, most: int, deadline: float) -> CountSearch:
        """Look at boxes until none is open or something is used up."""
        root = _Node(all_counts(len(self.best), self.depth), -math.inf, ())
        stopped: Stopped = ""
        heap: list[tuple[float, int, _Node]] = []
        if self.relaxation.met or not self.best_error[0]:
            self._close_by(root, self.functionals.add(ZERO))
        else:
            self._learn()
            self._look(root, heap)
        while heap:
            stopped = self._spent(most, deadline)
            if stopped:
                break
            _, _, node = heapq.heappop(heap)
            if node.bound >= self._near and self._close_again(node):
                continue
            self._divide(node, heap)
        for _, _, node in sorted(heap):
            self._leave_open(node)
        return CountSearch(self._claim(root), self._schedule(), self.nodes, stopped)

    def _spent(self, most: int, deadline: float) -> Stopped:
        if self.enough is not None and self.best_error[1] <= self.enough:
            return "enough"
        if self.nodes >= most:
            return "nodes"
        return "seconds" if time.monotonic() > deadline else ""

    # --- boxes ------------------------------------------------------------------------------------

    def _look(self, node: _Node, heap: list[tuple[float, int, _Node]]) -> None:
        """Close a new box or put it among the open ones."""
        self.nodes += 1
        if node.box.single:
            counts = list(node.box.lower)
            node.part, node.least = Single("single"), self._error(counts)[0]
            self._offer(counts, node.least)
            return
        if self._close_by_known(node):
            return
        lower, upper = np.array(node.box.lower), np.array(node.box.upper)
        rounds = {"rounds": ROOT_ROUNDS} if self.nodes == 1 else {}
        relaxed = self.relaxation.solve(
            lower / self.depth, upper / self.depth, self._float_goal * (1 + CLOSE), **rounds
        )
        node.shares = relaxed.shares
        if relaxed.value >= node.bound:
            node.bound, node.multipliers = relaxed.value, relaxed.multipliers
        self._offer(self._rounded(relaxed.shares, lower, upper))
        if relaxed.value < self._near or not self._close(node):
            heapq.heappush(heap, (node.bound, self.nodes, node))

    def _close_by_known(self, node: _Node) -> bool:
        known = self.functionals.best(node.box)
        if known is None or known[1] < self._near:
            return False
        least = self.functionals.gains[known[0]].least_error(node.box)
        if not self._meets(least):
            return False
        self._close_by(node, known[0])
        return True

    def _close_again(self, node: _Node) -> bool:
        """The goal may be nearer than when the box was looked at."""
        if self._close_by_known(node):
            return True
        box = node.box
        relaxed = self.relaxation.solve(
            np.array(box.lower) / self.depth, np.array(box.upper) / self.depth, math.inf
        )
        if relaxed.value >= node.bound:
            node.bound, node.multipliers = relaxed.value, relaxed.multipliers
        return self._close(node)

    def _close(self, node: _Node) -> bool:
        """By the functional of the last relaxation, if it meets the goal exactly."""
        norm = self.producer.norm
        vector = self.relaxation.vector(node.multipliers)
        for bits in BITS:
            functional = short_functional(norm, vector, bits)
            least = self.functionals.gains_of(functional).least_error(node.box)
            if self._meets(least):
                self._close_by(node, self.functionals.add(functional))
                return True
        if not self.relaxation.linear:
            return False
        try:
            functional = witness_of(norm, self.relaxation.exact_vector())
        except ProducerFailed:
            return False
        least = self.functionals.gains_of(functional).least_error(node.box)
        if not is_readable(functional) or not self._meets(least):
            return False
        self._close_by(node, self.functionals.add(functional))
        return True

    def _close_by(self, node: _Node, functional: int) -> None:
        node.part = Bounded("bounded", functional)
        node.least = self.functionals.gains[functional].least_error(node.box)

    def _leave_open(self, node: _Node) -> None:
        """A box that is not divided any more, by a functional that keeps it near its bound."""
        known = self.functionals.best(node.box)
        if known is None or known[1] < node.bound * (1 - CLOSE):
            vector = self.relaxation.vector(node.multipliers)
            functional = short_functional(self.producer.norm, vector, BITS[1])
            self._close_by(node, self.functionals.add(functional))
        else:
            self._close_by(node, known[0])

    # --- divisions --------------------------------------------------------------------------------

    def _divide(self, node: _Node, heap: list[tuple[float, int, _Node]]) -> None:
        """Two boxes in place of one, and what was gained by them."""
        if node.shares is None:
            raise ProducerFailed("a box was divided before it was looked at")
        lower, upper = np.array(node.box.lower), np.array(node.box.upper)
        counts = np.clip(node.shares * self.depth, lower, upper)
        atom = self._chosen(counts, lower, upper)
        at = math.floor(counts[atom] + INTEGRAL)
        at = min(max(at, int(lower[atom])), int(upper[atom]) - 1)
        node.part = Split("split", atom, at)
        left, right = node.box.split(atom, at)
        node.children = (
            _Node(left, node.bound, node.multipliers),
            _Node(right, node.bound, node.multipliers),
        )
        for side, child in enumerate(node.children):
            self._look(child, heap)
            distance = counts[atom] - at if side == 0 else at + 1 - counts[atom]
            if INTEGRAL < distance < 1:
                reached = child.bound if child.part is None else max(child.bound, self._float_goal)
                self._gained[side, atom] += max(0.0, reached - node.bound) / distance
                self._divided[side, atom] += 1

    def _chosen(self, counts: Floats, lower: Floats, upper: Floats) -> int:
        """The count whose division seems to raise both bounds most; of integral ones the freest.

        By the mean gains of earlier divisions at the same atom (pseudocosts).
        """
        below = counts - np.floor(counts)
        fractional = np.minimum(below, 1 - below) > INTEGRAL
        if not fractional.any():
            return int(np.argmax(upper - lower))
        tried = self._divided > 0
        rates = self._gained / np.maximum(self._divided, 1)
        rates = np.where(tried, rates, rates[tried].mean() if tried.any() else 1.0)
        gains = np.maximum(rates * np.array([below, 1 - below]), LEAST_RATE)
        return int(np.argmax(np.where(fractional, gains[0] * gains[1], -1.0)))

    # --- schedules --------------------------------------------------------------------------------

    def _rounded(self, shares: Floats, lower: Floats, upper: Floats) -> list[int]:
        scaled = np.clip(shares * self.depth, lower, upper)
        counts = np.floor(scaled + INTEGRAL).astype(np.int64)
        missing = self.depth - int(counts.sum())
        if not 0 <= missing <= len(counts):
            return [int(n) for n in round_counts(shares, self.depth)]
        order = np.argsort(counts - scaled, kind="stable")
        counts[order[:missing]] += 1
        return [int(n) for n in counts]

    def _offer(self, counts: list[int], error: Fraction | None = None) -> None:
        """Keep counts that are better than the best ones, exactly."""
        size = self.relaxation.error(np.array(counts) / self.depth)
        if error is None and size >= self._float_best * (1 - CLOSE):
            return
        bounds = self._error(counts)
        if bounds[0] < self.best_error[0]:
            self.best, self.best_error, self._float_best = counts, bounds, size
            self._goal()
            self._learn()

    def _learn(self) -> None:
        """The direction of the best counts' residual: where they are best, it says so."""
        if not self.relaxation.linear and self.best_error[0]:
            vector = self.relaxation.direction(np.array(self.best) / self.depth)
            self.functionals.add(short_functional(self.producer.norm, vector, BITS[1]))

    def _error(self, counts: Sequence[int]) -> tuple[Fraction, Fraction]:
        problem = self.producer.problem
        residual = problem.residual(counts, self.depth)
        return norm_bounds(self.producer.norm, residual, self.depth * problem.denominator)

    # --- the goal ---------------------------------------------------------------------------------

    def _goal(self) -> None:
        """What closes a box: more than the target, or as much as the best counts found."""
        self._strict = self.target is not None and self.best_error[0] > self.target
        self.goal = self.target if self._strict and self.target is not None else self.best_error[0]
        self._float_goal = float(self.goal / self.relaxation.unit)
        self._near = self._float_goal * (1 - CLOSE)

    def _meets(self, value: Fraction) -> bool:
        if self._strict:
            return value > self.goal
        return value >= (self.goal if self.relaxation.linear else self.goal * (1 - CURVED_SLACK))

    # --- the claims -------------------------------------------------------------------------------

    def _schedule(self) -> ScheduleErrorClaim:
        return ScheduleErrorClaim(
            format="qreplace/claim/schedule_error/v1",
            subject=self.producer.subject.problem_digest(self.producer.bits),
            code=self.producer.bits,
            counts=tuple(self.best),
            error=self.best_error[1],
        )

    def _claim(self, root: _Node) -> CountMinimumClaim:
        """The tree in preorder, and the functionals that it names."""
        tree: list[Split | Bounded | Single] = []
        numbers: dict[int, int] = {}
        leasts: list[Fraction] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            part = node.part
            if part is None:
                raise ProducerFailed("a box was left open")
            if isinstance(part, Bounded):
                number = numbers.setdefault(part.functional, len(numbers))
                part = Bounded("bounded", number)
            tree.append(part)
            if node.children is not None:
                waiting.extend(reversed(node.children))
            else:
                leasts.append(node.least)
        return CountMinimumClaim(
            format="qreplace/claim/count_minimum/v1",
            subject=self.producer.subject.problem_digest(self.producer.bits),
            code=self.producer.bits,
            depth=self.depth,
            lower=self._lower_end(min(leasts)),
            functionals=tuple(self.functionals.found[k] for k in numbers),
            tree=tuple(tree),
        )

    def _lower_end(self, least: Fraction) -> Fraction:
        """What every leaf proves: the best schedule's error as it is, else a shorter number."""
        if least <= 0:
            return Fraction(0)
        if least >= self.best_error[0]:
            return self.best_error[0]
        bits = LOWER_BITS + least.denominator.bit_length() - least.numerator.bit_length()
        while True:
            shorter = round_down(least, max(bits, 0))
            if self._meets(shorter) or not self._meets(least):
                return shorter
            bits += LOWER_BITS

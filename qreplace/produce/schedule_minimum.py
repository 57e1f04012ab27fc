"""Producer of ``schedule_minimum``: the best schedule, then a small tree of prefixes (theory T8.4).

Branch and bound finds the least error on the inputs. A second walk over the prefixes writes down,
as early as it can, an input at which every continuation stays far enough from the target; every
leaf is then bounded by the very arithmetic that a checker repeats, and split where floats were too
hopeful. On a full domain the inputs grow: the best schedule's own worst inputs join them until its
error on the whole region is close.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from qreplace.claims.schedule_minimum import BRANCH, ScheduleMinimumClaim
from qreplace.errors import InputError, ProducerFailed
from qreplace.exact.rational import round_down
from qreplace.produce.float_schedules import FloatSchedules
from qreplace.produce.prefix_kernels import prefix_tree
from qreplace.produce.schedule_kernels import errors_at
from qreplace.produce.schedule_search import (
    MAX_NODES,
    BestSchedule,
    Progress,
    Schedule,
    Search,
    exact_worst,
    first_inputs,
    power_bounds,
)
from qreplace.produce.worst_inputs import worst_points
from qreplace.question.maps import Point, homogeneous, rational_point
from qreplace.question.model import FullDomain
from qreplace.question.state_boxes import Box, Continuations
from qreplace.question.subject import Subject

MAX_TREE = 1 << 18
"""Most entries of a tree."""
TRIES = 128
"""Inputs that are tried at a prefix before it is split."""
HOPE = 1e-9
"""Relative excess that floats must show before a leaf is believed."""
LOWER_BITS = 120
"""A claimed end is a multiple of ``2**-LOWER_BITS``."""
RELATIVE_WIDTH = Fraction(1, 10**5)
"""Distance to the minimum over a whole region that ends the search for inputs, unless given."""
ROUNDS = 400
"""Most times that inputs are added."""
ADDED = 2
"""Inputs that are added for one schedule."""

WorstPoints = Callable[[Schedule], Sequence[Sequence[Fraction]]]


def produce(
    subject: Subject,
    code: int,
    depth: int,
    *,
    target: Fraction | None = None,
    points: Sequence[Point] | None = None,
    nodes: int = MAX_NODES,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> ScheduleMinimumClaim:
    """A claim about all schedules of ``depth`` steps: at least ``target``, or as much as is true.

    On witnesses, or at given homogeneous ``points``, the lower end without a target is the minimum
    itself, but for rounding; on a full domain inputs are sought as by ``produce_domain_minimum``.
    Raises ``ProducerFailed`` when some schedule comes closer than ``target`` and when a budget of
    ``nodes``, ``seconds`` or tree entries does not suffice.
    """
    if points is None and isinstance(subject.question.domain, FullDomain):
        return produce_domain_minimum(
            subject, code, depth, target=target, nodes=nodes, seconds=seconds, progress=progress
        )
    problem = subject.piecewise(code)
    chosen = first_inputs(problem) if points is None else list(dict.fromkeys(points))
    schedules = FloatSchedules.of(problem, subject.question.norm, depth, chosen)
    search = Search(schedules)
    best = search.best(pruned=True, nodes=nodes, seconds=seconds, progress=progress)
    return _claim(subject, code, search, best, target)


def produce_domain_minimum(
    subject: Subject,
    code: int,
    depth: int,
    width: Fraction | None = None,
    *,
    target: Fraction | None = None,
    points: Sequence[Point] | None = None,
    worst: WorstPoints | None = None,
    nodes: int = MAX_NODES,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> ScheduleMinimumClaim:
    """A claim on a full domain, within about ``width`` of the minimum over the whole region.

    ``worst`` gives inputs at which one schedule is bad; without it they are sought in floats. Once
    the best schedule on the inputs so far errs by less than ``width`` more on those, or ``target``
    is exceeded, no more are added. ``points`` are the first inputs.
    """
    problem, norm = subject.piecewise(code), subject.question.norm
    if not isinstance(subject.question.domain, FullDomain) or problem.region is None:
        raise ProducerFailed("a minimum over a region needs a full domain with a region")
    ask = worst or (lambda schedule: worst_points(problem, norm, schedule, count=ADDED))
    schedules = FloatSchedules.of(
        problem, norm, depth, first_inputs(problem) if points is None else points
    )
    started = time.monotonic()
    for added in range(ROUNDS):
        search = Search(schedules)
        left = None if seconds is None else max(seconds - (time.monotonic() - started), 0.0)
        best = search.best(pruned=True, nodes=nodes, seconds=left)
        if progress is not None:
            progress("inputs", added, ROUNDS)
        if target is not None and best.lower > target:
            break
        more = [homogeneous(point) for point in ask(best.schedule)]
        new = [point for point in dict.fromkeys(more) if point not in set(schedules.points)]
        if not new:
            break
        grown = schedules.extended(new)
        reached = power_bounds(norm, exact_worst(grown, best.schedule)[0])[0]
        allowed = RELATIVE_WIDTH * best.upper if width is None else width
        if reached <= best.upper + allowed and (target is None or reached < target):
            break
        schedules = grown
    else:
        raise ProducerFailed(f"inputs were added {ROUNDS} times without an end")
    return _claim(subject, code, search, best, target)


def _claim(
    subject: Subject, code: int, search: Search, best: BestSchedule, target: Fraction | None
) -> ScheduleMinimumClaim:
    """The claim for the inputs of a finished search."""
    goal = best.lower
    if target is not None:
        if best.lower < target:
            shown = ", ".join(map(str, best.schedule[:24]))
            more = ", .." if len(best.schedule) > 24 else ""
            raise ProducerFailed(
                f"the schedule ({shown}{more}) errs by {float(best.upper):.9g} on the inputs "
                f"tried, less than the {float(target):.9g} that every schedule was to exceed"
            )
        # Clear of the target, and far enough below the minimum for a small tree.
        goal = target + (best.lower - target) / 8
    builder = _Builder(search, goal)
    tree = builder.tree()
    lower = round_down(builder.least, LOWER_BITS)
    if target is not None and lower < target:
        lower = builder.least
    used = sorted({entry for entry in tree if entry != BRANCH})
    place = {entry: number for number, entry in enumerate(used)}
    place[BRANCH] = BRANCH
    return ScheduleMinimumClaim(
        format="qreplace/claim/schedule_minimum/v1",
        subject=subject.problem_digest(code),
        code=code,
        depth=search.schedules.depth,
        lower=lower,
        points=tuple(rational_point(search.schedules.points[entry]) for entry in used),
        tree=tuple(place[entry] for entry in tree),
    )


class _Builder:
    """A tree whose leaves are bounded exactly; ``least`` is the least of their bounds."""

    def __init__(self, search: Search, goal: Fraction) -> None:
        self.schedules, self.order, self.goal = search.schedules, search.order, goal
        self.bounds: list[Fraction] = []
        self._reached: dict[int, tuple[Continuations, Schedule, list[Box]]] = {}

    @property
    def least(self) -> Fraction:
        """What every leaf shows."""
        return min(self.bounds)

    def tree(self) -> list[int]:
        """Entries in preorder, leaves as numbers of inputs; raises ``ProducerFailed`` if many."""
        proposal = self._proposal()
        found: list[int] = []
        prefix: Schedule = ()
        for entry in proposal:
            if entry == BRANCH:
                found.append(BRANCH)
                prefix = (*prefix, 0)
                continue
            found += self._proved(prefix, self.order[entry])
            length = len(prefix)
            while length and prefix[length - 1] == self.schedules.count - 1:
                length -= 1
            prefix = (*prefix[: length - 1], prefix[length - 1] + 1) if length else ()
        return found

    def _proposal(self) -> list[int]:
        """The tree that floats believe in; entries number the inputs in the search's order."""
        schedules, order = self.schedules, np.asarray(self.order, dtype=np.int64)
        goal = float(self.goal)
        tree = prefix_tree(
            schedules.atoms,
            schedules.measure,
            np.ascontiguousarray(schedules.base[order]),
            np.ascontiguousarray(schedules.goal[order]),
            schedules.initial,
            schedules.depth,
            goal,
            HOPE * abs(goal) + 2 * float(schedules.off.error),
            TRIES,
            MAX_TREE,
        )
        if not tree.size:
            raise ProducerFailed(
                f"a tree of {MAX_TREE} entries does not decide all schedules of "
                f"{schedules.depth} steps",
                remedy="Ask for a smaller depth, or for less than the minimum itself.",
            )
        return [int(entry) for entry in tree]

    def _proved(self, prefix: Schedule, index: int) -> list[int]:
        """The leaf, or a subtree in its place where the exact bound is below the goal."""
        bound = self._bound(prefix, index)
        if bound >= self.goal or len(prefix) == self.schedules.depth:
            self.bounds.append(bound)
            return [index]
        found = [BRANCH]
        for atom in range(self.schedules.count):
            longer = (*prefix, atom)
            last = len(longer) == self.schedules.depth
            found += self._proved(longer, self._worst(longer) if last else index)
        return found

    def _bound(self, prefix: Schedule, index: int) -> Fraction:
        schedules = self.schedules
        if index not in self._reached:
            exact = Continuations(
                schedules.problem, schedules.norm, schedules.depth, schedules.points[index]
            )
            self._reached[index] = exact, (), [exact.initial]
        exact, known, states = self._reached[index]
        shared = 0
        while shared < min(len(known), len(prefix)) and known[shared] == prefix[shared]:
            shared += 1
        states = states[: shared + 1]
        for atom in prefix[shared:]:
            states.append(exact.advance(states[-1], atom))
        self._reached[index] = exact, prefix, states
        try:
            return exact.distance(states[-1], schedules.depth - len(prefix), self.goal)
        except InputError as error:
            raise ProducerFailed(error.message) from None

    def _worst(self, schedule: Schedule) -> int:
        """An input of about the largest error of a schedule."""
        schedules = self.schedules
        inputs = schedules.chunks(range(len(schedules.points)))
        words = np.array([schedule], dtype=np.int64)
        values = errors_at(schedules.atoms, schedules.measure, inputs, words)[0]
        return int(values[: len(schedules.points)].argmax())

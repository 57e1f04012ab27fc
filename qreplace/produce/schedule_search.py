"""The best schedule of a depth on given inputs: all of them, branch and bound, local search (T8.4).

``enumerate_schedules`` and ``best_schedule_bnb`` end with a proof: floats decide only what is
clear by more than their rounding (``float_schedules``), contenders are compared exactly. Inputs are
ordered so that bad schedules die at the first few, the rest being evaluated only where these do not
decide. ``local_search`` proves nothing; it is what the optimum is compared with (QR Figure 23).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from statistics import median

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.float_schedules import FloatSchedules
from qreplace.produce.schedule_kernels import (
    WIDTH,
    Floats,
    Inputs,
    Integers,
    Pruning,
    descend,
    errors_at,
    search,
)
from qreplace.produce.schedule_pruning import functionals_at, no_pruning
from qreplace.produce.worst_inputs import FloatRegion, rational_input
from qreplace.question.maps import Point, PwaMap, difference, difference_unit
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.subject import Subject

MAX_SCHEDULES = 1 << 26
"""Most schedules that are all tried."""
MAX_NODES = 1 << 28
"""Most nodes of a branch and bound."""
MAX_CONTENDERS = 512
"""Most schedules within rounding of the best that are compared exactly."""
PARTS = 64
"""A search is cut into about so many parts, between which the clock is read."""
SAMPLED = 256
"""Schedules that say which inputs tell bad schedules apart."""
RESTARTS = 4
"""Local searches that give a first limit."""
ORDERED = 64
"""Inputs that are chosen one by one; the rest follow by how bad they are."""
PRUNING_INPUTS = 8
"""Inputs whose functionals are formed; more of them cost more than they exclude."""
PRUNING_SLACK = 2.0**-30
"""Of the size of the numbers: more than the rounding of a functional's value, by far."""
GRID = 256
"""Inputs of a region without witnesses, about."""
GOOD_RESTARTS = 16
NODES_A_UNIT = 1024
"""Prefixes that cost about what one node of the other searches does."""

Progress = Callable[[str, int, int], None]
Schedule = tuple[int, ...]


@dataclass(frozen=True)
class BestSchedule:
    """The least error over all schedules of one depth on the inputs, enclosed.

    ``worst`` numbers an input at which ``schedule`` errs most; of equal schedules the first counts.
    ``nodes`` were seen. ``decided``: whether every contender was compared exactly; else ``lower``
    still holds for all schedules and ``upper`` for this one.
    """

    schedule: Schedule
    lower: Fraction
    upper: Fraction
    worst: int
    nodes: int
    decided: bool


def enumerate_schedules(
    problem: PwaProblem,
    norm: Norm,
    depth: int,
    points: Sequence[Point],
    *,
    progress: Progress | None = None,
) -> BestSchedule:
    """The best of all ``J**depth`` schedules on ``points``, each of them evaluated.

    Raises ``ProducerFailed`` beyond ``MAX_SCHEDULES``.
    """
    count = len(problem.fields) ** depth
    if count > MAX_SCHEDULES:
        raise ProducerFailed(
            f"{len(problem.fields)}^{depth} schedules are more than the {MAX_SCHEDULES} that are "
            "all tried",
            remedy="Branch and bound (best_schedule_bnb) leaves out most of them.",
        )
    schedules = FloatSchedules.of(problem, norm, depth, points)
    return Search(schedules).best(pruned=False, nodes=2 * count + 2, progress=progress)


def best_schedule_bnb(
    problem: PwaProblem,
    norm: Norm,
    depth: int,
    points: Sequence[Point],
    *,
    nodes: int = MAX_NODES,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> BestSchedule:
    """The best schedule on ``points``; prefixes with no good continuation are left out.

    Raises ``ProducerFailed`` when more than ``nodes`` prefixes or ``seconds`` are needed.
    """
    schedules = FloatSchedules.of(problem, norm, depth, points)
    return Search(schedules).best(pruned=True, nodes=nodes, seconds=seconds, progress=progress)


def local_search(
    problem: PwaProblem,
    norm: Norm,
    depth: int,
    points: Sequence[Point],
    restarts: int,
    seed: int,
) -> list[tuple[Schedule, float]]:
    """Coordinate descent from random schedules: what each restart ends at, and its float error."""
    schedules = FloatSchedules.of(problem, norm, depth, points)
    return _descents(schedules, restarts, seed)


@dataclass(frozen=True)
class OptimisationGap:
    """How far local search stays above the optimum (QR Figure 23); errors in floats."""

    optimum: BestSchedule
    local: tuple[float, ...]
    """Errors of all restarts, ascending."""
    balanced: float | None
    """The error of the balanced schedule that was given."""

    @property
    def best_ratio(self) -> float:
        """The best restart over the optimum."""
        return self.local[0] / float(self.optimum.upper)

    @property
    def median_ratio(self) -> float:
        """The median restart over the optimum."""
        return median(self.local) / float(self.optimum.upper)


def optimisation_gap(
    problem: PwaProblem,
    norm: Norm,
    depth: int,
    points: Sequence[Point],
    restarts: int,
    seed: int,
    *,
    balanced: Sequence[int] | None = None,
) -> OptimisationGap:
    """The exhaustive optimum beside restarts of local search and a balanced schedule (theory T2.1).

    The optimum is not 0: a ratio to it would mean nothing.
    """
    schedules = FloatSchedules.of(problem, norm, depth, points)
    optimum = Search(schedules).best(pruned=False, nodes=2 * MAX_SCHEDULES + 2)
    if optimum.upper == 0:
        raise ProducerFailed("the optimum is 0: how far local search stays above it has no ratio")
    found = sorted(value for _, value in _descents(schedules, restarts, seed))
    error = None
    if balanced is not None:
        words = np.array([balanced], dtype=np.int64)
        inputs = schedules.chunks(range(len(points)))
        error = float(errors_at(schedules.atoms, schedules.measure, inputs, words).max())
    return OptimisationGap(optimum, tuple(found), error)


def good_schedule(
    subject: Subject,
    bits: int,
    depth: int,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
) -> tuple[Schedule, Fraction]:
    """A schedule of small error on the inputs of a question, and a lower bound of its error.

    The best one on the witnesses, or on a grid of the region, by branch and bound; where that is
    not done within ``nodes`` or ``seconds``, the best end of local searches.
    """
    problem = subject.piecewise(bits)
    schedules = FloatSchedules.of(problem, subject.question.norm, depth, first_inputs(problem))
    begun = Search(schedules)
    try:
        budget = MAX_NODES if nodes is None else min(nodes * NODES_A_UNIT, MAX_NODES)
        best = begun.best(pruned=True, nodes=budget, seconds=seconds)
        schedule = best.schedule
    except ProducerFailed:
        schedule = min(_descents(schedules, GOOD_RESTARTS, seed=0), key=lambda end: end[1])[0]
    power, _ = exact_worst(schedules, schedule)
    return schedule, power_bounds(schedules.norm, power)[0]


def first_inputs(problem: PwaProblem) -> list[Point]:
    """The witnesses of the region; without any, a grid of it."""
    region = problem.region
    if problem.witnesses is not None:
        points = dict.fromkeys(problem.witnesses)
        if region is None or all(region.contains(point) for point in points):
            return list(points)
        return [point for point in points if region.contains(point)] or _grid(problem)
    return _grid(problem)


def _grid(problem: PwaProblem) -> list[Point]:
    region = problem.region
    if region is None:
        raise ProducerFailed("the question names no inputs: neither witnesses nor a region")
    grid = FloatRegion(region).grid()
    chosen = grid[:: max(1, len(grid) // GRID)]
    return list(dict.fromkeys(rational_input(region, x) for x in chosen))


# --- exact values ---------------------------------------------------------------------------------


def exact_power(norm: Norm, student: PwaMap, target: PwaMap, point: Point) -> Fraction:
    """The error at a point, its square for l2 and block l2: exact, so that errors compare."""
    gap = difference(student, target, student.trace(point), target.trace(point))
    unit = difference_unit(student, target) * point[-1]
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        block = block_size(norm, len(gap))
        parts = (gap[start : start + block] for start in range(0, len(gap), block))
        return Fraction(max(sum(v * v for v in part) for part in parts), unit * unit)
    return norm_bounds(norm, gap, unit)[0]


def power_bounds(norm: Norm, power: Fraction) -> tuple[Fraction, Fraction]:
    """The error whose ``exact_power`` is given, enclosed."""
    return sqrt_bounds(power) if isinstance(norm, (BlockL2Norm, L2Norm)) else (power, power)


# --- the search -----------------------------------------------------------------------------------


class Search:
    """One search: the inputs in a telling order, a first limit, parts, contenders."""

    def __init__(self, schedules: FloatSchedules) -> None:
        self.schedules = schedules
        self.margin = 2 * float(schedules.off.error) * (1 + 2.0**-40) + 1e-300
        """Schedules whose computed errors differ by more are told apart by floats."""
        words, values = telling(schedules)
        self.order = input_order(values)
        self.inputs = schedules.chunks(self.order)
        self.limit = float(values.max(axis=1).min()) + self.margin
        self.first = words[int(values.max(axis=1).argmin())]

    def best(
        self,
        *,
        pruned: bool,
        nodes: int,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> BestSchedule:
        """Search part by part, then decide among the contenders."""
        schedules = self.schedules
        pruning = self._pruning() if pruned else no_pruning(schedules)
        slack = self._slack(pruning)
        started, limit, seen, lost = time.monotonic(), self.limit, 0, 0
        kept: list[tuple[float, Schedule]] = []
        prefixes = list(self._prefixes())
        for done, prefix in enumerate(prefixes):
            values, words, spent, limit, gone = search(
                schedules.atoms,
                schedules.measure,
                self.inputs,
                pruning,
                prefix,
                schedules.depth,
                limit,
                self.margin,
                slack,
                nodes - seen,
                MAX_CONTENDERS,
            )
            seen, lost = seen + abs(spent), lost + gone
            late = seconds is not None and time.monotonic() - started > seconds
            if spent < 0 or (late and done + 1 < len(prefixes)):
                budget = f"{nodes} nodes" if spent < 0 else f"{seconds} seconds"
                raise ProducerFailed(
                    f"branch and bound over {schedules.count}^{schedules.depth} schedules was not "
                    f"done after {budget}; the best error found was {limit - self.margin:.6g}",
                    remedy="Allow more, or ask about a smaller depth or fewer inputs.",
                )
            kept += [(float(v), tuple(map(int, w))) for v, w in zip(values, words, strict=True)]
            kept = [entry for entry in kept if entry[0] <= limit]
            if progress is not None:
                progress("schedules", done + 1, len(prefixes))
        return self._decided(kept, limit, seen, lost)

    def _prefixes(self) -> Iterator[Integers]:
        """The prefix that the best schedule known begins with, then the others in order."""
        count, length = self.schedules.count, 0
        while count ** (length + 1) <= PARTS and length + 1 < self.schedules.depth and count > 1:
            length += 1
        first = tuple(map(int, self.first[:length]))
        yield np.array(first, dtype=np.int64)
        for prefix in product(range(count), repeat=length):
            if prefix != first:
                yield np.array(prefix, dtype=np.int64)

    def _decided(
        self, kept: list[tuple[float, Schedule]], limit: float, nodes: int, lost: int
    ) -> BestSchedule:
        """The best contender exactly; ties go to the first schedule."""
        kept.sort(key=lambda entry: entry[1])
        compared = kept[:MAX_CONTENDERS]
        lost += len(kept) - len(compared)
        best: tuple[Fraction, Schedule, int] | None = None
        for _, schedule in compared:
            power, worst = exact_worst(self.schedules, schedule)
            if best is None or power < best[0]:
                best = power, schedule, worst
        if best is None:
            raise ProducerFailed("no schedule was found within the rounding of the best one")
        lower, upper = power_bounds(self.schedules.norm, best[0])
        if lost:
            lower = min(lower, Fraction(limit - self.margin) - self.schedules.off.error)
        return BestSchedule(best[1], max(lower, Fraction(0)), upper, best[2], nodes, not lost)

    def _pruning(self) -> Pruning:
        """Functionals at the first inputs, along the axes of what is reached there.

        Columns of the chunks that have none say nothing: their constants are minus infinity.
        """
        schedules = self.schedules
        tables = [functionals_at(schedules, i) for i in self.order[:PRUNING_INPUTS]]
        levels, directions, d = tables[0][0].shape
        chunks = -(-len(tables) // WIDTH)
        rows = np.zeros((chunks, levels, directions, d, WIDTH))
        constants = np.full((chunks, levels, directions, WIDTH), -np.inf)
        for place, (row, constant) in enumerate(tables):
            chunk, column = divmod(place, WIDTH)
            rows[chunk, :, :, :, column] = row
            constants[chunk, :, :, column] = constant
        return Pruning(rows, constants)

    def _slack(self, pruning: Pruning) -> float:
        """More than a functional's value may be off, and than the errors that it is held against.

        A value is a sum of d + 1 products of rounded numbers; ``PRUNING_SLACK`` exceeds their
        rounding for every d below 2^20. What a state is off counts d times.
        """
        if not pruning.rows.size:
            return 0.0
        off, d = self.schedules.off, self.schedules.goal.shape[1]
        row = d * float(np.abs(pruning.rows).max())
        constants = np.abs(pruning.constants[np.isfinite(pruning.constants)])
        size = row * float(off.largest) + float(constants.max())
        slack: float = PRUNING_SLACK * size + 2 * row * float(off.state) + 2 * self.margin
        return slack


def exact_worst(schedules: FloatSchedules, schedule: Schedule) -> tuple[Fraction, int]:
    """``exact_power`` of the error of a schedule, and the input where it is attained.

    Only inputs whose computed error is within rounding of the largest are evaluated exactly.
    """
    order = range(len(schedules.points))
    words = np.array([schedule], dtype=np.int64)
    inputs = schedules.chunks(order)
    values = errors_at(schedules.atoms, schedules.measure, inputs, words)[0, : len(order)]
    near = np.flatnonzero(values >= values.max() - 2 * float(schedules.off.error) * (1 + 2.0**-40))
    student = schedules.problem.student(schedule)
    found = [
        (exact_power(schedules.norm, student, schedules.problem.target, schedules.points[i]), -i)
        for i in map(int, near)
    ]
    power, place = max(found)
    return power, -place


def telling(schedules: FloatSchedules) -> tuple[Integers, Floats]:
    """Schedules near the best ones found, with their errors at every input (schedules, m).

    Ends of a few local searches, what differs from the best of them by one step, and random ones.
    """
    ends = _descents(schedules, RESTARTS, seed=0)
    best = min(ends, key=lambda entry: entry[1])[0]
    chosen = {schedule for schedule, _ in ends}
    for k, j in product(range(schedules.depth), range(schedules.count)):
        if len(chosen) < SAMPLED // 2:
            chosen.add((*best[:k], j, *best[k + 1 :]))
    generator = np.random.Generator(np.random.PCG64(0))
    size = (SAMPLED // 2, schedules.depth)
    chosen |= {tuple(map(int, row)) for row in generator.integers(0, schedules.count, size=size)}
    words = np.array(sorted(chosen), dtype=np.int64)
    inputs = schedules.chunks(range(len(schedules.points)))
    values = errors_at(schedules.atoms, schedules.measure, inputs, words)
    return words, np.asarray(values[:, : len(schedules.points)])


def input_order(values: Floats) -> list[int]:
    """Inputs, the most telling first: each excludes most of the schedules still left.

    ``values`` (schedules, m); a schedule is excluded where it errs by more than the best one does
    in all. What is left in the end goes by its mean error.
    """
    limit = values.max(axis=1).min()
    excluded = values > limit
    left = np.ones(len(values), dtype=bool)
    order: list[int] = []
    means = values.mean(axis=0)
    while len(order) < min(ORDERED, values.shape[1]) and left.any():
        counts = excluded[left].sum(axis=0)
        if not counts.max():
            break
        pick = int(np.lexsort((-means, -counts))[0])
        order.append(pick)
        left &= ~excluded[:, pick]
    known = set(order)
    order += [int(i) for i in np.argsort(-means, kind="stable") if int(i) not in known]
    return order


def _descents(schedules: FloatSchedules, restarts: int, seed: int) -> list[tuple[Schedule, float]]:
    inputs: Inputs = schedules.chunks(_rough_order(schedules))
    generator = np.random.Generator(np.random.PCG64(seed))
    found = []
    for _ in range(restarts):
        word = generator.integers(0, schedules.count, size=schedules.depth).astype(np.int64)
        value = float(descend(schedules.atoms, schedules.measure, inputs, word))
        found.append((tuple(map(int, word)), value))
    return found


def _rough_order(schedules: FloatSchedules) -> list[int]:
    """Inputs of large targets first: schedules die there sooner than at small ones."""
    sizes = np.abs(schedules.goal).max(axis=1)
    return [int(i) for i in np.argsort(-sizes, kind="stable")]

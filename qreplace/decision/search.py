"""Search over depth and metadata (theory T11): what can be said of every declared candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from qreplace.check.bounds import ScopedBound
from qreplace.decision import grid as grids
from qreplace.decision.costs import cost
from qreplace.decision.evaluate import Answer, Threshold, Value, exceeds, meets, value_at
from qreplace.decision.levels import Level, levels_of
from qreplace.decision.routes import Environment, Route, environment, routes
from qreplace.premises import Evidence, Premise, weakest
from qreplace.question.model import (
    AccuracyMatching,
    Behavioural,
    CoveringMetadata,
    DepthRange,
    Question,
)
from qreplace.question.subject import Subject

MAX_ROWS = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A depth, a metadata budget, and its declared cost."""

    depth: int
    bits: int
    cost: Fraction


class Search:
    """One question with its checked bounds; environments are formed once a metadata budget."""

    def __init__(self, subject: Subject, bounds: Sequence[ScopedBound]) -> None:
        self.subject = subject
        self.question: Question = subject.question
        self.bounds = bounds
        self.budget = grids.Budget()
        self.grid = self.question.search.depths
        self.bits = self.question.search.metadata_bits
        self._environments: dict[int, Environment] = {}
        self._routes: dict[int, list[Route]] = {}
        self.threshold = _threshold(self.question)
        self.objective_premises = _objective_premises(self.question)
        self.objective_evidence: Evidence | None = (
            weakest([premise.evidence for premise in self.objective_premises.values()])
            if self.objective_premises
            else None
        )
        self.meets = partial(_meets, self.threshold)
        self.exceeds = partial(_exceeds, self.threshold)

    def environment(self, bits: int) -> Environment:
        """Ends and radii at a metadata budget."""
        if bits not in self._environments:
            self._environments[bits] = environment(self.subject, bits, self.bounds)
        return self._environments[bits]

    def routes(self, bits: int) -> list[Route]:
        """Every route at a metadata budget."""
        if bits not in self._routes:
            self._routes[bits] = routes(self.question, self.environment(bits))
        return self._routes[bits]

    @property
    def monotone(self) -> bool:
        """With a covering, more bits shrink the metadata radius and change nothing else."""
        return isinstance(self.question.metadata, CoveringMetadata)

    @property
    def easiest(self) -> tuple[int, ...]:
        """Budgets of which one is feasible at a depth if any is."""
        return (self.bits[-1],) if self.monotone else self.bits

    @property
    def hardest(self) -> tuple[int, ...]:
        """Budgets that are all impossible at a depth only if every one is."""
        return (self.bits[0],) if self.monotone else self.bits

    def levels(self) -> list[Level]:
        """Evidence levels that occur among the routes."""
        budgets = sorted(set(self.easiest) | set(self.hardest))
        found = [route for bits in budgets for route in self.routes(bits)]
        return levels_of(found, self.objective_evidence)

    def admitted(self, bits: int, level: Level, side: str) -> list[Route]:
        """The routes of one side that a level admits."""
        if not level.admits_objective(self.objective_evidence):
            return []
        return [r for r in self.routes(bits) if r.side == side and level.admits(r)]

    # --- the study ------------------------------------------------------------------------------

    def cheapest_feasible(self, level: Level) -> Candidate | None:
        """The feasible candidate of least cost at a level; ties go to the smaller depth."""
        best: Candidate | None = None
        for bits in self.easiest:
            found = self._first_feasible(bits, level, self.grid)
            if found is None:
                continue
            best = _cheaper(best, self._staircase(found, bits, level) if self.monotone else
                            Candidate(found, bits, cost(self.question, found, bits)))  # fmt: skip
        return best

    def _first_feasible(self, bits: int, level: Level, grid: Sequence[DepthRange]) -> int | None:
        admitted = self.admitted(bits, level, "upper")
        return grids.first_depth(admitted, self.meets, grid, self.budget)

    def _staircase(self, depth: int, bits: int, level: Level) -> Candidate:
        """Trade depth for metadata: fewer bits need at least as much depth (monotone covering)."""
        best: Candidate | None = None
        budgets = self.bits
        while True:
            index = self._fewest_bits(depth, budgets, level)
            here = Candidate(depth, budgets[index], cost(self.question, depth, budgets[index]))
            best = _cheaper(best, here)
            if index == 0:
                return best
            budgets = budgets[:index]
            rest = _beyond(self.grid, depth)
            following = self._first_feasible(budgets[-1], level, rest)
            if following is None or cost(self.question, following, budgets[0]) >= best.cost:
                return best
            depth = following

    def _fewest_bits(self, depth: int, budgets: Sequence[int], level: Level) -> int:
        """Bisection for the first budget that is feasible at ``depth``; the last one is."""
        low, high = 0, len(budgets) - 1
        while low < high:
            middle = (low + high) // 2
            if self.feasible_at(depth, budgets[middle], level):
                high = middle
            else:
                low = middle + 1
        return low

    def impossible_everywhere(self, level: Level, grid: Sequence[DepthRange] | None = None) -> bool:
        """Whether every candidate of the grid is impossible at a level."""
        chosen = self.grid if grid is None else grid
        return all(
            grids.holds_everywhere(
                self.admitted(bits, level, "lower"), self.exceeds, chosen, self.budget
            )
            for bits in self.hardest
        )

    def impossible_from(self, level: Level) -> int | None:
        """``D_0`` with every ``D >= D_0`` impossible at every budget; ``None`` if none is found."""
        worst = 1
        for bits in self.hardest:
            found = grids.from_depth_on(self.admitted(bits, level, "lower"), self.exceeds)
            if found is None:
                return None
            worst = max(worst, found)
        return worst

    # --- one depth ------------------------------------------------------------------------------

    def feasible_at(self, depth: int, bits: int, level: Level) -> bool:
        """Whether an admitted route proves feasibility at one candidate."""
        return any(
            self.meets(route, depth, depth) is Answer.ALL
            for route in self.admitted(bits, level, "upper")
        )

    def impossible_at(self, depth: int, bits: int, level: Level) -> bool:
        """Whether an admitted route proves impossibility at one candidate."""
        return any(
            self.exceeds(route, depth, depth) is Answer.ALL
            for route in self.admitted(bits, level, "lower")
        )

    def best_bits_at(self, depth: int, level: Level) -> int | None:
        """The cheapest feasible budget at a depth, or ``None``."""
        for bits in self.easiest:
            if self.feasible_at(depth, bits, level):
                if not self.monotone:
                    return bits
                return self.bits[self._fewest_bits(depth, self.bits, level)]
        return None

    def closest(self) -> tuple[int, Fraction] | None:
        """The depth among the reported ones with the smallest upper end, from every usable route."""
        best: tuple[int, Fraction] | None = None
        for depth in grids.thinned(self.grid, [], 64):
            for bits in self.easiest:
                upper = self.tightest(depth, bits, "upper", None)
                if upper is not None and (best is None or upper.value < best[1]):
                    best = depth, upper.value
        return best

    def tightest(self, depth: int, bits: int, side: str, level: Level | None) -> Value | None:
        """The best end at a candidate over admitted routes (every usable one without a level)."""
        values = [
            Value(value, route)
            for route in self.routes(bits)
            if route.side == side and (level is None or level.admits(route))
            for value in [value_at(route, depth)]
            if value is not None
        ]
        if not values:
            return None
        pick: Callable[..., Value] = min if side == "upper" else max
        return pick(values, key=lambda v: v.value)


def _meets(threshold: Threshold, route: Route, first: int, last: int | None) -> Answer:
    return meets(route, threshold, first, last)


def _exceeds(threshold: Threshold, route: Route, first: int, last: int | None) -> Answer:
    return exceeds(route, threshold, first, last)


def _threshold(question: Question) -> Threshold:
    """Theory T1: feasibility takes the comparator's lower end, impossibility its upper end."""
    objective = question.objective
    if isinstance(objective, AccuracyMatching):
        return Threshold(objective.comparator.lower, objective.comparator.upper, False)
    if isinstance(objective, Behavioural):
        return Threshold(_allowance(objective), None, True)
    return Threshold(objective.tolerance, objective.tolerance, False)


def _objective_premises(question: Question) -> dict[str, Premise]:
    """The declared premises that the threshold itself rests on; a tolerance is part of what is asked."""
    objective = question.objective
    if isinstance(objective, AccuracyMatching):
        return {"comparator": objective.comparator}
    if isinstance(objective, Behavioural):
        return {"margin": objective.margin, "readout": objective.readout}
    return {}


def _allowance(objective: Behavioural) -> Fraction:
    """T1.3: errors strictly below ``margin / readout`` leave every decision unchanged."""
    if objective.readout.upper <= 0:
        return Fraction(0)
    return max(Fraction(0), objective.margin.lower / objective.readout.upper)


def _cheaper(best: Candidate | None, candidate: Candidate) -> Candidate:
    if best is None or (candidate.cost, candidate.depth) < (best.cost, best.depth):
        return candidate
    return best


def _beyond(grid: Sequence[DepthRange], depth: int) -> list[DepthRange]:
    """The part of the grid above ``depth``."""
    rest = []
    for depths in grid:
        if depths.last <= depth:
            continue
        skip = max(0, -(-(depth + 1 - depths.first) // depths.step))
        first = depths.first + skip * depths.step
        if first <= depths.last:
            rest.append(DepthRange(first, depths.last, depths.step))
    return rest

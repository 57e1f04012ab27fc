"""Search over depth and metadata (theory T11): what can be said of every declared candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from qreplace.check.bounds import Checked, ScopedBound, ScopedConstants, ScopedRegisters
from qreplace.decision import grid as grids
from qreplace.decision.costs import Prices
from qreplace.decision.evaluate import Answer, Threshold, Value, proves, slack, value_at
from qreplace.decision.levels import EVERYTHING, Level, levels_of
from qreplace.decision.routes import (
    Environment,
    Route,
    environment,
    routes,
    with_bits,
)
from qreplace.floor.bracket import comparator_interval
from qreplace.premises import Evidence, Premise, weakest
from qreplace.question.model import (
    AccuracyMatching,
    Behavioural,
    CodesMetadata,
    CoveringMetadata,
    DepthRange,
    Question,
)
from qreplace.question.subject import Subject

MAX_ROWS = 200
"""Depths in a report."""
MAX_PROBES = 64
"""Depths at which the smallest upper end is looked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A depth, a metadata budget, and its declared cost."""

    depth: int
    bits: int
    cost: Fraction


class Search:
    """One question with its checked bounds; environments are formed once a budget and a level."""

    def __init__(self, subject: Subject, checked: Sequence[Checked]) -> None:
        self.subject = subject
        self.question: Question = subject.question
        self.bounds = [entry for entry in checked if isinstance(entry, ScopedBound)]
        self.constants = [entry for entry in checked if isinstance(entry, ScopedConstants)]
        self.registers = [entry for entry in checked if isinstance(entry, ScopedRegisters)]
        self.budget = grids.Budget()
        self.grid = self.question.search.depths
        self.bits = self.question.search.metadata_bits
        self.levels = levels_of(self.question, checked)
        self._environments: dict[tuple[int, Level], Environment] = {}
        self._routes: dict[tuple[int, Level], list[Route]] = {}
        self._usable: dict[tuple[int, Level, str], list[Route]] = {}
        self._admitted: dict[tuple[int, Level, str], list[Route]] = {}
        self.comparator = comparator_interval(subject, self.bounds)
        """Checked ends of the error of a comparator that is given as a map."""
        self.threshold = self._threshold()
        self.objective_premises = _objective_premises(self.question)
        self.objective_evidence: Evidence | None = (
            weakest([premise.evidence for premise in self.objective_premises.values()])
            if self.objective_premises
            else None
        )
        """The label of the declared premises that the threshold rests on, if any."""
        self.cost = Prices(self.question).at
        self._slack: dict[Route, Fraction | None] = {}
        metadata = self.question.metadata
        self.monotone = isinstance(metadata, CoveringMetadata)
        """With a covering, more bits shrink the metadata radius and change nothing else."""
        coded = isinstance(metadata, CodesMetadata)
        self.easiest: tuple[int, ...] = self.bits if coded else self.bits[-1:]
        """Budgets of which one is feasible at a depth if any is."""
        self.hardest: tuple[int, ...] = self.bits if coded else self.bits[:1]
        """Budgets that are all impossible at a depth only if every one is."""

    def environment(self, bits: int, level: Level) -> Environment:
        """Ends and radii at a metadata budget, from what a level admits."""
        key = bits, level
        if key not in self._environments:
            first = self._environments.get((self.bits[-1], level)) if self.monotone else None
            if first is None:
                found = environment(
                    self.subject, bits, self.bounds, self.constants, self.registers, level.sight
                )
            else:
                found = with_bits(self.question, first, bits, level.sight)
            self._environments[key] = found
        return self._environments[key]

    def routes(self, bits: int, level: Level = EVERYTHING) -> list[Route]:
        """Every route at a metadata budget from what a level admits, better evidence first."""
        key = bits, level
        if key not in self._routes:
            found = routes(self.question, self.environment(bits, level))
            found.sort(key=lambda route: (not route.certified, route.evidence.rank))
            self._routes[key] = found
        return self._routes[key]

    def usable(self, bits: int, level: Level, side: str) -> list[Route]:
        """The routes of one side that a level admits."""
        key = bits, level, side
        if key not in self._usable:
            self._usable[key] = [
                route
                for route in self.routes(bits, level)
                if route.side == side and level.admits(route)
            ]
        return self._usable[key]

    def admitted(self, bits: int, level: Level, side: str) -> list[Route]:
        """The usable routes that may prove something, if the level admits the threshold too."""
        key = bits, level, side
        if key not in self._admitted:
            open_to = level.admits_objective(self.objective_evidence)
            usable = self.usable(bits, level, side) if open_to else []
            self._admitted[key] = [
                route for route in usable if self._spare(route) is not None and route.segments
            ]
        return self._admitted[key]

    def _spare(self, route: Route) -> Fraction | None:
        if route not in self._slack:
            self._slack[route] = slack(route, self.threshold)
        return self._slack[route]

    def proves(self, route: Route, first: int, last: int | None) -> Answer:
        """Whether a route proves its side on depths ``first..last``."""
        spare = self._spare(route)
        if spare is None:
            return Answer.NONE
        strict = self.threshold.strict or route.side == "lower"
        return proves(route, spare, first, last, strict=strict)

    @cached_property
    def live_levels(self) -> list[Level]:
        """The levels at which some route may prove something at some depth."""
        return [
            level
            for level in self.levels
            if any(self.admitted(bits, level, "upper") for bits in self.easiest)
            or any(self.admitted(bits, level, "lower") for bits in self.hardest)
        ]

    def _threshold(self) -> Threshold:
        """Theory T1: feasibility takes the comparator's lower end, impossibility its upper end."""
        objective = self.question.objective
        if isinstance(objective, AccuracyMatching):
            given = objective.comparator
            if isinstance(given, Premise):
                return Threshold(given.lower, given.upper, False)
            lower, upper = (None if end is None else end.value for end in self.comparator)
            return Threshold(lower or Fraction(0), upper, False)
        if isinstance(objective, Behavioural):
            return Threshold(_allowance(objective), None, True)
        return Threshold(objective.tolerance, objective.tolerance, False)

    # --- the study ------------------------------------------------------------------------------

    def cheapest_feasible(self, level: Level) -> Candidate | None:
        """The feasible candidate of least cost at a level; ties go to the smaller depth."""
        best: Candidate | None = None
        for bits in self.easiest:
            found = self._first_feasible(bits, level, self.grid)
            if found is None:
                continue
            best = _cheaper(best, self._staircase(found, bits, level) if self.monotone else
                            Candidate(found, bits, self.cost(found, bits)))  # fmt: skip
        return best

    def _first_feasible(self, bits: int, level: Level, grid: Sequence[DepthRange]) -> int | None:
        admitted = self.admitted(bits, level, "upper")
        return grids.first_depth(admitted, self.proves, grid, self.budget)

    def _staircase(self, depth: int, bits: int, level: Level) -> Candidate:
        """Trade depth for metadata: fewer bits need at least as much depth (monotone covering)."""
        best: Candidate | None = None
        budgets = self.bits
        while True:
            index = self._fewest_bits(depth, budgets, level)
            here = Candidate(depth, budgets[index], self.cost(depth, budgets[index]))
            best = _cheaper(best, here)
            if index == 0:
                return best
            budgets = budgets[:index]
            rest = _beyond(self.grid, depth)
            following = self._first_feasible(budgets[-1], level, rest)
            if following is None or self.cost(following, budgets[0]) >= best.cost:
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

    def impossible_everywhere(
        self, level: Level, grid: Sequence[DepthRange] | None = None
    ) -> list[Route] | None:
        """Routes that prove every candidate of the grid impossible; ``None`` if none do."""
        chosen = self.grid if grid is None else grid
        used: list[Route] = []
        for bits in self.hardest:
            admitted = self.admitted(bits, level, "lower")
            found = grids.proofs_everywhere(admitted, self.proves, chosen, self.budget)
            if found is None:
                return None
            used.extend(found)
        return used

    def impossible_from(self, level: Level) -> tuple[int, list[Route]] | None:
        """``D_0`` with every ``D >= D_0`` impossible at every budget, and the routes used."""
        worst, used = 1, []
        for bits in self.hardest:
            found = grids.from_depth_on(self.admitted(bits, level, "lower"), self.proves)
            if found is None:
                return None
            worst = max(worst, found[0])
            used.append(found[1])
        return worst, used

    # --- one depth ------------------------------------------------------------------------------

    def feasible_at(self, depth: int, bits: int, level: Level) -> bool:
        """Whether an admitted route proves feasibility at one candidate."""
        return self._proved_at(depth, self.admitted(bits, level, "upper"))

    def impossible_at(self, depth: int, bits: int, level: Level) -> bool:
        """Whether an admitted route proves impossibility at one candidate."""
        return self._proved_at(depth, self.admitted(bits, level, "lower"))

    def _proved_at(self, depth: int, admitted: Sequence[Route]) -> bool:
        return any(self.proves(route, depth, depth) is Answer.ALL for route in admitted)

    def best_bits_at(self, depth: int, level: Level) -> int | None:
        """The cheapest feasible budget at a depth, or ``None``."""
        feasible = [bits for bits in self.easiest if self.feasible_at(depth, bits, level)]
        if feasible and self.monotone:
            return self.bits[self._fewest_bits(depth, self.bits, level)]
        return min(feasible, key=lambda bits: (self.cost(depth, bits), bits), default=None)

    def closest_bits_at(self, depth: int) -> int:
        """The budget with the smallest upper end at a depth, from every usable route."""
        if len(self.easiest) == 1:
            return self.easiest[0]
        uppers = {bits: self.tightest(depth, bits, "upper", EVERYTHING) for bits in self.easiest}
        known = [(upper.value, bits) for bits, upper in uppers.items() if upper is not None]
        return min(known)[1] if known else self.easiest[0]

    def closest(self) -> tuple[int, Fraction] | None:
        """The smallest upper end of any usable route, and where, over a spread of depths."""
        best: tuple[int, Fraction] | None = None
        for depth in grids.thinned(self.grid, [], MAX_PROBES):
            for bits in self.easiest:
                upper = self.tightest(depth, bits, "upper", EVERYTHING)
                if upper is not None and (best is None or upper.value < best[1]):
                    best = depth, upper.value
        return best

    def tightest(self, depth: int, bits: int, side: str, level: Level) -> Value | None:
        """The best end at a candidate over the routes that a level admits."""
        near = self.threshold.feasible if side == "upper" else self.threshold.impossible
        best: Value | None = None
        for route in self.usable(bits, level, side):
            # Radii only widen: a route whose bare end is no better than the best is no better.
            if best is not None and not _better(side, route.end.value, best.value):
                continue
            value = value_at(route, depth, near)
            if value is not None and (best is None or _better(side, value, best.value)):
                best = Value(value, route)
        return best


def _better(side: str, value: Fraction, best: Fraction) -> bool:
    return value < best if side == "upper" else value > best


def _objective_premises(question: Question) -> dict[str, Premise]:
    """The premises that the threshold rests on; a tolerance is simply part of what is asked."""
    objective = question.objective
    if isinstance(objective, AccuracyMatching) and isinstance(objective.comparator, Premise):
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

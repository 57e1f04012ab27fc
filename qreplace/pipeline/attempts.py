"""Trying the engines, cheapest first, and keeping the best checked bracket (theory T7).

Each attempt runs within its budgets; what it returns counts only once the checkers accepted it
here. An attempt that failed, was stopped or gave nothing better is reported, never hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from qreplace.check.bounds import Checked, ScopedBound
from qreplace.check.registry import check_claim
from qreplace.claims import Claim, claim_digest, read_claim
from qreplace.decision.levels import CERTIFIED
from qreplace.decision.search import Search
from qreplace.errors import Malformed, ProducerFailed, Rejected
from qreplace.exact.rational import format_rational
from qreplace.pipeline.counts import count_claims
from qreplace.pipeline.engines import (
    CHEAP,
    Limits,
    constants_for,
    engines_for,
    has_channel,
)
from qreplace.pipeline.lifted import (
    Progress,
    frozen_claims,
    lattice_claims,
    lifted_claims,
    schedule_depths,
)
from qreplace.pipeline.worker import Task, run
from qreplace.question.model import (
    AccuracyMatching,
    ComputedFloor,
    LiftedAffineSystem,
    PwaSystem,
)
from qreplace.question.subject import Subject
from qreplace.report.context import Attempt, Outcome
from qreplace.spec import FloorBudget

DEFAULT_SECONDS = 300
"""Wall-clock limit of an attempt that asks for none."""
DEFAULT_MEGABYTES = 8192
NARROW = Fraction(1, 10**9)
"""A bracket this narrow, relative to its upper end, needs no further engine."""
FINITE_DEPTH_TASKS = (
    "schedules", "lower_at_depths", "exposed_channel", "least_error", "comparator",
)  # fmt: skip
SHALLOW = 1 << 12
"""Schedules of a depth at which they are looked at before any floor is."""
PROBES = 4
"""Deeper depths at which a schedule is looked for before the floor is."""
IMPROVING = ("net_floor",)
"""Tasks each of whose claims is tighter than the one before: the last one serves."""
MAX_FINITE_DEPTHS = 24
"""Depths at which finite-depth claims are asked for beside the radii."""


def attempt_budget(asked: FloorBudget, ceiling: FloorBudget | None) -> FloorBudget:
    """What one attempt may use: what was asked, else the defaults, within the ceiling."""

    def within(value: int | None, default: int | None, most: int | None) -> int | None:
        chosen = default if value is None else value
        if most is None:
            return chosen
        return most if chosen is None else min(chosen, most)

    limit = ceiling or FloorBudget(None, None, None)
    return FloorBudget(
        within(asked.seconds, DEFAULT_SECONDS, limit.seconds),
        within(asked.megabytes, DEFAULT_MEGABYTES, limit.megabytes),
        within(asked.nodes, None, limit.nodes),
    )


@dataclass
class Produced:
    """Checked claims by digest, each with what it proves, and the record of the attempts."""

    claims: dict[str, Claim] = field(default_factory=dict)
    proved: dict[str, tuple[Checked, ...]] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    sources: list[set[str]] = field(default_factory=list)
    """The digests of the claims that each attempt gave."""

    def accept(self, subject: Subject, claim: Claim) -> tuple[Checked, ...]:
        """Check a claim and keep it; raises ``Rejected``."""
        digest = claim_digest(claim)
        if digest not in self.claims:
            self.proved[digest] = check_claim(subject, claim)
            self.claims[digest] = claim
        return self.proved[digest]

    def record(
        self,
        engine: str,
        bits: int,
        outcome: Outcome,
        detail: str,
        seconds: float,
        claims: Sequence[Claim] = (),
        *,
        floor: bool = True,
    ) -> None:
        """Note an attempt with the best ends of its claims: of the floor, or at single depths."""
        digests = {claim_digest(claim) for claim in claims}
        bounds = [bound for digest in digests for bound in self.proved[digest]]
        lower, upper = _ends(bounds, floor=floor)
        self.attempts.append(
            Attempt(engine, bits, outcome, detail, lower, upper, len(digests), seconds)
        )
        self.sources.append(digests)

    @property
    def bounds(self) -> list[Checked]:
        """Everything that the claims prove."""
        return [bound for bounds in self.proved.values() for bound in bounds]

    def floor_ends(self, bits: int) -> tuple[Fraction | None, Fraction | None]:
        """The tightest checked ends of E_inf at a metadata budget."""
        found = [
            bound
            for bounds in self.proved.values()
            for bound in bounds
            if isinstance(bound, ScopedBound)
            and bound.quantity == "relaxed_floor"
            and bound.code == bits
        ]
        lowers = [bound.value for bound in found if bound.side == "lower"]
        uppers = [bound.value for bound in found if bound.side == "upper"]
        return max(lowers, default=None), min(uppers, default=None)


def produce_claims(subject: Subject, budget: FloorBudget, progress: Progress) -> Produced:
    """Every claim that the question's floor block asks for, checked; with the attempts made."""
    question = subject.question
    produced = Produced()
    if not isinstance(question.floor, ComputedFloor):
        return produced
    for bits in sorted(question.codes) or list(question.search.metadata_bits[:1]):
        _execution(subject, bits, produced)
        if isinstance(question.system, LiftedAffineSystem):
            _lifted(subject, bits, budget, produced, progress)
        else:
            piecewise = isinstance(question.system, PwaSystem)
            trial = _PiecewiseTrial if piecewise else _Trial
            trial(subject, question.floor, bits, budget, produced, progress).run()
    _drop_surpassed(produced)
    return produced


def _execution(subject: Subject, bits: int, produced: Produced) -> None:
    """What the declared execution alone decides, at once: freezing, and registers that fit."""
    frozen = frozen_claims(subject, bits)
    lattice, reason = lattice_claims(subject, bits)
    for engine, claims in (("frozen", frozen), ("lattice", lattice)):
        kept: list[Claim] = []
        for claim in claims:
            try:
                produced.accept(subject, claim)
                kept.append(claim)
            except Rejected as error:
                refused = f"the checker refused what it produced: {error}"
                produced.record(engine, bits, "failed", refused, 0.0)
        if kept:
            produced.record(engine, bits, "kept", "", 0.0, kept, floor=False)
    if reason:
        produced.record("lattice", bits, "failed", reason, 0.0)


def _lifted(
    subject: Subject, bits: int, budget: FloorBudget, produced: Produced, progress: Progress
) -> None:
    """Lifted systems are quick: produced in this process, untimed, so that reports are the same."""
    try:
        claims = lifted_claims(subject, bits, progress)
    except ProducerFailed as error:
        produced.record("affine_lp", bits, "failed", str(error), 0.0)
        return
    for claim in claims:
        produced.accept(subject, claim)
    produced.record("affine_lp", bits, "kept", "", 0.0, claims)
    found = count_claims(
        subject,
        bits,
        claims,
        produced.bounds,
        progress,
        nodes=budget.nodes,
        seconds=budget.seconds,
    )
    if found is not None:
        for claim in found.claims:
            produced.accept(subject, claim)
        produced.record(
            "count_minimum", bits, found.outcome, found.detail, 0.0, found.claims, floor=False
        )


class _Trial:
    """The attempts on one dynamic system at one metadata budget."""

    def __init__(
        self,
        subject: Subject,
        floor: ComputedFloor,
        bits: int,
        budget: FloorBudget,
        produced: Produced,
        progress: Progress,
    ) -> None:
        self.subject = subject
        self.floor = floor
        self.bits = bits
        self.budget = budget
        self.produced = produced
        self.progress = progress

    def run(self) -> None:
        """Constants first (they are cheap and serve every radius), then brackets, then depths."""
        engines = engines_for(self.subject.question, self.floor.engine)
        constants = constants_for(self.subject.question)
        stages = (*constants, *engines)
        for done, engine in enumerate(stages):
            self.progress(engine, done, len(stages) + 1)
            needed = engine in (*constants, *CHEAP) or len(engines) == 1
            reason = "" if needed else self._decided()
            if reason:
                self.produced.record(engine, self.bits, "not_tried", reason, 0.0)
            else:
                self._try(engine)
        self.progress("finite depths", len(stages), len(stages) + 1)
        self._channels()
        self._finite_depths()
        self.progress("finite depths", len(stages) + 1, len(stages) + 1)

    def _decided(self) -> str:
        """Why a further lower end would change nothing; empty while it might."""
        lower, upper = self.produced.floor_ends(self.bits)
        threshold = Search(self.subject, self.produced.bounds).threshold
        if lower is not None and upper is not None and upper - lower <= NARROW * abs(upper):
            return "the bracket is already narrow"
        if threshold.impossible is not None and lower is not None and lower > threshold.impossible:
            return "the floor already exceeds the tolerance"
        return ""

    def _try(self, name: str, depths: Sequence[int] = ()) -> None:
        """Run one task and keep what the checkers accept."""
        budget = self.budget
        threshold = Search(self.subject, self.produced.bounds).threshold
        limits = Limits(
            tuple(depths),
            budget.seconds,
            budget.megabytes,
            budget.nodes,
            format_rational(threshold.feasible),
            None if threshold.impossible is None else format_rational(threshold.impossible),
        )
        answer = run(self.subject, Task(name, self.bits, limits))
        accepted: list[Claim] = []
        problems = [answer.failed] if answer.failed else []
        improving = name in IMPROVING
        for data in reversed(answer.claims) if improving else answer.claims:
            try:
                claim = read_claim(data)
                self.produced.accept(self.subject, claim)
                accepted.append(claim)
                if improving:
                    break
            except (Rejected, Malformed) as error:
                problems.append(f"the checker refused what it produced: {error}")
        outcome: Outcome = "kept" if accepted else "failed"
        if answer.spent:
            outcome = "stopped"
            problems.insert(0, f"{answer.spent} ran out")
        detail = "; ".join(problems)
        floor = name not in FINITE_DEPTH_TASKS
        self.produced.record(
            name, self.bits, outcome, detail, answer.seconds, accepted, floor=floor
        )

    def _channels(self) -> None:
        """Ranges of depths at which one functional keeps every schedule away (theory T9).

        Nothing is tried where no error is too large, or where no functional is a channel.
        """
        depths = self._undecided()
        limit = Search(self.subject, self.produced.bounds).threshold.impossible
        if depths and limit is not None and has_channel(self.subject, self.bits):
            self._try("exposed_channel", depths)

    def _finite_depths(self, schedules: int | None = None) -> None:
        """Schedules and lower ends of E_D at depths that the radii leave open (T3.6, T7.8)."""
        self._upper_ends(schedules)
        self._lower_ends(schedules)

    def _upper_ends(self, schedules: int | None = None, most: int = MAX_FINITE_DEPTHS) -> None:
        """A good schedule at each open depth, or at ``most`` of them, evenly spread."""
        depths = self._open_depths(schedules)
        if len(depths) > most:
            depths = [depths[k * (len(depths) - 1) // (most - 1)] for k in range(most)]
        if depths:
            self._try("schedules", depths)

    def _lower_ends(self, schedules: int | None = None) -> None:
        """Past the first depth that works nothing is gained; before it a lower end may decide."""
        search = Search(self.subject, self.produced.bounds)
        met = [
            depth
            for depth in schedule_depths(self.subject)
            if search.feasible_at(depth, self.bits, CERTIFIED)
        ]
        missed = [d for d in self._open_depths(schedules) if not met or d < met[0]]
        if missed:
            self._try("lower_at_depths", missed)

    def _open_depths(self, schedules: int | None) -> list[int]:
        """The first undecided depths; with ``schedules``, those with at most so many of them."""
        atoms = self.subject.question.dictionary_for(self.bits).atom_count
        return [
            depth for depth in self._undecided() if schedules is None or atoms**depth <= schedules
        ][:MAX_FINITE_DEPTHS]

    def _undecided(self) -> list[int]:
        """The depths that no claim decides yet."""
        search = Search(self.subject, self.produced.bounds)
        return [
            depth
            for depth in schedule_depths(self.subject)
            if not search.feasible_at(depth, self.bits, CERTIFIED)
            and not search.impossible_at(depth, self.bits, CERTIFIED)
        ]


class _PiecewiseTrial(_Trial):
    """The attempts on a piecewise-affine system: shallow depths, deeper schedules, the floor.

    A floor says nothing that decides a small depth (theory T11.1); the largest error of a schedule
    and the least over all schedules do. At larger depths there are many schedules: one good one is
    soon found, but to exclude all of them the floor is cheaper, and tried first.
    """

    def run(self) -> None:
        """Each stage only where the ones before it left something open."""
        engines = engines_for(self.subject.question, self.floor.engine)
        stages = ("finite depths", *engines)
        self.progress("comparator", 0, len(stages) + 1)
        if self._has_comparator():
            self._try("comparator")
        self._finite_depths(SHALLOW)
        if not self._every_depth_decided():
            self._upper_ends(most=PROBES)
        for done, engine in enumerate(engines, start=1):
            self.progress(engine, done, len(stages) + 1)
            reason = self._every_depth_decided() if self.floor.engine == "auto" else ""
            reason = reason or ("" if engine in CHEAP else self._decided())
            if reason:
                self.produced.record(engine, self.bits, "not_tried", reason, 0.0)
            else:
                self._try(engine)
        self.progress("finite depths", len(stages), len(stages) + 1)
        if not self._every_depth_decided():
            self._finite_depths()
        self._least_error()
        self.progress("finite depths", len(stages) + 1, len(stages) + 1)

    def _least_error(self) -> None:
        """How much of the error at the chosen depth no schedule avoids, where that is quick."""
        search = Search(self.subject, self.produced.bounds)
        best = search.cheapest_feasible(CERTIFIED)
        atoms = self.subject.question.dictionary_for(self.bits).atom_count
        if best is not None and best.bits == self.bits and atoms**best.depth <= SHALLOW:
            self._try("least_error", [best.depth])

    def _has_comparator(self) -> bool:
        objective = self.subject.question.objective
        return isinstance(objective, AccuracyMatching) and objective.comparator_map is not None

    def _every_depth_decided(self) -> str:
        search = Search(self.subject, self.produced.bounds)
        if search.cheapest_feasible(CERTIFIED) is not None:
            return "a searched depth already meets the tolerance"
        if search.impossible_everywhere(CERTIFIED) is not None:
            return "every searched depth is already excluded"
        return ""


def _ends(bounds: Sequence[Checked], *, floor: bool) -> tuple[Fraction | None, Fraction | None]:
    """The best ends of the floor; or what holds at every depth that a task is about.

    Of single depths: the smallest upper end or, where there is none, the smallest lower one.
    """
    wanted = [
        bound
        for bound in bounds
        if isinstance(bound, ScopedBound) and (bound.quantity == "relaxed_floor") == floor
    ]
    lowers = [bound.value for bound in wanted if bound.side == "lower"]
    uppers = [bound.value for bound in wanted if bound.side == "upper"]
    depths = {bound.depths for bound in wanted}
    if not floor and len(depths) > 1:
        return (None, min(uppers)) if uppers else (min(lowers, default=None), None)
    return max(lowers, default=None), min(uppers, default=None)


def _drop_surpassed(produced: Produced) -> None:
    """Keep the claims that give a best end somewhere, and those that give constants.

    An attempt none of whose claims is left is marked ``no_better``.
    """
    best: dict[tuple[object, ...], tuple[Fraction, str]] = {}
    kept: set[str] = set()
    for digest, bounds in sorted(produced.proved.items()):
        for bound in bounds:
            if not isinstance(bound, ScopedBound):
                kept.add(digest)
                continue
            scope = (bound.quantity, bound.side, bound.objective, bound.domain, bound.depths,
                     bound.subject, bound.covers, bound.evidence)  # fmt: skip
            value = bound.value if bound.side == "upper" else -bound.value
            if scope not in best or value < best[scope][0]:
                best[scope] = value, digest
    kept.update(digest for _, digest in best.values())
    for index, attempt in enumerate(produced.attempts):
        if attempt.outcome == "kept" and not kept & produced.sources[index]:
            produced.attempts[index] = replace(attempt, outcome="no_better")
    for digest in produced.claims.keys() - kept:
        del produced.claims[digest], produced.proved[digest]

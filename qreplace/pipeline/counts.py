"""Exact searches at the depths that a floor and good schedules leave open (theory T7.13).

State-independent atoms reach ``B n / D`` with integer counts n, so a depth is decided by cutting
off every choice of counts, or by one that serves. What ends a search is a number of boxes; the time
limit is there for safety.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Literal

from qreplace.check.bounds import Checked, DepthSet, ScopedBound, ScopedConstants
from qreplace.claims import Claim
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.decision.grid import every_depth
from qreplace.decision.levels import CERTIFIED, EVERYTHING, Level
from qreplace.decision.search import Search
from qreplace.errors import ProducerFailed
from qreplace.pipeline.lifted import MAX_SCHEDULE_STEPS, Progress
from qreplace.premises import Evidence
from qreplace.question.subject import Subject

MAX_DEPTHS = 64
"""At most this many open depths are searched, the shallowest ones."""
LOOKED_AT = 512
"""So many depths of the grid are looked at for open ones."""
NODES = 2000
"""Boxes of counts at one depth."""
ALL_NODES = 6000
"""Boxes of counts at all depths together, unless the specification says."""
SECONDS = 30
"""Wall-clock limit of all depths together."""
GIVEN_UP = 2
"""After so many depths in a row without an answer no deeper one is tried: they are harder."""
PROBE = "probe"
FAR = Fraction(10**30)
"""A lower end from which a radius can be read off."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An open depth, and what would decide it; ``None``: nothing of that kind would."""

    depth: int
    above: Fraction | None
    """The depth is impossible when every error exceeds this."""
    within: Fraction | None
    """The depth is feasible when one error is at most this."""


@dataclass(frozen=True, slots=True)
class CountResult:
    """The claims found, and in ``detail`` what they leave open."""

    claims: tuple[Claim, ...]
    outcome: Literal["kept", "stopped", "failed"]
    detail: str


def count_claims(
    subject: Subject,
    bits: int,
    claims: Sequence[Claim],
    proved: Sequence[Checked],
    progress: Progress,
    *,
    nodes: int | None = None,
    seconds: int | None = None,
) -> CountResult | None:
    """Least errors and better schedules at open depths; ``None`` when no depth is open.

    ``claims`` and what they prove come from the cheaper producers; ``nodes`` and ``seconds`` bound
    all searches together.
    """
    wanted = list(islice(open_depths(subject, bits, proved), MAX_DEPTHS))
    if not wanted:
        return None
    schedules = (c for c in claims if isinstance(c, ScheduleErrorClaim) and c.code == bits)
    starts = {sum(schedule.counts): schedule.counts for schedule in schedules}
    run = _Run(subject, bits, proved, ALL_NODES if nodes is None else nodes)
    deadline = time.monotonic() + min(SECONDS, SECONDS if seconds is None else seconds)
    failure = ""
    try:
        for done, one in enumerate(wanted):
            progress("counts", done, len(wanted))
            if run.finished:
                break
            run.search(one, starts.get(one.depth), max(0.0, deadline - time.monotonic()))
    except ProducerFailed as error:
        failure = str(error)
    progress("counts", len(wanted), len(wanted))
    return run.result(len(wanted), failure)


class _Run:
    """The searches of one problem, from the shallowest depth on."""

    def __init__(self, subject: Subject, bits: int, proved: Sequence[Checked], nodes: int) -> None:
        from qreplace.produce.count_minimum import CountProducer

        digest = subject.problem_digest(bits)
        self.known = [
            bound for bound in proved if isinstance(bound, ScopedBound) and bound.subject == digest
        ]
        self.producer = CountProducer(subject, bits)
        self.left = nodes
        self.claims: list[Claim] = []
        self.searched = 0
        self.open: list[int] = []
        self.in_a_row = 0
        self.late = False
        self.served = False

    @property
    def finished(self) -> bool:
        """Whether no further depth is tried."""
        return self.served or self.late or self.left <= 0 or self.in_a_row >= GIVEN_UP

    def search(self, one: Wanted, start: Sequence[int] | None, seconds: float) -> None:
        """One depth: keep what is news, and note whether it is decided."""
        found = self.producer.produce(
            one.depth,
            target=one.above,
            enough=one.within,
            nodes=min(NODES, self.left),
            seconds=seconds,
            start=start,
        )
        self.searched += 1
        self.left -= found.nodes
        self.late = found.stopped == "seconds"
        if found.minimum.lower > max(self._ends(one.depth, "lower"), default=Fraction(0)):
            self.claims.append(found.minimum)
        best = min(self._ends(one.depth, "upper"), default=None)
        if best is None or found.schedule.error < best:
            self.claims.append(found.schedule)
        self.served = one.within is not None and found.schedule.error <= one.within
        cut_off = one.above is not None and found.minimum.lower > one.above
        if self.served or cut_off or found.stopped == "":
            self.in_a_row = 0
        else:
            self.open.append(one.depth)
            self.in_a_row += 1

    def _ends(self, depth: int, side: str) -> list[Fraction]:
        """What is known of the ideal error at a depth; the floor bounds it from below."""
        quantities = ("relaxed_floor", "ideal_error") if side == "lower" else ("ideal_error",)
        return [
            bound.value
            for bound in self.known
            if bound.side == side and bound.quantity in quantities and depth in bound.depths
        ]

    def result(self, wanted: int, failure: str) -> CountResult:
        """The claims, with what is left open in words."""
        parts = [failure] if failure else []
        if self.late:
            parts.append("the time limit ran out")
        if self.open:
            depths = ", ".join(map(str, self.open))
            parts.append(f"undecided after {NODES} boxes of counts or less at depth {depths}")
        if not self.served and self.searched < wanted:
            parts.append(f"{wanted - self.searched} deeper ones were not searched")
        outcome: Literal["kept", "stopped", "failed"] = "stopped" if self.late else "kept"
        if not self.claims and not self.late:
            outcome = "failed"
            parts = parts or ["nothing better than the floor and the schedules was found"]
        return CountResult(tuple(self.claims), outcome, "; ".join(parts))


# --- what is open, and what would decide it -------------------------------------------------------


def open_depths(subject: Subject, bits: int, proved: Sequence[Checked]) -> Iterator[Wanted]:
    """Depths of the grid, ascending, that nothing decides yet, up to the first feasible one."""
    search = Search(subject, proved)
    below, above = (bits, bits)
    if search.monotone:
        below, above = search.hardest[0], search.easiest[-1]
    grid = islice(every_depth(subject.question.search.depths), LOOKED_AT)
    depths = [depth for depth in grid if depth <= MAX_SCHEDULE_STEPS]
    if not depths:
        return
    lower = _Margins(subject, bits, below, proved, "lower", depths)
    upper = _Margins(subject, bits, above, proved, "upper", depths)
    for depth in depths:
        for level in (CERTIFIED, EVERYTHING):
            one = Wanted(depth, lower.at(depth, level), upper.at(depth, level))
            if one.above is None and one.within is None:
                continue
            if search.feasible_at(depth, above, level):
                return
            if not search.impossible_at(depth, below, level):
                yield one
            break


class _Margins:
    """Where an ideal error at a depth decides: the threshold with the radii between the two.

    The radii are read off routes from a made-up end, which is no claim and goes nowhere else.
    """

    def __init__(
        self,
        subject: Subject,
        code: int,
        bits: int,
        proved: Sequence[Checked],
        side: Literal["lower", "upper"],
        depths: Sequence[int],
    ) -> None:
        self.side = side
        self.bits = bits
        constants = [entry for entry in proved if isinstance(entry, ScopedConstants)]
        probe = ScopedBound(
            quantity="ideal_error",
            side=side,
            value=FAR if side == "lower" else Fraction(0),
            objective="endpoint",
            domain="witnesses",
            depths=DepthSet(depths[0], depths[-1]),
            subject=subject.problem_digest(code),
            code=code,
            covers="every_schedule" if side == "lower" else "one_schedule",
            evidence=Evidence.FINITE_WITNESS_CERTIFIED,
            kind="count_minimum",
            claim=PROBE,
        )
        self.search = Search(subject, [*constants, probe])

    def at(self, depth: int, level: Level) -> Fraction | None:
        """The error that decides ``depth``; ``None`` when a radius is missing or is too large."""
        threshold = self.search.threshold
        found = self.search.tightest(depth, self.bits, self.side, level)
        if found is None or found.route.end.claim != PROBE:
            return None
        if self.side == "lower":
            if threshold.impossible is None or found.value <= 0:
                return None
            return threshold.impossible + FAR - found.value
        if found.value > threshold.feasible:
            return None
        within = threshold.feasible - found.value
        return within * (1 - Fraction(1, 1 << 40)) if threshold.strict else within

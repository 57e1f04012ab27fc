"""Alphabets of thresholds against one threshold between them: floors, depths and errors (T7.2).

Atoms are ``S_l(y) - x`` with l from an alphabet of levels on [0, 1], from x(0) = 0 over horizon 1.
The endpoint of a schedule is ``sum_k w_k S_{l_k}(y)``, ``w_k = h (1 - h)^{D-1-k}``: the order of
steps matters through these weights alone, and their sum ``mass_D = 1 - (1 - 1/D)^D`` falls to
``alpha = 1 - 1/e`` as D grows. All maps are odd in y, and affine between the levels and the ends.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.pwa_supremum import ComparatorMap, ScheduleMap
from qreplace.errors import ProducerFailed, Rejected
from qreplace.exact.rational import round_down
from qreplace.exact.support_function import discrete_support
from qreplace.produce.affine_dynamics import produce as produce_floor
from qreplace.produce.affine_dynamics import produce_at_depth
from qreplace.produce.pwa_supremum import produce as produce_supremum
from qreplace.produce.schedule_minimum import produce as produce_minimum
from qreplace.produce.schedule_search import best_schedule_bnb, first_inputs
from qreplace.question.model import ScheduleTarget
from qreplace.question.subject import Subject
from qreplace.reproduce.instances import mass, mixture, scalar_subject, threshold_atom
from qreplace.reproduce.mixed_schedule import mixed_schedule
from qreplace.reproduce.proved import ends
from qreplace.reproduce.table import Interval

RATE = Fraction(1)
REACH = Fraction(7, 4)
THRESHOLD = Fraction(53, 100)
EXACT_SCHEDULES = 1 << 24
"""Most schedules of a depth that are searched to the end."""
CERTIFIED_SCHEDULES = 1 << 18
"""Most schedules of a depth for which a tree of prefixes is tried."""
END_BITS = 120


def tolerance(depth: int) -> Interval:
    """The error of the high-precision comparator of one depth on the whole interval."""
    precise = threshold_atom(Fraction(1), THRESHOLD, leak=RATE)
    comparator = ScheduleTarget("schedule", (precise,), (0,) * depth)
    target = mixture([(mass(RATE), THRESHOLD)])
    subject = scalar_subject([precise], target, REACH, [THRESHOLD, REACH], comparator)
    return ends(subject, [produce_supremum(subject, 0, ComparatorMap("comparator"))])


@dataclass(frozen=True, slots=True)
class Found:
    """The best schedule found at one depth: its error, and a lower end of every schedule's.

    Both ends of the error are None where no schedule was found.
    """

    schedule: tuple[int, ...]
    error: Interval
    least: Fraction | None
    """Over all schedules of the depth, from an exhaustive search; None where there was none."""


class Alphabet:
    """One alphabet of levels ``0, 1/n, .., 1``; everything is computed once."""

    def __init__(self, name: str, levels: int) -> None:
        self.name, self.count = name, levels
        self.levels = [Fraction(k, levels - 1) for k in range(levels)]
        self.kinks = sorted({*self.levels, THRESHOLD, REACH} - {Fraction(0)})
        atoms = [threshold_atom(Fraction(1), level, leak=RATE) for level in self.levels]
        target = mixture([(mass(RATE), THRESHOLD)])
        self.subject: Subject = scalar_subject(atoms, target, REACH, self.kinks)
        self.at_depth = cache(self._at_depth)
        self.best = cache(self._best)

    @property
    def codebook_bits(self) -> int:
        """One threshold an atom, in whole bits."""
        return self.count * (self.count - 1).bit_length()

    def storage(self, depth: int) -> int:
        """Codebook, and ``ceil(depth log2 J)`` bits for the schedule."""
        return self.codebook_bits + int((self.count**depth - 1).bit_length())

    @cached_property
    def floor_claim(self) -> AffineDynamicsClaim:
        """The bracket of the infinite-depth floor."""
        return produce_floor(self.subject, 0)

    @cached_property
    def floor(self) -> Interval:
        """The floor as checked."""
        return ends(self.subject, [self.floor_claim])

    def _at_depth(self, depth: int) -> Fraction:
        """What every schedule of the depth errs by at least, by its mixtures (theory T3.6)."""
        lower = ends(self.subject, [produce_at_depth(self.subject, 0, depth)]).lower
        return lower or Fraction(0)

    def from_depth_on(self, depth: int) -> Fraction:
        """What every schedule of ``depth`` steps *or more* errs by at least.

        Along the floor's functional lambda a depth errs by ``lambda . y - mass_D max_j lambda .
        b_j`` at least: affine in ``mass_D``, which falls to alpha. So the smaller of the bounds at
        ``depth`` and at the limit holds for every depth from there on.
        """
        problem, _ = self.subject.affine_floor(0)
        vector = self.floor_claim.witness.vector
        entries = [value.numerator for value in vector.numerators]
        unit = vector.denominator.numerator
        aim = sum(n * problem.target[i] for i, n in zip(vector.indices, entries, strict=True))
        reached = discrete_support(problem, vector.indices, entries, unit, depth)
        lower = Fraction(aim, unit * problem.denominator) - reached
        claim = dataclasses.replace(
            self.floor_claim,
            depth=depth,
            dominant=(),
            control=(),
            lower=round_down(lower, END_BITS),
            upper=None,
        )
        here = ends(self.subject, [claim]).lower
        limit = self.floor.lower
        return Fraction(0) if here is None or limit is None else min(here, limit)

    def _best(self, depth: int) -> Found:
        """A schedule of small error; the best of all where they are few enough."""
        if self.count**depth <= EXACT_SCHEDULES:
            problem = self.subject.piecewise(0)
            norm = self.subject.question.norm
            best = best_schedule_bnb(problem, norm, depth, first_inputs(problem))
            return Found(best.schedule, self._error(best.schedule), best.lower)
        alpha = mass(RATE)
        values = [[max(y - level, Fraction(0)) for level in self.levels] for y in self.kinks]
        aim = [alpha * max(y - THRESHOLD, Fraction(0)) for y in self.kinks]
        weights = [(1 - Fraction(1, depth)) ** (depth - 1 - k) / depth for k in range(depth)]
        try:
            schedule = mixed_schedule(values, aim, weights)
        except ProducerFailed:
            return Found((), Interval(None, None), None)
        return Found(schedule, self._error(schedule), None)

    def _error(self, schedule: tuple[int, ...]) -> Interval:
        claim = produce_supremum(self.subject, 0, ScheduleMap("schedule", schedule))
        return ends(self.subject, [claim])

    def excluded_by_claim(self, depth: int, limit: Fraction) -> bool:
        """Whether a tree of prefixes that a checker accepts excludes the depth."""
        if self.count**depth > CERTIFIED_SCHEDULES:
            return False
        points = first_inputs(self.subject.piecewise(0))
        try:
            claim = produce_minimum(self.subject, 0, depth, target=limit, points=points)
            lower = ends(self.subject, [claim]).lower
        except (ProducerFailed, Rejected):
            return False
        return lower is not None and lower > limit

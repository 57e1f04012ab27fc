"""Producer of ``relaxed_control`` at a depth: a pure schedule with a small Euler error.

The relaxed Euler problem is solved on the depth's own grid, its weights are rounded by the greedy
rule with carried error (theory T2.1), and single and paired changes of steps improve the schedule;
first-order effects choose candidates, true Euler endpoints decide. Few schedules are all tried.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qreplace.claims.relaxed_control import PureSchedule, RelaxedControlClaim
from qreplace.errors import ProducerFailed
from qreplace.produce.linear_program import Floats
from qreplace.produce.nearest_point import float_norms, nearest_mixture
from qreplace.produce.relaxed_control import ControlProducer, short_upper
from qreplace.produce.threads import single_threaded
from qreplace.question.endpoints import MAX_STEPS, MAX_WORK, NotEnclosed, error_bound
from qreplace.question.subject import Subject

ENUMERATED = 8192
"""Most schedules that are all tried."""
CANDIDATES = 64
PAIRED_CHANGES = 400
"""Most single changes that are combined in pairs."""
ROUNDS = 60
RELAXED_ROUNDS = 20
MAX_RELAXED = 20_000
"""Most weights of a relaxed problem; longer schedules are rounded from a coarser control."""

Schedule = NDArray[np.intp]


def produce_schedule(
    subject: Subject, bits: int, depth: int, weights: Floats | None = None
) -> RelaxedControlClaim:
    """A claim about the best schedule found at a depth for the dictionary at ``bits``.

    ``weights`` (cells, atoms), on equal cells, replace the relaxed problem's own solution. Raises
    ``ProducerFailed`` when the schedule cannot be evaluated within a claim's limits.
    """
    producer = ScheduleProducer(subject, bits, depth)
    with single_threaded(), np.errstate(all="ignore"):
        schedule = producer.best(weights)
    return producer.claim(schedule)


class ScheduleProducer:
    """One problem at one depth, in floats."""

    def __init__(self, subject: Subject, bits: int, depth: int) -> None:
        control = ControlProducer(subject, bits)
        self.subject, self.bits, self.depth = subject, bits, depth
        self.endpoints, self.norm, self.target = control.endpoints, control.norm, control.target
        if control.simulator is None:
            raise ProducerFailed(
                "the state has too many coordinates for a search of schedules",
                remedy="schedule_error finds schedules of state-independent atoms.",
            )
        if depth > MAX_STEPS or self.endpoints.scheduled_work(depth) > MAX_WORK:
            raise ProducerFailed(f"a schedule of {depth} steps takes more work than a claim may")
        self.simulator = control.simulator
        self.count = control.simulator.count

    def best(self, weights: Floats | None) -> Schedule:
        """The best schedule found; of all of them where they are few."""
        if self.count**self.depth <= ENUMERATED:
            every = itertools.product(range(self.count), repeat=self.depth)
            schedules = np.array(list(every), dtype=np.intp)
            return np.asarray(schedules[int(self._errors(schedules).argmin())])
        mixtures = self._relaxed() if weights is None else weights
        places = np.arange(self.depth) * len(mixtures) // self.depth
        starts = [self._rounded(mixtures[places])]
        starts += [np.full(self.depth, j, dtype=np.intp) for j in range(self.count)]
        errors = self._errors(np.array(starts))
        return self._improved(starts[int(errors.argmin())])

    def _errors(self, schedules: Schedule) -> Floats:
        ends = self.simulator.euler_trajectories(np.eye(self.count)[schedules])[:, -1]
        errors = float_norms(self.norm, ends - self.target)
        return np.where(np.isfinite(errors), errors, np.inf)

    def _relaxed(self) -> Floats:
        """Weights of mixed Euler steps, by the nearest points of linearised problems."""
        cells = max(1, min(self.depth, MAX_RELAXED // self.count))
        weights = np.full((cells, self.count), 1 / self.count)
        best = np.inf
        for _ in range(RELAXED_ROUNDS):
            endpoint, effects = self.simulator.euler_sensitivities(weights)
            linear = np.einsum("nkj,kj->n", effects, weights)
            offset = endpoint - self.target - linear
            if not (np.isfinite(offset).all() and np.isfinite(effects).all()):
                break
            change = nearest_mixture(self.norm, offset, effects) - weights
            tried = weights + 0.5 ** np.arange(10)[:, None, None] * change
            ends = self.simulator.euler_trajectories(tried)[:, -1]
            errors = float_norms(self.norm, ends - self.target)
            errors = np.where(np.isfinite(errors), errors, np.inf)
            place = int(errors.argmin())
            if not errors[place] < best * (1 - 1e-9):
                break
            best, weights = float(errors[place]), tried[place]
        return weights

    def _rounded(self, mixtures: Floats) -> Schedule:
        """Largest carried weight first: prefixes stay within ``H_J - 1`` of the mixtures."""
        carried = np.zeros(self.count)
        chosen = np.empty(self.depth, dtype=np.intp)
        for k, mixture in enumerate(mixtures):
            carried += mixture
            chosen[k] = int(carried.argmax())
            carried[chosen[k]] -= 1.0
        return chosen

    def _improved(self, schedule: Schedule) -> Schedule:
        error = float(self._errors(schedule[None])[0])
        for _ in range(ROUNDS):
            candidates = self._neighbours(schedule)
            if not len(candidates):
                break
            errors = self._errors(candidates)
            place = int(errors.argmin())
            if not errors[place] < error:
                break
            schedule, error = candidates[place], float(errors[place])
        return schedule

    def _neighbours(self, schedule: Schedule) -> Schedule:
        """The most promising changes of one step, and of two, to first order."""
        weights = np.eye(self.count)[schedule]
        endpoint, effects = self.simulator.euler_sensitivities(weights)
        residual = endpoint - self.target
        own = np.take_along_axis(effects, schedule[None, :, None], axis=2)
        moves = (effects - own).reshape(len(residual), -1).T
        if not np.isfinite(moves).all():
            return np.empty((0, self.depth), dtype=np.intp)
        steps, atoms = np.divmod(np.arange(len(moves)), self.count)
        changing = np.flatnonzero(atoms != schedule[steps])
        single = float_norms(self.norm, residual + moves[changing])
        order = changing[np.argsort(single, kind="stable")]
        chosen = [self._changed(schedule, [(steps[m], atoms[m])]) for m in order[:CANDIDATES]]
        spread = order[:: max(1, -(-len(order) // PAIRED_CHANGES))]
        first, second = np.triu_indices(len(spread), 1)
        double = float_norms(self.norm, residual + moves[spread[first]] + moves[spread[second]])
        for pair in np.argsort(double, kind="stable")[:CANDIDATES]:
            one, other = spread[first[pair]], spread[second[pair]]
            if steps[one] != steps[other]:
                changes = [(steps[one], atoms[one]), (steps[other], atoms[other])]
                chosen.append(self._changed(schedule, changes))
        return np.array(chosen, dtype=np.intp).reshape(-1, self.depth)

    def _changed(self, schedule: Schedule, changes: list[tuple[np.intp, np.intp]]) -> Schedule:
        result = schedule.copy()
        for step, atom in changes:
            result[step] = atom
        return result

    def claim(self, schedule: Schedule) -> RelaxedControlClaim:
        """The claim with the schedule's exact or enclosed error."""
        runs = tuple((int(atom), len(list(group))) for atom, group in itertools.groupby(schedule))
        try:
            state = self.endpoints.scheduled(runs)
        except NotEnclosed:
            raise ProducerFailed("the schedule leaves all bounds") from None
        upper: Fraction = error_bound(self.norm, state, self.endpoints.target)
        return RelaxedControlClaim(
            format="qreplace/claim/relaxed_control/v1",
            subject=self.subject.problem_digest(self.bits),
            code=self.bits,
            control=PureSchedule("schedule", runs),
            upper=short_upper(upper),
        )

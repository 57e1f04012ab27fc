"""Producer of ``moment``: the moment-SOS hierarchy, each step made exact (theory T7.9).

Orders 1, 2, ... are solved in turn; every step ends as a claim of kind ``hjb_sos`` or says what
stopped it, and the best claim is kept. A numerical value alone never leaves this module but in
words, as a diagnostic. The moments of the occupation measures, one an atom, propose a control.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import Polynomial, lie_derivative
from qreplace.produce.float_fields import FloatField, FloatPolynomial
from qreplace.produce.hjb_sos import Attempt, HjbSosProducer
from qreplace.produce.region_search import requested_order
from qreplace.produce.regions import NoRegion
from qreplace.produce.sos_program import Budget, Solver
from qreplace.produce.value_functions import require_flow_size
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.subject import Subject

Floats = NDArray[np.float64]

LARGEST_ORDER = 4
UNASKED_ROWS = 22
"""Gram matrices of a step that nobody asked for are at most this large."""
ALL_REGIONS = 2
"""Up to this order every region is tried."""
GAIN = Fraction(1, 10**4)
"""The hierarchy ends where a step gains less than this part of the value."""
SUBSTEPS = 8
SUM_WEIGHT = 1e3
"""How much more the sums of weights count than the moments in the fit of a control."""


@dataclass(frozen=True)
class Step:
    """One order of the hierarchy: the exact value it certified, or why it did not."""

    order: int
    value: Fraction | None
    numerical: float | None
    """The solver's value: a diagnostic."""
    reason: str


def produce(
    subject: Subject,
    bits: int,
    *,
    order: int | None = None,
    depth: int | None = None,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> HjbSosClaim:
    """The best exact claim of the hierarchy up to ``order``.

    ``order``: the last one, else the question's, else as far as small programmes and visible gains
    go. Raises ``ProducerFailed`` when no step ends in an exact claim, saying what stopped each.
    """
    producer = MomentProducer(subject, bits, depth=depth, solver=solver, budget=budget)
    return producer.best(order or requested_order(subject)).claim


def hierarchy(
    subject: Subject,
    bits: int,
    *,
    order: int | None = None,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> Iterator[HjbSosClaim]:
    """The claims of ``produce`` as the hierarchy climbs, each better than the one before.

    A caller that is stopped keeps what it has. Raises ``ProducerFailed`` as ``produce`` does.
    """
    producer = MomentProducer(subject, bits, solver=solver, budget=budget)
    for attempt in producer.climb(order or requested_order(subject)):
        yield attempt.claim


class MomentProducer:
    """The hierarchy over one problem; ``steps`` says how each order went."""

    def __init__(
        self,
        subject: Subject,
        bits: int,
        *,
        depth: int | None = None,
        solver: Solver = "CLARABEL",
        budget: Budget | None = None,
    ) -> None:
        self.inner = HjbSosProducer(subject, bits, depth=depth, solver=solver, budget=budget)
        self.steps: list[Step] = []

    def best(self, last: int | None) -> Attempt:
        """The best attempt up to an order; raises ``ProducerFailed``."""
        *_, best = self.climb(last)
        return best

    def climb(self, last: int | None) -> Iterator[Attempt]:
        """Every attempt that is better than those before; raises ``ProducerFailed`` for none."""
        best: Attempt | None = None
        for order in range(1, (last or LARGEST_ORDER) + 1):
            if last is None and not self._small(order):
                break
            try:
                found = self._step(order, best)
            except ProducerFailed as error:
                self.steps.append(Step(order, None, None, error.message))
                if self._stopped(error):
                    break
                continue
            floats = found.solution.floats
            self.steps.append(Step(order, found.value, floats.value, ""))
            gain = found.value if best is None else found.value - best.value
            if best is None or gain > 0:
                best = found
                yield found
            if order > 1 and last is None and gain <= GAIN * abs(best.value):
                break
        if best is None:
            reasons = "; ".join(f"order {step.order}: {step.reason}" for step in self.steps)
            raise ProducerFailed(f"the hierarchy ends without an exact certificate: {reasons}")

    def _step(self, order: int, best: Attempt | None) -> Attempt:
        """Every region at the first two orders, then the one that served best."""
        if best is None or order <= ALL_REGIONS:
            return self.inner.best(order)
        require_flow_size(self.inner.problem, order, self.inner.depth, self.inner.clock.budget)
        return self.inner.attempt(order, best.reach.region)

    def _small(self, order: int) -> bool:
        """Whether a step that nobody asked for is worth starting."""
        problem, clock = self.inner.problem, self.inner.clock
        rows = min(UNASKED_ROWS, clock.budget.gram_rows)
        try:
            require_flow_size(problem, order, self.inner.depth, Budget(gram_rows=rows))
        except ProducerFailed:
            return order == 1
        return True

    def _stopped(self, error: ProducerFailed) -> bool:
        """Whether no later step can do better: out of time, or no region."""
        return isinstance(error, NoRegion) or self.inner.clock.exhausted


# --- a control from the floats --------------------------------------------------------------------


def proposed_control(
    subject: Subject,
    bits: int,
    *,
    cells: int = 16,
    order: int = 2,
    solver: Solver = "CLARABEL",
    budget: Budget | None = None,
) -> Floats:
    """Weights (cells, atoms) on equal time cells: a proposal in floats, and nothing more.

    Two readings of one relaxation are tried in a float simulation, and the one that ends nearer to
    the target is returned: the time moments of the occupation measures, and the atom along which
    the value function grows least. Raises ``ProducerFailed`` when the relaxation is not solved.
    """
    producer = HjbSosProducer(subject, bits, solver=solver, budget=budget)
    attempt = producer.best(order)
    problem = producer.problem
    options = [_from_moments(problem, attempt, cells), _descending(problem, attempt, cells)]
    errors = [_float_error(problem, weights) for weights in options]
    return options[int(np.argmin(errors))]


def _from_moments(problem: PolynomialProblem, attempt: Attempt, cells: int) -> Floats:
    """Piecewise-constant densities in time with the measures' moments, by least squares."""
    from scipy.optimize import nnls

    scaling = attempt.reach.region.scaling
    centre, radius = float(scaling.centres[0]), float(scaling.radii[0])
    borders = (np.linspace(0, float(problem.horizon), cells + 1) - centre) / radius
    count = len(problem.atoms)
    rows, values = [], []
    for atom in range(count):
        place = {e: k for k, e in enumerate(attempt.program.identities[atom].support)}
        for power in range(2 * attempt.reach.order + 1):
            key = (power, *([0] * problem.dimension))
            if key not in place:
                continue
            row = np.zeros((cells, count))
            row[:, atom] = np.diff(borders ** (power + 1)) / (power + 1)
            rows.append(row.ravel())
            values.append(attempt.solution.floats.moments[atom][place[key]])
    for cell in range(cells):
        row = np.zeros((cells, count))
        row[cell] = SUM_WEIGHT
        rows.append(row.ravel())
        values.append(SUM_WEIGHT)
    found, _ = nnls(np.array(rows), np.array(values), maxiter=100 * cells * count)
    return _normalised(found.reshape(cells, count))


def _descending(problem: PolynomialProblem, attempt: Attempt, cells: int) -> Floats:
    """On each cell, how often the value function grows least along each atom."""
    function: Polynomial = attempt.claim.value_function
    arity = problem.dimension + 1
    growth = [FloatPolynomial(lie_derivative(function, atom), arity) for atom in problem.atoms]
    field = FloatField(problem)
    state = np.array([float(x) for x in problem.initial])
    step = float(problem.horizon) / cells / SUBSTEPS
    counts = np.zeros((cells, len(problem.atoms)))
    for index in range(cells * SUBSTEPS):
        point = np.concatenate([[index * step], state])
        chosen = int(np.argmin([float(g(point)) for g in growth]))
        counts[index // SUBSTEPS, chosen] += 1
        state = state + step * field(point)[chosen]
    return _normalised(counts)


def _normalised(weights: Floats) -> Floats:
    clipped = np.maximum(weights, 0)
    sums = clipped.sum(axis=1, keepdims=True)
    even = np.full_like(clipped, 1 / clipped.shape[1])
    return np.where(sums > 0, clipped / np.where(sums > 0, sums, 1), even)


def _float_error(problem: PolynomialProblem, weights: Floats) -> float:
    """The Euclidean distance to the target after a float simulation (midpoint rule)."""
    field = FloatField(problem)
    state = np.array([float(x) for x in problem.initial])
    cells = len(weights)
    step = float(problem.horizon) / cells / SUBSTEPS
    for index in range(cells * SUBSTEPS):
        mix = weights[index // SUBSTEPS]
        time = index * step
        first = mix @ field(np.concatenate([[time], state]))
        middle = np.concatenate([[time + step / 2], state + step / 2 * first])
        state = state + step * (mix @ field(middle))
    target = np.array([float(y) for y in problem.target])
    error = float(np.linalg.norm(state - target))
    return error if np.isfinite(error) else float("inf")

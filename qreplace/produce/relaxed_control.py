"""Producer of ``relaxed_control``: good controls in floats, their errors exactly (theory T7.8).

The endpoint is linearised in the weights of a time grid and the nearest point of what is reachable
to first order is found; a line search keeps what the true endpoint confirms. Cells in which the
weights switch from one atom to another are cut at the switching time and narrowed, round by round.
Several starts, among them every switching of a coarse grid where those are few, look for the global
optimum; nothing says that they find it. The error that the claim states comes from the exact
integrator that the checker uses too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qreplace.claims.relaxed_control import ControlPiece, RelaxedControl, RelaxedControlClaim
from qreplace.errors import InputError, ProducerFailed
from qreplace.exact.rational import round_up
from qreplace.exact.taylor import EnclosedState, State
from qreplace.produce.affine_dynamics import produce as produce_affine_dynamics
from qreplace.produce.affine_lp import produce as produce_affine_lp
from qreplace.produce.basis import sparse_vector
from qreplace.produce.float_dynamics import Grid, Simulator
from qreplace.produce.linear_program import Floats
from qreplace.produce.nearest_point import float_norms, nearest_mixture
from qreplace.produce.threads import single_threaded
from qreplace.question.endpoints import (
    MAX_PIECES,
    MAX_STEPS,
    MAX_WORK,
    Endpoints,
    NotEnclosed,
    affine_parts,
    error_bound,
)
from qreplace.question.model import MAX_POLYNOMIAL_DIMENSION, Norm, PolynomialSystem
from qreplace.question.subject import Subject

SEED = 20
COARSE_SWITCHINGS = 256
"""Most switchings of a coarse grid that are tried as starts."""
STARTS = 4
ITERATIONS = 12
"""Most linearisations on one grid."""
BUDGET = 160
"""Most linearisations in all."""
REFINEMENTS = 16
MAX_CELLS = 96
LINE_SEARCH = 0.5 ** np.arange(12)
PURE = 1e-7
"""A weight this close to 1 is taken to be 1."""
WEIGHT_BITS = 40
END_BITS = 48
SHORT = 1000
"""Largest denominators of the times of a control that is tried beside the precise one."""
SHORT_COORDINATES = 8
"""Most coordinates of a state for which that is worth an enclosure."""
ORDER = 20
STEP_SIZE = 0.15
"""Product of a first Taylor step and the field's Lipschitz constant."""
ENCLOSURE_LOSS = Fraction(1, 10**15)
UPPER_BITS = 160

Exact = tuple[tuple[Fraction, ...], tuple[tuple[int, ...], ...], int]
"""Ends, weight numerators, and their common denominator."""


def produce(
    subject: Subject, bits: int, *, pieces: int = 16, proposal: Floats | None = None
) -> RelaxedControlClaim:
    """A claim about the best control found for the dictionary at ``bits`` metadata bits.

    ``pieces`` is the number of cells of the first grid; ``proposal``, weights (cells, atoms) on
    equal cells, is one more start. Affine dynamics need neither: their problem is convex. Raises
    ``ProducerFailed`` when no control can be enclosed, or when dynamics that depend on the state
    have too many coordinates to integrate.
    """
    return ControlProducer(subject, bits).claim(pieces, proposal)


@dataclass(frozen=True)
class Control:
    """Weights (cells, atoms) on a grid, their states at its borders, and the endpoint's error."""

    grid: Grid
    weights: Floats
    states: Floats
    error: float


class ControlProducer:
    """One problem in floats."""

    def __init__(self, subject: Subject, bits: int) -> None:
        self.subject, self.bits = subject, bits
        self.norm: Norm = subject.question.norm
        try:
            self.endpoints = Endpoints(subject, bits)
        except InputError as error:
            raise ProducerFailed(error.message, remedy=error.remedy) from None
        self.simulator = simulator_of(self.endpoints)
        self.target = np.array([float(y) for y in self.endpoints.target])
        self._budget = BUDGET

    def claim(self, pieces: int, proposal: Floats | None) -> RelaxedControlClaim:
        """The claim about the best control that is found."""
        if self.simulator is None:
            return self._document(self._constant_control())
        with single_threaded(), np.errstate(all="ignore"):
            found = self._affine_control() or self.best(pieces, proposal)
            return self._document(*self._exact_versions(found))

    # --- search ---------------------------------------------------------------------------------

    def best(self, pieces: int, proposal: Floats | None = None) -> Control:
        """The best control in floats after all starts and refinements."""
        grid = self._simulator.grid(pieces)
        starts = self._starts(grid, proposal)
        improved = [self._improved(start) for start in starts]
        improved.sort(key=lambda control: control.error)
        if not improved:
            raise ProducerFailed("every control that was tried leaves all bounds")
        refined = [self._refined(control) for control in improved[:2]]
        return min(refined, key=lambda control: control.error)

    def _affine_control(self) -> Control | None:
        """The control that ``affine_dynamics`` finds from its convex programme (theory T7.2)."""
        if isinstance(self.subject.question.system, PolynomialSystem):
            return None
        try:
            pieces = produce_affine_dynamics(self.subject, self.bits).control
        except ProducerFailed:
            return None
        ends = [float(piece.end) for piece in pieces]
        borders = np.union1d([0.0, *ends], [part.start for part in self._simulator.parts])
        weights = np.zeros((len(borders) - 1, self._simulator.count))
        for cell, end in enumerate(borders[1:]):
            row = next((p.weights for p, e in zip(pieces, ends, strict=True) if end <= e), None)
            if row is None:
                return None
            weights[cell, list(row.indices)] = [float(n / row.denominator) for n in row.numerators]
        found = self._best_of(Grid(borders, self._simulator.parts), weights[None])
        return found[0] if found else None

    @property
    def _simulator(self) -> Simulator:
        if self.simulator is None:
            raise ProducerFailed("the state has too many coordinates for a float simulation")
        return self.simulator

    def _errors(self, states: Floats) -> Floats:
        errors = float_norms(self.norm, states - self.target)
        return np.where(np.isfinite(errors), errors, np.inf)

    def _best_of(self, grid: Grid, weights: Floats, number: int = 1) -> list[Control]:
        """The ``number`` best of many weights (rows, cells, atoms) that stay finite."""
        states = self._simulator.trajectories(grid, weights)
        errors = self._errors(states[:, -1])
        order = np.argsort(errors, kind="stable")[:number]
        found = [Control(grid, weights[i], states[i], float(errors[i])) for i in order]
        return [control for control in found if math.isfinite(control.error)]

    def _starts(self, grid: Grid, proposal: Floats | None) -> list[Control]:
        """The best few of: pure atoms, the even mixture, coarse switchings, random mixtures."""
        count, cells = self._simulator.count, grid.cells
        candidates = [np.tile(row, (cells, 1)) for row in np.eye(count)]
        candidates.append(np.full((cells, count), 1 / count))
        middles = (grid.borders[1:] + grid.borders[:-1]) / (2 * self._simulator.horizon)
        for coarse in self._coarse_switchings():
            places = np.minimum((middles * len(coarse)).astype(int), len(coarse) - 1)
            candidates.append(np.eye(count)[list(coarse)][places])
        random = np.random.default_rng(SEED)
        candidates += list(random.dirichlet(np.ones(count), size=(8, cells)))
        starts = self._best_of(grid, np.array(candidates), STARTS)
        starts += self._best_of(grid, candidates[count][None])
        if proposal is not None:
            places = np.minimum((middles * len(proposal)).astype(int), len(proposal) - 1)
            given = np.maximum(np.asarray(proposal, dtype=np.float64)[places], 0.0) + 1e-12
            given /= given.sum(axis=1, keepdims=True)
            starts += self._best_of(grid, given[None])
        return starts

    def _coarse_switchings(self) -> list[tuple[int, ...]]:
        count = self._simulator.count
        if count == 1:
            return []
        length = min(8, int(math.log(COARSE_SWITCHINGS) / math.log(count)))
        return list(itertools.product(range(count), repeat=length)) if length > 1 else []

    def _improved(self, control: Control) -> Control:
        """Nearest points of linearised reachable sets, each step confirmed by a line search."""
        scale = float(np.abs(self.target).max()) + 1.0
        for _ in range(min(ITERATIONS, self._budget)):
            self._budget -= 1
            effects = self._simulator.sensitivities(control.grid, control.weights, control.states)
            linear = np.einsum("nkj,kj->n", effects, control.weights)
            offset = control.states[-1] - self.target - linear
            if not np.isfinite(effects).all():
                break
            change = nearest_mixture(self.norm, offset, effects) - control.weights
            tried = control.weights + LINE_SEARCH[:, None, None] * change
            found = self._best_of(control.grid, tried)
            if not found or found[0].error >= control.error:
                break
            gain, control = control.error - found[0].error, found[0]
            if gain <= 1e-10 * control.error or control.error <= 1e-15 * scale:
                break
        return control

    def _refined(self, control: Control) -> Control:
        """Finer grids until two in a row gain nothing."""
        scale = float(np.abs(self.target).max()) + 1.0
        idle = 0
        for _ in range(REFINEMENTS):
            finer = self._finer(control)
            if finer is None or idle == 2 or control.error <= 1e-15 * scale:
                break
            better = self._improved(finer)
            idle = 0 if better.error < control.error * (1 - 1e-12) else idle + 1
            control = better if better.error <= control.error else finer
        return control

    def _finer(self, control: Control) -> Control | None:
        """Cells cut at switching times, their neighbours quartered, other mixed cells halved."""
        borders, rows = [0.0], []
        weights = control.weights
        pure = weights.max(axis=1) >= 1 - PURE
        leading = weights.argmax(axis=1)
        changes = pure[1:] & pure[:-1] & (leading[1:] != leading[:-1])
        beside = np.append(changes, False) | np.insert(changes, 0, False)
        for cell, row in enumerate(weights):
            low, high = control.grid.borders[cell : cell + 2]
            switching = _switching(weights, cell, low, high)
            if switching is not None:
                cut = switching
            else:
                number = 4 if beside[cell] else 1 if pure[cell] else 2
                number = number if high - low > 1e-9 * self._simulator.horizon else 1
                ends = low + (high - low) * np.arange(1, number + 1) / number
                cut = [(end, row) for end in (*ends[:-1], high)]
            for end, part in cut:
                borders.append(float(end))
                rows.append(part)
        borders, rows = _merged(borders, rows)
        if len(rows) > MAX_CELLS or borders == control.grid.borders.tolist():
            return None
        found = self._best_of(Grid(borders, self._simulator.parts), np.array(rows)[None])
        return found[0] if found else None

    # --- exact numbers --------------------------------------------------------------------------

    def _constant_control(self) -> Exact:
        """State-independent autonomous atoms of any dimension: the mixture of ``affine_lp``."""
        affine = self.endpoints.affine
        if affine is None or any(
            len(atom) != 1 or len(atom[0].coefficients) != 1 for atom in affine.atoms
        ):
            raise ProducerFailed(
                "forcings of this many coordinates are left to another kind",
                remedy="affine_dynamics brackets floors of affine dynamics at any dimension.",
            )
        primal = produce_affine_lp(self.subject, self.bits).primal
        numerators = [0] * self.endpoints.count
        for index, number in zip(primal.indices, primal.numerators, strict=True):
            numerators[index] = number.numerator
        return (self.endpoints.horizon,), (tuple(numerators),), primal.denominator.numerator

    def _exact_versions(self, control: Control) -> list[Exact]:
        """The control in long and, for small states, in short numbers."""
        shares = control.grid.borders[1:-1] / control.grid.borders[-1]
        chosen = [
            (1 << WEIGHT_BITS, [Fraction(round(x * 2**END_BITS), 1 << END_BITS) for x in shares])
        ]
        if len(self.target) <= SHORT_COORDINATES:
            ends = [Fraction(x).limit_denominator(SHORT) for x in shares]
            chosen.append((math.lcm(*range(1, 13)), ends))
        versions = []
        for unit, ends in chosen:
            times = [self.endpoints.horizon * end for end in ends] + [self.endpoints.horizon]
            numerators = [_rounded(row, unit) for row in control.weights]
            versions.append(_joined(times, numerators, unit))
        return versions

    def _document(self, *versions: Exact) -> RelaxedControlClaim:
        """The version with the smaller error, in its exact or enclosed value."""
        best: tuple[Fraction, RelaxedControl] | None = None
        failure: ProducerFailed | None = None
        for version in versions:
            try:
                found = self._enclosed(version)
            except ProducerFailed as error:
                failure = error
                continue
            if best is None or found[0] <= best[0]:
                best = found
        if best is None:
            raise failure or ProducerFailed("no control was proposed")
        return RelaxedControlClaim(
            format="qreplace/claim/relaxed_control/v1",
            subject=self.subject.problem_digest(self.bits),
            code=self.bits,
            control=best[1],
            upper=best[0],
        )

    def _enclosed(self, version: Exact) -> tuple[Fraction, RelaxedControl]:
        ends, rows, denominator = version
        pieces = [
            (end, [Fraction(n, denominator) for n in row])
            for end, row in zip(ends, rows, strict=True)
        ]
        if len(pieces) > MAX_PIECES:
            raise ProducerFailed(f"the control has {len(pieces)} pieces, at most {MAX_PIECES}")
        steps = self._first_steps(version)
        for _ in range(8):
            work = self.endpoints.work(pieces, steps, ORDER)
            if sum(steps) > MAX_STEPS or work > MAX_WORK:
                break
            try:
                state = self.endpoints.relaxed(pieces, steps, ORDER)
            except NotEnclosed as failure:
                steps[failure.position] *= 2
                continue
            if self._is_tight(state):
                upper = short_upper(error_bound(self.norm, state, self.endpoints.target))
                return upper, _control(version, steps)
            steps = [2 * n for n in steps]
        raise ProducerFailed("the control needs more validated steps than a claim may have")

    def _first_steps(self, version: Exact) -> list[int]:
        """Steps an eighth or so of the time in which a small difference grows e-fold."""
        ends, rows, denominator = version
        if self.simulator is None:
            return [1] * len(ends)
        grid = Grid(
            np.union1d([0.0, *(float(e) for e in ends)], [p.start for p in self.simulator.parts]),
            self.simulator.parts,
        )
        floats = [float(e) for e in ends]
        places = [next(i for i, e in enumerate(floats) if b <= e) for b in grid.borders[1:]]
        weights = np.array([[n / denominator for n in rows[i]] for i in places])
        states = self.simulator.trajectories(grid, weights[None])[0]
        steps = [1] * len(ends)
        for cell, place in enumerate(places):
            times = grid.borders[cell : cell + 2]
            slope = grid.parts[cell].lipschitz(times, states[cell : cell + 2])
            needed = slope * float(times[1] - times[0]) / STEP_SIZE
            if not math.isfinite(needed) or needed > MAX_STEPS:
                raise ProducerFailed("the control leaves all bounds on the way")
            steps[place] = max(steps[place], math.ceil(needed))
        return steps

    def _is_tight(self, state: State) -> bool:
        if not isinstance(state, EnclosedState):
            return True
        largest = max([Fraction(1), *map(abs, self.endpoints.target)])
        return Fraction(max(state.radius), 1 << state.bits) <= ENCLOSURE_LOSS * largest


def simulator_of(endpoints: Endpoints) -> Simulator | None:
    """A float simulator, unless state-independent atoms have too many coordinates for one."""
    parts = endpoints.parts
    if endpoints.affine is not None:
        if endpoints.affine.dimension > MAX_POLYNOMIAL_DIMENSION:
            return None
        parts = affine_parts(endpoints.affine)
    return Simulator(parts, endpoints.initial, endpoints.horizon)


def short_upper(value: Fraction) -> Fraction:
    """The value, or a slightly larger one with fewer digits."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= UPPER_BITS:
        return value
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    return round_up(value, max(0, UPPER_BITS // 2 - magnitude))


def _switching(
    weights: Floats, cell: int, low: float, high: float
) -> list[tuple[float, Floats]] | None:
    """A mixed cell between two pure ones, cut where its weights say that one follows the other."""
    if cell in (0, len(weights) - 1) or weights[cell].max() >= 1 - PURE:
        return None
    before, row, after = weights[cell - 1 : cell + 2]
    first, second = int(before.argmax()), int(after.argmax())
    pure = min(before[first], after[second]) >= 1 - PURE
    if not pure or first == second or row[first] + row[second] < 1 - PURE:
        return None
    switch = low + float(row[first]) * (high - low)
    narrow = (high - low) / 16
    cuts = [max(low, switch - narrow), switch, min(high, switch + narrow), high]
    parts = [before, before, after, after]
    kept = []
    start = low
    for end, part in zip(cuts, parts, strict=True):
        if end - start > 1e-14 * high:
            kept.append((end, part))
            start = end
    return kept


def _merged(borders: list[float], rows: list[Floats]) -> tuple[list[float], list[Floats]]:
    """Equal pure neighbours joined from behind while there are more than half the cells allowed."""
    while len(rows) > MAX_CELLS // 2:
        lengths = np.diff(borders)
        same = [
            i
            for i in range(1, len(rows))
            if rows[i].max() >= 1 - PURE and (rows[i] == rows[i - 1]).all()
        ]
        if not same:
            break
        place = max(same, key=lambda i: lengths[i] + lengths[i - 1])
        borders = borders[:place] + borders[place + 1 :]
        rows = rows[:place] + rows[place + 1 :]
    return borders, rows


def _rounded(row: Floats, unit: int) -> tuple[int, ...]:
    """Numerators over ``unit`` with the exact sum."""
    numbers = [max(0, round(float(w) * unit)) for w in row]
    numbers[int(row.argmax())] += unit - sum(numbers)
    return tuple(numbers)


def _joined(times: list[Fraction], rows: Sequence[tuple[int, ...]], unit: int) -> Exact:
    """Equal neighbours as one piece; pieces that rounding made empty dropped."""
    kept: list[tuple[Fraction, tuple[int, ...]]] = []
    for end, row in zip(times, rows, strict=True):
        if end <= (kept[-1][0] if kept else 0):
            continue
        if kept and kept[-1][1] == row:
            kept.pop()
        kept.append((end, row))
    return tuple(end for end, _ in kept), tuple(row for _, row in kept), unit


def _control(version: Exact, steps: list[int]) -> RelaxedControl:
    ends, rows, denominator = version
    pieces = tuple(
        ControlPiece(end, sparse_vector([(j, n) for j, n in enumerate(row) if n], denominator))
        for end, row in zip(ends, rows, strict=True)
    )
    return RelaxedControl("relaxed", pieces, tuple(steps), ORDER)

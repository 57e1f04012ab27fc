"""Producer of ``net_floor``: brackets of a piecewise-affine floor that shrink (theory T7.11).

A control is improved by linear programmes about itself; its error on a finer and finer net is the
upper end. Functionals that separate the target from all controls, found at the middle of cells of
controls, give the lower end, with more steps and more cells in every round. Both ends are written
by the exact enclosures that the checker uses, so what comes out is honest whatever the floats did.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from qreplace.claims.net_floor import NetFloorClaim, NetLower, NetUpper
from qreplace.errors import InputError, ProducerFailed
from qreplace.exact.rational import round_down, round_up
from qreplace.produce.linear_program import Floats
from qreplace.produce.maximum import round_to_simplex
from qreplace.produce.mixed_model import MixedModel
from qreplace.produce.separating_tree import SeparatingTree
from qreplace.produce.threads import single_threaded
from qreplace.question.atom_sizes import Inputs
from qreplace.question.controlled import (
    MAX_WORK,
    Cell,
    Controlled,
    MixedSteps,
    frozen_lipschitz,
    mixed_steps,
    net_cost,
)
from qreplace.question.input_nets import (
    cell_count,
    control_move,
    half_sides,
    map_move,
    net_points,
)
from qreplace.question.invariant_balls import pwa_constants
from qreplace.question.maps import Point, homogeneous
from qreplace.question.model import FullDomain
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball, Region
from qreplace.question.subject import Subject

FORMAT: Literal["qreplace/claim/net_floor/v1"] = "qreplace/claim/net_floor/v1"
DEFAULT_NODES = 400
"""Cells of controls looked at in all."""
FIRST_STEPS = (1, 2, 4, 8, 16)
MAX_STEPS = 1024
IDLE = Fraction(99, 100)
"""A round without new cells that leaves this much of the bracket is the last."""
DEFECT_SHARE = 16
"""More steps are taken while the defect of those there are is this part of the bracket."""
CANDIDATES = 400
"""Inputs among which those that count are chosen."""
ACTIVE = 24
"""Inputs that functionals may use."""
ACTIVE_ROUNDS = 6
CONTROL_ROWS = 64
CONTROL_STEPS = 32
"""Mixed steps of a control at least; more where it has more rows."""
STEPS_A_ROW = 8
ENCLOSURES = 400_000
"""Most steps times points of a net, so that a claim stays quick to check."""
WEIGHT_DENOMINATOR = 1 << 24
END_BITS = 96
FIRST_CELLS = 64
MAX_CELLS = 65_536
GOAL_SHARE = 16
"""The lower end stops this part of the requested width below the upper one."""


def produce(
    subject: Subject,
    bits: int,
    *,
    width: Fraction | None = None,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Iterator[NetFloorClaim]:
    """Claims with ever smaller brackets, until one is ``width`` wide or a budget is spent.

    ``nodes`` is the number of cells of controls looked at, ``seconds`` a limit of time besides; one
    claim comes out in any case. Raises ``ProducerFailed`` for systems without constants.
    """
    stop = None if seconds is None else time.monotonic() + seconds
    try:
        with single_threaded():
            search = _Search(subject, bits)
            best: Fraction | None = None
            for claim in search.rounds(nodes or DEFAULT_NODES, width, stop):
                gap = _width(claim)
                if best is None or gap < best:
                    best = gap
                    yield claim
    except InputError as error:
        raise ProducerFailed(error.message) from None


def _width(claim: NetFloorClaim) -> Fraction:
    return (claim.upper if claim.upper is not None else Fraction(1 << 40)) - claim.lower


@dataclass(frozen=True)
class _Control:
    """A control in exact weights, with its mixed steps in all."""

    weights: tuple[tuple[Fraction, ...], ...]
    repeats: int

    @property
    def count(self) -> int:
        return len(self.weights) * self.repeats


class _Search:
    """One problem's search; keeps the best of both sides."""

    def __init__(self, subject: Subject, bits: int) -> None:
        self.subject = subject
        self.bits = bits
        self.problem: PwaProblem = subject.piecewise(bits)
        self.norm = subject.question.norm
        self.full = isinstance(subject.question.domain, FullDomain)
        self.frozen = frozen_lipschitz(self.problem, self.norm)
        self.candidates = MixedModel(self.problem, self.norm, _candidates(self.problem, self.full))
        self.active = self.candidates
        atoms = len(self.problem.fields)
        self.weights: Floats = np.full((1, atoms), 1.0 / atoms)
        self.below: tuple[Fraction, NetLower | None] = (Fraction(0), None)
        self.above: tuple[Fraction, NetUpper] | None = None
        self.cells = FIRST_CELLS
        self.trees: dict[int, SeparatingTree] = {}

    # --- rounds ---------------------------------------------------------------------------

    def rounds(
        self, nodes: int, width: Fraction | None, stop: float | None
    ) -> Iterator[NetFloorClaim]:
        """A claim a round; both sides get more of everything in each."""
        rows, limit, spent, last = 1, 1, 0, Fraction(1 << 41)
        while True:
            self._choose(rows)
            self._upper(rows)
            # First the root cells of several numbers of steps: where the separation begins.
            for count in FIRST_STEPS if not spent else self._promising():
                self._lower(count, limit, width, stop)
            yield self._claim()
            reached, before = _width(self._claim()), spent
            spent = sum(tree.nodes for tree in self.trees.values())
            late = stop is not None and time.monotonic() >= stop
            idle = spent == before and reached > last * IDLE
            if late or idle or spent >= nodes or (width is not None and reached <= width):
                return
            last = reached
            rows, limit = min(2 * rows, CONTROL_ROWS), 2 * limit + 6
            self.cells = min(4 * self.cells, MAX_CELLS)

    def _promising(self) -> list[int]:
        """The number of steps whose lower end is best, and twice it while its defect matters."""
        best = max(self.trees, key=lambda n: (self._reached(self.trees[n]), -n))
        gap = _width(self._claim())
        matters = DEFECT_SHARE * self.trees[best].steps.defect > gap
        return [best, 2 * best] if matters and 2 * best <= MAX_STEPS else [best]

    @staticmethod
    def _reached(tree: SeparatingTree) -> Fraction:
        return tree.distance - tree.steps.defect

    def _claim(self) -> NetFloorClaim:
        lower, below = self.below
        return NetFloorClaim(
            format=FORMAT,
            subject=self.subject.problem_digest(self.bits),
            code=self.bits,
            lower=lower,
            upper=None if self.above is None else self.above[0],
            below=below,
            above=None if self.above is None else self.above[1],
        )

    def _steps(self, points: Sequence[Point], count: int) -> MixedSteps:
        inputs = Inputs(tuple(points), None)
        constants = pwa_constants(self.problem, self.norm, inputs, pairs=False)
        return mixed_steps(constants, self.frozen, count)

    # --- which inputs count -----------------------------------------------------------------

    def _choose(self, rows: int) -> None:
        """Improve the control on a few inputs, and add those where it is worst, in turns."""
        repeats = _repeats(rows)
        step = float(self._steps(self.candidates.points[:1], rows * repeats).step)
        weights = np.repeat(self.weights, rows // len(self.weights), axis=0)
        points = self.candidates.points
        chosen = set(np.linspace(0, len(points) - 1, min(len(points), 8)).astype(int).tolist())
        if self.active is not self.candidates:
            chosen = {points.index(p) for p in self.active.points}
        best: tuple[float, Floats] = (math.inf, weights)
        for _ in range(ACTIVE_ROUNDS):
            self.active = MixedModel(self.problem, self.norm, [points[i] for i in sorted(chosen)])
            weights = self.active.improve(weights, repeats, step)
            errors = self.candidates.errors(self.candidates.endpoints(weights, repeats, step))
            if float(errors.max()) < best[0]:
                best = float(errors.max()), weights
            worst = [int(i) for i in np.argsort(-errors)[:3]]
            if set(worst[:1]) <= chosen or len(chosen) + 3 > ACTIVE:
                break
            chosen |= set(worst)
        self.weights = best[1]

    # --- the upper side ---------------------------------------------------------------------

    def _upper(self, rows: int) -> None:
        repeats = _repeats(rows)
        control = _Control(tuple(_exact_row(row) for row in self.weights), repeats)
        cells: tuple[int, ...] = ()
        region = self.problem.region
        if self.full:
            if region is None:
                return
            affordable = MAX_WORK // net_cost(self.problem, control.count)
            most = min(self.cells, ENCLOSURES // control.count, affordable)
            cells = _grid(region, max(1, most))
            if cell_count(cells) > affordable:
                return
            points = list(net_points(region, cells))
        else:
            points = list(self.problem.witnesses or ())
        if not points:
            return
        constants = pwa_constants(self.problem, self.norm, Inputs(tuple(points), None), pairs=False)
        covering = Fraction(0)
        if cells and region is not None:
            apart = half_sides(region, cells)
            covering = control_move(self.problem, self.norm, constants, apart)
            covering += map_move(self.problem.target, self.norm, apart)
        steps = mixed_steps(constants, self.frozen, control.count)
        distance = self._farthest(control, steps, points)
        upper = round_up(distance + covering + steps.defect, END_BITS)
        if self.above is None or upper < self.above[0]:
            side = NetUpper(control.weights, control.repeats, cells, distance)
            self.above = upper, side

    def _farthest(self, control: _Control, steps: MixedSteps, points: Sequence[Point]) -> Fraction:
        """The largest enclosed error of a control; only inputs that may be worst are enclosed."""
        walk = Controlled(self.problem, self.norm, steps, points)
        cells = []
        for row in control.weights:
            vertex = tuple(int(x * WEIGHT_DENOMINATOR) for x in row)
            cells += [Cell((vertex,), WEIGHT_DENOMINATOR)] * control.repeats
        for step, cell in enumerate(cells):
            walk.set_cell(step, cell)
        model = MixedModel(self.problem, self.norm, points)
        weights = np.array([[float(x) for x in row] for row in control.weights])
        errors = model.errors(model.endpoints(weights, control.repeats, float(steps.step)))
        likely = np.flatnonzero(errors >= errors.max() - 1e-9 * (1 + errors.max()))
        worst = max(walk.error_upper(int(i)) for i in likely)
        # Floats may be off by a little: room for that, so that every other input passes too.
        return round_up(worst * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12), END_BITS)

    # --- the lower side ---------------------------------------------------------------------

    def _lower(self, count: int, limit: int, width: Fraction | None, stop: float | None) -> None:
        tree = self.trees.get(count)
        if tree is None:
            steps = self._steps(self.active.points, count)
            tree = self.trees[count] = SeparatingTree(self.active, steps)
        goal = Fraction(1 << 40)
        if self.above is not None:
            # Above the upper end less the defect there is nothing to be found.
            slack = Fraction(0) if width is None else width / GOAL_SHARE
            goal = self.above[0] + tree.steps.defect - slack
        tree.grow(max(limit, tree.nodes), goal, stop)
        below = tree.lower()
        if below is None:
            return
        defect = self._steps([homogeneous(point) for point in below.points], count).defect
        lower = round_down(max(Fraction(0), below.distance - defect), END_BITS)
        if lower > self.below[0]:
            self.below = lower, below


def _repeats(rows: int) -> int:
    return max(STEPS_A_ROW, CONTROL_STEPS // rows)


def _exact_row(weights: Floats) -> tuple[Fraction, ...]:
    point = round_to_simplex(weights, WEIGHT_DENOMINATOR)
    return tuple(Fraction(n, WEIGHT_DENOMINATOR) for n in point.numerators)


def _grid(region: Region, cells: int) -> tuple[int, ...]:
    """About so many cells of the region's box, nearly cubes."""
    low, high = region.box
    lengths = [float(b - a) for a, b in zip(low, high, strict=True)]
    side = (math.prod(lengths) / cells) ** (1 / len(lengths))
    return tuple(max(1, min(cells, round(length / side))) for length in lengths)


# --- inputs to choose from -------------------------------------------------------------------


def _candidates(problem: PwaProblem, full: bool) -> list[Point]:
    """Inputs of the question: witnesses, or a net with the region's corners and, in 1-D, kinks."""
    if not full or problem.region is None:
        points = list(problem.witnesses or ())
        if not points:
            raise ProducerFailed("there are no inputs to separate the target at")
        every = max(1, -(-len(points) // CANDIDATES))
        return points[::every]
    region = problem.region
    found = dict.fromkeys(problem.witnesses or ())
    if not isinstance(region, Ball) and region.corners is not None:
        found.update(dict.fromkeys(region.corners[:CANDIDATES]))
    if problem.inputs == 1:
        found.update(dict.fromkeys(_kinks(problem)))
    if isinstance(region, Ball):
        found.update(dict.fromkeys(_rim(region)))
    found.update(dict.fromkeys(net_points(region, _grid(region, CANDIDATES // 4))))
    inside = [point for point in found if region.contains(point)]
    every = max(1, -(-len(inside) // CANDIDATES))
    return inside[::every]


def _kinks(problem: PwaProblem) -> Iterator[Point]:
    """Where an atom bends at the initial state, and the target's first layer."""
    for field in problem.fields:
        for k, row in enumerate(field.input_weights):
            level = field.thresholds[k] if field.thresholds else 0
            for sign in (-1, 1):
                if row[0]:
                    yield homogeneous([Fraction(sign * level - field.bias[k], row[0])])
    layer = problem.target.layers[0]
    for k, row in enumerate(layer.input_weights):
        for sign in (-1, 1):
            level = layer.thresholds[k] if layer.thresholds else 0
            if row[0]:
                yield homogeneous([Fraction(sign * level - layer.bias[k], row[0])])


def _rim(ball: Ball) -> Iterator[Point]:
    """Points of the sphere: along the axes, and in the plane at rational angles."""
    for axis in range(ball.inputs):
        for sign in (-1, 1):
            point = list(ball.center)
            point[axis] += sign * ball.radius
            yield homogeneous(point)
    if ball.inputs != 2:
        return
    for k in range(1, 16):
        s = Fraction(math.tan(math.pi * k / 64)).limit_denominator(1000)
        x, y = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
        for _ in range(4):
            x, y = -y, x
            yield homogeneous([ball.center[0] + ball.radius * x, ball.center[1] + ball.radius * y])

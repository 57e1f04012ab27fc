"""Producer of ``affine_dynamics`` (theory T7.2, T3.6).

Time is cut into cells; the best mixture a cell is a linear or a cone programme whose multiplier is
a functional. Newton's method on the switching times improves it; around those times lie the
borders of the next cells. Ends are then written by the exact flow.

Where ``A = rate I`` and the atoms are constant, the problem is that of T7.1 with the target
``(y - e^{aT} z_0) / int_0^T e^{as} ds``, and any dimension is solved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from qreplace.claims.affine_dynamics import AffineDynamicsClaim, DominantPiece
from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.relaxed_control import ControlPiece
from qreplace.errors import ProducerFailed
from qreplace.exact import affine_flow
from qreplace.exact.affine_flow import MAX_GROWTH, MAX_WORK, discrete_work, growth, work
from qreplace.exact.fixed_point import exponential
from qreplace.exact.rational import round_down, round_up
from qreplace.exact.support_function import discrete_support, support
from qreplace.produce.affine_lp import AffineLPProducer
from qreplace.produce.basis import sparse_vector
from qreplace.produce.float_flow import Arc, FloatFlow
from qreplace.produce.functionals import ZERO, rounded_functional
from qreplace.produce.linear_program import Floats
from qreplace.produce.maximum import round_to_simplex
from qreplace.produce.mixture_program import float_norm, solve_mixture
from qreplace.produce.switching import Point, climb
from qreplace.produce.threads import single_threaded
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import Norm
from qreplace.question.norms import coordinate_radius, norm_bounds
from qreplace.question.subject import LiftedProblem, Subject

FORMAT: Literal["qreplace/claim/affine_dynamics/v1"] = "qreplace/claim/affine_dynamics/v1"
COARSE_CELLS = 24
ROUNDS = 12
PATIENCE = 2
"""Rounds in a row that may fail to halve the gap."""
RELATIVE_GAP = 1e-12
NOISE = 1e-14
"""A gap this small in units of the data is a rounding error."""
CLIMBED = 1e-14
LADDER = (2e-6, 3e-5, 5e-4, 8e-3)
"""Distances of borders from a switching time, relative to the horizon. The shortest decides: a
programme's error falls with its square, but shorter cells drown in rounding errors."""
TIME_BITS = 60
WEIGHT_DENOMINATOR = 1 << 60
END_BITS = 120
"""Ends are rounded outward to this many bits."""
TARGET_BITS = 96
MAX_EULER_COLUMNS = 4096
"""Largest number of steps times atoms for which a depth gets its own functional."""


def produce(subject: Subject, bits: int) -> AffineDynamicsClaim:
    """A claim that brackets the floor at ``bits`` metadata bits.

    Raises ``ProducerFailed`` beyond the limits of the exact flow or of the programmes.
    """
    problem, norm = subject.affine_floor(bits)
    if growth(problem) > MAX_GROWTH or work(problem, COARSE_CELLS) > MAX_WORK:
        raise ProducerFailed("the state matrix is too large over the horizon to be enclosed")
    with single_threaded():
        if problem.matrix is None and affine_flow.constant_atoms(problem):
            proposal = _proportional(subject, bits)
        else:
            proposal = refined(norm, FloatFlow(problem))
    return _bracket(subject, bits, proposal)


def produce_at_depth(
    subject: Subject, bits: int, depth: int, witness: Functional | None = None
) -> AffineDynamicsClaim:
    """A claim that bounds the ideal error at one depth from below (theory T3.6).

    Along ``witness``, and along the functional of the depth's own relaxation where that is small;
    the better one is kept. Raises ``ProducerFailed`` when there is neither, or beyond the limits.
    """
    problem, norm = subject.affine_floor(bits)
    if depth < 1 or depth.bit_length() > 64 or discrete_work(problem, depth) > MAX_WORK:
        raise ProducerFailed(f"depth {depth} is out of range or takes too long to enclose")
    if growth(problem) > MAX_GROWTH:
        raise ProducerFailed("the state matrix is too large over the horizon to be enclosed")
    candidates = [] if witness is None else [witness]
    if depth * len(problem.atoms) <= MAX_EULER_COLUMNS and problem.dimension <= 600:
        with single_threaded():
            candidates.append(_of_depth(norm, FloatFlow(problem), depth))
    elif witness is None:
        candidates.append(produce(subject, bits).witness)
    best: AffineDynamicsClaim | None = None
    for candidate in [*candidates, ZERO]:
        lower = round_down(_lower_at_depth(problem, candidate, depth), END_BITS)
        if best is None or lower > best.lower:
            best = AffineDynamicsClaim(
                FORMAT, subject.problem_digest(bits), bits, depth, candidate, (), (), lower, None
            )  # fmt: skip
    if best is None:
        raise ProducerFailed("there is no functional to bound this depth with")
    return best


# --- proposals ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposal:
    """A functional with the arcs along it, and a control; ends as exact times."""

    functional: Functional
    dominant: tuple[DominantPiece, ...]
    control: tuple[ControlPiece, ...]


def _proportional(subject: Subject, bits: int) -> Proposal:
    """``A = rate I``, constant atoms: one mixture for all time (theory T7.1)."""
    problem, norm = subject.affine_floor(bits)
    gain, weight = _scalar_flow(problem.rate, problem.horizon)
    unit = 1 << TARGET_BITS
    target = []
    for y, z in zip(problem.target, problem.initial, strict=True):
        exact = (y - gain * z) / weight
        target.append((exact.numerator * unit * 2 + exact.denominator) // (2 * exact.denominator))
    exact_target = problem.rate == 0 and problem.horizon == 1
    if exact_target:
        unit = 1
        target = [y - z for y, z in zip(problem.target, problem.initial, strict=True)]
    lifted = LiftedProblem(
        atoms=tuple(tuple(unit * b for b in atom[0].coefficients[0]) for atom in problem.atoms),
        target=tuple(target),
        denominator=problem.denominator * unit,
        outputs=problem.dimension,
    )
    claim = AffineLPProducer(_Rescaled(subject, lifted, norm), bits).claim()
    functional = Functional(claim.dual, claim.dual_block_norms)
    control = (ControlPiece(problem.horizon, claim.primal),)
    return Proposal(functional, (DominantPiece(problem.horizon, 0),), control)


class _Rescaled(Subject):
    """A subject whose lifted problem is another one: proposals for T7.1's producer."""

    def __init__(self, subject: Subject, problem: LiftedProblem, norm: Norm) -> None:
        super().__init__(replace(subject.question, norm=norm), subject.store)
        self._problem = problem

    def lifted(self, bits: int) -> LiftedProblem:
        """The given problem, whatever the code."""
        return self._problem


def _scalar_flow(rate: Fraction, horizon: Fraction) -> tuple[Fraction, Fraction]:
    """About ``e^{aT}`` and ``int_0^T e^{as} ds``."""
    if rate == 0:
        return Fraction(1), horizon
    places = TARGET_BITS + 64 + (abs(rate) * horizon).denominator.bit_length()
    gain = Fraction(exponential(rate * horizon, places)[0], 1 << places)
    return gain, (gain - 1) / rate


def refined(norm: Norm, flow: FloatFlow) -> Proposal:
    """Rounds of programmes; the tightest functional and the tightest control of all rounds."""
    search = _Search(norm, flow)
    search.run()
    return search.proposal()


class _Search:
    """Functional by Newton's method, control by programmes on cells that close in on its arcs."""

    def __init__(self, norm: Norm, flow: FloatFlow) -> None:
        self.norm = norm
        self.flow = flow
        self.aim: Floats = flow.target - flow.free()
        self.point: Point | None = None
        self.upper = math.inf
        self.weights: Floats = np.zeros((0, flow.atoms))
        self.cuts: list[float] = []

    def run(self) -> None:
        """Until the gap is closed, or does not close any more."""
        cuts = self._with_breaks(np.linspace(0.0, self.flow.horizon, COARSE_CELLS + 1))
        size = float_norm(self.norm, self.aim) + float(np.abs(self.flow.target).max())
        stalled = 0
        for _ in range(ROUNDS):
            gap = self._gap()
            columns = self.flow.columns(cuts)
            mixture = solve_mixture(self.norm, columns, self.aim, np.diff(cuts))
            if mixture.value < self.upper:
                self.upper, self.weights, self.cuts = mixture.value, mixture.weights, cuts
            if self._gap() <= max(RELATIVE_GAP * self.upper, NOISE * size):
                return
            self._climb(mixture.functional)
            stalled = stalled + 1 if self._gap() > 0.5 * gap else 0
            if stalled == PATIENCE or self.point is None:
                return
            cuts = self._around(self.point.arcs)

    def _gap(self) -> float:
        return self.upper - (0.0 if self.point is None else self.point.value)

    def _climb(self, functional: Floats) -> None:
        """Newton's method from here; its arcs are a control as well."""
        point = climb(self.norm, self.flow, self.aim, functional, CLIMBED)
        if self.point is None or point.value > self.point.value:
            self.point = point
        pure = float_norm(self.norm, point.residual)
        if pure <= self.upper:
            self.upper = pure
            self.cuts = [0.0, *(arc.end for arc in point.arcs)]
            self.weights = np.eye(self.flow.atoms)[[arc.atom for arc in point.arcs]]

    def proposal(self) -> Proposal:
        """In exact numbers."""
        arcs = [Arc(self.flow.horizon, 0)] if self.point is None else self.point.arcs
        functional = ZERO
        if self.point is not None and self.point.value > 0:
            functional = rounded_functional(self.norm, self.point.functional)
        return Proposal(functional, self._dominant(arcs), self._control())

    def _with_breaks(self, times: Floats) -> list[float]:
        marks = sorted({*map(float, times), 0.0, self.flow.horizon, *self.flow.breaks})
        close = 1e-9 * self.flow.horizon
        fixed = {0.0, self.flow.horizon, *self.flow.breaks}
        kept = [0.0]
        for mark in marks[1:]:
            if mark - kept[-1] > close:
                kept.append(mark)
            elif mark in fixed:
                kept[-1] = mark
        return kept

    def _around(self, arcs: Sequence[Arc]) -> list[float]:
        """Cells ever shorter toward every switching time, on both sides of it."""
        times = list(np.linspace(0.0, self.flow.horizon, COARSE_CELLS // 2 + 1))
        for arc in arcs[:-1]:
            times.append(arc.end)
            for share in LADDER:
                times += [arc.end - share * self.flow.horizon, arc.end + share * self.flow.horizon]
        inside = [t for t in times if 0 <= t <= self.flow.horizon]
        return self._with_breaks(np.array(inside))

    def _dominant(self, arcs: Sequence[Arc]) -> tuple[DominantPiece, ...]:
        ends = exact_times([arc.end for arc in arcs], self.flow.problem)
        return tuple(
            DominantPiece(end, arc.atom)
            for end, arc in zip(ends, arcs, strict=True)
            if end is not None
        )

    def _control(self) -> tuple[ControlPiece, ...]:
        ends = exact_times(self.cuts[1:], self.flow.problem)
        pieces: list[ControlPiece] = []
        for end, weights in zip(ends, self.weights, strict=True):
            if end is None:
                continue
            piece = ControlPiece(end, simplex_point(weights))
            if pieces and pieces[-1].weights == piece.weights:
                pieces.pop()
            pieces.append(piece)
        return tuple(pieces)


def _of_depth(norm: Norm, flow: FloatFlow, depth: int) -> Functional:
    """The functional of the relaxation over mixtures a step."""
    free, columns = flow.euler_columns(depth)
    widths = np.full(depth, flow.horizon / depth)
    mixture = solve_mixture(norm, columns, flow.target - free, widths)
    return rounded_functional(norm, mixture.functional)


def exact_times(times: Sequence[float], problem: AffineProblem) -> list[Fraction | None]:
    """Short exact times, breaks and horizon as they are; ``None`` where one does not ascend."""
    known = {float(t): t for t in (*problem.breaks, problem.horizon)}
    found: list[Fraction | None] = []
    last = Fraction(0)
    for position, time in enumerate(times):
        exact = known.get(time, round_down(Fraction(time), TIME_BITS))
        if position == len(times) - 1:
            exact = problem.horizon
        if last < exact and (exact < problem.horizon or position == len(times) - 1):
            found.append(exact)
            last = exact
        else:
            found.append(None)
    return found


def simplex_point(weights: Floats) -> SparseVector:
    """Weights as an exact point of the simplex; those near 0 are dropped."""
    kept = np.where(weights > 1e-15, weights, 0.0)
    point = round_to_simplex(kept, WEIGHT_DENOMINATOR)
    return sparse_vector([(j, n) for j, n in enumerate(point.numerators) if n], point.denominator)


# --- exact ends --------------------------------------------------------------------------------


def _bracket(subject: Subject, bits: int, proposal: Proposal) -> AffineDynamicsClaim:
    problem, norm = subject.affine_floor(bits)
    claim = AffineDynamicsClaim(
        format=FORMAT,
        subject=subject.problem_digest(bits),
        code=bits,
        depth=None,
        witness=proposal.functional,
        dominant=proposal.dominant,
        control=proposal.control,
        lower=Fraction(0),
        upper=None,
    )
    lower = lower_end(problem, proposal.functional, proposal.dominant)
    if lower <= 0:
        whole = (DominantPiece(problem.horizon, 0),)
        claim, lower = replace(claim, witness=ZERO, dominant=whole), Fraction(0)
    upper = upper_end(norm, problem, proposal.control)
    return replace(claim, lower=_outward(lower, up=False), upper=_outward(upper, up=True))


def _outward(value: Fraction, *, up: bool) -> Fraction:
    if value.denominator.bit_length() <= END_BITS:
        return value
    return round_up(value, END_BITS) if up else round_down(value, END_BITS)


def lower_end(
    problem: AffineProblem, witness: Functional, dominant: Sequence[DominantPiece]
) -> Fraction:
    """``lambda . y`` less the upper enclosure of the support function."""
    vector = witness.vector
    sigma = support(
        problem,
        vector.indices,
        [n.numerator for n in vector.numerators],
        vector.denominator.numerator,
        [(piece.end, piece.atom) for piece in dominant],
    )
    return _aim(problem, witness) - sigma


def _lower_at_depth(problem: AffineProblem, witness: Functional, depth: int) -> Fraction:
    vector = witness.vector
    numerators = [n.numerator for n in vector.numerators]
    unit = vector.denominator.numerator
    return _aim(problem, witness) - discrete_support(
        problem, vector.indices, numerators, unit, depth
    )


def _aim(problem: AffineProblem, witness: Functional) -> Fraction:
    vector = witness.vector
    total = sum(
        n.numerator * problem.target[i]
        for i, n in zip(vector.indices, vector.numerators, strict=True)
    )
    return Fraction(total, vector.denominator.numerator * problem.denominator)


def upper_end(norm: Norm, problem: AffineProblem, control: Sequence[ControlPiece]) -> Fraction:
    """The norm of the target less the control's endpoint, enclosed upward."""
    pieces = []
    for piece in control:
        weights = [0] * len(problem.atoms)
        for j, n in zip(piece.weights.indices, piece.weights.numerators, strict=True):
            weights[j] = n.numerator
        pieces.append(affine_flow.Mixture(piece.end, weights, piece.weights.denominator.numerator))
    state = affine_flow.endpoint(problem, pieces)
    factor = state.denominator // problem.denominator
    offset = [z - factor * y for z, y in zip(state.centre, problem.target, strict=True)]
    centre = norm_bounds(norm, offset, state.denominator)[1]
    return centre + coordinate_radius(norm, problem.dimension, state.radius)

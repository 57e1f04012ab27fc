"""Producer of ``exposed_channel``: functionals that move by labels and a rate (theory T9.1, T9.2).

Such functionals are the left eigenvectors of A that see nothing else of the atoms, computed exactly
(``channel_spaces``). At an open depth the best one of each space is the dual of a nearest-point
problem; basis vectors serve targets inside the ends, where only gaps separate. A polynomial
coordinate that is off its label by a little on a tube is one too, with that as its defect. The
range of depths is then extended as far as the bound decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, Literal

import numpy as np

from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.functional import Functional
from qreplace.claims.region import BoxPart
from qreplace.errors import ProducerFailed
from qreplace.exact.affine_flow import MAX_GROWTH
from qreplace.exact.exposed_channel import (
    MAX_DEPTHS,
    MAX_LAST,
    MAX_SEARCH,
    Channel,
    closed_distance,
    least_distance,
    search_work,
    weight_sum,
)
from qreplace.exact.rational import round_down
from qreplace.produce.channel_spaces import (
    ChannelSpace,
    SharedRate,
    channel_spaces,
    nearly_exposed,
    of_affine,
    of_polynomial,
)
from qreplace.produce.functionals import sphere_scale, witness_of
from qreplace.produce.linear_program import Floats
from qreplace.produce.mixture_program import norm_weights
from qreplace.produce.threads import single_threaded
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import (
    BlockL2Norm,
    L2Norm,
    LinfNorm,
    Norm,
    PolynomialSystem,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size
from qreplace.question.subject import Subject

FORMAT: Literal["qreplace/claim/exposed_channel/v1"] = "qreplace/claim/exposed_channel/v1"
END_BITS = 120
WEIGHT_BITS = 40
VANISHING = 1e-9
SIMPLE = 1e-7
SIMPLE_DENOMINATOR = 1000
"""Weights this near to a fraction with a small denominator are taken for that fraction."""
MAX_BASIS = 64
"""Basis vectors of a space that are tried as they are."""
MAX_PROGRAM = 600
"""Largest state whose spaces are searched by a programme."""
EXTENDED = 4
"""The best candidates at a depth whose ranges are followed."""
GIVEN_UP = 6
"""After so many open depths in a row without a bound that decides no deeper one is tried."""
NONE = "no functional of the state moves by labels and one rate"


@dataclass(frozen=True)
class Candidate:
    """A functional with its channel, and by how much it may be off."""

    witness: Functional
    channel: Channel
    defect: Fraction = Fraction(0)
    tube: BoxPart | None = None

    def bound(self, depth: int, *, searched: bool) -> Fraction:
        """What the claim may state at a depth."""
        found = (least_distance if searched else closed_distance)(self.channel, depth)
        lost = self.defect * weight_sum(self.channel, depth) if self.defect else Fraction(0)
        return found - lost


@dataclass(frozen=True)
class Range:
    """A candidate with the depths that it decides, and its least bound over them."""

    candidate: Candidate
    first: int
    last: int
    searched: int
    lower: Fraction


def produce(
    subject: Subject, bits: int, depths: Sequence[int], exceeds: Fraction
) -> Iterator[ExposedChannelClaim]:
    """Claims with ``lower > exceeds`` that together cover what they can of ``depths``.

    Each is about a range without holes. Raises ``ProducerFailed`` when no functional serves at all.
    """
    finder = _Finder(subject, bits)
    covered, missed, found = 0, 0, False
    for depth in sorted(depths):
        if depth <= covered:
            continue
        best = finder.best(depth, max(depths), exceeds)
        if best is None:
            missed += 1
            if missed == GIVEN_UP:
                break
            continue
        covered, missed, found = best.last, 0, True
        yield _claim(subject, bits, best)
    if not found:
        raise ProducerFailed("no functional that moves by labels alone decides an open depth")


def applies(subject: Subject, bits: int) -> bool:
    """Whether some functional may move by labels and one rate alone, exactly or nearly."""
    try:
        shared, _, polynomial = _shared(subject, bits)
    except ProducerFailed:
        return False
    return polynomial is not None or bool(channel_spaces(shared))


class _Finder:
    """Candidates of one problem, asked about ascending depths.

    Those of a programme are found anew at each depth.
    """

    def __init__(self, subject: Subject, bits: int) -> None:
        self.shared, self.norm, polynomial = _shared(subject, bits)
        self.spaces = [
            space
            for space in channel_spaces(self.shared)
            if abs(space.rate) * self.shared.horizon <= MAX_GROWTH
        ]
        self.fixed = [
            self._exact(row, space) for space in self.spaces for row in self._basis(space)
        ]
        self.fixed = [one for one in self.fixed if one.witness.vector.indices]
        self.polynomial = polynomial
        self.near: list[Candidate] | None = None
        if not self.spaces and polynomial is None:
            raise ProducerFailed(NONE)

    def best(self, depth: int, last: int, exceeds: Fraction) -> Range | None:
        """The candidate whose bound decides the most depths from ``depth`` on; ``None`` if none."""
        candidates = [*self.fixed, *self._programmed(depth)]
        if self.polynomial is not None and self.near is None:
            # A box that holds the steps of a depth holds the shorter ones of deeper depths.
            self.near = list(self._tubes(self.polynomial, depth))
        candidates += self.near or []
        ranked = sorted(candidates, key=lambda one: one.bound(depth, searched=False), reverse=True)
        found: list[Range] = []
        for searched in (False, True):
            extended = (
                _extended(candidate, depth, last, exceeds, searched=searched)
                for candidate in ranked[:EXTENDED]
            )
            found.extend(one for one in extended if one is not None)
            if any(one.last == last for one in found):
                break  # a search would only cost time
        return max(found, key=lambda one: (one.last, not one.searched, one.lower), default=None)

    def _basis(self, space: ChannelSpace) -> list[list[Fraction]]:
        if space.rows is not None:
            return space.rows[:MAX_BASIS]
        size = len(self.shared.target)
        return [[Fraction(int(i == k)) for i in range(size)] for k in range(min(size, MAX_BASIS))]

    def _exact(self, row: list[Fraction], space: ChannelSpace) -> Candidate:
        scale = sphere_scale(self.norm, row)
        weights = [x / scale for x in row]
        return Candidate(witness_of(self.norm, weights), self.shared.channel(weights, space.rate))

    def _programmed(self, depth: int) -> Iterator[Candidate]:
        """The functional of each space that separates the target best from the channel's hull."""
        if len(self.shared.target) > MAX_PROGRAM:
            return
        for space in self.spaces:
            try:
                with single_threaded():
                    weights = _separating(self.norm, self.shared, space, depth)
            except ProducerFailed:
                continue
            row = _rounded(weights)
            if any(row):
                yield self._exact(_combined(row, space), space)

    def _tubes(self, problem: PolynomialProblem, depth: int) -> Iterator[Candidate]:
        for near in nearly_exposed(problem, depth):
            weights = [Fraction(int(i == near.coordinate)) for i in range(problem.dimension)]
            scale = sphere_scale(self.norm, weights)
            channel = Channel(
                near.rate,
                problem.initial[near.coordinate] / scale,
                tuple(label / scale for label in near.labels),
                problem.target[near.coordinate] / scale,
                problem.horizon,
            )
            witness = witness_of(self.norm, [w / scale for w in weights])
            yield Candidate(witness, channel, near.defect / scale, near.tube)


def _shared(subject: Subject, bits: int) -> tuple[SharedRate, Norm, PolynomialProblem | None]:
    if isinstance(subject.question.system, PolynomialSystem):
        problem = subject.polynomial(bits)
        return of_polynomial(problem), subject.question.norm, problem
    affine, norm = subject.affine_floor(bits)
    return of_affine(affine), norm, None


def _extended(
    candidate: Candidate, first: int, last: int, exceeds: Fraction, *, searched: bool
) -> Range | None:
    """The range from ``first`` on over which the bound decides; complete searches come first."""
    last = min(last, first + MAX_DEPTHS - 1, MAX_LAST)
    work, until, lower = 0, 0, None
    depth = first
    while depth <= last:
        if searched:
            work += search_work(candidate.channel, depth)
            searched = work <= MAX_SEARCH
        bound = candidate.bound(depth, searched=searched)
        if bound <= exceeds:
            break
        until = depth if searched else until
        lower = bound if lower is None else min(lower, bound)
        depth += 1
    if lower is None:
        return None
    short = round_down(lower, END_BITS) if lower.denominator.bit_length() > END_BITS else lower
    if short <= exceeds:
        return None
    return Range(candidate, first, depth - 1, until, short)


def _claim(subject: Subject, bits: int, best: Range) -> ExposedChannelClaim:
    one = best.candidate
    return ExposedChannelClaim(
        FORMAT,
        subject.problem_digest(bits),
        bits,
        best.first,
        best.last,
        best.searched,
        one.witness,
        one.channel.rate,
        one.channel.labels,
        one.defect,
        one.tube,
        best.lower,
    )


# --- the functional of a depth, in floats ---------------------------------------------------------


def _separating(norm: Norm, shared: SharedRate, space: ChannelSpace, depth: int) -> Floats:
    """Weights c of a space's rows: ``max c.aim - P max_j c.q_j + N min_j c.q_j`` in the dual ball.

    P and N are the sums of the positive and of the negative weights of the steps, so this is the
    distance of the target from the hull of what the depth reaches, seen from this space alone.
    """
    import cvxpy as cp

    r = 1 - float(space.rate * shared.horizon) / depth
    powers = float(shared.horizon) / depth * r ** np.arange(depth)
    above, below = float(powers[powers > 0].sum()), float(-powers[powers < 0].sum())
    moved = shared.constants_float
    aim = shared.target_float - r**depth * shared.initial_float
    rows = None
    if space.rows is not None:
        rows = np.array([[float(x) for x in row] for row in space.rows])
        rows = rows / np.abs(rows).max(axis=1, keepdims=True)
        moved, aim = moved @ rows.T, rows @ aim
    unit = max(float(np.abs(aim).max(initial=0.0)), float(np.abs(moved).max(initial=0.0)), 1e-300)
    c = cp.Variable(aim.size)
    functional = c if rows is None else rows.T @ c
    gain = c @ (aim / unit) - above * cp.max(moved / unit @ c)
    if below:
        gain += below * cp.min(moved / unit @ c)
    problem = cp.Problem(cp.Maximize(gain), [_dual_norm(norm, functional) <= 1])
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise ProducerFailed(f"the programme of a channel has no answer: {error}") from None
    if c.value is None or not np.isfinite(c.value).all():
        raise ProducerFailed(f"the programme of a channel is {problem.status}")
    return np.asarray(c.value, dtype=np.float64)


def _dual_norm(norm: Norm, functional: Any) -> Any:
    """The dual norm as a convex expression."""
    import cvxpy as cp

    if isinstance(norm, (L2Norm, BlockL2Norm)):
        size = functional.shape[0]
        block = block_size(norm, size)
        return sum(cp.norm(functional[k : k + block]) for k in range(0, size, block))
    scaled = cp.multiply(1.0 / norm_weights(norm, functional.shape[0]), functional)
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return cp.norm1(scaled)
    return cp.norm_inf(scaled)


def _rounded(weights: Floats) -> list[Fraction]:
    """Relative to the largest; simple fractions where they are near to them."""
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0:
        return []
    found = []
    for weight in weights / largest:
        exact = Fraction(float(weight)) if abs(weight) > VANISHING else Fraction(0)
        near = exact.limit_denominator(SIMPLE_DENOMINATOR)
        close = abs(near - exact) <= Fraction(SIMPLE)
        found.append(near if close else round_down(exact, WEIGHT_BITS))
    return found


def _combined(row: list[Fraction], space: ChannelSpace) -> list[Fraction]:
    """The functional that weights of a space's rows stand for."""
    if space.rows is None:
        return row
    sizes = [max(map(abs, one)) for one in space.rows]
    weights = [w / size for w, size in zip(row, sizes, strict=True)]
    return [sum(map(mul, weights, column), Fraction(0)) for column in zip(*space.rows, strict=True)]

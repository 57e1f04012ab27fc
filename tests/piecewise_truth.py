"""Errors that piecewise-affine maps, counts and controls really have: tests of certificates.

Every value is attained at some input, by some schedule, by some control, up to the rounding of
floats: a lower end above it is wrong, and so is an upper end of a map below it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
from dynamic_truth import float_norm
from numpy.typing import NDArray

from qreplace.check.bounds import ScopedBound
from qreplace.claims import Claim
from qreplace.claims.count_minimum import CountMinimumClaim
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.claims.pwa_supremum import PwaSupremumClaim, ScheduleMap
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.question.maps import Point, PwaMap, homogeneous, rational_point
from qreplace.question.model import FullDomain, Question
from qreplace.question.piecewise_problem import Field, PwaProblem
from qreplace.question.subject import Subject

Floats = NDArray[np.float64]

SAMPLES = 300
SCHEDULES = 2000
"""Most schedules of one depth that are tried."""
CONTROLS = 16
STEPS = 64
"""Runge-Kutta steps of a control."""


def attained(question: Question, claim: Claim, bound: ScopedBound) -> float:
    """An error that really occurs, of the quantity that a bound is about."""
    if isinstance(claim, CountMinimumClaim):
        return _counts(question, claim.depth)
    subject = Subject(question, {})
    problem = subject.piecewise(0)
    points = list(_inputs(problem, isinstance(question.domain, FullDomain)))
    if isinstance(claim, PwaSupremumClaim):
        shown = None if claim.point is None else homogeneous(claim.point)
        if bound.domain == "witnesses":
            points = list(problem.witnesses or ())
        if bound.side == "lower" and shown is not None:
            points.append(shown)
        return _largest(question, _map(problem, claim), problem.target, points)
    if isinstance(claim, ScheduleMinimumClaim):
        points = [*points, *_inside(problem, claim.points)]
        return _best_schedule(question, problem, claim.depth, points)
    assert isinstance(claim, NetFloorClaim)
    if claim.below is not None:
        points = [*points, *_inside(problem, claim.below.points)]
    return _best_control(question, problem, tuple(points))


def _map(problem: PwaProblem, claim: PwaSupremumClaim) -> PwaMap:
    if isinstance(claim.map, ScheduleMap):
        return problem.student(claim.map.schedule)
    assert problem.comparator is not None
    return problem.comparator


def _inside(problem: PwaProblem, points: Sequence[Sequence[Fraction]]) -> list[Point]:
    """Points of a claim that are inputs."""
    found = map(homogeneous, points)
    if problem.region is None:
        return [q for q in found if q in (problem.witnesses or ())]
    return [q for q in found if problem.region.contains(q)]


@cache
def _inputs(problem: PwaProblem, full: bool) -> tuple[Point, ...]:
    """The witnesses, or random and extreme points of the region."""
    region = problem.region
    if not full or region is None:
        return problem.witnesses or ()
    rng = random.Random(7)
    lower, upper = region.box
    found = [homogeneous(lower), homogeneous(upper)]
    for _ in range(SAMPLES):
        parts = [Fraction(rng.choice([0, 8, 16, rng.randint(0, 16)]), 16) for _ in lower]
        sides = zip(lower, upper, parts, strict=True)
        found.append(homogeneous([a + (b - a) * part for a, b, part in sides]))
    return tuple(q for q in dict.fromkeys(found) if region.contains(q))


def _largest(question: Question, one: PwaMap, other: PwaMap, points: Sequence[Point]) -> float:
    gaps = [[a - b for a, b in zip(one.value(q), other.value(q), strict=True)] for q in points]
    return float(max(float_norm(question.norm, np.array(gaps, dtype=float))))


def _best_schedule(
    question: Question, problem: PwaProblem, depth: int, points: Sequence[Point]
) -> float:
    atoms = len(problem.fields)
    every = itertools.islice(itertools.product(range(atoms), repeat=depth), SCHEDULES)
    targets = np.array([problem.target.value(q) for q in points], dtype=float)
    best = float("inf")
    for schedule in every:
        student = problem.student(schedule)
        values = np.array([student.value(q) for q in points], dtype=float)
        best = min(best, max(float_norm(question.norm, values - targets)))
    return best


def _counts(question: Question, depth: int) -> float:
    """The least error of counts; for many of them, of some."""
    problem = Subject(question, {}).lifted(0)
    atoms = np.array(problem.atoms, dtype=float) / problem.denominator
    target = np.array(problem.target, dtype=float) / problem.denominator
    size = len(problem.atoms)
    shares: Iterator[Sequence[float]]
    if comb(depth + size - 1, size - 1) <= 5000:
        shares = ([n / depth for n in counts] for counts in _compositions(depth, size))
    else:
        shares = _rounded(depth, size)
    gaps = np.array([np.array(share) @ atoms - target for share in shares])
    return float(min(float_norm(question.norm, gaps)))


def _compositions(total: int, size: int) -> Iterator[tuple[int, ...]]:
    if size == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, size - 1):
            yield (first, *rest)


def _rounded(depth: int, size: int) -> Iterator[list[float]]:
    """Even shares of every part of the atoms, brought to counts."""
    for k in range(1, size + 1):
        for chosen in itertools.combinations(range(size), k):
            counts = [depth // k if j in chosen else 0 for j in range(size)]
            counts[chosen[0]] += depth - sum(counts)
            yield [n / depth for n in counts]


@cache
def _best_control(question: Question, problem: PwaProblem, points: tuple[Point, ...]) -> float:
    """The least, over some piecewise-constant controls, of the largest error at the points."""
    rng = np.random.default_rng(11)
    fields = [_floats(field) for field in problem.fields]
    inputs = np.array([rational_point(q) for q in points], dtype=float)
    targets = np.array([problem.target.value(q) for q in points], dtype=float)
    best = float("inf")
    for _ in range(CONTROLS):
        pieces = int(rng.integers(1, 5))
        control = rng.dirichlet([0.4] * len(fields), pieces)
        reached = _endpoint(problem, fields, inputs, control)
        best = min(best, float(max(float_norm(question.norm, reached - targets))))
    return best


def _endpoint(
    problem: PwaProblem, fields: Sequence[dict[str, Floats]], inputs: Floats, control: Floats
) -> Floats:
    start = np.array(problem.initial, dtype=float) / problem.initial_unit
    z = np.tile(start, (len(inputs), 1))
    h = float(problem.horizon) / (len(control) * STEPS)

    def speed(z: Floats, weights: Floats) -> Floats:
        slopes = [w * _field(f, z, inputs) for w, f in zip(weights, fields, strict=True)]
        return np.asarray(sum(slopes))

    for weights in control:
        for _ in range(STEPS):
            a = speed(z, weights)
            b = speed(z + h / 2 * a, weights)
            c = speed(z + h / 2 * b, weights)
            z = z + h / 6 * (a + 2 * b + 2 * c + speed(z + h * c, weights))
    return z


def _floats(field: Field) -> dict[str, Floats]:
    def over(numbers: Sequence[Sequence[int]] | Sequence[int], unit: int) -> Floats:
        return np.array(numbers, dtype=float) / unit

    return {
        "W": over(field.input_weights, field.inner),
        "S": over(field.state_weights, field.inner),
        "b": over(field.bias, field.inner),
        "levels": over(field.thresholds or (0,) * len(field.bias), field.inner),
        "V": over(field.output, field.outer),
        "D": over(field.drift, field.outer),
        "c": over(field.offset, field.outer),
        "relu": np.array(field.atom.activation == "relu", dtype=float),
    }


def _field(f: dict[str, Floats], z: Floats, inputs: Floats) -> Floats:
    u = inputs @ f["W"].T + z @ f["S"].T + f["b"]
    bent = np.sign(u) * np.maximum(abs(u) - f["levels"], 0)
    u = np.maximum(u, 0) if f["relu"] else bent
    return np.asarray(u @ f["V"].T + z @ f["D"].T + f["c"])

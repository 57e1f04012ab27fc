"""Producer of ``observable`` (theory T7.7).

The functionals that all atoms move alike form a linear space, which is computed exactly. Among
those of dual norm 1 the one farthest from the target is the multiplier of a nearest-point problem;
its float weights on the exact rows are rounded, so that the identity stays exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import numpy as np

from qreplace.claims.observable import ObservableClaim
from qreplace.errors import ProducerFailed
from qreplace.exact.affine_flow import MAX_GROWTH, MAX_WORK, discrete_work, growth, work
from qreplace.exact.observables import (
    DriftPiece,
    ObservableFlow,
    combined_endpoint,
    observable_flow,
)
from qreplace.exact.rational import round_down
from qreplace.produce.common_functionals import (
    NONE,
    CommonDynamics,
    Invariant,
    invariant_functionals,
    of_affine,
    of_polynomial,
    single,
)
from qreplace.produce.functionals import sphere_scale, witness_of
from qreplace.produce.linear_program import Floats
from qreplace.produce.switching import nearest_shift
from qreplace.produce.threads import single_threaded
from qreplace.question.model import Norm, PolynomialSystem
from qreplace.question.subject import Subject

END_BITS = 120
WEIGHT_BITS = 60
VANISHING = 1e-9
"""Weights this much below the largest are rounding errors of the solver."""
SIMPLE = 1e-7
SIMPLE_DENOMINATOR = 1000
"""Weights this near to a fraction with a small denominator are tried as that fraction."""

Rows = list[list[Fraction]]
Dynamics = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Observables:
    """Functionals ``O`` (m, q), exact, with ``O G_j = a(t) + M O z`` for every atom."""

    rows: Rows
    dynamics: Dynamics
    drift: list[DriftPiece]
    initial: list[Fraction]
    target: list[Fraction]
    horizon: Fraction

    def flow(self) -> ObservableFlow:
        """Their dynamics."""
        return observable_flow(self.dynamics, self.drift, self.initial, self.horizon)


def search(subject: Subject, bits: int) -> Observables:
    """Every functional that all atoms move alike, as a basis.

    Where ``A = rate I`` only the functional that misses the target most is returned: any other one
    would do as well. Raises ``ProducerFailed`` when the atoms share no observable.
    """
    common, norm = _common(subject, bits)
    return _seen(common, _invariant(norm, common, None, True))


def produce(subject: Subject, bits: int, depth: int | None = None) -> ObservableClaim:
    """The claim of the observable that misses the target most, for E_inf or one depth.

    Weights are tried as simple fractions as well, which they often are. Raises ``ProducerFailed``
    when the atoms share no observable, or beyond the limits.
    """
    common, norm = _common(subject, bits)
    best: ObservableClaim | None = None
    failure = ProducerFailed(NONE)
    for simple in (True, False):
        try:
            claim = _claim(subject, bits, common, norm, depth, simple)
        except ProducerFailed as error:
            failure = error
            continue
        if best is None or claim.lower > best.lower:
            best = claim
    if best is None:
        raise failure
    return best


def _claim(
    subject: Subject, bits: int, common: CommonDynamics, norm: Norm, depth: int | None, simple: bool
) -> ObservableClaim:
    seen = _seen(common, _invariant(norm, common, depth, simple))
    flow = seen.flow()
    if growth(flow) > MAX_GROWTH or work(flow, 1) > MAX_WORK:
        raise ProducerFailed("the observables move too fast over the horizon to be enclosed")
    if depth is not None and (depth < 1 or discrete_work(flow, depth) > MAX_WORK):
        raise ProducerFailed(f"depth {depth} is out of range or takes too long to enclose")
    combination = _best_combination(norm, seen, flow, depth, simple)
    weights = [
        sum(map(mul, combination, column), Fraction(0)) for column in zip(*seen.rows, strict=True)
    ]
    scale = sphere_scale(norm, weights)
    weights = [w / scale for w in weights]
    combination = [c / scale for c in combination]
    low, high = combined_endpoint(flow, combination, depth)
    aim = _dot(weights, common.target)
    distance = max(aim - high, low - aim, Fraction(0))
    if distance.denominator.bit_length() > END_BITS:
        distance = round_down(distance, END_BITS)
    return ObservableClaim(
        format="qreplace/claim/observable/v1",
        subject=subject.problem_digest(bits),
        code=bits,
        depth=depth,
        rows=tuple(map(tuple, seen.rows)),
        dynamics=seen.dynamics,
        combination=tuple(combination),
        witness=witness_of(norm, weights),
        lower=distance,
    )


def _common(subject: Subject, bits: int) -> tuple[CommonDynamics, Norm]:
    """What the atoms share, and the norm of the floor."""
    if isinstance(subject.question.system, PolynomialSystem):
        return of_polynomial(subject.polynomial(bits)), subject.question.norm
    problem, norm = subject.affine_floor(bits)
    return of_affine(problem), norm


def _invariant(norm: Norm, common: CommonDynamics, depth: int | None, simple: bool) -> Invariant:
    if common.matrix is None:
        return single(_scalar_row(norm, common, depth, simple), common.rate)
    return invariant_functionals(common)


def _seen(common: CommonDynamics, invariant: Invariant) -> Observables:
    rows = invariant.rows
    drift = [
        DriftPiece(
            piece.start,
            piece.end,
            tuple(tuple(_dot(row, vector) for row in rows) for vector in piece.coefficients),
        )
        for piece in common.drift
    ]
    return Observables(
        rows,
        tuple(map(tuple, invariant.dynamics)),
        drift,
        [_dot(row, common.initial) for row in rows],
        [_dot(row, common.target) for row in rows],
        common.horizon,
    )


def _dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True) if a and b), Fraction(0))


# --- the best combination of rows --------------------------------------------------------------


def _best_combination(
    norm: Norm, seen: Observables, flow: ObservableFlow, depth: int | None, simple: bool
) -> list[Fraction]:
    """Weights of the rows, rounded; 1 where there is only one row."""
    count = len(seen.rows)
    if count == 1:
        return [Fraction(1)]
    ends = []
    for r in range(count):
        unit = [Fraction(int(r == s)) for s in range(count)]
        ends.append(combined_endpoint(flow, unit, depth)[0])
    misses = np.array([float(y - w) for y, w in zip(seen.target, ends, strict=True)])
    rows = np.array([[float(x) for x in row] for row in seen.rows])
    if not misses.any():
        return [Fraction(int(r == 0)) for r in range(count)]
    # Any vector with these misses will do: the functional sees nothing else of it.
    offset = np.linalg.lstsq(rows, misses, rcond=None)[0]
    across = np.linalg.svd(rows)[2][count:].T
    with single_threaded():
        functional = nearest_shift(norm, across, np.zeros(across.shape[1]), offset)[1]
    weights = np.linalg.lstsq(rows.T, functional, rcond=None)[0]
    return _rounded(weights, simple)


def _rounded(weights: Floats, simple: bool) -> list[Fraction]:
    """Relative to the largest; as simple fractions where they are near to them and meant so."""
    largest = float(np.abs(weights).max(initial=0.0))
    if not 0 < largest < math.inf:
        return [Fraction(int(i == 0)) for i in range(weights.size)]
    found = []
    for weight in weights / largest:
        exact = Fraction(float(weight)) if abs(weight) > VANISHING else Fraction(0)
        near = exact.limit_denominator(SIMPLE_DENOMINATOR)
        if simple and abs(near - exact) <= Fraction(SIMPLE):
            found.append(near)
        else:
            found.append(round_down(exact, WEIGHT_BITS))
    return found


# --- dynamics of one rate ----------------------------------------------------------------------


def _scalar_row(
    norm: Norm, common: CommonDynamics, depth: int | None, simple: bool
) -> list[Fraction]:
    """``A = rate I``: one functional on which the atoms agree, made exact on pivot coordinates."""
    offset = _scalar_miss(common, depth)
    if not common.differences:
        with single_threaded():
            nothing = np.zeros((offset.size, 0))
            functional = nearest_shift(norm, nothing, np.zeros(0), offset)[1]
        return _exactly(functional, [], simple)
    rows = np.array([[float(x) for x in row] for row in common.differences])
    across = np.linalg.svd(rows, full_matrices=False)
    rank = int((across[1] > 1e-12 * across[1].max()).sum())
    if rank == offset.size:
        raise ProducerFailed(NONE)
    with single_threaded():
        functional = nearest_shift(norm, across[2][:rank].T, np.zeros(rank), offset)[1]
    return _exactly(functional, common.differences, simple)


def _exactly(functional: Floats, differences: Rows, simple: bool) -> list[Fraction]:
    """Rounded, then corrected on as many coordinates as there are independent differences."""
    import flint
    from scipy.linalg import qr

    largest = float(np.abs(functional).max(initial=0.0))
    if not 0 < largest < math.inf:
        raise ProducerFailed(NONE)
    kept = np.where(np.abs(functional) > VANISHING * largest, functional / largest, 0.0)
    exact = _rounded(kept, simple)
    if not differences:
        return exact
    support = np.flatnonzero(kept)
    matrix = np.array([[float(row[i]) for i in support] for row in differences])
    # Correct where the functional is large, so that no entry leaves the ball by much.
    pivots, rank = qr(matrix * np.abs(kept[support]), mode="r", pivoting=True), 0
    diagonal = np.abs(np.diag(pivots[0]))
    rank = int((diagonal > 1e-10 * diagonal.max(initial=0.0)).sum()) if diagonal.size else 0
    chosen = [int(support[i]) for i in pivots[1][:rank]]
    rows, rank_exact = flint.fmpq_mat(
        [[flint.fmpq(x.numerator, x.denominator) for x in row] for row in (
            [*[row[i] for i in chosen], -sum(
                (row[i] * exact[i] for i in map(int, support) if i not in set(chosen)),
                Fraction(0))]
            for row in differences)]
    ).rref()  # fmt: skip
    if rank_exact != rank or any(rows[r, r] != 1 for r in range(rank)):
        raise ProducerFailed(NONE)
    for r, i in enumerate(chosen):
        value = rows[r, rank]
        exact[i] = Fraction(int(value.p), int(value.q))
    return exact


def _scalar_miss(common: CommonDynamics, depth: int | None) -> Floats:
    """About the target less the endpoint of the first atom."""
    horizon, rate = float(common.horizon), float(common.rate)
    drift = [
        (float(p.start), float(p.end), np.array([[float(x) for x in r] for r in p.coefficients]))
        for p in common.drift
    ]
    steps = 4096 if depth is None else min(depth, 4096)
    step = horizon / steps
    factor = math.exp(rate * step) if depth is None else 1 + rate * step
    gain = math.expm1(rate * step) / rate if depth is None and rate else step
    state = np.array([float(x) for x in common.initial])
    for k in range(steps):
        time = k * step + (step / 2 if depth is None else 0.0)
        rows = next(r for start, end, r in drift if time < end or end == horizon)
        state = factor * state + gain * (time ** np.arange(len(rows)) @ rows)
    return np.asarray(np.array([float(x) for x in common.target]) - state, dtype=np.float64)

"""Newton's method on switching times, in floats (theory T7.2).

Along a functional lambda the best control is one atom after the other. The support function h is
twice differentiable there: its gradient is the endpoint, its Hessian is ``sum v v^T / slope`` over
the switching times, ``v = e^{A (T - t)} (b_new - b_old)`` and ``slope`` the rate at which the new
atom overtakes the old one. So ``max lambda . d - h(lambda)`` over the dual unit ball is approached
by quadratic models; a model's own maximum is a small cone programme in the shifts of the switching
times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.float_flow import Arc, FloatFlow
from qreplace.produce.linear_program import Floats
from qreplace.produce.mixture_program import (
    float_dual_norm,
    float_norm,
    norm_weights,
    solve_cones,
)
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size

STEPS = 40
HALVINGS = 12
ACTIVE = 1e-6
"""Rows this close to the largest, relative to it, are taken for active."""


@dataclass(frozen=True)
class Point:
    """A functional with its arcs: value ``lambda . d - h(lambda)``, residual ``d - endpoint``."""

    functional: Floats
    arcs: list[Arc]
    residual: Floats
    value: float
    jumps: Floats
    """``v`` of every switching time, shape (q, switches)."""
    slopes: Floats


def evaluate(flow: FloatFlow, aim: Floats, functional: Floats) -> Point:
    """The arcs along a functional and what they reach."""
    arcs = flow.arcs(functional)
    reached, jumps, slopes = flow.along(functional, arcs)
    residual = aim - reached
    return Point(functional, arcs, residual, float(functional @ residual), jumps, slopes)


def climb(norm: Norm, flow: FloatFlow, aim: Floats, start: Floats, tolerance: float) -> Point:
    """From a functional to a better one, until a step gains less than ``tolerance``."""
    point = evaluate(flow, aim, start)
    for _ in range(STEPS):
        try:
            proposal = _model_maximum(norm, point)
        except ProducerFailed:
            return point
        best = _along(norm, flow, aim, point, proposal)
        if best is None:
            return point
        gain = best.value - point.value
        point = best
        if gain <= tolerance * max(abs(point.value), 1e-300):
            return point
    return point


def _along(
    norm: Norm, flow: FloatFlow, aim: Floats, point: Point, proposal: Floats
) -> Point | None:
    """The first better point on the way from the proposal back; ``None`` when there is none."""
    share = 1.0
    for _ in range(HALVINGS):
        functional = point.functional + share * (proposal - point.functional)
        size = float_dual_norm(norm, functional)
        if size == 0.0:
            return None
        candidate = evaluate(flow, aim, functional / max(size, 1.0))
        if candidate.value > point.value:
            return candidate
        share /= 2 if share > 0.2 else 4
    return None


def _model_maximum(norm: Norm, point: Point) -> Floats:
    """``argmax mu . c - mu^T H mu / 2`` in the dual ball; its dual is that of ``nearest_shift``."""
    jumps, slopes = point.jumps, point.slopes
    centre = point.residual
    if slopes.size:
        centre = centre + jumps @ ((jumps.T @ point.functional) / slopes)
    shifts, functional = nearest_shift(norm, jumps, slopes, centre)
    residual = centre - jumps @ shifts
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        sizes = np.abs(residual) * norm_weights(norm, residual.size)
        functional = np.where(sizes >= (1 - ACTIVE) * sizes.max(), functional, 0.0)
        functional = np.where(functional * residual > 0, functional, 0.0)
    elif isinstance(norm, (BlockL2Norm, L2Norm)):
        functional = _directions(residual, functional, block_size(norm, residual.size))
    size = float_dual_norm(norm, functional)
    if not 0 < size < np.inf:
        raise ProducerFailed("the model's maximum is 0")
    return np.asarray(functional / size)


def _directions(residual: Floats, functional: Floats, block: int) -> Floats:
    """In every block the direction of the residual, as long as the functional there."""
    parts = residual.reshape(-1, block)
    sizes = np.linalg.norm(parts, axis=1)
    lengths = np.linalg.norm(functional.reshape(-1, block), axis=1)
    active = sizes >= (1 - ACTIVE) * sizes.max()
    lengths = np.where(active, lengths, 0.0)
    units = parts / np.where(sizes > 0, sizes, 1.0)[:, None]
    return np.asarray((units * lengths[:, None]).reshape(-1))


def nearest_shift(
    norm: Norm, jumps: Floats, slopes: Floats, centre: Floats
) -> tuple[Floats, Floats]:
    """``min E + s^T D s / 2`` with ``||centre - V s|| <= E``, and the multiplier of the norm."""
    import clarabel
    from scipy import sparse

    dimension, count = jumps.shape
    unit = max(float_norm(norm, centre), 1e-300)
    # Variables: shifts, E, and for sum norms one bound a coordinate.
    summed = isinstance(norm, (L1Norm, WeightedL1Norm))
    width = count + 1 + (dimension if summed else 0)
    matrix = np.zeros((dimension, width))
    matrix[:, :count] = jumps / unit
    goal = centre / unit
    weights = norm_weights(norm, dimension)
    rows: list[Any] = []
    rhs: list[Floats] = []
    cones: list[Any] = []
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        block = block_size(norm, dimension)
        head = np.zeros((1, width))
        head[0, count] = -1.0
        for k in range(dimension // block):
            part = slice(k * block, (k + 1) * block)
            rows += [head, matrix[part]]
            rhs += [np.zeros(1), goal[part]]
            cones.append(clarabel.SecondOrderConeT(block + 1))
    else:
        bound = np.zeros((dimension, width))
        if summed:
            bound[:, count + 1 :] = np.eye(dimension)
            total = np.zeros((1, width))
            total[0, count] = -1.0
            total[0, count + 1 :] = weights
            rows.append(total)
            rhs.append(np.zeros(1))
            cones.append(clarabel.NonnegativeConeT(1))
        else:
            bound[:, count] = 1.0 / weights
        rows += [matrix - bound, -matrix - bound]
        rhs += [goal, -goal]
        cones.append(clarabel.NonnegativeConeT(2 * dimension))
    cost = np.zeros(width)
    cost[count] = 1.0
    quadratic = np.zeros(width)
    quadratic[:count] = slopes / unit
    values, duals = solve_cones(
        sparse.diags(quadratic), cost, sparse.csc_matrix(np.vstack(rows)), rhs, cones
    )
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        block = block_size(norm, dimension)
        functional = -duals.reshape(-1, block + 1)[:, 1:].reshape(-1)
    else:
        pairs = duals[1:] if summed else duals
        functional = pairs[dimension:] - pairs[:dimension]
    return values[:count], functional

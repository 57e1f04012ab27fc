"""The nearest point of a sum of polytopes: the convex subproblem of control proposals, in floats.

Cell ``k`` contributes a mixture of its columns ``effects[:, k, :]``; the sum of all contributions
and an offset shall have the smallest norm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.produce.linear_program import Floats
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)

MAX_ROUNDS = 500
RELATIVE_GAP = 1e-14


def nearest_mixture(norm: Norm, offset: Floats, effects: Floats) -> Floats:
    """Weights (cells, atoms), each row in the simplex, that make ``offset + effects w`` small.

    ``offset`` has shape (n,), ``effects`` (n, cells, atoms). Raises ``ProducerFailed`` when a
    solver gives no answer.
    """
    if isinstance(norm, L2Norm):
        return _least_squares(offset, effects)
    if isinstance(norm, BlockL2Norm):
        return _largest_block(norm.block, offset, effects)
    return _linear(norm, offset, effects)


def float_norms(norm: Norm, vectors: Floats) -> Floats:
    """The norm of every row of ``vectors`` (.., n)."""
    sizes = np.abs(vectors)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        sizes = sizes * _weights(norm, sizes.shape[-1])
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return np.asarray(sizes.max(axis=-1))
    if isinstance(norm, (L1Norm, WeightedL1Norm)):
        return np.asarray(sizes.sum(axis=-1))
    block = norm.block if isinstance(norm, BlockL2Norm) else sizes.shape[-1]
    blocks = sizes.reshape(*sizes.shape[:-1], -1, block)
    return np.asarray(np.sqrt((blocks**2).sum(axis=-1)).max(axis=-1))


def _weights(norm: Norm, size: int) -> Floats:
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        return np.array([float(weight) for weight in norm.weights])
    return np.ones(size)


# --- l2 -------------------------------------------------------------------------------------------


def _least_squares(offset: Floats, effects: Floats) -> Floats:
    """Wolfe's minimum-norm point of the polytope, with one vertex a cell and direction."""
    cells = np.arange(effects.shape[1])

    def vertex(direction: Floats) -> tuple[Floats, NDArray[np.intp]]:
        chosen = np.tensordot(direction, effects, axes=1).argmin(axis=1)
        return offset + effects[:, cells, chosen].sum(axis=1), chosen

    point, chosen = vertex(offset)
    corral, choices, weights = [point], [chosen], np.ones(1)
    for _ in range(MAX_ROUNDS):
        new, chosen = vertex(point)
        scale = max(float(np.abs(p).max()) for p in (*corral, new)) ** 2
        if point @ point - point @ new <= RELATIVE_GAP * scale:
            break
        if any((chosen == other).all() for other in choices):
            break
        corral.append(new)
        choices.append(chosen)
        weights = np.append(weights, 0.0)
        corral, choices, weights = _inner_rounds(corral, choices, weights)
        point = weights @ np.array(corral)
    mixture = np.zeros(effects.shape[1:])
    for chosen, weight in zip(choices, weights, strict=True):
        mixture[cells, chosen] += weight
    return mixture


def _inner_rounds(
    corral: list[Floats], choices: list[NDArray[np.intp]], weights: Floats
) -> tuple[list[Floats], list[NDArray[np.intp]], Floats]:
    """Move to the nearest point of the affine hull, dropping vertices on the way."""
    while True:
        affine = _affine_minimiser(np.array(corral))
        if (affine > 1e-14).all():
            return corral, choices, affine
        falling = affine <= 1e-14
        ratios = weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)
        share = min(1.0, float(ratios.min()))
        weights = (1 - share) * weights + share * affine
        weights[falling & (weights <= 1e-14)] = 0.0
        if (weights[falling] > 0).all():
            weights[np.flatnonzero(falling)[int(ratios.argmin())]] = 0.0
        kept = np.flatnonzero(weights > 0)
        corral = [corral[i] for i in kept]
        choices = [choices[i] for i in kept]
        weights = weights[kept] / weights[kept].sum()


def _affine_minimiser(points: Floats) -> Floats:
    """Weights of sum 1 whose combination of the rows has the smallest l2 norm."""
    edges = (points[1:] - points[0]).T
    if not edges.shape[1]:
        return np.ones(1)
    rest, *_ = np.linalg.lstsq(edges, -points[0], rcond=None)
    return np.concatenate([[1 - rest.sum()], rest])


# --- linear norms ---------------------------------------------------------------------------------


def _linear(norm: Norm, offset: Floats, effects: Floats) -> Floats:
    """HiGHS: one bound for the maximum norms, one bound a coordinate for the sums."""
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, csr_matrix, hstack, vstack

    size, cells, count = effects.shape
    weights = _weights(norm, size)
    flat = csr_matrix(effects.reshape(size, -1) * weights[:, None])
    aim = offset * weights
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        bound = csr_matrix(np.ones((size, 1)))
    else:
        bound = csr_matrix(np.eye(size))
    extra = bound.shape[1]
    answer = linprog(
        np.concatenate([np.zeros(cells * count), np.ones(extra)]),
        A_ub=vstack([hstack([flat, -bound]), hstack([-flat, -bound])]).tocsr(),
        b_ub=np.concatenate([-aim, aim]),
        A_eq=hstack(
            [block_diag([np.ones((1, count))] * cells), csr_matrix((cells, extra))]
        ).tocsr(),
        b_eq=np.ones(cells),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if answer.x is None:
        raise ProducerFailed(f"the linear programme of a control has no answer: {answer.message}")
    return _on_simplices(answer.x[: cells * count].reshape(cells, count))


# --- block l2 -------------------------------------------------------------------------------------


def _largest_block(block: int, offset: Floats, effects: Floats) -> Floats:
    """Clarabel through cvxpy: the largest l2 norm of a block."""
    import cvxpy as cp

    size, cells, count = effects.shape
    mixture = cp.Variable((cells, count), nonneg=True)
    flat = cp.reshape(mixture, (cells * count,), order="C")
    residual = effects.reshape(size, -1) @ flat + offset
    bound = cp.Variable()
    limits = [cp.norm(residual[i : i + block]) <= bound for i in range(0, size, block)]
    problem = cp.Problem(cp.Minimize(bound), [*limits, cp.sum(mixture, axis=1) == 1])
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise ProducerFailed(f"the cone programme of a control has no answer: {error}") from None
    if mixture.value is None:
        raise ProducerFailed(f"the cone programme of a control is {problem.status}")
    return _on_simplices(np.asarray(mixture.value))


def _on_simplices(mixture: Floats) -> Floats:
    """Round-off removed: no negative weights, rows of sum 1."""
    positive = np.maximum(mixture, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))

"""``min || sum_c C_c alpha_c - d ||`` over one simplex a cell, in floats (theory T7.2).

Linear norms are programmes of HiGHS, l2 and block l2 cone programmes of Clarabel. Nothing certified
is read from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.produce.linear_program import Floats, LinearProgram, solve
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

CONE_TOLERANCE = 1e-13
CONE_ITERATIONS = 120


@dataclass(frozen=True)
class Mixture:
    """Weights (cells, J), a functional (q,) of dual norm about 1, and the float distance."""

    weights: Floats
    functional: Floats
    value: float


def norm_weights(norm: Norm, dimension: int) -> Floats:
    """The weight of every coordinate; ones for a norm without weights."""
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        return np.array([float(w) for w in norm.weights])
    return np.ones(dimension)


def float_norm(norm: Norm, vector: Floats) -> float:
    """The norm in floats."""
    sizes = np.abs(vector) * norm_weights(norm, vector.size)
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return float(sizes.max(initial=0.0))
    if isinstance(norm, (L1Norm, WeightedL1Norm)):
        return float(sizes.sum())
    block = block_size(norm, vector.size)
    return float(np.linalg.norm(vector.reshape(-1, block), axis=1).max(initial=0.0))


def float_dual_norm(norm: Norm, vector: Floats) -> float:
    """The dual norm in floats."""
    sizes = np.abs(vector) / norm_weights(norm, vector.size)
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return float(sizes.sum())
    if isinstance(norm, (L1Norm, WeightedL1Norm)):
        return float(sizes.max(initial=0.0))
    block = block_size(norm, vector.size)
    return float(np.linalg.norm(vector.reshape(-1, block), axis=1).sum())


def solve_mixture(norm: Norm, columns: Floats, aim: Floats, widths: Floats) -> Mixture:
    """The nearest mixture to ``aim``; ``columns`` have shape (q, cells, J).

    ``widths`` (cells,) scale each cell's columns, which shrink with it. Raises ``ProducerFailed``
    when the solver finds no optimum.
    """
    dimension, cells, atoms = columns.shape
    scaled = (columns / widths[None, :, None]).reshape(dimension, cells * atoms)
    unit = max(float(np.abs(columns).max(initial=0.0)), float(np.abs(aim).max(initial=0.0)), 1e-300)
    unit = max(unit, float(np.abs(scaled).max(initial=0.0)) * float(widths.max()))
    if isinstance(norm, (BlockL2Norm, L2Norm)):
        block = block_size(norm, dimension)
        raw, functional = _cone(scaled / unit, aim / unit, widths, block)
    elif isinstance(norm, (L1Norm, WeightedL1Norm)):
        raw, functional = _sum_norm(scaled / unit, aim / unit, widths, norm)
    else:
        raw, functional = _maximum_norm(scaled / unit, aim / unit, widths, norm)
    weights = np.maximum(raw.reshape(cells, atoms), 0.0)
    sums = weights.sum(axis=1, keepdims=True)
    weights = np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), 1.0 / atoms)
    size = float_dual_norm(norm, functional)
    if size > 0:
        functional = functional / max(size, 1e-300)
    reached = np.einsum("qcj,cj->q", columns, weights)
    return Mixture(
        np.asarray(weights, dtype=np.float64), functional, float_norm(norm, reached - aim)
    )


def _groups(cells: int, atoms: int) -> Floats:
    return np.asarray(np.kron(np.eye(cells), np.ones(atoms)), dtype=np.float64)


def _maximum_norm(
    columns: Floats, aim: Floats, widths: Floats, norm: Norm
) -> tuple[Floats, Floats]:
    dimension, count = columns.shape
    cells = widths.size
    slack = -(1.0 / norm_weights(norm, dimension))[:, None]
    top = np.hstack([columns, slack])
    bottom = np.hstack([-columns, slack])
    groups = np.hstack([_groups(cells, count // cells), np.zeros((cells, 1))])
    infinite = np.full(2 * dimension, -np.inf)
    solution = solve(
        LinearProgram(
            cost=np.append(np.zeros(count), 1.0),
            matrix=np.vstack([top, bottom, groups]),
            row_lower=np.concatenate([infinite, widths]),
            row_upper=np.concatenate([aim, -aim, widths]),
            lower=np.append(np.zeros(count), 0.0),
        ),
        tolerance=1e-10,
    )
    duals = solution.row_duals
    return solution.values[:count], duals[:dimension] - duals[dimension : 2 * dimension]


def _sum_norm(columns: Floats, aim: Floats, widths: Floats, norm: Norm) -> tuple[Floats, Floats]:
    dimension, count = columns.shape
    cells = widths.size
    identity = np.eye(dimension)
    scale = norm_weights(norm, dimension)
    top = np.hstack([columns, identity, -identity])
    groups = np.hstack([_groups(cells, count // cells), np.zeros((cells, 2 * dimension))])
    rhs = np.concatenate([aim, widths])
    solution = solve(
        LinearProgram(
            cost=np.concatenate([np.zeros(count), scale, scale]),
            matrix=np.vstack([top, groups]),
            row_lower=rhs,
            row_upper=rhs,
            lower=np.zeros(count + 2 * dimension),
        ),
        tolerance=1e-10,
    )
    return solution.values[:count], solution.row_duals[:dimension]


def _cone(columns: Floats, aim: Floats, widths: Floats, block: int) -> tuple[Floats, Floats]:
    """Clarabel: ``min E`` with one second-order cone a block around ``aim - C alpha``."""
    import clarabel
    from scipy import sparse

    dimension, count = columns.shape
    cells = widths.size
    blocks = dimension // block
    rows: list[Any] = [
        sparse.hstack([sparse.csr_matrix(_groups(cells, count // cells)), _zero(cells)]),
        sparse.hstack([-sparse.identity(count), _zero(count)]),
    ]
    rhs = [widths, np.zeros(count)]
    cones: list[Any] = [clarabel.ZeroConeT(cells), clarabel.NonnegativeConeT(count)]
    for k in range(blocks):
        part = slice(k * block, (k + 1) * block)
        head = sparse.csr_matrix(([-1.0], ([0], [count])), shape=(1, count + 1))
        rows += [head, sparse.hstack([sparse.csr_matrix(columns[part]), _zero(block)])]
        rhs += [np.zeros(1), aim[part]]
        cones.append(clarabel.SecondOrderConeT(block + 1))
    values, duals = solve_cones(
        sparse.csc_matrix((count + 1, count + 1)),
        np.append(np.zeros(count), 1.0),
        sparse.csc_matrix(sparse.vstack(rows)),
        rhs,
        cones,
    )
    tail = duals[cells + count :].reshape(blocks, block + 1)
    return values[:count], -tail[:, 1:].reshape(-1)


def solve_cones(
    quadratic: Any, cost: Floats, matrix: Any, rhs: list[Floats], cones: list[Any]
) -> tuple[Floats, Floats]:
    """``min x^T P x / 2 + cost . x`` with ``rhs - matrix x`` in the cones: point and multipliers.

    Raises ``ProducerFailed`` when Clarabel returns no numbers.
    """
    import clarabel
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = CONE_ITERATIONS
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = CONE_TOLERANCE
    right = np.concatenate(rhs)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic), cost, sparse.csc_matrix(matrix), right, cones, settings
    )
    solution = solver.solve()
    values = np.asarray(solution.x, dtype=np.float64)
    duals = np.asarray(solution.z, dtype=np.float64)
    numbers = values.size == cost.size and duals.size == right.size
    if not numbers or not (np.all(np.isfinite(values)) and np.all(np.isfinite(duals))):
        raise ProducerFailed(f"the cone programme ended with status {solution.status}")
    return values, duals


def _zero(rows: int) -> NDArray[np.float64]:
    return np.zeros((rows, 1))

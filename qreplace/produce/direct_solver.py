"""Programmes handed to Clarabel as they are: no modelling layer, for many small ones.

The same problem as in ``modelled_solver``, against which it is tested; only free parameters.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.conic_data import ConicData
from qreplace.produce.sos_program import (
    Clock,
    Floats,
    FloatSolution,
    NoSuchSquares,
    Program,
    require_memory,
)
from qreplace.produce.threads import single_threaded

USABLE = ("Solved", "AlmostSolved", "InsufficientProgress")
"""The exact repair decides about answers that are not quite optimal."""
FALLING = ("DualInfeasible", "AlmostDualInfeasible")
MAX_ITERATIONS = 100


def solve_directly(program: Program, margin: float, clock: Clock) -> FloatSolution:
    """Solve in floats; raises ``ProducerFailed`` when Clarabel gives no usable answer."""
    if program.sets:
        raise ProducerFailed("restricted parameters need the modelling layer")
    require_memory(program, clock.budget)
    started = time.perf_counter()
    data = ConicData(program)
    with single_threaded():
        answer = _run(program, data, margin, clock)
    clock.solver_seconds += time.perf_counter() - started
    clock.remaining()
    status = str(answer.status)
    if status in FALLING:
        raise NoSuchSquares("no sums of squares of these degrees do it")
    if status not in USABLE:
        raise ProducerFailed(f"Clarabel ended with status {status!r}")
    multipliers = np.array(answer.z)
    duals, position = [], program.size
    for size in data.sizes:
        length = size * (size + 1) // 2
        duals.append(_matrix(multipliers[position : position + length], size))
        position += length
    return data.solution(multipliers[: program.size], np.array(answer.x), duals, margin, status)


def _run(program: Program, data: ConicData, margin: float, clock: Clock) -> Any:
    import clarabel
    import scipy.sparse as sp

    matrix, offset = data.equations()
    rows = [matrix]
    for size, localising in zip(data.sizes, data.localising, strict=True):
        places, scale = _triangle(size)
        rows.append(sp.diags(-scale) @ localising[places])
    stacked = sp.csc_matrix(sp.vstack(rows))
    bound = np.zeros(stacked.shape[0])
    bound[: program.size] = -offset
    cones = [clarabel.PSDTriangleConeT(size) for size in data.sizes]
    if program.size:
        cones.insert(0, clarabel.ZeroConeT(program.size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.direct_solve_method = "faer"
    settings.max_iter = clock.budget.iterations or MAX_ITERATIONS
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    left = clock.remaining()
    if left is not None:
        settings.time_limit = left
    quadratic = sp.csc_matrix((data.size, data.size))
    cost = data.cost - margin * data.traces()
    solver = clarabel.DefaultSolver(quadratic, cost, stacked, bound, cones, settings)
    return solver.solve()


def _triangle(size: int) -> tuple[Any, Floats]:
    """Places of the upper triangle, column by column, in the whole matrix, and their scales."""
    rows, columns = zip(*((i, j) for j in range(size) for i in range(j + 1)), strict=True)
    places = np.array(columns) * size + np.array(rows)
    return places, np.where(np.array(rows) == np.array(columns), 1.0, np.sqrt(2.0))


def _matrix(values: Floats, size: int) -> Floats:
    places, scale = _triangle(size)
    flat = np.zeros(size * size)
    flat[places] = values / scale
    upper = flat.reshape(size, size, order="F")
    whole: Floats = upper + upper.T - np.diag(np.diag(upper))
    return whole

"""Programmes modelled with cvxpy, solved by Clarabel or SCS (theory T7.9)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from qreplace.errors import ProducerFailed
from qreplace.produce.conic_data import ConicData
from qreplace.produce.sos_program import (
    Budget,
    Clock,
    FloatSolution,
    NoSuchSquares,
    ParameterSet,
    Program,
    Solver,
    require_memory,
)
from qreplace.produce.threads import single_threaded


def solve(program: Program, margin: float, solver: Solver, clock: Clock) -> FloatSolution:
    """Solve in floats; raises ``ProducerFailed`` when the solver gives no usable answer."""
    import cvxpy as cp

    if solver == "CLARABEL":
        require_memory(program, clock.budget)
    started = time.perf_counter()
    data = ConicData(program)
    moments = cp.Variable(data.size)
    stationary, extra = _stationarity(program, data, moments)
    cones, single = _cones(data, moments)
    cost = data.cost - margin * data.traces()
    constraints = [*stationary, *cones.values(), *single]
    problem = cp.Problem(cp.Minimize(cost @ moments + extra), constraints)
    with single_threaded():
        _run(problem, solver, clock)
    clock.solver_seconds += time.perf_counter() - started
    lone = iter(_numbers(single[0].dual_value).ravel() if single else ())
    duals = [
        _numbers(cones[k].dual_value) if k in cones else np.array([[next(lone)]])
        for k in data.numbers
    ]
    parameters = _numbers(stationary[0].dual_value) if stationary else np.zeros(0)
    return data.solution(
        parameters.reshape(program.size), _numbers(moments.value), duals, margin, problem.status
    )


def _numbers(values: Any) -> Any:
    return np.asarray(values, dtype=np.float64)


def _cones(data: ConicData, moments: Any) -> tuple[dict[int, Any], list[Any]]:
    """Positive semidefinite matrices by block, and all those of one row as one vector."""
    import cvxpy as cp
    import scipy.sparse as sp

    cones = {
        k: cp.reshape(data.localising[k] @ moments, (size, size), order="F") >> 0
        for k, size in enumerate(data.sizes)
        if size > 1
    }
    lone = [data.localising[k] for k in data.numbers if k not in cones]
    return cones, [sp.vstack(lone, format="csr") @ moments >= 0] if lone else []


def _stationarity(program: Program, data: ConicData, moments: Any) -> tuple[list[Any], Any]:
    """``objective_a + sum_k <y_k, linear_ka> = e_a``; the parameters are its multipliers.

    ``e`` is 0 for free parameters; for others the support function of their set joins the cost.
    """
    import cvxpy as cp
    import scipy.sparse as sp

    if not program.size:
        return [], 0
    matrix, offset = data.equations()
    total: Any = matrix @ moments + offset
    extra: Any = 0
    for chosen in program.sets:
        own = cp.Variable(len(chosen.parameters))
        ones = np.ones(len(chosen.parameters))
        select = sp.csr_matrix(
            (ones, (chosen.parameters, np.arange(len(ones)))), shape=(program.size, len(ones))
        )
        total = total - select @ own
        extra = extra + _support_function(chosen, own)
    return [total == 0], extra


def _support_function(chosen: ParameterSet, own: Any) -> Any:
    import cvxpy as cp

    scaled = cp.multiply(np.array([1 / float(size) for size in chosen.sizes]), own)
    if chosen.kind == "budget":
        return cp.max(cp.hstack([np.zeros(1), scaled]))
    if chosen.kind == "l1":
        return cp.norm_inf(scaled)
    if chosen.kind == "linf":
        return cp.norm1(scaled)
    groups = range(0, len(chosen.parameters), chosen.group)
    return cp.max(cp.hstack([cp.norm2(scaled[g : g + chosen.group]) for g in groups]))


def _run(problem: Any, solver: Solver, clock: Clock) -> None:
    import warnings

    import cvxpy as cp

    left = clock.remaining()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the exact repair decides
        try:
            problem.solve(solver=solver, **_settings(solver, left, clock.budget))
        except cp.error.SolverError as error:
            clock.remaining()
            raise ProducerFailed(f"{solver} gave no answer: {error}") from error
    clock.remaining()
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise NoSuchSquares("no sums of squares of these degrees do it")
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ProducerFailed(f"{solver} ended with status {problem.status!r}")


def _settings(solver: Solver, seconds: float | None, budget: Budget) -> dict[str, Any]:
    if solver == "CLARABEL":
        settings: dict[str, Any] = {
            "max_iter": budget.iterations or 200,
            "tol_gap_abs": 1e-9,
            "tol_gap_rel": 1e-9,
            "tol_feas": 1e-9,
            "direct_solve_method": "faer",
            "max_threads": 1,
        }
        return settings | ({} if seconds is None else {"time_limit": seconds})
    settings = {"max_iters": budget.iterations or 20_000, "eps_abs": 1e-7, "eps_rel": 1e-7}
    return settings | ({} if seconds is None else {"time_limit_secs": seconds})

"""One linear programme in HiGHS: single-threaded, seeded, with its optimal basis.

Shared by the producers; nothing certified is read from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.question.subject import LiftedProblem

Floats = NDArray[np.float64]

MAX_ITERATIONS = 2_000_000


@dataclass(frozen=True)
class LinearProgram:
    """``min cost . x`` subject to ``row_lower <= A x <= row_upper``, ``x >= lower``."""

    cost: Floats
    matrix: Floats
    row_lower: Floats
    row_upper: Floats
    lower: Floats


@dataclass(frozen=True)
class Solution:
    """An optimal point with its multipliers and basis."""

    values: Floats
    row_duals: Floats
    basic_columns: NDArray[np.intp]
    tight_rows: NDArray[np.intp]
    objective: float
    seconds: float
    """HiGHS's own run time."""


def centred_atoms(problem: LiftedProblem) -> Floats:
    """``b_j - y`` (coordinate, atom) in floats, over the largest entry.

    Weights of sum 1 see nothing else, and neither the scale of the data nor a common offset hides
    the differences that matter.
    """
    rows = [[n - y for n in row] for row, y in zip(problem.rows, problem.target, strict=True)]
    unit = max(1, *(max(map(abs, row)) for row in rows))
    return np.array([[n / unit for n in row] for row in rows])


class _QuietHighs(highspy.Highs):  # type: ignore[misc]
    """HiGHS without its banner, which is printed while callbacks are set up."""

    def enableCallbacks(self) -> None:
        """Silence the instance first; it is the earliest call of its own set-up."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def quiet_simplex(tolerance: float, *, presolve: bool) -> highspy.Highs:
    """A simplex solver without a model: silent, one thread, a fixed seed."""
    highs = _QuietHighs()
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("random_seed", 0)
    highs.setOptionValue("solver", "simplex")
    highs.setOptionValue("presolve", "on" if presolve else "off")
    highs.setOptionValue("primal_feasibility_tolerance", tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", tolerance)
    highs.setOptionValue("simplex_iteration_limit", MAX_ITERATIONS)
    return highs


def solve(program: LinearProgram, *, tolerance: float = 1e-9, presolve: bool = True) -> Solution:
    """Solve by the simplex method; raises ``ProducerFailed`` when HiGHS finds no optimum."""
    highs = quiet_simplex(tolerance, presolve=presolve)
    highs.passModel(_model(program))
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = highs.modelStatusToString(highs.getModelStatus())
        raise ProducerFailed(f"the linear programme ended with status {status!r}")
    solution, basis = highs.getSolution(), highs.getBasis()
    basic = highspy.HighsBasisStatus.kBasic
    return Solution(
        values=np.asarray(solution.col_value),
        row_duals=np.asarray(solution.row_dual),
        basic_columns=np.flatnonzero([status == basic for status in basis.col_status]),
        tight_rows=np.flatnonzero([status != basic for status in basis.row_status]),
        objective=float(highs.getInfo().objective_function_value),
        seconds=float(highs.getRunTime()),
    )


def _model(program: LinearProgram) -> highspy.HighsLp:
    rows, columns = program.matrix.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.cost
    model.col_lower_ = program.lower
    model.col_upper_ = np.full(columns, np.inf)
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    row_index, column_index = np.nonzero(program.matrix)
    counts = np.bincount(row_index, minlength=rows)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    model.a_matrix_.index_ = column_index.astype(np.int32)
    model.a_matrix_.value_ = program.matrix[row_index, column_index]
    return model

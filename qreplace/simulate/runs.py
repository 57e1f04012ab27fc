"""``simulate arithmetic``: runs of one system beside ideal ones, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.errors import InputError
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.build import arithmetic_of, depths_of, schedules_of, system_of
from qreplace.simulate.documents import columns, numbers, shown
from qreplace.simulate.labels import Basis, label, statement
from qreplace.simulate.model import Arithmetic, Run, Semantics, System, Vector
from qreplace.simulate.request import MAX_DEPTHS, ArithmeticRequest

MAX_WORK = 50_000_000
"""Steps times coordinates of all runs of one request."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Row:
    """The worst run at one depth in one semantics."""

    depth: int
    semantics: Semantics
    run: Run
    schedule: list[int]
    schedules: int
    """How many schedules were run."""
    exhaustive: bool
    """All of them."""
    target_error: Fraction | None
    """Executed endpoint to the target, linf; ``None`` without a target."""


@dataclass(frozen=True, slots=True)
class ArithmeticResult:
    """Every depth and semantics that was asked for."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    system: System

    def basis(self, row: Row) -> Basis:
        """What the error of a row rests on."""
        which = f"all {row.schedules} schedules" if row.exhaustive else "one schedule"
        instance = f"{which} of the simulated system at depth {row.depth}, {row.semantics}"
        return Basis("exhaustive" if row.exhaustive else "measured", instance, row.run.exact)

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints: exact strings, each with a decimal companion."""
        return {
            "kind": "arithmetic",
            "title": self.title,
            "norm": "linf",
            "rows": [self._row(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def _row(self, row: Row) -> dict[str, Any]:
        run, basis = row.run, self.basis(row)
        return {
            "depth": row.depth,
            "semantics": row.semantics,
            **numbers(
                error=run.error,
                path_error=run.path_error,
                target_error=row.target_error,
                a_posteriori=run.a_posteriori,
                carry=_largest(run.carry),
            ),
            "conserved": run.conserved,
            "extremes": {name: list(ends) for name, ends in run.extremes.items()},
            "overflows": dict(run.overflows),
            "schedules": row.schedules,
            "evidence": label(basis).value,
            "basis": statement(basis),
        }

    def text(self) -> str:
        """The result for a terminal."""
        lines = [self.title, ""] if self.title else []
        aimed = any(row.target_error is not None for row in self.rows)
        header = ["D", "semantics", "error", "T4.13 bound", "carry", "overflows", "label"]
        if aimed:
            header.insert(3, "to target")
        cells = []
        for row in self.rows:
            overflows = sum(row.run.overflows.values())
            cell = [
                str(row.depth),
                row.semantics,
                shown(row.run.error),
                shown(row.run.a_posteriori),
                shown(_largest(row.run.carry)),
                str(overflows) if overflows else "",
                label(self.basis(row)).value,
            ]
            if aimed:
                cell.insert(3, shown(row.target_error))
            cells.append(cell)
        lines += columns(header, cells)
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines)


def _largest(values: Vector | None) -> Fraction | None:
    return None if values is None else max(map(abs, values))


def run_arithmetic(
    request: ArithmeticRequest, progress: Progress | None = None
) -> ArithmeticResult:
    """Every depth and semantics of a request; with ``all`` schedules, the worst one of each.

    Raises ``InputError`` before anything runs when the request is too large.
    """
    system = system_of(request.system)
    depths = depths_of(request.depths, MAX_DEPTHS)
    plans = [(d, s) for d in depths for s in request.arithmetic.semantics]
    _require_work(request, system, depths)
    rows = []
    for done, (depth, semantics) in enumerate(plans):
        if progress is not None:
            progress("runs", done, len(plans))
        arithmetic = arithmetic_of(request.arithmetic, semantics, depth)
        schedules, count = schedules_of(request.schedule, len(system.atoms), depth)
        run, schedule = worst_run(system, arithmetic, schedules)
        rows.append(Row(depth, semantics, run, schedule, count, request.schedule.all, None))
    if progress is not None:
        progress("runs", len(plans), len(plans))
    return ArithmeticResult(request.title, tuple(rows), (), system)


def _require_work(request: ArithmeticRequest, system: System, depths: Sequence[int]) -> None:
    kinds = len(request.arithmetic.semantics)
    work = 0
    for depth in depths:
        _, count = schedules_of(request.schedule, len(system.atoms), depth)
        work += depth * count * kinds * system.dimension
    if work > MAX_WORK:
        raise InputError(
            f"the request asks for {work} coordinate steps; needed at most {MAX_WORK}",
            pointer="/depths",
            remedy="Ask for fewer or smaller depths.",
        )


def worst_run(
    system: System, arithmetic: Arithmetic, schedules: Iterable[list[int]]
) -> tuple[Run, list[int]]:
    """The run with the largest endpoint error, and its schedule."""
    worst: tuple[Run, list[int]] | None = None
    for schedule in schedules:
        run = simulate(system, schedule, arithmetic)
        if worst is None or run.error > worst[0].error:
            worst = run, schedule
    if worst is None:
        raise InputError("there is no schedule to run")
    return worst

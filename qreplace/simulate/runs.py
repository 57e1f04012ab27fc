"""``simulate arithmetic``: runs of one system beside ideal ones, and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.claims import Claim
from qreplace.errors import InputError
from qreplace.question.subject import Subject
from qreplace.simulate.arithmetic import distance, simulate
from qreplace.simulate.build import (
    arithmetic_of,
    depths_of,
    schedule_count,
    schedules_of,
    system_of,
)
from qreplace.simulate.documents import columns, numbers, shown
from qreplace.simulate.labels import Basis, label, statement
from qreplace.simulate.model import (
    Arithmetic,
    FixedPoint,
    FloatingPoint,
    Run,
    Semantics,
    System,
    Vector,
)
from qreplace.simulate.predicted import (
    Cells,
    arithmetic_radius,
    constants_at,
    rounding_cell,
)
from qreplace.simulate.premises import execution_block
from qreplace.simulate.request import MAX_DEPTHS, ArithmeticRequest
from qreplace.simulate.study import has_accumulator, study_arithmetic, study_schedule, study_system

MAX_WORK = 5_000_000
"""Steps times coordinates of all runs of one request."""
MAX_DRAWN = 100_000
"""Steps times coordinates of a run whose path is drawn."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Row:
    """The worst run at one depth in one semantics."""

    depth: int
    arithmetic: Arithmetic
    run: Run
    schedule: list[int]
    schedules: int
    """How many schedules were run."""
    exhaustive: bool
    """All of them."""
    radius: Fraction | None
    """A_D of theory T4.2-T4.7 with the field error that was measured; ``None`` where a register
    overflowed or has no single step."""
    target_error: Fraction | None
    """Executed endpoint to the target, linf; ``None`` without a target."""

    @property
    def semantics(self) -> Semantics:
        """How it ran."""
        return self.arithmetic.semantics

    @property
    def basis(self) -> Basis:
        """What the numbers of the row rest on."""
        which = f"all {self.schedules} schedules" if self.exhaustive else "one schedule"
        instance = f"{which} of the simulated system at depth {self.depth}, {self.semantics}"
        return Basis("exhaustive" if self.exhaustive else "measured", instance, self.run.exact)


@dataclass(frozen=True, slots=True)
class ArithmeticResult:
    """Every depth and semantics that was asked for."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    system: System

    @property
    def drawn(self) -> Row | None:
        """The deepest run whose path can be drawn, of the first semantics that rounds."""
        fitting = [
            row
            for row in self.rows
            if row.depth * self.system.dimension <= MAX_DRAWN and not _floats(row.arithmetic)
        ]
        rounded = [row for row in fitting if row.semantics != "ideal"] or fitting
        first = [row for row in rounded if row.semantics == rounded[0].semantics]
        return max(first, key=lambda row: row.depth, default=None)

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints: exact strings, each with a decimal companion."""
        return {
            "kind": "arithmetic",
            "title": self.title,
            "norm": "linf",
            "rows": [_document(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The result for a terminal."""
        lines = [self.title, ""] if self.title else []
        header = [
            "D", "semantics", "error", "A_D", "T4.13", "to target", "carry", "overflows", "label",
        ]  # fmt: skip
        cells = []
        for row in self.rows:
            overflows = sum(row.run.overflows.values())
            cells.append([
                f"{row.depth:,}",
                row.semantics,
                shown(row.run.error),
                shown(row.radius),
                shown(row.run.a_posteriori),
                shown(row.target_error),
                shown(_largest(row.run.carry)),
                f"{overflows:,}" if overflows else "",
                label(row.basis).value,
            ])  # fmt: skip
        used = [i for i, name in enumerate(header) if name == "D" or any(c[i] for c in cells)]
        lines += columns([header[i] for i in used], [[c[i] for i in used] for c in cells])
        lines += ["", "error: executed endpoint to the ideal one, linf; A_D: radius of every "
                  "schedule; T4.13: bound of this very run"]  # fmt: skip
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines)

    def premises(self) -> str:
        """Execution blocks for a specification, one a semantics, at its deepest row."""
        last = {row.semantics: row for row in self.rows if row.semantics != "ideal"}
        blocks = [
            execution_block(
                row.arithmetic,
                row.run,
                row.basis,
                row.depth,
                stored_error(self.system, row.arithmetic),
            )
            for row in last.values()
        ]
        return "---\n".join(block for block in blocks if block)


def _document(row: Row) -> dict[str, Any]:
    run = row.run
    return {
        "depth": row.depth,
        "semantics": row.semantics,
        **numbers(
            error=run.error,
            path_error=run.path_error,
            radius=row.radius,
            a_posteriori=run.a_posteriori,
            target_error=row.target_error,
            field_error=run.field_error,
            carry=_largest(run.carry),
        ),
        "conserved": run.conserved,
        "extremes": {name: list(ends) for name, ends in run.extremes.items()},
        "overflows": dict(run.overflows),
        "schedules": row.schedules,
        "exact": run.exact,
        "evidence": label(row.basis).value,
        "basis": statement(row.basis),
    }


def _largest(values: Vector | None) -> Fraction | None:
    return None if values is None else max(map(abs, values))


def _floats(own: Arithmetic) -> bool:
    formats = (own.state, own.increment, own.carry, own.activation)
    return any(isinstance(part, FloatingPoint) for part in formats)


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
        own = arithmetic_of(request.arithmetic, semantics, depth)
        schedules = schedules_of(request.schedule, len(system.atoms), depth)
        count = schedule_count(request.schedule, len(system.atoms), depth)
        run, schedule = worst_run(system, own, schedules)
        radius = _radius(system, own, run, depth)
        rows.append(Row(depth, own, run, schedule, count, request.schedule.all, radius, None))
    if progress is not None:
        progress("runs", len(plans), len(plans))
    return ArithmeticResult(request.title, tuple(rows), (), system)


def _require_work(request: ArithmeticRequest, system: System, depths: Sequence[int]) -> None:
    kinds = len(request.arithmetic.semantics)
    counts = [schedule_count(request.schedule, len(system.atoms), depth) for depth in depths]
    steps = sum(depth * count for depth, count in zip(depths, counts, strict=True))
    work = steps * kinds * system.dimension
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


def _radius(system: System, own: Arithmetic, run: Run, depth: int) -> Fraction | None:
    """A_D with the measured field error; its initial error is that of storing the start."""
    if any(run.overflows.values()):
        return None
    cells = [_cell(own, part) for part in (own.increment or own.state, own.state, own.carry)]
    if own.semantics == "ideal":
        cells = [Fraction(0)] * 3
    written = cells[1] if own.semantics == "write_back" else cells[0]
    carry = cells[2] if own.semantics == "rounded_carry" else Fraction(0)
    if written is None or carry is None:
        return None
    start = stored_error(system, own)
    used = Cells(written, carry, run.field_error, start)
    return arithmetic_radius(own.semantics, constants_at(system, depth), used)


def _cell(own: Arithmetic, part: object) -> Fraction | None:
    """The largest rounding error of a register; ``None`` for a floating format."""
    if not isinstance(part, FixedPoint):
        return None
    return rounding_cell(max(step for row in part.steps for step in row), own.rounding)


def stored_error(system: System, own: Arithmetic) -> Fraction:
    """What storing the initial state may lose: nothing where it lies on its grid."""
    if own.semantics == "ideal" or not isinstance(own.state, FixedPoint):
        return Fraction(0)
    row = own.state.steps[0]
    on_grid = all(
        (z / row[i if len(row) > 1 else 0]).denominator == 1 for i, z in enumerate(system.initial)
    )
    cell = _cell(own, own.state)
    return Fraction(0) if on_grid or cell is None else cell


# --- a study's own arithmetic -----------------------------------------------------------------


def run_study(
    subject: Subject, claims: Sequence[Claim], depths: Sequence[int], bits: int, title: str
) -> ArithmeticResult:
    """A study's system on its execution block, with the schedule of its plan at each depth.

    Raises ``InputError`` before anything runs where the study says too little or too much is asked.
    """
    system, target = study_system(subject, bits)
    if sum(depths) * system.dimension > MAX_WORK or len(depths) > MAX_DEPTHS:
        raise InputError(
            f"the depths ask for {sum(depths) * system.dimension} coordinate steps; needed at most "
            f"{MAX_WORK}, at {MAX_DEPTHS} depths"
        )
    rows, origins = [], []
    for depth in depths:
        own = study_arithmetic(subject, depth)
        schedule, origin = study_schedule(subject, claims, depth, bits)
        run = simulate(system, schedule, own)
        radius = _radius(system, own, run, depth)
        missed = distance(run.executed, target)
        rows.append(Row(depth, own, run, schedule, 1, False, radius, missed))
        origins.append(f"depth {depth:,}: {origin}")
    notes = ["schedules: " + "; ".join(origins)]
    if has_accumulator(subject):
        notes.append(
            "the field is evaluated exactly: the accumulator that the study declares is not run"
        )
    return ArithmeticResult(title, tuple(rows), tuple(notes), system)

"""Figures of one run, of switching rules and of the common lattice; ``phase_figure`` has its own.

Floats are used for drawing only. Each function returns ``name.svg`` and ``name.png``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from qreplace.errors import InputError
from qreplace.exact.rational import approximate
from qreplace.report.axes import finish
from qreplace.report.figures import render
from qreplace.report.palette import INK, MUTED, NO, PATH, STEPS, UPPER, VALUE
from qreplace.simulate.arithmetic import trace_of
from qreplace.simulate.ideal import ideal_states
from qreplace.simulate.model import Arithmetic, System
from qreplace.simulate.phase_figure import heat_figure, phase_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qreplace.simulate.lattice import LatticeReport

__all__ = [
    "DiscrepancyCurve", "discrepancy_curve", "heat_figure", "lattice_figure", "phase_figure",
    "run_figure", "switching_figure",
]  # fmt: skip

MAX_POINTS = 600
"""Points of a drawn path; longer ones are thinned."""
MAX_RUN = 100_000
"""Steps times coordinates up to which a run is run again for its figure."""
CHUNK = 65_536
TALL = (6.4, 6.2)
WIDE_SIZE = (10.0, 3.6)


# --- one run ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunPath:
    """One coordinate of an executed run beside the ideal one, for drawing.

    ``deviation`` is R_k of theory T4.13, the executed minus the ideal steps so far: in error
    feedback, with an exact field, the carry with its sign turned.
    """

    coordinate: int
    times: list[float]
    executed: list[float]
    ideal: list[float]
    deviation: list[float]
    semantics: str


def run_path(system: System, schedule: Sequence[int], arithmetic: Arithmetic) -> RunPath:
    """The coordinate whose endpoint is furthest off; raises ``InputError`` for a long run."""
    depth, q = len(schedule), system.dimension
    if depth * q > MAX_RUN:
        raise InputError(f"a run of {depth} steps and {q} coordinates is too long to draw; needed "
                         f"at most {MAX_RUN} coordinate steps")  # fmt: skip
    trace = trace_of(system, schedule, arithmetic)
    ideal = [state for state, _ in ideal_states(system, schedule)]
    last, aim = trace.states[-1], ideal[-1]
    worst = max(range(q), key=lambda i: (abs(last[i] - aim[i]), -i))
    places = places_of(depth + 1)
    step = system.horizon / depth
    return RunPath(
        coordinate=worst,
        times=[approximate(step * k) for k in places],
        executed=[approximate(trace.states[k][worst]) for k in places],
        ideal=[approximate(ideal[k][worst]) for k in places],
        deviation=[approximate(trace.deviations[k][worst]) for k in places],
        semantics=arithmetic.semantics,
    )


def places_of(count: int) -> list[int]:
    """At most ``MAX_POINTS`` of so many places, evenly spread, both ends among them."""
    if count <= MAX_POINTS:
        return list(range(count))
    return sorted({round(k * (count - 1) / (MAX_POINTS - 1)) for k in range(MAX_POINTS)})


def run_figure(
    system: System, schedule: Sequence[int], arithmetic: Arithmetic, name: str = "run"
) -> dict[str, bytes]:
    """The executed and the ideal state over time, and below them what rounding has added up to."""
    path = run_path(system, schedule, arithmetic)
    words = arithmetic.semantics.replace("_", " ")

    def fill(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        above.plot(path.times, path.ideal, color=MUTED, linewidth=2.4, label="ideal", gid="ideal")
        above.step(
            path.times, path.executed, where="post", color=UPPER, linewidth=1.3,
            linestyle=(0, (5, 1.5)), label=f"executed ({words})", gid="executed",
        )  # fmt: skip
        above.set_title(f"state, coordinate {path.coordinate}", loc="left", color=INK)
        below.axhline(0, color=MUTED, linewidth=0.8)
        below.step(
            path.times, path.deviation, where="post", color=STEPS, linewidth=1.3,
            label="rounding, summed (R, T4.13)", gid="deviation",
        )  # fmt: skip
        carried = arithmetic.semantics in ("error_feedback", "rounded_carry")
        title = "rounding so far, in units of the state"
        below.set_title(f"{title}: minus the carry" if carried else title, loc="left", color=INK)
        below.set_xlabel("time t, from 0 to the horizon T")
        for axes in (above, below):
            finish(axes)
        _legend(figure, [above, below])

    return render(name, fill, "A run in declared arithmetic beside the ideal run",
                  run_words(path, len(schedule)), TALL)  # fmt: skip


def run_words(path: RunPath, depth: int) -> str:
    """The run's figure in words."""
    return (
        f"{path.semantics.replace('_', ' ').capitalize()} at depth {depth}, coordinate "
        f"{path.coordinate}, the one furthest off: the executed state ends at "
        f"{path.executed[-1]:.6g}, the ideal one at {path.ideal[-1]:.6g}. What rounding has added "
        f"up to is {path.deviation[-1]:.3g} at the end and at most "
        f"{max(map(abs, path.deviation)):.3g} in size on the way."
    )


# --- switching ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DiscrepancyCurve:
    """Largest prefix discrepancy ``max_j |P_j - n_j|`` along a schedule, and its bound."""

    rule: str
    steps: list[int]
    values: list[float]
    bound: Fraction | None
    """``None`` where none is known for the rule."""
    formula: str


def discrepancy_curve(
    rule: str,
    weights: Sequence[Sequence[Fraction]],
    schedule: Sequence[int],
    bound: Fraction | None,
    formula: str,
) -> DiscrepancyCurve:
    """The curve of a schedule; ``weights`` are one row, or one a step. For drawing, in floats.

    Where there are more than ``MAX_POINTS`` steps a point is the largest of its stretch.
    """
    import numpy as np

    picks = np.asarray(schedule, dtype=np.int64)
    rows = np.array([[approximate(w) for w in row] for row in weights], dtype=np.float64)
    depth, atoms = len(picks), rows.shape[1]
    worst = np.empty(depth)
    balance = np.zeros(atoms)
    for first in range(0, depth, CHUNK):
        last = min(first + CHUNK, depth)
        used = np.zeros((last - first, atoms))
        used[np.arange(last - first), picks[first:last]] = 1
        own = rows if len(rows) == 1 else rows[first:last]
        path = balance + np.cumsum(own - used, axis=0)
        worst[first:last] = np.abs(path).max(axis=1)
        balance = path[-1]
    cuts = np.unique(np.linspace(0, depth, min(depth, MAX_POINTS) + 1).astype(np.int64))
    values = np.maximum.reduceat(worst, cuts[:-1])
    return DiscrepancyCurve(
        rule, [int(cut) for cut in cuts[1:]], [float(v) for v in values], bound, formula
    )


RULES = ((UPPER, "-"), (STEPS, (0, (5, 1.5))), (VALUE, (0, (1, 1))), (PATH, (0, (4, 1, 1, 1))))
"""Colour and line of each rule."""


def switching_figure(
    curves: Sequence[DiscrepancyCurve], name: str = "switching"
) -> dict[str, bytes]:
    """Prefix discrepancies of schedules against the step, with the bounds of their rules."""

    def fill(figure: Figure) -> None:
        axes = figure.add_subplot()
        for curve, (colour, line) in zip(curves, RULES, strict=False):
            axes.step(
                curve.steps, curve.values, where="pre", color=colour, linestyle=line,
                linewidth=1.4, label=curve.rule, gid=f"rule-{curve.rule}",
            )  # fmt: skip
            if curve.bound is not None:
                bound = approximate(curve.bound)
                axes.axhline(
                    bound, color=colour, linewidth=1.8, linestyle=(0, (7, 3)),
                    label=f"{curve.rule}: at most {bound:.4g}, {curve.formula}",
                )  # fmt: skip
        tops = [max(curve.values) for curve in curves]
        tops += [approximate(curve.bound) for curve in curves if curve.bound is not None]
        axes.set_ylim(0, 1.08 * max(tops, default=1.0) or 1.0)
        axes.set_xlim(0, max((curve.steps[-1] for curve in curves), default=1))
        axes.set_xlabel("step k")
        axes.set_title("largest prefix discrepancy (steps)", loc="left", color=INK)
        finish(axes)
        _legend(figure, [axes], columns=1)

    title = "Prefix discrepancy of switching rules"
    return render(name, fill, title, switching_words(curves), (6.4, 4.8))


def switching_words(curves: Sequence[DiscrepancyCurve]) -> str:
    """The figure in words."""
    parts = []
    for curve in curves:
        known = "" if curve.bound is None else (
            f", bound {approximate(curve.bound):.6g} ({curve.formula})"
        )  # fmt: skip
        parts.append(
            f"{curve.rule}: the largest prefix discrepancy over {curve.steps[-1]} steps is "
            f"{max(curve.values):.6g}{known}."
        )
    return " ".join(parts)


# --- the common lattice -------------------------------------------------------------------------

REGISTERS = (
    ("residual", "carry r"), ("pre_round", "before rounding"),
    ("increment", "increment q"), ("state", "state z"),
)  # fmt: skip
"""The registers of a lattice report, and their names for people."""


def lattice_figure(report: LatticeReport, name: str = "lattice") -> dict[str, bytes]:
    """The largest code that each register held against its bound, for each lattice ratio."""

    def fill(figure: Figure) -> None:
        every = figure.subplots(1, len(REGISTERS))
        for axes, (register, words) in zip(every, REGISTERS, strict=True):
            _register_panel(axes, report, register, words)
        _legend(figure, [every[0]])

    title = "Largest register codes on the common lattice, and their bounds"
    return render(name, fill, title, lattice_words(report), WIDE_SIZE)


def _register_panel(axes: Axes, report: LatticeReport, register: str, words: str) -> None:
    from matplotlib.ticker import MaxNLocator

    ratios = list(report.grids)
    seen = [report.grids[ratio].largest[register] for ratio in ratios]
    bounds = [report.limits(ratio)[register] for ratio in ratios]
    places = list(range(len(ratios)))
    axes.bar(places, seen, width=0.62, color=UPPER, alpha=0.75, label="largest code seen")
    axes.hlines(
        bounds, [place - 0.45 for place in places], [place + 0.45 for place in places],
        color=NO, linewidth=2.2, label="bound (T4.10)",
    )  # fmt: skip
    axes.set_xticks(places, [str(ratio) for ratio in ratios])
    axes.set_ylim(0, 1.12 * max(*bounds, *seen, 1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlabel("lattice ratio")
    axes.set_title(f"{words}, codes", loc="left", color=INK, fontsize=11)
    finish(axes)
    axes.grid(False, axis="x")


def lattice_words(report: LatticeReport) -> str:
    """The figure in words."""
    parts = []
    for register, words in REGISTERS:
        each = ", ".join(
            f"{tally.largest[register]} of {report.limits(ratio)[register]} at ratio {ratio}"
            for ratio, tally in report.grids.items()
        )
        parts.append(f"{words.capitalize()}: {each}.")
    return "Largest code seen, of its bound. " + " ".join(parts)


def _legend(figure: Figure, panels: Sequence[Axes], columns: int = 2) -> None:
    found = [axes.get_legend_handles_labels() for axes in panels]
    handles = [handle for own, _ in found for handle in own]
    labels = [text for _, own in found for text in own]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False,
        labelcolor=INK, columnspacing=1.4,
    )  # fmt: skip

"""The figure of routed runs: gaps of both routers about each event, and errors along time.

Floats are used for drawing only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qreplace.exact.rational import approximate
from qreplace.report.axes import finish
from qreplace.report.figures import render
from qreplace.report.palette import BAND, INK, MUTED, NO, PATH, STEPS, TOLERANCE, UPPER
from qreplace.simulate.figures import MAX_POINTS, places_of
from qreplace.simulate.routed_events import Change, gap_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qreplace.simulate.routed_runs import RoutingResult, RoutingRow

SIZE = (9.0, 6.6)
MAX_PANELS = 3
"""Events whose gaps are drawn, the first ones."""


def routing_figure(result: RoutingResult, name: str = "routing") -> dict[str, bytes]:
    """``routing.svg`` and ``routing.png`` of the deepest run."""
    row = max(result.rows, key=lambda own: own.depth)
    shown = result.found[:MAX_PANELS] if result.measured is not None else ()

    def fill(figure: Figure) -> None:
        count = max(1, len(shown))
        grid = figure.add_gridspec(2 if shown else 1, count)
        panels = [figure.add_subplot(grid[0, r]) for r in range(len(shown))]
        for r, axes in enumerate(panels):
            _gap(axes, result, row, r)
        below = figure.add_subplot(grid[-1, :])
        _errors(below, result, row)
        _windows(below, result, row)
        below.set_xlim(0, result.path.system.horizon)
        below.set_xlabel("time t, from 0 to the horizon T")
        for axes in (*panels, below):
            finish(axes)
        _legend(figure, *panels, below)

    title = "Score gaps about route events, and path errors"
    return render(name, fill, title, routing_words(result, row), SIZE)


def _gap(axes: Axes, result: RoutingResult, row: RoutingRow, r: int) -> None:
    """The gap of the two experts that swap about an event; the route changes where it is 0."""
    if result.measured is None:
        return
    change, event = result.found[r], result.measured.events[r]
    step = result.path.system.horizon / row.depth
    width = approximate(row.gain.windows[r]) if row.gain is not None and row.gain.windows else 0.0
    middle = approximate((event.time_low + event.time_high) / 2)
    half = min(approximate(event.neighbourhood), 3 * max(width, 4 * step))
    first, last = middle - half, middle + half
    axes.axhline(0, color=MUTED, linewidth=0.8)
    times, wanted = _target_gap(result, change, first, last)
    axes.plot(times, wanted, color=MUTED, linewidth=2.4, gid=f"target-{r}",
              label="target's scores on its path")  # fmt: skip
    times, executed = _executed_gap(result, row, change, first, last)
    axes.plot(times, executed, color=UPPER, linewidth=1.2, linestyle=(0, (5, 1.5)),
              marker="." if len(times) < 60 else "", gid=f"executed-{r}",
              label="implemented scores on the executed path")  # fmt: skip
    _windows(axes, result, row)
    axes.set_xlim(first, last)
    axes.set_title(f"gap, experts {change.leaving} to {change.entering}", loc="left", color=INK)


def _target_gap(
    result: RoutingResult, change: Change, first: float, last: float
) -> tuple[list[float], list[float]]:
    path = result.path
    near = [int(k) for k in ((path.times >= first) & (path.times <= last)).nonzero()[0]]
    chosen = [near[k] for k in places_of(len(near))] if near else []
    gap = path.scores[:, change.entering] - path.scores[:, change.leaving]
    return [float(path.times[k]) for k in chosen], [float(gap[k]) for k in chosen]


def _executed_gap(
    result: RoutingResult, row: RoutingRow, change: Change, first: float, last: float
) -> tuple[list[float], list[float]]:
    system, step = result.path.system, result.path.system.horizon / row.depth
    near = range(max(0, math.ceil(first / step)), min(row.depth, math.floor(last / step)) + 1)
    chosen = [near[k] for k in places_of(len(near))] if near else []
    states = row.runs.states
    gaps = [gap_of(system.implemented, change, k * step, states[k].tolist()) for k in chosen]
    return [k * step for k in chosen], gaps


def _errors(axes: Axes, result: RoutingResult, row: RoutingRow) -> None:
    import numpy as np

    step = result.path.system.horizon / row.depth
    curves = (
        ("oracle", row.runs.oracle, PATH, (0, (4, 1, 1, 1)), "run on the target's route"),
        ("executed-error", row.runs.states, STEPS, "-", "executed run"),
    )
    chosen = places_of(row.depth + 1)
    for gid, states, colour, line, words in curves:
        away = np.abs(states - row.runs.target).max(axis=1)
        axes.plot([k * step for k in chosen], [float(away[k]) for k in chosen], color=colour,
                  linestyle=line, linewidth=1.5, label=words, gid=gid)  # fmt: skip
    if row.holds and row.gain is not None and row.gain.bound is not None:
        axes.axhline(
            approximate(row.gain.bound), color=TOLERANCE, linewidth=1.8, linestyle=(0, (7, 3)),
            label="E_bar, bound of the path (T6.1)", gid="bound",
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_title(
        f"distance from the target's path, linf, D = {row.depth:,}", loc="left", color=INK
    )


def _windows(axes: Axes, result: RoutingResult, row: RoutingRow) -> None:
    if row.gain is None or result.measured is None:
        return
    words = "window of an event (T6.1)" if row.holds else "window, if the premises held (T6.1)"
    for r, (event, width) in enumerate(zip(result.measured.events, row.gain.windows, strict=False)):
        axes.axvspan(
            approximate(event.time_low - width), approximate(event.time_high + width),
            color=BAND, alpha=0.55, linewidth=0, gid=f"window-{r}",
            label=words,
        )  # fmt: skip
    step = result.path.system.horizon / row.depth
    wrong = row.runs.mismatches[:MAX_POINTS]
    if wrong:
        axes.plot([k * step for k in wrong], [0.04] * len(wrong), color=NO, marker="|",
                  linestyle="none", markersize=9, label="wrong support", gid="mismatches",
                  transform=axes.get_xaxis_transform())  # fmt: skip


def _legend(figure: Figure, *panels: Axes) -> None:
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=2, frameon=False,
        labelcolor=INK, columnspacing=1.4,
    )  # fmt: skip


def routing_words(result: RoutingResult, row: RoutingRow) -> str:
    """The figure in words."""
    parts = [
        f"At depth {row.depth} the executed support differs from the target's at "
        f"{len(row.inside)} of {row.depth} steps, {row.outside} of them outside the windows; the "
        f"executed path is at most {row.runs.state_error:.4g} from the target's, the run on the "
        f"target's route {row.runs.oracle_error:.4g}. Score noise is left out of the drawn gaps."
    ]
    if row.holds and row.gain is not None and row.gain.bound is not None:
        parts.append(f"The bound is {approximate(row.gain.bound):.4g}.")
    for r, change in enumerate(result.found[:MAX_PANELS]):
        time = float(result.path.times[change.point])
        parts.append(f"Event {r} at about {time:.4g}: {change.leaving} to {change.entering}.")
    return " ".join(parts)

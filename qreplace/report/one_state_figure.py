"""One state against time: v on K, the controls' trajectories, the target and what is missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qreplace.report.axes import finish, legend_below
from qreplace.report.palette import FLOOR, INK, PAPER, TOLERANCE
from qreplace.report.state_axes import (
    GRID_POINTS,
    distance_words,
    draw_controls,
    draw_levels,
    draw_start_and_target,
    finished,
    set_plain,
    visible_range,
)
from qreplace.report.state_plot import StatePlot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.3
"""Room right of the horizon for what happens there, as a share of it."""


def draw_one_state(axes: Axes, drawn: StatePlot) -> None:
    """The figure of a system with one state."""
    low, high = _range(drawn)
    axes.set_ylim(low, high)
    axes.set_xlim(0, drawn.horizon * (1 + MARGIN))
    _levels(axes, drawn, low, high)
    axes.axvline(drawn.horizon, color=INK, linewidth=0.8, zorder=1)
    draw_controls(axes, drawn)
    _at_the_end(axes, drawn)
    draw_start_and_target(axes, (0.0, drawn.initial[0]), (drawn.horizon, drawn.target[0]))
    set_plain(axes.set_title("state", loc="left", color=INK), drawn.names[0])
    axes.set_xlabel("time")
    legend_below(axes)
    finish(axes)
    ticks = [tick for tick in axes.get_xticks() if tick <= drawn.horizon * 1.0001]
    axes.set_xticks(ticks)


def _range(drawn: StatePlot) -> tuple[float, float]:
    target = drawn.target[0]
    core = [drawn.initial[0], target]
    for control in (drawn.relaxed, drawn.schedule):
        if control is not None:
            core += [state[0] for state in control.path.states]
    radii = (drawn.tolerance, drawn.floor or 0.0)
    extra = [target + sign * radius for radius in radii for sign in (-1, 1)]
    if drawn.shade is not None and drawn.shade.box is not None:
        extra += [drawn.shade.box[0][0], drawn.shade.box[1][0]]
    return visible_range(core, extra)


def _levels(axes: Axes, drawn: StatePlot, low: float, high: float) -> None:
    if drawn.shade is None:
        return
    import numpy as np

    if drawn.shade.box is not None:
        low, high = max(low, drawn.shade.box[0][0]), min(high, drawn.shade.box[1][0])
    times = np.linspace(0.0, drawn.horizon, GRID_POINTS)
    states = np.linspace(low, high, GRID_POINTS)
    t, z = np.meshgrid(times, states)
    draw_levels(axes, drawn.shade, t, z, t, z)


def _at_the_end(axes: Axes, drawn: StatePlot) -> None:
    """Right of the horizon: the tolerance, the floor, and how far the best control misses."""
    target, horizon = drawn.target[0], drawn.horizon
    axes.errorbar(
        [horizon * 1.035], [target], yerr=[[drawn.tolerance], [drawn.tolerance]], color=TOLERANCE,
        linewidth=2, capsize=5, capthick=2, linestyle="", label="tolerance", zorder=6,
    )[2][0].set_gid("tolerance")  # fmt: skip
    if drawn.floor is not None:
        name = "structural floor" if drawn.floor_is_checked else "declared floor"
        bar = axes.errorbar(
            [horizon * 1.085], [target], yerr=[[drawn.floor], [drawn.floor]], color=FLOOR,
            linewidth=2, capsize=5, capthick=2, linestyle="", label=name, zorder=6,
        )  # fmt: skip
        bar[2][0].set_gid("floor")
    if drawn.wall is not None and drawn.wall.normal[0]:
        height = drawn.wall.offset / drawn.wall.normal[0]
        axes.plot(
            [horizon * 0.97, horizon * 1.12], [height, height], color=FLOOR, linewidth=2,
            linestyle=":", label="reachable up to", zorder=6, gid="wall",
        )  # fmt: skip
    controls = finished(drawn)
    if controls:
        _distance(axes, drawn, controls[0].path.end[0], distance_words(controls[0]))


def _distance(axes: Axes, drawn: StatePlot, end: float, words: str) -> None:
    """A dimension line from where a control ends to the target."""
    target, place = drawn.target[0], drawn.horizon * 1.14
    for height in (end, target):
        axes.plot([drawn.horizon, place * 1.015], [height, height], color=INK, linewidth=0.7)
    axes.plot(
        [place, place], [end, target], color=INK, linewidth=1.2, marker="_", markersize=7,
        gid="distance",
    )  # fmt: skip
    axes.text(
        place * 1.015, (end + target) / 2, words.replace("at most ", "at most\n"), color=INK,
        fontsize=10, va="center", ha="left", zorder=8,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )  # fmt: skip

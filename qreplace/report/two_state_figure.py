"""Two states in their plane: levels of v at the end, trajectories, target and tolerance ball."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.report.axes import finish, legend_below
from qreplace.report.palette import FLOOR, INK, MUTED, PAPER, TOLERANCE
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
from qreplace.report.state_plot import StatePlot, Wall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CIRCLE = 180
"""Corners of a drawn circle."""
PANEL = 1.9
"""About how much wider than high the panel is, before it is known."""
MOST_STRETCHED = 3.0
"""Axes share one scale unless the plane is longer than this multiple of its width."""

Points = tuple[list[float], list[float]]
Ends = tuple[float, float]


def draw_two_states(axes: Axes, drawn: StatePlot) -> None:
    """The figure of a system with two states."""
    axes.set_gid("plane")
    across, up = _range(drawn, 0), _range(drawn, 1)
    stretch = (across[1] - across[0]) / (up[1] - up[0])
    one_scale = 1 / MOST_STRETCHED < stretch < MOST_STRETCHED
    if one_scale:
        across, up = _in_shape(across, up, PANEL)
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    _levels(axes, drawn, across, up)
    _box(axes, drawn)
    draw_controls(axes, drawn)
    _balls(axes, drawn)
    if drawn.wall is not None:
        _wall(axes, drawn.wall, across, up)
    controls = finished(drawn)
    if controls:
        _distance(axes, drawn, controls[0].path.end, distance_words(controls[0]))
    target = (drawn.target[0], drawn.target[1])
    draw_start_and_target(axes, (drawn.initial[0], drawn.initial[1]), target)
    set_plain(axes.set_title("state", loc="left", color=INK), drawn.names[1])
    set_plain(axes.set_xlabel("state"), drawn.names[0])
    legend_below(axes)
    finish(axes)
    if one_scale:
        _fit_panel(axes, across, up)


def unit_ball(norm: Norm) -> Points:
    """The corners of the norm's unit ball in the plane, closed."""
    corners = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    scale = (1.0, 1.0)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        scale = (1 / float(norm.weights[0]), 1 / float(norm.weights[1]))
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)) or norm == BlockL2Norm("block_l2", 1):
        corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    elif not isinstance(norm, (L1Norm, WeightedL1Norm)):
        angles = [2 * math.pi * k / CIRCLE for k in range(CIRCLE)]
        corners = [(math.cos(angle), math.sin(angle)) for angle in angles]
    closed = [*corners, corners[0]]
    return [x * scale[0] for x, _ in closed], [y * scale[1] for _, y in closed]


def _range(drawn: StatePlot, axis: int) -> Ends:
    target = drawn.target[axis]
    core = [drawn.initial[axis], target]
    for control in (drawn.relaxed, drawn.schedule):
        if control is not None:
            core += [state[axis] for state in control.path.states]
    reach = max(unit_ball(drawn.norm)[axis])
    radii = [drawn.tolerance * reach, (drawn.floor or 0.0) * reach]
    extra = [target + sign * radius for radius in radii for sign in (-1, 1)]
    if drawn.shade is not None and drawn.shade.box is not None:
        extra += [drawn.shade.box[0][axis], drawn.shade.box[1][axis]]
    return visible_range(core, extra)


def _fit_panel(axes: Axes, across: Ends, up: Ends) -> None:
    """Limits that give both axes one scale in the panel that titles and legend leave.

    A fixed aspect would do the same, but is not laid out together with a legend below the axes.
    """
    figure = axes.get_figure(root=True)
    if figure is None:
        return
    figure.draw_without_rendering()
    panel = axes.get_window_extent()
    across, up = _in_shape(across, up, panel.width / panel.height)
    axes.set_xlim(*across)
    axes.set_ylim(*up)


def _in_shape(across: Ends, up: Ends, shape: float) -> tuple[Ends, Ends]:
    """Both ranges about the same middles, one of them longer, so that the quotient is ``shape``."""
    across = _widened(across, shape * (up[1] - up[0]))
    return across, _widened(up, (across[1] - across[0]) / shape)


def _widened(ends: Ends, length: float) -> Ends:
    """The range about the same middle, at least so long."""
    room = max(0.0, (length - (ends[1] - ends[0])) / 2)
    return ends[0] - room, ends[1] + room


def _levels(axes: Axes, drawn: StatePlot, across: Ends, up: Ends) -> None:
    if drawn.shade is None:
        return
    import numpy as np

    sides = []
    for axis, (low, high) in enumerate((across, up)):
        if drawn.shade.box is not None:
            low, high = max(low, drawn.shade.box[0][axis]), min(high, drawn.shade.box[1][axis])
        sides.append(np.linspace(low, high, GRID_POINTS))
    x, y = np.meshgrid(*sides)
    draw_levels(axes, drawn.shade, x, y, np.full_like(x, drawn.horizon), x, y)


def _box(axes: Axes, drawn: StatePlot) -> None:
    if drawn.shade is None or drawn.shade.box is None:
        return
    (left, low), (right, high) = drawn.shade.box
    axes.plot(
        [left, right, right, left, left], [low, low, high, high, low], color=MUTED, linewidth=1,
        zorder=1, gid="box",
    )  # fmt: skip


def _balls(axes: Axes, drawn: StatePlot) -> None:
    """What lies within the tolerance, and within the floor, of the target."""
    x, y = unit_ball(drawn.norm)
    name = "structural floor" if drawn.floor_is_checked else "declared floor"
    dashed, dotted = (0, (7.0, 3.0)), (0, (1.0, 1.2))
    balls = [(drawn.tolerance, TOLERANCE, dashed, "tolerance", "tolerance")]
    if drawn.floor is not None:
        balls.append((drawn.floor, FLOOR, dotted, name, "floor"))
    for radius, colour, style, label, gid in balls:
        axes.plot(
            [drawn.target[0] + radius * c for c in x], [drawn.target[1] + radius * c for c in y],
            color=colour, linewidth=2, linestyle=style, label=label, zorder=6, gid=gid,
        )  # fmt: skip


def _wall(axes: Axes, wall: Wall, across: Ends, up: Ends) -> None:
    """The line ``normal . z = offset`` to beyond what is visible, whichever way it runs."""
    a, b = wall.normal
    across = _widened(across, 2 * (across[1] - across[0]))
    up = _widened(up, 2 * (up[1] - up[0]))
    if abs(b) * (up[1] - up[0]) >= abs(a) * (across[1] - across[0]) and b:
        x = list(across)
        y = [(wall.offset - a * place) / b for place in x]
    elif a:
        y = list(up)
        x = [(wall.offset - b * place) / a for place in y]
    else:
        return
    axes.plot(
        x, y, color=FLOOR, linewidth=1.6, linestyle=(0, (8, 2, 1, 2)), label="reachable up to",
        zorder=3, gid="wall",
    )  # fmt: skip


def _distance(axes: Axes, drawn: StatePlot, end: tuple[float, ...], words: str) -> None:
    axes.plot(
        [end[0], drawn.target[0]], [end[1], drawn.target[1]], color=INK, linewidth=1.2, zorder=6,
        gid="distance",
    )  # fmt: skip
    note = axes.annotate(
        words, (0.65 * end[0] + 0.35 * drawn.target[0], 0.65 * end[1] + 0.35 * drawn.target[1]),
        xytext=(9, -4), textcoords="offset points", va="top", color=INK, fontsize=10, zorder=8,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )  # fmt: skip
    note.set_in_layout(False)

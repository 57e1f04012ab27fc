"""Error fields over one or two inputs, side by side on one scale (QR Figure 18's kind)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qreplace.report.axes import finish, legend_below
from qreplace.report.field_plot import FieldPlot, Panel
from qreplace.report.palette import GRID, INK, MUTED, PAPER, PATH, STEPS, TOLERANCE, UPPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = 9
DARKEST = 0.85
"""Opacity of the largest error."""
CURVES = (PATH, STEPS)
STYLES = ("solid", (0, (4, 1.5)))


def draw_fields(axes: Axes, drawn: FieldPlot) -> None:
    """The figure: curves over one input, fields over two."""
    if len(drawn.panels[0].axes) == 1:
        _curves(axes, drawn)
    else:
        _fields(axes, drawn)


def _curves(axes: Axes, drawn: FieldPlot) -> None:
    for panel, colour, style in zip(drawn.panels, CURVES, STYLES, strict=False):
        axes.plot(
            panel.axes[0], panel.errors, color=colour, linewidth=2, linestyle=style,
            label=panel.title, zorder=3,
        )  # fmt: skip
        if panel.worst is not None and panel.upper is not None:
            axes.plot(
                [panel.worst[0]], [panel.upper], marker="v", color=colour, markersize=7,
                linestyle="", markeredgecolor=INK, zorder=4,
            )  # fmt: skip
    if drawn.allowed is not None:
        axes.axhline(
            drawn.allowed, color=TOLERANCE, linewidth=2, linestyle=(0, (7, 3)), label="tolerance",
            gid="tolerance",
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlabel("input")
    axes.set_title("error", loc="left", color=INK)
    legend_below(axes)
    finish(axes)


def _fields(axes: Axes, drawn: FieldPlot) -> None:
    """Both panels share the levels, so that equal shades are equal errors."""
    axes.set_axis_off()
    top = max(panel.largest for panel in drawn.panels) or 1.0
    levels = _round_levels(top)
    count = len(drawn.panels)
    width = 1.0 if count == 1 else 0.47
    for index, panel in enumerate(drawn.panels):
        own = axes.inset_axes((index * (1 - width), 0.2, width, 0.72))
        _field(own, panel, levels)
        own.tick_params(labelleft=index == 0)
    _key(axes.inset_axes((0.15, 0.05, 0.7, 0.045)), levels)


def _field(axes: Axes, panel: Panel, levels: list[float]) -> None:
    from matplotlib.patches import Polygon
    from matplotlib.ticker import MaxNLocator

    border = Polygon(panel.border, closed=True, transform=axes.transData)
    field = axes.contourf(
        *panel.axes, panel.errors, levels=levels, colors=_shades(len(levels) - 1),
        zorder=1,
    )  # fmt: skip
    field.set_clip_path(border)
    field.set_gid("field")
    axes.plot(*zip(*panel.border, strict=True), color=MUTED, linewidth=0.8, zorder=3)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    across: list[float] = []
    up: list[float] = []
    for (ax, ay), (bx, by) in panel.edges:
        across += [ax, bx, math.nan]
        up += [ay, by, math.nan]
    axes.plot(across, up, color=INK, linewidth=0.25, alpha=0.55, zorder=2, gid="cells")
    if panel.worst is not None:
        axes.plot(
            [panel.worst[0]], [panel.worst[1]], marker="P", markersize=9, color=TOLERANCE,
            markeredgecolor=PAPER, markeredgewidth=0.8, linestyle="", zorder=4, gid="worst",
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_facecolor(PAPER)
    axes.tick_params(colors=MUTED, labelsize=9)
    for side in axes.spines.values():
        side.set_color(GRID)
    axes.set_title(panel.title, color=INK, fontsize=11)


def _key(axes: Axes, levels: list[float]) -> None:
    """The shades with their errors."""
    for low, high, shade in zip(levels, levels[1:], _shades(len(levels) - 1), strict=False):
        axes.axvspan(low, high, color=shade, linewidth=0)
    axes.set_xlim(levels[0], levels[-1])
    axes.set_yticks([])
    axes.set_xlabel("error; the cross marks the worst input found", color=INK, fontsize=10)
    axes.tick_params(colors=MUTED, labelsize=9)
    for side in axes.spines.values():
        side.set_color(GRID)


def _shades(count: int) -> list[tuple[str, float]]:
    return [(UPPER, 0.04 + (DARKEST - 0.04) * k / max(1, count - 1)) for k in range(count)]


def _round_levels(top: float) -> list[float]:
    """Round numbers from 0 to at least ``top``."""
    power = 10.0 ** math.floor(math.log10(top / LEVELS))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power * LEVELS >= top)
    return [k * step for k in range(math.ceil(top / step - 1e-9) + 1)]

"""Error interval against depth, with the tolerance line and the structural floor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qreplace.report.axes import (
    error_title,
    finish,
    legend_below,
    mark_best,
    set_error_axis,
    set_wide_axis,
    tolerance_line,
    verdict_markers,
)
from qreplace.report.palette import BAND, FLOOR, LOWER, MUTED, UPPER
from qreplace.report.plot_data import PlotData, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_interval(axes: Axes, data: PlotData) -> None:
    """The figure; rows without an upper end show their lower end only."""
    bounded = [point for point in data.points if not math.isnan(point.upper)]
    set_wide_axis(axes, [float(point.depth) for point in data.points], whole=True)
    set_error_axis(axes, data)
    _floor(axes, data)
    _band(axes, list(data.points), bounded)
    tolerance_line(axes, data)
    verdict_markers(axes, [(point.depth, point.upper, point.tone) for point in bounded])
    if data.best is not None and not math.isnan(data.best.upper):
        mark_best(axes, data.best.depth, data.best.upper, f"best: depth {data.best.depth:,}")
    if not bounded:
        axes.text(
            0.5, 0.62, "no upper end is known at any depth",
            transform=axes.transAxes, ha="center", color=MUTED,
        )  # fmt: skip
    axes.set_xlabel("depth (low-bit steps)")
    error_title(axes, data, "error")
    legend_below(axes)
    finish(axes)


def _band(axes: Axes, points: list[Point], bounded: list[Point]) -> None:
    base = axes.get_ylim()[0]
    lower = [max(point.lower, base) for point in points]
    if bounded:
        depths = [point.depth for point in bounded]
        uppers = [point.upper for point in bounded]
        floors = [max(point.lower, base) for point in bounded]
        axes.fill_between(
            depths, floors, uppers, color=BAND, alpha=0.55, linewidth=0, gid="interval"
        )
        axes.plot(depths, uppers, color=UPPER, linewidth=1.6, label="error at most", gid="upper")
    if any(point.lower > 0 for point in points):
        axes.plot(
            [point.depth for point in points], lower,
            color=LOWER, linewidth=1.6, linestyle=(0, (5, 2)), label="error at least", gid="lower",
        )  # fmt: skip


def _floor(axes: Axes, data: PlotData) -> None:
    if data.floor is None:
        return
    lower, upper = data.floor
    if lower <= 0 and math.isnan(upper):
        return
    top = lower if math.isnan(upper) else upper
    base = axes.get_ylim()[0]
    axes.axhspan(max(lower, base), top, color=FLOOR, alpha=0.14, linewidth=0, gid="floor")
    for end in sorted({lower, top}):
        if end > base:
            axes.axhline(end, color=FLOOR, linewidth=1.3, linestyle=":")
    axes.plot([], [], color=FLOOR, linewidth=1.6, linestyle=":", label="structural floor")

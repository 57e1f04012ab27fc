"""Error against declared cost: every reported depth, and the frontier that no other beats."""

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
from qreplace.report.palette import MUTED, UPPER
from qreplace.report.plot_data import PlotData

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_frontier(axes: Axes, data: PlotData) -> None:
    """The figure; a study without upper ends has no frontier and says so."""
    priced = [point for point in data.points if not math.isnan(point.upper)]
    set_wide_axis(axes, [point.cost for point in priced], whole=False)
    set_error_axis(axes, data, uppers_only=True)
    tolerance_line(axes, data)
    if data.frontier:
        axes.step(
            [point.cost for point in data.frontier],
            [point.upper for point in data.frontier],
            where="post", color=UPPER, linewidth=1.6, label="frontier", gid="frontier",
        )  # fmt: skip
    else:
        axes.text(
            0.5, 0.62, "no upper end is known, so there is no frontier",
            transform=axes.transAxes, ha="center", color=MUTED,
        )  # fmt: skip
    verdict_markers(axes, [(point.cost, point.upper, point.tone) for point in priced])
    if data.best is not None and not math.isnan(data.best.upper):
        mark_best(axes, data.best.cost, data.best.upper, f"best: depth {data.best.depth:,}")
    axes.set_xlabel("declared cost (a proxy)")
    error_title(axes, data, "error at most")
    legend_below(axes)
    finish(axes)

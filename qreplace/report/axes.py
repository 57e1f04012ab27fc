"""What both figures share: scales, the tolerance line, markers by verdict, the legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qreplace.report.palette import GRID, INK, MUTED, NO, PAPER, TOLERANCE, YES
from qreplace.report.plot_data import LARGEST, PlotData, wide
from qreplace.report.words import Tone

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS: dict[Tone, tuple[str, str, str, str]] = {
    "yes": ("o", YES, YES, "meets it"),
    "no": ("X", NO, PAPER, "cannot meet it"),
    "open": ("o", PAPER, MUTED, "open"),
}
"""Marker, face, edge and words of a verdict's rows."""


def set_wide_axis(axes: Axes, values: Sequence[float], *, whole: bool) -> None:
    """The horizontal axis: logarithmic when the values span a wide range."""
    from matplotlib.ticker import MaxNLocator

    if not values:
        axes.set_xticks([])
        return
    first, last = min(values), max(values)
    if wide(list(values)) and first > 0:
        axes.set_xscale("log")
        axes.set_xlim(first / 1.12, last * 1.12)
        _plain_ticks(axes, first, last)
        return
    room = (last - first) * 0.05 or max(abs(first) * 0.2, 0.5)
    axes.set_xlim(first - room, last + room)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=whole))


def _plain_ticks(axes: Axes, first: float, last: float) -> None:
    """Powers of two or ten with their plain numbers, few enough to read."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    base = 2.0 if last / first <= 2000 else 10.0
    low, high = math.floor(math.log(first, base)), math.ceil(math.log(last, base))
    stride = max(1, math.ceil((high - low) / 7))
    ticks = [base**power for power in range(low, high + 1, stride)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def _plain(value: float) -> str:
    return f"{value:,.0f}" if 1 <= value < 1e6 else f"{value:g}"


def set_error_axis(axes: Axes, data: PlotData, *, uppers_only: bool = False) -> None:
    """The vertical axis: from 0, or logarithmic when errors span a wide range."""
    set_value_axis(axes, data.errors(uppers_only=uppers_only))


def set_value_axis(axes: Axes, known: Sequence[float]) -> None:
    """The vertical axis of these values: from 0, or logarithmic when they span a wide range."""
    positive = [end for end in known if end > 0] or [1.0]
    top = max(positive)
    if wide(positive):
        axes.set_yscale("log")
        axes.set_ylim(min(positive) / 1.6, top * 1.6)
        _decimal_ticks(axes, top / min(positive))
    else:
        axes.set_ylim(0, top * 1.1)


def _decimal_ticks(axes: Axes, span: float) -> None:
    """1, 2 and 5 in every decade while there are few decades, else the decades alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    steps = (1.0, 2.0, 5.0) if span < 2000 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps, numticks=9))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def error_title(axes: Axes, data: PlotData, words: str) -> None:
    """What the vertical axis shows, written level above it."""
    beyond = max(data.errors()) >= LARGEST
    note = f" (drawn no higher than {LARGEST:g})" if beyond else ""
    axes.set_title(words + note, loc="left", color=INK)


def tolerance_line(axes: Axes, data: PlotData) -> None:
    """One line for a tolerance, a span between two for an interval."""
    base = axes.get_ylim()[0]  # a tolerance of 0 lies on the edge of a logarithmic axis
    lower, upper = (max(end, base) for end in data.tolerance)
    axes.axhline(
        upper, color=TOLERANCE, linewidth=2, linestyle=(0, (7, 3)), label="tolerance",
        gid="tolerance",
    )  # fmt: skip
    if lower < upper:
        axes.axhline(lower, color=TOLERANCE, linewidth=2, linestyle=(0, (7, 3)))
        axes.axhspan(lower, upper, color=TOLERANCE, alpha=0.12, linewidth=0)


def verdict_markers(axes: Axes, places: Sequence[tuple[float, float, Tone]]) -> None:
    """A marker for every row, its shape telling the verdict."""
    size = 46 if len(places) <= 40 else 22
    for tone, (marker, face, edge, words) in _MARKERS.items():
        found = [(x, y) for x, y, own in places if own == tone]
        if found:
            axes.scatter(
                [x for x, _ in found], [y for _, y in found],
                s=size, marker=marker, facecolor=face, edgecolor=edge,
                linewidth=0.6 if tone == "no" else 1.2, label=words, zorder=3, gid=f"rows-{tone}",
            )  # fmt: skip


def mark_best(axes: Axes, x: float, y: float, words: str) -> None:
    """A ring around the best candidate and its name beside it."""
    axes.scatter(
        [x], [y], s=190, marker="o", facecolor="none", edgecolor=INK, linewidth=2, zorder=4,
        gid="best",
    )  # fmt: skip
    right = axes.transLimits.transform(axes.transScale.transform((x, y)))[0] > 0.7
    note = axes.annotate(
        words, (x, y), xytext=(-12 if right else 12, 14), textcoords="offset points",
        ha="right" if right else "left", color=INK, weight="bold", zorder=5,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
    )  # fmt: skip
    note.set_in_layout(False)


def legend_below(axes: Axes) -> None:
    """The legend under the axes, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.figure.legend(
            handles, labels, loc="outside lower center", ncols=3, frameon=False,
            labelcolor=INK, handlelength=2.2, columnspacing=1.4,
        )  # fmt: skip


def finish(axes: Axes) -> None:
    """Quiet axes: two spines, a light grid."""
    axes.set_facecolor(PAPER)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=MUTED, which="both")
    axes.xaxis.label.set_color(INK)

"""The phase diagram's figures: error against depth, and over depth and state bits.

Floats are used for drawing only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from qreplace.exact.rational import approximate
from qreplace.report.axes import finish, mark_best, set_value_axis, set_wide_axis
from qreplace.report.figures import render
from qreplace.report.palette import INK, MUTED, NO, PAPER, PATH, STEPS, UPPER, VALUE
from qreplace.simulate.phase_table import WORDS, Curve, PhaseTable, shown_short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from qreplace.simulate.phase import HeatMap

SIZE = (10.0, 5.4)
LOOKS: dict[Curve, tuple[str, str, Literal["-", "none"]]] = {
    "ideal": (MUTED, ".", "-"),
    "write_back": (NO, "o", "-"),
    "increment": (STEPS, "D", "none"),
    "rounded_carry": (VALUE, "^", "-"),
    "error_feedback": (UPPER, "s", "-"),
    "scaled_feedback": (PATH, "v", "-"),
}
"""Colour, marker and line of each curve; no two share a marker."""
PANELS: tuple[tuple[str, tuple[Curve, ...]], ...] = (
    ("rounding errors add up", ("write_back", "increment", "ideal")),
    ("rounding errors are fed back",
     ("rounded_carry", "error_feedback", "scaled_feedback", "ideal")),
)  # fmt: skip
FREEZING: dict[str, Any] = {"color": INK, "linewidth": 1.6, "linestyle": (0, (1, 1.5))}
OPTIMUM: dict[str, Any] = {"color": NO, "linewidth": 1.3, "linestyle": (0, (5, 2, 1, 2))}
MAX_LEVELS = 8
DECADES = range(-30, 31)


def phase_figure(table: PhaseTable) -> dict[str, bytes]:
    """``phase.svg`` and ``phase.png``: measured errors and their predictions against depth."""

    def fill(figure: Figure) -> None:
        panels = [
            (words, [curve for curve in curves if curve in table.plan.curves])
            for words, curves in PANELS
        ]
        panels = [(words, curves) for words, curves in panels if curves]
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (words, curves) in zip(every, panels, strict=True):
            _panel(axes, table, curves, words)
        _legend(figure, table)

    return render("phase", fill, "Error against depth in each semantics", phase_words(table), SIZE)


def _panel(axes: Axes, table: PhaseTable, curves: Sequence[Curve], words: str) -> None:
    set_wide_axis(axes, [float(depth) for depth in table.plan.depths], whole=True)
    set_value_axis(axes, _heights(table))
    for curve in reversed(curves):
        _curve(axes, table, curve)
    if "write_back" in curves:
        _freezing_line(axes, table)
        _optimum(axes, table)
    axes.set_xlabel("depth D (steps)")
    axes.set_title(f"error, linf: {words}", loc="left", color=INK)
    finish(axes)


def _heights(table: PhaseTable) -> list[float]:
    found = [approximate(row.error) for row in table.rows]
    found += [approximate(row.predicted) for row in table.rows if row.predicted is not None]
    return [value for value in found if value > 0]


def _curve(axes: Axes, table: PhaseTable, curve: Curve) -> None:
    colour, marker, line = LOOKS[curve]
    rows = table.by_curve[curve]
    hollow = curve == "increment"  # it lies on write-back where the start is on the grid
    axes.plot(
        [row.depth for row in rows],
        [approximate(row.error) or math.nan for row in rows],
        color=colour, marker=marker, linestyle=line, linewidth=1.5,
        markersize=9 if hollow else 4.5, markerfacecolor="none" if hollow else colour,
        gid=f"measured-{curve}",
        clip_on=False, zorder=2.5,
    )  # fmt: skip
    bounded = [(row.depth, row.predicted) for row in rows if row.predicted is not None]
    axes.plot(
        [depth for depth, _ in bounded],
        [approximate(predicted) for _, predicted in bounded],
        color=colour, linestyle=(0, (4, 2)), linewidth=1.2, gid=f"predicted-{curve}",
    )  # fmt: skip


def _freezing_line(axes: Axes, table: PhaseTable) -> None:
    depth = approximate(table.freezing_depth)
    low, high = axes.get_xlim()
    if low < depth < high:
        axes.axvline(depth, gid="freezing", **FREEZING)


def _optimum(axes: Axes, table: PhaseTable) -> None:
    low, high = axes.get_xlim()
    if low < table.optimum < high:
        axes.axvline(table.optimum, gid="optimum", **OPTIMUM)
    best = table.measured_optimum
    if best is not None and best.error:
        mark_best(axes, best.depth, approximate(best.error), "")


def _legend(figure: Figure, table: PhaseTable) -> None:
    from matplotlib.lines import Line2D

    slopes: dict[Curve, list[str]] = {}
    for slope in table.slopes:
        if slope.slope is not None:
            slopes.setdefault(slope.curve, []).append(f"{slope.slope:+.2f}".replace("-", "−"))
    handles = []
    for curve in table.plan.curves:
        colour, marker, line = LOOKS[curve]
        hollow = curve == "increment"
        words = WORDS[curve]
        if curve in slopes:
            words += f" (slope {', '.join(slopes[curve])})"
        handles.append(
            Line2D([], [], color=colour, marker=marker, linestyle=line, label=words,
                   markersize=8 if hollow else 5, markerfacecolor="none" if hollow else colour)
        )  # fmt: skip
    handles.append(
        Line2D([], [], color=INK, linestyle=(0, (4, 2)), linewidth=1.2,
               label="predicted at most (same colour)")
    )  # fmt: skip
    if "write_back" in table.plan.curves:
        handles += _write_back_handles(table)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK,
        columnspacing=1.2,
    )  # fmt: skip


def _write_back_handles(table: PhaseTable) -> list[Line2D]:
    from matplotlib.lines import Line2D

    frozen = f"frozen beyond D = 2TB/Δ = {approximate(table.freezing_depth):,.0f}"
    handles = [Line2D([], [], label=frozen, **FREEZING)]
    if table.optimum > 0:
        words = f"predicted optimum, D = {table.optimum:,.0f}"
        handles.append(Line2D([], [], label=words, **OPTIMUM))
    best = table.measured_optimum
    if best is not None:
        handles.append(
            Line2D([], [], color=INK, marker="o", linestyle="none", markersize=10,
                   markerfacecolor="none", markeredgewidth=2,
                   label=f"measured optimum, D = {best.depth:,}")
        )  # fmt: skip
    return handles


def phase_words(table: PhaseTable) -> str:
    """The figure in words."""
    first, last = table.plan.depths[0], table.plan.depths[-1]
    words = f"Endpoint error (linf) at {len(table.plan.depths)} depths from {first} to {last}. "
    for curve in table.plan.curves:
        best = table.best(curve)
        words += (
            f"{WORDS[curve].capitalize()}: smallest error {shown_short(best.error)} at depth "
            f"{best.depth}, {shown_short(table.by_curve[curve][-1].error)} at the last. "
        )
    words += (
        f"Nearest write-back is frozen beyond depth {approximate(table.freezing_depth):,.0f}; "
        "no measured error exceeds its dashed prediction."
    )
    return words


# --- error over depth and state bits ------------------------------------------------------------


def heat_figure(found: HeatMap) -> dict[str, bytes]:
    """``heat.svg`` and ``heat.png``: a panel each for write-back and for error feedback."""
    levels = _Levels.of([approximate(row.error) for row in found.rows.values()])

    def fill(figure: Figure) -> None:
        from matplotlib.patches import Patch

        both = figure.subplots(1, 2, sharey=True)
        curves: tuple[Curve, Curve] = ("write_back", "error_feedback")
        for axes, curve in zip(both, curves, strict=True):
            _heat_panel(axes, found, curve, levels)
        both[0].set_ylabel("state bits", color=INK)
        patches = [
            Patch(facecolor=(UPPER, levels.alpha(k)), edgecolor=MUTED, linewidth=0.6, label=words)
            for k, words in enumerate(levels.words)
        ]
        figure.legend(
            handles=[*patches, *_heat_lines()], loc="outside lower center", ncols=4, frameon=False,
            labelcolor=INK, columnspacing=1.4,
        )  # fmt: skip

    return render("heat", fill, "Error over depth and state bits", heat_words(found), SIZE)


class _Levels:
    """Errors in classes of one decade, or of several where there are too many decades."""

    def __init__(self, first: int, stride: int, count: int) -> None:
        self.first, self.stride, self.count = first, stride, count

    @classmethod
    def of(cls, errors: Sequence[float]) -> _Levels:
        """Classes for these errors; an error of 0 falls in the first one."""
        powers = [math.floor(math.log10(error)) for error in errors if error > 0] or [0]
        low, high = max(min(powers), DECADES[0]), min(max(powers), DECADES[-1])
        stride = -(-(high - low + 1) // MAX_LEVELS)
        return cls(low, stride, -(-(high - low + 1) // stride))

    def level(self, error: float) -> int:
        """The class of an error, from 0."""
        if error <= 0:
            return 0
        power = math.floor(math.log10(error))
        return min(max((power - self.first) // self.stride, 0), self.count - 1)

    def alpha(self, level: int) -> float:
        """How strong the colour of a class is."""
        return 0.06 + 0.94 * level / max(1, self.count - 1)

    @property
    def words(self) -> list[str]:
        """The class in words."""
        ends = [self.first + k * self.stride for k in range(self.count + 1)]
        return [f"error 1e{a} to 1e{b}" for a, b in pairwise(ends)]


def _heat_panel(axes: Axes, found: HeatMap, curve: Curve, levels: _Levels) -> None:
    from matplotlib.patches import Rectangle

    depths, bits = found.plan.depths, found.bits
    x, y = _edges([math.log2(d) for d in depths]), _edges([float(b) for b in bits])
    set_wide_axis(axes, [float(depth) for depth in depths], whole=True)
    axes.set_xlim(2 ** x[0], 2 ** x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_yticks(bits)
    for row, width in enumerate(bits):
        for column, depth in enumerate(depths):
            cell = found.rows[curve, width, depth]
            left, right = 2 ** x[column], 2 ** x[column + 1]
            axes.add_patch(
                Rectangle((left, y[row]), right - left, y[row + 1] - y[row],
                          facecolor=(UPPER, levels.alpha(levels.level(approximate(cell.error)))),
                          edgecolor=PAPER, linewidth=0.8)
            )  # fmt: skip
        _best_mark(axes, found, curve, width)
    if curve == "write_back":
        fine = [(width, approximate(found.freezing[width])) for width in bits]
        _haloed(axes, [d for _, d in fine], [b for b, _ in fine], INK, (0, (1, 1.2)), "freezing")
        known = [(width, depth) for width, depth in found.optimum.items() if depth > 0]
        _haloed(axes, [d for _, d in known], [b for b, _ in known], NO, (0, (5, 2)), "optimum")
    axes.set_xlabel("depth D (steps)")
    axes.set_title(f"error, linf: {WORDS[curve]}", loc="left", color=INK)
    finish(axes)
    axes.grid(False)


def _best_mark(axes: Axes, found: HeatMap, curve: Curve, width: int) -> None:
    """A dot on the smallest measured error of a width."""
    rows = [found.rows[curve, width, depth] for depth in found.plan.depths]
    best = min(rows, key=lambda row: (row.error, row.depth))
    axes.scatter(
        [best.depth], [width], s=26, marker="o", facecolor=PAPER, edgecolor=INK, linewidth=1.2,
        zorder=4,
    )  # fmt: skip


def _haloed(
    axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, dashes: Any, gid: str
) -> None:
    """A line that shows on every cell: on a stripe of the paper's colour."""
    axes.plot(x, y, color=PAPER, linewidth=5, alpha=0.9, solid_capstyle="round", zorder=3)
    axes.plot(x, y, color=colour, linewidth=2, linestyle=dashes, zorder=3.5, gid=gid)


def _heat_lines() -> list[Line2D]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=INK, linewidth=2, linestyle=(0, (1, 1.2)),
               label="freezing line D = 2TB/Δ"),
        Line2D([], [], color=NO, linewidth=2, linestyle=(0, (5, 2)),
               label="predicted optimum"),
        Line2D([], [], color=INK, marker="o", linestyle="none", markersize=5,
               markerfacecolor=PAPER, label="smallest measured"),
    ]  # fmt: skip


def _edges(centres: Sequence[float]) -> list[float]:
    """Cell borders: the middles, and as far out at both ends."""
    if len(centres) == 1:
        return [centres[0] - 0.5, centres[0] + 0.5]
    middles = [(a + b) / 2 for a, b in pairwise(centres)]
    first = centres[0] - (middles[0] - centres[0])
    last = centres[-1] + (centres[-1] - middles[-1])
    return [first, *middles, last]


def heat_words(found: HeatMap) -> str:
    """The heat map in words."""
    words = (
        f"Error (linf) over {len(found.plan.depths)} depths and state widths from "
        f"{found.bits[0]} to {found.bits[-1]} bits. "
    )
    curves: tuple[Curve, Curve] = ("write_back", "error_feedback")
    for width in (found.bits[0], found.bits[-1]):
        for curve in curves:
            rows = [found.rows[curve, width, depth] for depth in found.plan.depths]
            best = min(rows, key=lambda row: (row.error, row.depth))
            words += (
                f"At {width} bits {WORDS[curve]} is best at depth {best.depth}, with error "
                f"{shown_short(best.error)}. "
            )
    return words.rstrip()

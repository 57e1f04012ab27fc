"""What the figures of one and of two states share: levels of v, paths, the target, text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from qreplace.report.palette import BAND, FLOOR, INK, PAPER, PATH, STEPS, TOLERANCE, VALUE
from qreplace.report.state_plot import Control, Shade, StatePlot
from qreplace.report.text import REPLACEMENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_POINTS = 121
LEVELS = 7
MARKED_STEPS = 64
"""Schedules up to this long show every step as a dot."""
DRAWN_STEPS = 800
"""Longer paths are thinned to about so many points."""
FARTHEST = 6.0
"""A box or a tolerance that reaches further than this multiple of the rest is cut off."""


def plain(text: str) -> str:
    """User text as the figures' font can show it."""
    known = _characters()
    return "".join(c if ord(c) in known else REPLACEMENT for c in text)


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def set_plain(text: Any, words: str) -> None:
    """Set a text of matplotlib to the user's words, without reading any markup in it."""
    text.set_parse_math(False)
    text.set_text(plain(words))


def visible_range(core: Sequence[float], extra: Sequence[float]) -> tuple[float, float]:
    """Limits that hold ``core``, and ``extra`` unless it is far away, with a little room."""
    inner = [x for x in core if math.isfinite(x)]
    low, high = min(inner), max(inner)
    span = (high - low) or max(abs(high), 1.0) * 0.5
    far_low, far_high = low - FARTHEST * span, high + FARTHEST * span
    for x in extra:
        if math.isfinite(x):
            low, high = min(low, max(x, far_low)), max(high, min(x, far_high))
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


# --- levels ---------------------------------------------------------------------------------------


def draw_levels(axes: Axes, shade: Shade, horizontal: Any, vertical: Any, *grid: Any) -> None:
    """Levels of the function inside its region, and what lies beyond the level that binds.

    ``grid`` are the arrays of ``t`` and the states; ``horizontal`` and ``vertical`` those two of
    them that the axes show.
    """
    import numpy as np

    inside = np.ones(np.shape(horizontal), dtype=bool)
    if shade.box is not None:
        for z, low, high in zip(grid[1:], *shade.box, strict=True):
            inside &= (z >= low) & (z <= high)
    for constraint in shade.constraints:
        inside &= constraint.on(*grid) >= 0
    values = shade.function.on(*grid)
    known = inside & np.isfinite(values) & (np.abs(values) < 1e100)
    if shade.box is not None or shade.constraints:
        axes.contourf(
            horizontal, vertical, inside.astype(float), levels=[0.5, 1.5], colors=[BAND],
            alpha=0.35, zorder=0,
        ).set_gid("region")  # fmt: skip
        axes.fill([], [], color=BAND, alpha=0.5, label="region K")
    if not known.any():
        return
    shown = np.ma.masked_array(values, mask=~known)
    _beyond(axes, shade, horizontal, vertical, shown, ends=len(grid) > 2)
    if math.isfinite(shade.level):  # the thin lines stay on the side that can be reached
        away = values < shade.level if shade.rises else values > shade.level
        shown = np.ma.masked_array(values, mask=~known | away)
    if shown.count() == 0:
        return
    low, high = float(shown.min()), float(shown.max())
    if high - low > 1e-12 * max(abs(low), abs(high)):
        levels = np.linspace(low, high, LEVELS + 2)[1:-1]
        lines = axes.contour(
            horizontal, vertical, shown, levels=levels, colors=[VALUE], linewidths=0.8,
            linestyles="solid", alpha=0.75, zorder=1,
        )  # fmt: skip
        lines.set_gid("levels")
        axes.clabel(
            lines, levels[::2], fontsize=8.5, fmt=lambda level: f"{level:.3g}", colors=[VALUE]
        )
        axes.plot([], [], color=VALUE, linewidth=0.9, label=f"levels of {shade.symbol}")


def _beyond(
    axes: Axes, shade: Shade, horizontal: Any, vertical: Any, shown: Any, *, ends: bool
) -> None:
    """The level that no control crosses (``ends``: at the end), and the side that none reaches."""
    if not math.isfinite(shade.level):
        return
    low, high = float(shown.min()), float(shown.max())
    room = abs(high - low) or 1.0
    away = [low - room, shade.level] if shade.rises else [shade.level, high + room]
    if (low < shade.level) if shade.rises else (high > shade.level):
        area = axes.contourf(
            horizontal, vertical, shown, levels=away, colors=[PAPER], hatches=["//"], zorder=0.5
        )
        area.set(edgecolor=FLOOR, linewidth=0, gid="beyond")
        axes.fill([], [], facecolor=PAPER, edgecolor=FLOOR, hatch="//", label="out of reach")
    if low < shade.level < high:
        axes.contour(
            horizontal, vertical, shown, levels=[shade.level], colors=[VALUE], linewidths=5,
            linestyles="solid", alpha=0.5, zorder=2,
        ).set_gid("level")  # fmt: skip
        kept = "ends" if ends else "stays"
        name = f"{shade.symbol} {kept} {'above' if shade.rises else 'below'}"
        axes.plot([], [], color=VALUE, linewidth=5, alpha=0.5, label=name)


# --- paths ----------------------------------------------------------------------------------------


def draw_controls(axes: Axes, drawn: StatePlot) -> None:
    """The relaxed control as a line, the schedule step by step."""
    if drawn.relaxed is not None:
        x, y = _line(drawn.relaxed)
        axes.plot(x, y, color=PATH, linewidth=2.4, label="relaxed control", zorder=4, gid="relaxed")
    if drawn.schedule is not None:
        x, y = _line(drawn.schedule)
        few = (drawn.schedule.depth or 0) <= MARKED_STEPS
        axes.plot(
            x, y, color=STEPS, linewidth=1.4, linestyle=(0, (4, 1.5)),
            marker="s" if few else "", markersize=3,
            label=f"schedule, depth {drawn.schedule.depth:,}", zorder=5, gid="schedule",
        )  # fmt: skip


def _line(control: Control) -> tuple[list[float], list[float]]:
    """The points of a path: time and state, or the two states."""
    path = control.path
    stride = max(1, len(path.times) // DRAWN_STEPS)
    places = sorted({*range(0, len(path.times), stride), len(path.times) - 1})
    if len(path.end) == 1:
        return [path.times[k] for k in places], [path.states[k][0] for k in places]
    return [path.states[k][0] for k in places], [path.states[k][1] for k in places]


def finished(drawn: StatePlot) -> list[Control]:
    """The controls whose end is known, the one that is drawn with its distance first."""
    both = (drawn.relaxed, drawn.schedule)
    return [control for control in both if control is not None and control.path.finished]


def draw_start_and_target(
    axes: Axes, start: tuple[float, float], target: tuple[float, float]
) -> None:
    """A dot at the start and a cross-hair at the target."""
    axes.plot(
        [start[0]], [start[1]], marker="o", markersize=7, color=INK, linestyle="", label="start",
        zorder=6, gid="start",
    )  # fmt: skip
    axes.plot(
        [target[0]], [target[1]], marker="P", markersize=10, color=TOLERANCE, linestyle="",
        markeredgecolor=INK, markeredgewidth=0.8, label="target", zorder=7, gid="target",
    )  # fmt: skip


def distance_words(control: Control) -> str:
    """The claim's bound of the distance that is drawn."""
    from qreplace.report.decimals import decimal

    if control.upper is None:
        return ""
    return f"at most {decimal(control.upper, up=True, digits=4)}"

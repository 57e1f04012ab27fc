"""The figures as SVG and PNG: error against depth and against cost, and the states' paths.

Floats are used for drawing only. The same document gives the same bytes: identifiers come from a
fixed salt, fonts ship with matplotlib, and no date is written.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from qreplace.report.context import ReportContext
from qreplace.report.field_figure import draw_fields
from qreplace.report.field_plot import field_plot
from qreplace.report.frontier_figure import draw_frontier
from qreplace.report.interval_figure import draw_interval
from qreplace.report.one_state_figure import draw_one_state
from qreplace.report.palette import PAPER
from qreplace.report.plot_data import plot_data
from qreplace.report.state_plot import state_plot
from qreplace.report.two_state_figure import draw_two_states

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (6.4, 4.3)
"""Inches; 72 SVG units an inch."""
PNG_DPI = 150
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "qreplace",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 12.0,
    "axes.labelsize": 12.0,
    "axes.titlesize": 12.0,
    "xtick.labelsize": 11.0,
    "ytick.labelsize": 11.0,
    "legend.fontsize": 11.0,
    "axes.unicode_minus": True,
    "path.simplify": False,
    "hatch.linewidth": 0.6,
}
_LOCK = threading.Lock()
"""matplotlib's settings belong to the process; one figure is drawn at a time."""
_METADATA = re.compile(rb"\s*<metadata>.*?</metadata>|<!DOCTYPE.*?>\s*", re.DOTALL)
_ROOT = re.compile(rb"<svg\b[^>]*>")

Draw = Callable[["Axes"], None]


def draw(document: dict[str, Any], context: ReportContext | None = None) -> dict[str, bytes]:
    """``figures/interval`` and ``figures/frontier``, each as ``.svg`` and ``.png``.

    With the context of a system of one or two states, whose claims hold a value function, a
    functional or a control, ``figures/states`` too; with claims about maps of one or two inputs,
    ``figures/fields``.
    """
    data = plot_data(document)
    drawings: list[tuple[str, Draw, str, str]] = [
        ("interval", partial(draw_interval, data=data), "Error against depth", data.interval_words),
        ("frontier", partial(draw_frontier, data=data), "Error against cost", data.frontier_words),
    ]
    states = state_plot(document, context) if context is not None else None
    if states is not None:
        fill = draw_one_state if len(states.names) == 1 else draw_two_states
        drawings.append(("states", partial(fill, drawn=states), "The states' paths", states.words))
    fields = field_plot(document, context) if context is not None else None
    if fields is not None:
        title = "The error over the inputs"
        drawings.append(("fields", partial(draw_fields, drawn=fields), title, fields.words))
    files: dict[str, bytes] = {}
    for name, fill_axes, title, words in drawings:
        files |= render(f"figures/{name}", partial(_fill_one, fill=fill_axes), title, words)
    return files


def _fill_one(figure: Figure, fill: Draw) -> None:
    fill(figure.add_subplot())


def render(
    name: str,
    fill: Callable[[Figure], None],
    title: str,
    words: str,
    size: tuple[float, float] = SIZE,
) -> dict[str, bytes]:
    """``name.svg`` and ``name.png`` of what ``fill`` draws on an empty figure, the same every time.

    ``title`` and ``words`` are the SVG's name and description for those who cannot see it.
    """
    with _LOCK:
        svg, png = _drawn(fill, size)
    return {f"{name}.svg": _described(svg, title, words), f"{name}.png": png}


def _drawn(fill: Callable[[Figure], None], size: tuple[float, float]) -> tuple[bytes, bytes]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=size, facecolor=PAPER, layout="constrained")
        fill(figure)
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure)
        figure.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
        FigureCanvasSVG(figure)
        figure.savefig(svg, format="svg", dpi=72, metadata={"Date": None, "Creator": None})
    return svg.getvalue(), png.getvalue()


def _described(svg: bytes, title: str, words: str) -> bytes:
    """The SVG with a title and a description for those who cannot see it, and no metadata."""
    text = _METADATA.sub(b"", svg)
    head = f'\n <title id="name">{escape(title)}</title>\n <desc id="words">{escape(words)}</desc>'
    return _ROOT.sub(lambda match: match[0] + head.encode(), text, count=1)

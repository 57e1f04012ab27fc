"""The two figures: error interval against depth, and error against cost, as SVG and PNG.

Floats are used for drawing only. The same document gives the same bytes: identifiers come from a
fixed salt, fonts ship with matplotlib, and no date is written.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from qreplace.report.frontier_figure import draw_frontier
from qreplace.report.interval_figure import draw_interval
from qreplace.report.palette import PAPER
from qreplace.report.plot_data import PlotData, plot_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
}
_LOCK = threading.Lock()
"""matplotlib's settings belong to the process; one figure is drawn at a time."""
_METADATA = re.compile(rb"\s*<metadata>.*?</metadata>|<!DOCTYPE.*?>\s*", re.DOTALL)
_ROOT = re.compile(rb"<svg\b[^>]*>")

Draw = Callable[["Axes", PlotData], None]


def draw(document: dict[str, Any]) -> dict[str, bytes]:
    """``figures/interval`` and ``figures/frontier``, each as ``.svg`` and ``.png``."""
    data = plot_data(document)
    drawings: tuple[tuple[str, Draw, str, str], ...] = (
        ("interval", draw_interval, "Error against depth", data.interval_words),
        ("frontier", draw_frontier, "Error against cost", data.frontier_words),
    )
    files: dict[str, bytes] = {}
    with _LOCK:
        for name, fill, title, words in drawings:
            svg, png = _drawn(fill, data)
            files[f"figures/{name}.svg"] = _described(svg, title, words)
            files[f"figures/{name}.png"] = png
    return files


def _drawn(fill: Draw, data: PlotData) -> tuple[bytes, bytes]:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=SIZE, facecolor=PAPER, layout="constrained")
        fill(figure.add_subplot(), data)
        png, svg = io.BytesIO(), io.BytesIO()
        figure.set_dpi(PNG_DPI)
        FigureCanvasAgg(figure)
        figure.savefig(png, format="png", metadata={"Software": None})
        figure.set_dpi(72)
        FigureCanvasSVG(figure)
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return svg.getvalue(), png.getvalue()


def _described(svg: bytes, title: str, words: str) -> bytes:
    """The SVG with a title and a description for those who cannot see it, and no metadata."""
    text = _METADATA.sub(b"", svg)
    head = f'\n <title id="name">{escape(title)}</title>\n <desc id="words">{escape(words)}</desc>'
    return _ROOT.sub(lambda match: match[0] + head.encode(), text, count=1)

"""The ledger as horizontal bars: what each component costs, and what halving it buys.

Floats are used for drawing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from qreplace.architecture.shares import Cost
from qreplace.exact.rational import approximate
from qreplace.report.axes import finish, legend_below
from qreplace.report.decimals import decimal
from qreplace.report.figures import render
from qreplace.report.palette import BAND, INK, UPPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.2
ROW_HEIGHT = 0.34
MARGIN = 1.7


def ledger_figure(rows: Sequence[Cost], total: Fraction, title: str) -> dict[str, bytes]:
    """``ledger.svg`` and ``ledger.png``: shares of ``eta_G`` and gains of halving."""
    size = (WIDTH, MARGIN + ROW_HEIGHT * len(rows))
    name = "What each component adds to the field error"
    return render(
        "ledger",
        partial(_fill, rows=rows, total=total, title=title),
        name,
        _words(rows, total),
        size,
    )


def _words(rows: Sequence[Cost], total: Fraction) -> str:
    said = ", ".join(
        f"{row.link.component} {decimal(row.share, up=True, digits=3)}" for row in rows if row.share
    )
    return f"eta_G is at most {decimal(total, up=True)}. Shares: {said or 'none'}."


def _fill(figure: Figure, rows: Sequence[Cost], total: Fraction, title: str) -> None:
    axes = figure.add_subplot()
    places = list(range(len(rows)))
    axes.barh(
        places, [approximate(row.share) for row in rows],
        height=0.62, color=BAND, edgecolor=UPPER, linewidth=0.8, label="share of the field error",
        gid="shares",
    )  # fmt: skip
    axes.barh(
        places, [approximate(row.gain) for row in rows],
        height=0.24, color=UPPER, label="what halving its own error buys", gid="gains",
    )  # fmt: skip
    axes.set_yticks(places, [row.link.component for row in rows])
    axes.invert_yaxis()
    largest = max((approximate(row.share) for row in rows), default=0.0)
    axes.set_xlim(0, largest * 1.08 or 1.0)
    axes.set_xlabel(f"norm/time; eta_G is at most {decimal(total, up=True, digits=4)}")
    if title:
        axes.set_title(title, loc="left", color=INK)
    legend_below(axes)
    finish(axes)
    axes.grid(False, axis="y")

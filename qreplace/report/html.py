"""``report.html``: one self-contained page, no script, no request to anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from qreplace.data import data_path
from qreplace.report import summary as summaries
from qreplace.report.decimals import Number
from qreplace.report.details import Details
from qreplace.report.inline_svg import inline
from qreplace.report.scale import scale_of
from qreplace.report.text import capitalised, counted

LONGEST_TOOLTIP = 120
"""Exact numbers longer than this are in the tables of exact numbers and in ``report.json``."""

_TEXTS = {
    "threshold_text": summaries.threshold_text,
    "floor_text": summaries.floor_text,
    "best_text": summaries.best_text,
    "declared_text": summaries.declared_text,
    "asked_text": summaries.asked_text,
    "not_shown_text": summaries.not_shown_text,
}


def html_bytes(summary: summaries.Summary, details: Details, figures: Mapping[str, bytes]) -> bytes:
    """The page; ``figures`` holds the SVG files that are to stand in it, if any."""
    page = _environment().get_template("report.html.j2")
    drawn = {
        name.removeprefix("figures/").removesuffix(".svg"): Markup(inline(data, name))
        for name, data in figures.items()
        if name.endswith(".svg")
    }
    text = page.render(
        s=summary,
        d=details,
        scale=scale_of(summary),
        figures=drawn,
        exact=_exact_numbers(summary),
        style=Markup(_style()),
    )
    return (text.strip() + "\n").encode()


def _exact_numbers(summary: summaries.Summary) -> list[tuple[str, Number]]:
    """The exact numbers behind the decimals of the first screen."""
    found = []
    intervals = [(summary.threshold_name.lower(), summary.threshold), ("floor", summary.floor)]
    if summary.best is not None:
        intervals.append(("error at the best candidate", summary.best.error))
    elif summary.closest is not None:
        place = f"error at depth {summary.closest.depth:,}"
        intervals.append((place, summary.closest.error))
    for name, interval in intervals:
        if interval is None:
            continue
        if interval.width_zero:
            found.append((name, interval.lower))
            continue
        found.append((f"{name}, lower end", interval.lower))
        if interval.upper is not None:
            found.append((f"{name}, upper end", interval.upper))
    return found


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(data_path("web") / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(capitalised=capitalised, counted=counted)
    environment.globals.update(_TEXTS, longest_tooltip=LONGEST_TOOLTIP)
    return environment


@lru_cache(maxsize=1)
def _style() -> str:
    return (data_path("web") / "styles" / "report.css").read_text(encoding="utf-8")

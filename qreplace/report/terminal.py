"""The first screen as plain text: what ``qreplace decide`` prints."""

from __future__ import annotations

import textwrap
from typing import Any

from qreplace.report.context import ReportContext
from qreplace.report.summary import (
    Summary,
    asked_text,
    best_text,
    declared_text,
    floor_text,
    not_shown_text,
    summarise,
    threshold_text,
)
from qreplace.report.text import capitalised, one_line

WIDTH = 88
LABEL = 13
MAX_LINES = 25
"""The sum of the lines that each field may take."""


def render_terminal(document: dict[str, Any], context: ReportContext) -> str:
    """At most ``MAX_LINES`` lines; what is cut short ends in an ellipsis."""
    summary = summarise(document, context)
    lines = [
        one_line(f"{summary.words.mark}  {capitalised(summary.words.label)}", WIDTH),
        *_wrapped(summary.answer, "", 2),
        *_field("study", summary.title, 1),
        *_field("domain", summary.domain, 1),
        *_field("why", " ".join(summary.why), 5),
        *_field("tolerance", f"{threshold_text(summary)}; {summary.measured}", 2),
        *_field("floor", floor_text(summary), 1),
        *_field("best", best_text(summary), 2),
        *_field("weakest", _weakest(summary), 2),
        *_field("declared", declared_text(summary), 3),
        *_field("asked about", asked_text(summary), 2),
        *_field("not shown", not_shown_text(summary), 3),
        *_field("re-check", f"python -m qreplace.check bundle.zip; {_identity(summary)}", 1),
    ]
    return "\n".join(lines)


def _identity(summary: Summary) -> str:
    return f"study {summary.study[:10]}, bundle {summary.bundle_sha256[:10]}"


def _weakest(summary: Summary) -> str:
    return f"{summary.weakest}; {summary.standing}"


def _field(label: str, text: str, lines: int) -> list[str]:
    return _wrapped(one_line(text), label, lines)


def _wrapped(text: str, label: str, lines: int) -> list[str]:
    """Text wrapped beside its label, at most ``lines`` lines."""
    indent = " " * LABEL if label else ""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=label.ljust(LABEL) if label else "",
        subsequent_indent=indent,
        max_lines=lines,
        placeholder=" …",
    )

"""Reports: JSON, CSV, Markdown, HTML and figures, all from one decision document.

Importing this package is cheap: Jinja2 and matplotlib are imported when a report is rendered.
"""

from __future__ import annotations

from typing import Any

from qreplace.report.context import ReportContext

__all__ = ["ReportContext", "render"]


def render(
    document: dict[str, Any], context: ReportContext, *, figures: bool = True
) -> dict[str, bytes]:
    """Every report of a study by its file name; the same input gives the same bytes.

    ``document`` is what ``decide --json`` prints. Without ``figures`` no figure is drawn and the
    HTML page has only its tables.
    """
    from qreplace.report.details import detail
    from qreplace.report.html import html_bytes
    from qreplace.report.markdown import markdown_bytes
    from qreplace.report.summary import summarise
    from qreplace.report.tables import csv_bytes, json_bytes

    summary, details = summarise(document, context), detail(document, context)
    drawn: dict[str, bytes] = {}
    if figures:
        from qreplace.report.figures import draw

        drawn = draw(document, context)
    return {
        "report.json": json_bytes(document),
        "report.csv": csv_bytes(document),
        "report.md": markdown_bytes(summary, details),
        "report.html": html_bytes(summary, details, drawn),
        **drawn,
    }

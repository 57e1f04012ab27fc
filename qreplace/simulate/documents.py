"""Parts that the results of every simulator are printed with: exact numbers, tables, YAML."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from qreplace.exact.rational import approximate, format_rational
from qreplace.report.decimals import decimal


def numbers(**values: Fraction | None) -> dict[str, Any]:
    """Each number exactly as text, followed by its ``~`` companion in decimals."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found[name] = None if value is None else format_rational(value)
        found[f"{name}~"] = None if value is None else approximate(value)
    return found


def shown(value: Fraction | None) -> str:
    """A number for people, rounded up: an error is never shown smaller than it is."""
    return "" if value is None else decimal(value, up=True)


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with aligned columns and a rule below the header."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(cell[i]) for cell in cells) for i in range(len(header))]
    rule = tuple("-" * width for width in widths)
    return [
        "  ".join(text.ljust(width) for text, width in zip(cell, widths, strict=True)).rstrip()
        for cell in (cells[0], rule, *cells[1:])
    ]

"""A published table or figure beside what is computed here: rows, text and JSON.

A row says what was shown and how. A number proved is an interval of exact rationals, printed with
its ends rounded outward; a number that is only a float is called a diagnostic.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.errors import InputError
from qreplace.exact.rational import approximate, decimal_text, format_rational, parse_rational

WIDTH = 100
DIGITS = 9
"""Significant digits of a printed end."""
TINY = Fraction(1, 10**6)
"""Smaller numbers are printed with a power of ten."""

DIAGNOSTIC = "diagnostic (floats)"
EXHAUSTIVE = "exhaustive, contenders compared exactly"


@dataclass(frozen=True, slots=True)
class Interval:
    """Exact ends of a number; a missing end is not known."""

    lower: Fraction | None
    upper: Fraction | None

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise InputError("an interval has its lower end at or below its upper end")

    def text(self) -> str:
        """The number in decimals: ends rounded outward, or one number where it is short."""
        low, high = self.lower, self.upper
        if low is None or high is None:
            if low is not None:
                return f"at least {decimal(low, up=False)}"
            return "unknown" if high is None else f"at most {decimal(high, up=True)}"
        below, above = decimal(low, up=False), decimal(high, up=True)
        return below if below == above else f"{below} to {above}"

    def near(self, published: str) -> bool:
        """Whether both ends round to the published decimals: within half of its last digit."""
        _, _, decimals = published.partition(".")
        half = Fraction(1, 2 * 10 ** len(decimals))
        value = parse_rational(published)
        ends = [end for end in (self.lower, self.upper) if end is not None]
        return len(ends) == 2 and all(abs(end - value) <= half for end in ends)

    def document(self) -> dict[str, Any]:
        """Exact ends as text, each with a nearby decimal."""
        found: dict[str, Any] = {}
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            found[name] = None if end is None else format_rational(end)
            found[f"{name}~"] = None if end is None else approximate(end)
        return found


def decimal(value: Fraction, *, up: bool) -> str:
    """A number in decimals, rounded up or down; with a power of ten where it is tiny."""
    if not 0 < abs(value) < TINY:
        return decimal_text(value, up=up, digits=DIGITS)
    exponent = 0
    while abs(value) < 1:
        value, exponent = value * 10, exponent + 1
    return f"{decimal_text(value, up=up, digits=DIGITS)}e-{exponent}"


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity.

    ``published``: as the paper prints it, None where it prints none. ``agrees``: None where there
    is nothing to compare. ``shown``: how what is printed here was shown.
    """

    quantity: str
    here: str
    shown: str
    published: str | None = None
    agrees: bool | None = None
    interval: Interval | None = None

    def document(self) -> dict[str, Any]:
        """The row as JSON; ``lower`` and ``upper`` are null for what is no number."""
        ends = (self.interval or Interval(None, None)).document()
        return {
            "quantity": self.quantity,
            "published": self.published,
            "here": self.here,
            **ends,
            "agrees": self.agrees,
            "shown": self.shown,
        }


def number(quantity: str, interval: Interval, shown: str, published: str | None = None) -> Row:
    """A row about a number; with a published one, both ends must round to it."""
    agrees = None if published is None else interval.near(published)
    return Row(quantity, interval.text(), shown, published, agrees, interval)


@dataclass(frozen=True, slots=True)
class Table:
    """What one ``qreplace reproduce NAME`` prints."""

    name: str
    title: str
    reference: str
    """Where the paper prints it."""
    given: bool
    """Whether the paper gives the instance; what agrees on one of ours is only a pattern."""
    instance: str
    """What exactly was computed."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every row that can be compared agrees."""
        return all(row.agrees is not False for row in self.rows)

    def document(self) -> dict[str, Any]:
        """The object of ``--json``."""
        compared = [row.agrees for row in self.rows if row.agrees is not None]
        return {
            "table": self.name,
            "title": self.title,
            "reference": self.reference,
            "instance": self.instance,
            "instance_given": self.given,
            "agrees": self.agrees,
            "compared": len(compared),
            "rows": [row.document() for row in self.rows],
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The table for a terminal."""
        lines = [f"{self.title} ({self.reference})", *textwrap.wrap(self.instance, WIDTH), ""]
        lines += _columns(self.rows)
        for note in self.notes:
            lines += ["", *textwrap.wrap(note, WIDTH)]
        compared = [row.agrees for row in self.rows if row.agrees is not None]
        whose = "" if self.given else ", on an instance of our own"
        summary = f"{sum(compared)} of {len(compared)} comparable entries agree{whose}"
        lines += ["", summary if compared else "nothing here can be compared with the paper"]
        return "\n".join(lines)


def _columns(rows: Sequence[Row]) -> list[str]:
    words = {True: "yes", False: "NO", None: ""}
    cells = [("quantity", "published", "here", "agrees", "shown by")]
    cells += [
        (row.quantity, row.published or "", row.here, words[row.agrees], row.shown) for row in rows
    ]
    if not any(cell[1] for cell in cells[1:]):
        cells = [(a, "", c, "", e) for a, _, c, _, e in cells]
    widths = [max(len(cell[i]) for cell in cells) for i in range(5)]
    used = [i for i in range(5) if widths[i]]
    rule = tuple("-" * width for width in widths)
    return [
        "  ".join(cell[i].ljust(widths[i]) for i in used).rstrip()
        for cell in (cells[0], rule, *cells[1:])
    ]

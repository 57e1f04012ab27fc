"""The first screen's scale: floor and best error beside the tolerance, as positions in percent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.report.summary import Interval, Summary

ROOM = Fraction(23, 20)
"""The scale ends this far beyond its largest mark."""
FARTHEST = 6
"""Marks beyond this multiple of the tolerance run off the scale."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on the scale; ``open`` when it runs off to the right."""

    name: str
    label: str
    start: str
    width: str
    open: bool


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from 0; positions are percentages with two decimals."""

    tolerance: str
    tolerance_width: str
    tolerance_label: str
    tolerance_span: bool
    """The tolerance is an interval."""
    tolerance_left: bool
    """The tolerance lies in the left half, so its label has room on its right."""
    zero: bool
    """There is room for a 0 at the start."""
    bars: tuple[Bar, ...]
    words: str


def scale_of(summary: Summary) -> Scale | None:
    """The scale of a summary; ``None`` when there is nothing to compare."""
    candidate = summary.best or summary.closest
    marked: list[tuple[str, Interval]] = []
    if summary.floor is not None:
        marked.append(("floor", summary.floor))
    if candidate is not None:
        marked.append((f"error at depth {candidate.depth:,}", candidate.error))
    tolerance = summary.threshold.upper or summary.threshold.lower
    ends = [tolerance.value]
    for _, interval in marked:
        ends.append(interval.lower.value)
        if interval.upper is not None:
            ends.append(interval.upper.value)
    largest = max(ends)
    if tolerance.value > 0:
        largest = min(largest, FARTHEST * tolerance.value)
    if not marked or largest <= 0:
        return None
    length = largest * ROOM
    start = summary.threshold.lower.value
    words = "; ".join(f"{name}: {interval}" for name, interval in marked)
    name = "tolerance" if summary.threshold_name == "Tolerance" else "allowed"
    return Scale(
        tolerance=_percent(start, length),
        tolerance_width=_percent(tolerance.value - start, length),
        tolerance_label=f"{name} {summary.threshold}",
        tolerance_span=start < tolerance.value,
        tolerance_left=2 * start < length,
        zero=20 * start > length,
        bars=tuple(_bar(name, interval, length) for name, interval in marked),
        words=f"{words}; {name} {summary.threshold}",
    )


def _bar(name: str, interval: Interval, length: Fraction) -> Bar:
    upper = interval.upper
    stop = length if upper is None else min(upper.value, length)
    start = min(interval.lower.value, length)
    return Bar(
        name=name,
        label=str(interval),
        start=_percent(start, length),
        width=_percent(stop - start, length),
        open=upper is None or upper.value > length,
    )


def _percent(part: Fraction, whole: Fraction) -> str:
    hundredths = round(part / whole * 10_000)
    return f"{hundredths // 100}.{hundredths % 100:02d}"

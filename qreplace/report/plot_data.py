"""What the figures draw, as floats, and the same in words for those who cannot see them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.exact.rational import approximate
from qreplace.report.summary import interval
from qreplace.report.words import VERDICTS, Tone

WIDE = 12
"""Depths, costs or errors that span more than this factor get a logarithmic axis."""
LARGEST = 1e100
"""Beyond this a number is drawn as if it were this large, and the figure says so."""


@dataclass(frozen=True, slots=True)
class Point:
    """A reported depth; ``upper`` is NaN where no upper end is known."""

    depth: int
    bits: int
    cost: float
    lower: float
    upper: float
    tone: Tone


@dataclass(frozen=True, slots=True)
class PlotData:
    """Both figures' data."""

    points: tuple[Point, ...]
    frontier: tuple[Point, ...]
    best: Point | None
    tolerance: tuple[float, float]
    floor: tuple[float, float] | None
    """The floor's ends; the upper one is NaN when unknown."""
    interval_words: str
    frontier_words: str

    def errors(self, *, uppers_only: bool = False) -> list[float]:
        """Every error that is drawn."""
        ends = [*self.tolerance, *(point.upper for point in self.points)]
        if not uppers_only:
            ends.extend(point.lower for point in self.points)
            ends.extend(self.floor or ())
        return [end for end in ends if not math.isnan(end)]


def plot_data(document: Mapping[str, Any]) -> PlotData:
    """The figures' data from a decision document."""
    points = tuple(_point(row) for row in document["depths"])
    by_place = {(point.depth, point.bits): point for point in points}
    best = document["best"]
    tolerance, bracket = document["tolerance"], document["bracket"]
    return PlotData(
        points=points,
        frontier=tuple(by_place[(f["depth"], f["metadata_bits"])] for f in document["frontier"]),
        best=by_place.get((best["depth"], best["metadata_bits"])) if best else None,
        tolerance=(_float(tolerance["lo"]), _float(tolerance["hi"])),
        floor=(_float(bracket["lower"]), _float(bracket["upper"])) if bracket else None,
        interval_words=_interval_words(document),
        frontier_words=_frontier_words(document),
    )


def _point(row: Mapping[str, Any]) -> Point:
    return Point(
        depth=row["depth"],
        bits=row["metadata_bits"],
        cost=_float(row["cost"]),
        lower=_float(row["interval"]["lower"]),
        upper=_float(row["interval"]["upper"]),
        tone=VERDICTS[row["verdict"]].tone,
    )


def _float(text: str | None) -> float:
    return math.nan if text is None else min(approximate(Fraction(text)), LARGEST)


def wide(values: list[float]) -> bool:
    """Whether positive values call for a logarithmic axis."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) > WIDE * min(positive)


def _interval_words(document: Mapping[str, Any]) -> str:
    rows = document["depths"]
    words = f"Error interval at {len(rows)} depths from {rows[0]['depth']} to {rows[-1]['depth']}. "
    for name, row in (("first", rows[0]), ("last", rows[-1])):
        ends = interval(row["interval"]["lower"], row["interval"]["upper"])
        words += f"At the {name} depth the error is {ends}. "
    tolerance = interval(document["tolerance"]["lo"], document["tolerance"]["hi"])
    words += f"The tolerance line is at {tolerance}."
    if document["best"]:
        words += f" The best candidate is at depth {document['best']['depth']}."
    return words


def _frontier_words(document: Mapping[str, Any]) -> str:
    frontier = document["frontier"]
    if not frontier:
        return "No upper end is known at any depth, so there is no cost frontier."
    first, last = frontier[0], frontier[-1]
    return (
        f"{len(frontier)} candidates that no other beats in both cost and error, from cost "
        f"{interval(first['cost'], first['cost'])} with error at most "
        f"{interval('0', first['upper']).upper} to cost {interval(last['cost'], last['cost'])} "
        f"with error at most {interval('0', last['upper']).upper}."
    )

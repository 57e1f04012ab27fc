"""What is reported of each searched depth, and the nondominated part of it (theory T11.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from qreplace.check.bounds import Checked, ScopedBound
from qreplace.decision import grid as grids
from qreplace.decision.levels import EVERYTHING, Level
from qreplace.decision.names import Verdict, named
from qreplace.decision.search import MAX_ROWS, Search
from qreplace.exact.rational import format_rational
from qreplace.question.model import DepthRange


@dataclass(frozen=True, slots=True)
class Row:
    """The best metadata at a depth, what is known there, and the executed error's interval."""

    depth: int
    bits: int
    verdict: Verdict
    cost: Fraction
    lower: Fraction
    upper: Fraction | None

    def document(self) -> dict[str, Any]:
        """The row as the decision document holds it."""
        return {
            "depth": self.depth,
            "metadata_bits": self.bits,
            "verdict": self.verdict.value,
            "cost": format_rational(self.cost),
            "interval": interval_document(self.lower, self.upper),
        }


def interval_document(lower: Fraction, upper: Fraction | None) -> dict[str, Any]:
    """An interval of the executed error; ``None`` where there is no upper end."""
    return {
        "lower": format_rational(lower),
        "upper": None if upper is None else format_rational(upper),
    }


def interval(
    search: Search, depth: int, bits: int, level: Level
) -> tuple[Fraction, Fraction | None]:
    """The tightest ends at a candidate over the routes that a level admits."""
    lower = search.tightest(depth, bits, "lower", level)
    upper = search.tightest(depth, bits, "upper", level)
    return (lower.value if lower else Fraction(0)), (upper.value if upper else None)


def rows(search: Search, best: int | None, checked: Sequence[Checked]) -> list[Row]:
    """The best metadata at each depth, thinned to at most ``MAX_ROWS`` rows.

    ``best`` is the depth of the chosen candidate; it and the depths of claims are kept.
    """
    wanted = [] if best is None else [best]
    bounds = (entry for entry in checked if isinstance(entry, ScopedBound))
    wanted.extend(b.depths.first for b in bounds if b.depths.first == b.depths.last)
    inside = [depth for depth in wanted if any(_in_range(depth, r) for r in search.grid)]
    return [_row(search, depth) for depth in grids.thinned(search.grid, inside, MAX_ROWS)]


def _in_range(depth: int, depths: DepthRange) -> bool:
    return depths.first <= depth <= depths.last and (depth - depths.first) % depths.step == 0


def _row(search: Search, depth: int) -> Row:
    for level in search.live_levels:
        bits = search.best_bits_at(depth, level)
        if bits is not None:
            return _made(search, depth, bits, named(level, feasible=True), level)
        if all(search.impossible_at(depth, bits, level) for bits in search.hardest):
            bits = search.hardest[0]
            return _made(search, depth, bits, named(level, feasible=False), level)
    bits = search.closest_bits_at(depth)
    return _made(search, depth, bits, Verdict.UNRESOLVED, EVERYTHING)


def _made(search: Search, depth: int, bits: int, verdict: Verdict, level: Level) -> Row:
    lower, upper = interval(search, depth, bits, level)
    return Row(depth, bits, verdict, search.cost(depth, bits), lower, upper)


def frontier(reported: Sequence[Row]) -> list[dict[str, Any]]:
    """The nondominated (cost, upper error) pairs among the reported rows (theory T11.4)."""
    found: list[dict[str, Any]] = []
    best: Fraction | None = None
    known = [(row.cost, row.upper, row.depth, row) for row in reported if row.upper is not None]
    for cost, upper, depth, row in sorted(known, key=lambda entry: entry[:3]):
        if best is None or upper < best:
            best = upper
            found.append(
                {
                    "depth": depth,
                    "metadata_bits": row.bits,
                    "cost": format_rational(cost),
                    "upper": format_rational(upper),
                }
            )
    return found

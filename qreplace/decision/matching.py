"""Matching depth: from two-sided laws of the error to two-sided bounds of the depth (theory T9.4).

With ``E_inf + c_-/D - c_2/D^2 <= E_D <= E_inf + c_+/D`` from depth ``D_*`` on, the first depth that
meets a comparator lies between two numbers, except for shallow depths at which the lower law says
nothing. Those are listed, to be checked one by one. Everything is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from qreplace.errors import InputError


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """What is known of ``E_D`` for ``D >= first``; ``None``: no law on that side.

    ``floor`` is ``E_inf``; ``lower`` and ``second`` are ``c_-`` and ``c_2``, ``upper`` is ``c_+``.
    """

    floor: Fraction
    upper: Fraction | None
    lower: Fraction | None
    second: Fraction = Fraction(0)
    first: int = 1

    def __post_init__(self) -> None:
        given = [self.floor, self.second, *(c for c in (self.upper, self.lower) if c is not None)]
        if min(given) < 0 or self.first < 1:
            raise InputError("the constants of an error law are not negative, its depths from 1")
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise InputError("a lower law above the upper one excludes every depth at last")


@dataclass(frozen=True, slots=True)
class MatchingDepth:
    """Where the first matching depth lies.

    ``at_most``: this depth matches, and every one beyond; ``None`` without an upper law.
    ``excluded``: none of these depths matches, ends included; ``None`` where the lower law excludes
    none. ``open_depths``: ranges below that nothing was said about.
    """

    at_most: int | None
    excluded: tuple[int, int] | None
    open_depths: tuple[tuple[int, int], ...]

    @property
    def at_least(self) -> int:
        """The first matching depth is no smaller than this, but for the open depths below."""
        return 1 if self.excluded is None else self.excluded[1] + 1


def matching_depth(law: ErrorLaw, comparator: Fraction) -> MatchingDepth:
    """Theory T9.4 for a comparator's error ``eps_H``; raises ``InputError`` at or below the floor.

    At a gap ``g = eps_H - E_inf <= 0`` no first-order law brings a matching depth.
    """
    gap = comparator - law.floor
    if gap <= 0:
        raise InputError(
            "the comparator's error does not exceed the floor, so no depth need match it",
            remedy="Ask decide: a floor above the tolerance is an impossibility by itself.",
        )
    at_most = None if law.upper is None else max(law.first, _ceil(law.upper / gap))
    excluded = None if law.lower is None else _excluded(law, gap)
    last = at_most - 1 if excluded is None and at_most is not None else None
    if excluded is None:
        shallow = [(1, last)] if last is not None and last >= 1 else []
        return MatchingDepth(at_most, None, tuple(shallow))
    below = [(1, excluded[0] - 1)] if excluded[0] > 1 else []
    if at_most is not None and excluded[1] + 1 < at_most:
        below.append((excluded[1] + 1, at_most - 1))
    return MatchingDepth(at_most, excluded, tuple(below))


def _excluded(law: ErrorLaw, gap: Fraction) -> tuple[int, int] | None:
    """Depths from ``first`` on with ``g D^2 - c_- D + c_2 < 0``: strictly between two roots."""
    lower = law.lower or Fraction(0)
    unit = gap.denominator * lower.denominator * law.second.denominator
    a, b, c = int(gap * unit), int(lower * unit), int(law.second * unit)
    square = b * b - 4 * a * c
    if square <= 0:
        return None

    def inside(depth: int) -> bool:
        return a * depth * depth - b * depth + c < 0

    root = isqrt(square)
    start = max(law.first, (b - root - 1) // (2 * a))
    end = (b + root) // (2 * a) + 1
    while start <= end and not inside(start):
        start += 1
    while end >= start and not inside(end):
        end -= 1
    return (start, end) if start <= end else None


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """``D = Theta(L)``: the matching depth is between ``low L`` and ``high L`` for large L."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class NoExchangeRate:
    """Why nothing is said about how depth grows with the comparator's depth L."""

    reason: str


def exchange_rate(
    law: ErrorLaw, comparator_low: Fraction | None, comparator_high: Fraction | None
) -> ExchangeRate | NoExchangeRate:
    """Theory T9.4 with ``comparator_low / L <= eps_H(L) - E_inf <= comparator_high / L``.

    Only where both laws of ``E_D`` and both of the comparator are there: one side gives ``O(L)`` or
    ``Omega(L)`` and no exchange rate.
    """
    missing = [
        name
        for name, value in (
            ("an upper law of E_D", law.upper),
            ("a lower law of E_D", law.lower or None),
            ("a lower law of the comparator", comparator_low),
            ("an upper law of the comparator", comparator_high),
        )
        if value is None
    ]
    if missing:
        return NoExchangeRate(f"missing: {', '.join(missing)}")
    if law.upper is None or law.lower is None or comparator_low is None or comparator_high is None:
        return NoExchangeRate("missing: a law")
    if not 0 < comparator_low <= comparator_high:
        return NoExchangeRate("the comparator's laws are positive, the lower one not the larger")
    return ExchangeRate(law.lower / comparator_high, law.upper / comparator_low)


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)

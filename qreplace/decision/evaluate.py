"""Evaluation of routes: exact comparisons at a depth, safe ones over ranges of depths.

A range is answered only when one answer holds at every depth of it. At a single depth precision is
raised until the comparison is decided, then the exact rational value decides; what remains equal to
within ``MAX_BITS`` with an irrational value is left undecided, which never certifies anything.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.decision.routes import Route
from qreplace.exact.rational import round_down, round_up
from qreplace.radii.depth_function import DepthSum
from qreplace.radii.radius import Guard, Piece, Radius

START_BITS = 128
MAX_BITS = 4096


class Answer(enum.Enum):
    """Whether a condition holds at every depth of a range, at none, or differs or is unclear."""

    ALL = "all"
    NONE = "none"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Threshold:
    """``error <= value`` (``<`` when strict) is asked of upper ends, ``error > value`` of lower."""

    feasible: Fraction
    impossible: Fraction | None
    """``None``: the objective can never be shown impossible (theory T1.3)."""
    strict: bool


def slack(route: Route, threshold: Threshold) -> Fraction | None:
    """What the radii of a route may sum to; ``None`` when no sum proves anything.

    An upper route proves feasibility while ``end + radii <= threshold`` (``<`` when strict), a
    lower one impossibility while ``end - radii > threshold``.
    """
    if route.side == "upper":
        spare = threshold.feasible - route.end.value
        strict = threshold.strict
    else:
        if threshold.impossible is None:
            return None
        spare = route.end.value - threshold.impossible
        strict = True
    return spare if spare > 0 or (spare == 0 and not strict) else None


def proves(route: Route, spare: Fraction, first: int, last: int | None, *, strict: bool) -> Answer:
    """Whether on depths ``first..last`` the radii exist and sum to at most ``spare``."""
    mixed = False
    for segment in route.segments:
        within = _within(segment.first, segment.last, first, last)
        if within is Answer.ALL:
            guarded = _guarded(segment.guards, first, last)
            if guarded is not Answer.ALL:
                return guarded
            return at_most(segment.sum, spare, first, last, strict=strict)
        mixed = mixed or within is Answer.MIXED
    return Answer.MIXED if mixed else Answer.NONE


def _within(low: int, high: int | None, first: int, last: int | None) -> Answer:
    """How depths ``first..last`` lie to the set ``low..high``."""
    above = high is not None and first > high
    below = last is not None and last < low
    if above or below:
        return Answer.NONE
    inside = first >= low and (high is None or (last is not None and last <= high))
    return Answer.ALL if inside else Answer.MIXED


def _guarded(guards: Sequence[Guard], first: int, last: int | None) -> Answer:
    mixed = False
    for guard in guards:
        answer = at_most(guard.sum, guard.limit, first, last, strict=guard.strict)
        if answer is Answer.NONE:
            return answer
        mixed = mixed or answer is Answer.MIXED
    return Answer.MIXED if mixed else Answer.ALL


def at_most(
    total: DepthSum, budget: Fraction, first: int, last: int | None, *, strict: bool
) -> Answer:
    """Whether ``total(D) <= budget`` (``<`` when strict) on depths ``first..last``."""
    if not total.terms:
        holds = budget > 0 if strict else budget >= 0
        return Answer.ALL if holds else Answer.NONE
    bits = START_BITS
    while True:
        low, high = total.at(first, bits) if first == last else total.over(first, last, bits)
        scaled = budget.numerator << bits
        unit = budget.denominator
        if high is not None and (high * unit < scaled or (not strict and high * unit == scaled)):
            return Answer.ALL
        if low * unit > scaled or (strict and low * unit == scaled):
            return Answer.NONE
        if first != last:
            return Answer.MIXED
        if bits == START_BITS:
            exact = total.exact(first)
            if exact is not None:
                holds = exact < budget if strict else exact <= budget
                return Answer.ALL if holds else Answer.NONE
        bits *= 2
        if bits > MAX_BITS:
            return Answer.NONE


@dataclass(frozen=True, slots=True)
class Value:
    """An end of the executed error at one depth, rounded outward when it is long."""

    value: Fraction
    route: Route


def value_at(route: Route, depth: int, near: Fraction | None = None) -> Fraction | None:
    """The route's end at ``depth``, outward; ``None`` where the route says nothing.

    It is not rounded where rounding would move it to the other side of the threshold ``near``.
    """
    segment = _segment_at(route, depth)
    if segment is None:
        return None
    end, sign = route.end.value, 1 if route.side == "upper" else -1
    low, high = segment.sum.at(depth, START_BITS)
    if high is None:
        return None
    if near is not None and low != high and _straddles(low, high, sign * (near - end)):
        exact = segment.sum.exact(depth)
        if exact is not None:
            return max(Fraction(0), end + sign * exact)
    if segment.sum.plain:
        value = max(Fraction(0), end + sign * _upper(segment.sum, depth, high))
    else:
        scale = end.denominator
        top = (end.numerator << START_BITS) + sign * high * scale
        value = Fraction(max(0, top), scale << START_BITS)
    return outward(value, up=sign > 0)


def _straddles(low: int, high: int, budget: Fraction) -> bool:
    """Whether ``budget`` lies within an enclosure in units of ``2**-START_BITS``."""
    scaled = budget.numerator << START_BITS
    return low * budget.denominator <= scaled <= high * budget.denominator


def _upper(total: DepthSum, depth: int, high: int) -> Fraction:
    """The exact value where it is short, else the upper end of its enclosure."""
    exact = total.exact(depth) if total.plain else None
    return Fraction(high, 1 << START_BITS) if exact is None else exact


def _segment_at(route: Route, depth: int) -> Piece | None:
    for segment in route.segments:
        if segment.first <= depth and (segment.last is None or depth <= segment.last):
            holds = _guarded(segment.guards, depth, depth) is Answer.ALL
            return segment if holds else None
    return None


def radius_at(radius: Radius, depth: int) -> Fraction | None:
    """A single radius at ``depth``, rounded up; ``None`` where it says nothing."""
    for piece in radius.pieces:
        if piece.first <= depth and (piece.last is None or depth <= piece.last):
            if _unmet(radius, piece, depth):
                return None
            high = piece.sum.at(depth, START_BITS)[1]
            return None if high is None else outward(_upper(piece.sum, depth, high), up=True)
    return None


def outward(value: Fraction, *, up: bool) -> Fraction:
    """Round a long rational outward for display; short ones stay exact."""
    if value.denominator.bit_length() <= 2 * START_BITS:
        return value
    return round_up(value, START_BITS) if up else round_down(value, START_BITS)


def reasons_at(route: Route, depth: int) -> list[str]:
    """Why a route says nothing at ``depth``; empty when it does."""
    found = []
    for radius in route.radii:
        for gap in radius.gaps:
            if gap.first <= depth and (gap.last is None or depth <= gap.last):
                found.append(f"{radius.name}: {gap.reason}")
        for piece in radius.pieces:
            if piece.first <= depth and (piece.last is None or depth <= piece.last):
                found.extend(_unmet(radius, piece, depth))
    return found


def _unmet(radius: Radius, piece: Piece, depth: int) -> list[str]:
    """The conditions of a radius that fail at ``depth``, in words."""
    return [
        f"{radius.name}: {guard.reason}"
        for guard in (*radius.guards, *piece.guards)
        if at_most(guard.sum, guard.limit, depth, depth, strict=guard.strict) is not Answer.ALL
    ]

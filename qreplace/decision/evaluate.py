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
from qreplace.radii.radius import Piece, Radius

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


def meets(route: Route, threshold: Threshold, first: int, last: int | None) -> Answer:
    """Whether an upper route proves feasibility on depths ``first..last``."""
    budget = threshold.feasible - route.end.value
    return _compare(route, first, last, budget, strict=threshold.strict)


def exceeds(route: Route, threshold: Threshold, first: int, last: int | None) -> Answer:
    """Whether a lower route proves impossibility on depths ``first..last``."""
    if threshold.impossible is None:
        return Answer.NONE
    return _compare(route, first, last, route.end.value - threshold.impossible, strict=True)


def _compare(
    route: Route, first: int, last: int | None, budget: Fraction, *, strict: bool
) -> Answer:
    """Whether the radii exist and sum to at most (below, when strict) ``budget``."""
    covered = _within(route.end.depths.first, route.end.depths.last, first, last)
    if covered is not Answer.ALL:
        return covered
    if budget < 0 or (strict and budget <= 0):
        return Answer.NONE
    sums: list[DepthSum] = []
    for radius in route.radii:
        piece = _piece(radius, first, last)
        if isinstance(piece, Answer):
            return piece
        conditions = _conditions(radius, piece, first, last)
        if conditions is not Answer.ALL:
            return conditions
        sums.append(piece.sum)
    return at_most(_total(sums), budget, first, last, strict=strict)


def _total(sums: Sequence[DepthSum]) -> DepthSum:
    return DepthSum(tuple(term for part in sums for term in part.terms))


def _within(low: int, high: int | None, first: int, last: int | None) -> Answer:
    """How depths ``first..last`` lie to the set ``low..high``."""
    above = high is not None and first > high
    below = last is not None and last < low
    if above or below:
        return Answer.NONE
    inside = first >= low and (high is None or (last is not None and last <= high))
    return Answer.ALL if inside else Answer.MIXED


def _piece(radius: Radius, first: int, last: int | None) -> Piece | Answer:
    mixed = False
    for piece in radius.pieces:
        within = _within(piece.first, piece.last, first, last)
        if within is Answer.ALL:
            return piece
        mixed = mixed or within is Answer.MIXED
    return Answer.MIXED if mixed else Answer.NONE


def _conditions(radius: Radius, piece: Piece, first: int, last: int | None) -> Answer:
    answers = [at_most(g.sum, g.limit, first, last, strict=False) for g in radius.guards]
    if radius.ceiling is not None:
        answers.append(at_most(piece.sum, radius.ceiling, first, last, strict=True))
    if Answer.NONE in answers:
        return Answer.NONE
    return Answer.MIXED if Answer.MIXED in answers else Answer.ALL


def at_most(
    total: DepthSum, budget: Fraction, first: int, last: int | None, *, strict: bool
) -> Answer:
    """Whether ``total(D) <= budget`` (``<`` when strict) on depths ``first..last``."""
    if not total.terms:
        holds = budget > 0 if strict else budget >= 0
        return Answer.ALL if holds else Answer.NONE
    bits = START_BITS
    while True:
        low, high = total.over(first, last, bits)
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


def value_at(route: Route, depth: int) -> Fraction | None:
    """The route's end at ``depth``, outward; ``None`` where the route says nothing."""
    if depth not in route.depths:
        return None
    sums = []
    for radius in route.radii:
        piece = _piece(radius, depth, depth)
        if isinstance(piece, Answer):
            return None
        if _conditions(radius, piece, depth, depth) is not Answer.ALL:
            return None
        sums.append(piece.sum)
    total = _total(sums)
    high = total.over(depth, depth, START_BITS)[1] if total.terms else 0
    if high is None:
        return None
    amount = Fraction(high, 1 << START_BITS)
    if route.side == "upper":
        return outward(route.end.value + amount, up=True)
    return outward(max(Fraction(0), route.end.value - amount), up=False)


def outward(value: Fraction, *, up: bool) -> Fraction:
    """Round a long rational outward for display; short ones stay exact."""
    if value.denominator.bit_length() <= 2 * START_BITS:
        return value
    return round_up(value, START_BITS) if up else round_down(value, START_BITS)


def reasons_at(route: Route, depth: int) -> list[str]:
    """Why a route says nothing at ``depth``; empty when it does."""
    found: list[str] = []
    for radius in route.radii:
        piece = _piece(radius, depth, depth)
        if isinstance(piece, Answer):
            found.extend(
                f"{radius.name}: {gap.reason}"
                for gap in radius.gaps
                if gap.first <= depth and (gap.last is None or depth <= gap.last)
            )
            continue
        for guard in radius.guards:
            if at_most(guard.sum, guard.limit, depth, depth, strict=False) is not Answer.ALL:
                found.append(f"{radius.name}: {guard.reason}")
        if radius.ceiling is not None and (
            at_most(piece.sum, radius.ceiling, depth, depth, strict=True) is not Answer.ALL
        ):
            found.append(f"{radius.name}: it reaches the saturation margin (T4.8)")
    return found

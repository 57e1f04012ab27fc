"""How close an affine channel gets to a number in D pure steps, over every schedule (theory T9).

A channel ``x' = q_j - lam x`` takes the Euler step ``x -> r x + h q_j`` with ``h = T / D`` and
``r = 1 - lam h``, so it ends at ``r^D x_0 + sum_k h r^k q_(D-1-k)``: a sum of labels with weights
that every schedule shares. Two bounds of its distance from a target follow.

- *Closed form.* The largest end takes the largest label where ``r^k > 0`` and the smallest one
  where ``r^k < 0``. Any other end lies below it by at least the smallest weight times the smallest
  change of a label, and likewise above the smallest end. So a target beyond the ends is missed by
  its distance from them (the fixed teacher), and one inside the outermost gaps by that to the
  gap's sides (the signed ray, theory T8.6). Powers are enclosed outward.
- *Complete search.* All sums of half the steps are listed and sorted, and the best pair of halves
  is found in one pass; in whole numbers, so the distance is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from qreplace.errors import InputError
from qreplace.exact.fixed_point import power
from qreplace.exact.intervals import Interval, add, scale

BITS = 192
"""Bits after the point of enclosed powers."""
WORD = 64
MAX_DEPTHS = 4096
"""Most depths of one claim."""
MAX_LAST = 1 << 20
"""Its largest depth."""
MAX_SEARCH = 4_000_000
"""Most words that the searches of one claim handle: a few seconds."""
MAX_VALUES = 1 << 30
"""Counts of sums are not followed beyond this many."""
ZERO = Fraction(0)
ONE = Fraction(1)


@dataclass(frozen=True)
class Channel:
    """``x' = q_j - rate x`` from ``start`` over ``horizon``, aimed at ``target``.

    ``labels`` are the ``q_j``, one an atom, in units of the state over those of time; ``rate`` is
    1 over time and may have either sign.
    """

    rate: Fraction
    start: Fraction
    labels: tuple[Fraction, ...]
    target: Fraction
    horizon: Fraction

    @cached_property
    def levels(self) -> tuple[Fraction, ...]:
        """The labels, each once, ascending."""
        return tuple(sorted(set(self.labels)))

    def factor(self, depth: int) -> Fraction:
        """``r = 1 - lam T / D``."""
        return 1 - self.rate * self.horizon / depth


@dataclass(frozen=True, slots=True)
class Weights:
    """What the steps of one depth weigh, enclosed.

    ``decayed`` is ``r^D``; ``positive`` and ``negative`` are the sums of the weights ``h r^k`` of
    either sign, both as sizes; ``least`` is at most every size.
    """

    decayed: Interval
    positive: Interval
    negative: Interval
    least: Fraction
    signed: bool
    """Whether there may be weights of both signs."""


def weights(channel: Channel, depth: int) -> Weights:
    """The weights of the steps of ``depth``."""
    r, h = channel.factor(depth), channel.horizon / depth
    size = abs(r)
    decayed = _power(size, depth)
    least = h * min(ONE, _power(size, depth - 1)[0])
    if r >= 0:
        total = channel.horizon, channel.horizon
        if channel.rate:
            total = scale(_minus_one(decayed), -1 / channel.rate)
        return Weights(decayed, _not_negative(total), (ZERO, ZERO), least, signed=False)
    if depth % 2:
        decayed = -decayed[1], -decayed[0]
    even, odd = depth - depth // 2, depth // 2
    return Weights(
        decayed, scale(_squares(size, even), h), scale(_squares(size, odd), h * size), least,
        signed=True,
    )  # fmt: skip


def closed_distance(channel: Channel, depth: int) -> Fraction:
    """A lower bound of ``|x_D - target|`` over every schedule, in closed form."""
    found, levels = weights(channel, depth), channel.levels
    carried = scale(found.decayed, channel.start)
    low, high = levels[0], levels[-1]
    top = add(carried, add(scale(found.positive, high), scale(found.negative, -low)))
    bottom = add(carried, add(scale(found.positive, low), scale(found.negative, -high)))
    if low == high:
        return _apart(top, channel.target)
    gaps = levels[1] - low, high - levels[-2]
    if found.signed:
        gaps = min(gaps), min(gaps)
    below = min(_apart(top, channel.target), channel.target - top[1] + found.least * gaps[1])
    above = min(_apart(bottom, channel.target), bottom[0] + found.least * gaps[0] - channel.target)
    return max(ZERO, below, above)


def weight_sum(channel: Channel, depth: int) -> Fraction:
    """An upper bound of ``h sum_{k<D} |r|^k``, what a steady disturbance of 1 adds up to."""
    found = weights(channel, depth)
    return found.positive[1] + found.negative[1]


# --- complete search ------------------------------------------------------------------------------


def search_work(channel: Channel, depth: int) -> int:
    """About the words that ``least_distance`` handles; no less once it is beyond ``MAX_VALUES``."""
    half = depth - depth // 2
    count = _sum_count(len(channel.levels), half, even=channel.rate == 0)
    own = _common(channel).bit_length() + (channel.horizon / depth).denominator.bit_length()
    words = (own + depth * channel.factor(depth).denominator.bit_length()) // WORD + 2
    return words * (2 * count + depth * len(channel.levels))


def _sum_count(levels: int, half: int, *, even: bool) -> int:
    """At most so many sums are formed on the way to those of ``half`` steps; capped.

    With ``even`` weights only the counts of the labels matter.
    """
    if levels == 1:
        return half
    count = formed = distinct = 1
    for step in range(1, half + 1):
        count *= levels
        if even:
            distinct = distinct * (step + levels - 1) // step
            count = min(count, distinct)
        formed += count
        if formed > MAX_VALUES:
            return MAX_VALUES
    return formed


def least_distance(channel: Channel, depth: int) -> Fraction:
    """``min |x_D - target|`` over all schedules, exactly. The caller bounds ``search_work``."""
    if depth < 1:
        raise InputError(f"a depth is at least 1, received {depth}")
    r, h, own = channel.factor(depth), channel.horizon / depth, _common(channel)
    levels = [int(level * own) for level in channel.levels]
    # In units of 1 / (own den(h) den(r)^D) every weight is a whole number.
    weight = h.numerator * r.denominator**depth
    steps = []
    for _ in range(depth):
        steps.append([weight * level for level in levels])
        weight = weight // r.denominator * r.numerator
    whole = h.denominator * r.denominator**depth
    aim = int(channel.target * own) * whole
    aim -= int(channel.start * own) * h.denominator * r.numerator**depth
    half = depth // 2
    return Fraction(_closest(_sums(steps[:half]), _sums(steps[half:]), aim), own * whole)


def _common(channel: Channel) -> int:
    """The common denominator of labels, start and target."""
    return math.lcm(*(x.denominator for x in (*channel.levels, channel.start, channel.target)))


def _sums(steps: list[list[int]]) -> list[int]:
    """Every sum of one entry a step, each once, ascending.

    Sorted runs are merged rather than hashed: a stranger may choose numbers whose hashes collide.
    """
    found = [0]
    for moves in steps:
        merged = sorted(x + move for move in moves for x in found)
        found = merged[:1] + [x for before, x in pairwise(merged) if x != before]
    return found


def _closest(one: list[int], other: list[int], aim: int) -> int:
    """``min |a + b - aim|``: as a grows, the b that serve fall."""
    best = abs(one[0] + other[0] - aim)
    place = len(other) - 1
    for a in one:
        while True:
            miss = a + other[place] - aim
            best = min(best, abs(miss))
            if miss <= 0 or place == 0:
                break
            place -= 1
    return best


# --- intervals ------------------------------------------------------------------------------------


def _power(base: Fraction, exponent: int) -> Interval:
    low, high = power(base, exponent, BITS)
    return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)


def _squares(size: Fraction, count: int) -> Interval:
    """``sum_{i<count} size^(2i)``."""
    square = size * size
    if square == 1:
        return Fraction(count), Fraction(count)
    return _not_negative(scale(_minus_one(_power(square, count)), 1 / (square - 1)))


def _minus_one(interval: Interval) -> Interval:
    return interval[0] - 1, interval[1] - 1


def _not_negative(interval: Interval) -> Interval:
    return max(ZERO, interval[0]), interval[1]


def _apart(interval: Interval, point: Fraction) -> Fraction:
    """A lower bound of a number's distance from ``point``, the number being in the interval."""
    return max(ZERO, point - interval[1], interval[0] - point)

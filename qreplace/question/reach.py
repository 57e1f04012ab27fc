"""A box that no relaxed or Euler trajectory leaves within the horizon (theory T3 tube, T7.4).

Time is cut into slices. What is reached by the end of a slice lies within what was reached at its
start, moved for the slice's length at speeds that occur on the box reached by its end; a guess that
contains what it leads to is therefore a bound. An Euler step moves with a velocity from an earlier
moment of the same trajectory, so the speeds are taken over all times up to the slice's end and the
bound holds at *every* depth.

A side of the box ``K`` is a *wall* when every atom points inward, or not outward, on that face: no
relaxed trajectory crosses it, however long the horizon. An Euler step of size ``h`` does not either
if ``1 + h d G_i / d z_i >= 0`` on K: then ``z_i + h G_i`` is largest on the face, where it is
within K. Walls hold for steps up to the one named.

Where growth is known on a ball about the initial state, it bounds how far states get from there:
``||z - z_0|| <= b S`` with ``||G_j(t, z_0)|| <= b`` and ``S`` of ``growth_factor``. That serves
systems with long horizons and rotations in many dimensions, of which boxes know little.

Proof for speeds and walls at once: the fields composed with the projection on the guess have the
same speeds everywhere; beyond a wall the projection puts the state on the face, where nothing
points outward. Their trajectories stay in the guess, where they are trajectories of the fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.exact.fixed_point import exponential
from qreplace.exact.intervals import Interval
from qreplace.question.field_ranges import Fields, Sides
from qreplace.question.operator_bounds import rounded

ZERO = Fraction(0)
ROUNDS = 12
"""Guesses a slice."""
ROUNDING_BITS = 96
"""Reached sides are rounded outward to this many bits, relative to the box's own size."""


@dataclass(frozen=True, slots=True)
class Walls:
    """Sides of a box that no trajectory crosses; ``None`` where there is no wall."""

    lower: tuple[Fraction | None, ...]
    upper: tuple[Fraction | None, ...]


def reached(
    fields: Fields, slices: int, within: Sides | None = None, walls: Walls | None = None
) -> list[Interval] | None:
    """A box with every state up to the horizon; ``None`` when none is found in ``within``.

    The initial state has to be within, and on the inner side of every wall: from beyond one nothing
    that a wall stops is known.
    """
    box: list[Interval] = [(z, z) for z in fields.initial]
    if within is not None and not contains(within, box):
        return None
    if any(_stopped(side, walls, index) != side for index, side in enumerate(box)):
        return None
    step = fields.horizon / slices
    bits = _bits(fields.initial, within)
    for number in range(1, slices + 1):
        following = _slice(fields, step * number, step, box, within, walls, bits)
        if following is None:
            return None
        box = following
    return box


def _slice(
    fields: Fields,
    end: Fraction,
    step: Fraction,
    box: list[Interval],
    within: Sides | None,
    walls: Walls | None,
    bits: int,
) -> list[Interval] | None:
    guess = box
    for _ in range(ROUNDS):
        speeds = fields.hull(end, guess)
        needed = [
            _stopped(
                rounded((low + step * min(slow, ZERO), high + step * max(fast, ZERO)), bits),
                walls,
                index,
            )
            for index, ((low, high), (slow, fast)) in enumerate(zip(box, speeds, strict=True))
        ]
        if contains(guess, needed):
            return needed
        guess = [
            _stopped(_wider(old, new), walls, index)
            for index, (old, new) in enumerate(zip(box, needed, strict=True))
        ]
        if within is not None:
            if not contains(within, needed):
                return None
            guess = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(guess, within, strict=True)]
        if any(high.numerator.bit_length() > bits * 4 + 4096 for _, high in guess):
            return None
    return None


def _stopped(side: Interval, walls: Walls | None, index: int) -> Interval:
    """The side, no further than its walls."""
    if walls is None:
        return side
    low, high = walls.lower[index], walls.upper[index]
    return (
        side[0] if low is None else max(side[0], low),
        side[1] if high is None else min(side[1], high),
    )


def _wider(old: Interval, new: Interval) -> Interval:
    """A quarter beyond what the last guess led to."""
    return new[0] - (old[0] - new[0]) / 4, new[1] + (new[1] - old[1]) / 4


def _bits(initial: Sequence[Fraction], within: Sides | None) -> int:
    """Bits after the point: the largest number's own are taken off ``ROUNDING_BITS``."""
    ends = [*initial, *(end for side in within or () for end in side)]
    largest = max(abs(end) for end in ends)
    return max(16, ROUNDING_BITS - int(largest).bit_length())


def contains(outer: Sides, inner: Sides) -> bool:
    """Whether every side contains the other box's."""
    return all(a <= c and d <= b for (a, b), (c, d) in zip(outer, inner, strict=True))


def walls_of(fields: Fields, box: Sides, step: Fraction) -> Walls:
    """The walls among the sides of a box, for Euler steps up to ``step``."""
    lower: list[Fraction | None] = []
    upper: list[Fraction | None] = []
    face = list(box)
    for index, (low, high) in enumerate(box):
        steady = 1 + step * fields.slope(index, box) >= 0
        face[index] = (low, low)
        inward = steady and fields.component(index, face)[0] >= 0
        lower.append(low if inward else None)
        face[index] = (high, high)
        inward = steady and fields.component(index, face)[1] <= 0
        upper.append(high if inward else None)
        face[index] = (low, high)
    return Walls(tuple(lower), tuple(upper))


LARGEST_EXPONENT = 64
FACTOR_BITS = 160
LARGEST_BITS = 2048


def growth_factor(rate: Fraction, horizon: Fraction) -> Fraction | None:
    """An upper bound of ``Phi_m(T)`` and of ``h sum_{i<k} kappa^i`` at every depth (theory T3).

    For ``m >= 0`` the sum stays below ``Phi_m(T) = (e^{mT} - 1) / m``. For ``m < 0`` both stay
    below T and below ``1 / |m|``. ``None`` for rates that are too large or too small to enclose.
    """
    if rate < 0:
        return min(horizon, -1 / rate)
    if rate * horizon > LARGEST_EXPONENT:
        return None
    # Dividing by a small rate magnifies the error of the exponential: carry as many more bits.
    bits = FACTOR_BITS + max(0, rate.denominator.bit_length() - rate.numerator.bit_length())
    if rate == 0:
        return horizon
    if bits > LARGEST_BITS:
        return None
    return (Fraction(exponential(rate * horizon, bits)[1], 1 << bits) - 1) / rate

"""Balanced switching in exact arithmetic, plainly (theory T2). Fast twins live in ``simulate``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def chairman_schedule(weights: Sequence[Fraction], depth: int) -> list[int]:
    """Tijdeman's rule for constant weights: every prefix discrepancy at most ``1 - 1/(2J - 2)``.

    ``weights`` are nonnegative and sum to 1. At step k the atoms with ``P_j - n_j >= 1/(2J-2)`` are
    eligible; the one with the earliest deadline is taken, the deadline being the first step at
    which ``P_j - n_j`` would exceed ``1 - 1/(2J-2)``. Source: theory T2.2 (Discrete Math. 32, 323).
    """
    count = len(weights)
    if count == 1:
        return [0] * depth
    scale = math.lcm(*(weight.denominator for weight in weights))
    shares = [weight.numerator * (scale // weight.denominator) for weight in weights]
    parts = 2 * count - 2  # a slack of 1/parts, everything in units of 1/(parts * scale)

    def deadline(j: int) -> int:
        """The first step at which ``P_j - n_j > 1 - 1/parts``."""
        return (parts - 1 + used[j] * parts) * scale // (shares[j] * parts) + 1

    used = [0] * count
    deadlines = {j: deadline(j) for j in range(count) if shares[j]}
    chosen = []
    for step in range(1, depth + 1):
        pick = min(
            (j for j in deadlines if (shares[j] * step - used[j] * scale) * parts >= scale),
            key=lambda j: (deadlines[j], j),
        )
        used[pick] += 1
        deadlines[pick] = deadline(pick)
        chosen.append(pick)
    return chosen


def rounded_counts(weights: Sequence[Fraction], depth: int) -> list[int]:
    """The largest-remainder rounding of ``depth * weights``: counts for any depth, at once.

    Half the l1 distance to ``depth * weights`` is at most ``J/4``, so the endpoint of
    state-independent atoms is within ``P_D`` of the mixture's (theory T3.3, T7.13).
    """
    scaled = [weight * depth for weight in weights]
    counts = [int(share) for share in scaled]
    order = sorted(range(len(counts)), key=lambda j: (counts[j] - scaled[j], j))
    for j in order[: depth - sum(counts)]:
        counts[j] += 1
    return counts


def counts_of(schedule: Sequence[int], atoms: int) -> list[int]:
    """How often each atom is used."""
    counts = [0] * atoms
    for pick in schedule:
        counts[pick] += 1
    return counts

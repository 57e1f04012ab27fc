"""Balanced switching in exact arithmetic, plainly (theory T2). Fast twins live in ``simulate``."""

from __future__ import annotations

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
    slack = Fraction(1, 2 * count - 2)
    used = [0] * count
    chosen = []
    for step in range(1, depth + 1):
        best: tuple[int, int] | None = None
        for j, weight in enumerate(weights):
            if weight == 0 or weight * step - used[j] < slack:
                continue
            # weight * deadline - used > 1 - slack
            deadline = int((1 - slack + used[j]) / weight) + 1
            if best is None or deadline < best[0]:
                best = deadline, j
        pick = best[1] if best is not None else max(
            range(count), key=lambda j: (weights[j] * step - used[j], -j)
        )  # fmt: skip
        used[pick] += 1
        chosen.append(pick)
    return chosen


def greedy_schedule(weights: Sequence[Fraction], depth: int) -> list[int]:
    """The paper's online rule (T2.1): add the weights, take the largest balance, first on ties."""
    balance = [Fraction(0)] * len(weights)
    chosen = []
    for _ in range(depth):
        balance = [b + w for b, w in zip(balance, weights, strict=True)]
        pick = max(range(len(weights)), key=lambda j: (balance[j], -j))
        balance[pick] -= 1
        chosen.append(pick)
    return chosen


def prefix_discrepancy(weights: Sequence[Fraction], schedule: Sequence[int]) -> Fraction:
    """The largest ``|P_j - n_j|`` over all prefixes and atoms (theory T2.3)."""
    used = [0] * len(weights)
    worst = Fraction(0)
    for step, pick in enumerate(schedule, start=1):
        used[pick] += 1
        worst = max(worst, *(abs(w * step - n) for w, n in zip(weights, used, strict=True)))
    return worst


def counts_of(schedule: Sequence[int], atoms: int) -> list[int]:
    """How often each atom is used."""
    counts = [0] * atoms
    for pick in schedule:
        counts[pick] += 1
    return counts

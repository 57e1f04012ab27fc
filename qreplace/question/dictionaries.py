"""How far apart two dictionaries are: atoms have no order, so the best matching counts (T5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.errors import InputError

MAX_ATOMS = 512


def bottleneck(costs: Sequence[Sequence[Fraction]]) -> tuple[Fraction, tuple[int, ...]]:
    """The least largest cost of a perfect matching, and a matching that has it.

    ``costs[i][j]`` is the distance of atom i of one dictionary and atom j of the other; entry i of
    the matching is the partner of atom i. Exact: the costs are sorted, and the least one is found
    up to which the graph has a perfect matching. Raises ``InputError`` for dictionaries of unequal
    size.
    """
    n = len(costs)
    if not 1 <= n <= MAX_ATOMS or any(len(row) != n for row in costs):
        raise InputError(f"two dictionaries of one size, 1 to {MAX_ATOMS} atoms, are compared")
    levels = sorted({cost for row in costs for cost in row})
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if _matching(costs, levels[middle]) is None:
            low = middle + 1
        else:
            high = middle
    found = _matching(costs, levels[low])
    if found is None:
        raise InputError("the costs hold no perfect matching")
    return levels[low], found


def _matching(costs: Sequence[Sequence[Fraction]], most: Fraction) -> tuple[int, ...] | None:
    """A perfect matching with costs up to ``most``, by augmenting paths; ``None`` without one."""
    n = len(costs)
    near = [[j for j, cost in enumerate(row) if cost <= most] for row in costs]
    partner = [-1] * n
    for start in range(n):
        if not _augmented(start, near, partner):
            return None
    matched = [0] * n
    for j, i in enumerate(partner):
        matched[i] = j
    return tuple(matched)


def _augmented(start: int, near: Sequence[Sequence[int]], partner: list[int]) -> bool:
    """Find a path from ``start`` to a free partner and flip it; breadth first, no recursion."""
    reached_by: dict[int, int] = {}
    entered = {start: -1}
    """Atoms on the way, with the partner that each has so far."""
    queue = [start]
    for i in queue:
        for j in near[i]:
            if j in reached_by:
                continue
            reached_by[j] = i
            if partner[j] < 0:
                while j >= 0:
                    partner[j] = reached_by[j]
                    j = entered[reached_by[j]]
                return True
            entered[partner[j]] = j
            queue.append(partner[j])
    return False

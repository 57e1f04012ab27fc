"""Rounding a piecewise-constant control to a pure schedule (theory T2, T3.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.functional import SparseVector
from qreplace.claims.relaxed_control import ControlPiece

Exact = Fraction | int
Shares = Sequence[Sequence[Exact]]
"""The weights of every step: points of the simplex, or whole numbers over one denominator."""

CHAIRMAN_UP_TO = 3
"""Up to so many atoms Tijdeman's rule has the smaller half-l1 discrepancy; then the greedy one."""


def dense(vector: SparseVector, size: int) -> list[Fraction]:
    """Every entry of a sparse vector."""
    values = [Fraction(0)] * size
    for index, number in zip(vector.indices, vector.numerators, strict=True):
        values[index] = number / vector.denominator
    return values


def mean_weights(pieces: Sequence[ControlPiece], atoms: int, horizon: Fraction) -> list[Fraction]:
    """The control's average over the horizon."""
    return cell_averages(pieces, atoms, horizon, 1)[0]


def cell_averages(
    pieces: Sequence[ControlPiece], atoms: int, horizon: Fraction, depth: int
) -> list[list[Fraction]]:
    """The control's average on each of ``depth`` equal cells: the mixed Euler scheme's weights."""
    step = horizon / depth
    found = [[Fraction(0)] * atoms for _ in range(depth)]
    start = Fraction(0)
    for piece in pieces:
        weights = dense(piece.weights, atoms)
        first = start // step
        last = min(depth - 1, -(-piece.end // step) - 1)
        for cell in range(first, last + 1):
            length = min(piece.end, (cell + 1) * step) - max(start, cell * step)
            share = length / step
            found[cell] = [a + share * w for a, w in zip(found[cell], weights, strict=True)]
        start = piece.end
    return found


def rounding_rule(atoms: int) -> tuple[str, Callable[[Shares], list[int]]]:
    """The rule with the smaller half-l1 discrepancy, and its name (theory T2.1, T2.2)."""
    if atoms <= CHAIRMAN_UP_TO:
        return "chairman assignment of the control's cell averages (theory T2.2)", chairman
    return "greedy balancing of the control's cell averages (theory T2.1)", greedy


def chairman(shares: Shares, unit: int = 1) -> list[int]:
    """Tijdeman's rule for weights that change from step to step, known in advance (T2.2).

    Every row sums to ``unit``. Deadlines past the last step are all alike: the weights after it are
    not known, and do not matter.
    """
    count = len(shares[0])
    if count == 1:
        return [0] * len(shares)
    parts = 2 * count - 2
    late = Fraction((parts - 1) * unit, parts)
    # Cumulative shares after 0, 1, 2, .. steps, atom by atom.
    sums: list[list[Exact]] = [[0] for _ in range(count)]
    for row in shares:
        for total, weight in zip(sums, row, strict=True):
            total.append(total[-1] + weight)
    used, chosen = [0] * count, []
    deadlines = [bisect_right(total, late) for total in sums]
    for step in range(1, len(shares) + 1):
        eligible = (j for j in range(count) if (sums[j][step] - used[j] * unit) * parts >= unit)
        pick = min(eligible, key=lambda j: (deadlines[j], j))
        used[pick] += 1
        deadlines[pick] = bisect_right(sums[pick], used[pick] * unit + late)
        chosen.append(pick)
    return chosen


def greedy(shares: Shares, unit: int = 1) -> list[int]:
    """The online rule: add the weights, take the largest balance, first on ties (T2.1).

    Every row sums to ``unit``.
    """
    balance: list[Exact] = [0] * len(shares[0])
    chosen = []
    for row in shares:
        balance = [b + w for b, w in zip(balance, row, strict=True)]
        pick = max(range(len(row)), key=lambda j: (balance[j], -j))
        balance[pick] -= unit
        chosen.append(pick)
    return chosen


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """How far the counts of a schedule's prefixes are from the weights, in steps (theory T2.3)."""

    largest: Fraction
    """max over prefixes and atoms of ``|P_j - n_j|``."""
    largest_at: int
    """The first prefix, in steps, at which it is attained; 0 where it is 0."""
    half_l1: Fraction
    """max over prefixes of ``sum_j |P_j - n_j| / 2``."""
    half_l1_at: int


def prefix_discrepancy(shares: Shares, schedule: Sequence[int], unit: int = 1) -> Discrepancy:
    """What a given schedule realises on given weights, exactly (theory T2.3).

    Every row sums to ``unit``; there is one a step.
    """
    balance: list[Exact] = [0] * len(shares[0])
    largest: Exact = 0
    total: Exact = 0
    largest_at = total_at = 0
    for step, (row, pick) in enumerate(zip(shares, schedule, strict=True), start=1):
        balance = [b + w for b, w in zip(balance, row, strict=True)]
        balance[pick] -= unit
        sizes: list[Exact] = [max(b, -b) for b in balance]
        most, added = max(sizes), sum(sizes)
        if most > largest:
            largest, largest_at = most, step
        if added > total:
            total, total_at = added, step
    return Discrepancy(Fraction(largest) / unit, largest_at, Fraction(total) / (2 * unit), total_at)

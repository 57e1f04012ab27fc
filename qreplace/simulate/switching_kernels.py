"""Compiled switching rules: the schedules of ``decision``, in whole numbers (theory T2).

Numbers are over the weights' denominator N, which leaves room: ``8 J N < 2^63``
(``switching_weights.has_room``). Balances stay within ``J N`` in size under either rule (T2.1,
T2.2) and within ``(J + 1) N`` before the pick is taken off; the sum of their sizes within
``2 J N``; what a deadline looks at stays within ``2 N``. None of it grows with the depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

if TYPE_CHECKING:
    from qreplace.simulate.switching import Rule
    from qreplace.simulate.switching_weights import Weights


def schedule_of(weights: Weights, rule: Rule) -> Any:
    """The schedule, (D,) int32, of weights that fit."""
    unit, parts = weights.denominator, 2 * weights.atoms - 2
    if rule != "chairman" or parts == 0:
        return _greedy(weights.rows, unit, weights.depth)
    # A whole number is at least unit / parts, or above unit - unit / parts, just where it is so
    # against these.
    least, late = -(-unit // parts), (parts - 1) * unit // parts
    if weights.constant:
        return _chairman_constant(weights.rows[0], unit, least, late, weights.depth)
    return _chairman(weights.rows, unit, least, late)


def discrepancies(weights: Weights, schedule: Any) -> tuple[int, int, int, int]:
    """Largest ``|P_j - n_j|``, its step, largest ``sum_j |P_j - n_j|``, its step; sizes over N.

    The caller has seen that balances fit: those of a rule's own schedule do, those of a schedule
    from elsewhere where ``2 D N < 2^63``.
    """
    found = _discrepancies(weights.rows, weights.denominator, schedule)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _greedy(rows: Any, unit: int, depth: int) -> Any:
    count = rows.shape[1]
    constant = rows.shape[0] == 1
    balance = np.zeros(count, dtype=np.int64)
    chosen = np.empty(depth, dtype=np.int32)
    for k in range(depth):
        row = 0 if constant else k
        pick = 0
        for j in range(count):
            balance[j] += rows[row, j]
            if balance[j] > balance[pick]:
                pick = j
        balance[pick] -= unit
        chosen[k] = pick
    return chosen


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _chairman(rows: Any, unit: int, least: int, late: int) -> Any:
    """``balance`` is ``P_j - n_j`` now, ``ahead`` the same at the step that ``deadline`` looks at.

    A deadline only moves forward, so each atom's weights are read twice in all.
    """
    depth, count = rows.shape
    balance = np.zeros(count, dtype=np.int64)
    ahead = np.zeros(count, dtype=np.int64)
    deadline = np.zeros(count, dtype=np.int64)
    chosen = np.empty(depth, dtype=np.int32)
    for j in range(count):
        while deadline[j] <= depth and ahead[j] <= late:
            deadline[j] += 1
            if deadline[j] <= depth:
                ahead[j] += rows[deadline[j] - 1, j]
    for k in range(depth):
        pick = -1
        for j in range(count):
            balance[j] += rows[k, j]
            if balance[j] >= least and (pick < 0 or deadline[j] < deadline[pick]):
                pick = j
        balance[pick] -= unit
        ahead[pick] -= unit
        chosen[k] = pick
        while deadline[pick] <= depth and ahead[pick] <= late:
            deadline[pick] += 1
            if deadline[pick] <= depth:
                ahead[pick] += rows[deadline[pick] - 1, pick]
    return chosen


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _chairman_constant(row: Any, unit: int, least: int, late: int, depth: int) -> Any:
    """The u-th deadline of an atom is ``(late + u N) // row[j] + 1``, kept by its remainder.

    It is at most ``D + 2 N + 1``. An atom of weight 0 is never eligible.
    """
    count = len(row)
    balance = np.zeros(count, dtype=np.int64)
    deadline = np.zeros(count, dtype=np.int64)
    rest = np.zeros(count, dtype=np.int64)
    chosen = np.empty(depth, dtype=np.int32)
    for j in range(count):
        if row[j] > 0:
            deadline[j] = late // row[j] + 1
            rest[j] = late % row[j]
    for k in range(depth):
        pick = -1
        for j in range(count):
            balance[j] += row[j]
            if balance[j] >= least and (pick < 0 or deadline[j] < deadline[pick]):
                pick = j
        balance[pick] -= unit
        chosen[k] = pick
        deadline[pick] += unit // row[pick]
        rest[pick] += unit % row[pick]
        if rest[pick] >= row[pick]:
            rest[pick] -= row[pick]
            deadline[pick] += 1
    return chosen


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _discrepancies(rows: Any, unit: int, schedule: Any) -> tuple[int, int, int, int]:
    count = rows.shape[1]
    constant = rows.shape[0] == 1
    balance = np.zeros(count, dtype=np.int64)
    largest, largest_at, total, total_at = 0, 0, 0, 0
    for k in range(len(schedule)):
        row = 0 if constant else k
        balance[schedule[k]] -= unit
        most, added = 0, 0
        for j in range(count):
            balance[j] += rows[row, j]
            size = abs(balance[j])
            most = max(most, size)
            added += size
        if most > largest:
            largest, largest_at = most, k + 1
        if added > total:
            total, total_at = added, k + 1
    return largest, largest_at, total, total_at

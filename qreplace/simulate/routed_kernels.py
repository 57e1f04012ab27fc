"""Compiled routed runs: ``routed.run_plain`` and ``routed.supports_plain`` in binary64.

Every sum is in the reference's order and nothing is contracted, so the bits are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from qreplace.simulate.routed_model import Affine, Routed


class Compiled:
    """A system as arrays, and the two kernels on it."""

    def __init__(self, system: Routed[float]) -> None:
        def stacked(part: str) -> Any:
            return np.array([[getattr(own, part) for own in row] for row in system.atoms])

        self._fields = (stacked("matrix"), stacked("offset"), stacked("drift"))
        self._gates = np.array(system.gates)
        self._scores = _arrays(system.scores)
        self._implemented = _arrays(system.implemented)
        self._initial = np.array(system.initial)
        self._top_k = system.top_k
        self.horizon = system.horizon

    def supports(self, states: Any, step: float) -> Any:
        """(D,) int64: the target's supports at states (D, q) of times ``k h``."""
        return _supports(*self._scores, states, step, self._top_k)

    def run(self, schedule: Any, errors: Any, given: Any) -> tuple[Any, Any]:
        """(D + 1, q) states and (D,) int64 supports, as ``routed.run_plain``."""
        depth = len(schedule)
        step = self.horizon / depth
        none = np.zeros((0, len(self._gates)))
        added = none if errors is None else np.ascontiguousarray(errors, dtype=np.float64)
        fixed = np.zeros(0, dtype=np.int64) if given is None else given
        picks = np.ascontiguousarray(schedule, dtype=np.int64)
        states = np.empty((depth + 1, len(self._initial)))
        states[0] = self._initial
        supports = np.empty(depth, dtype=np.int64)
        _run(*self._fields, self._gates, *self._implemented, picks, added, fixed, step,
             self._top_k, states, supports)  # fmt: skip
        return states, supports


def _arrays(own: Affine[float]) -> tuple[Any, Any, Any]:
    return np.array(own.matrix), np.array(own.offset), np.array(own.drift)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _top(scores: Any, count: int) -> Any:
    support = np.int64(0)
    one = np.int64(1)
    for _ in range(count):
        best = -1
        for e in range(len(scores)):
            if (support >> e) & one == 0 and (best < 0 or scores[e] > scores[best]):
                best = e
        support |= one << best
    return support


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _value(row: Any, offset: float, drift: float, time: float, state: Any) -> float:
    total = offset
    for c in range(len(state)):
        total += row[c] * state[c]
    return total + drift * time


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _supports(matrix: Any, offset: Any, drift: Any, states: Any, step: float, count: int) -> Any:
    found = np.empty(len(states), dtype=np.int64)
    scores = np.empty(len(offset))
    for k in range(len(states)):
        time = step * k
        for e in range(len(offset)):
            scores[e] = _value(matrix[e], offset[e], drift[e], time, states[k])
        found[k] = _top(scores, count)
    return found


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _run(
    matrices: Any,
    offsets: Any,
    drifts: Any,
    gates: Any,
    score_matrix: Any,
    score_offset: Any,
    score_drift: Any,
    schedule: Any,
    errors: Any,
    given: Any,
    step: float,
    count: int,
    states: Any,
    supports: Any,
) -> None:
    """Fills ``states`` from its first row on, and ``supports``."""
    experts, q = len(gates), states.shape[1]
    scores, moved = np.empty(experts), np.empty(q)
    one = np.int64(1)
    for k in range(len(schedule)):
        time, state, atom = step * k, states[k], schedule[k]
        if len(given) > 0:
            support = given[k]
        else:
            for e in range(experts):
                scores[e] = _value(score_matrix[e], score_offset[e], score_drift[e], time, state)
                if len(errors) > 0:
                    scores[e] += errors[k, e]
            support = _top(scores, count)
        first, weight = True, 0.0
        for e in range(experts):
            if (support >> e) & one:
                for i in range(q):
                    own = gates[e] * _value(
                        matrices[atom, e, i], offsets[atom, e, i], drifts[atom, e, i], time, state
                    )
                    moved[i] = own if first else moved[i] + own
                weight = gates[e] if first else weight + gates[e]
                first = False
        for i in range(q):
            states[k + 1, i] = state[i] + step * (moved[i] / weight)
        supports[k] = support

"""What balanced switching costs a step: Tijdeman's rule and the greedy one, exactly (theory T2).

Weights are random, known in advance and change at every step. The peers do the same work in the
same whole numbers: NumPy with one vectorised step after another, and the plain reference in Python.
They run fewer steps; ratios are of the time a step. All three schedules are compared. Times of one
core after compilation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import best_of, record
from qreplace.simulate.switching import Rule, plain_schedule, switch
from qreplace.simulate.switching_kernels import schedule_of
from qreplace.simulate.switching_weights import Weights, whole_weights

ATOMS = 16
DEPTH, NUMPY_DEPTH, PLAIN_DEPTH = 1_000_000, 50_000, 5_000
UNIT = 1_000_003
RULES: tuple[Rule, ...] = ("chairman", "greedy")


def main() -> None:
    """Measure and record."""
    weights = {depth: _weights(depth) for depth in (DEPTH, NUMPY_DEPTH, PLAIN_DEPTH)}
    constant = whole_weights(weights[DEPTH].rows[0], UNIT, DEPTH)
    rows = []
    for rule in RULES:
        peer = _numpy_chairman if rule == "chairman" else _numpy_greedy
        schedule_of(weights[PLAIN_DEPTH], rule)
        schedule_of(constant, rule)
        _, seconds = best_of(3, lambda rule=rule: schedule_of(weights[DEPTH], rule))  # type: ignore[misc]
        _, checked = best_of(3, lambda rule=rule: switch(weights[DEPTH], rule))  # type: ignore[misc]
        _, one_row = best_of(3, lambda rule=rule: schedule_of(constant, rule))  # type: ignore[misc]
        by_numpy = _per_step(peer, weights[NUMPY_DEPTH], rule)
        plainly = _per_step(lambda w, rule=rule: plain_schedule(w, rule),  # type: ignore[misc]
                            weights[PLAIN_DEPTH], rule)  # fmt: skip
        found = switch(weights[DEPTH], rule)
        rows.append(
            {
                "what": f"{rule}, {ATOMS} atoms, {DEPTH} steps",
                "seconds": seconds,
                "with_discrepancies_s": checked,
                "constant_weights_s": one_row,
                "ns_a_step": seconds / DEPTH * 1e9,
                "numpy_ns_a_step": by_numpy * 1e9,
                "plain_ns_a_step": plainly * 1e9,
                "numpy_over_compiled": by_numpy * DEPTH / seconds,
                "plain_over_compiled": plainly * DEPTH / seconds,
                "largest": float(found.largest),
                "bound": float(found.bounds.largest),
            }
        )
    record("switching_rules", rows)


def _weights(depth: int) -> Weights:
    rng = np.random.default_rng(16)
    shares = rng.dirichlet(np.full(ATOMS, 0.5), size=depth)
    whole = np.floor(shares * UNIT).astype(np.int64)
    whole[:, 0] += UNIT - whole.sum(axis=1)
    return whole_weights(whole, UNIT)


def _per_step(action: Callable[[Weights], Any], weights: Weights, rule: Rule) -> float:
    """Seconds a step of a peer; its schedule has to be the compiled one."""
    start = time.perf_counter()
    found = action(weights)
    seconds = time.perf_counter() - start
    if not np.array_equal(found, schedule_of(weights, rule)):
        raise RuntimeError(f"a peer's {rule} schedule differs")
    return seconds / weights.depth


def _numpy_greedy(weights: Weights) -> Any:
    balance = np.zeros(weights.atoms, dtype=np.int64)
    chosen = np.empty(weights.depth, dtype=np.int32)
    for k, row in enumerate(weights.rows):
        balance += row
        pick = balance.argmax()
        balance[pick] -= weights.denominator
        chosen[k] = pick
    return chosen


def _numpy_chairman(weights: Weights) -> Any:
    """All cumulative weights at once, deadlines by bisection, one vectorised choice a step."""
    unit, parts, depth = weights.denominator, 2 * weights.atoms - 2, weights.depth
    late = (parts - 1) * unit // parts
    sums = np.cumsum(weights.rows, axis=0)
    columns = [np.ascontiguousarray(column) for column in sums.T]
    used = np.zeros(weights.atoms, dtype=np.int64)
    deadlines = np.array([column.searchsorted(late, side="right") for column in columns])
    chosen = np.empty(depth, dtype=np.int32)
    for k in range(depth):
        eligible = (sums[k] - used) * parts >= unit
        pick = np.where(eligible, deadlines, depth + 1).argmin()
        used[pick] += unit
        deadlines[pick] = columns[pick].searchsorted(used[pick] + late, side="right")
        chosen[k] = pick
    return chosen


if __name__ == "__main__":
    main()

"""Scalar steps of error feedback a second on one core, exact in codes (theory T4.10).

The same increments, schedule and ratio for all: the blocked kernel, NumPy with one vectorised step
after another over all lanes (binary64 as the kernel, and 64-bit integers), ``simulate``, which
also runs the ideal path in rationals and checks every identity, and plain Python. The peers run
fewer steps; end states are compared. Times after compilation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.measure import best_of, record
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.feedback import feedback, feedback_plain
from qreplace.simulate.model import Arithmetic, Atom, System, grid

LANES, DEPTH, ATOMS = 4096, 20_000, 4
NUMPY_DEPTH, SIMULATE_DEPTH, PLAIN_DEPTH = 2_000, 100, 20
CODE = 1000


def main() -> None:
    """Measure and record."""
    rng = np.random.default_rng(10)
    codes = rng.integers(-CODE, CODE + 1, (ATOMS, LANES))
    schedule = rng.integers(0, ATOMS, DEPTH)
    rows = []
    for ratio in (16, 7):
        feedback(codes, schedule[:4], ratio)
        _, seconds = best_of(3, lambda ratio=ratio: feedback(codes, schedule, ratio))  # type: ignore[misc]
        own = LANES * DEPTH / seconds
        peers = {
            "numpy_float": (_numpy_float, NUMPY_DEPTH),
            "numpy_integer": (_numpy_integer, NUMPY_DEPTH),
            "simulate": (_simulate, SIMULATE_DEPTH),
            "plain": (_plain, PLAIN_DEPTH),
        }
        row: dict[str, Any] = {
            "what": f"error feedback, ratio {ratio}, {LANES} lanes, {DEPTH} steps",
            "steps_a_second": own,
        }
        for name, (action, depth) in peers.items():
            row[f"{name}_over_compiled"] = own / _speed(action, codes, schedule[:depth], ratio)
        rows.append(row)
    record("error_feedback_steps", rows)


def _speed(action: Callable[..., Any], codes: Any, schedule: Any, ratio: int) -> float:
    """Scalar steps a second of a peer; its end has to be the kernel's."""
    action(codes, schedule[:2], ratio)
    start = time.perf_counter()
    found = action(codes, schedule, ratio)
    seconds = time.perf_counter() - start
    if not np.array_equal(found, feedback(codes, schedule, ratio).states):
        raise RuntimeError(f"the states of {action.__name__} differ")
    return codes.shape[1] * len(schedule) / seconds


def _numpy_float(codes: Any, schedule: Any, ratio: int) -> Any:
    table = codes.astype(np.float64)
    states, residuals = np.zeros(codes.shape[1]), np.zeros(codes.shape[1])
    moved = np.empty_like(states)
    for atom in schedule:
        residuals += table[atom]
        np.divide(residuals, ratio, out=moved)
        np.rint(moved, out=moved)
        states += moved
        residuals -= ratio * moved
    return states.astype(np.int64)


def _numpy_integer(codes: Any, schedule: Any, ratio: int) -> Any:
    states = np.zeros(codes.shape[1], dtype=np.int64)
    residuals = np.zeros_like(states)
    for atom in schedule:
        residuals += codes[atom]
        moved, rest = np.divmod(residuals, ratio)
        moved += (2 * rest > ratio) | ((2 * rest == ratio) & (moved & 1 == 1))
        states += moved
        residuals -= ratio * moved
    return states


def _simulate(codes: Any, schedule: Any, ratio: int) -> Any:
    depth = len(schedule)
    atoms = tuple(Atom(tuple(Fraction(depth * int(c)) for c in row)) for row in codes)
    start = (Fraction(0),) * codes.shape[1]
    coarse = grid(Fraction(ratio))
    own = Arithmetic("error_feedback", "nearest_even", state=coarse, increment=coarse)
    run = simulate(System(atoms, start, Fraction(1)), [int(k) for k in schedule], own)
    return np.array([int(z / ratio) for z in run.executed])


def _plain(codes: Any, schedule: Any, ratio: int) -> Any:
    states, _ = feedback_plain(codes.tolist(), schedule.tolist(), ratio, [0] * codes.shape[1])
    return np.array(states)


if __name__ == "__main__":
    main()

"""The registered common-lattice grid for one ratio, every check of every sequence (theory T4.10).

2,991,904 sequences: codes in [-n, n] for n = 1..8, one to five steps. The peers make the same
checks of the same sequences: NumPy with all sequences of a block as one array, a vectorised step
after another, and the plain reference, on a smaller grid. Counts and largest codes are compared.
One core, after compilation.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import best_of, record
from qreplace.simulate.lattice import Tally, bounds_for, signed_width, verify_grid, verify_plain

MAX_CODE, MAX_DEPTH = 8, 5
PLAIN_CODE, PLAIN_DEPTH = 4, 4


def main() -> None:
    """Measure and record."""
    rows = []
    for ratio in (1, 2, 3, 4, 8):
        verify_grid(2, 2, ratio)
        _, seconds = best_of(3, lambda ratio=ratio: verify_grid(MAX_CODE, MAX_DEPTH, ratio))  # type: ignore[misc]
        found = verify_grid(MAX_CODE, MAX_DEPTH, ratio)
        start = time.perf_counter()
        by_numpy = _numpy_grid(MAX_CODE, MAX_DEPTH, ratio)
        numpy_seconds = time.perf_counter() - start
        if _seen(by_numpy) != _seen(found):
            raise RuntimeError(f"NumPy's tally differs: {by_numpy} and {found}")
        start = time.perf_counter()
        plainly = verify_plain(PLAIN_CODE, PLAIN_DEPTH, ratio)
        plain_seconds = (time.perf_counter() - start) / plainly.sequences * found.sequences
        if _seen(plainly) != _seen(verify_grid(PLAIN_CODE, PLAIN_DEPTH, ratio)):
            raise RuntimeError("the plain tally differs")
        rows.append(
            {
                "what": f"registered grid, ratio {ratio}",
                "sequences": found.sequences,
                "seconds": seconds,
                "numpy_over_compiled": numpy_seconds / seconds,
                "plain_over_compiled": plain_seconds / seconds,
            }
        )
    record("lattice_grid", rows)


def _numpy_grid(max_code: int, max_depth: int, ratio: int) -> Tally:
    total = Tally()
    for n in range(1, max_code + 1):
        for depth in range(1, max_depth + 1):
            total.add(_numpy_block(n, depth, ratio))
    return total


def _numpy_block(n: int, depth: int, ratio: int) -> Tally:
    """All sequences of one length with codes in [-n, n], a column a step."""
    bounds, count = bounds_for(ratio, n), (2 * n + 1) ** depth
    index = np.arange(count)
    state, residual, total = (np.zeros(count, dtype=np.int64) for _ in range(3))
    largest = dict.fromkeys(("residual", "pre_round", "increment", "state"), 0)
    for step in range(depth):
        code = index // (2 * n + 1) ** step % (2 * n + 1) - n
        whole = code + residual
        moved, rest = np.divmod(whole, ratio)
        moved += (2 * rest > ratio) | ((2 * rest == ratio) & (moved & 1 == 1))
        residual = whole - ratio * moved
        state += moved
        total += code
        widths = bounds.widths(0, step + 1)
        limits = {
            "residual": bounds.residual,
            "pre_round": bounds.pre_round,
            "increment": bounds.increment,
            "state": bounds.state(0, step + 1),
        }
        held = {"residual": residual, "pre_round": whole, "increment": moved, "state": state}
        for name, codes in held.items():
            top = int(np.abs(codes).max())
            largest[name] = max(largest[name], top)
            if top > limits[name] or signed_width(top) > widths[name]:
                raise RuntimeError(f"{name} leaves its bound")
        if np.any(ratio * state + residual != total):
            raise RuntimeError("something is lost")
    if np.any(total - residual != ratio * state):
        raise RuntimeError("the state is not recovered")
    return Tally(sequences=count, largest=largest)


def _seen(tally: Tally) -> tuple[int, dict[str, int]]:
    """What each counts alike: the tree checks a prefix once, the others in every sequence."""
    return tally.sequences, tally.largest


if __name__ == "__main__":
    main()

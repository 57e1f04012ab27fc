"""The compiled tree of the common-lattice verifier (theory T4.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from qreplace.simulate.draws_kernels import draw
from qreplace.simulate.model import ROUNDINGS, Rounding
from qreplace.simulate.rounding_kernels import quotient

if TYPE_CHECKING:
    from qreplace.simulate.lattice import Bounds, Tally, TrialShape

RESIDUAL, PRE_ROUND, INCREMENT, STATE, WIDTHS, CONSERVATION, RECOVERY = range(7)
"""The order of ``lattice.CHECKS``."""


def walk(code_limit: int, max_depth: int, ratio: int, rounding: Rounding, bounds: Bounds) -> Tally:
    """Every sequence of one block; raises ``Falsified`` with the first that crosses a bound."""
    from qreplace.simulate.lattice import CHECKS, falsified

    codes = np.zeros(max_depth, dtype=np.int64)
    meter = _Meter(bounds, 0, max_depth)
    failed, step, value, limit = _walk(
        codes[:0], code_limit, 0, ratio, ROUNDINGS.index(rounding), *meter.arrays, codes
    )
    if failed >= 0:
        sequence = [int(c) for c in codes[: step + 1]]
        raise falsified(CHECKS[failed], int(value), int(limit), sequence, int(step) + 1, ratio)
    return meter.tally()


def follow(codes: Any, bounds: Bounds, rounding: Rounding, start: int) -> Tally:
    """One sequence, compiled; raises ``Falsified`` as ``check_sequence`` does."""
    from qreplace.simulate.lattice import CHECKS, falsified

    meter, path = _Meter(bounds, start, len(codes)), np.zeros(len(codes), dtype=np.int64)
    failed, step, value, limit = _walk(
        codes,
        bounds.code_limit,
        start,
        bounds.ratio,
        ROUNDINGS.index(rounding),
        *meter.arrays,
        path,
    )
    if failed >= 0:
        sequence = [int(c) for c in codes]
        name = CHECKS[failed]
        raise falsified(name, int(value), int(limit), sequence, int(step) + 1, bounds.ratio)
    return meter.tally()


def trial_codes(seed: int, trial: int, shape: TrialShape) -> Any:
    """The codes of a trial, one row a coordinate."""
    from qreplace.simulate.lattice import FIRST_CODE, TRIAL_DEPTH

    word = np.uint64(seed & ((1 << 64) - 1))
    return _trial_codes(
        word, np.uint64(trial), len(shape.starts), shape.depth, shape.limit, FIRST_CODE, TRIAL_DEPTH
    )


class _Meter:
    """Bounds as arrays for the loops, and what they count."""

    def __init__(self, bounds: Bounds, start: int, depth: int) -> None:
        steps = range(1, depth + 1)
        limits = np.array([bounds.residual, bounds.pre_round, bounds.increment], dtype=np.int64)
        states = np.array([bounds.state(start, k) for k in steps], dtype=np.int64)
        widths = [bounds.widths(start, k) for k in steps]
        order = ("residual", "pre_round", "increment", "state")
        bits = np.array([[w[name] for name in order] for w in widths], dtype=np.int64)
        self._counts = np.zeros(8, dtype=np.int64)
        self._largest = np.zeros(4, dtype=np.int64)
        self.arrays = (limits, states, bits, self._counts, self._largest)

    def tally(self) -> Tally:
        """The counts and extremes."""
        from qreplace.simulate.lattice import CHECKS, Tally

        tally = Tally(int(self._counts[7]))
        tally.checks.update({name: int(self._counts[i]) for i, name in enumerate(CHECKS)})
        names = ("residual", "pre_round", "increment", "state")
        tally.largest.update({name: int(self._largest[i]) for i, name in enumerate(names)})
        return tally


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fits(code: Any, bits: Any) -> Any:
    high = (np.int64(1) << (bits - 1)) - 1
    return -high - 1 <= code <= high


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _walk(
    given: Any, limit: int, start: int, ratio: int, rounding: int, limits: Any, states: Any,
    bits: Any, counts: Any, largest: Any, codes: Any,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Depth first without recursion; ``codes`` is the present node's sequence.

    With a ``given`` sequence the tree is that one path, and only its end is a sequence. The checks
    stand here in full: a call for each costs five times as much as the rest of the loop.
    """
    max_depth = len(codes)
    one = len(given) > 0
    z = np.zeros(max_depth + 1, dtype=np.int64)
    r = np.zeros(max_depth + 1, dtype=np.int64)
    total = np.zeros(max_depth + 1, dtype=np.int64)
    z[0] = start
    middle = limit + ratio
    quotients = np.empty(2 * middle + 1, dtype=np.int64)
    for p in range(-middle, middle + 1):
        quotients[p + middle] = quotient(p, ratio, rounding)
    first = given[0] if one else -limit
    last = first if one else limit
    codes[0] = first - 1
    level = 0
    while level >= 0:
        codes[level] += 1
        if codes[level] > last:
            level -= 1
            if one:
                break
            continue
        p = codes[level] + r[level]
        q = quotients[p + middle] if abs(p) <= middle else quotient(p, ratio, rounding)
        state = z[level] + q
        residual = p - ratio * q
        added = total[level] + codes[level]
        counts[RESIDUAL] += 1
        if abs(residual) > limits[0]:
            return RESIDUAL, level, abs(residual), limits[0]
        counts[PRE_ROUND] += 1
        if abs(p) > limits[1]:
            return PRE_ROUND, level, abs(p), limits[1]
        counts[INCREMENT] += 1
        if abs(q) > limits[2]:
            return INCREMENT, level, abs(q), limits[2]
        counts[STATE] += 1
        if abs(state) > states[level]:
            return STATE, level, abs(state), states[level]
        counts[WIDTHS] += 1
        if not (
            _fits(residual, bits[level, 0])
            and _fits(p, bits[level, 1])
            and _fits(q, bits[level, 2])
            and _fits(state, bits[level, 3])
        ):
            return WIDTHS, level, abs(state), states[level]
        counts[CONSERVATION] += 1
        off = ratio * (state - start) + residual - added
        if off != 0:
            return CONSERVATION, level, abs(off), 0
        largest[0] = max(largest[0], abs(residual))
        largest[1] = max(largest[1], abs(p))
        largest[2] = max(largest[2], abs(q))
        largest[3] = max(largest[3], abs(state))
        if not one or level + 1 == max_depth:
            counts[RECOVERY] += 1
            again = 0
            for k in range(level + 1):
                again += codes[k]
            if ratio * (state - start) + residual != again or (ratio == 1 and residual != 0):
                return RECOVERY, level, 1, 0
            counts[7] += 1
        if level + 1 < max_depth:
            z[level + 1], r[level + 1], total[level + 1] = state, residual, added
            level += 1
            if one:
                last = given[level]
            codes[level] = (last if one else -limit) - 1
    return -1, 0, 0, 0


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _trial_codes(
    seed: Any, trial: Any, rows: int, depth: int, limit: int, first: int, stride: int
) -> Any:
    found = np.empty((rows, depth), dtype=np.int64)
    for row in range(rows):
        for k in range(depth):
            word = draw(seed, trial, np.uint64(first + row * stride + k))
            found[row, k] = np.int64(word % np.uint64(2 * limit + 1)) - limit
    return found

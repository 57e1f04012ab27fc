"""Error feedback of increments that do not depend on the state, at full speed (theory T4.6, T4.10).

One lane is one coordinate: ``p = c + r``, ``q = Q(p / m)``, ``z += q``, ``r = p - m q`` in codes,
with ``c`` in fine units and ``z`` in coarse ones of ``m`` fine units, Q to nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qreplace.errors import InputError
from qreplace.simulate.model import MAX_SIMULATED_DEPTH, require_schedule

EXACT = 1 << 51
"""Codes below this are exact in ``run``; see ``feedback``."""
MAX_LANE_STEPS = 1 << 40
"""Steps times lanes of one call."""


@dataclass(frozen=True, eq=False)
class FeedbackRun:
    """Where every lane ends: arrays of int64, one entry a lane."""

    states: Any
    """Coarse codes."""
    residuals: Any
    """What the carry still holds, in fine units; at most ``m // 2`` in size."""


def feedback(
    codes: Any, schedule: Sequence[int] | Any, ratio: int, start: Any = None
) -> FeedbackRun:
    """Run ``schedule`` on increments ``codes`` of shape (J, q), from coarse codes ``start`` (or 0).

    The kernel rounds ``fl(p / m)``. That is Q(p / m) while ``|p| < 2^51``: a tie ``k + 1/2`` is a
    binary64 number, so ``fl`` never crosses one and keeps an exact one; and it never *reaches* one
    from outside, since ``p / m`` is at least ``1 / (2m)`` away from a tie that it is not, and half
    a unit in the last place of a number below ``2^51 / m`` is at most ``1 / (4m)``. Products
    ``m q`` and sums stay below 2^53, where binary64 is exact.

    Raises ``InputError`` before anything runs where codes, states or work could pass their limits.
    """
    import numpy as np

    from qreplace.simulate.feedback_kernels import run

    table = np.asarray(codes)
    picks = np.asarray(schedule)
    if table.ndim != 2 or not table.size or table.dtype.kind not in "iu":
        raise InputError("needed increments as whole numbers of shape (atoms, lanes)")
    if picks.ndim != 1 or picks.dtype.kind not in "iu":
        raise InputError("a schedule needs to be a list of whole numbers, one atom a step")
    if len(picks) > MAX_SIMULATED_DEPTH or len(picks) * table.shape[1] > MAX_LANE_STEPS:
        raise InputError(
            f"{len(picks)} steps of {table.shape[1]} lanes; needed at most {MAX_SIMULATED_DEPTH} "
            f"steps and {MAX_LANE_STEPS} in product"
        )
    require_schedule(picks.tolist(), table.shape[0])
    begin = np.zeros(table.shape[1], dtype=np.int64) if start is None else np.asarray(start)
    if begin.shape != table.shape[1:] or begin.dtype.kind not in "iu":
        raise InputError(f"needed {table.shape[1]} whole numbers to start from")
    _require_exact(_largest(table), len(picks), ratio, _largest(begin))
    states = begin.astype(np.float64)
    residuals = np.zeros_like(states)
    run(table.astype(np.float64), picks.astype(np.int64), float(ratio), states, residuals)
    return FeedbackRun(states.astype(np.int64), residuals.astype(np.int64))


def feedback_plain(
    codes: Sequence[Sequence[int]], schedule: Sequence[int], ratio: int, start: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The same in Python integers, the reference of ``feedback``: states and residuals."""
    states, residuals = list(start), [0] * len(start)
    for atom in schedule:
        for lane, code in enumerate(codes[atom]):
            whole = code + residuals[lane]
            moved, rest = divmod(whole, ratio)
            if 2 * rest > ratio or (2 * rest == ratio and moved % 2):
                moved += 1
            states[lane] += moved
            residuals[lane] = whole - ratio * moved
    return states, residuals


def _largest(values: Any) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def _require_exact(code: int, depth: int, ratio: int, start: int) -> None:
    """``|p| <= |c| + m/2`` and ``|z| <= |z_0| + D (|p| / m + 1)`` stay where binary64 is exact."""
    if ratio < 1:
        raise InputError(f"the lattice ratio is {ratio}; needed at least 1")
    whole = code + ratio // 2 + 1
    state = start + depth * (whole // ratio + 1)
    if whole + ratio >= EXACT or state >= EXACT:
        raise InputError(
            f"codes of up to {max(whole + ratio, state)}; needed below 2^51, where the compiled "
            "steps are exact",
            remedy="Use qreplace.simulate.arithmetic.simulate, which has no such limit.",
        )

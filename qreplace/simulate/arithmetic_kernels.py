"""Compiled stepping on int64 codes; bit for bit what ``arithmetic.simulate_plain`` does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from qreplace.simulate.draws_kernels import draw, high_word
from qreplace.simulate.fields import CHANNELS_OF_ACTIVATION, CHANNELS_OF_CARRY
from qreplace.simulate.integers import ROOM, Lattice
from qreplace.simulate.rounding_kernels import STOCHASTIC, quotient

WRITE_BACK, INCREMENT, ROUNDED_CARRY = 1, 2, 4
STATE, TAKEN, CARRY, HIDDEN = 0, 1, 2, 3
DETECT, SATURATE = 0, 1
FINE, TOO_LARGE, OVERFLOW = 0, 1, 2


class CodeTrace(NamedTuple):
    """What the loop leaves; all arrays int64, in codes of ``Lattice.unit``."""

    status: int
    """0 done, 1 codes outgrow 64 bits, 2 a register overflows that must not."""
    place: Any
    """(4,): register, step, coordinate and code of that overflow."""
    states: Any
    """(D + 1, q)"""
    deviations: Any
    """(D + 1, q): R_k of theory T4.13."""
    carry: Any
    """(q,)"""
    conserved: bool
    field_error: int
    """Largest distance of a computed increment from the exact one."""
    extremes: Any
    """(4, 2): register codes; low above high where the register was not used."""
    overflows: Any
    """(4,)"""


def run_codes(
    lattice: Lattice, schedule: Any, semantics: int, rounding: int, seed: int
) -> CodeTrace:
    """Run a lowered schedule."""
    depth, q = len(schedule), len(lattice.initial)
    states = np.zeros((depth + 1, q), dtype=np.int64)
    deviations = np.zeros((depth + 1, q), dtype=np.int64)
    carry = np.zeros(q, dtype=np.int64)
    extremes = np.empty((4, 2), dtype=np.int64)
    extremes[:, 0], extremes[:, 1] = 1, 0
    overflows = np.zeros(4, dtype=np.int64)
    place = np.zeros(4, dtype=np.int64)
    states[0] = lattice.initial
    status, conserved, field_error = _run(
        schedule, lattice.coarse, lattice.matrix, lattice.offset, lattice.inner, lattice.bias,
        lattice.hidden, lattice.threshold, lattice.activation, lattice.outer, *lattice.steps,
        lattice.bits, lattice.modes, lattice.largest_state, semantics, rounding,
        np.uint64(seed & ((1 << 64) - 1)), states, deviations, carry, extremes, overflows, place,
    )  # fmt: skip
    return CodeTrace(
        int(status),
        [int(x) for x in place],
        states,
        deviations,
        carry,
        bool(conserved),
        int(field_error),
        extremes,
        overflows,
    )


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def round_code(p: Any, m: Any, rounding: int, seed: Any, step: int, channel: int) -> Any:
    """``round_quotient``; a draw is made only where one is needed."""
    if rounding != STOCHASTIC:
        return quotient(p, m, rounding)
    below = p // m
    rest = p - below * m
    if rest == 0:
        return below
    share = high_word(draw(seed, np.uint64(step), np.uint64(channel)), np.uint64(m))
    return below + (1 if share < np.uint64(rest) else 0)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _hold(
    code: int, register: int, bits: Any, modes: Any, extremes: Any, overflows: Any
) -> tuple[int, bool]:
    """What a register holds of a code, and whether that is an error."""
    if extremes[register, 0] > extremes[register, 1]:
        extremes[register, 0] = code
        extremes[register, 1] = code
    else:
        extremes[register, 0] = min(extremes[register, 0], code)
        extremes[register, 1] = max(extremes[register, 1], code)
    width = bits[register]
    if width == 0:
        return code, False
    low = -(np.int64(1) << (width - 1))
    high = -(low + 1)
    if low <= code <= high:
        return code, False
    if modes[register] == DETECT:
        return code, True
    overflows[register] += 1
    if modes[register] == SATURATE:
        return (low if code < low else high), False
    return ((code - low) & ((np.int64(1) << width) - 1)) + low, False


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _step_of(steps: Any, k: int, i: int) -> Any:
    return steps[k if steps.shape[0] > 1 else 0, i if steps.shape[1] > 1 else 0]


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _run(
    schedule: Any, coarse: int, matrix: Any, offset: Any, inner: Any, bias: Any, used: Any,
    threshold: Any, activation: Any, outer: Any, state_steps: Any, taken_steps: Any,
    carry_steps: Any, hidden_steps: Any, bits: Any, modes: Any, largest: int, semantics: int,
    rounding: int, seed: Any, states: Any, deviations: Any, carry: Any, extremes: Any,
    overflows: Any, place: Any,
) -> tuple[int, bool, int]:  # fmt: skip
    q = offset.shape[1]
    hidden = inner.shape[1]
    reads = matrix.shape[1] > 0
    state = np.empty(q, dtype=np.int64)
    exact = np.empty(q, dtype=np.int64)
    made = np.empty(q, dtype=np.int64)
    unrounded = np.empty(hidden, dtype=np.int64)
    rounded = np.empty(hidden, dtype=np.int64)
    conserved = True
    field_error = 0
    for k in range(len(schedule)):
        j = schedule[k]
        for i in range(q):
            state[i] = states[k, i] // coarse
            if abs(state[i]) > largest or abs(carry[i]) > ROOM or abs(deviations[k, i]) > ROOM:
                return TOO_LARGE, conserved, field_error
        for i in range(used[j]):
            total = bias[j, i]
            for c in range(q):
                total += inner[j, i, c] * state[c]
            if activation[j] == 1:
                total = max(total, 0)
            elif activation[j] == 2:
                size = max(0, abs(total) - threshold[j])
                total = size if total > 0 else -size
            unrounded[i] = total
            rounded[i] = total
            if hidden_steps.shape[0] > 0:
                size = _step_of(hidden_steps, k, i)
                code = round_code(total, size, rounding, seed, k, CHANNELS_OF_ACTIVATION + i)
                code, bad = _hold(code, HIDDEN, bits, modes, extremes, overflows)
                if bad:
                    place[:] = HIDDEN, k, i, code
                    return OVERFLOW, conserved, field_error
                rounded[i] = size * code
        for i in range(q):
            total = offset[j, i]
            if reads:
                for c in range(q):
                    total += matrix[j, i, c] * state[c]
            exact[i] = total
            made[i] = total
            for c in range(used[j]):
                exact[i] += outer[j, i, c] * unrounded[c]
                made[i] += outer[j, i, c] * rounded[c]
            field_error = max(field_error, abs(made[i] - exact[i]))
        for i in range(q):
            old, left = states[k, i], carry[i]
            if semantics == WRITE_BACK:
                size = _step_of(state_steps, k, i)
                code = round_code(old + made[i], size, rounding, seed, k, i)
                code, bad = _hold(code, STATE, bits, modes, extremes, overflows)
                if bad:
                    place[:] = STATE, k, i, code
                    return OVERFLOW, conserved, field_error
                new = size * code
            else:
                wanted = made[i] if semantics == INCREMENT else made[i] + left
                size = _step_of(taken_steps, k, i)
                code = round_code(wanted, size, rounding, seed, k, i)
                code, bad = _hold(code, TAKEN, bits, modes, extremes, overflows)
                if bad:
                    place[:] = TAKEN, k, i, code
                    return OVERFLOW, conserved, field_error
                new = old + size * code
                if abs(new) > 2 * ROOM:
                    return TOO_LARGE, conserved, field_error
                if semantics != INCREMENT:
                    carry[i] = wanted - size * code
                if state_steps.shape[0] > 0:
                    size = _step_of(state_steps, k, i)
                    if new % size != 0:  # the plain run says so
                        return TOO_LARGE, conserved, field_error
                    code, bad = _hold(new // size, STATE, bits, modes, extremes, overflows)
                    if bad:
                        place[:] = STATE, k, i, code
                        return OVERFLOW, conserved, field_error
                    new = size * code
                if semantics == ROUNDED_CARRY:
                    size = _step_of(carry_steps, k, i)
                    code = round_code(carry[i], size, rounding, seed, k, CHANNELS_OF_CARRY + i)
                    code, bad = _hold(code, CARRY, bits, modes, extremes, overflows)
                    if bad:
                        place[:] = CARRY, k, i, code
                        return OVERFLOW, conserved, field_error
                    carry[i] = size * code
            if new + carry[i] != old + left + made[i]:
                conserved = False
            states[k + 1, i] = new
            deviations[k + 1, i] = deviations[k, i] + (new - old - exact[i])
    for i in range(q):
        if abs(carry[i]) > ROOM or abs(deviations[len(schedule), i]) > ROOM:
            return TOO_LARGE, conserved, field_error
    return FINE, conserved, field_error

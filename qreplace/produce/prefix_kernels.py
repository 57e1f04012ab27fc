"""Compiled bounds of what the remaining steps can reach, and trees of prefixes built on them.

``continuation_bound`` is a float copy of ``question.state_boxes.Continuations.distance``: the same
boxes, functionals and directions, so that a tree it proposes is one that exact arithmetic accepts.
It proposes only. Shapes and ``Atoms`` as in ``schedule_kernels``; all is about one input at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from qreplace.produce.schedule_kernels import (
    BLOCKS,
    IDENTITY,
    RELU,
    SOFT,
    SUM,
    Floats,
    Integers,
)

DIRECTIONS = 6
"""Most functionals that are tried; as many as the exact bound tries."""


@njit(cache=True)
def _phi(kind: int, u: float, level: float) -> float:
    if kind == RELU:
        return max(u, 0.0)
    if kind == SOFT:
        return max(u - level, 0.0) + min(u + level, 0.0)
    return u


class Scratch(NamedTuple):
    """Arrays of ``continuation_bound``."""

    boxes: Floats
    chosen: Integers
    rows: Floats
    carried: Floats
    combined: Floats
    slopes: Floats
    values: Floats


@njit(cache=True)
def scratch(depth: int, count: int, n: int, d: int) -> Any:
    """Room for bounds of schedules of ``depth`` steps."""
    return Scratch(
        np.empty((depth + 1, d, 2)),
        np.empty(depth, np.int64),
        np.empty((6, d)),
        np.empty((count, d)),
        np.empty((count, n)),
        np.empty((count, n, 2)),
        np.empty((count, n, 3)),
    )


@njit(cache=True)
def _hull(atoms: Any, base: Any, box: Any, after: Any) -> None:
    """A box of the states after one step of whatever atom from a box, at one input."""
    count, n, d = atoms.state.shape
    for a in range(d):
        after[a, 0], after[a, 1] = np.inf, -np.inf
    low_phi, high_phi = np.empty(n), np.empty(n)
    for j in range(count):
        for k in range(n):
            low = high = base[j, k]
            for a in range(d):
                s = atoms.state[j, k, a]
                low += s * (box[a, 0] if s > 0 else box[a, 1])
                high += s * (box[a, 1] if s > 0 else box[a, 0])
            low_phi[k] = _phi(atoms.kind[j], low, atoms.thresholds[j, k])
            high_phi[k] = _phi(atoms.kind[j], high, atoms.thresholds[j, k])
        for r in range(d):
            low = high = atoms.offset[j, r]
            for a in range(d):
                c = atoms.carry[j, r, a]
                low += c * (box[a, 0] if c > 0 else box[a, 1])
                high += c * (box[a, 1] if c > 0 else box[a, 0])
            for k in range(n):
                v = atoms.output[j, r, k]
                low += v * (low_phi[k] if v > 0 else high_phi[k])
                high += v * (high_phi[k] if v > 0 else low_phi[k])
            after[r, 0] = min(after[r, 0], low)
            after[r, 1] = max(after[r, 1], high)


@njit(cache=True)
def _norm(measure: Any, gap: Any) -> float:
    value = 0.0
    if measure.kind == BLOCKS:
        for start in range(0, gap.shape[0], measure.block):
            part = 0.0
            for a in range(start, start + measure.block):
                part += gap[a] * gap[a]
            value = max(value, part)
        return float(np.sqrt(value))
    for a in range(gap.shape[0]):
        size = measure.weights[a] * abs(gap[a])
        value = value + size if measure.kind == SUM else max(value, size)
    return value


@njit(cache=True)
def _dual_norm(measure: Any, row: Any) -> float:
    value = 0.0
    if measure.kind == BLOCKS:
        for start in range(0, row.shape[0], measure.block):
            part = 0.0
            for a in range(start, start + measure.block):
                part += row[a] * row[a]
            value += np.sqrt(part)
        return value
    for a in range(row.shape[0]):
        size = abs(row[a]) / measure.weights[a]
        value = max(value, size) if measure.kind == SUM else value + size
    return value


@njit(cache=True)
def _ranges(atoms: Any, j: int, base: Any, box: Any, room: Any) -> None:
    """Activations of atom j at the centre and on the box, and their slopes there."""
    n, d = atoms.state.shape[1], atoms.state.shape[2]
    kind = atoms.kind[j]
    for k in range(n):
        middle, spread = base[j, k], 0.0
        for a in range(d):
            s = atoms.state[j, k, a]
            middle += s * (box[a, 0] + box[a, 1]) / 2
            spread += abs(s) * (box[a, 1] - box[a, 0]) / 2
        level = atoms.thresholds[j, k]
        low, high = middle - spread, middle + spread
        room.values[j, k, 0] = _phi(kind, middle, level)
        room.values[j, k, 1] = _phi(kind, low, level)
        room.values[j, k, 2] = _phi(kind, high, level)
        least, most = 0.0, 1.0
        if (
            kind == IDENTITY
            or (kind == SOFT and level == 0.0)
            or low >= level
            or (kind == SOFT and high <= -level)
        ):
            least = 1.0
        elif (kind == RELU and high <= 0.0) or (kind == SOFT and low >= -level and high <= level):
            most = 0.0
        room.slopes[j, k, 0], room.slopes[j, k, 1] = least, most


@njit(cache=True)
def _pull(atoms: Any, j: int, after: Any, room: Any, mean: Any) -> None:
    """Add the functional before a step of atom j to ``mean``; keep its parts."""
    n, d = atoms.state.shape[1], atoms.state.shape[2]
    for k in range(n):
        weight = 0.0
        for r in range(d):
            weight += after[r] * atoms.output[j, r, k]
        room.combined[j, k] = weight
    for a in range(d):
        total = 0.0
        for r in range(d):
            total += after[r] * atoms.carry[j, r, a]
        room.carried[j, a] = total
        for k in range(n):
            slope = (room.slopes[j, k, 0] + room.slopes[j, k, 1]) / 2
            total += room.combined[j, k] * slope * atoms.state[j, k, a]
        mean[a] += total / atoms.state.shape[0]


@njit(cache=True)
def _least(atoms: Any, j: int, after: Any, before: Any, box: Any, room: Any) -> float:
    """A lower bound of ``after F_j(z) - before z`` on the box."""
    n, d = atoms.state.shape[1], atoms.state.shape[2]
    plain = middle = fixed = 0.0
    for r in range(d):
        fixed += after[r] * atoms.offset[j, r]
    for k in range(n):
        weight = room.combined[j, k]
        plain += weight * room.values[j, k, 1 if weight > 0 else 2]
        middle += weight * room.values[j, k, 0]
    for a in range(d):
        linear = room.carried[j, a] - before[a]
        plain += linear * (box[a, 0] if linear > 0 else box[a, 1])
        middle += linear * (box[a, 0] + box[a, 1]) / 2
        low = high = linear
        for k in range(n):
            product = room.combined[j, k] * atoms.state[j, k, a]
            low += product * (room.slopes[j, k, 0] if product > 0 else room.slopes[j, k, 1])
            high += product * (room.slopes[j, k, 1] if product > 0 else room.slopes[j, k, 0])
        middle -= max(high, -low) * (box[a, 1] - box[a, 0]) / 2
    return max(plain, middle) + fixed


@njit(cache=True)
def _walk(atoms: Any, base: Any, word: Any, first: int, last: int, z: Any) -> None:
    """Take the steps ``word[first:last]`` from z, at one input."""
    n, d = atoms.state.shape[1], atoms.state.shape[2]
    phi, after = np.empty(n), np.empty(d)
    for q in range(first, last):
        j = word[q]
        for k in range(n):
            u = base[j, k]
            for a in range(d):
                u += atoms.state[j, k, a] * z[a]
            phi[k] = _phi(atoms.kind[j], u, atoms.thresholds[j, k])
        for r in range(d):
            total = atoms.offset[j, r]
            for a in range(d):
                total += atoms.carry[j, r, a] * z[a]
            for k in range(n):
                total += atoms.output[j, r, k] * phi[k]
            after[r] = total
        z[:] = after


@njit(cache=True)
def continuation_bound(
    atoms: Any, measure: Any, base: Any, goal: Any, z: Any, steps: int, enough: float, room: Any
) -> float:
    """About ``question.state_boxes.Continuations.distance``: base (J, n), goal and z (d,)."""
    count, d = atoms.kind.shape[0], z.shape[0]
    boxes, chosen = room.boxes, room.chosen
    direction, nearest, reached = room.rows[0], room.rows[1], room.rows[2]
    after, before, gap = room.rows[3], room.rows[4], room.rows[5]
    for a in range(d):
        boxes[0, a, :] = z[a]
    for q in range(steps):
        _hull(atoms, base, boxes[q], boxes[q + 1])
    for a in range(d):
        gap[a] = max(boxes[steps, a, 0] - goal[a], goal[a] - boxes[steps, a, 1], 0.0)
        nearest[a] = (boxes[steps, a, 0] + boxes[steps, a, 1]) / 2
    best = _norm(measure, gap)
    for attempt in range(DIRECTIONS if steps else 0):
        if best >= enough:
            break
        direction[:] = nearest - goal
        size = _dual_norm(measure, direction)
        if size < 1e-12:
            break
        after[:] = direction
        total = 0.0
        for q in range(steps - 1, -1, -1):
            before[:] = 0.0
            for j in range(count):
                _ranges(atoms, j, base, boxes[q], room)
                _pull(atoms, j, after, room, before)
            least = np.inf
            for j in range(count):
                value = _least(atoms, j, after, before, boxes[q], room)
                if value < least:
                    least = value
                    chosen[q] = j
            total += least
            after[:] = before
        for a in range(d):
            total += after[a] * z[a] - direction[a] * goal[a]
        best = max(best, total / size)
        reached[:] = z
        _walk(atoms, base, chosen, 0, steps, reached)
        share, length = 0.0, 0.0
        for a in range(d):
            along = reached[a] - nearest[a]
            share += (goal[a] - nearest[a]) * along
            length += along * along
        share = 1.0 if attempt == 0 or share >= length else max(share, 0.0) / max(length, 1e-300)
        for a in range(d):
            nearest[a] += share * (reached[a] - nearest[a])
    return best


@njit(cache=True)
def prefix_tree(
    atoms: Any,
    measure: Any,
    bases: Any,
    goals: Any,
    initial: Any,
    depth: int,
    lower: float,
    margin: float,
    tries: int,
    room: int,
) -> Any:
    """A tree of leaves at which some input keeps every continuation ``lower`` away, about.

    ``bases`` (m, J, n) and ``goals`` (m, d), the most telling inputs first: an input that served is
    tried first the next time. Preorder: -1 for a branch, else the input. After the last step the
    input of the largest error stands, whatever it is. Empty when ``room`` entries are too few.
    """
    count, n, d = atoms.state.shape
    m = goals.shape[0]
    order = np.arange(m)
    space = scratch(depth, count, n, d)
    word, z = np.zeros(depth, np.int64), np.empty(d)
    tree = np.empty(room, np.int64)
    size, k = 0, 0
    while True:
        if size == room:
            return tree[:0]
        found, most = -1, -1.0
        for place in range(m if k == depth else min(m, tries)):
            i = order[place]
            z[:] = initial
            _walk(atoms, bases[i], word, 0, k, z)
            bound = continuation_bound(
                atoms, measure, bases[i], goals[i], z, depth - k, lower + margin, space
            )
            if bound >= lower + margin or (k == depth and bound > most):
                found, most = i, bound
                if bound >= lower + margin:
                    for q in range(place, 0, -1):
                        order[q] = order[q - 1]
                    order[0] = i
                    break
        tree[size] = found
        size += 1
        if found < 0:
            word[k] = 0
            k += 1
            continue
        while k and word[k - 1] == count - 1:
            k -= 1
        if not k:
            return tree[:size]
        word[k - 1] += 1

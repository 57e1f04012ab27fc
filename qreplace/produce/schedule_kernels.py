"""Compiled loops over schedules in floats; they propose, exact arithmetic decides (theory T8.4).

Inputs are handled in chunks of ``WIDTH``, so that one step of one atom is a vectorised loop. A
chunk remembers the prefix it last saw: schedules in lexicographic order share prefixes, and a chunk
that is rarely needed costs nothing. Shapes: J atoms, activations n, states d, m inputs.

``Atoms`` holds for every atom the weights S (J, n, d), thresholds (J, n), kind (J,), and the Euler
step's output h V (J, d, n), carry (J, d, d) and offset (J, d).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTH = 16
"""Inputs in a chunk."""
RELU, SOFT, IDENTITY = 0, 1, 2
MAXIMUM, SUM, BLOCKS = 0, 1, 2


class Atoms(NamedTuple):
    """Euler steps of every atom."""

    state: Floats
    thresholds: Floats
    kind: Integers
    output: Floats
    carry: Floats
    offset: Floats


class Measure(NamedTuple):
    """A norm: its kind, the size of a block, and a weight a coordinate."""

    kind: int
    block: int
    weights: Floats


class Inputs(NamedTuple):
    """Chunks of inputs: ``W y + b`` (chunks, J, n, WIDTH), F*(y) (chunks, d, WIDTH), z(0) (d,)."""

    base: Floats
    goal: Floats
    initial: Floats


class Pruning(NamedTuple):
    """Functionals by chunk, steps done and direction: rows (.., d, WIDTH), constants (.., WIDTH).

    Every continuation of a state z errs by at least ``rows z + constants``.
    """

    rows: Floats
    constants: Floats


@njit(cache=True)
def _advance(atoms: Any, j: int, base: Any, before: Any, after: Any, u: Any) -> None:
    """One step of atom j for one chunk; ``base`` (n, WIDTH), states (d, WIDTH)."""
    n, d = atoms.state.shape[1], before.shape[0]
    kind = atoms.kind[j]
    for k in range(n):
        for i in range(WIDTH):
            u[k, i] = base[k, i]
        for a in range(d):
            s = atoms.state[j, k, a]
            if s != 0.0:
                for i in range(WIDTH):
                    u[k, i] += s * before[a, i]
        level = atoms.thresholds[j, k]
        if kind == RELU:
            for i in range(WIDTH):
                u[k, i] = max(u[k, i], 0.0)
        elif kind == SOFT:
            for i in range(WIDTH):
                u[k, i] = max(u[k, i] - level, 0.0) + min(u[k, i] + level, 0.0)
    for r in range(d):
        for i in range(WIDTH):
            after[r, i] = atoms.offset[j, r]
        for a in range(d):
            c = atoms.carry[j, r, a]
            if c != 0.0:
                for i in range(WIDTH):
                    after[r, i] += c * before[a, i]
        for k in range(n):
            v = atoms.output[j, r, k]
            if v != 0.0:
                for i in range(WIDTH):
                    after[r, i] += v * u[k, i]


@njit(cache=True)
def _chunk_error(measure: Any, state: Any, goal: Any) -> float:
    """The largest norm of ``state - goal`` in a chunk."""
    d = state.shape[0]
    worst = 0.0
    for i in range(WIDTH):
        value = 0.0
        if measure.kind == BLOCKS:
            for start in range(0, d, measure.block):
                part = 0.0
                for a in range(start, start + measure.block):
                    gap = state[a, i] - goal[a, i]
                    part += gap * gap
                value = max(value, part)
        else:
            for a in range(d):
                gap = measure.weights[a] * abs(state[a, i] - goal[a, i])
                value = value + gap if measure.kind == SUM else max(value, gap)
        worst = max(worst, value)
    return np.sqrt(worst) if measure.kind == BLOCKS else worst


@njit(cache=True)
def _extend(
    atoms: Any, inputs: Any, chunk: int, word: Any, k: int, states: Any, seen: Any, u: Any
) -> None:
    """Bring the states of a chunk to the prefix ``word[:k]``; ``seen[chunk]`` ends in its length.

    ``states`` (chunks, D + 1, d, WIDTH) stay right along the prefix seen last.
    """
    depth = states.shape[1] - 1
    shared = 0
    known = min(seen[chunk, depth], k)
    while shared < known and seen[chunk, shared] == word[shared]:
        shared += 1
    for q in range(shared, k):
        j = word[q]
        seen[chunk, q] = j
        _advance(atoms, j, inputs.base[chunk, j], states[chunk, q], states[chunk, q + 1], u)
    seen[chunk, depth] = k


@njit(cache=True)
def fresh(inputs: Any, depth: int, width: int) -> Any:
    """States, prefixes seen and scratch for ``_extend``; ``width`` activations."""
    chunks, d = inputs.goal.shape[0], inputs.goal.shape[1]
    states = np.empty((chunks, depth + 1, d, WIDTH))
    for chunk in range(chunks):
        for a in range(d):
            states[chunk, 0, a, :] = inputs.initial[a]
    return states, np.zeros((chunks, depth + 1), np.int64), np.empty((width, WIDTH))


@njit(cache=True)
def errors_at(atoms: Any, measure: Any, inputs: Any, words: Any) -> Any:
    """The error of every schedule at every input, (schedules, chunks * WIDTH)."""
    count, depth = words.shape
    chunks, d = inputs.goal.shape[0], inputs.goal.shape[1]
    states, seen, u = fresh(inputs, depth, atoms.state.shape[1])
    found = np.empty((count, chunks * WIDTH))
    one, aim = np.empty((d, WIDTH)), np.empty((d, WIDTH))
    for c in range(count):
        for chunk in range(chunks):
            _extend(atoms, inputs, chunk, words[c], depth, states, seen, u)
            for i in range(WIDTH):
                for a in range(d):
                    one[a, :] = states[chunk, depth, a, i]
                    aim[a, :] = inputs.goal[chunk, a, i]
                found[c, chunk * WIDTH + i] = _chunk_error(measure, one, aim)
    return found


@njit(cache=True)
def _largest(atoms: Any, measure: Any, inputs: Any, word: Any, limit: float, work: Any) -> float:
    """The largest error of a schedule over the inputs, or one above ``limit``."""
    states, seen, u = work
    depth = states.shape[1] - 1
    value = 0.0
    for chunk in range(states.shape[0]):
        _extend(atoms, inputs, chunk, word, depth, states, seen, u)
        found = _chunk_error(measure, states[chunk, depth], inputs.goal[chunk])
        value = max(value, found)
        if not value <= limit:
            break
    return value


@njit(cache=True)
def _far(atoms: Any, inputs: Any, pruning: Any, word: Any, k: int, limit: float, work: Any) -> bool:
    """Whether a functional shows that every continuation of a prefix errs by more than limit."""
    states, seen, u = work
    chunks, _, directions, d, _ = pruning.rows.shape
    for chunk in range(chunks):
        _extend(atoms, inputs, chunk, word, k, states, seen, u)
        for t in range(directions):
            most = -np.inf
            for i in range(WIDTH):
                value = pruning.constants[chunk, k, t, i]
                for a in range(d):
                    value += pruning.rows[chunk, k, t, a, i] * states[chunk, k, a, i]
                most = max(most, value)
            if most > limit:
                return True
    return False


@njit(cache=True)
def search(
    atoms: Any,
    measure: Any,
    inputs: Any,
    pruning: Any,
    prefix: Any,
    depth: int,
    limit: float,
    margin: float,
    slack: float,
    budget: int,
    room: int,
) -> Any:
    """Every schedule that begins with ``prefix`` and errs by at most the least error + margin.

    Returns their errors and words, nodes seen (negative when ``budget`` ran out), the last limit,
    and how many found no room. ``limit`` is where it begins; ``slack`` is added before pruning.
    """
    work = fresh(inputs, depth, atoms.state.shape[1])
    count, start = atoms.kind.shape[0], prefix.shape[0]
    word = np.zeros(depth, np.int64)
    word[:start] = prefix
    values, words = np.empty(room), np.empty((room, depth), np.int64)
    kept, lost, nodes, k = 0, 0, 0, start
    prunes = pruning.rows.shape[0] > 0
    while True:
        nodes += 1
        if nodes > budget:
            return values[:kept], words[:kept], -nodes, limit, lost
        descend = False
        if k == depth:
            value = _largest(atoms, measure, inputs, word, limit, work)
            if value <= limit:
                limit = min(limit, value + margin)
                if kept == room:
                    kept = _compacted(values, words, kept, limit)
                if kept < room:
                    values[kept] = value
                    words[kept] = word
                    kept += 1
                else:
                    lost += 1
        else:
            descend = not (prunes and _far(atoms, inputs, pruning, word, k, limit + slack, work))
        if descend:
            word[k] = 0
            k += 1
            continue
        while k > start and word[k - 1] == count - 1:
            k -= 1
        if k == start:
            return values[:kept], words[:kept], nodes, limit, lost
        word[k - 1] += 1


@njit(cache=True)
def _compacted(values: Any, words: Any, kept: int, limit: float) -> int:
    """Forget what lies above the limit."""
    left = 0
    for c in range(kept):
        if values[c] <= limit:
            values[left] = values[c]
            words[left] = words[c]
            left += 1
    return left


@njit(cache=True)
def descend(atoms: Any, measure: Any, inputs: Any, word: Any) -> float:
    """Change one step of ``word`` after another while that lowers the error; the error then."""
    depth, count = word.shape[0], atoms.kind.shape[0]
    work = fresh(inputs, depth, atoms.state.shape[1])
    best = _largest(atoms, measure, inputs, word, np.inf, work)
    improved = True
    while improved:
        improved = False
        for k in range(depth):
            kept = word[k]
            for j in range(count):
                if j == kept:
                    continue
                word[k] = j
                value = _largest(atoms, measure, inputs, word, best, work)
                if value < best:
                    best, kept, improved = value, j, True
            word[k] = kept
    return best

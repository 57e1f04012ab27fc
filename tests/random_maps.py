"""Small random piecewise-affine questions, and their maps evaluated plainly in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from piecewise_questions import atom, pwa_question

from qreplace.question.model import (
    InlineArray,
    InputRegion,
    NetworkTarget,
    Norm,
    PwaAtom,
    PwaMapData,
    Question,
    ScheduleTarget,
)

Values = tuple[Fraction, ...]


def number(rng: Random, size: int = 2) -> Fraction:
    """A small rational, often 0."""
    if rng.random() < 0.25:
        return Fraction(0)
    return Fraction(rng.randint(-4 * size, 4 * size), rng.choice([1, 2, 3, 4, 5, 8]))


def table(rng: Random, rows: int, columns: int) -> list[list[Fraction]]:
    """A random matrix."""
    return [[number(rng, 1) for _ in range(columns)] for _ in range(rows)]


def random_atom(
    rng: Random, inputs: int, before: int, after: int, *, plain: bool = False
) -> PwaAtom:
    """An atom from width ``before`` to ``after``; ``plain`` ones keep no state."""
    activation = rng.choice(["soft_threshold", "soft_threshold", "relu", "identity"])
    width = rng.randint(1, 3)
    output = table(rng, after, width)
    if width == after and rng.random() < 0.5:
        output = []
    levels = [abs(number(rng, 1)) for _ in range(rng.choice([1, width]))]
    keeps = before == after and not plain
    return atom(
        table(rng, width, inputs),
        table(rng, width, before) if rng.random() < 0.8 else None,
        activation=activation,  # type: ignore[arg-type]
        thresholds=levels if activation == "soft_threshold" else None,
        bias=[number(rng, 1) for _ in range(width)] if rng.random() < 0.4 else None,
        output=output or None,
        state_matrix=table(rng, after, after) if keeps and rng.random() < 0.3 else None,
        leak=Fraction(rng.choice([2, 2, 1, 0]), 2) if keeps else 1,
        offset=[number(rng, 1) for _ in range(after)] if rng.random() < 0.4 else None,
    )


def random_network(rng: Random, inputs: int, dimension: int, layers: int) -> NetworkTarget:
    """A network whose widths change on the way."""
    found, before = [], dimension
    for index in range(layers):
        after = dimension if index == layers - 1 else rng.randint(1, 3)
        found.append(random_atom(rng, inputs, before, after))
        before = after
    return NetworkTarget("network", tuple(found))


def random_norm(rng: Random, dimension: int) -> Norm:
    """One of the six norms."""
    weights = [Fraction(rng.randint(1, 5), rng.randint(1, 3)) for _ in range(dimension)]
    norms: list[Norm] = [L2, L2, L1, LINF, block_l2(1)]
    return rng.choice([*norms, weighted_l1(*weights), weighted_linf(*weights)])


def random_question(
    rng: Random,
    inputs: int,
    region: InputRegion | None,
    *,
    depth: int = 3,
    dimension: int | None = None,
    **fields: Any,
) -> Question:
    """Two atoms against a schedule or a network."""
    d = rng.randint(1, 2) if dimension is None else dimension
    own = tuple(random_atom(rng, inputs, d, d) for _ in range(2))
    target: PwaMapData = random_network(rng, inputs, d, rng.randint(1, depth))
    if rng.random() < 0.6:
        steps = tuple(rng.randrange(2) for _ in range(rng.randint(1, depth)))
        target = ScheduleTarget("schedule", own, steps)
    return pwa_question(
        [random_atom(rng, inputs, d, d) for _ in range(2)],
        target,
        dimension=d,
        inputs=inputs,
        region=region,
        norm=random_norm(rng, d),
        initial=[number(rng, 1) for _ in range(d)] if rng.random() < 0.4 else None,
        horizon=Fraction(rng.choice([2, 2, 1, 4]), 2),
        **fields,
    )


# --- plain evaluation -----------------------------------------------------------------------------


def rows_of(array: Any, count: int, width: int) -> list[Values]:
    """The rows of an inline matrix; zeros for a missing one."""
    if array is None:
        return [(Fraction(0),) * width for _ in range(count)]
    assert isinstance(array, InlineArray) and array.shape == (count, width)
    return [array.values[i * width : (i + 1) * width] for i in range(count)]


def times(rows: Sequence[Values], vector: Sequence[Fraction]) -> list[Fraction]:
    """Matrix times vector."""
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in rows]


def levels_of(given: PwaAtom, width: int) -> list[Fraction]:
    """The levels at which each coordinate bends, as thresholds."""
    if given.thresholds is None:
        return [Fraction(0)] * width
    assert isinstance(given.thresholds, InlineArray)
    values = list(given.thresholds.values)
    return values * width if len(values) == 1 else values


def field(given: PwaAtom, z: Values, y: Values) -> tuple[list[Fraction], list[Fraction]]:
    """Pre-activations, and ``V phi(u) + c`` (the state's own part is left to the caller)."""
    assert isinstance(given.input_weights, InlineArray)
    width = given.input_weights.shape[0]
    bias = given.bias.values if isinstance(given.bias, InlineArray) else (Fraction(0),) * width
    reads = times(rows_of(given.input_weights, width, len(y)), y)
    states = times(rows_of(given.state_weights, width, len(z)), z)
    u = [a + b + c for a, b, c in zip(reads, states, bias, strict=True)]
    phi = []
    for value, level in zip(u, levels_of(given, width), strict=True):
        if given.activation == "relu":
            phi.append(max(value, Fraction(0)))
        elif given.activation == "identity":
            phi.append(value)
        else:
            sign = 1 if value > 0 else -1
            phi.append(sign * max(abs(value) - level, Fraction(0)))
    if given.output_weights is not None:
        assert isinstance(given.output_weights, InlineArray)
        phi = times(rows_of(given.output_weights, given.output_weights.shape[0], width), phi)
    if isinstance(given.offset, InlineArray):
        phi = [a + b for a, b in zip(phi, given.offset.values, strict=True)]
    return u, phi


def own_part(given: PwaAtom, z: Values) -> list[Fraction]:
    """``A z - leak z``."""
    moved = times(rows_of(given.state_matrix, len(z), len(z)), z)
    return [a - given.leak * x for a, x in zip(moved, z, strict=True)]


def walk(
    question: Question, steps: Sequence[PwaAtom], y: Values, h: Fraction | None
) -> tuple[list[list[Fraction]], Values]:
    """The pre-activations of every step and the final state.

    Euler steps of size ``h``, or the layers of a network for ``None``.
    """
    d = question.system.dimension  # type: ignore[union-attr]
    given = question.initial
    z: Values = given.values if isinstance(given, InlineArray) else (Fraction(0),) * d
    recorded = []
    for step in steps:
        u, forced = field(step, z, y)
        recorded.append(u)
        if len(forced) == len(z):
            size = Fraction(1) if h is None else h
            own = own_part(step, z)
            z = tuple(x + size * (a + b) for x, a, b in zip(z, forced, own, strict=True))
        else:
            z = tuple(forced)
    return recorded, z


def walk_schedule(
    question: Question, schedule: Sequence[int], y: Values
) -> tuple[list[list[Fraction]], Values]:
    """A schedule of the dictionary."""
    atoms: Any = question.dictionary.atoms  # type: ignore[union-attr]
    h = question.horizon / len(schedule)
    return walk(question, [atoms[j] for j in schedule], y, h)


def walk_target(question: Question, y: Values) -> tuple[list[list[Fraction]], Values]:
    """The target."""
    target = question.target
    if isinstance(target, NetworkTarget):
        return walk(question, target.layers, y, None)
    assert isinstance(target, ScheduleTarget)
    h = question.horizon / len(target.schedule)
    return walk(question, [target.atoms[j] for j in target.schedule], y, h)


def plain_norm(norm: Norm, values: Sequence[Fraction]) -> tuple[Fraction, bool]:
    """The norm, or its square and True."""
    sizes = [abs(value) for value in values]
    if norm.kind == "linf":
        return max(sizes), False
    if norm.kind == "l1":
        return sum(sizes, Fraction(0)), False
    if norm.kind == "weighted_linf":
        return max(w * s for w, s in zip(norm.weights, sizes, strict=True)), False
    if norm.kind == "weighted_l1":
        return sum((w * s for w, s in zip(norm.weights, sizes, strict=True)), Fraction(0)), False
    size = norm.block if norm.kind == "block_l2" else len(sizes)
    blocks = [sizes[i : i + size] for i in range(0, len(sizes), size)]
    return max(sum((s * s for s in block), Fraction(0)) for block in blocks), True


def exceeds(question: Question, schedule: Sequence[int], y: Values, bound: Fraction) -> bool:
    """Whether a schedule's error at an input is more than ``bound``."""
    one, other = walk_schedule(question, schedule, y)[1], walk_target(question, y)[1]
    gap = [a - b for a, b in zip(one, other, strict=True)]
    value, squared = plain_norm(question.norm, gap)
    return bound < 0 or value > (bound * bound if squared else bound)


def random_schedule(rng: Random, depth: int) -> tuple[int, ...]:
    """Up to ``depth`` steps of two atoms."""
    return tuple(rng.randrange(2) for _ in range(rng.randint(1, depth)))

"""Random pairs of piecewise-affine maps, and their largest difference by brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dynamic_questions import matrix
from lifted_questions import L1, L2, LINF, vector
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.question.maps import Layer, Point, PwaMap
from qreplace.question.model import (
    InputRegion,
    NetworkTarget,
    Norm,
    PolytopeRegion,
    PwaAtom,
    PwaMapData,
    Question,
)
from qreplace.question.regions import Polytope, Region
from qreplace.question.subject import Subject

Row = tuple[Fraction, ...]
"""``(a_1 .. a_p, b)``: the function ``a x + b``, or the half-space ``a x <= b``."""

ENTRIES = [Fraction(k, 4) for k in (-4, -3, -2, -1, 0, 0, 1, 2, 3, 4)]
"""Few values, so that kinks coincide, and pass through corners and through each other."""


@dataclass(frozen=True)
class Pair:
    """A schedule of a question's dictionary, its map and the target."""

    subject: Subject
    schedule: tuple[int, ...]
    norm: Norm
    anywhere: Region
    maps: tuple[PwaMap, PwaMap]

    @property
    def region(self) -> Polytope:
        """The region, where it is a polytope."""
        assert isinstance(self.anywhere, Polytope)
        return self.anywhere


def pair_of(question: Question, schedule: Sequence[int]) -> Pair:
    """A schedule against the target of a question with a region."""
    subject = Subject(question, {})
    problem = subject.piecewise(0)
    assert problem.region is not None
    maps = (problem.student(schedule), problem.target)
    return Pair(subject, tuple(schedule), question.norm, problem.region, maps)


def random_pair(
    seed: int, inputs: int, *, steps: int, width: int, region: InputRegion | None = None
) -> Pair:
    """Soft thresholds or ReLUs, one or two atoms, and a schedule or a network as the target."""
    rng = random.Random(seed)
    atoms = [random_atom(rng, inputs, width) for _ in range(2)]
    target: PwaMapData
    if rng.random() < 0.3:
        target = random_network(rng, inputs, width, rng.randint(1, 2))
    else:
        own = atoms if rng.random() < 0.5 else [random_atom(rng, inputs, width) for _ in range(2)]
        target = reference(own, rng.choices([0, 1], k=rng.randint(1, steps)))
    question = pwa_question(
        atoms,
        target,
        dimension=width,
        inputs=inputs,
        region=region or random_region(rng, inputs),
        norm=rng.choice([L1, L2, LINF]),
        initial=[rng.choice(ENTRIES) for _ in range(width)],
    )
    return pair_of(question, rng.choices([0, 1], k=rng.randint(1, steps)))


def random_atom(rng: random.Random, inputs: int, width: int) -> PwaAtom:
    """An atom of a state; its matrices are zero now and then, and so are its thresholds."""
    n = rng.randint(1, width)
    own_output = n != width or rng.random() < 0.3
    return atom(
        _rows(rng, n, inputs),
        _rows(rng, n, width) if rng.random() < 0.7 else None,
        activation=rng.choice(["soft_threshold", "soft_threshold", "relu"]),
        thresholds=[abs(rng.choice(ENTRIES)) / 2 for _ in range(n)],
        bias=[rng.choice(ENTRIES) for _ in range(n)] if rng.random() < 0.4 else None,
        output=_rows(rng, width, n) if own_output else None,
        leak=rng.choice([0, 1, 1]),
    )


def random_network(rng: random.Random, inputs: int, width: int, layers: int) -> NetworkTarget:
    """Layers whose widths differ."""
    found, before = [], width
    for index in range(layers):
        n = rng.randint(1, 2)
        after = width if index == layers - 1 else rng.randint(1, 2)
        found.append(
            atom(
                _rows(rng, n, inputs),
                _rows(rng, n, before),
                activation="relu",
                bias=[rng.choice(ENTRIES) for _ in range(n)],
                output=_rows(rng, after, n),
                offset=[rng.choice(ENTRIES) for _ in range(after)],
            )
        )
        before = after
    return NetworkTarget("network", tuple(found))


def random_region(rng: random.Random, inputs: int) -> InputRegion:
    """A box, or a box with a corner cut off."""
    if inputs == 1 or rng.random() < 0.6:
        return box([-1] * inputs, [rng.choice([1, 2])] * inputs)
    normals = [[s * int(i == j) for j in range(inputs)] for i in range(inputs) for s in (-1, 1)]
    cut = [rng.randint(1, 2) for _ in range(inputs)]
    offsets = [1] * (2 * inputs) + [1]
    return PolytopeRegion("polytope", matrix([*normals, cut]), vector(offsets))


def simplex_region(inputs: int) -> PolytopeRegion:
    """``y >= 0`` and ``sum y <= 1``."""
    normals = [[-int(i == j) for j in range(inputs)] for i in range(inputs)]
    return PolytopeRegion("polytope", matrix([*normals, [1] * inputs]), vector([0] * inputs + [1]))


def _rows(rng: random.Random, rows: int, columns: int) -> list[list[Fraction]]:
    if rng.random() < 0.1:
        return [[Fraction(0)] * columns] * rows
    return [[rng.choice(ENTRIES) for _ in range(columns)] for _ in range(rows)]


def sampled(pair: Pair, rng: random.Random, count: int) -> Iterator[Point]:
    """Homogeneous points of a polytope: random mixtures of its corners."""
    corners = pair.region.corners
    assert corners is not None
    for _ in range(count):
        weights = [rng.randint(0, 9) if rng.random() < 0.5 else 0 for _ in corners]
        weights[rng.randrange(len(corners))] += 1
        scaled = [w * 720720 // c[-1] for w, c in zip(weights, corners, strict=True)]
        yield tuple(
            sum(s * c[i] for s, c in zip(scaled, corners, strict=True))
            for i in range(pair.region.inputs + 1)
        )


# --- brute force ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A polytope by half-spaces and corners, on which every map met so far is affine."""

    halfspaces: tuple[Row, ...]
    corners: tuple[Row, ...]


def brute_force(pair: Pair) -> Fraction:
    """The largest difference over all sign patterns; its square for l2.

    Every pattern of pieces is followed through both maps; its polytope comes from solving all
    square systems of its half-spaces in fractions. Shares nothing with the enumerators but the
    layers of the maps.
    """
    largest = Fraction(0)
    for part, (one, other) in _patterns(pair):
        for corner in part.corners:
            gap = [_at(a, corner) - _at(b, corner) for a, b in zip(one, other, strict=True)]
            largest = max(largest, _size(pair.norm, gap))
    return largest


def pattern_count(pair: Pair) -> int:
    """The number of sign patterns that hold on a full-dimensional polytope."""
    return sum(1 for _ in _patterns(pair))


def _patterns(pair: Pair) -> Iterator[tuple[Part, list[list[Row]]]]:
    """Every part with the outputs of the maps as functions of the input."""
    p = pair.region.inputs
    whole = _part(tuple(tuple(map(Fraction, h)) for h in pair.region.halfspaces), p)
    assert whole is not None
    branches: list[tuple[Part, list[list[Row]]]] = [(whole, [])]
    for one in pair.maps:
        zero = (Fraction(0),) * p
        start = [(*zero, Fraction(z, one.initial_unit)) for z in one.initial]
        branches = [(part, [*outputs, list(start)]) for part, outputs in branches]
        for layer in one.layers:
            branches = [
                (after, [*outputs[:-1], state])
                for part, outputs in branches
                for after, state in _through(layer, part, outputs[-1], p)
            ]
    yield from branches


def _through(
    layer: Layer, part: Part, state: list[Row], p: int
) -> Iterator[tuple[Part, list[Row]]]:
    """Every pattern of one layer's pieces that holds on a full-dimensional polytope."""
    branches: list[tuple[Part, list[Row]]] = [(part, [])]
    for i in range(len(layer.bias)):
        u = [Fraction(w, layer.inner) for w in layer.input_weights[i]]
        u.append(Fraction(layer.bias[i], layer.inner))
        for weight, z in zip(layer.state_weights[i], state, strict=True):
            u = [a + Fraction(weight, layer.inner) * b for a, b in zip(u, z, strict=True)]
        level = Fraction(layer.thresholds[i], layer.inner) if layer.thresholds else Fraction(0)
        branches = [
            (inner, [*phi, value])
            for before, phi in branches
            for sides, value in _pieces(layer, tuple(u), level)
            if (inner := _cut(before, sides, p)) is not None
        ]
    for inner, phi in branches:
        yield inner, [_output(layer, row, phi, state, p) for row in range(len(layer.offset))]


def _pieces(layer: Layer, u: Row, level: Fraction) -> list[tuple[list[Row], Row]]:
    """Half-spaces and value of every piece of an activation."""
    zero = tuple(0 * a for a in u)

    def below(top: Fraction) -> Row:
        return (*u[:-1], top - u[-1])

    def above(bottom: Fraction) -> Row:
        return (*(-a for a in u[:-1]), u[-1] - bottom)

    if layer.activation == "identity":
        return [([], u)]
    if layer.activation == "relu":
        return [([below(Fraction(0))], zero), ([above(Fraction(0))], u)]
    return [
        ([below(-level)], (*u[:-1], u[-1] + level)),
        ([above(-level), below(level)], zero),
        ([above(level)], (*u[:-1], u[-1] - level)),
    ]


def _output(layer: Layer, row: int, phi: list[Row], state: list[Row], p: int) -> Row:
    total = [Fraction(0)] * p + [Fraction(layer.offset[row], layer.outer)]
    for weights, rows in ((layer.output[row], phi), (layer.carry[row], state)):
        for weight, value in zip(weights, rows, strict=True):
            factor = Fraction(weight, layer.outer)
            total = [a + factor * b for a, b in zip(total, value, strict=True)]
    return tuple(total)


def _cut(part: Part, sides: Sequence[Row], p: int) -> Part | None:
    """A part within further half-spaces; None where nothing full-dimensional is left."""
    cutting = tuple(
        side for side in sides if any(_at(side[:-1], c) > side[-1] for c in part.corners)
    )
    return _part((*part.halfspaces, *cutting), p) if cutting else part


def _part(halfspaces: tuple[Row, ...], p: int) -> Part | None:
    corners: dict[Row, None] = {}
    for chosen in itertools.combinations(halfspaces, p):
        corner = _solve(chosen, p)
        if corner is not None and all(_at(h[:-1], corner) <= h[-1] for h in halfspaces):
            corners[corner] = None
    found = tuple(corners)
    if _rank([[a - b for a, b in zip(c, found[0], strict=True)] for c in found[1:]]) < p:
        return None
    # Half-spaces with fewer than p corners on them bound nothing.
    kept = tuple(h for h in halfspaces if sum(_at(h[:-1], c) == h[-1] for c in found) >= p)
    return Part(kept, found)


def _at(row: Row, point: Row) -> Fraction:
    """``a x``, plus b where the row has one."""
    value = sum((a * x for a, x in zip(row, point, strict=False)), Fraction(0))
    return value + row[-1] if len(row) > len(point) else value


def _solve(rows: Sequence[Row], p: int) -> Row | None:
    """The point on all p hyperplanes; None where it is not one."""
    table = [list(row) for row in rows]
    for k in range(p):
        pivot = next((r for r in range(k, p) if table[r][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        for r in range(p):
            if r != k and table[r][k]:
                factor = table[r][k] / table[k][k]
                table[r] = [a - factor * b for a, b in zip(table[r], table[k], strict=True)]
    return tuple(table[k][p] / table[k][k] for k in range(p))


def _rank(rows: list[list[Fraction]]) -> int:
    rank = 0
    table = [row[:] for row in rows]
    for column in range(len(table[0]) if table else 0):
        pivot = next((r for r in range(rank, len(table)) if table[r][column]), None)
        if pivot is None:
            continue
        table[rank], table[pivot] = table[pivot], table[rank]
        for r in range(rank + 1, len(table)):
            factor = table[r][column] / table[rank][column]
            table[r] = [a - factor * b for a, b in zip(table[r], table[rank], strict=True)]
        rank += 1
    return rank


def _size(norm: Norm, gap: Sequence[Fraction]) -> Fraction:
    if norm == L2:
        return sum((g * g for g in gap), Fraction(0))
    return sum(map(abs, gap), Fraction(0)) if norm == L1 else max(map(abs, gap))

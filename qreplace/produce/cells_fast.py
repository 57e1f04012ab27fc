"""Exact cells by compiled floats with a proved error bound, and integers where they are unclear.

The subdivision is the one of ``cells`` (theory T8.2), up to the numbering. Floats decide a side
test only if the exact sign is proved; every other test is decided in integers at the exact vertex.

**Why the floats are right.** Round to nearest with unit roundoff ``U = 2**-53``. Let the polygon
lie in the box ``|x| <= X, |y| <= Y``. Every cell carries affine forms ``f^(x, y) = c_x x + c_y y +
c_1`` with float coefficients, and ``e_f >= max over the box of |f^ - f|`` for the exact affine form
f that holds on the cell; write ``|f^| = |c_x| X + |c_y| Y + |c_1|``.

1. *Data.* A rational p/q is divided once, correctly rounded: relative error at most U. Entries are
   zero or of magnitude within ``1e-100 .. 1e100``; otherwise the plain enumerator is used.
2. *Linear step* ``g = sum_j a_j f_j + a_0`` with n terms, coefficient by coefficient: a sum of n
   rounded products and a constant is within ``(n + 1) U + O(U^2)`` of itself, relative to the sum
   of absolute values, in any order; rounded data adds U. Hence
   ``e_g = sum |a_j| e_j + (n + 8) U sum |a_j| |f_j^|``; that a_j is rounded changes the first sum
   by a relative U, which is left to SLACK (7).
3. *Activation.* On its cell a piece is ``u + level``, 0, or ``u - level``: one more rounding of
   ``c_1``, and of the level; the zero piece is exact, and so are forms made of exact zeros alone.
4. *Vertices.* A vertex is where the line of its edge, the form g with ``g = 0``, meets a kink's
   form f of the cell being cut. Both forms have their own bounds, so errors do not build up from
   vertex to vertex. For any float point p and the exact vertex q (in the box, g(q) = f(q) = 0), ::

       |g^(p) - g^(q)| <= r_g := |fl(g^(p))| + 6 U (|g_x p_x| + |g_y p_y| + |g_1|) + e_g

   and the same for f. Since ``p - q`` solves the 2 x 2 system with the float gradients,
   ``|p_x - q_x| <= (|f_y| r_g + |g_y| r_f) / |det|``, ``|p_y - q_y| <= (|f_x| r_g + |g_x| r_f) /
   |det|``, where ``|det| >= |fl(det)| - 4 U (|g_x f_y| + |g_y f_x|)``. If that is no better, the
   middle of the edge is taken, with half its extent and the larger radius of its ends.
5. *Side test.* With radii ``r_x, r_y`` of the vertex, the exact value of ``f - level`` at it is
   within ``e_f + |c_x| r_x + |c_y| r_y + 8 U (|c_x x| + |c_y y| + |c_1| + |level|)`` of the float.
6. *Lines known exactly.* Where the state adds nothing to u, exactly (its forms are exact zeros,
   or S is), a kink is the line ``W_i y + b_i = level`` of the data alone. A vertex on an edge of
   that cell that runs along the same line, compared in integers, lies on the kink.
7. *Bounds are rounded too*: each is a sum of nonnegative terms, at most 4096 * 2 + 40 operations,
   so its relative error is below ``2**-39``; the factor ``SLACK = 1 + 2**-36`` covers it. Underflow
   loses at most 1e-220 a step for such data; every bound adds ``TINY = 1e-200``.

A comparison with NaN or infinity fails, so it counts as unclear. The kernel does not contract or
reorder operations; if it did, the bounds would still hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qreplace.produce.cells import (
    MOST_CELLS,
    Crossing,
    ExactVertices,
    Largest,
    Subdivision,
    largest_among,
    require_few,
    require_outputs,
    require_polygon,
    subdivide,
)
from qreplace.question.maps import Layer, Point, PwaMap
from qreplace.question.model import (
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size

Floats = NDArray[np.float64]

U = 2.0**-53
SLACK = 1.0 + 2.0**-36
TINY = 1e-200
SMALLEST, GREATEST = 1e-100, 1e100
"""Magnitudes of float data for which the bounds above hold."""


@dataclass
class FastSubdivision(Subdivision):
    """A subdivision with float vertices, shape (vertices, 4): x, y and bounds of their errors.

    ``exact_tests`` counts the side tests that floats left open.
    """

    place: Floats = field(repr=False)
    exact_tests: int
    known: dict[int, tuple[PwaMap, Floats, Floats]] = field(default_factory=dict, repr=False)

    def outputs(self, found: PwaMap) -> tuple[Floats, Floats]:
        """``float_outputs`` of a map at every vertex, computed once."""
        if id(found) not in self.known:
            self.known[id(found)] = (found, *float_outputs(found, self.place))
        return self.known[id(found)][1:]


def subdivide_fast(
    maps: Sequence[PwaMap], corners: Sequence[Point], *, most_cells: int = MOST_CELLS
) -> Subdivision:
    """The joint cells of the maps on the convex polygon of ``corners``, as ``cells.subdivide``.

    Raises ``InputError`` where there is no such polygon, ``ProducerFailed`` beyond ``most_cells``.
    """
    require_polygon(maps, corners)
    try:
        work = FloatWork(maps, corners, most_cells)
    except NotInRange:
        return subdivide(maps, corners, most_cells=most_cells)
    for index in range(len(maps)):
        work.push(index)
    return work.subdivision()


class NotInRange(Exception):
    """Data whose floats the error bounds do not cover."""


@dataclass(frozen=True)
class FloatLayer:
    """A layer in floats, each entry the nearest to the exact one."""

    inputs: Floats
    state: Floats
    bias: Floats
    levels: Floats
    output: Floats
    carry: Floats
    offset: Floats


class FloatWork:
    """The subdivision while it grows; its arrays are longer than what is used of them."""

    def __init__(self, maps: Sequence[PwaMap], corners: Sequence[Point], most: int) -> None:
        from qreplace.produce import cell_kernels

        self.kernels: ModuleType = cell_kernels
        self.maps, self.corners, self.most_cells = tuple(maps), tuple(corners), most
        self.layers = [float_layers(found) for found in maps]
        self.starts = [float_initial(found) for found in maps]
        self.reach = _reach(corners)
        self.crossings: list[Crossing] = []
        self.exact = ExactVertices(maps, corners, self.crossings)
        self.exact_tests = 0
        self.kink = 0
        self.labels: dict[tuple[int, int, int], int] = {}
        self.mesh: Any = self._polygon()
        self.forms: Any = None
        self.unclear = np.zeros(len(corners), np.int32)

    def push(self, index: int) -> None:
        """Cut by the kinks of one map."""
        kernels, initial = self.kernels, self.starts[index]
        state = np.broadcast_to(initial, (len(self.mesh.start), *initial.shape)).copy()
        for layer, exact in zip(self.layers[index], self.maps[index].layers, strict=True):
            cells, n = len(self.mesh.start), len(layer.bias)
            # Where nothing bends the piece is HIGH with level 0: the identity.
            piece = np.full((cells, n), kernels.HIGH, np.int8)
            bare = np.zeros((cells, n), np.int8)
            self.forms = kernels.Forms(state, np.empty((cells, n, 4)), bare, piece)
            used = int(self.mesh.used[kernels.CELLS])
            kernels.pre_activations(
                used, layer.inputs, layer.state, layer.bias, self.forms, self.reach
            )
            signs = {"soft_threshold": (-1, 1), "relu": (0,), "identity": ()}[exact.activation]
            for i in range(n):
                for sign in signs:
                    self._cut(exact, i, sign, float(layer.levels[i]))
                    self.kink += 1
            state = np.empty((len(self.mesh.start), len(layer.offset), 4))
            kernels.advance(
                int(self.mesh.used[kernels.CELLS]), layer.levels, layer.output, layer.carry,
                layer.offset, self.forms, self.reach, state,
            )  # fmt: skip

    def _cut(self, layer: Layer, i: int, sign: int, threshold: float) -> None:
        """Cut by one kink: the floats' sides, then integers for the unclear ones."""
        kernels, level = self.kernels, sign * threshold
        label = self._label_of_kink(layer, i, sign)
        if sign <= 0 or threshold != 0.0:  # else the sides are those of the other level, also 0
            unclear, cells, entries = kernels.classify(
                self.mesh, self.forms, i, level, label, self.unclear
            )
            self.settle(self.unclear[:unclear].tolist())
            self._reserve(cells, entries)
        before = int(self.mesh.used[kernels.VERTICES])
        kernels.cut(self.mesh, self.forms, i, level, sign, self.kink, label, self.reach)
        after = int(self.mesh.used[kernels.VERTICES])
        if after > before:
            made = self.mesh.crossed[before:after].tolist()
            self.crossings += [(a, b, kink) for a, b, kink in made]
            require_few(int(self.mesh.used[kernels.CELLS]), self.most_cells)

    def settle(self, unclear: Sequence[int]) -> None:
        """Decide the present kink's side of vertices in integers, and place them more sharply."""
        for v in unclear:
            value = self.exact.kink_value(v, self.kink)
            self.mesh.side[v] = (value > 0) - (value < 0)
            placed = _placed(self.exact.point(v))
            if placed[2] + placed[3] < self.mesh.place[v, 2] + self.mesh.place[v, 3]:
                self.mesh.place[v] = placed
        self.exact_tests += len(unclear)

    def _reserve(self, cells: int, entries: int) -> None:
        """Make room for what a cut can make: each cell two vertices and one line."""
        kernels, mesh = self.kernels, self.mesh
        used_cells, used_vertices, used_entries, used_lines = (int(n) for n in mesh.used)
        if used_cells + cells > len(mesh.start):
            mesh = _longer(mesh, ("start", "size"), used_cells + cells)
            self.forms = _longer(self.forms, kernels.Forms._fields, used_cells + cells)
        if used_vertices + 2 * cells > len(mesh.side):
            names = ("place", "crossed", "first", "following", "side")
            mesh = _longer(mesh, names, used_vertices + 2 * cells)
            self.unclear = np.zeros(len(mesh.side), np.int32)
        if used_entries + entries > len(mesh.corner):
            mesh = _longer(mesh, ("corner", "along"), used_entries + entries)
        if used_lines + cells > len(mesh.lines):
            mesh = _longer(mesh, ("lines", "labels"), used_lines + cells)
        self.mesh = mesh

    def _polygon(self) -> Any:
        """The polygon as the only cell."""
        count = len(self.corners)
        ends = zip(self.corners, (*self.corners[1:], self.corners[0]), strict=True)
        exact = [_line(a, b) for a, b in ends]
        return self.kernels.Mesh(
            used=np.array([1, count, count, count], np.int64),
            start=np.zeros(1, np.int32),
            size=np.full(1, count, np.int32),
            corner=np.arange(count, dtype=np.int32),
            along=np.arange(count, dtype=np.int32),
            place=np.array([_placed(q) for q in self.corners]),
            crossed=np.zeros((count, 3), np.int32),
            first=np.full(count, -1, np.int32),
            following=np.full(count, -1, np.int32),
            side=np.zeros(count, np.int8),
            lines=np.array([_float_line(line, self.reach) for line in exact]),
            labels=np.array([self._label(line) for line in exact], np.int32),
        )

    def _label_of_kink(self, layer: Layer, i: int, sign: int) -> int:
        """The label of the line of a kink where the state adds nothing; -1 where it is none."""
        level = sign * layer.thresholds[i] if sign else 0
        return self._label((*layer.input_weights[i], layer.bias[i] - level))

    def _label(self, line: tuple[int, ...]) -> int:
        """One number for every multiple of ``(a, b, c)``: the line ``a x + b y + c = 0``."""
        a, b, c = line
        if not a and not b:
            return -1
        scale = math.gcd(a, b, c) * (1 if (a, b) > (0, 0) else -1)
        return self.labels.setdefault((a // scale, b // scale, c // scale), len(self.labels))

    def subdivision(self) -> FastSubdivision:
        """What was found."""
        mesh, (cells, vertices, _, _) = self.mesh, self.mesh.used.tolist()
        corner, start, size = mesh.corner.tolist(), mesh.start.tolist(), mesh.size.tolist()
        found = [tuple(corner[start[c] : start[c] + size[c]]) for c in range(cells)]
        place = mesh.place[:vertices].copy()
        return FastSubdivision(
            self.corners, self.crossings, found, self.exact, place, self.exact_tests
        )


def float_layers(found: PwaMap) -> list[FloatLayer]:
    """The layers of a map in floats; raises ``NotInRange``."""
    known: dict[int, FloatLayer] = {}
    for layer in found.layers:
        if id(layer) not in known:
            known[id(layer)] = _float_layer(layer)
    return [known[id(layer)] for layer in found.layers]


def float_initial(found: PwaMap) -> Floats:
    """The initial state as constant forms with their errors, shape (d, 4)."""
    values = _nearest([found.initial], found.initial_unit)[0]
    forms = np.zeros((len(values), 4))
    forms[:, 2], forms[:, 3] = values, 2.0 * U * np.abs(values)
    return forms


def largest_difference_fast(
    subdivision: Subdivision,
    maps: Sequence[PwaMap],
    one: int = 0,
    other: int = 1,
    norm: Norm = L2Norm("l2"),  # noqa: B008 (frozen)
) -> Largest:
    """As ``cells.largest_difference``; only vertices that floats leave in the race are exact."""
    require_outputs(maps, one, other)
    candidates: Sequence[int] = range(subdivision.vertices)
    if isinstance(subdivision, FastSubdivision):
        lower, upper = float_differences(subdivision, maps, one, other, norm)
        # Written so that NaN stays in the race.
        candidates = np.flatnonzero(~(upper < np.max(lower))).tolist()
    return largest_among(subdivision, candidates, one, other, norm)


def float_differences(
    subdivision: FastSubdivision, maps: Sequence[PwaMap], one: int, other: int, norm: Norm
) -> tuple[Floats, Floats]:
    """Proved lower and upper bounds of the norm of a difference at every vertex (up to infinity).

    An activation never stretches a distance, so one evaluation of a map carries its error bound
    through every piece.
    """
    with np.errstate(all="ignore"):
        first, first_error = subdivision.outputs(maps[one])
        second, second_error = subdivision.outputs(maps[other])
        middle = np.abs(first - second)
        error = (first_error + second_error + 4.0 * U * middle) * SLACK + TINY
        lower, upper = np.maximum(middle - error, 0.0), middle + error
        wide, lost = 1.0 + 2.0**-30, 1e-150  # rounding, and squares that underflow
        low, high = _float_norms(norm, lower) / wide, _float_norms(norm, upper) * wide
        return np.maximum(low - lost, 0.0), high + lost


def float_outputs(found: PwaMap, place: Floats) -> tuple[Floats, Floats]:
    """The outputs at float points with error radii, and bounds of their errors: (d, vertices)."""
    y, radius = np.ascontiguousarray(place[:, :2].T), np.ascontiguousarray(place[:, 2:].T)
    start = float_initial(found)
    z: Floats = np.repeat(start[:, 2:3], len(place), axis=1)
    error: Floats = np.repeat(start[:, 3:], len(place), axis=1)
    for layer, step in zip(float_layers(found), found.layers, strict=True):
        inputs, state = np.abs(layer.inputs), np.abs(layer.state)
        size = inputs @ np.abs(y) + state @ np.abs(z) + np.abs(layer.bias)[:, None]
        u = layer.inputs @ y + layer.state @ z + layer.bias[:, None]
        u_error = inputs @ radius + state @ error + (len(z) + 10) * U * size
        phi, size = _activated(step.activation, u, layer.levels[:, None])
        u_error = u_error * SLACK + 4.0 * U * size + TINY
        output, carry = np.abs(layer.output), np.abs(layer.carry)
        size = output @ np.abs(phi) + carry @ np.abs(z) + np.abs(layer.offset)[:, None]
        gamma = (len(phi) + len(z) + 8) * U
        error = (output @ u_error + carry @ error + gamma * size) * SLACK + TINY
        z = layer.output @ phi + layer.carry @ z + layer.offset[:, None]
    return z, error


def _activated(activation: str, u: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """``phi(u)``, and the magnitude on which its own rounding depends."""
    if activation == "relu":
        return np.maximum(u, 0.0), np.zeros_like(u)
    if activation == "soft_threshold":
        return u - np.minimum(np.maximum(u, -levels), levels), np.abs(u) + levels
    return u, np.zeros_like(u)


def _float_norms(norm: Norm, values: Floats) -> Floats:
    """Norms of nonnegative columns."""
    found: Floats
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)) and max(norm.weights) > GREATEST:
        found = np.full(values.shape[1], np.nan)  # nothing is known
    elif isinstance(norm, LinfNorm):
        found = values.max(axis=0)
    elif isinstance(norm, L1Norm):
        found = values.sum(axis=0)
    elif isinstance(norm, WeightedLinfNorm):
        found = (values * _weights(norm)).max(axis=0)
    elif isinstance(norm, WeightedL1Norm):
        found = (values * _weights(norm)).sum(axis=0)
    else:
        blocks = values.reshape(-1, block_size(norm, len(values)), values.shape[1])
        found = np.sqrt((blocks * blocks).sum(axis=1).max(axis=0))
    return found


def _weights(norm: WeightedLinfNorm | WeightedL1Norm) -> Floats:
    return np.array([[float(weight)] for weight in norm.weights])


def _float_layer(layer: Layer) -> FloatLayer:
    n, d = len(layer.bias), len(layer.offset)
    levels = layer.thresholds or (0,) * n
    return FloatLayer(
        _nearest(layer.input_weights, layer.inner),
        _nearest(layer.state_weights, layer.inner),
        _nearest([layer.bias], layer.inner).reshape(n),
        _nearest([levels], layer.inner).reshape(n),
        _nearest(layer.output, layer.outer),
        _nearest(layer.carry, layer.outer),
        _nearest([layer.offset], layer.outer).reshape(d),
    )


def _nearest(rows: Sequence[Sequence[int]], denominator: int) -> Floats:
    """``rows / denominator`` entry by entry, correctly rounded; raises ``NotInRange``."""
    try:
        found = np.array([[value / denominator for value in row] for row in rows], np.float64)
    except OverflowError:
        raise NotInRange from None
    size = np.abs(found)
    exact_zero = np.array([[value == 0 for value in row] for row in rows], np.bool_)
    if not np.all(exact_zero | ((size >= SMALLEST) & (size <= GREATEST))):
        raise NotInRange
    return found.reshape(len(rows), -1)


def _placed(point: Point) -> tuple[float, float, float, float]:
    """An exact point in floats with its error radii."""
    x, y = point[0] / point[2], point[1] / point[2]
    return x, y, U * abs(x) * SLACK + TINY, U * abs(y) * SLACK + TINY


def _reach(corners: Sequence[Point]) -> Floats:
    """X and Y: at least the largest coordinates of the polygon; raises ``NotInRange``."""
    try:
        found = np.array([max(abs(q[i]) / q[2] for q in corners) for i in range(2)])
    except OverflowError:
        raise NotInRange from None
    if not np.all(found <= GREATEST):
        raise NotInRange
    return found * SLACK + SMALLEST


def _longer(arrays: Any, names: Sequence[str], needed: int) -> Any:
    """The named arrays with at least ``needed`` rows, and twice as many as before."""
    found = {}
    for name in names:
        array = getattr(arrays, name)
        longer = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
        longer[: len(array)] = array
        found[name] = longer
    return arrays._replace(**found)


def _line(a: Point, b: Point) -> tuple[int, int, int]:
    """The line through two points, by its exact form."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _float_line(line: tuple[int, int, int], reach: Floats) -> tuple[float, float, float, float]:
    """A line as a float form, scaled so that its gradient is about 1."""
    scale = max(abs(line[0]), abs(line[1]))
    x, y, one = (value / scale for value in line)
    size = abs(x) * reach[0] + abs(y) * reach[1] + abs(one)
    return x, y, one, 2.0 * U * float(size) * SLACK + TINY

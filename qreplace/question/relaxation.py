"""Upper bounds of the difference of two piecewise-affine maps over a set of inputs (theory T8.2).

Affine arithmetic: on a set of inputs every value of a map is an affine function of the input, plus
noise symbols in [-1, 1] with coefficients of their own, plus a slack that nothing is known about.
Both maps are functions of the same input, so the input's part of their difference is exact up to
rounding; only the noise adds up.

A pre-activation u whose range [a, b] holds a kink in its interior adds one noise symbol: there
``phi(u) = slope u + centre + radius eps``. ``phi - slope u`` is piecewise linear, so its largest
and smallest values on [a, b] are among those at a, b and the kinks between, whatever the slope; of
the slopes of lines through two of these points the one of the least radius is taken (the vertical
width of a point set is a convex function of the slope that bends only there). Without a kink inside
phi is affine and nothing is added.

The numbers are integers over ``2**BITS``. A layer computes exactly and divides once; a value moves
by at most half a unit a column, which goes into the slack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from operator import mul

from qreplace.question.maps import Layer, Point, PwaMap
from qreplace.question.model import Norm
from qreplace.question.norms import norm_bounds

BITS = 96
SLOPE_BITS = 32
NEGLIGIBLE = 1 << (BITS - 80)
"""Noise up to this many units is slack from the start: ends of a range that only rounding moved."""
MAX_NOISE = 512
"""Most noise symbols of one map; what comes after is slack."""
MAX_CORNER_INPUTS = 6
"""Up to so many inputs the affine part on a box is taken at every corner."""

Column = list[int]


@dataclass(frozen=True)
class Relaxed:
    """``one - other`` on a set of inputs, in units of ``2**-BITS``.

    Every difference is within ``spread`` (coordinate by coordinate) of the hull of ``values``.
    ``axes[i]`` is what half the width of the box along input i changes; empty for a hull.
    """

    values: tuple[tuple[int, ...], ...]
    spread: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]

    def bound(self, norm: Norm) -> Fraction:
        """An upper bound of the norm of the difference.

        The norms are convex and grow with the size of every coordinate, so the largest of
        ``|value| + spread`` over the values will do.
        """
        return max(
            norm_bounds(
                norm, [abs(v) + s for v, s in zip(value, self.spread, strict=True)], 1 << BITS
            )[1]
            for value in self.values
        )


def box_bound(
    one: PwaMap, other: PwaMap, lower: Sequence[Fraction], upper: Sequence[Fraction], norm: Norm
) -> Fraction:
    """An upper bound of ``||one(y) - other(y)||`` for ``lower <= y <= upper``."""
    return relax_box(one, other, lower, upper).bound(norm)


def hull_bound(one: PwaMap, other: PwaMap, vertices: Sequence[Point], norm: Norm) -> Fraction:
    """An upper bound of ``||one(y) - other(y)||`` for y in the hull of homogeneous points."""
    return relax_hull(one, other, vertices).bound(norm)


def relax_box(
    one: PwaMap, other: PwaMap, lower: Sequence[Fraction], upper: Sequence[Fraction]
) -> Relaxed:
    """The difference of two maps on a box; ``lower <= upper``, one end an input."""
    p = len(lower)
    centre, halves = box_frame(lower, upper)
    base = [centre]
    for i in range(p):
        base.append([0] * p)
        base[-1][i] = halves[i]
    inputs = _Forms(base, [], [0] * p, hull=False)
    left, right = _push(one, inputs), _push(other, inputs)
    columns = _minus(left.base, right.base)
    spread = [a + b for a, b in zip(left.noise_sum(), right.noise_sum(), strict=True)]
    middle, axes = columns[0], columns[1:]
    if p > MAX_CORNER_INPUTS:
        spread = [s + sum(abs(axis[i]) for axis in axes) for i, s in enumerate(spread)]
        values = [tuple(middle)]
    else:
        values = _corner_values(middle, axes)
    return Relaxed(tuple(values), tuple(spread), tuple(map(tuple, axes)))


def box_frame(lower: Sequence[Fraction], upper: Sequence[Fraction]) -> tuple[Column, Column]:
    """Centre and half widths, in units, of a box around the one given."""
    lows = [(low.numerator << BITS) // low.denominator for low in lower]
    highs = [-(-(high.numerator << BITS) // high.denominator) for high in upper]
    centre = [(low + high) // 2 for low, high in zip(lows, highs, strict=True)]
    # The longer half: the centre is rounded down.
    return centre, [high - middle for high, middle in zip(highs, centre, strict=True)]


def relax_hull(one: PwaMap, other: PwaMap, vertices: Sequence[Point]) -> Relaxed:
    """The difference of two maps on the hull of homogeneous points."""
    base = [[_nearest(x << BITS, q[-1]) for x in q[:-1]] for q in vertices]
    inputs = _Forms(base, [], [1] * len(base[0]), hull=True)
    left, right = _push(one, inputs), _push(other, inputs)
    spread = [a + b for a, b in zip(left.noise_sum(), right.noise_sum(), strict=True)]
    values = tuple(map(tuple, _minus(left.base, right.base)))
    return Relaxed(values, tuple(spread), ())


def relaxation_cost(pwa: PwaMap, columns: int) -> int:
    """An upper bound of the products of integers that one relaxation of a map takes.

    ``columns``: p + 1 for a box, the number of points for a hull.
    """
    cost, noise = 0, 0
    for layer in pwa.layers:
        n, d, after = len(layer.bias), len(layer.carry[0]), len(layer.offset)
        rows = n * (pwa.inputs + d) + after * (n + d)
        cost += (columns + noise + 1) * rows
        if layer.activation != "identity":
            noise = min(noise + n, MAX_NOISE)
    return cost


@dataclass
class _Forms:
    """A vector of affine forms: base and noise columns, and a slack for every coordinate.

    In a hull the base columns are the values at the points; else the value at the centre of the
    box, then what half the box along each input adds.
    """

    base: list[Column]
    noise: list[Column]
    slack: Column
    hull: bool

    def noise_sum(self) -> Column:
        """How far each coordinate can lie from its affine part."""
        return [s + sum(abs(n[i]) for n in self.noise) for i, s in enumerate(self.slack)]

    def ranges(self) -> list[tuple[int, int]]:
        """The interval of every coordinate."""
        spread = self.noise_sum()
        if self.hull:
            rows = zip(*self.base, strict=True)
            return [(min(row) - s, max(row) + s) for row, s in zip(rows, spread, strict=True)]
        first, rest = self.base[0], self.base[1:]
        reach = [s + sum(abs(g[i]) for g in rest) for i, s in enumerate(spread)]
        return [(c - r, c + r) for c, r in zip(first, reach, strict=True)]

    def constant(self, values: Column) -> list[Column]:
        """What a constant adds to each base column."""
        zero = [0] * len(values)
        return [values if self.hull or not i else zero for i in range(len(self.base))]


def _push(pwa: PwaMap, inputs: _Forms) -> _Forms:
    """The final state of a map on the set of inputs."""
    start = [_nearest(value << BITS, pwa.initial_unit) for value in pwa.initial]
    slack = [int(bool((value << BITS) % pwa.initial_unit)) for value in pwa.initial]
    state = _Forms(inputs.constant(start), [], slack, inputs.hull)
    for layer in pwa.layers:
        state = _through(layer, inputs, state)
    return state


def _through(layer: Layer, inputs: _Forms, state: _Forms) -> _Forms:
    """One layer: pre-activations over ``inner``, activations over ``inner 2**(SLOPE_BITS + 1)``."""
    bias = inputs.constant([b << BITS for b in layer.bias])
    sums = zip(
        _apply(layer.input_weights, inputs.base), _apply(layer.state_weights, state.base),
        bias, strict=True,
    )  # fmt: skip
    before = _Forms(
        [[a + b + c for a, b, c in zip(x, z, k, strict=True)] for x, z, k in sums],
        _apply(layer.state_weights, state.noise),
        [
            _size(w, inputs.slack) + _size(s, state.slack)
            for w, s in zip(layer.input_weights, layer.state_weights, strict=True)
        ],
        inputs.hull,
    )
    lines = _lines(layer, before)
    slopes = [2 * slope for slope, _, _ in lines]
    centres = inputs.constant([centre for _, centre, _ in lines])
    base = [
        [s * u + c for s, u, c in zip(slopes, column, centre, strict=True)]
        for column, centre in zip(before.base, centres, strict=True)
    ]
    noise = [list(map(mul, slopes, column)) for column in before.noise]
    slack = list(map(mul, slopes, before.slack))
    scale = layer.inner << (SLOPE_BITS + 1)
    fresh: list[Column] = []
    for i, (_, _, radius) in enumerate(lines):
        if radius > NEGLIGIBLE * scale and len(noise) + len(fresh) < MAX_NOISE:
            fresh.append([row[i] * radius for row in layer.output])
        else:
            slack[i] += radius
    return _next_state(layer, inputs, state, _Forms(base, noise, slack, inputs.hull), fresh)


def _next_state(
    layer: Layer, inputs: _Forms, state: _Forms, phi: _Forms, fresh: list[Column]
) -> _Forms:
    """``(output phi + carry z + offset) / outer``, rounded; what rounding moves is slack."""
    scale = layer.inner << (SLOPE_BITS + 1)
    divisor = layer.outer * scale
    offset = inputs.constant([value * scale << BITS for value in layer.offset])
    base = [
        [_nearest(v + c * scale + o, divisor) for v, c, o in zip(*columns, strict=True)]
        for columns in zip(
            _apply(layer.output, phi.base), _apply(layer.carry, state.base), offset, strict=True
        )
    ]
    noise = [
        [_nearest(v + c * scale, divisor) for v, c in zip(*columns, strict=True)]
        for columns in zip(
            _apply(layer.output, phi.noise), _apply(layer.carry, state.noise), strict=True
        )
    ]
    noise += [[_nearest(value, divisor) for value in column] for column in fresh]
    # Half a unit a column; the points of a hull are averaged, so they count once.
    moved = (2 + len(noise) + (1 if inputs.hull else len(base))) // 2
    slack = [
        -(-(_size(v, phi.slack) + _size(c, state.slack) * scale) // divisor) + moved
        for v, c in zip(layer.output, layer.carry, strict=True)
    ]
    return _Forms(base, [column for column in noise if any(column)], slack, inputs.hull)


def _lines(layer: Layer, before: _Forms) -> list[tuple[int, int, int]]:
    """Slope, centre and radius of every activation, over ``2**SLOPE_BITS`` and twice that."""
    one = 1 << SLOPE_BITS
    if layer.activation == "identity":
        return [(one, 0, 0)] * len(layer.bias)
    found = []
    for i, (low, high) in enumerate(before.ranges()):
        if layer.activation == "relu":
            corners = [(0, 0)]
            ends = [(low, max(low, 0)), (high, max(high, 0))]
        else:
            level = layer.thresholds[i] << BITS
            corners = [(-level, 0), (level, 0)]
            ends = [(u, max(u - level, 0) + min(u + level, 0)) for u in (low, high)]
        found.append(_line([ends[0], *(c for c in corners if low < c[0] < high), ends[1]]))
    return found


def _line(points: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """The narrowest strip of parallel lines around a piecewise-linear graph, by its corners."""
    found = None
    for (a, at_a), (b, at_b) in combinations(points, 2):
        slope = ((at_b - at_a) << SLOPE_BITS) // (b - a) if b > a else 0
        gaps = [(value << SLOPE_BITS) - slope * u for u, value in points]
        low, high = min(gaps), max(gaps)
        if found is None or high - low < found[2]:
            found = (slope, high + low, high - low)
        if high == low:
            break
    return found if found is not None else (0, 0, 0)


def _apply(matrix: Sequence[Sequence[int]], columns: Sequence[Column]) -> list[Column]:
    return [[sum(map(mul, row, column)) for row in matrix] for column in columns]


def _size(row: Sequence[int], slack: Column) -> int:
    """The most that a row makes of slacks."""
    value: int = sum(map(mul, map(abs, row), slack))
    return value


def _nearest(value: int, divisor: int) -> int:
    return (value + divisor // 2) // divisor


def _minus(left: list[Column], right: list[Column]) -> list[Column]:
    return [
        [a - b for a, b in zip(one, other, strict=True)]
        for one, other in zip(left, right, strict=True)
    ]


def _corner_values(middle: Column, axes: Sequence[Column]) -> list[tuple[int, ...]]:
    values = [tuple(middle)]
    for axis in axes:
        values = [
            tuple(v + sign * a for v, a in zip(value, axis, strict=True))
            for value in values
            for sign in (-1, 1)
        ]
    return values

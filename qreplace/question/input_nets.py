"""Nets of inputs, and what an endpoint moves by between them (theory T7.11, QR Table 9, step 1).

A net is the middles of equal parts of the region's box. States at two inputs ``delta`` apart under
the same control separate at ``||V P W delta||`` at most, and their distance grows by m: endpoints
differ by at most ``Phi_m(T)`` times that: ``K_y eta``. A target is followed layer by layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from operator import mul

from qreplace.exact.intervals import magnitude
from qreplace.exact.rational import round_up
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.atom_sizes import rational, slope_products, spectral_upper
from qreplace.question.invariant_balls import PwaConstants, phi_upper
from qreplace.question.maps import Point, PwaMap, homogeneous
from qreplace.question.model import Norm
from qreplace.question.operator_bounds import euclidean, norm_upper
from qreplace.question.piecewise_problem import Field, PwaProblem
from qreplace.question.regions import Region

ZERO = Fraction(0)
MOVE_BITS = 128


def half_sides(region: Region, cells: Sequence[int]) -> list[Fraction]:
    """How far an input of a cell is from its middle, coordinate by coordinate."""
    return [(high - low) / (2 * count) for low, high, count in zip(*region.box, cells, strict=True)]


def net_points(region: Region, cells: Sequence[int]) -> Iterator[Point]:
    """The middles of the cells that meet the region.

    A region is the closure of its interior, so cells that meet the interior cover it.
    """
    halves = half_sides(region, cells)
    sides = [
        [low + half * (2 * k + 1) for k in range(count)]
        for low, half, count in zip(region.box[0], halves, cells, strict=True)
    ]
    for middle in product(*sides):
        low = [x - half for x, half in zip(middle, halves, strict=True)]
        high = [x + half for x, half in zip(middle, halves, strict=True)]
        if not region.avoids_box(low, high):
            yield homogeneous(middle)


def control_move(
    problem: PwaProblem, norm: Norm, constants: PwaConstants, apart: Sequence[Fraction]
) -> Fraction:
    """How far relaxed endpoints of one control differ between inputs so far apart.

    ``apart`` bounds each coordinate. Raises ``InputError`` where growth is too large to enclose.
    """
    push = max(_push(field, norm, apart) for field in problem.fields)
    return push * phi_upper(constants.rate, constants.horizon)


def _push(field: Field, norm: Norm, apart: Sequence[Fraction]) -> Fraction:
    """A bound of ``||V P W delta||``."""
    output = rational(field.output, field.outer)
    weights = rational(field.input_weights, field.inner)
    bends = field.atom.activation != "identity"
    sizes = [
        sum((magnitude(x) * a for x, a in zip(row, apart, strict=True)), ZERO)
        for row in slope_products(output, weights, bends)
    ]
    bound = norm_upper(norm, sizes)
    if euclidean(norm, len(output)):
        length = sqrt_bounds(sum(map(mul, apart, apart), ZERO))[1]
        bound = min(bound, spectral_upper(output) * spectral_upper(weights) * length)
    return bound


def map_move(given: PwaMap, norm: Norm, apart: Sequence[Fraction]) -> Fraction:
    """How far a map's values at inputs so far apart differ, layer by layer."""
    moved = [ZERO] * len(given.initial)
    for layer in given.layers:
        bends = layer.activation != "identity"
        output = rational(layer.output, layer.outer)
        weights = rational(layer.input_weights, layer.inner)
        through = slope_products(output, rational(layer.state_weights, layer.inner), bends)
        pushed = slope_products(output, weights, bends)
        carry = rational(layer.carry, layer.outer)
        moved = [
            round_up(
                sum(
                    (
                        magnitude((c + low, c + high)) * e
                        for c, (low, high), e in zip(carry[i], through[i], moved, strict=True)
                    ),
                    ZERO,
                )
                + sum((magnitude(x) * a for x, a in zip(pushed[i], apart, strict=True)), ZERO),
                MOVE_BITS,
            )
            for i in range(len(layer.offset))
        ]
    return norm_upper(norm, moved)


def cell_count(cells: Sequence[int]) -> int:
    """The number of cells of a grid, those that miss the region included."""
    return math.prod(cells)

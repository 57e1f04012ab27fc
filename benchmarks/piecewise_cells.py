"""What do exact cells cost? Floats with a proved filter against integers, fractions, floats alone.

The paper's matrix instance: the joint cells of F32, F4 and F8 on the 16-gons in and around the
unit disk, and the two largest differences, exactly (theory T8.2, T8.3). Then the reference's
switching law alone at growing depth. One core, CPU seconds, all peers in the same run:

* `exact`: compiled floats decide clear side tests, integers the rest; contenders exactly.
* `float`: the same loops where a test that is not clear counts as zero, nothing proved.
* `plain`: the all-integer enumerator, every vertex exact.
* `fractions`: cell by cell with ``fractions.Fraction``, below.

A peer is left out where it would take more than about 20 seconds (`null`). Memory is the process's
peak after the exact runs, before the plain ones.
"""

from __future__ import annotations

import json
import math
import resource
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import cpu_of, record
from qreplace.produce.cells import Subdivision, largest_difference, subdivide
from qreplace.produce.cells_fast import (
    FastSubdivision,
    FloatWork,
    float_differences,
    largest_difference_fast,
    subdivide_fast,
)
from qreplace.question.maps import Layer, Point, PwaMap, homogeneous
from qreplace.question.model import L2Norm

INSTANCE = json.loads(
    (Path(__file__).parents[1] / "tests/papers/matrix-instance.json").read_text("utf-8")
)
DEPTHS = (8, 16, 32, 64, 128)
FRACTION_DEPTHS = DEPTHS[:3]
REPEATS = 5

Polygon = list[tuple[Fraction, Fraction]]
Form = tuple[Fraction, Fraction, Fraction]


def euler_layer(atom: dict[str, Any], depth: int) -> Layer:
    """``z + (S_lam(W y + S z) - z) / depth``."""
    weights = [[Fraction(x) for x in row] for row in (*atom["W"], *atom["S"])]
    level = Fraction(atom["lambda"])
    inner = math.lcm(level.denominator, *(x.denominator for row in weights for x in row))
    rows = [tuple(int(x * inner) for x in row) for row in weights]
    levels = (int(level * inner),) * 2
    keep = ((depth - 1, 0), (0, depth - 1))
    return Layer(
        "soft_threshold", inner, tuple(rows[:2]), tuple(rows[2:]), (0, 0), levels,
        depth, ((1, 0), (0, 1)), keep, (0, 0),
    )  # fmt: skip


def scheduled(atoms: str, schedule: Sequence[int]) -> PwaMap:
    """The map of a schedule of the ``high`` or ``low`` atoms."""
    layers = [euler_layer(atom, len(schedule)) for atom in INSTANCE[f"{atoms}_atoms"]]
    return PwaMap(2, tuple(layers[j] for j in schedule), (0, 0), 1)


def switched(depth: int) -> PwaMap:
    """The reference's law: atom 1 where ``3/10 <= k / depth < 13/20``."""
    law = [int(Fraction(3, 10) <= Fraction(k, depth) < Fraction(13, 20)) for k in range(depth)]
    return scheduled("high", law)


def polygon(side: str) -> list[Point]:
    """The inner or the outer 16-gon."""
    found = INSTANCE["results_n16_tan_half_angle_den_1e6"][side]["polygon"]
    return [homogeneous([Fraction(x) for x in row]) for row in found]


class Unproved(FloatWork):
    """Floats alone: what is not clear counts as zero."""

    def settle(self, unclear: Sequence[int]) -> None:
        """Decide without a proof."""
        self.mesh.side[list(unclear)] = 0


def float_alone(maps: Sequence[PwaMap], corners: Sequence[Point]) -> FastSubdivision:
    """The enumeration without integers."""
    work = Unproved(maps, corners, 10**6)
    for index in range(len(maps)):
        work.push(index)
    return work.subdivision()


def in_fractions(maps: Sequence[PwaMap], corners: Sequence[Point]) -> list[Polygon]:
    """Cell by cell: a polygon and the affine forms of the state, in fractions."""
    cells: list[Polygon] = [[(Fraction(x, t), Fraction(y, t)) for x, y, t in corners]]
    for found in maps:
        zero = Fraction(0)
        states = [[(zero, zero, Fraction(z)) for z in found.initial] for _ in cells]
        work = list(zip(cells, states, strict=True))
        for layer in found.layers:
            work = [pair for cell, z in work for pair in _stepped(cell, z, layer)]
        cells = [cell for cell, _ in work]
    return cells


def _stepped(cell: Polygon, z: list[Form], layer: Layer) -> list[tuple[Polygon, list[Form]]]:
    """Split a cell by the kinks of one layer, with the next state on every part."""
    parts: list[tuple[Polygon, list[Form]]] = [(cell, [])]
    for w, s, level in zip(layer.input_weights, layer.state_weights, layer.thresholds, strict=True):
        pulls = [sum((a * f[k] for a, f in zip(s, z, strict=True)), Fraction(0)) for k in range(3)]
        x, y, one = ((p + a) / layer.inner for p, a in zip(pulls, (*w, 0), strict=True))
        bend, split = Fraction(level, layer.inner), []
        for part, phi in parts:
            below, rest = _halves(part, (x, y, one + bend))
            middle, above = _halves(rest, (x, y, one - bend)) if rest else ([], [])
            pieces = ((below, (x, y, one + bend)), (above, (x, y, one - bend)))
            split += [(p, [*phi, piece]) for p, piece in pieces if p]
            if middle:
                split.append((middle, [*phi, (Fraction(0),) * 3]))
        parts = split
    keep, gain = Fraction(layer.outer - 1, layer.outer), Fraction(1, layer.outer)
    return [(part, [_mixed(keep, f, gain, g) for f, g in zip(z, phi, strict=True)])
            for part, phi in parts]  # fmt: skip


def _mixed(a: Fraction, f: Form, b: Fraction, g: Form) -> Form:
    return a * f[0] + b * g[0], a * f[1] + b * g[1], a * f[2] + b * g[2]


def _halves(cell: Polygon, form: Form) -> tuple[Polygon, Polygon]:
    """The parts where a form is negative and positive; a part without corners off zero is empty."""
    values = [form[0] * x + form[1] * y + form[2] for x, y in cell]
    if min(values) >= 0:
        return ([], cell) if max(values) > 0 else (cell, [])
    if max(values) <= 0:
        return cell, []
    below, above = [], []
    for i, (q, value) in enumerate(zip(cell, values, strict=True)):
        p, before = cell[i - 1], values[i - 1]
        if before * value < 0:
            s = before / (before - value)
            new = (p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1]))
            below.append(new)
            above.append(new)
        if value <= 0:
            below.append(q)
        if value >= 0:
            above.append(q)
    return below, above


def instance_row(side: str) -> dict[str, Any]:
    """The exact side of the instance: cells and both maxima."""
    maps = [scheduled("high", INSTANCE["H32"]), scheduled("high", INSTANCE["H4"])]
    maps.append(scheduled("low", INSTANCE["L8"]))
    corners = polygon(side)
    expected = INSTANCE["results_n16_tan_half_angle_den_1e6"][side]
    found = subdivide_fast(maps, corners)
    if not isinstance(found, FastSubdivision) or len(found.cells) != expected["cells"]:
        raise RuntimeError(f"the {side} polygon has {len(found.cells)} cells")

    def exact() -> list[Fraction]:
        cells = subdivide_fast(maps, corners)
        return [largest_difference_fast(cells, maps, i, 0).value for i in (1, 2)]

    def floats() -> list[float]:
        cells = float_alone(maps, corners)
        return [
            float(np.max(float_differences(cells, maps, i, 0, L2Norm("l2"))[0])) for i in (1, 2)
        ]

    if exact() != [Fraction(expected[name]) for name in ("F4_F32_sq", "F8_F32_sq")]:
        raise RuntimeError("the largest differences are not the known ones")
    exact_s, float_s = cpu_of(REPEATS, exact)[1], cpu_of(REPEATS, floats)[1]
    row = {
        "polygon": side,
        "cells": len(found.cells),
        "vertices": found.vertices,
        "exact_tests": found.exact_tests,
        "exact_s": exact_s,
        "float_s": float_s,
        "over_float": exact_s / float_s,
        "peak_mb": peak(),
    }
    return row | {"maps": maps, "corners": corners}


def with_plain(row: dict[str, Any]) -> dict[str, Any]:
    """Add the slow peers to a row of the instance."""
    maps, corners = row.pop("maps"), row.pop("corners")

    def plain() -> None:
        cells: Subdivision = subdivide(maps, corners)
        for i in (1, 2):
            largest_difference(cells, maps, i, 0)

    row["plain_s"] = cpu_of(2, plain)[1]
    row["fractions_s"] = cpu_of(1, partial(in_fractions, maps, corners))[1]
    row["plain_over_exact"] = row["plain_s"] / row["exact_s"]
    row["fractions_over_exact"] = row["fractions_s"] / row["exact_s"]
    return row


def growth_rows() -> list[dict[str, Any]]:
    """The reference alone at growing depth, with the exponents of the last doubling."""
    rows: list[dict[str, Any]] = []
    corners = polygon("inner")
    for depth in DEPTHS:
        maps = [switched(depth)]
        found = subdivide_fast(maps, corners)
        row: dict[str, Any] = {
            "depth": depth,
            "cells": len(found.cells),
            "exact_s": cpu_of(3, partial(subdivide_fast, maps, corners))[1],
            "float_s": cpu_of(3, partial(float_alone, maps, corners))[1],
            "peak_mb": peak(),
        }
        row["over_float"] = row["exact_s"] / row["float_s"]
        rows.append(row)
    for row in rows:
        maps = [switched(row["depth"])]
        row["plain_s"] = cpu_of(1, partial(subdivide, maps, corners))[1]
        row["plain_over_exact"] = row["plain_s"] / row["exact_s"]
        row["fractions_s"] = None
        if row["depth"] in FRACTION_DEPTHS:
            row["fractions_s"] = cpu_of(1, partial(in_fractions, maps, corners))[1]
    for before, row in pairwise(rows):
        for name in ("cells", "exact_s", "float_s", "plain_s", "fractions_s"):
            if row[name] is not None:
                row[f"{name}_exponent"] = math.log2(row[name] / before[name])
    return rows


def peak() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and record."""
    small, corners = [switched(8)], polygon("inner")
    compiled = subdivide_fast(small, corners)  # outside the timings
    if len(in_fractions(small, corners)) != len(compiled.cells):
        raise RuntimeError("the peers find other cells")
    rows = [instance_row(side) for side in ("inner", "outer")]
    growth = growth_rows()
    record("piecewise_cells", [with_plain(row) for row in rows] + growth)


if __name__ == "__main__":
    main()

"""What do exact cells cost in 2, 3 and 4 inputs, and how far do halved boxes get instead?

Random contractive soft-threshold systems on the cube ``[-1, 1]^p``, as many states as inputs (3 at
most where cells are enumerated): a schedule of three steps of two atoms against four steps of their
finer versions, in l2. Cells give the supremum itself (``supremum_s``: cells, simplices and the
largest vertex, all a claim needs); boxes stop where their bracket is narrow, or at the nodes
allowed, whichever comes first. With 6 and 16 inputs only boxes are left: how the bracket narrows
with nodes, and what one exact bound takes (a checker does half of them, those of the boxes that are
left).
"""

from __future__ import annotations

import random
import time
from fractions import Fraction
from typing import Any

from benchmarks.measure import record
from qreplace.errors import ProducerFailed
from qreplace.produce.cells import largest_difference
from qreplace.produce.input_boxes import bound_by_boxes
from qreplace.produce.polytopes import joint_cells, subdivide_polytope
from qreplace.question.maps import Layer, PwaMap
from qreplace.question.model import L2Norm
from qreplace.question.regions import Polytope, box_region
from qreplace.question.relaxation import box_bound

NORM = L2Norm("l2")
SHAPES = ((2, 2), (3, 2), (3, 3), (4, 2), (4, 3))
"""Inputs and states where cells are enumerated."""
ANYTIME = ((6, 6), (16, 8))
NODES = (0, 50, 200, 400)
MOST_NODES = 2000
WIDTH = Fraction(1, 1000)
"""Of a bracket by boxes that is set against exact cells; the suprema are near 1/10."""
MAX_CELLS = 200_000
ENTRY = 64
"""Denominator of every entry of the finer system; the coarse one keeps multiples of 1/16."""
LEVEL = ENTRY // 4
Weights = tuple[list[list[int]], list[list[int]]]


def system(inputs: int, states: int, seed: int) -> tuple[PwaMap, PwaMap, Polytope]:
    """A coarse schedule and the finer one that it replaces."""
    rng = random.Random(seed)
    fine = [_atom(rng, inputs, states) for _ in range(2)]
    coarse = [(_rounded(weights), _rounded(state)) for weights, state in fine]
    target = _schedule(fine, (0, 1, 1, 0), inputs)
    student = _schedule(coarse, (0, 1, 0), inputs)
    region = box_region([Fraction(-1)] * inputs, [Fraction(1)] * inputs)
    return student, target, region


def cells_against_boxes(inputs: int, states: int) -> dict[str, Any]:
    """The exact supremum from cells, and a narrow bracket from boxes."""
    one, other, region = system(inputs, states, seed=inputs)
    row: dict[str, Any] = {"inputs": inputs, "states": states}
    started = time.perf_counter()
    found = joint_cells([one, other], region, max_cells=MAX_CELLS)
    row |= {"cells": len(found.cells), "cells_s": time.perf_counter() - started}
    started = time.perf_counter()
    try:
        cut = subdivide_polytope([one, other], region, max_cells=MAX_CELLS)
    except ProducerFailed:
        row |= {"simplices": f"more than {MAX_CELLS}"}
    else:
        largest = largest_difference(cut, [one, other], norm=NORM)
        row |= {
            "simplices": len(cut.cells),
            "supremum_s": time.perf_counter() - started,
            "supremum": float(largest.upper),
        }
    started = time.perf_counter()
    bracket = bound_by_boxes(one, other, region, NORM, width=WIDTH, nodes=MOST_NODES)
    return row | {
        "boxes_upper": float(bracket.upper),
        "boxes": bracket.boxes,
        "boxes_s": time.perf_counter() - started,
        "boxes_width": float(bracket.upper - bracket.lower),
        "boxes_stopped": bracket.stopped,
    }


def anytime(inputs: int, states: int) -> list[dict[str, Any]]:
    """Brackets after fixed numbers of halvings."""
    one, other, region = system(inputs, states, seed=inputs)
    rows = []
    for nodes in NODES:
        started = time.perf_counter()
        found = bound_by_boxes(one, other, region, NORM, nodes=nodes)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        box_bound(one, other, *region.box, NORM)
        rows.append(
            {
                "inputs": inputs,
                "states": states,
                "nodes": found.nodes,
                "seconds": seconds,
                "bound_ms": 1000 * (time.perf_counter() - started),
                "lower": float(found.lower),
                "upper": float(found.upper),
                "open_share": float(found.open_share),
            }
        )
    return rows


def _atom(rng: random.Random, inputs: int, states: int) -> Weights:
    """Input and state weights over ``ENTRY``; the rows of the latter sum to 1/2 at most."""
    weights = [[rng.randint(-ENTRY // 2, ENTRY // 2) for _ in range(inputs)] for _ in range(states)]
    most = ENTRY // (2 * states)
    return weights, [[rng.randint(-most, most) for _ in range(states)] for _ in range(states)]


def _rounded(rows: list[list[int]]) -> list[list[int]]:
    """Nearest multiples of 1/16."""
    return [[round(16 * entry / ENTRY) * (ENTRY // 16) for entry in row] for row in rows]


def _schedule(
    atoms: list[Weights],
    schedule: tuple[int, ...],
    inputs: int,
) -> PwaMap:
    """Euler steps ``z + h (S(W y + S z) - z)`` with threshold 1/4, from 0."""
    depth = len(schedule)
    layers = []
    for index in schedule:
        weights, state = atoms[index]
        d = len(weights)
        identity = [[int(i == j) for j in range(d)] for i in range(d)]
        layers.append(
            Layer(
                "soft_threshold",
                ENTRY,
                tuple(map(tuple, weights)),
                tuple(map(tuple, state)),
                (0,) * d,
                (LEVEL,) * d,
                depth,
                tuple(map(tuple, identity)),
                tuple(tuple((depth - 1) * entry for entry in row) for row in identity),
                (0,) * d,
            )
        )
    return PwaMap(inputs, tuple(layers), (0,) * len(atoms[0][0]), 1)


def main() -> None:
    """Measure and record."""
    one, other, region = system(2, 2, seed=0)
    bound_by_boxes(one, other, region, NORM, nodes=1)  # imports stay outside the timings
    record("piecewise_boxes", [cells_against_boxes(*shape) for shape in SHAPES])
    record("piecewise_boxes_anytime", [row for shape in ANYTIME for row in anytime(*shape)])


if __name__ == "__main__":
    main()

"""The corners of a polytope from its half-spaces, exactly, by double description.

The half-spaces ``a x <= b`` are lifted to the cone ``b t - a x >= 0, t >= 0``. Its extreme rays
with ``t > 0`` are the corners; one with ``t = 0`` is a direction without end. Rays are kept with
the set of constraints that hold with equality, and constraints are added one at a time (Motzkin,
Raiffa, Thompson and Thrall, 1953).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import mul

from qreplace.errors import InputError

Row = tuple[int, ...]

MAX_RAYS = 4096
"""Rays kept at any time; a polytope with more corners is given as a box or a ball."""
MAX_PAIRS = 4_000_000
"""Pairs of rays tried in all."""


@dataclass(frozen=True)
class Ray:
    """A ray of the cone, without common factor, and the constraints it lies on, as bits."""

    vector: Row
    tight: int


def corners_of(halfspaces: Sequence[Row], p: int) -> list[Row]:
    """The corners ``(x_1 .. x_p, t)`` of ``{x: a x <= b}``, each half-space ``(a_1 .. a_p, b)``.

    Raises ``InputError`` when the polytope is empty or unbounded, or has too many corners.
    """
    rows = [(*(-a for a in h[:-1]), h[-1]) for h in halfspaces]
    rows.append((*(0,) * p, 1))
    first = _independent(rows, p + 1)
    if first is None:
        raise InputError("the input polytope is unbounded or empty: add the missing inequalities")
    rays = _simplicial(rows, first)
    pairs = 0
    for index, row in enumerate(rows):
        if index in first:
            continue
        rays, tried = _cut(rays, row, index, p)
        pairs += tried
        if len(rays) > MAX_RAYS or pairs > MAX_PAIRS:
            raise InputError(
                f"the corners of {len(halfspaces)} half-spaces in {p} dimensions are too many to "
                "enumerate; give a box or a ball"
            )
    corners = [ray.vector for ray in rays if ray.vector[-1] > 0]
    if not corners:
        raise InputError("the input polytope is empty: its inequalities contradict each other")
    if len(corners) < len(rays):
        raise InputError("the input polytope is unbounded: add the missing inequalities")
    return sorted(corners, key=lambda q: [Fraction(x, q[-1]) for x in q])


def _cut(rays: list[Ray], row: Row, index: int, p: int) -> tuple[list[Ray], int]:
    """The rays of the cone cut by one more constraint, and how many pairs were tried."""
    bit = 1 << index
    inside, border, outside = [], [], []
    for ray in rays:
        value = _dot(row, ray.vector)
        if value > 0:
            inside.append((ray, value))
        elif value < 0:
            outside.append((ray, value))
        else:
            border.append(Ray(ray.vector, ray.tight | bit))
    made = []
    for (one, above), (other, below) in product(inside, outside):
        shared = one.tight & other.tight
        # Two extreme rays span a face of dimension 2 unless a third lies on all they share.
        if shared.bit_count() < p - 1 or any(
            ray is not one and ray is not other and ray.tight & shared == shared for ray in rays
        ):
            continue
        vector = [above * b - below * a for a, b in zip(one.vector, other.vector, strict=True)]
        made.append(Ray(_primitive(vector), shared | bit))
    kept = [ray for ray, _ in inside]
    return [*kept, *border, *made], len(inside) * len(outside)


def _independent(rows: Sequence[Row], size: int) -> list[int] | None:
    """The first ``size`` linearly independent rows, or None."""
    reduced: list[tuple[int, list[Fraction]]] = []
    chosen = []
    for index, row in enumerate(rows):
        rest = [Fraction(x) for x in row]
        for pivot, basis in reduced:
            if rest[pivot]:
                factor = rest[pivot] / basis[pivot]
                rest = [x - factor * y for x, y in zip(rest, basis, strict=True)]
        lead = next((i for i, x in enumerate(rest) if x), None)
        if lead is not None:
            reduced.append((lead, rest))
            chosen.append(index)
        if len(chosen) == size:
            return chosen
    return None


def _simplicial(rows: Sequence[Row], chosen: Sequence[int]) -> list[Ray]:
    """The rays of the cone of independent constraints: each off exactly one of them."""
    size = len(chosen)
    table = [
        [*map(Fraction, rows[index]), *(Fraction(int(i == k)) for k in range(size))]
        for i, index in enumerate(chosen)
    ]
    for column in range(size):
        pivot = next(r for r in range(column, size) if table[r][column])
        table[column], table[pivot] = table[pivot], table[column]
        lead = table[column][column]
        table[column] = [x / lead for x in table[column]]
        for r in range(size):
            factor = table[r][column]
            if r != column and factor:
                table[r] = [x - factor * y for x, y in zip(table[r], table[column], strict=True)]
    everything = sum(1 << index for index in chosen)
    found = []
    for k, index in enumerate(chosen):
        entries = [row[size + k] for row in table]
        common = math.lcm(*(x.denominator for x in entries))
        vector = _primitive([x.numerator * (common // x.denominator) for x in entries])
        found.append(Ray(vector, everything ^ 1 << index))
    return found


def _primitive(vector: Sequence[int]) -> Row:
    shared = math.gcd(*vector)
    return tuple(x // shared for x in vector)


def _dot(row: Row, vector: Row) -> int:
    value: int = sum(map(mul, row, vector))
    return value

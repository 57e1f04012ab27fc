"""Cells of piecewise-affine maps by brute force: every pattern of pieces, clipped one by one.

Independent of the enumerators and of ``PwaMap``: it starts from the raw rational atoms, keeps a
convex polygon in fractions, and clips it by the half-planes of every pattern.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from piecewise_questions import atom, pwa_question, reference

from qreplace.question.maps import Point, PwaMap
from qreplace.question.subject import Subject

Form = tuple[Fraction, Fraction, Fraction]
Polygon = list[tuple[Fraction, Fraction]]

F = Fraction


@dataclass(frozen=True)
class Raw:
    """An atom as given: rows of rationals."""

    activation: Any
    W: list[list[Fraction]]
    S: list[list[Fraction]]
    b: list[Fraction]
    levels: list[Fraction]
    V: list[list[Fraction]]
    A: list[list[Fraction]]
    c: list[Fraction]
    leak: Fraction

    def atom(self) -> Any:
        return atom(
            self.W,
            self.S,
            activation=self.activation,
            thresholds=self.levels,
            bias=self.b,
            output=self.V,
            state_matrix=self.A,
            leak=self.leak,
            offset=self.c,
        )


def joint_maps(atoms: Sequence[Raw], schedules: Sequence[Sequence[int]], z0: Any) -> list[PwaMap]:
    """The maps of schedules of one dictionary."""
    given_atoms = [raw.atom() for raw in atoms]
    target = reference(given_atoms, schedules[0])
    question = pwa_question(given_atoms, target, dimension=len(z0), initial=z0)
    problem = Subject(question, {}).piecewise(0)
    assert problem.target == problem.student(schedules[0])
    return [problem.student(schedule) for schedule in schedules]


def clipped(polygon: Polygon, form: Form) -> Polygon:
    """The part where the form is nonnegative, without repeated or straight corners; or nothing."""
    values = [form[0] * x + form[1] * y + form[2] for x, y in polygon]
    found = []
    for i, ((x, y), value) in enumerate(zip(polygon, values, strict=True)):
        (px, py), before = polygon[i - 1], values[i - 1]
        if before * value < 0:
            s = before / (before - value)
            found.append((px + s * (x - px), py + s * (y - py)))
        if value >= 0:
            found.append((x, y))
    kept = [q for i, q in enumerate(found) if q != found[i - 1]]
    turns = [turn(kept[i - 1], q, kept[(i + 1) % len(kept)]) for i, q in enumerate(kept)]
    return [q for q, t in zip(kept, turns, strict=True) if t > 0]


def turn(a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction]) -> Fraction:
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])


def combined(rows: Sequence[tuple[Fraction, Sequence[Fraction]]]) -> Form:
    x, y, one = (sum((a * f[k] for a, f in rows), F(0)) for k in range(3))
    return x, y, one


def pieces_of(raw: Raw, i: int, u: Form) -> Iterator[tuple[list[Form], Form]]:
    """Every piece of one coordinate: where it holds, and phi there."""
    minus = combined([(F(-1), u)])
    if raw.activation == "identity":
        yield [], u
    elif raw.activation == "relu":
        yield [minus], (F(0), F(0), F(0))
        yield [u], u
    else:
        level = raw.levels[i % len(raw.levels)]
        above, below = (u[0], u[1], u[2] - level), (minus[0], minus[1], minus[2] - level)
        shifted = (u[0], u[1], u[2] + level)
        yield [below], shifted
        yield [shifted, combined([(F(-1), above)])], (F(0), F(0), F(0))
        yield [above], above


def regions_of(
    polygon: Polygon, z: list[Form], steps: Sequence[Raw], h: Fraction
) -> Iterator[tuple[Polygon, list[Form]]]:
    """Every pattern of pieces of a map: its part of the polygon, and the output there."""
    if not steps:
        yield polygon, z
        return
    raw = steps[0]
    u = [
        combined([(F(1), (w[0], w[1], b)), *zip(s, z, strict=True)])
        for w, s, b in zip(raw.W, raw.S, raw.b, strict=True)
    ]
    choices = [list(pieces_of(raw, i, form)) for i, form in enumerate(u)]
    for pattern in itertools.product(*choices):
        part = polygon
        for form in (form for where, _ in pattern for form in where):
            part = clipped(part, form) if part else []
        if len(part) < 3:
            continue
        after = []
        for i in range(len(z)):
            outputs = [(h * v, phi) for v, (_, phi) in zip(raw.V[i], pattern, strict=True)]
            keep = [(h * a, form) for a, form in zip(raw.A[i], z, strict=True)]
            rest = [(1 - h * raw.leak, z[i]), (h * raw.c[i], (F(0), F(0), F(1)))]
            after.append(combined([*outputs, *keep, *rest]))
        yield from regions_of(part, after, steps[1:], h)


def brute_force(
    corners: Sequence[Point], atoms: Sequence[Raw], schedules: Sequence[Sequence[int]], z0: Any
) -> list[tuple[Polygon, list[list[Form]]]]:
    """The joint patterns with interior points, and the output of every map on them."""
    start: Polygon = [(F(q[0], q[2]), F(q[1], q[2])) for q in corners]
    found: list[tuple[Polygon, list[list[Form]]]] = [(start, [])]
    initial = [(F(0), F(0), F(z)) for z in z0]
    for schedule in schedules:
        steps, h = [atoms[j] for j in schedule], F(1, len(schedule))
        found = [
            (part, [*outputs, output])
            for polygon, outputs in found
            for part, output in regions_of(polygon, initial, steps, h)
        ]
    return found

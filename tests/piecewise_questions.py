"""Small piecewise-affine questions, and the paper's matrix instance, built without the spec."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dynamic_questions import Number, listed, matrix
from lifted_questions import L2, Numbers, make_question, vector

from qreplace.question.model import (
    AccuracyMatching,
    Activation,
    BallRegion,
    BoxRegion,
    ComputedFloor,
    Engine,
    FullDomain,
    InputRegion,
    Norm,
    PwaAtom,
    PwaMapData,
    PwaSystem,
    Question,
    ScheduleTarget,
    WitnessDomain,
)

Rows = Sequence[Numbers]
INSTANCE = json.loads((Path(__file__).parent / "papers/matrix-instance.json").read_text())
UNIT_DISK = BallRegion("ball", None, Fraction(1))


def atom(
    weights: Rows,
    state: Rows | None = None,
    *,
    activation: Activation = "soft_threshold",
    thresholds: Numbers | None = (0,),
    bias: Numbers | None = None,
    output: Rows | None = None,
    state_matrix: Rows | None = None,
    leak: Number = 1,
    offset: Numbers | None = None,
) -> PwaAtom:
    """``G(z)(y) = V phi(W y + S z + b) + A z - leak z + c``."""

    def optional(rows: Rows | None) -> Any:
        return None if rows is None else matrix(rows)

    def entries(values: Numbers | None) -> Any:
        return None if values is None else vector(values)

    return PwaAtom(
        "pwa",
        activation,
        matrix(weights),
        optional(state),
        entries(bias),
        entries(thresholds) if activation == "soft_threshold" else None,
        optional(output),
        optional(state_matrix),
        Fraction(leak),
        entries(offset),
    )


def box(lower: Numbers, upper: Numbers) -> BoxRegion:
    """An input box."""
    return BoxRegion("box", vector(lower), vector(upper))


def reference(atoms: Sequence[PwaAtom], schedule: Sequence[int]) -> ScheduleTarget:
    """A switched map of its own atoms."""
    return ScheduleTarget("schedule", tuple(atoms), tuple(schedule))


def pwa_question(
    atoms: Sequence[PwaAtom],
    target: PwaMapData,
    *,
    dimension: int,
    inputs: int = 2,
    region: InputRegion | None = UNIT_DISK,
    witnesses: Rows | None = None,
    full: bool = True,
    norm: Norm = L2,
    initial: Numbers | None = None,
    engine: Engine = "auto",
    horizon: Number = 1,
    comparator: PwaMapData | None = None,
    **fields: Any,
) -> Question:
    """A question about every input of ``region``, or about ``witnesses`` alone."""
    points = None if witnesses is None else matrix(witnesses)
    question = dataclasses.replace(
        make_question([0], [[0]], norm),
        horizon=Fraction(horizon),
        system=PwaSystem("pwa", inputs, dimension, region),
        initial=None if initial is None else vector(initial),
        target=target,
        dictionary=listed(*atoms),
        domain=FullDomain("full", points, None) if full else WitnessDomain("witnesses", points),
        floor=ComputedFloor("compute", engine),
    )
    if comparator is not None:
        objective = AccuracyMatching("accuracy_matching", comparator)
        question = dataclasses.replace(question, objective=objective)
    return dataclasses.replace(question, **fields)


def instance_atoms(precision: str) -> list[PwaAtom]:
    """The ``high`` or ``low`` atoms of the matrix instance (QR 10.7, Appendix E)."""
    return [
        atom(
            [[Fraction(x) for x in row] for row in given["W"]],
            [[Fraction(x) for x in row] for row in given["S"]],
            thresholds=[Fraction(given["lambda"])],
        )
        for given in INSTANCE[f"{precision}_atoms"]
    ]


@cache
def instance_witnesses() -> tuple[tuple[Fraction, Fraction], ...]:
    """The origin and radii k/20 times rational points of the circle near angles 2 pi j / 64."""
    points = [(Fraction(0), Fraction(0))]
    for j in range(64):
        x, y = circle_point(j, 64)
        points += [(x * k / 20, y * k / 20) for k in range(1, 21)]
    return tuple(points)


def circle_point(j: int, count: int) -> tuple[Fraction, Fraction]:
    """A rational point of the unit circle near angle ``2 pi j / count``; ``count`` divides by 4."""
    quarter, rest = divmod(j, count // 4)
    s = Fraction(math.tan(math.pi * rest / count)).limit_denominator(10**6)
    x, y = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
    for _ in range(quarter):
        x, y = -y, x
    return x, y


def matrix_question(*, full: bool = True, **fields: Any) -> Question:
    """Accuracy matching of the matrix instance: on the unit disk, or on its 1,281 witnesses."""
    high = instance_atoms("high")
    return pwa_question(
        instance_atoms("low"),
        reference(high, INSTANCE["H32"]),
        dimension=2,
        comparator=reference(high, INSTANCE["H4"]),
        witnesses=instance_witnesses(),
        full=full,
        **fields,
    )

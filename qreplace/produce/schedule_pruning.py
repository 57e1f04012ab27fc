"""Functionals that show early that no continuation of a prefix is good (theory T3.6, T8.4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from qreplace.produce.float_schedules import FloatSchedules
from qreplace.produce.schedule_kernels import RELU, WIDTH, Floats, Integers, Pruning
from qreplace.question.state_boxes import BITS, Continuations, Direction, dual_norm

PRUNING_AXES = 4
"""Most axes of what is reached at an input."""


def functionals_at(schedules: FloatSchedules, index: int) -> tuple[Floats, Floats]:
    """Rows (D + 1, directions, d) and constants at one input; see ``schedule_kernels.Pruning``.

    Directions are the axes of the set that all schedules reach there, and their opposites; the
    functionals come from exact arithmetic and are rounded once.
    """
    exact = Continuations(
        schedules.problem, schedules.norm, schedules.depth, schedules.points[index]
    )
    boxes = [exact.initial]
    for _ in range(schedules.depth):
        boxes.append(exact.hull(boxes[-1]))
    rows, constants = [], []
    for direction in _axes(schedules, index):
        size = dual_norm(schedules.norm, direction)
        aim = exact.aim(direction)
        found, numbers, _ = exact.functionals(direction, boxes)
        rows.append([[float(v / size) for v in row] for row in found])
        constants.append([float(Fraction(v - aim, 1 << BITS) / size) for v in numbers])
    return np.array(rows).transpose(1, 0, 2), np.array(constants).transpose()


def _axes(schedules: FloatSchedules, index: int) -> list[Direction]:
    """The principal axes of what single atoms reach at an input, both ways, as integers."""
    count, depth = schedules.count, schedules.depth
    generator = np.random.Generator(np.random.PCG64(1))
    words = generator.integers(0, count, size=(4 * count + 8, depth))
    ends = np.array([_end(schedules, word, index) for word in words])
    _, _, axes = np.linalg.svd(ends - ends.mean(axis=0), full_matrices=False)
    return [
        [round(sign * float(v) * (1 << 40)) for v in axis]
        for axis in axes[:PRUNING_AXES]
        for sign in (1, -1)
    ]


def _end(schedules: FloatSchedules, word: Integers, index: int) -> Floats:
    """Where a schedule ends at one input, plainly."""
    atoms, z = schedules.atoms, schedules.initial
    for j in word:
        u = schedules.base[index, j] + atoms.state[j] @ z
        level, kind = atoms.thresholds[j], atoms.kind[j]
        phi = (
            np.maximum(u, 0.0)
            if kind == RELU
            else np.maximum(u - level, 0.0) + np.minimum(u + level, 0.0)
        )
        z = atoms.carry[j] @ z + atoms.output[j] @ phi + atoms.offset[j]
    return z


def no_pruning(schedules: FloatSchedules) -> Pruning:
    """Nothing is left out."""
    d, levels = schedules.goal.shape[1], schedules.depth + 1
    return Pruning(np.zeros((0, levels, 0, d, WIDTH)), np.zeros((0, levels, 0, WIDTH)))

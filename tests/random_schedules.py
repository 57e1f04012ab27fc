"""Small random piecewise-affine questions on witnesses, and their minima by plain enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from piecewise_questions import atom, pwa_question, reference

from qreplace.question.maps import Point, difference, difference_unit
from qreplace.question.model import Activation, Norm, PwaAtom, Question
from qreplace.question.norms import norm_bounds
from qreplace.question.piecewise_problem import PwaProblem

ENTRIES = st.fractions(-1, 1, max_denominator=6)
ACTIVATIONS: list[Activation] = ["soft_threshold", "relu", "identity"]
LEVELS = st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1, 2)])


@dataclass(frozen=True)
class Minimum:
    """The least error over all schedules, enclosed, and an input that is worst for each."""

    schedule: tuple[int, ...]
    lower: Fraction
    upper: Fraction
    worst: dict[tuple[int, ...], int]


def exact_minimum(
    problem: PwaProblem, norm: Norm, depth: int, points: Sequence[Point] | None = None
) -> Minimum:
    """Every schedule at every input, in integers; the first of equal ones."""
    chosen = (problem.witnesses if points is None else points) or ()
    targets = [problem.target.trace(point) for point in chosen]
    errors, worst = {}, {}
    for schedule in itertools.product(range(len(problem.fields)), repeat=depth):
        student = problem.student(schedule)
        unit = difference_unit(student, problem.target)
        found = []
        for point, aim in zip(chosen, targets, strict=True):
            gap = difference(student, problem.target, student.trace(point), aim)
            found.append(norm_bounds(norm, gap, unit * point[-1]))
        worst[schedule] = max(range(len(found)), key=lambda i: found[i])
        errors[schedule] = found[worst[schedule]]
    best = min(errors, key=lambda schedule: (errors[schedule], schedule))
    return Minimum(best, *errors[best], worst)


def exact_error(
    problem: PwaProblem, norm: Norm, schedule: Sequence[int], point: Point
) -> tuple[Fraction, Fraction]:
    """The enclosed error of one schedule at one input."""
    student, target = problem.student(schedule), problem.target
    gap = difference(student, target, student.trace(point), target.trace(point))
    return norm_bounds(norm, gap, difference_unit(student, target) * point[-1])


def norms(dimension: int) -> list[Norm]:
    """Every kind of norm of one output."""
    weights = [Fraction(1), Fraction(1, 3), Fraction(2)][:dimension]
    return [L2, LINF, L1, block_l2(1), weighted_linf(*weights), weighted_l1(*weights)]


@st.composite
def atoms(draw: st.DrawFn, inputs: int, dimension: int) -> PwaAtom:
    """Any activation, with or without the optional parts, of any width up to 3."""
    plain = draw(st.booleans())
    width = dimension if plain else draw(st.integers(1, 3))

    def rows(count: int, columns: int) -> list[list[Fraction]]:
        return [[draw(ENTRIES) for _ in range(columns)] for _ in range(count)]

    activation: Activation = draw(st.sampled_from(ACTIVATIONS))
    return atom(
        rows(width, inputs),
        rows(width, dimension) if draw(st.booleans()) else None,
        activation=activation,
        thresholds=[draw(LEVELS) for _ in range(width)],
        bias=[draw(ENTRIES) for _ in range(width)] if draw(st.booleans()) else None,
        output=None if plain else rows(dimension, width),
        state_matrix=rows(dimension, dimension) if draw(st.booleans()) else None,
        leak=draw(st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2)])),
        offset=[draw(ENTRIES) for _ in range(dimension)] if draw(st.booleans()) else None,
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Two or three atoms, one or two inputs and states, up to five witnesses, any norm."""
    inputs, dimension = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    listed = [draw(atoms(inputs, dimension)) for _ in range(draw(st.integers(2, 3)))]
    target = [draw(atoms(inputs, dimension)) for _ in range(2)]
    schedule = draw(st.lists(st.integers(0, 1), min_size=1, max_size=5))
    witnesses = draw(
        st.lists(st.lists(ENTRIES, min_size=inputs, max_size=inputs), min_size=1, max_size=5)
    )
    initial = [draw(ENTRIES) for _ in range(dimension)] if draw(st.booleans()) else None
    return pwa_question(
        listed,
        reference(target, schedule),
        dimension=dimension,
        inputs=inputs,
        region=None,
        witnesses=witnesses,
        full=False,
        norm=draw(st.sampled_from(norms(dimension))),
        initial=initial,
        horizon=draw(st.sampled_from([Fraction(1), Fraction(3, 2)])),
    )

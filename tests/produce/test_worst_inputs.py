"""Bad inputs found in floats: in the region, exactly, and as bad as those of small known cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dynamic_questions import matrix
from hypothesis import given
from hypothesis import strategies as st
from lifted_questions import L2, LINF, vector
from piecewise_questions import UNIT_DISK, atom, box, matrix_question, pwa_question, reference

from qreplace.errors import InputError
from qreplace.produce.worst_inputs import ErrorSearch, error_at, rational_input, worst_points
from qreplace.question.maps import homogeneous, rational_point
from qreplace.question.model import BallRegion, InputRegion
from qreplace.question.piecewise import PolytopeRegion
from qreplace.question.piecewise_problem import PwaProblem
from qreplace.question.regions import Ball
from qreplace.question.subject import Subject

THIRD = Fraction(1, 3)
REGIONS: dict[str, tuple[int, InputRegion]] = {
    "disk": (2, UNIT_DISK),
    "small disk": (2, BallRegion("ball", vector(["1/7", 3]), Fraction(1, 900))),
    "ball": (3, BallRegion("ball", None, THIRD)),
    "interval": (1, box([-THIRD], [2 * THIRD])),
    "cube": (3, box([-THIRD] * 3, [THIRD] * 3)),
    "simplex": (
        3,
        PolytopeRegion(
            "polytope",
            matrix([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [3, 3, 3]]),
            vector([0, 0, 0, 1]),
        ),
    ),
}


def problem(inputs: int, region: InputRegion, weights: list[list[int]] | None = None) -> PwaProblem:
    """``y -> W y`` against 0."""
    rows = weights or [[i + 1 for i in range(inputs)]]
    target = reference([atom([[0] * inputs] * len(rows))], [0])
    question = pwa_question([atom(rows)], target, dimension=len(rows), inputs=inputs, region=region)
    return Subject(question, {}).piecewise(0)


@pytest.mark.parametrize("name", REGIONS)
def test_worst_points_are_inputs_of_the_region(name: str) -> None:
    inputs, region = REGIONS[name]
    found = problem(inputs, region)
    points = worst_points(found, L2, [0], count=5)
    assert 1 <= len(points) <= 5
    assert len(set(points)) == len(points)
    assert found.region is not None
    assert all(found.region.contains(homogeneous(point)) for point in points)
    student = found.student([0])
    errors = [error_at(student, found.target, L2, homogeneous(point))[0] for point in points]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(
    ("name", "squared"),
    [
        ("disk", Fraction(5)),
        ("ball", Fraction(14, 9)),
        ("interval", Fraction(4, 9)),
        ("cube", Fraction(4)),
        ("simplex", Fraction(1)),
    ],
)
def test_linear_functionals_are_largest_where_they_should_be(name: str, squared: Fraction) -> None:
    """``y_1 + 2 y_2 + 3 y_3``: its length times the radius, or its value at a corner."""
    inputs, region = REGIONS[name]
    found = problem(inputs, region)
    worst = homogeneous(worst_points(found, L2, [0])[0])
    error = error_at(found.student([0]), found.target, L2, worst)[0]
    assert (1 - Fraction(1, 10**8)) ** 2 * squared <= error**2 <= squared


def test_a_point_of_the_circle_is_exactly_on_it() -> None:
    found = problem(2, UNIT_DISK)
    x, y = worst_points(found, L2, [0])[0]
    assert x * x + y * y == 1


@given(
    st.sampled_from(sorted(REGIONS)),
    st.lists(st.floats(-4, 4), min_size=3, max_size=3),
)
def test_any_float_point_becomes_an_input(name: str, values: list[float]) -> None:
    inputs, region = REGIONS[name]
    exact = problem(inputs, region).region
    assert exact is not None
    assert exact.contains(rational_input(exact, np.array(values[:inputs])))


@pytest.mark.parametrize("name", REGIONS)
def test_an_input_stays_where_it_is(name: str) -> None:
    """Rounding moves it by little: 2**-40 of the region, also from its border."""
    inputs, region = REGIONS[name]
    found = problem(inputs, region)
    exact = found.region
    assert exact is not None
    search = ErrorSearch(found.student([0]), found.target, LINF, exact)
    size = float(max(b - a for a, b in zip(*exact.box, strict=True)))
    for x in search.search():
        point = rational_point(rational_input(exact, x))
        assert np.abs(np.array([float(value) for value in point]) - x).max() <= 1e-10 * size


def test_the_matrix_instance() -> None:
    """The best schedule of depth 7 on the witnesses errs by 0.025539 on the disk."""
    found = Subject(matrix_question(), {}).piecewise(0)
    schedule = (0, 1, 0, 0, 0, 0, 1)
    worst = homogeneous(worst_points(found, L2, schedule)[0])
    error = error_at(found.student(schedule), found.target, L2, worst)[0]
    assert Fraction("0.025539387") < error < Fraction("0.025539388")


def test_without_a_region() -> None:
    question = pwa_question(
        [atom([[1, 0]])],
        reference([atom([[0, 0]])], [0]),
        dimension=1,
        region=None,
        witnesses=[[0, 0]],
        full=False,
    )
    with pytest.raises(InputError, match="no region of inputs"):
        worst_points(Subject(question, {}).piecewise(0), L2, [0])


def test_overflow_is_avoided_and_the_middle_stands_in() -> None:
    """Weights beyond floats: nothing can be climbed, yet what comes back are inputs."""
    huge = 10**400
    found = problem(2, UNIT_DISK, [[huge, 0]])
    points = worst_points(found, L2, [0])
    assert all(isinstance(found.region, Ball) and found.region.contains(homogeneous(p))
               for p in points)  # fmt: skip

"""Rational polygons inside and around a disk: exact, nested, and those of the paper's instance."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from piecewise_questions import INSTANCE

from qreplace.errors import InputError
from qreplace.produce.disk_polygons import (
    DiskPolygon,
    around,
    circle_point,
    direction_near,
    regular_directions,
)
from qreplace.question.maps import Point, rational_point
from qreplace.question.regions import Ball, polygon_region

UNIT = Ball((Fraction(0), Fraction(0)), Fraction(1))
NUMBERS = st.fractions(min_value=-3, max_value=3, max_denominator=40)
DISKS = st.builds(
    lambda x, y, r: Ball((x, y), r),
    NUMBERS,
    NUMBERS,
    st.fractions(min_value=Fraction(1, 50), max_value=5, max_denominator=50),
)
COUNTS = st.sampled_from([4, 6, 8, 10, 16])
ANGLES = st.lists(st.floats(-7, 7), max_size=6)


def polygon(disk: Ball, count: int, angles: list[float], denominator: int = 30) -> DiskPolygon:
    more = [direction_near(math.cos(a), math.sin(a), denominator) for a in angles]
    return around(disk, count, denominator).with_directions(more)


def gap(disk: Ball, point: Point) -> Fraction:
    """Squared distance from the center minus the squared radius."""
    exact = zip(rational_point(point), disk.center, strict=True)
    return sum(((x - c) ** 2 for x, c in exact), Fraction(0)) - disk.radius**2


def test_the_polygons_of_the_paper_instance() -> None:
    found = around(UNIT, 16)
    published = INSTANCE["results_n16_tan_half_angle_den_1e6"]
    for points, side in ((found.inscribed, "inner"), (found.tangent, "outer")):
        expected = [tuple(map(Fraction, corner)) for corner in published[side]["polygon"]]
        assert [rational_point(point) for point in points] == expected


@given(DISKS, COUNTS, ANGLES)
def test_inscribed_corners_lie_on_the_circle_and_tangents_touch_it(
    disk: Ball, count: int, angles: list[float]
) -> None:
    found = polygon(disk, count, angles)
    assert all(gap(disk, point) == 0 for point in found.inscribed)
    corners = found.tangent
    assert all(gap(disk, corner) > 0 for corner in corners)
    for a, b in zip(corners, (*corners[1:], corners[0]), strict=True):
        assert disk.avoids((a, b))
        slightly_larger = Ball(disk.center, disk.radius * Fraction(10**9 + 1, 10**9))
        assert not slightly_larger.avoids((a, b))


@given(DISKS, COUNTS, ANGLES)
def test_both_are_convex_and_one_holds_the_other(
    disk: Ball, count: int, angles: list[float]
) -> None:
    found = polygon(disk, count, angles)
    inner = polygon_region([rational_point(point) for point in found.inscribed])
    outer = polygon_region([rational_point(point) for point in found.tangent])
    assert all(outer.contains(corner) for corner in inner.corners or ())
    assert all(outer.contains(circle_point(disk, direction_near(math.cos(a), math.sin(a))))
               for a in angles)  # fmt: skip


@given(DISKS, COUNTS, ANGLES)
def test_further_directions_only_move_towards_the_disk(
    disk: Ball, count: int, angles: list[float]
) -> None:
    before = polygon(disk, count, [])
    after = polygon(disk, count, angles)
    assert set(before.directions) <= set(after.directions)
    outer = polygon_region([rational_point(point) for point in before.tangent])
    assert all(outer.contains(corner) for corner in after.tangent)
    assert set(before.inscribed) <= set(after.inscribed)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(1, 10**7))
def test_a_direction_is_a_unit_vector_near_what_was_asked(
    x: float, y: float, denominator: int
) -> None:
    if not math.hypot(x, y) > 1e-300:
        return
    u, v = direction_near(x, y, denominator)
    assert u * u + v * v == 1
    off = math.remainder(math.atan2(float(v), float(u)) - math.atan2(y, x), 2 * math.pi)
    assert abs(off) <= 2 / denominator + 1e-9
    assert max(u.denominator, v.denominator) <= 2 * denominator**2


@pytest.mark.parametrize(("x", "y"), [(1, 0), (0, 1), (-1, 0), (0, -1)])
def test_the_axes_are_met_exactly(x: int, y: int) -> None:
    assert direction_near(1e-3 * x, 1e-3 * y) == (x, y)
    assert (Fraction(x), Fraction(y)) in regular_directions(8)


@pytest.mark.parametrize(
    ("x", "y"), [(0.0, 0.0), (math.nan, 1.0), (1.0, math.inf)], ids=["zero", "nan", "infinite"]
)
def test_without_a_direction(x: float, y: float) -> None:
    with pytest.raises(InputError, match="finite vector other than 0"):
        direction_near(x, y)


@pytest.mark.parametrize("count", [2, 7, 0])
def test_counts_that_give_no_polygon(count: int) -> None:
    with pytest.raises(InputError, match="even and at least 4"):
        regular_directions(count)


def test_too_many_directions_for_the_denominators() -> None:
    with pytest.raises(InputError, match="larger denominators than 3"):
        regular_directions(64, 3)


def test_directions_that_do_not_go_around() -> None:
    right, up, left = regular_directions(4)[:3]
    with pytest.raises(InputError, match="less than pi apart"):
        DiskPolygon(UNIT, (right, up, left))
    with pytest.raises(InputError, match="counterclockwise"):
        DiskPolygon(UNIT, regular_directions(4)[::-1])
    with pytest.raises(InputError, match="two inputs"):
        DiskPolygon(Ball((Fraction(0),) * 3, Fraction(1)), regular_directions(4))

"""Input regions: corners, membership, and what is shown to miss their interior."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from operator import mul
from random import Random

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_maps import number

from qreplace.errors import InputError
from qreplace.question import corners
from qreplace.question.maps import Point, homogeneous, rational_point
from qreplace.question.regions import (
    Ball,
    Polytope,
    Region,
    box_region,
    mean,
    polygon_region,
    polytope_region,
)

Numbers = Sequence[Fraction | int | str]
UNIT = Ball((Fraction(0), Fraction(0)), Fraction(1))


def exact(values: Numbers) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


def polygon(*corners: Numbers) -> Polytope:
    return polygon_region([exact(corner) for corner in corners])


def polytope(*rows: Numbers) -> Polytope:
    """Rows ``(a_1 .. a_p, b)`` for ``a y <= b``."""
    return polytope_region([exact(row[:-1]) for row in rows], [Fraction(row[-1]) for row in rows])


def corner_set(region: Polytope) -> set[tuple[Fraction, ...]]:
    assert region.corners is not None
    return {rational_point(corner) for corner in region.corners}


def turns_left(corners: Sequence[Point]) -> bool:
    points = [rational_point(corner) for corner in corners]
    count = len(points)
    for i in range(count):
        (ax, ay), (bx, by), (cx, cy) = (points[(i + k) % count] for k in range(3))
        if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) <= 0:
            return False
    return True


# --- corners --------------------------------------------------------------------------------------


def test_corners_of_a_box() -> None:
    for p in (1, 2, 3, 4):
        region = box_region([Fraction(-1)] * p, [Fraction(i + 1, 2) for i in range(p)])
        expected = set(product(*[(Fraction(-1), Fraction(i + 1, 2)) for i in range(p)]))
        assert corner_set(region) == expected
        assert region.box == ((Fraction(-1),) * p, tuple(Fraction(i + 1, 2) for i in range(p)))
        assert region.contains(homogeneous(region.middle), strictly=True)
    square = box_region(exact([0, 0]), exact([1, 2]))
    assert square.corners is not None and turns_left(square.corners)


def test_a_box_of_many_inputs_has_no_list_of_corners() -> None:
    region = box_region([Fraction(0)] * 13, [Fraction(1)] * 13)
    assert region.corners is None and region.middle == (Fraction(1, 2),) * 13


def test_a_polygon_keeps_its_corners_in_order() -> None:
    corners = [exact(c) for c in ([0, 0], [2, 0], [3, 1], ["1/2", "7/3"])]
    region = polygon_region(corners)
    assert region.corners == tuple(map(homogeneous, corners))
    assert region.box == (exact([0, 0]), exact([3, "7/3"]))


def test_corners_of_polytopes() -> None:
    # A square on its tip, with a row that says nothing new and one said twice.
    rows = [(1, 1, 1), (1, -1, 1), (-1, 1, 1), (-1, -1, 1), (1, 0, 1), (2, 2, 2)]
    diamond = polytope(*rows)
    assert corner_set(diamond) == {exact(c) for c in ([1, 0], [0, 1], [-1, 0], [0, -1])}
    assert diamond.corners is not None and turns_left(diamond.corners)
    simplex = polytope((-1, 0, 0, 0), (0, -1, 0, 0), (0, 0, -1, 0), ("1/2", "1/3", 1, 1))
    assert corner_set(simplex) == {exact(c) for c in ([0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 1])}
    line = polytope(("1/2", 1), (-3, 1))
    assert corner_set(line) == {exact([2]), exact(["-1/3"])}
    # Four edges meet at the tip of a pyramid; its corner is found once.
    tip = [(1, 0, 1, 1), (-1, 0, 1, 1), (0, 1, 1, 1), (0, -1, 1, 1), (0, 0, -1, 0)]
    assert len(corner_set(polytope(*tip))) == 5
    assert len(polytope(*tip).corners or ()) == 5


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_corners_of_random_polygons(seed: int) -> None:
    """Half-planes around the origin: corners lie on two of them and within all, and go round."""
    rng = Random(seed)
    rows: list[Numbers] = [(1, 0, 3), (-1, 0, 3), (0, 1, 3), (0, -1, 3)]
    for _ in range(rng.randint(0, 5)):
        normal = [number(rng, 1), number(rng, 1)]
        if any(normal):
            rows.append((*normal, abs(number(rng, 1)) + Fraction(1, 3)))
    region = polytope(*rows)
    assert region.corners is not None and turns_left(region.corners)

    def gaps_at(x: Fraction, y: Fraction) -> list[Fraction]:
        return [e - a * x - b * y for a, b, e in map(exact, rows)]

    for corner in corner_set(region):
        gaps = gaps_at(*corner)
        assert min(gaps) == 0 and sum(gap == 0 for gap in gaps) >= 2
    # Pairs of rows give every candidate; none inside is missed.
    for i, one in enumerate(rows):
        for other in rows[:i]:
            (a, b, e), (c, d, f) = exact(one), exact(other)
            if a * d == b * c:
                continue
            place = (e * d - b * f) / (a * d - b * c), (a * f - e * c) / (a * d - b * c)
            assert (min(gaps_at(*place)) >= 0) == (place in corner_set(region))


# --- regions that are refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(1, 1)], "unbounded"),
        ([(1, 0, 1), (-1, 0, 1), (0, 1, 1)], "unbounded"),
        ([(1, 0, 1), (-1, 0, 1)], "unbounded"),
        ([(1, 1, 1), (-1, 1, 1), (0, 1, 5)], "unbounded"),
        ([(1, 1), (-1, -2)], "empty"),
        ([(1, 0, 0), (0, 1, 0), (-1, -1, -1)], "empty"),
        ([(1, 1), (-1, -1)], "flat"),
        ([(1, 0, 1), (-1, 0, 1), (0, 1, 2), (0, -1, -2)], "flat"),
        ([(1, 0, 0), (0, 1, 0), (-1, -1, 0)], "flat"),
        ([], "one offset a row"),
    ],
)
def test_polytopes_without_a_bounded_interior(rows: list[Numbers], words: str) -> None:
    with pytest.raises(InputError, match=words):
        polytope(*rows)


def test_a_polytope_needs_as_many_offsets_as_normals() -> None:
    with pytest.raises(InputError, match="one offset a row"):
        polytope_region([exact([1]), exact([-1])], [Fraction(1)])


@pytest.mark.parametrize("limit", ["MAX_RAYS", "MAX_PAIRS"])
def test_polytopes_of_too_many_corners(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corners, limit, 1)
    with pytest.raises(InputError, match="too many to enumerate; give a box or a ball"):
        polytope((1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1))


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_corners_are_those_of_all_square_systems(p: int) -> None:
    """Complete: every system of p half-spaces, on random polytopes with many degenerate corners."""
    rng = Random(p)
    for _ in range(30):
        rows: list[Numbers] = [
            (*(rng.randint(-2, 2) for _ in range(p)), rng.randint(1, 3)) for _ in range(p + 3)
        ]
        rows += [(*(s * int(i == j) for j in range(p)), 2) for i in range(p) for s in (1, -1)]
        rows = [row for row in rows if any(row[:-1])]
        expected = set()
        for chosen in combinations(rows, p):
            system = flint.fmpq_mat(p, p, [int(x) for row in chosen for x in row[:-1]])
            if system.det():
                solved = system.solve(flint.fmpq_mat(p, 1, [int(row[-1]) for row in chosen]))
                place = [Fraction(int(x.p), int(x.q)) for x in solved.entries()]
                if all(sum(map(mul, r[:-1], place)) <= r[-1] for r in rows):
                    expected.add(tuple(place))
        assert corner_set(polytope(*rows)) == expected


@pytest.mark.parametrize(
    ("lower", "upper"), [([0, 0], [1, 0]), ([0], [-1]), ([0, 0], [1]), ([0, 1], [1, 1])]
)
def test_boxes_without_interior(lower: Numbers, upper: Numbers) -> None:
    with pytest.raises(InputError, match="lower < upper"):
        box_region(exact(lower), exact(upper))


@pytest.mark.parametrize(
    "corners",
    [
        [[0, 0], [1, 0], [2, 0], [1, 1]],  # three on a line
        [[0, 0], [2, 0], [1, "1/2"], [2, 2]],  # a notch
        [[0, 0], [1, 0], [1, 1], [1, 1]],  # a corner twice
        [[0, 0], [2, 0], [0, 2], [2, 2]],  # a bow tie
        [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0], [4, 0], [4, 4], [0, 4]],  # twice round
    ],
)
def test_polygons_that_are_not_convex(corners: list[Numbers]) -> None:
    with pytest.raises(InputError, match="convex polygon"):
        polygon(*corners)


def test_a_polygon_of_two_corners() -> None:
    with pytest.raises(InputError, match="3 to 1024 corners, received 2"):
        polygon([0, 0], [1, 0])


# --- membership -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "inside", "strictly"),
    [
        (["3/5", "4/5"], True, False),
        (["3/5", "799/1000"], True, True),
        (["3/5", "801/1000"], False, False),
        ([-1, 0], True, False),
        ([0, 0], True, True),
    ],
)
def test_the_ball_holds_its_border_exactly(point: Numbers, inside: bool, strictly: bool) -> None:
    place = homogeneous(exact(point))
    assert UNIT.contains(place) is inside
    assert UNIT.contains(place, strictly=True) is strictly
    scaled = tuple(7 * x for x in place)  # homogeneous points need not be in lowest terms
    assert UNIT.contains(scaled) is inside


def test_a_ball_elsewhere() -> None:
    ball = Ball(exact(["1/2", 2, -1]), Fraction(3, 2))
    assert ball.box == (exact([-1, "1/2", "-5/2"]), exact([2, "7/2", "1/2"]))
    assert ball.contains(homogeneous(exact([2, 2, -1])))
    assert not ball.contains(homogeneous(exact([2, 2, "-9/10"])))
    assert ball.inputs == 3


def test_a_polytope_holds_its_border() -> None:
    square = box_region(exact([0, 0]), exact([1, 1]))
    assert square.contains(homogeneous(exact([1, "1/2"])))
    assert not square.contains(homogeneous(exact([1, "1/2"])), strictly=True)
    assert not square.contains(homogeneous(exact(["1000001/1000000", "1/2"])))
    assert mean([(0, 0, 1), (2, 4, 2)]) == exact(["1/2", 1])


# --- what misses the interior ---------------------------------------------------------------------

REGIONS: list[Region] = [
    UNIT,
    Ball(exact(["1/3", "-1/2"]), Fraction(3, 4)),
    box_region(exact([-1, "-1/2"]), exact(["1/2", 1])),
    polygon([-1, 0], [0, -1], [1, 0], ["1/2", 1]),
    Ball(exact(["1/4"]), Fraction(1, 2)),
    box_region(exact([-1]), exact(["1/2"])),
    box_region(exact([-1, -1, 0]), exact(["1/2", 1, 1])),
]


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.sampled_from(REGIONS))
def test_a_facet_that_avoids_a_region_has_no_point_inside(seed: int, region: Region) -> None:
    rng, p = Random(seed), region.inputs
    ends = [[number(rng, 1) for _ in range(p)] for _ in range(p)]
    if not region.avoids([homogeneous(end) for end in ends]):
        return
    for _ in range(12):
        weights = [Fraction(rng.randint(0, 5)) for _ in ends]
        weights[0] += 1
        total = sum(weights, Fraction(0))
        place = [
            sum((w * e[i] for w, e in zip(weights, ends, strict=True)), Fraction(0)) / total
            for i in range(p)
        ]
        assert not region.contains(homogeneous(place), strictly=True)


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.sampled_from(REGIONS))
def test_a_box_that_avoids_a_region_has_no_point_inside(seed: int, region: Region) -> None:
    rng, p = Random(seed), region.inputs
    lower = [number(rng, 1) for _ in range(p)]
    upper = [low + abs(number(rng, 1)) for low in lower]
    avoids = region.avoids_box(lower, upper)
    shares = [[Fraction(rng.randint(0, 6), 6) for _ in range(p)] for _ in range(12)]
    for share in [
        *shares,
        *([Fraction(c) for c in corner] for corner in product((0, 1), repeat=p)),
    ]:
        place = [a + s * (b - a) for a, b, s in zip(lower, upper, share, strict=True)]
        assert not (avoids and region.contains(homogeneous(place), strictly=True))


def facet(*ends: Numbers) -> list[Point]:
    return [homogeneous(exact(end)) for end in ends]


def test_tangents_avoid_the_disk_and_chords_do_not() -> None:
    assert UNIT.avoids(facet([1, -1], [1, 1]))
    # The tangent at (3/5, 4/5), and the chord that lies a little further in.
    assert UNIT.avoids(facet(["5/3", 0], [0, "5/4"]))
    assert not UNIT.avoids(facet(["5/3", 0], [0, "1249999/1000000"]))
    assert not UNIT.avoids(facet([1, 0], [0, 1]))
    # A facet without length is a point.
    assert not UNIT.avoids(facet([0, 0], [0, 0])) and UNIT.avoids(facet([1, 0], [1, 0]))
    line = Ball(exact([0]), Fraction(1))
    assert line.avoids(facet([1])) and line.avoids(facet([-2]))
    assert not line.avoids(facet(["99/100"]))
    space = Ball(exact([0, 0, 0]), Fraction(1))
    assert not space.avoids(facet([5, 0, 0], [5, 1, 0], [5, 0, 1]))  # never shown in space


def test_edges_of_a_polygon_avoid_it_and_diagonals_do_not() -> None:
    region = polygon([0, 0], [2, 0], [2, 1], [0, 1])
    assert region.avoids(facet([0, 0], [2, 0])) and region.avoids(facet([1, 0], ["3/2", -1]))
    assert not region.avoids(facet([0, 0], [2, 1])) and not region.avoids(facet([-1, 0], [1, 1]))


def test_boxes_beside_the_disk() -> None:
    assert UNIT.avoids_box(exact([1, -1]), exact([2, 1]))
    assert UNIT.avoids_box(exact(["3/5", "4/5"]), exact([1, 1]))
    assert not UNIT.avoids_box(exact(["3/5", "79/100"]), exact([1, 1]))
    assert not UNIT.avoids_box(exact([-2, -2]), exact([2, 2]))
    square = box_region(exact([0, 0]), exact([1, 1]))
    assert square.avoids_box(exact([1, 0]), exact([2, 1]))
    assert not square.avoids_box(exact(["99/100", 0]), exact([2, 1]))


def test_a_clockwise_polygon_is_told_so() -> None:
    with pytest.raises(InputError, match="these run clockwise") as caught:
        polygon([0, 0], [0, 1], [1, 0])
    assert caught.value.remedy == "Reverse their order."

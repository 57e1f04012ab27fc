"""Joint cells: plain against fast, both against every pattern of pieces clipped one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from brute_cells import Raw, brute_force, combined, joint_maps, turn
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L2
from piecewise_questions import (
    INSTANCE,
    atom,
    circle_point,
    instance_atoms,
    matrix_question,
    pwa_question,
    reference,
)

from qreplace.errors import InputError, ProducerFailed
from qreplace.produce.cells import (
    ExactVertices,
    Subdivision,
    comparable_norm,
    joint_kinks,
    largest_difference,
    subdivide,
)
from qreplace.produce.cells_fast import (
    FastSubdivision,
    float_differences,
    float_outputs,
    largest_difference_fast,
    subdivide_fast,
)
from qreplace.question.maps import (
    Point,
    PwaMap,
    crossing,
    difference,
    difference_unit,
    homogeneous,
    is_affine,
    rational_point,
)
from qreplace.question.model import BlockL2Norm, L1Norm, LinfNorm, WeightedL1Norm, WeightedLinfNorm
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import Subject

F = Fraction
SQUARE = tuple((x, y, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
NORMS = (
    L2,
    L1Norm("l1"),
    LinfNorm("linf"),
    BlockL2Norm("block_l2", 1),
    WeightedL1Norm("weighted_l1", (F(2), F(1, 3))),
    WeightedLinfNorm("weighted_linf", (F(2), F(1, 3))),
)


def cell_sets(subdivision: Subdivision) -> set[frozenset[tuple[Fraction, ...]]]:
    points = [rational_point(q) for q in subdivision.points()]
    found = [frozenset(points[v] for v in cell) for cell in subdivision.cells]
    assert len(set(found)) == len(found)
    assert all(len(c) == len(f) for c, f in zip(subdivision.cells, found, strict=True))
    return set(found)


def require_partition(subdivision: Subdivision, maps: Sequence[PwaMap]) -> None:
    """Cells turn left, their areas add up, their edges cancel but for the border; all affine."""
    points = [rational_point(q) for q in subdivision.points()]

    def area(cell: Sequence[int]) -> Fraction:
        around = zip(cell, (*cell[1:], cell[0]), strict=True)
        parts = (points[a][0] * points[b][1] - points[b][0] * points[a][1] for a, b in around)
        return sum(parts, F(0))

    assert sum(map(area, subdivision.cells)) == area(range(len(subdivision.corners)))
    edges: Counter[tuple[int, int]] = Counter()
    for cell in subdivision.cells:
        edges.update(zip(cell, (*cell[1:], cell[0]), strict=True))
        corners = [points[v] for v in cell]
        assert all(turn(corners[i - 2], corners[i - 1], corners[i]) > 0 for i in range(len(cell)))
    assert max(edges.values()) == 1
    border = {a: b for a, b in edges if (b, a) not in edges}
    count, walk = len(subdivision.corners), [0]
    while border[walk[-1]] != 0:
        walk.append(border[walk[-1]])
    assert len(walk) == len(border)
    assert [v for v in walk if v < count] == list(range(count))
    for found in maps:
        traces = [(found.trace(q), q) for q in subdivision.points()]
        pieces = [found.pieces(trace, q) for trace, q in traces]
        for cell in subdivision.cells:
            shared = pieces[cell[0]]
            for v in cell:
                shared &= pieces[v]
            assert is_affine(shared, found.sites)


def require_vertices(subdivision: Subdivision, maps: Sequence[PwaMap]) -> None:
    """Every crossing is where the claim's definition puts it, from the maps themselves."""
    points, kinks = subdivision.points(), joint_kinks(maps)
    for i, (a, b, number) in enumerate(subdivision.crossings):
        index, kink = kinks[number]
        at = [maps[index].kink_value(kink, maps[index].trace(points[v]), points[v]) for v in (a, b)]
        assert at[0] * at[1] < 0
        assert max(a, b) < len(subdivision.corners) + i
        found = crossing(points[a], at[0], points[b], at[1])
        assert found == points[len(subdivision.corners) + i]
    anew = ExactVertices(maps, subdivision.corners, subdivision.crossings)
    assert [anew.point(v) for v in reversed(range(len(points)))] == points[::-1]


def require_enclosed(subdivision: FastSubdivision, maps: Sequence[PwaMap]) -> None:
    """Float vertices, outputs and norms are within their bounds of the exact ones."""
    points = subdivision.points()
    for q, placed in zip(points, subdivision.place.tolist(), strict=True):
        for i in range(2):
            assert abs(F(placed[i]) - F(q[i], q[2])) <= F(placed[2 + i])
    for found in maps:
        values, errors = float_outputs(found, subdivision.place)
        for v, q in enumerate(points):
            for i, exact in enumerate(found.value(q)):
                assert abs(F(float(values[i, v])) - exact) <= F(float(errors[i, v]))
    for norm in NORMS if maps[0].outputs == 2 else NORMS[:4]:
        lower, upper = float_differences(subdivision, maps, 0, 1, norm)
        for v, q in enumerate(points):
            n = difference(maps[0], maps[1], maps[0].trace(q), maps[1].trace(q))
            below, above = norm_bounds(norm, n, difference_unit(maps[0], maps[1]) * q[2])
            assert F(float(lower[v])) <= above
            assert below <= F(float(upper[v]))


def require_all(
    atoms: Sequence[Raw],
    schedules: Sequence[Sequence[int]],
    z0: Sequence[Any],
    corners: Sequence[Point],
) -> FastSubdivision:
    """Plain, fast and brute force agree on cells, vertices and the largest differences."""
    maps = joint_maps(atoms, schedules, z0)
    plain, fast = subdivide(maps, corners), subdivide_fast(maps, corners)
    truth = brute_force(corners, atoms, schedules, z0)
    assert cell_sets(plain) == cell_sets(fast) == {frozenset(part) for part, _ in truth}
    for subdivision in (plain, fast):
        require_partition(subdivision, maps)
        require_vertices(subdivision, maps)
    assert isinstance(fast, FastSubdivision)
    require_enclosed(fast, maps)
    differences = []
    for part, outputs in truth:
        forms = [combined([(F(1), p), (F(-1), q)]) for p, q in zip(*outputs[:2], strict=True)]
        differences += [[f[0] * x + f[1] * y + f[2] for f in forms] for x, y in part]
    for norm in NORMS if len(z0) == 2 else NORMS[:4]:
        exact = max(F(*comparable_norm(norm, *over_one(row))) for row in differences)
        for found, where in (
            (largest_difference(plain, maps, norm=norm), plain),
            (largest_difference_fast(fast, maps, norm=norm), fast),
        ):
            assert found.value == exact
            assert found.point == where.points()[found.vertex]
            assert found.vertex in where.cells[found.cell]
            assert found.lower <= found.upper
            low, high = (found.lower**2, found.upper**2) if "l2" in norm.kind else found_ends(found)
            assert low <= exact <= high
    return fast


def found_ends(found: Any) -> tuple[Fraction, Fraction]:
    return found.lower, found.upper


def over_one(row: Sequence[Fraction]) -> tuple[list[int], int]:
    *numerators, common = homogeneous(row)
    return numerators, common


ENTRY = st.sampled_from([F(n, d) for n, d in ((0, 1), (1, 1), (-1, 1), (1, 2), (-2, 3), (3, 7))])
LEVEL = st.sampled_from([F(0), F(1, 5), F(1, 2)])


@st.composite
def systems(draw: Any) -> tuple[list[Raw], list[list[int]], list[Fraction]]:
    """Two atoms of widths 1 and 2 and two schedules."""
    d = draw(st.integers(1, 2))

    def rows(height: int, width: int) -> Any:
        line = st.lists(ENTRY, min_size=width, max_size=width)
        return st.lists(line, min_size=height, max_size=height)

    atoms = []
    for _ in range(2):
        n = draw(st.integers(1, 2))
        atoms.append(
            Raw(
                draw(st.sampled_from(["soft_threshold", "soft_threshold", "relu", "identity"])),
                draw(rows(n, 2)),
                draw(rows(n, d)),
                draw(st.lists(ENTRY, min_size=n, max_size=n)),
                draw(st.lists(LEVEL, min_size=n, max_size=n)),
                draw(rows(d, n)),
                draw(rows(d, d)),
                draw(st.lists(ENTRY, min_size=d, max_size=d)),
                draw(st.sampled_from([F(1), F(0), F(1, 2)])),
            )
        )
    schedules = [draw(st.lists(st.integers(0, 1), min_size=1, max_size=k)) for k in (3, 2)]
    return atoms, schedules, draw(st.lists(ENTRY, min_size=d, max_size=d))


POLYGONS = (
    SQUARE,
    ((0, 0, 1), (3, 1, 2), (-1, 2, 3)),
    tuple(homogeneous(circle_point(j, 8)) for j in range(8)),
    ((0, 0, 1), (1, 0, 2), (1, 0, 1), (0, 1, 1)),  # one corner on a straight side
)


@settings(max_examples=100)
@given(systems(), st.sampled_from(POLYGONS[:3]))
def test_cells_of_random_systems_are_those_of_the_brute_force(system: Any, corners: Any) -> None:
    atoms, schedules, initial = system
    require_all(atoms, schedules, initial, corners)


def soft(
    weights: Any, *, levels: Any = (0,), S: Any = None, b: Any = None, n: int = 2, **other: Any
) -> Raw:
    """A soft threshold of width n on n states, zero where nothing is given."""
    zeros = [[F(0)] * n for _ in range(n)]
    eye = [[F(i == j) for j in range(n)] for i in range(n)]
    return Raw(
        other.get("activation", "soft_threshold"),
        [[F(x) for x in row] for row in weights],
        zeros if S is None else [[F(x) for x in row] for row in S],
        [F(0)] * n if b is None else [F(x) for x in b],
        [F(x) for x in levels],
        eye,
        zeros,
        [F(0)] * n,
        F(1),
    )


EYE = [[1, 0], [0, 1]]
ZERO = [[0, 0], [0, 0]]
SKEW = [[0, -1], [1, 0]]


def test_a_threshold_of_zero_splits_once() -> None:
    found = require_all([soft(EYE)], [[0], [0, 0]], (0, 0), SQUARE)
    assert len(found.cells) == 4
    origin = next(v for v, q in enumerate(found.points()) if q[:2] == (0, 0))
    assert sum(origin in cell for cell in found.cells) == 4


def test_coincident_hyperplanes_cut_once() -> None:
    atoms = [soft(EYE, levels=[F(1, 3)], S=EYE), soft(SKEW, levels=[F(1, 3)])]
    one = require_all(atoms, [[0, 0], [0]], (0, 0), SQUARE)
    both = require_all(atoms, [[0, 0], [0], [0, 0]], (0, 0), SQUARE)
    turned = require_all(atoms, [[0, 0], [0], [1]], (0, 0), SQUARE)
    assert cell_sets(one) == cell_sets(both) == cell_sets(turned)
    assert largest_difference(both, joint_maps(atoms, [[0, 0], [0, 0]], (0, 0)), 0, 1).value == 0


def test_zero_matrices_and_constant_activations_cut_nothing() -> None:
    constant = soft(ZERO, levels=[F(1, 2)], b=[F(1, 2), F(-1, 2)])  # u is the level everywhere
    for raw in (soft(ZERO), constant, soft(ZERO, activation="relu"), soft(EYE, levels=[2])):
        found = require_all([raw], [[0], [0, 0]], (0, 0), SQUARE)
        assert found.cells == [(0, 1, 2, 3)]
    assert found.exact_tests == 0


def test_a_corner_of_the_polygon_on_a_kink() -> None:
    through_corners = soft([[1, -1], [1, 1]])
    assert len(require_all([through_corners], [[0], [0]], (0, 0), SQUARE).cells) == 4
    touching = soft(EYE, levels=[1])
    assert len(require_all([touching], [[0], [0, 0]], (0, 0), SQUARE).cells) == 1
    # The second kink passes exactly through the vertices that the first one made.
    through_made = [soft(EYE, levels=[F(1, 2)]), soft([[1, 1], [1, -1]], levels=[F(3, 2)])]
    assert len(require_all(through_made, [[0], [1]], (0, 0), SQUARE).cells) == 13


def test_corners_on_a_straight_side_are_kept() -> None:
    maps = joint_maps([soft(EYE, levels=[F(1, 2)])], [[0], [0, 0]], (0, 0))
    for made in (subdivide, subdivide_fast):
        found = made(maps, POLYGONS[3])
        assert len(found.cells) == 3
        assert 1 in {v for cell in found.cells for v in cell}


@pytest.mark.parametrize("power", [12, 15, 17, 20, 60])
def test_what_floats_cannot_tell_apart_is_told_apart(power: int) -> None:
    tiny = F(1, 10**power)
    atoms = [
        soft([[1, F(1, 3)], [F(1, 3), 1]], levels=[F(1, 3)], S=[[F(1, 7), 0], [0, F(1, 7)]]),
        soft([[1 + tiny, F(1, 3)], [F(1, 3), 1 - tiny]], levels=[F(1, 3) + tiny**2]),
    ]
    found = require_all(atoms, [[0, 0], [1]], (tiny, 0), SQUARE)
    # A few vertices lie exactly on several kinks whatever the digits.
    assert (found.exact_tests > 10) == (power > 12)


@pytest.mark.parametrize("order", [[[0], [1]], [[1], [0]], [[0], [2]], [[2], [0]], [[0], [0]]])
def test_lines_are_the_same_only_if_they_are_exactly(order: list[list[int]]) -> None:
    tiny, W, level = F(1, 10**20), [[1, F(1, 3)], [F(-1, 3), 1]], F(1, 3)
    atoms = [
        soft(W, levels=[level]),
        soft(W, levels=[level + tiny]),
        soft(W, levels=[level], S=EYE),
    ]
    found = require_all(atoms, order, (tiny, tiny), SQUARE)
    assert (len(found.cells) == 9) == (order[0] == order[1])


@pytest.mark.parametrize("scale", [F(10) ** -130, F(10) ** 130, F(10) ** 400, F(10) ** -400])
def test_data_beyond_the_range_of_floats_is_left_to_the_plain_one(scale: Fraction) -> None:
    raw = soft([[scale, 0], [0, 1]], levels=[scale / 2, F(1, 2)])
    maps = joint_maps([raw], [[0], [0, 0]], (0, 0))
    found = subdivide_fast(maps, SQUARE)
    assert not isinstance(found, FastSubdivision)
    assert largest_difference_fast(found, maps).value == largest_difference(found, maps).value
    assert len(found.cells) == 9
    far = tuple((x * 10**400, y, t) for x, y, t in SQUARE)
    assert not isinstance(
        subdivide_fast(joint_maps([soft(EYE)], [[0]], (0, 0)), far), FastSubdivision
    )


def test_weights_beyond_the_range_of_floats_leave_every_vertex_in_the_race() -> None:
    maps = joint_maps([soft(EYE, levels=[F(1, 2)])], [[0], [0, 0]], (0, 1))
    norm = WeightedLinfNorm("weighted_linf", (F(10) ** 400, F(1)))
    plain, fast = subdivide(maps, SQUARE), subdivide_fast(maps, SQUARE)
    expected = largest_difference(plain, maps, norm=norm).value
    assert expected > 0
    assert largest_difference_fast(fast, maps, norm=norm).value == expected


def test_small_values_of_the_right_size_stay_with_the_floats() -> None:
    small = F(10) ** -60
    raw = soft([[small, 0], [0, 1]], levels=[small / 3, F(1, 2)], S=[[0, small], [small, 0]])
    assert len(require_all([raw], [[0, 0], [0]], (small, 0), SQUARE).cells) == 21


# The matrix instance (QR 10.7, Appendix E).


@cache
def instance_maps() -> list[PwaMap]:
    problem = Subject(matrix_question(), {}).piecewise(0)
    assert problem.comparator is not None
    return [problem.target, problem.comparator, problem.student(INSTANCE["L8"])]


def switched(depth: int) -> PwaMap:
    """The reference's law at a depth: atom 1 where ``3/10 <= k / depth < 13/20``."""
    law = [int(F(3, 10) <= F(k, depth) < F(13, 20)) for k in range(depth)]
    high = instance_atoms("high")
    question = pwa_question(high, reference(high, law), dimension=2)
    return Subject(question, {}).piecewise(0).target


@pytest.mark.parametrize("side", ["inner", "outer"])
def test_the_matrix_instance(side: str) -> None:
    expected = INSTANCE["results_n16_tan_half_angle_den_1e6"][side]
    corners = [homogeneous([F(x) for x in row]) for row in expected["polygon"]]
    maps = instance_maps()
    plain, fast = subdivide(maps, corners), subdivide_fast(maps, corners)
    assert len(plain.cells) == len(fast.cells) == expected["cells"]
    assert cell_sets(plain) == cell_sets(fast)
    for index, name in ((1, "F4_F32_sq"), (2, "F8_F32_sq")):
        found = largest_difference_fast(fast, maps, index, 0)
        assert found.value == F(expected[name])
        assert largest_difference(plain, maps, index, 0).value == found.value
    # Lines that are known exactly leave little to the integers.
    assert isinstance(fast, FastSubdivision)
    assert fast.exact_tests < 100


def test_the_reference_grows_as_known() -> None:
    inner = INSTANCE["results_n16_tan_half_angle_den_1e6"]["inner"]["polygon"]
    corners = [homogeneous([F(x) for x in row]) for row in inner]
    for depth, cells in ((8, 104), (16, 356), (32, 1240), (64, 4408), (128, 16736)):
        maps = [switched(depth)]
        fast = subdivide_fast(maps, corners)
        assert len(fast.cells) == cells
        if depth <= 16:
            plain = subdivide(maps, corners)
            assert cell_sets(plain) == cell_sets(fast)
            require_partition(fast, maps)
            require_vertices(fast, maps)


def test_odd_maps_have_symmetric_cells_and_values() -> None:
    maps = [switched(8), instance_maps()[1]]
    corners = [homogeneous(circle_point(j, 16)) for j in range(16)]
    found = subdivide_fast(maps, corners)
    cells = cell_sets(found)
    assert {frozenset((-x, -y) for x, y in cell) for cell in cells} == cells
    for q in found.points():
        assert maps[0].value((-q[0], -q[1], q[2])) == tuple(-z for z in maps[0].value(q))


def test_samples_never_exceed_the_largest_difference() -> None:
    maps = instance_maps()
    corners = [homogeneous(circle_point(j, 16)) for j in range(16)]
    found = subdivide_fast(maps, corners)
    largest = largest_difference_fast(found, maps, 1, 0)
    # Everything near the worst vertex, and all over the polygon.
    source = random.Random(4)
    outline = [rational_point(q) for q in corners]
    vertices = found.points()
    for trial in range(300):
        near = largest.vertex if trial % 2 else source.randrange(found.vertices)
        center = rational_point(vertices[near])
        weights = [source.randrange(100) ** 4 for _ in corners]
        pull = F(1, 10 ** source.randrange(6)) / sum(weights)
        pulled = (
            sum(w * (q[i] - center[i]) for w, q in zip(weights, outline, strict=True))
            for i in range(2)
        )
        point = homogeneous([c + pull * p for c, p in zip(center, pulled, strict=True)])
        n = difference(maps[1], maps[0], maps[1].trace(point), maps[0].trace(point))
        unit = difference_unit(maps[0], maps[1])
        assert F(*comparable_norm(L2, n, unit * point[-1])) <= largest.value


# Refusals.


@pytest.mark.parametrize("made", [subdivide, subdivide_fast])
def test_bad_polygons_and_maps_are_refused(made: Any) -> None:
    maps = joint_maps([soft(EYE)], [[0]], (0, 0))
    star = [homogeneous(circle_point(j, 8)) for j in (0, 3, 6, 1, 4, 7, 2, 5)]
    for corners, words in (
        (SQUARE[:2], "received 2"),
        ([(0, 0, 0), *SQUARE[:3]], "at least 3"),
        (SQUARE[::-1], "counterclockwise"),
        ([(0, 0, 1), (1, 0, 1), (2, 0, 1)], "counterclockwise"),
        ([*SQUARE, SQUARE[3]], "distinct"),
        ([(0, 0, 1), (2, 0, 1), (1, 1, 2), (0, 2, 1)], "convex"),
        (star, "convex"),
    ):
        with pytest.raises(InputError, match=words):
            made(maps, corners)
    with pytest.raises(InputError, match="2 inputs"):
        made([], SQUARE)
    three = [[1, 0, 0]]
    question = pwa_question([atom(three)], reference([atom(three)], [0]), dimension=1, inputs=3)
    with pytest.raises(InputError, match="2 inputs"):
        made([Subject(question, {}).piecewise(0).target], SQUARE)
    with pytest.raises(ProducerFailed, match="more than 3 joint cells"):
        made(maps, SQUARE, most_cells=3)


def test_maps_of_different_widths_have_no_difference() -> None:
    narrow = joint_maps([soft([[1, 0]], n=1)], [[0]], (0,))
    wide = joint_maps([soft(EYE)], [[0]], (0, 0))
    for made, largest in (
        (subdivide, largest_difference),
        (subdivide_fast, largest_difference_fast),
    ):
        found = made([*narrow, *wide], SQUARE)
        with pytest.raises(InputError, match="1 and 2 outputs"):
            largest(found, found.exact.maps, 0, 1)

"""Covers by cells: exact ones are accepted, and no forged one hides a place of the region."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
import supremum_claims
from hypothesis import given, settings
from hypothesis import strategies as st
from piecewise_questions import INSTANCE, box, matrix_question
from random_maps import Values, exceeds, random_question, random_schedule
from random_suprema import Drawn, cover_of, drawn, error_at, vertices_of
from supremum_claims import subject

from qreplace.check.cell_cover import Vertices
from qreplace.check.piecewise_work import Work
from qreplace.check.pwa_supremum import check
from qreplace.claims.pwa_supremum import CellCover, PwaSupremumClaim, ScheduleMap
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.produce.cells import largest_difference, subdivide
from qreplace.produce.polytopes import subdivide_polytope
from qreplace.question.maps import homogeneous, rational_point
from qreplace.question.regions import Polytope
from qreplace.question.subject import Subject

TINIER = Fraction(1, 10**40)

# --- exact cells ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(0, 2))
def test_exact_cells_are_accepted_and_nothing_below_is(seed: int, which: int) -> None:
    made = drawn(seed, which, depth=3)
    (bound,) = check(made.subject, made.claim())
    assert (bound.value, bound.evidence) == (made.upper, Evidence.ANALYTIC_CERTIFIED)
    for y in made.inputs(8):
        assert not exceeds(made.question, made.schedule, y, made.upper)
        if made.upper > 0:
            check_lower(made, y)
    if made.upper > 0:
        with pytest.raises(Rejected, match="exceeds the upper end"):
            check(made.subject, made.claim(upper=made.upper * (1 - TINIER)))


def check_lower(made: Drawn, y: Values) -> None:
    """A lower end is accepted exactly where the error at the point is as large."""
    for value in (made.upper / 2, made.upper / 8):
        claim = made.claim(lower=value, point=y, upper=None, cover=None)
        above = exceeds(made.question, made.schedule, y, value)
        if above:
            assert check(made.subject, claim)[0].value == value
        elif not exceeds(made.question, made.schedule, y, value - TINIER):
            with pytest.raises(Rejected, match="below the lower end"):
                check(made.subject, claim)


def test_cells_of_random_polytopes() -> None:
    """One to three inputs: exact simplices are accepted, one less or a tighter end is not."""
    for seed in range(24):
        p, rng = 1 + seed % 3, Random(seed)
        question = random_question(rng, p, box([-1] * p, [1] * p), depth=2)
        about = Subject(question, {})
        problem = about.piecewise(0)
        schedule = random_schedule(rng, 2)
        maps = problem.student(schedule), problem.target
        region = problem.region
        assert isinstance(region, Polytope)
        if p == 2:
            assert region.corners is not None
            found = subdivide(maps, region.corners)
        else:
            found = subdivide_polytope(maps, region)
        made = Drawn(question, about, schedule, [], cover_of(found), Fraction(10**9), rng)
        made.upper = max(error_at(made, y)[1] for y in set(vertices_of(made, made.cover)))
        (bound,) = check(about, made.claim())
        assert bound.evidence is Evidence.ANALYTIC_CERTIFIED
        for y in made.inputs(6):
            assert not exceeds(question, schedule, y, made.upper)
        parts = made.cover.cells
        gone = seed % len(parts)
        short = dataclasses.replace(made.cover, cells=parts[:gone] + parts[gone + 1 :])
        with pytest.raises(Rejected):
            check(about, made.claim(cover=short))
        if made.upper:
            with pytest.raises(Rejected, match="exceeds the upper end"):
                check(about, made.claim(upper=made.upper * (1 - TINIER)))


def test_the_matrix_instance() -> None:
    """The student of depth 8 on the polygon of 16 tangents around the disk (QR Appendix E)."""
    question = matrix_question()
    about = Subject(question, {})
    problem = about.piecewise(0)
    maps = problem.student(INSTANCE["L8"]), problem.target
    polygon = INSTANCE["results_n16_tan_half_angle_den_1e6"]["outer"]["polygon"]
    found = subdivide(maps, [homogeneous([Fraction(x) for x in corner]) for corner in polygon])
    claim = PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1",
        about.problem_digest(0),
        0,
        ScheduleMap("schedule", tuple(INSTANCE["L8"])),
        None,
        None,
        largest_difference(found, maps, norm=question.norm).upper,
        cover_of(found),
    )
    (bound,) = check(about, claim)
    assert (bound.quantity, bound.depths.first) == ("ideal_error", 8)
    assert (bound.domain, bound.evidence) == ("full", Evidence.ANALYTIC_CERTIFIED)
    assert abs(bound.value - Fraction("0.0241613004629")) < Fraction(1, 10**12)


# --- forged covers --------------------------------------------------------------------------------


def changed_cover(rng: Random, cover: CellCover, changes: int) -> CellCover:
    """A cover after some random changes of its parts."""
    parts, cuts, corners = list(cover.cells), list(cover.crossings), list(cover.corners)
    for _ in range(changes):
        here = rng.randrange(len(parts)) if parts else 0
        how = rng.choice(["drop", "double", "copy", "turn", "vertex", "cut", "corner", "swap"])
        if how == "drop" and parts:
            del parts[here]
        elif how == "double" and parts:
            parts.append(parts[here])
        elif how == "copy" and parts:
            parts[here] = rng.choice(parts)
        elif how == "turn" and parts:
            turned = parts[here]
            k = rng.randrange(len(turned))
            parts[here] = turned[k:] + turned[:k] if rng.random() < 0.5 else turned[::-1]
        elif how == "vertex" and parts:
            vertex = rng.randrange(len(corners) + len(cuts))
            cell = list(parts[here])
            if rng.random() < 0.5:
                cell[rng.randrange(len(cell))] = vertex
            elif rng.random() < 0.5:
                cell.insert(rng.randrange(len(cell) + 1), vertex)
            else:
                del cell[rng.randrange(len(cell))]
            parts[here] = tuple(cell)
        elif how == "cut" and cuts:
            k = rng.randrange(len(cuts))
            place, value = rng.randrange(3), rng.randrange(8)
            cuts[k] = tuple(value if i == place else x for i, x in enumerate(cuts[k]))  # type: ignore[assignment]
        elif how == "corner":
            k = rng.randrange(len(corners))
            move = [Fraction(rng.randint(-3, 3), rng.choice([4, 64])) for _ in corners[k]]
            corners[k] = tuple(a + b for a, b in zip(corners[k], move, strict=True))
        elif how == "swap" and len(parts) > 1:
            other = rng.randrange(len(parts))
            parts[here], parts[other] = parts[other], parts[here]
    return CellCover("cells", tuple(corners), tuple(cuts), tuple(parts))


def holds(corners: Sequence[Values], y: Values) -> bool:
    """Whether one of the triangles of a fan holds a point, its border included; in fractions."""

    def turn(a: Values, b: Values, c: Values) -> Fraction:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    first = corners[0]
    return any(
        min(turn(first, a, y), turn(a, b, y), turn(b, first, y)) >= 0 and turn(first, a, b) > 0
        for a, b in pairwise(corners[1:])
    )


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(0, 2))
def test_whatever_cover_is_accepted_covers_the_region(seed: int, which: int) -> None:
    """With an upper end that no error reaches, only the covering is left to be refused."""
    made = drawn(seed, which)
    huge = Fraction(10**9)
    for _ in range(12):
        cover = changed_cover(made.rng, made.cover, made.rng.randint(1, 3))
        try:
            check(made.subject, made.claim(upper=huge, cover=cover))
        except Rejected:
            continue
        points = vertices_of(made, cover)
        for y in made.inputs(10):
            assert any(holds([points[v] for v in cell], y) for cell in cover.cells)


def test_changed_covers_are_refused_more_often_than_not() -> None:
    refused = kept = 0
    for seed in range(40):
        made = drawn(seed, seed % 3)
        cover = changed_cover(made.rng, made.cover, 2)
        try:
            check(made.subject, made.claim(upper=Fraction(10**9), cover=cover))
            kept += 1
        except Rejected:
            refused += 1
    assert refused > 20 and kept > 2


@settings(max_examples=30)
@given(st.integers(0, 10**9), st.integers(0, 2))
def test_no_cover_shows_less_than_an_error(seed: int, which: int) -> None:
    """An upper end below an error somewhere in the region, and covers that hide the place."""
    made = drawn(seed, which)
    errors = [error_at(made, y)[0] for y in made.inputs(8)]
    for error in sorted(filter(None, errors))[-2:]:
        low = error * (1 - TINIER)
        points = vertices_of(made, made.cover)
        high = [error_at(made, point)[1] > low for point in points]
        honest = [cell for cell in made.cover.cells if not any(high[v] for v in cell)]
        for parts in forged(made.rng, made.cover, honest):
            cover = dataclasses.replace(made.cover, cells=tuple(parts))
            for _ in range(4):
                with pytest.raises(Rejected):
                    check(made.subject, made.claim(upper=low, cover=cover))
                cover = changed_cover(made.rng, cover, 2)


def forged(
    rng: Random, cover: CellCover, honest: list[tuple[int, ...]]
) -> Iterator[list[tuple[int, ...]]]:
    """All cells; those below the bound; and those with copies in place of the others."""
    yield list(cover.cells)
    yield honest
    if honest:
        missing = len(cover.cells) - len(honest)
        yield honest + [rng.choice(honest) for _ in range(missing)]


# --- one and three inputs -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ON_THE_LINE", "TWO_STEPS", "SEGMENT", "CUBE"])
def test_whatever_simplices_are_accepted_cover_the_region(name: str) -> None:
    claim = getattr(supremum_claims, name)
    about = subject({"SEGMENT": "sup-segment", "CUBE": "sup-cube"}.get(name, "sup-line"))
    assert isinstance(claim.cover, CellCover)
    rng, kept, refused = Random(5), 0, 0
    problem = about.piecewise(0)
    maps = problem.student(claim.map.schedule), problem.target
    for _ in range(30):
        cover = changed_cover(rng, claim.cover, rng.randint(1, 2))
        changed = dataclasses.replace(claim, upper=Fraction(10**9), cover=cover)
        try:
            check(about, changed)
        except Rejected:
            refused += 1
            continue
        kept += 1
        vertices = Vertices(maps, about.question.norm, cover, Fraction(10**9), Work())
        points = [rational_point(point) for point in vertices.points]
        for _ in range(6):
            y = tuple(Fraction(rng.randint(-12, 12), 12) for _ in range(problem.inputs))
            assert any(in_simplex([points[v] for v in cell], y) for cell in cover.cells)
    assert kept and refused


def in_simplex(corners: Sequence[Values], y: Values) -> bool:
    """Whether a simplex of positive volume holds a point, by its barycentric coordinates."""
    rows = [[*corner, Fraction(1)] for corner in corners]
    whole = determinant(rows)
    place = [*y, Fraction(1)]
    parts = [determinant([*rows[:i], place, *rows[i + 1 :]]) for i in range(len(rows))]
    return bool(whole) and all(part / whole >= 0 for part in parts)


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By expansion along the first row."""
    if not rows:
        return Fraction(1)
    minors = [[row[:k] + row[k + 1 :] for row in rows[1:]] for k in range(len(rows))]
    terms = zip(rows[0], minors, strict=True)
    return sum(((-1) ** k * a * determinant(m) for k, (a, m) in enumerate(terms)), Fraction(0))

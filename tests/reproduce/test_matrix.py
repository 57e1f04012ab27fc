"""The matrix table, part by part: the whole takes longer than a test may."""

from __future__ import annotations

from fractions import Fraction

import pytest

from qreplace.claims.pwa_supremum import PwaSupremumClaim
from qreplace.question.subject import Subject
from qreplace.reproduce import matrix
from qreplace.reproduce.instances import shipped_claims, shipped_question
from qreplace.reproduce.table import Interval


def subject() -> Subject:
    return Subject(shipped_question(), {})


def test_both_cell_counts() -> None:
    disk = subject()
    rows = matrix._cell_rows(disk, matrix._polygon(disk))
    assert [(row.here, row.published, row.agrees) for row in rows] == [
        ("2432", "2432", True),
        ("2504", "2504", True),
    ]


def test_the_student_on_the_inner_polygon_is_the_published_number() -> None:
    corners = matrix._corners(matrix._polygon(subject()), "inner")
    found = matrix._on_polygon(shipped_question(), corners, matrix.MAPS["F8"])
    assert found.lower is not None and found.upper is not None
    assert found.upper - found.lower < Fraction(1, 10**20)
    assert found.near(matrix.PUBLISHED["F8", "inner"])
    assert abs(found.lower - Fraction("0.0234445499517")) < Fraction(1, 10**12)


def test_storage_is_counted_from_the_question() -> None:
    rows = matrix._storage(shipped_question())
    assert [row.here for row in rows] == ["80", "576", "292"]
    assert all(row.agrees for row in rows)


def supremum(lower: str, upper: str) -> Interval:
    return Interval(Fraction(lower), Fraction(upper))


@pytest.mark.parametrize(
    ("student", "comparator", "minima", "found"),
    [
        ("0.0242", "0.0244", [True] * 7, "8"),
        ("0.0244", "0.0244", [True] * 7, "not shown"),
        ("0.0242", "0.0244", [True] * 6 + [False], "not shown"),
        ("0.0242", "0.0244", [True] * 6, "not shown"),
    ],
)
def test_the_matching_depth_needs_both_halves_of_the_argument(
    student: str, comparator: str, minima: list[bool], found: str
) -> None:
    suprema: dict[tuple[str, matrix.Side], Interval] = {
        ("F8", "outer"): supremum("0", student),
        ("F4", "inner"): supremum(comparator, "1"),
    }
    row = matrix._matching_depth(suprema, minima)
    assert (row.here, row.agrees) == (found, found == "8")


def test_the_shipped_certificate_decides_on_the_disk_and_a_part_of_it_does_not() -> None:
    disk, claims = subject(), shipped_claims()
    rows, decision = matrix._shipped(disk, claims)
    assert decision.here == "8" and decision.agrees
    assert all(row.published is None for row in rows)
    assert next(row.interval.text() for row in rows if row.interval).startswith("0.02467028")
    suprema = [claim for claim in claims if isinstance(claim, PwaSupremumClaim)][:2]
    rest = [claim for claim in claims if getattr(claim, "depth", None) == 7]
    _, open_decision = matrix._shipped(disk, [*suprema, *rest])
    assert open_decision.here == "not shown" and open_decision.agrees is False

"""The structural split against complete enumeration at small depths."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from qreplace.question.maps import homogeneous
from qreplace.reproduce import reproduce
from qreplace.reproduce.instances import mass
from qreplace.reproduce.split import MU, NAMES, REACH, marker, question

GRID = [REACH * k / 24 for k in range(-24, 25)]
TINY = Fraction(1, 10**20)


def soft(u: Fraction, level: Fraction) -> Fraction:
    return (1 if u > 0 else -1) * max(abs(u) - level, Fraction(0))


def target(name: str, y: Fraction) -> Fraction:
    alpha = mass(MU)
    if name == "missed":
        return alpha * soft(y, Fraction(1, 2))
    return alpha * (soft(y, Fraction(0)) + soft(y, Fraction(1))) / 2


def endpoint(schedule: tuple[tuple[int, int], ...], y: Fraction) -> Fraction:
    """Euler steps of ``S_level(sign y) - x / 2``, straight from the text."""
    x, h = Fraction(0), Fraction(1, len(schedule))
    for sign, level in schedule:
        x += h * (soft(sign * y, Fraction(level)) - x / 2)
    return x


def least(name: str, depth: int) -> Fraction:
    """``E_D`` over all schedules, the error taken on a grid that holds every kink."""
    atoms = [(sign, level) for level in (0, 1) for sign in (1, -1)]
    return min(
        max(abs(endpoint(schedule, y) - target(name, y)) for y in GRID)
        for schedule in product(atoms, repeat=depth)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_marker_is_that_of_complete_enumeration(name: str, depth: int) -> None:
    found = marker(question(name), name, depth).interval
    assert found is not None and found.lower is not None and found.upper is not None
    assert found.lower <= least(name, depth) <= found.upper
    assert found.upper - found.lower < TINY


def test_the_table() -> None:
    found = reproduce("split", {"depth": 4})
    assert found.agrees and not found.given
    rows = {row.quantity: row for row in found.rows}
    floor = rows["floor, missed target"].interval
    assert floor is not None and floor.lower is not None
    assert abs(floor.lower - mass(MU) / 6) < TINY
    assert {row.agrees for name, row in rows.items() if name.startswith("floor")} == {True}
    for depth in range(1, 5):
        missed = rows[f"E_D, missed target, D = {depth}"]
        assert missed.agrees is None and missed.published is None
        assert "schedule_minimum" in missed.shown and missed.interval is not None
        assert missed.interval.lower is not None and missed.interval.lower > mass(MU) / 6
    assert sum(row.agrees is True for row in found.rows) == 6


@pytest.mark.parametrize("name", NAMES)
def test_students_and_targets_are_those_of_the_text(name: str) -> None:
    problem = question(name).piecewise(0)
    atoms = [(sign, level) for level in (0, 1) for sign in (1, -1)]
    for schedule in [(0, 1, 2, 3), (3, 3, 0, 2)]:
        student = problem.student(schedule)
        for y in GRID:
            wanted = endpoint(tuple(atoms[j] for j in schedule), y)
            assert student.value(homogeneous((y,))) == (wanted,)
            assert problem.target.value(homogeneous((y,))) == (target(name, y),)

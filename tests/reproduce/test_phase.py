"""The phase boundary: small depths against complete enumeration, and the whole table."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from qreplace.errors import InputError
from qreplace.reproduce import reproduce
from qreplace.reproduce.instances import mass
from qreplace.reproduce.mixed_schedule import mixed_schedule
from qreplace.reproduce.phase import (
    MIXTURES,
    SEARCH,
    SWEET_SPOTS,
    TREE,
    Cell,
    _cell_row,
    _ranges,
    _sweet_spot,
    cell,
)
from qreplace.reproduce.table import Interval
from qreplace.reproduce.threshold_family import REACH, THRESHOLD, Alphabet, tolerance

TINY = Fraction(1, 10**20)


def soft(y: Fraction, level: Fraction) -> Fraction:
    return max(y - level, Fraction(0))


@cache
def alphabet(levels: int) -> Alphabet:
    return Alphabet(str(levels), levels)


def grid(levels: int) -> list[Fraction]:
    """Inputs above 0, every kink among them; the maps are odd."""
    kinks = {Fraction(k, levels - 1) for k in range(levels)} | {THRESHOLD}
    return sorted(kinks | {REACH * k / 14 for k in range(15)})


def error(levels: int, schedule: tuple[int, ...]) -> Fraction:
    """The largest difference of Euler steps and target, straight from the text."""
    depth, worst = len(schedule), Fraction(0)
    for y in grid(levels):
        x = Fraction(0)
        for j in schedule:
            x += (soft(y, Fraction(j, levels - 1)) - x) / depth
        worst = max(worst, abs(x - mass(Fraction(1)) * soft(y, THRESHOLD)))
    return worst


@cache
def least(levels: int, depth: int) -> Fraction:
    return min(error(levels, schedule) for schedule in product(range(levels), repeat=depth))


SMALL = [(2, d) for d in range(1, 6)] + [(3, d) for d in range(1, 5)] + [(4, 2), (4, 3), (8, 2)]


@pytest.mark.parametrize(("levels", "depth"), SMALL)
def test_bounds_never_cross_the_least_error(levels: int, depth: int) -> None:
    found, truth = alphabet(levels), least(levels, depth)
    assert found.at_depth(depth) <= truth
    for first in range(1, depth + 1):
        assert found.from_depth_on(first) <= truth
    best = found.best(depth)
    assert best.least is not None and best.error.upper is not None
    assert best.least <= truth <= best.error.upper
    assert best.error.upper - best.least < TINY
    assert error(levels, best.schedule) == truth


@pytest.mark.parametrize(("levels", "depth"), [(3, 2), (3, 3), (4, 2)])
def test_a_tree_excludes_exactly_what_is_below_the_least_error(levels: int, depth: int) -> None:
    truth = least(levels, depth)
    assert alphabet(levels).excluded_by_claim(depth, truth - Fraction(1, 10**6))
    assert not alphabet(levels).excluded_by_claim(depth, truth)


def test_the_tolerance_is_that_of_the_comparator() -> None:
    for length in (1, 8):
        share = 1 - (1 - Fraction(1, length)) ** length
        wanted = (share - mass(Fraction(1))) * (REACH - THRESHOLD)
        found = tolerance(length)
        assert found.lower is not None and found.upper is not None
        assert found.lower <= wanted <= found.upper and found.upper - found.lower < TINY


@pytest.mark.parametrize(
    ("levels", "depth", "bits"),
    [(2, 5, 2 + 5), (3, 4, 6 + 7), (4, 3, 8 + 6), (8, 8, 24 + 24), (16, 20, 64 + 80)],
)
def test_storage(levels: int, depth: int, bits: int) -> None:
    assert alphabet(levels).storage(depth) == bits


def test_a_cell_is_decided_depth_by_depth() -> None:
    """The ternary alphabet against several tolerances, by complete enumeration."""
    for allowed in (Fraction(1, 20), Fraction(3, 100), Fraction(13, 500)):
        found = cell(alphabet(3), Interval(allowed, allowed), 4)
        truth = next((d for d in range(1, 5) if least(3, d) <= allowed), None)
        assert found.matched == truth and not found.open
        assert sorted(found.excluded) == list(range(1, (truth or 5)))
        assert set(found.excluded.values()) <= {MIXTURES, TREE, SEARCH}


def test_a_floor_above_the_tolerance_excludes_every_depth() -> None:
    found = cell(alphabet(2), Interval(Fraction(1, 10), Fraction(1, 10)), 3)
    assert found.beyond == 1 and found.first is None and found.text() == "no depth"
    assert all(least(2, depth) > Fraction(1, 10) for depth in range(1, 6))


def test_a_shallow_exception_is_found_where_the_floor_excludes_the_rest() -> None:
    """Depths that a floor does not reach are gone through, and a depth that matches is named."""
    found = Cell(alphabet(2), {1: TREE}, 3, 2, ())
    assert found.first == 2 and found.text() == "D = 2, 4 bits"
    assert found.shown() == "schedule_minimum (1), affine_dynamics (3 and beyond), pwa_supremum (2)"
    row = _cell_row("binary", 8, found)
    assert row.agrees is False


def test_undecided_depths_leave_brackets() -> None:
    open_cell = Cell(alphabet(16), {1: MIXTURES}, None, 4, (2, 3))
    assert open_cell.text() == "D = 2 to 4, 72 to 80 bits"
    assert open_cell.depths == Interval(Fraction(2), Fraction(4))
    unmatched = Cell(alphabet(16), {1: MIXTURES, 2: TREE}, None, None, ())
    assert unmatched.text() == "D at least 3, 76 bits or more"
    assert _cell_row("2-bit", 8, unmatched).agrees is None
    with pytest.raises(InputError, match="both of its ends"):
        cell(alphabet(3), Interval(Fraction(0), None), 2)


def test_least_storage_is_compared_only_where_it_is_clear() -> None:
    ternary = Cell(alphabet(3), {}, None, 4, ())
    excluded = Cell(alphabet(2), {}, 1, None, ())
    dear = Cell(alphabet(16), {}, None, None, ())
    cheap = Cell(alphabet(2), {1: TREE}, None, None, ())
    ternary.alphabet.name = "ternary"
    assert SWEET_SPOTS[8] == "ternary"
    assert _sweet_spot(8, [ternary, excluded, dear]).agrees is True
    assert _sweet_spot(16, [ternary, excluded, dear]).agrees is False
    assert _sweet_spot(8, [ternary, cheap]).agrees is None
    assert _sweet_spot(8, [excluded, excluded]).agrees is False
    assert _sweet_spot(8, [excluded, dear]).agrees is None


def test_ranges() -> None:
    assert _ranges([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"


@pytest.mark.parametrize(("levels", "depth"), [(3, 3), (4, 3), (8, 2)])
def test_mixed_schedules_are_the_best_ones(levels: int, depth: int) -> None:
    found = alphabet(levels)
    schedule = mixed_schedule(
        [[soft(y, level) for level in found.levels] for y in found.kinks],
        [mass(Fraction(1)) * soft(y, THRESHOLD) for y in found.kinks],
        [(1 - Fraction(1, depth)) ** (depth - 1 - k) / depth for k in range(depth)],
    )
    assert error(levels, schedule) - least(levels, depth) < Fraction(1, 10**6)


def float_floor(levels: int, threshold: float, reach: float) -> float:
    """The floor over alpha, as a linear programme in floats."""
    level = np.arange(levels) / (levels - 1)
    inputs = np.array(sorted({*(y for y in level if 0 < y <= reach), threshold, reach}))
    atoms = np.maximum(inputs[:, None] - level[None, :], 0.0)
    aim = np.maximum(inputs - threshold, 0.0)
    one = np.ones((len(inputs), 1))
    found = linprog(
        np.append(np.zeros(levels), 1.0),
        A_ub=np.vstack([np.hstack([atoms, -one]), np.hstack([-atoms, -one])]),
        b_ub=np.concatenate([aim, -aim]),
        A_eq=np.append(np.ones(levels), 0.0)[None, :],
        b_eq=[1.0],
    )
    return float(found.fun)


def has_the_published_floors(threshold: float, reach: float) -> bool:
    """Whether the floors and the tolerances fall as in the paper's figure."""
    alpha = 1 - math.exp(-1)

    def allowed(length: int) -> float:
        return (1 - (1 - 1 / length) ** length - alpha) * (reach - threshold) / alpha

    def floor(levels: int) -> float:
        return float_floor(levels, threshold, reach)

    return (
        allowed(16) < floor(3) < allowed(8)
        and floor(4) > allowed(8)
        and floor(2) > allowed(8)
        and allowed(32) < floor(8) < allowed(16)
        and floor(16) < allowed(64)
    )


def test_three_of_490_instances_have_the_published_floors() -> None:
    """What the note of the table says about the choice of the instance."""
    tried = [(k / 100, reach) for k in range(2, 100) for reach in (1.0, 1.25, 1.5, 1.75, 2.0)]
    chosen = [one for one in tried if has_the_published_floors(*one)]
    assert len(tried) == 490 and len(chosen) == 3
    assert (float(THRESHOLD), float(REACH)) in chosen


def test_the_table_shows_the_published_pattern_on_our_instance() -> None:
    found = reproduce("phase")
    assert found.agrees and not found.given
    rows = {row.quantity: row for row in found.rows}
    matched = {
        ("ternary", 8): "D = 4, 13 bits",
        ("3-bit", 8): "D = 3, 33 bits",
        ("3-bit", 16): "D = 8, 48 bits",
        ("4-bit", 8): "D = 4, 80 bits",
        ("4-bit", 16): "D = 6, 88 bits",
        ("4-bit", 32): "D = 11, 108 bits",
        ("4-bit", 64): "D = 20, 144 bits",
    }
    for name in ("binary", "ternary", "2-bit", "3-bit", "4-bit"):
        for length in (8, 16, 32, 64):
            assert rows[f"{name}, L = {length}"].here == matched.get((name, length), "no depth")
    for length, name in SWEET_SPOTS.items():
        assert rows[f"least storage, L = {length}"].here.startswith(name)
    assert "exhaustive (7)" in rows["3-bit, L = 16"].shown

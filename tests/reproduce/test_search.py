"""What local search misses, on small depths where everything can be enumerated here."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from qreplace.question.maps import homogeneous
from qreplace.reproduce import reproduce
from qreplace.reproduce.search import signed_pair
from qreplace.reproduce.table import DIAGNOSTIC


def value(schedule: tuple[int, ...], y: Fraction) -> Fraction:
    problem = signed_pair().piecewise(0)
    return problem.student(schedule).value(homogeneous((y,)))[0]


def test_endpoints_are_multiples_of_one_soft_threshold() -> None:
    """So the error is largest at y = 1, the only witness."""
    problem = signed_pair().piecewise(0)
    maps = [problem.target, *(problem.student(s) for s in product((0, 1), repeat=4))]
    for found in maps:
        gain = found.value(homogeneous((Fraction(1),)))[0] / Fraction(3, 4)
        for k in range(-8, 9):
            y = Fraction(k, 8)
            wanted = gain * (1 if y > 0 else -1) * max(abs(y) - Fraction(1, 4), Fraction(0))
            assert found.value(homogeneous((y,))) == (wanted,)


def test_the_table_at_a_small_depth() -> None:
    found = reproduce("search", {"depth": 6, "restarts": 8, "seed": 3})
    assert found.agrees and found.document()["compared"] == 0
    rows = {row.quantity: row for row in found.rows}
    problem = signed_pair().piecewise(0)
    target = problem.target.value(homogeneous((Fraction(1),)))[0]
    least = min(abs(value(s, Fraction(1)) - target) for s in product((0, 1), repeat=6))
    optimum = rows["signed pair: optimum of all schedules"].interval
    assert optimum is not None and optimum.lower is not None and optimum.upper is not None
    assert optimum.lower <= least <= optimum.upper
    for name in ("signed pair", "matrix atoms"):
        best, median = rows[f"{name}: best / optimum"], rows[f"{name}: median / optimum"]
        assert best.shown == median.shown == DIAGNOSTIC
        assert 1 - 1e-9 <= float(best.here) <= float(median.here)
        assert best.published == "about 120" and median.published == "about 419"
        assert best.agrees is None and median.agrees is None


def test_the_seed_decides_where_local_search_ends() -> None:
    first, again, other = (
        [row.here for row in reproduce("search", {"depth": 9, "restarts": 4, "seed": s}).rows]
        for s in (0, 0, 1)
    )
    assert first == again
    assert first != other

"""Certified events of a route: the true ones are inside, and what is no simple event is refused."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest

from qreplace.errors import InputError
from qreplace.exact.polynomial import Polynomial, constant, variable
from qreplace.radii.route_events import (
    NO_THIRD,
    CertifiedRoute,
    Field,
    RoutedPath,
    Support,
    certified_events,
    certified_route,
)

F = Fraction


def poly(text: list[Any], dimension: int) -> Polynomial:
    """``constant, t, z_1 .. z_n`` coefficients."""
    arity = dimension + 1
    found = constant(F(text[0]), arity)
    for index, value in enumerate(text[1:]):
        found = found + variable(index, arity).scaled(F(value))
    return found


def path(
    fields: list[list[list[Any]]], scores: list[list[Any]], initial: list[Any], top_k: int = 1
) -> RoutedPath:
    """One expert's field a row; a support runs the mean of its experts."""
    q = len(initial)
    made = [tuple(poly(row, q) for row in field) for field in fields]

    def mean(support: Support) -> Field:
        share = F(1, len(support))
        return tuple(
            sum((made[e][i].scaled(share) for e in sorted(support)), poly([0], q)) for i in range(q)
        )

    return RoutedPath(
        tuple(poly(score, q) for score in scores), top_k, mean, tuple(map(F, initial)), F(1)
    )


DRIFTING = path([[[1, 0, -1]], [[2, 0, -1]]], [[0, 0, 0], ["-1/2", 0, 1]], [0])
"""z' = 1 - z, then 2 - z from z = 1/2 on, at t = log 2."""


@pytest.mark.parametrize("cells", [40, 128])
def test_a_known_event_is_enclosed(cells: int) -> None:
    (swap,) = certified_route(DRIFTING, cells).swaps
    assert (swap.leaving, swap.entering) == (0, 1)
    assert swap.low <= F(math.log(2)) <= swap.high
    assert swap.high - swap.low <= F(4, cells)
    # The gap grows with 1/2 before and 3/2 after the event.
    assert F(1, 8) < swap.slope <= F(1, 4)
    assert swap.isolation == NO_THIRD
    # The path stays inside the cells: z = 1 - e^-t before.
    for cell in certified_route(DRIFTING, cells).cells:
        if cell.high < swap.low:
            assert cell.box[0][0] <= F(1 - math.exp(-float(cell.low))) <= cell.box[0][1]


def test_numbers_of_the_implemented_router_and_the_library() -> None:
    found = certified_route(DRIFTING, 64)
    implemented = (poly([0, 0, 0], 1), poly(["-501/1000", 0, "11/10"], 1))
    numbers = certified_events(
        DRIFTING, found, implemented, lambda m: [DRIFTING.fields(m)], F(1, 10)
    )
    (event,) = numbers.events
    assert event.jump == 1
    assert event.gap_lipschitz == numbers.score_lipschitz == F(11, 10)
    # |-1/1000 + z / 10| along the path, z up to 0.9.
    assert F(1, 20) < event.gap_error <= numbers.score_error < F(1, 10)


@pytest.mark.parametrize(("own", "words"), [
    # A path that turns where its gap vanishes: z' = 1 - 2t, gap z - 1/4.
    (path([[[1, -2, 0]], [[1, -2, 0]]], [[0, 0, 0], ["-1/4", 0, 1]], [0]), "graze or slide"),
    # Both fields push back to the boundary: a sliding route.
    (path([[[1, 0, 0]], [[-1, 0, 0]]], [[0, 0, 0], ["-1/2", 0, 1]], [0]), "graze or slide"),
    (path([[[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]]],
          [[0, 0, 0], ["-1/2", 0, 1], ["-1", 0, 2]], [0]), "two pairs"),
    (path([[[1, 0, 0]], [[1, 0, 0]]], [[0, 0, 0], [0, 0, 1]], [0]), "meet at the start"),
    (path([[[1, 0, 0]], [[1, 0, 0]]], [[0, 0, 0], [-1, 0, 1]], [0]), "not over at the end"),
])  # fmt: skip
def test_what_is_no_simple_event_is_named(own: RoutedPath, words: str) -> None:
    with pytest.raises(InputError, match=words):
        certified_route(own, 64)


def test_a_route_that_never_changes_has_a_margin() -> None:
    own = path([[[1, 0, -1]], [[2, 0, -1]]], [[0, 0, 0], [-2, 0, 1]], [0])
    found = certified_route(own, 32)
    assert found.swaps == ()
    # The gap is 2 - z, z up to 1 - 1/e.
    assert F(13, 10) < 2 * found.outer_isolation <= F(2 - (1 - math.exp(-1)))


def _random_path(seed: int) -> tuple[RoutedPath, list[Any], list[Any], int]:
    rng = random.Random(seed)
    q, experts = rng.randint(1, 2), rng.randint(2, 4)
    top_k = rng.randint(1, experts - 1)

    def number(size: int) -> Fraction:
        return F(rng.randint(-8 * size, 8 * size), 8)

    fields = [[[number(1), number(1), *(number(1) for _ in range(q))] for _ in range(q)]
              for _ in range(experts)]  # fmt: skip
    scores = [[number(1), number(2), *(number(1) for _ in range(q))] for _ in range(experts)]
    initial = [number(1) for _ in range(q)]
    return path(fields, scores, initial, top_k), fields, scores, top_k


def _simulated(fields: Any, scores: Any, initial: Any, top_k: int, steps: int) -> list[Any]:
    """Heun steps in binary64: (time, state, support) at every step."""
    rows = [[[float(x) for x in row] for row in field] for field in fields]
    marks = [[float(x) for x in row] for row in scores]
    z, h, out = [float(x) for x in initial], 1 / steps, []

    def support(t: float, z: list[float]) -> frozenset[int]:
        values = [m[0] + m[1] * t + sum(a * x for a, x in zip(m[2:], z, strict=True))
                  for m in marks]  # fmt: skip
        return frozenset(sorted(range(len(marks)), key=lambda e: (-values[e], e))[:top_k])

    def rate(t: float, z: list[float], m: frozenset[int]) -> list[float]:
        return [
            sum(rows[e][i][0] + rows[e][i][1] * t
                + sum(a * x for a, x in zip(rows[e][i][2:], z, strict=True)) for e in m) / len(m)
            for i in range(len(z))
        ]  # fmt: skip

    for k in range(steps + 1):
        t = k * h
        m = support(t, z)
        out.append((t, list(z), m))
        one = rate(t, z, m)
        guess = [x + h * v for x, v in zip(z, one, strict=True)]
        two = rate(t + h, guess, m)
        z = [x + h * (a + b) / 2 for x, a, b in zip(z, one, two, strict=True)]
    return out


def test_random_routes_change_where_the_certificate_says_and_nowhere_else() -> None:
    certified = events = 0
    for seed in range(60):
        own, fields, scores, top_k = _random_path(seed)
        try:
            found: CertifiedRoute = certified_route(own, 48)
        except InputError:
            continue
        certified += 1
        runs = _simulated(fields, scores, own.initial, top_k, 2000)
        supports = [m for _, _, m in runs]
        changed = [k for k in range(1, len(runs)) if supports[k] != supports[k - 1]]
        assert len(changed) == len(found.swaps), seed
        for k, swap in zip(changed, found.swaps, strict=True):
            assert float(swap.low) - 1e-3 <= runs[k][0] <= float(swap.high) + 1e-3, seed
            assert (supports[k - 1], supports[k]) == (swap.before, swap.after)
            _check_neighbourhood(runs, scores, swap, runs[k][0], seed)
            events += 1
        for t, z, _ in runs:
            cell = found.cells[min(int(t * 48), 47)]
            for x, (low, high) in zip(z, cell.box, strict=True):
                assert float(low) - 1e-3 <= x <= float(high) + 1e-3, seed
    assert certified >= 30 and events >= 20, (certified, events)


def _check_neighbourhood(runs: Any, scores: Any, swap: Any, event: float, seed: int) -> None:
    """Slope and isolation hold within the neighbourhood of the simulated event."""
    marks = [[float(x) for x in row] for row in scores]
    for t, z, _ in runs:
        if abs(t - event) > float(swap.neighbourhood) - 2e-3:
            continue
        values = [m[0] + m[1] * t + sum(a * x for a, x in zip(m[2:], z, strict=True))
                  for m in marks]  # fmt: skip
        gap = values[swap.entering] - values[swap.leaving]
        side = 1 if t >= event else -1
        assert side * gap >= float(swap.slope) * abs(t - event) - 2e-2 * float(swap.slope) - 1e-3, (
            seed
        )
        pair, common = (swap.leaving, swap.entering), swap.before & swap.after
        others = [e for e in range(len(marks)) if e not in common and e not in pair]
        top = max(values[pair[0]], values[pair[1]])
        low = min(values[pair[0]], values[pair[1]])
        gaps = [values[i] - low for i in common] + [top - values[e] for e in others]
        gaps += [values[i] - values[e] for i in common for e in others]
        assert all(own >= 2 * float(swap.isolation) - 1e-2 for own in gaps), seed

"""Depth grids of any size: the first depth, or every depth, at which routes prove something.

Ranges are halved until one answer holds throughout, so a grid of a million depths costs a few
hundred enclosures. Radii are not monotone in depth in general; nothing here assumes that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from qreplace.decision.evaluate import Answer
from qreplace.decision.routes import Route
from qreplace.question.model import DepthRange

Condition = Callable[[Route, int, int | None], Answer]
MAX_NODES = 2_000_000
"""A budget in range evaluations; design rule 7 counts nodes, not seconds."""


class Budget:
    """Counts range evaluations; ``spent`` is true once the budget is used up."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.left = nodes

    @property
    def spent(self) -> bool:
        """Whether a search was cut short."""
        return self.left <= 0

    def take(self) -> bool:
        """Use one evaluation; false when none is left."""
        self.left -= 1
        return self.left >= 0


def size(depths: DepthRange) -> int:
    """How many depths a range holds."""
    return (depths.last - depths.first) // depths.step + 1


def count(grid: Sequence[DepthRange]) -> int:
    """How many depths the grid holds."""
    return sum(map(size, grid))


def every_depth(grid: Sequence[DepthRange]) -> Iterator[int]:
    """The depths of the grid, ascending."""
    for depths in grid:
        yield from range(depths.first, depths.last + 1, depths.step)


def first_depth(
    routes: Sequence[Route], condition: Condition, grid: Sequence[DepthRange], budget: Budget
) -> int | None:
    """The smallest depth of the grid at which some route meets the condition."""
    for depths in grid:
        found = _first(list(routes), condition, depths, budget)
        if found is not None:
            return found
    return None


def proofs_everywhere(
    routes: Sequence[Route], condition: Condition, grid: Sequence[DepthRange], budget: Budget
) -> list[Route] | None:
    """Routes that together meet the condition at every depth of the grid; ``None`` if none do.

    Earlier routes are preferred, so the caller puts the better evidenced ones first.
    """
    used: list[Route] = []
    for depths in grid:
        found = _all(list(routes), condition, depths, budget)
        if found is None:
            return None
        used.extend(route for route in found if not any(route is other for other in used))
    return used


def _survey(
    routes: list[Route], condition: Condition, first: int, last: int
) -> tuple[Route | None, list[Route]]:
    """A route that answers ALL, if any, and the routes whose answer is open."""
    open_routes = []
    for route in routes:
        answer = condition(route, first, last)
        if answer is Answer.ALL:
            return route, []
        if answer is Answer.MIXED:
            open_routes.append(route)
    return None, open_routes


def _first(
    routes: list[Route], condition: Condition, depths: DepthRange, budget: Budget
) -> int | None:
    # An explicit stack, later halves first, so that the smallest depth is found first.
    stack = [(0, size(depths) - 1, routes)]
    while stack:
        low, high, routes = stack.pop()
        if not budget.take():
            return None
        first, last = depths.first + low * depths.step, depths.first + high * depths.step
        proved, open_routes = _survey(routes, condition, first, last)
        if proved is not None:
            return first
        if open_routes and low < high:
            middle = (low + high) // 2
            stack.append((middle + 1, high, open_routes))
            stack.append((low, middle, open_routes))
    return None


def _all(
    routes: list[Route], condition: Condition, depths: DepthRange, budget: Budget
) -> list[Route] | None:
    used: list[Route] = []
    stack = [(0, size(depths) - 1, routes)]
    while stack:
        low, high, routes = stack.pop()
        if not budget.take():
            return None
        first, last = depths.first + low * depths.step, depths.first + high * depths.step
        proved, open_routes = _survey(routes, condition, first, last)
        if proved is not None:
            if not any(proved is route for route in used):
                used.append(proved)
            continue
        if not open_routes or low == high:
            return None
        middle = (low + high) // 2
        stack.append((middle + 1, high, open_routes))
        stack.append((low, middle, open_routes))
    return used


def from_depth_on(routes: Sequence[Route], condition: Condition) -> tuple[int, Route] | None:
    """The smallest ``D_0`` found with one route proving the condition at every ``D >= D_0``.

    Powers of two up to ``2**60`` are tried, then the answer is refined by bisection.
    """
    best: tuple[int, Route] | None = None
    for route in routes:
        found = _start(route, condition)
        if found is not None and (best is None or found < best[0]):
            best = found, route
    return best


def _start(route: Route, condition: Condition) -> int | None:
    for exponent in range(61):
        if condition(route, 1 << exponent, None) is Answer.ALL:
            low, high = (1 << exponent) // 2, 1 << exponent
            while low + 1 < high:
                middle = (low + high) // 2
                if condition(route, middle, None) is Answer.ALL:
                    high = middle
                else:
                    low = middle
            return high
    return None


def thinned(grid: Sequence[DepthRange], wanted: Sequence[int], limit: int) -> list[int]:
    """At most ``limit`` depths: all if they fit, else ``wanted`` ones and an even spread in log."""
    total = count(grid)
    if total <= limit:
        return list(every_depth(grid))
    chosen = set(list(dict.fromkeys(wanted))[: limit // 2])
    places = limit - len(chosen)
    position = 0
    ranks = sorted({min(total - 1, _spread(k, places, total)) for k in range(places)})
    targets = iter(ranks)
    target = next(targets, None)
    for depths in grid:
        here = size(depths)
        while target is not None and target < position + here:
            chosen.add(depths.first + (target - position) * depths.step)
            target = next(targets, None)
        position += here
    return sorted(chosen)[:limit]


def _spread(k: int, places: int, total: int) -> int:
    """Ranks 0, 1, 2, ... at first, then growing geometrically to ``total - 1``."""
    if k == places - 1:
        return total - 1
    # total ** (k / places) by integer arithmetic: floor of the root of total**k.
    exponent = total.bit_length() * k // max(places - 1, 1)
    remainder = total.bit_length() * k % max(places - 1, 1)
    base = 1 << exponent
    return base + base * remainder // max(places - 1, 1) - 1

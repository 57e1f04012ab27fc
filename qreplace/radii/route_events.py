"""Events of a target's route, certified along its path (theory T6.1, T6.2).

The target's path solves ``z' = F^m(t, z)`` with the support ``m`` of the ``top_k`` experts of the
largest scores; fields and scores are polynomials. A pass over small cells of time keeps an
enclosure of the path. In a cell where every boundary gap is positive the support is sure, and the
path is advanced by a validated Taylor step. Where one pair of experts is not sure, the path is
advanced with both fields at once, and the gap of the pair has to grow under both: then there is
exactly one event, it is transversal, and its time is that of these cells. Anything else is
reported: two pairs at once, a gap that does not grow, a path without enclosure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from qreplace.errors import InputError
from qreplace.exact.intervals import Box, Interval, add, magnitude, range_on, scale
from qreplace.exact.polynomial import Polynomial, lie_derivative
from qreplace.exact.rational import decimal_text, round_down, round_up
from qreplace.exact.taylor import EnclosedState, SeriesField, enclosed
from qreplace.radii.small_gain import EventNumbers

Support = frozenset[int]
Field = tuple[Polynomial, ...]
"""One polynomial in ``t, z_1 .. z_n`` a coordinate."""

BITS = 96
ORDER = 8
MAX_CELLS = 16_384
PICARD_TRIES = 12
NO_THIRD = Fraction(1 << 30)
"""An isolation radius where there is no expert to keep away."""


@dataclass(frozen=True)
class RoutedPath:
    """A target's path: who is asked, and what runs.

    ``fields`` gives the target's field of a support; ``scores`` has one polynomial an expert.
    """

    scores: tuple[Polynomial, ...]
    top_k: int
    fields: Callable[[Support], Field]
    initial: tuple[Fraction, ...]
    horizon: Fraction


@dataclass(frozen=True, slots=True)
class Swap:
    """One certified event: who leaves, who enters, and when."""

    leaving: int
    entering: int
    low: Fraction
    high: Fraction
    before: Support
    after: Support
    slope: Fraction
    """The gap of the two grows at least so fast within ``neighbourhood`` of the event."""
    neighbourhood: Fraction
    isolation: Fraction
    """Scores less than this off let in no other expert there."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A box that the path does not leave from ``low`` to ``high``, and its possible supports."""

    low: Fraction
    high: Fraction
    box: Box
    supports: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class CertifiedRoute:
    """The route of a target's path: its events, and half the smallest boundary gap elsewhere."""

    swaps: tuple[Swap, ...]
    outer_isolation: Fraction
    cells: tuple[Cell, ...]


def certified_route(path: RoutedPath, cells: int) -> CertifiedRoute:
    """The events of a target's route; raises ``InputError`` with what is no simple event."""
    if not 4 <= cells <= MAX_CELLS:
        raise InputError(f"{cells} cells of time; needed 4 to {MAX_CELLS}")
    found = _Walk(path, cells).run()
    swaps = tuple(_swap(path, found, first, last) for first, last in _windows(found))
    return CertifiedRoute(swaps, _outer(path, found, swaps), tuple(found))


# --- the pass over time ---------------------------------------------------------------------------


class _Walk:
    def __init__(self, path: RoutedPath, cells: int) -> None:
        self.path = path
        self.width = path.horizon / cells
        self.count = cells
        self.experts = range(len(path.scores))
        self.fields: dict[Support, SeriesField] = {}

    def run(self) -> list[Cell]:
        path = self.path
        state = enclosed(path.initial, BITS)
        support = self._first(state)
        pair: tuple[int, int] | None = None
        found: list[Cell] = []
        for k in range(self.count):
            start = k * self.width
            if pair is None:
                box = self._sure(state, support, start)
                unsure = [] if box is None else self._unsure(support, start, box)
                if box is None:
                    self._stop(start, "the path has no enclosure")
                if not unsure:
                    found.append(self._cell(k, box, (support,)))
                    state = self._advanced(state, support, start)
                    continue
                if len(unsure) > 1:
                    self._stop(start, "two pairs of experts may change at once")
                pair = unsure[0]
            after = support - {pair[0]} | {pair[1]}
            both, state = self._hull(state, (support, after), start)
            self._require_growth(pair, (support, after), start, both)
            if any(other != pair for other in self._unsure(support, start, both)) or any(
                other != (pair[1], pair[0]) for other in self._unsure(after, start, both)
            ):
                self._stop(start, "two pairs of experts may change at once")
            found.append(self._cell(k, both, (support, after)))
            ends = start + self.width
            gap = range_on(self._gap(*pair), ((ends, ends), *_intervals(state)))
            # Boxes are wider than the path: wait until the next cell sees the change as over.
            if gap[0] > 0 and (k + 1 == self.count or self._clear(state, after, ends)):
                support, pair = after, None
        if pair is not None:
            self._stop(path.horizon, "an event is not over at the end of the horizon")
        return found

    def _clear(self, state: EnclosedState, support: Support, start: Fraction) -> bool:
        box = self._sure(state, support, start)
        return box is not None and not self._unsure(support, start, box)

    def _first(self, state: EnclosedState) -> Support:
        point = ((Fraction(0), Fraction(0)), *_intervals(state))
        values = [range_on(score, point) for score in self.path.scores]
        order = sorted(self.experts, key=lambda e: -values[e][0])
        chosen = frozenset(order[: self.path.top_k])
        for i in chosen:
            for e in set(self.experts) - chosen:
                if range_on(self._gap(e, i), point)[0] <= 0:
                    self._stop(Fraction(0), "two scores meet at the start")
        return chosen

    def _gap(self, leaving: int, entering: int) -> Polynomial:
        """``s_entering - s_leaving``."""
        return self.path.scores[entering] - self.path.scores[leaving]

    def _unsure(self, support: Support, start: Fraction, box: Box) -> list[tuple[int, int]]:
        """Pairs (inside, outside) of which the outer one may reach the inner one in a cell."""
        over = ((start, start + self.width), *box)
        outside = [e for e in self.experts if e not in support]
        return [
            (i, e)
            for i in sorted(support)
            for e in outside
            if range_on(self._gap(e, i), over)[0] <= 0
        ]

    def _require_growth(
        self, pair: tuple[int, int], supports: Sequence[Support], start: Fraction, box: Box
    ) -> None:
        for support in supports:
            if _growth(self.path, pair, support, (start, start + self.width), box) <= 0:
                self._stop(start, f"the gap of experts {pair[0]} and {pair[1]} may graze or slide")

    def _series(self, support: Support) -> SeriesField:
        if support not in self.fields:
            self.fields[support] = SeriesField(self.path.fields(support), BITS)
        return self.fields[support]

    def _sure(self, state: EnclosedState, support: Support, start: Fraction) -> Box | None:
        box = self._series(support).over_step(state, start, self.width)
        return None if box is None else _intervals(box)

    def _advanced(self, state: EnclosedState, support: Support, start: Fraction) -> EnclosedState:
        after = self._series(support).taylor_step(state, start, self.width, ORDER)
        if after is None:
            self._stop(start, "the path has no enclosure")
        return after

    def _hull(
        self, state: EnclosedState, supports: Sequence[Support], start: Fraction
    ) -> tuple[Box, EnclosedState]:
        """A cell and its end where the path may follow either field, at any time."""
        times = start, start + self.width
        fields = [self.path.fields(support) for support in supports]
        begin = _intervals(state)
        box = begin
        for _ in range(PICARD_TRIES):
            rates = [_both([range_on(f[i], (times, *box)) for f in fields])
                     for i in range(len(begin))]  # fmt: skip
            moved = [scale(rate, self.width) for rate in rates]
            image = tuple(
                add(z, (min(Fraction(0), low), max(Fraction(0), high)))
                for z, (low, high) in zip(begin, moved, strict=True)
            )
            if all(b[0] <= i[0] and i[1] <= b[1] for b, i in zip(box, image, strict=True)):
                ends = tuple(add(z, move) for z, move in zip(begin, moved, strict=True))
                return box, _enclosed(ends)
            box = tuple((low - (high - low) / 16, high + (high - low) / 16) for low, high in image)
        self._stop(start, "the path has no enclosure")

    def _cell(self, k: int, box: Box, supports: tuple[Support, ...]) -> Cell:
        return Cell(k * self.width, (k + 1) * self.width, box, supports)

    def _stop(self, time: Fraction, reason: str) -> NoReturn:
        raise InputError(
            f"{reason}, at about t = {decimal_text(time, up=False)}",
            remedy="Use more cells of time; a route without simple events has no certificate (T6).",
        )


def _growth(
    path: RoutedPath, pair: tuple[int, int], support: Support, times: Interval, box: Box
) -> Fraction:
    """How fast ``s_entering - s_leaving`` grows at least along the field of a support."""
    gap = path.scores[pair[1]] - path.scores[pair[0]]
    return range_on(lie_derivative(gap, path.fields(support)), (times, *box))[0]


def _both(ranges: Sequence[Interval]) -> Interval:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _intervals(state: EnclosedState) -> Box:
    unit = 1 << state.bits
    return tuple(
        (Fraction(c - r, unit), Fraction(c + r, unit))
        for c, r in zip(state.centre, state.radius, strict=True)
    )


def _enclosed(box: Sequence[Interval]) -> EnclosedState:
    unit = 1 << BITS
    ends = [(round_down(low, BITS) * unit, round_up(high, BITS) * unit) for low, high in box]
    centres = [int(low + high) // 2 for low, high in ends]
    radii = [int(high) - c + 1 for (_, high), c in zip(ends, centres, strict=True)]
    return EnclosedState(BITS, tuple(centres), tuple(radii))


# --- what holds about the events ------------------------------------------------------------------


def _windows(found: Sequence[Cell]) -> list[tuple[int, int]]:
    """First and last index of the cells of each event."""
    windows: list[tuple[int, int]] = []
    for index, cell in enumerate(found):
        if len(cell.supports) == 1:
            continue
        if windows and windows[-1][1] == index - 1 and (found[index - 1].supports == cell.supports):
            windows[-1] = windows[-1][0], index
        else:
            windows.append((index, index))
    return windows


def _swap(path: RoutedPath, found: Sequence[Cell], first: int, last: int) -> Swap:
    """The neighbourhood in which the gap keeps half its slope, and the isolation there."""
    before, after = found[first].supports
    (leaving,), (entering,) = before - after, after - before
    pair = leaving, entering

    def slope_of(cell: Cell) -> Fraction:
        times = cell.low, cell.high
        return min(_growth(path, pair, s, times, cell.box) for s in cell.supports)

    def isolated(cell: Cell) -> Fraction:
        return _isolation(path, cell, before & after, pair)

    slope = min(slope_of(cell) for cell in found[first : last + 1])
    low, high = found[first].low, found[last].high
    kept, alone = slope / 2, min(isolated(cell) for cell in found[first : last + 1])
    reach, left, right = Fraction(0), first, last
    while left > 0 and right + 1 < len(found):
        sides = found[left - 1], found[right + 1]
        fitting = sides[0].supports == (before,) and sides[1].supports == (after,)
        if not fitting or min(map(slope_of, sides)) < kept or min(map(isolated, sides)) <= 0:
            break
        left, right = left - 1, right + 1
        alone = min(alone, *map(isolated, sides))
        reach = min(low - found[left].low, found[right].high - high)
    return Swap(leaving, entering, low, high, before, after, kept, reach, alone)


def _isolation(path: RoutedPath, cell: Cell, common: Support, pair: tuple[int, int]) -> Fraction:
    """Half the smallest gap but that of the pair (theory T6.2): no third expert comes in."""
    over = ((cell.low, cell.high), *cell.box)

    def lead(one: int, other: int) -> Fraction:
        return range_on(path.scores[one] - path.scores[other], over)[0]

    others = [e for e in range(len(path.scores)) if e not in common and e not in pair]
    gaps = [lead(i, e) for i in common for e in others]
    gaps += [max(lead(i, pair[0]), lead(i, pair[1])) for i in common]
    gaps += [max(lead(pair[0], e), lead(pair[1], e)) for e in others]
    return min(gaps, default=2 * NO_THIRD) / 2


def _outer(path: RoutedPath, found: Sequence[Cell], swaps: Sequence[Swap]) -> Fraction:
    """Half the smallest boundary gap in cells that no neighbourhood holds (theory T6.2)."""
    gaps = []
    for cell in found:
        near = any(
            s.high - s.neighbourhood <= cell.low and cell.high <= s.low + s.neighbourhood
            for s in swaps
        )
        if near or len(cell.supports) > 1:
            continue
        (support,) = cell.supports
        over = ((cell.low, cell.high), *cell.box)
        outside = [e for e in range(len(path.scores)) if e not in support]
        gaps += [
            range_on(path.scores[i] - path.scores[e], over)[0] for i in support for e in outside
        ]
    return min(gaps, default=2 * NO_THIRD) / 2


# --- with the implemented router and the library --------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertifiedEvents:
    """Everything that theory T6.1 asks about a route, valid within ``radius`` of the path, linf."""

    events: tuple[EventNumbers, ...]
    score_error: Fraction
    score_lipschitz: Fraction
    outer_isolation: Fraction
    radius: Fraction


def certified_events(
    path: RoutedPath,
    route: CertifiedRoute,
    implemented: Sequence[Polynomial],
    atoms: Callable[[Support], Sequence[Field]],
    radius: Fraction,
    noise: Fraction = Fraction(0),
) -> CertifiedEvents:
    """Event numbers for scores ``implemented`` and the library's fields of each support, in linf.

    ``noise`` bounds further errors of every implemented score. Errors are taken along the path,
    slopes and the jumps of the atoms' fields within ``radius`` of it; so the numbers hold while the
    executed path is that close.
    """
    tube = [_grown(cell, radius) for cell in route.cells]
    error = slope = Fraction(0)
    for cell, wide in zip(route.cells, tube, strict=True):
        over = ((cell.low, cell.high), *cell.box)
        for own, target in zip(implemented, path.scores, strict=True):
            error = max(error, magnitude(range_on(own - target, over)))
            slope = max(slope, _slope(own, wide))
    events = []
    for swap in route.swaps:
        reach = swap.low - swap.neighbourhood, swap.high + swap.neighbourhood
        near = [
            k for k, cell in enumerate(route.cells) if cell.high > reach[0] and cell.low < reach[1]
        ]
        gap = implemented[swap.entering] - implemented[swap.leaving]
        off = gap - (path.scores[swap.entering] - path.scores[swap.leaving])
        jumps = [
            _difference(before, after)
            for before, after in zip(atoms(swap.before), atoms(swap.after), strict=True)
        ]
        events.append(
            EventNumbers(
                time_low=swap.low,
                time_high=swap.high,
                slope=swap.slope,
                jump=max(
                    (magnitude(range_on(part, tube[k])) for k in near for jump in jumps
                     for part in jump), default=Fraction(0),
                ),
                gap_error=2 * noise + max(
                    magnitude(range_on(off, ((c.low, c.high), *c.box)))
                    for c in (route.cells[k] for k in near)
                ),
                gap_lipschitz=max(_slope(gap, tube[k]) for k in near),
                isolation=swap.isolation,
                neighbourhood=swap.neighbourhood,
            )
        )  # fmt: skip
    return CertifiedEvents(tuple(events), error + noise, slope, route.outer_isolation, radius)


def _grown(cell: Cell, radius: Fraction) -> Box:
    return ((cell.low, cell.high), *((low - radius, high + radius) for low, high in cell.box))


def _slope(function: Polynomial, over: Box) -> Fraction:
    """A Lipschitz constant in the state from linf to absolute values: the gradient's l1 norm."""
    return sum(
        (magnitude(range_on(function.derivative(i), over)) for i in range(1, len(over))),
        Fraction(0),
    )


def _difference(one: Field, other: Field) -> Field:
    return tuple(b - a for a, b in zip(one, other, strict=True))

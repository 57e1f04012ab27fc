"""The largest difference of two maps bracketed by halving boxes: sound whenever it stops.

Best-first branch and bound over a box around the region (theory T8.2): the box with the largest
bound is halved, along the axis that floats say will leave the least to do. Every box that may meet
the region gets its bound from exact affine arithmetic (``clipped_boxes.region_bound``), the same
numbers that a checker finds again. The bound of a half can exceed that of the whole by a little, so
the bracket is that of the best tree so far, not of the latest one. The lower end is the error at an
input: found in floats, evaluated exactly.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from qreplace.claims.pwa_supremum import BoxCover
from qreplace.errors import InputError
from qreplace.produce.float_maps import Floats
from qreplace.produce.float_relaxation import FloatRelaxation
from qreplace.produce.threads import single_threaded
from qreplace.produce.worst_inputs import ErrorSearch, FloatRegion
from qreplace.question.clipped_boxes import region_bound
from qreplace.question.maps import PwaMap, rational_point
from qreplace.question.model import Norm
from qreplace.question.regions import Ball, Region

Stop = Literal["width", "nodes", "seconds", "halvings"]
Progress = Callable[[Fraction, Fraction, int], None]
"""Called with the bracket's ends and the halvings so far after each of them."""

NODES = 2000
"""Halvings unless a caller asks for more or less."""
MAX_HALVINGS = 128
"""Most halvings of one box; the arithmetic resolves no smaller ones."""
RESOLUTION = Fraction(1, 1 << 40)
"""Width that is enough unless one is given, relative to the upper end."""
ZERO = Fraction(1, 1 << 80)
"""Width that is always enough: the error is 0 up to the rounding of the bound."""
GAIN = 1 + 1e-9
"""An input is evaluated exactly when floats say that it raises the lower end by this factor."""
NARROW = 4
"""A side this many times as narrow as the widest, relative to the first box, is not halved: boxes
that only shed what is easy would never shrink to a point."""
MOST_EXCESS = 1e6
"""Excess of a half, relative to that of the whole, beyond which floats say nothing."""


@dataclass(frozen=True)
class BoxBracket:
    """``lower <= sup ||one - other|| <= upper``, and what keeps the ends apart.

    ``point`` is an input where the error is at least ``lower``; ``cover`` shows ``upper``.
    ``nodes`` counts all halvings made, some of which the best cover may do without. Open boxes of
    the cover are those that keep the bracket wider than asked; ``open_share`` is their part of the
    volume of the first box.
    """

    lower: Fraction
    point: tuple[Fraction, ...]
    upper: Fraction
    cover: BoxCover
    nodes: int
    open_boxes: int
    open_share: Fraction
    stopped: Stop

    @property
    def boxes(self) -> int:
        """The number of boxes of the cover."""
        return self.cover.splits.count(-1)

    @property
    def remains(self) -> str:
        """What keeps the bracket open, in words; empty once it is as narrow as asked."""
        if self.stopped == "width":
            return ""
        spent = {
            "nodes": "the halvings allowed are spent",
            "seconds": "the time is spent",
            "halvings": "boxes are as small as the arithmetic resolves",
        }[self.stopped]
        return (
            f"{self.open_boxes} of {self.boxes} boxes, {100 * float(self.open_share):.3g} % of the "
            f"volume, may hold a larger error than {float(self.lower):.6g}, up to "
            f"{float(self.upper):.6g}; {spent}"
        )


def bound_by_boxes(
    one: PwaMap,
    other: PwaMap,
    region: Region,
    norm: Norm,
    *,
    width: Fraction | None = None,
    nodes: int = NODES,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> BoxBracket:
    """A bracket of ``sup ||one(y) - other(y)||`` over the region, any number of inputs.

    ``width``: the absolute width that is enough, in units of the output; without one it is
    ``RESOLUTION`` of the upper end. ``nodes``: most halvings. ``seconds``: the clock after which no
    further box is halved. More nodes never give a wider bracket. Raises ``InputError`` where maps
    and region do not fit together.
    """
    with single_threaded():
        started = time.monotonic()
        search = BoxSearch(one, other, region, norm, width=width)
        while (stop := search.finished()) is None:
            if search.nodes >= nodes:
                stop = "nodes"
            elif seconds is not None and time.monotonic() - started >= seconds:
                stop = "seconds"
            if stop is not None:
                break
            search.halve()
            if progress is not None:
                progress(search.lower, search.upper, search.nodes)
        return search.bracket(stop)


@dataclass
class _Box:
    """A box of the tree: halved as the ``order``-th along ``axis``, or not (order None).

    ``bound`` is None where the box misses the interior of the region.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    depth: int
    bound: Fraction | None
    axis: int = -1
    order: int | None = None
    halves: tuple[int, int] = (0, 0)


class BoxSearch:
    """The tree of boxes while it grows; ``bracket`` is sound after every halving."""

    def __init__(
        self,
        one: PwaMap,
        other: PwaMap,
        region: Region,
        norm: Norm,
        *,
        width: Fraction | None = None,
    ) -> None:
        if not one.inputs == other.inputs == region.inputs or one.outputs != other.outputs:
            raise InputError(
                f"maps of {one.inputs} and {other.inputs} inputs and {one.outputs} and "
                f"{other.outputs} outputs are not compared on a region of {region.inputs} inputs"
            )
        self.one, self.other, self.region, self.norm = one, other, region, norm
        self.width = width
        self.inputs = ErrorSearch(one, other, norm, region)
        self.place = FloatRegion(region)
        self.floats = FloatRelaxation(one, other)
        self.misses = _FloatMisses(region)
        self.nodes = 0
        """Halvings so far."""
        self.lower, self.point = Fraction(-1), (Fraction(0),) * region.inputs
        self._climb(None)
        root = self._box(*region.box, 0)
        self.tree = [root]
        self.upper = root.bound if root.bound is not None else Fraction(0)
        self._best = 0
        """Halvings of the tree that shows ``upper``: the first so many."""
        self._settled: Fraction | None = None
        """The largest bound of a box that is not halved any more."""
        self._waiting: list[tuple[Fraction, int]] = []
        self._queue(0)

    @property
    def enough(self) -> Fraction:
        """The width at which the bracket is narrow enough."""
        return max(RESOLUTION * self.upper if self.width is None else self.width, ZERO)

    def finished(self) -> Stop | None:
        """Why no further halving is needed, or of use."""
        if self.upper - self.lower <= self.enough:
            return "width"
        worst = -self._waiting[0][0] if self._waiting else Fraction(-1)
        if self._settled is not None and self._settled >= worst:
            return "halvings"
        return None if self._waiting else "halvings"

    def halve(self) -> None:
        """Halve the box with the largest bound."""
        _, index = heapq.heappop(self._waiting)
        box = self.tree[index]
        box.axis, corners = self._axis(box)
        box.order, self.nodes = self.nodes, self.nodes + 1
        middle = (box.lower[box.axis] + box.upper[box.axis]) / 2
        box.halves = len(self.tree), len(self.tree) + 1
        ends = (
            (box.lower, _with(box.upper, box.axis, middle)),
            (
                _with(box.lower, box.axis, middle),
                box.upper,
            ),
        )
        for low, high in ends:
            self.tree.append(self._box(low, high, box.depth + 1))
            self._queue(len(self.tree) - 1)
        self._climb(np.concatenate([self._middles(box), corners]))
        bounds = [-self._waiting[0][0]] if self._waiting else []
        bounds += [self._settled] if self._settled is not None else []
        largest = max(bounds, default=Fraction(0))
        if largest < self.upper:
            self.upper, self._best = largest, self.nodes

    def bracket(self, stopped: Stop) -> BoxBracket:
        """The best bracket so far."""
        splits: list[int] = []
        open_boxes, share = 0, Fraction(0)
        pending = [0]
        while pending:
            box = self.tree[pending.pop()]
            if box.order is not None and box.order < self._best:
                splits.append(box.axis)
                pending += reversed(box.halves)
                continue
            splits.append(-1)
            if box.bound is not None and box.bound > self.lower + self.enough:
                open_boxes += 1
                share += Fraction(1, 1 << box.depth)
        root = self.tree[0]
        cover = BoxCover("boxes", root.lower, root.upper, tuple(splits))
        return BoxBracket(
            self.lower, self.point, self.upper, cover, self.nodes, open_boxes, share, stopped
        )

    def _box(self, lower: tuple[Fraction, ...], upper: tuple[Fraction, ...], depth: int) -> _Box:
        bound = None
        if not self.region.avoids_box(lower, upper):
            bound = region_bound(self.one, self.other, lower, upper, self.region, self.norm)
        return _Box(lower, upper, depth, bound)

    def _queue(self, index: int) -> None:
        box = self.tree[index]
        if box.bound is None:
            return
        if box.depth < MAX_HALVINGS:
            heapq.heappush(self._waiting, (-box.bound, index))
        elif self._settled is None or box.bound > self._settled:
            self._settled = box.bound

    def _axis(self, box: _Box) -> tuple[int, Floats]:
        """The axis whose halves leave the least to do, by the bounds that floats give them.

        What is left in a box is taken to be the excess of its bound over the lower end; measured,
        higher powers of it did no better. On ties the axis that is widest, relative to the first
        box; none that is narrow already. Also a corner (2, p) of each half: the one towards which
        the difference grows.
        """
        p = self.region.inputs
        low, high = _floats(box.lower), _floats(box.upper)
        lower, upper = np.repeat(low[None], 2 * p, axis=0), np.repeat(high[None], 2 * p, axis=0)
        axes = np.arange(p)
        upper[axes, axes] = lower[p + axes, axes] = (low + high) / 2
        relaxed = self.floats.relax(lower, upper)
        bounds = np.where(self.misses(lower, upper), 0.0, relaxed.bounds(self.norm))
        least = float(self.lower + self.enough)
        excess = max(float(box.bound or 0) - least, float(ZERO))
        left = np.clip((bounds - least) / excess, 0.0, MOST_EXCESS)
        work = np.round(left[:p] + left[p:], 6)
        first = self.tree[0]
        size = (high - low) / (_floats(first.upper) - _floats(first.lower))
        work = np.where(size * NARROW < size.max(), np.inf, work)
        axis = int(np.lexsort((-size, work))[0])
        corners = np.where(relaxed.steepest() > 0, upper, lower)
        return axis, corners[[axis, p + axis]]

    def _middles(self, box: _Box) -> Floats:
        """The centres of its halves."""
        ends = [(self.tree[half].lower, self.tree[half].upper) for half in box.halves]
        return np.array([(_floats(low) + _floats(high)) / 2 for low, high in ends])

    def _climb(self, starts: Floats | None) -> None:
        """Raise the lower end: from some inputs, or by a search of the region."""
        if starts is None:
            found = self.inputs.search()
        else:
            starts = self.place.inside(starts)
            if not self.inputs.errors(starts).max() > float(self.lower) * GAIN:
                return
            found = self.inputs.climb(starts)
        for error, point in self.inputs.rational(found, 1):
            if error > self.lower:
                self.lower, self.point = error, rational_point(point)


class _FloatMisses:
    """About which boxes miss the region, in floats."""

    def __init__(self, region: Region) -> None:
        self.ball = isinstance(region, Ball)
        if isinstance(region, Ball):
            self.center, self.radius = _floats(region.center), float(region.radius)
            return
        scales = [max(map(abs, halfspace)) or 1 for halfspace in region.halfspaces]
        rows = np.array(
            [
                [value / scale for value in halfspace]
                for halfspace, scale in zip(region.halfspaces, scales, strict=True)
            ]
        )
        self.normals, self.offsets = rows[:, :-1], rows[:, -1]

    def __call__(self, lower: Floats, upper: Floats) -> Floats:
        """Which of the boxes (n, p) miss the region."""
        if self.ball:
            gap = np.maximum(np.maximum(lower - self.center, self.center - upper), 0.0)
            return np.asarray((gap**2).sum(axis=1) >= self.radius**2)
        least = lower @ np.maximum(self.normals, 0).T + upper @ np.minimum(self.normals, 0).T
        return np.asarray((least >= self.offsets).any(axis=1))


def _floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(value) for value in values])


def _with(values: tuple[Fraction, ...], index: int, value: Fraction) -> tuple[Fraction, ...]:
    return (*values[:index], value, *values[index + 1 :])

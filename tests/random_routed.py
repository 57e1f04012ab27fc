"""Random routed systems whose target path and event data are known exactly (theory T6).

The target moves on a straight line between its events: the field of the r-th support is ``v_r +
M_r (z - z*_r(t))`` with ``z*_r`` the line, whatever ``M_r``. Scores are affine, so along the path
every gap is straight between events, and slopes, isolation and errors are attained at its corners.

``Maker(seed)`` draws in exact rationals, ``Maker(seed, binary=True)`` the same in binary64, several
times as fast and true to a relative 1e-12.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any

from qreplace.radii.small_gain import EventNumbers
from qreplace.simulate.routed import values
from qreplace.simulate.routed_model import Affine, Routed, members

Number = Any
"""A ``Fraction`` or a float."""
Field = Affine[Any]
Vector = tuple[Number, ...]
FAR = 10**6
"""An isolation where no other expert is there to come near."""


def minus(one: Sequence[Number], other: Sequence[Number]) -> Vector:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def largest(vector: Sequence[Number]) -> Number:
    return max(map(abs, vector))


def row_sum(matrix: Sequence[Sequence[Number]]) -> Number:
    """The operator norm in linf."""
    return max(sum(map(abs, row), 0) for row in matrix)


def combined(parts: Sequence[tuple[Number, Field]]) -> Field:
    """A linear combination of affine maps."""
    (_, first) = parts[0]
    rows, columns = range(first.rows), range(len(first.matrix[0]))
    return Affine(
        tuple(tuple(sum((w * f.matrix[i][c] for w, f in parts), 0) for c in columns)
              for i in rows),
        tuple(sum((w * f.offset[i] for w, f in parts), 0) for i in rows),
        tuple(sum((w * f.drift[i] for w, f in parts), 0) for i in rows),
    )  # fmt: skip


def gated(system: Routed[Any], atom: int, support: int) -> Field:
    """``G_j^m``."""
    chosen = members(support)
    total = sum((system.gates[e] for e in chosen), 0)
    return combined([(system.gates[e] / total, system.atoms[atom][e]) for e in chosen])


@dataclass(frozen=True)
class Swap:
    """One event: when, who leaves and enters, and the half width of ``U_r``."""

    time: Number
    leaving: int
    entering: int
    half: Number
    slope: Number


@dataclass(frozen=True)
class Case:
    """A system with its exact target path; ``corners`` are 0, the event times and T."""

    system: Routed[Any]
    weights: Vector
    corners: Vector
    places: tuple[Vector, ...]
    supports: tuple[int, ...]
    """One a straight piece."""
    swaps: tuple[Swap, ...]
    noise: Number
    """Size of the score errors of each step that may be added."""

    def at(self, time: Number) -> Vector:
        """``z*(t)``."""
        for (left, right), (a, b) in zip(
            pairwise(self.corners), pairwise(self.places), strict=True
        ):
            if left <= time <= right:
                share = (time - left) / (right - left)
                return tuple(x + share * (y - x) for x, y in zip(a, b, strict=True))
        raise ValueError("outside the horizon")

    def path(self, depth: int) -> list[Vector]:
        """The states at ``k T / D``."""
        return [self.at(self.system.horizon * k / depth) for k in range(depth + 1)]

    def about(self, swap: Swap) -> list[tuple[Number, Vector]]:
        """The corners of the path on ``U_r``, with their times."""
        return [(t, self.at(t)) for t in (swap.time - swap.half, swap.time, swap.time + swap.half)]

    def score(self, time: Number) -> list[Number]:
        return values(self.system.scores, time, self.at(time))

    def score_error(self, time: Number) -> Vector:
        """Implemented minus target scores at the target's state, noise left out."""
        state = self.at(time)
        return minus(values(self.system.implemented, time, state), self.score(time))

    @cached_property
    def eta(self) -> Number:
        """``eta_s``."""
        return max(largest(self.score_error(t)) for t in self.corners) + self.noise

    @cached_property
    def score_lipschitz(self) -> Number:
        """``L_s``."""
        return row_sum(self.system.implemented.matrix)

    @cached_property
    def outer_isolation(self) -> Number:
        """``Gamma_out``: gaps are straight on each piece, so the ends of it tell."""
        lefts = [self.corners[0], *(s.time + s.half for s in self.swaps)]
        rights = [*(s.time - s.half for s in self.swaps), self.corners[-1]]
        found = FAR
        for support, left, right in zip(self.supports, lefts, rights, strict=True):
            for score in (self.score(left), self.score(right)):
                inside = min(score[e] for e in members(support))
                outside = [s for e, s in enumerate(score) if not support >> e & 1]
                found = min(found, (inside - max(outside)) / 2)
        return found

    def isolation(self, swap: Swap) -> Number:
        """``Gamma_r`` by theory T6.2: half the smallest gap of ranks other than the pair's."""
        before, after = self.supports[self.swaps.index(swap) :][:2]
        kept, pair = members(before & after), (swap.leaving, swap.entering)
        others = [e for e in range(self.system.experts) if not (before | after) >> e & 1]
        gaps = [
            score[e] - score[f]
            for time, _ in self.about(swap)
            for score in [self.score(time)]
            for e, f in [*product(kept, [*pair, *others]), *product(pair, others)]
        ]
        return min(gaps, default=2 * FAR) / 2

    def gap_error(self, swap: Swap) -> Number:
        """``eta_r``."""
        found = [self.score_error(time) for time, _ in self.about(swap)]
        return max(abs(e[swap.entering] - e[swap.leaving]) for e in found) + 2 * self.noise

    def gap_row(self, swap: Swap) -> Vector:
        """The implemented gap's gradient in the state."""
        rows = self.system.implemented.matrix
        return minus(rows[swap.entering], rows[swap.leaving])

    @cached_property
    def gated(self) -> dict[tuple[int, int], Field]:
        """``G_j^m`` of every atom and every support of the route."""
        pairs = product(range(len(self.system.atoms)), self.supports)
        return {(atom, support): gated(self.system, atom, support) for atom, support in pairs}

    @cached_property
    def _jumps(self) -> list[list[tuple[Number, Number]]]:
        """For each event and atom the largest jump along the path, and what the state adds."""
        found = []
        for r, swap in enumerate(self.swaps):
            own = []
            for atom in range(len(self.system.atoms)):
                before, after = (self.gated[atom, m] for m in self.supports[r : r + 2])
                jumps = combined([(1, after), (-1, before)])
                most = max(largest(values(jumps, t, z)) for t, z in self.about(swap))
                own.append((most, row_sum(jumps.matrix)))
            found.append(own)
        return found

    def jump(self, r: int, radius: Number) -> Number:
        """``Delta_r`` for states within ``radius`` of the path."""
        return max(most + radius * more for most, more in self._jumps[r])

    @cached_property
    def _events(self) -> list[EventNumbers]:
        return [
            EventNumbers(
                time_low=Fraction(swap.time),
                time_high=Fraction(swap.time),
                slope=Fraction(swap.slope),
                jump=Fraction(0),
                gap_error=Fraction(self.gap_error(swap)),
                gap_lipschitz=Fraction(sum(map(abs, self.gap_row(swap)), 0)),
                isolation=Fraction(self.isolation(swap)),
                neighbourhood=Fraction(swap.half),
            )
            for swap in self.swaps
        ]

    def events(self, radius: Number) -> list[EventNumbers]:
        """What theory T6.1 needs of each event, while states stay within ``radius``."""
        return [
            replace(event, jump=Fraction(self.jump(r, radius)))
            for r, event in enumerate(self._events)
        ]

    def implemented_slope(self, r: int, radius: Number, step: Number) -> Number | None:
        """``zeta_r`` of theory T6.3, for states within ``radius``; ``None`` near another event.

        On a cell the executed gap moves by ``drift + row . G(t_k, x_k)``, with ``t_k`` in ``U_r``
        or one step before it.
        """
        swap, row = self.swaps[r], self.gap_row(self.swaps[r])
        first = swap.time - swap.half - step
        if first < self.corners[r]:
            return None
        drifts = self.system.implemented.drift
        found = []
        for atom, support in product(range(len(self.system.atoms)), self.supports[r : r + 2]):
            own = self.gated[atom, support]
            pulled = [sum((g * own.matrix[i][c] for i, g in enumerate(row)), 0)
                      for c in range(len(row))]  # fmt: skip
            room = radius * sum(map(abs, pulled), 0)
            for time in (first, swap.time, swap.time + swap.half):
                speed = sum(
                    (g * v for g, v in zip(row, values(own, time, self.at(time)), strict=True)),
                    drifts[swap.entering] - drifts[swap.leaving],
                )
                found.append(speed - room)
        return min(found)

    def field_bound(self, radius: Number) -> Number:
        """``B`` of the atoms of every support of the route, within ``radius`` of the path."""
        found: Number = 0
        for atom, r in product(range(len(self.system.atoms)), range(len(self.supports))):
            for own in (self.gated[atom, m] for m in self.supports[max(0, r - 1) : r + 2]):
                most = max(largest(values(own, t, self.at(t))) for t in self.corners[r : r + 2])
                found = max(found, most + radius * row_sum(own.matrix))
        return found

    def step_lipschitz(self, step: Number) -> Number:
        """``kappa`` of the target's supports."""
        found: Number = 0
        for own in self.gated.values():
            one = [
                [(i == c) + step * x for c, x in enumerate(row)] for i, row in enumerate(own.matrix)
            ]
            found = max(found, row_sum(one))
        return found

    def growth(self, depth: int) -> Number:
        """An upper bound of ``max(1, kappa^D)``."""
        kappa = self.step_lipschitz(self.system.horizon / depth)
        return max(Fraction(1), Fraction(float(kappa) ** depth * (1 + 1e-9)))


class Maker:
    """Draws cases; ``None`` where a draw is no route that the scores choose by themselves."""

    def __init__(self, seed: int, *, binary: bool = False) -> None:
        self.rng = random.Random(seed)
        self.binary = binary

    def ratio(self, numerator: int, denominator: int = 1) -> Number:
        return numerator / denominator if self.binary else Fraction(numerator, denominator)

    def number(self, size: int, unit: int) -> Number:
        drawn = int(self.rng.random() * (2 * size + 1)) - size
        return drawn / unit if self.binary else Fraction(drawn, unit)

    def vector(self, q: int, size: int, unit: int) -> Vector:
        return tuple(self.number(size, unit) for _ in range(q))

    def affine(self, rows: int, q: int, size: int, unit: int, matrix: bool) -> Field:
        return Affine(
            tuple(self.vector(q, size if matrix else 0, 2 * unit) for _ in range(rows)),
            self.vector(rows, size, unit),
            self.vector(rows, size, unit),
        )

    def case(self, swaps: int | None = None) -> Case | None:
        """A case with so many events, 1 to 3 when it is not said."""
        rng = self.rng
        q, pairs = rng.randint(1, 3), rng.randint(0, 1)
        swaps = rng.randint(1, 3) if swaps is None else swaps
        foreign = rng.randint(0, 1) if swaps else 1
        horizon = self.ratio(rng.choice([1, 1, 2]), rng.choice([1, 1, 2]))
        corners = self._corners(swaps, horizon)
        places = self._places(corners, q)
        # Experts of the chain first, then one that stays in (top 2), then one that never comes in.
        experts = swaps + 1 + pairs + foreign
        gates = tuple(self.ratio(rng.choice([1, 1, 1, 2, 4])) for _ in range(experts))
        order = rng.sample(range(experts), experts)
        atoms, weights = self._atoms(corners, places, gates, swaps, pairs, foreign)
        scores = self._scores(corners, places, swaps, pairs, foreign)
        off = self.affine(experts, q, rng.choice([0, 2, 2, 8]), 512, True)
        implemented = combined([(1, scores), (1, off)])
        back = [order.index(e) for e in range(experts)]
        system = Routed(
            tuple(tuple(row[back[e]] for e in range(experts)) for row in atoms),
            _shuffled(scores, back),
            _shuffled(implemented, back),
            tuple(gates[back[e]] for e in range(experts)),
            1 + pairs,
            places[0],
            horizon,
        )
        fixed = 1 << order[swaps + 1] if pairs else 0
        supports = tuple(1 << order[r] | fixed for r in range(swaps + 1))
        events = self._swaps(system.scores, corners, places, order)
        noise = self.ratio(rng.choice([0, 1, 4, 16, 64]), 1024)
        made = Case(system, weights, corners, places, supports, events, noise)
        if min([made.outer_isolation, *map(made.isolation, events)]) <= 0:
            return None
        return made

    def _corners(self, swaps: int, horizon: Number) -> Vector:
        unit = self.rng.choice([16, 37, 64])
        inner = []
        for r in range(swaps):
            left, right = unit * (4 * r + 1), unit * (4 * r + 3)
            inner.append(horizon * self.ratio(self.rng.randint(left, right), 4 * unit * swaps))
        return (self.ratio(0), *inner, horizon)

    def _places(self, corners: Vector, q: int) -> tuple[Vector, ...]:
        size = self.rng.choice([1, 4, 8, 16])
        velocity = self.vector(q, 8, 8)
        places = [self.vector(q, 8, 8)]
        for left, right in pairwise(corners):
            places.append(tuple(z + (right - left) * v
                                for z, v in zip(places[-1], velocity, strict=True)))  # fmt: skip
            moved = zip(velocity, self.vector(q, size, 16), strict=True)
            velocity = tuple(v + change for v, change in moved)
        return tuple(places)

    def _atoms(
        self,
        corners: Vector,
        places: tuple[Vector, ...],
        gates: Vector,
        swaps: int,
        pairs: int,
        foreign: int,
    ) -> tuple[list[list[Field]], Vector]:
        rng, q = self.rng, len(places[0])
        kind = rng.choice(["none", "shared", "own"])
        shared = self.affine(q, q, 8 if kind != "none" else 0, 8, True).matrix
        means = []
        for r in range(swaps + 1):
            own = self.affine(q, q, 2, 8, True).matrix if kind == "own" else shared
            means.append(_about_line(own, corners[r : r + 2], places[r : r + 2]))
        experts = list(means)
        if pairs:
            stays = self.affine(q, q, 2, 8, kind != "none")
            own = gates[swaps + 1]
            experts = [
                combined([((gates[e] + own) / gates[e], mean), (-own / gates[e], stays)])
                for e, mean in enumerate(means)
            ] + [stays]
        experts += [self.affine(q, q, 16, 8, True) for _ in range(foreign)]
        weights = self._weights()
        size, linear = rng.choice([1, 4, 12]), rng.random() < 0.5
        moves = [[self.affine(q, q, size, 16, linear) for _ in experts] for _ in weights]
        atoms = []
        for own_moves in moves:
            row = []
            for e, expert in enumerate(experts):
                back = [(-w, other[e]) for w, other in zip(weights, moves, strict=True)]
                row.append(combined([(1, expert), (1, own_moves[e]), *back]))
            atoms.append(row)
        return atoms, weights

    def _weights(self) -> Vector:
        parts = [self.rng.randint(1, 5) for _ in range(self.rng.randint(1, 3))]
        return tuple(self.ratio(part, sum(parts)) for part in parts)

    def _scores(
        self, corners: Vector, places: tuple[Vector, ...], swaps: int, pairs: int, foreign: int
    ) -> Field:
        """Each expert of the chain overtakes the one before it at its corner."""
        rng, q = self.rng, len(places[0])
        size = rng.choice([0, 1, 2, 4])
        rows = [self.vector(q, size, 16) for _ in range(swaps + 1 + pairs + foreign)]
        offsets, drifts = [self.ratio(0)], [self.ratio(0)]
        for r in range(swaps):
            row = minus(rows[r + 1], rows[r])
            speeds = [_dot(row, _velocity(corners, places, p)) for p in (r, r + 1)]
            drift = self.ratio(rng.randint(4, 32), 4) - min(speeds)
            place, time = places[r + 1], corners[r + 1]
            offsets.append(offsets[r] - _dot(row, place) - drift * time)
            drifts.append(drifts[r] + drift)
        for e in range(swaps + 1, len(rows)):
            stays = pairs and e == swaps + 1
            heights = []
            for i, (time, place) in enumerate(zip(corners, places, strict=True)):
                chain = [_dot(rows[c], place) + offsets[c] + drifts[c] * time
                         for c in range(swaps + 1)]  # fmt: skip
                aim = max(chain) if stays else chain[min(i, swaps)]
                heights.append(aim - _dot(rows[e], place))
            margin = self.ratio(rng.randint(4, 16), 4)
            offsets.append(max(heights) + margin if stays else min(heights) - margin)
            drifts.append(self.ratio(0))
        return Affine(tuple(rows), tuple(offsets), tuple(drifts))

    def _swaps(
        self, scores: Field, corners: Vector, places: tuple[Vector, ...], order: list[int]
    ) -> tuple[Swap, ...]:
        found = []
        for r in range(1, len(corners) - 1):
            leaving, entering = order[r - 1], order[r]
            row = minus(scores.matrix[entering], scores.matrix[leaving])
            drift = scores.drift[entering] - scores.drift[leaving]
            slope = min(_dot(row, _velocity(corners, places, p)) + drift for p in (r - 1, r))
            before, after = corners[r] - corners[r - 1], corners[r + 1] - corners[r]
            room = min(before if r == 1 else before / 2,
                       after if r == len(corners) - 2 else after / 2)  # fmt: skip
            half = room * self.ratio(self.rng.randint(3, 7), 8)
            found.append(Swap(corners[r], leaving, entering, half, slope))
        return tuple(found)


def _dot(one: Sequence[Number], other: Sequence[Number]) -> Number:
    return sum((a * b for a, b in zip(one, other, strict=True)), 0)


def _velocity(corners: Vector, places: tuple[Vector, ...], piece: int) -> Vector:
    length = corners[piece + 1] - corners[piece]
    return tuple(x / length for x in minus(places[piece + 1], places[piece]))


def _about_line(matrix: tuple[Vector, ...], times: Vector, ends: Sequence[Vector]) -> Field:
    """``v + M (z - z*(t))`` for the line through two places at two times."""
    velocity = _velocity(times, tuple(ends), 0)
    start = tuple(z - times[0] * v for z, v in zip(ends[0], velocity, strict=True))
    offset = tuple(v - _dot(row, start) for v, row in zip(velocity, matrix, strict=True))
    return Affine(matrix, offset, tuple(-_dot(row, velocity) for row in matrix))


def _shuffled(own: Field, back: Sequence[int]) -> Field:
    return Affine(
        tuple(own.matrix[e] for e in back),
        tuple(own.offset[e] for e in back),
        tuple(own.drift[e] for e in back),
    )

"""Functionals with their exact values on boxes of counts (theory T7.13).

The best functional for one box often serves others, so those found are kept; floats say which are
worth an exact look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from operator import mul

import numpy as np
from numpy.typing import NDArray

from qreplace.claims.functional import Functional
from qreplace.exact.counts import CountBox
from qreplace.exact.rational import MAX_DIGITS
from qreplace.produce.basis import sparse_vector
from qreplace.produce.functionals import DROPPED, ZERO, exact_functional
from qreplace.produce.linear_program import Floats
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.norms import block_size
from qreplace.question.subject import LiftedProblem

WATCHED = 256
"""At most this many functionals are tried on a box; those used longest ago are not."""
MAX_BITS = 16_000
"""Numbers of a functional stay below this; checkers refuse longer ones."""


def short_functional(norm: Norm, vector: Floats, bits: int) -> Functional:
    """The functional with numerators of about ``bits`` bits, inside the dual unit ball."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < math.inf:
        return ZERO
    kept = np.flatnonzero(np.abs(vector) > max(DROPPED, 2.0**-bits) * largest)
    numbers = np.rint(vector[kept] / largest * 2.0**bits)
    entries = [(int(i), int(n)) for i, n in zip(kept, numbers, strict=True) if n]
    if not isinstance(norm, (BlockL2Norm, L2Norm)):
        return exact_functional(norm, [(i, Fraction(n)) for i, n in entries], vector.size)
    return _on_blocks(entries, block_size(norm, vector.size))


def _on_blocks(entries: list[tuple[int, int]], block: int) -> Functional:
    """Block norms are rounded up to dyadic numbers, whose sum is at most 1."""
    squares: dict[int, int] = {}
    for index, number in entries:
        squares[index // block] = squares.get(index // block, 0) + number * number
    roots = [isqrt(square - 1) + 1 for square in squares.values()]
    # A power of two as denominator keeps the bounds of many functionals short together.
    total = sum(roots)
    shift = 2 * total.bit_length() + 8
    scale = (1 << shift) // total
    bounds = tuple(Fraction(root * scale, 1 << shift) for root in roots)
    scaled = [(index, number * scale) for index, number in entries]
    return Functional(sparse_vector(scaled, 1 << shift), bounds)


@dataclass(frozen=True, slots=True)
class Gains:
    """``lambda . b_j`` and ``lambda . y``, integers over ``scale``."""

    atoms: tuple[int, ...]
    order: tuple[int, ...]
    target: int
    scale: int

    def least_error(self, box: CountBox) -> Fraction:
        """No counts of the box have a smaller error."""
        value = self.target * box.total - box.largest(self.atoms, self.order)
        return Fraction(value, box.total * self.scale)


class Functionals:
    """The exact functionals of one problem; ``unit`` is the error that is 1 in floats."""

    def __init__(self, problem: LiftedProblem, unit: Fraction) -> None:
        self.problem = problem
        self.unit = unit
        self.found: list[Functional] = []
        self.gains: list[Gains] = []
        self._watched: list[int] = []
        self._losses: list[Floats] = []
        self._last_used: list[int] = []
        self._uses = 0
        self._tables: tuple[Floats, NDArray[np.intp]] | None = None

    def add(self, functional: Functional) -> int:
        """Keep a functional; its number."""
        self.found.append(functional)
        gains = self.gains_of(functional)
        self.gains.append(gains)
        if len(self._watched) >= WATCHED:
            oldest = self._last_used.index(min(self._last_used))
            for column in (self._watched, self._losses, self._last_used):
                column.pop(oldest)
        scale = gains.scale * self.unit
        self._watched.append(len(self.found) - 1)
        self._losses.append(np.array([float((gains.target - g) / scale) for g in gains.atoms]))
        self._uses += 1
        self._last_used.append(self._uses)
        self._tables = None
        return len(self.found) - 1

    def gains_of(self, functional: Functional) -> Gains:
        """The functional on the atoms and the target, exactly."""
        numbers = [n.numerator for n in functional.vector.numerators]
        indices = functional.vector.indices
        values = tuple(
            sum(map(mul, numbers, (column[i] for i in indices))) for column in self.problem.atoms
        )
        return Gains(
            values,
            tuple(sorted(range(len(values)), key=lambda j: -values[j])),
            sum(map(mul, numbers, (self.problem.target[i] for i in indices))),
            functional.vector.denominator.numerator * self.problem.denominator,
        )

    def best(self, box: CountBox) -> tuple[int, float] | None:
        """The functional that seems to keep the box highest, and how high, in floats."""
        if not self._watched:
            return None
        values = self._quick(box)
        winner = int(np.argmax(values))
        self._uses += 1
        self._last_used[winner] = self._uses
        return self._watched[winner], float(values[winner])

    def _quick(self, box: CountBox) -> Floats:
        """The greedy fill for every watched functional at once."""
        losses, order = self._sorted()
        lower = np.array(box.lower, dtype=np.float64)
        room = np.array(box.upper, dtype=np.float64) - lower
        rest = box.total - lower.sum()
        rooms = room[order]
        before = np.cumsum(rooms, axis=1) - rooms
        taken = np.clip(rest - before, 0.0, rooms) + lower[order]
        return np.asarray((losses * taken).sum(axis=1) / box.total)

    def _sorted(self) -> tuple[Floats, NDArray[np.intp]]:
        if self._tables is None:
            losses = np.array(self._losses)
            order = np.argsort(losses, axis=1, kind="stable")
            self._tables = np.take_along_axis(losses, order, axis=1), order
        return self._tables


def is_readable(functional: Functional) -> bool:
    """Whether every number is short enough to be read and checked."""
    vector = functional.vector
    numbers = [vector.denominator, *vector.numerators, *functional.block_norms]
    limit = min(1 << MAX_BITS, 10**MAX_DIGITS)
    return all(abs(n.numerator) < limit and n.denominator < limit for n in numbers)

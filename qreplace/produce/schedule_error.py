"""Producer of ``schedule_error``: good counts at each depth (theory T7.13).

Counts are proposed by rounding ``D alpha`` and improved by swapping single steps between atoms,
from the rounded point, from the previous depth and from seeded random starts; small simplices are
enumerated completely. Swaps are judged on the coordinates that matter, which grow as needed; the
error in the claim is computed exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.produce.linear_program import Floats, centred_atoms
from qreplace.question.model import BlockL2Norm, L1Norm, L2Norm, Norm, WeightedL1Norm
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.subject import Subject

Counts = NDArray[np.int64]

ENUMERATION_LIMIT = 6000
RANDOM_STARTS = 12
FIRST_ROWS = 64
ROW_ROUNDS = 6
SEED = 20260730


class ScheduleProducer:
    """Proposes count vectors for one lifted problem."""

    def __init__(self, subject: Subject, bits: int, alpha: Sequence[Fraction]) -> None:
        self.subject = subject
        self.bits = bits
        self.problem = subject.lifted(bits)
        self.norm: Norm = subject.question.norm
        self.centred: Floats = centred_atoms(self.problem)
        self.alpha: Floats = np.array([float(a) for a in alpha])
        self._score = _Score(self.norm, self.centred)
        self._rows = self._score.important(self.alpha, FIRST_ROWS)
        self._previous: Counts | None = None

    def produce(self, depth: int) -> ScheduleErrorClaim:
        """The best schedule found at ``depth``, with its exact error."""
        counts = self._search(depth)
        self._previous = counts
        numbers = [int(n) for n in counts]
        residual = self.problem.residual(numbers, depth)
        return ScheduleErrorClaim(
            format="qreplace/claim/schedule_error/v1",
            subject=self.subject.problem_digest(self.bits),
            code=self.bits,
            counts=tuple(numbers),
            error=norm_bounds(self.norm, residual, depth * self.problem.denominator)[1],
        )

    def _search(self, depth: int) -> Counts:
        """Search on the important rows; widen them until the winner's error is the true one."""
        best: Counts | None = None
        best_error = math.inf
        for _ in range(ROW_ROUNDS):
            candidate = self._search_rows(depth)
            error = self._score.full(candidate / depth)
            if error < best_error:
                best, best_error = candidate, error
            if error <= self._score.on(self._rows, candidate / depth) * (1 + 1e-9):
                break
            fresh = self._score.important(candidate / depth, FIRST_ROWS)
            self._rows = np.union1d(self._rows, fresh)
        return best if best is not None else round_counts(self.alpha, depth)

    def _search_rows(self, depth: int) -> Counts:
        count = len(self.alpha)
        rows = self._rows
        if math.comb(depth + count - 1, count - 1) <= ENUMERATION_LIMIT:
            options = np.array(list(_compositions(depth, count)), dtype=np.int64)
            return np.asarray(options[int(np.argmin(self._score.many(rows, options / depth)))])
        starts = list(self._starts(depth))
        found = [self._descend(start, depth, rows) for start in starts]
        errors = [self._score.on(rows, counts / depth) for counts in found]
        return found[int(np.argmin(errors))]

    def _starts(self, depth: int) -> Iterator[Counts]:
        yield round_counts(self.alpha, depth)
        if self._previous is not None:
            yield round_counts(self._previous / self._previous.sum(), depth)
        generator = np.random.Generator(np.random.PCG64([SEED, depth]))
        for _ in range(RANDOM_STARTS):
            noise = generator.integers(0, 1 << 20, size=len(self.alpha)) / float(1 << 20)
            yield round_counts(self.alpha + noise / depth, depth)

    def _descend(self, counts: Counts, depth: int, rows: NDArray[np.intp]) -> Counts:
        """Move one step from one atom to another while that lowers the error on ``rows``."""
        counts = counts.copy()
        error = self._score.on(rows, counts / depth)
        while True:
            donors = np.flatnonzero(counts)
            pairs = np.array([(a, b) for a in donors for b in range(len(counts)) if a != b])
            if pairs.size == 0:
                return counts
            options = np.repeat(counts[None, :], len(pairs), axis=0)
            lines = np.arange(len(pairs))
            options[lines, pairs[:, 0]] -= 1
            options[lines, pairs[:, 1]] += 1
            errors = self._score.many(rows, options / depth)
            winner = int(np.argmin(errors))
            if not errors[winner] < error * (1 - 1e-12):
                return counts
            counts, error = np.asarray(options[winner]), float(errors[winner])


class _Score:
    """Float errors of mixtures in the study's norm, on all rows or on some."""

    def __init__(self, norm: Norm, centred: Floats) -> None:
        self.norm = norm
        self.centred = centred
        dimension = centred.shape[0]
        weights = getattr(norm, "weights", None) or [Fraction(1)] * dimension
        largest = max(weights)
        self.scale = np.array([float(weight / largest) for weight in weights])
        self.whole = isinstance(norm, (L1Norm, WeightedL1Norm, L2Norm))
        self.block = block_size(norm, dimension) if isinstance(norm, (BlockL2Norm, L2Norm)) else 1

    def important(self, mixture: Floats, count: int) -> NDArray[np.intp]:
        """The rows (whole blocks) with the largest residual at ``mixture``."""
        if self.whole:
            return np.arange(self.centred.shape[0])
        residual = np.abs(self.centred @ mixture) * self.scale
        blocks = np.sqrt((residual.reshape(-1, self.block) ** 2).sum(axis=1))
        largest = np.sort(np.argsort(-blocks, kind="stable")[: max(1, count // self.block + 1)])
        if self.block == 1:
            largest = np.sort(np.argsort(-blocks, kind="stable")[:count])
        return (largest[:, None] * self.block + np.arange(self.block)).ravel()

    def full(self, mixture: Floats) -> float:
        """The error on every row."""
        return self.on(np.arange(self.centred.shape[0]), mixture)

    def on(self, rows: NDArray[np.intp], mixture: Floats) -> float:
        """The error on ``rows``."""
        return float(self.many(rows, mixture[None, :])[0])

    def many(self, rows: NDArray[np.intp], mixtures: Floats) -> Floats:
        """The error on ``rows`` of each mixture (one a line)."""
        residual = np.abs(mixtures @ self.centred[rows].T) * self.scale[rows]
        if isinstance(self.norm, (L1Norm, WeightedL1Norm)):
            return np.asarray(residual.sum(axis=1))
        if self.block == 1:
            return np.asarray(residual.max(axis=1))
        squares = (residual**2).reshape(len(mixtures), -1, self.block).sum(axis=2)
        return np.asarray(np.sqrt(squares.max(axis=1)))


def round_counts(weights: Floats, depth: int) -> Counts:
    """The largest-remainder rounding of ``depth`` times normalised weights."""
    scaled = np.maximum(weights, 0.0)
    scaled = scaled / scaled.sum() * depth
    counts: Counts = np.floor(scaled).astype(np.int64)
    order = np.argsort(counts - scaled, kind="stable")
    counts[order[: depth - int(counts.sum())]] += 1
    return counts


def _compositions(total: int, parts: int) -> Iterator[list[int]]:
    """Every way to write ``total`` as ``parts`` nonnegative integers, in order."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield [b - a - 1 for a, b in itertools.pairwise(edges)]

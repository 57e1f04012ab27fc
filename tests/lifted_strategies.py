"""Random small lifted problems, their exact values, and every small change of a claim."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF, block_l2, make_subject, weighted_l1, weighted_linf

from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.functional import SparseVector
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import BlockL2Norm, L2Norm, Norm
from qreplace.question.subject import Subject

KINDS = ("linf", "l1", "weighted_linf", "weighted_l1", "block_l2", "l2")
LINEAR = KINDS[:4]

SMALL = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 4))
POSITIVE = st.builds(Fraction, st.integers(1, 9), st.integers(1, 9))

Vector = list[Fraction]


@dataclasses.dataclass(frozen=True)
class Problem:
    """What a test draws: plain rationals and a norm."""

    target: Vector
    atoms: list[Vector]
    norm: Norm

    @property
    def subject(self) -> Subject:
        return make_subject(self.target, self.atoms, self.norm)

    def error(self, alpha: Sequence[Fraction]) -> Fraction:
        """The norm of ``B alpha - y``; its square for the l2 norms."""
        residual = [
            sum((a * b for a, b in zip(alpha, row, strict=True)), -y)
            for row, y in zip(zip(*self.atoms, strict=True), self.target, strict=True)
        ]
        return size(self.norm, residual)

    def exceeds(self, alpha: Sequence[Fraction], bound: Fraction) -> bool:
        """Whether the error at ``alpha`` is at least ``bound``."""
        square = isinstance(self.norm, BlockL2Norm | L2Norm)
        return bound <= 0 or self.error(alpha) >= (bound * bound if square else bound)


def size(norm: Norm, vector: Vector) -> Fraction:
    """The norm; its square for the l2 norms."""
    weights = getattr(norm, "weights", [Fraction(1)] * len(vector))
    sizes = [w * abs(x) for w, x in zip(weights, vector, strict=True)]
    if norm.kind.endswith("l1"):
        return sum(sizes, Fraction(0))
    if norm.kind.endswith("linf"):
        return max(sizes)
    width = norm.block if isinstance(norm, BlockL2Norm) else len(vector)
    parts = [vector[i : i + width] for i in range(0, len(vector), width)]
    return max(sum((x * x for x in part), Fraction(0)) for part in parts)


@st.composite
def problems(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> Problem:
    """At most 5 coordinates and 4 atoms, small rationals, any norm."""
    kind = draw(st.sampled_from(list(kinds)))
    dimension = draw(st.integers(1, 5))
    count = draw(st.integers(1, 4))
    vectors = st.lists(SMALL, min_size=dimension, max_size=dimension)
    weights = draw(st.lists(POSITIVE, min_size=dimension, max_size=dimension))
    blocks = [k for k in range(1, dimension + 1) if dimension % k == 0]
    norm: Norm = {
        "linf": LINF,
        "l1": L1,
        "l2": L2,
        "weighted_linf": weighted_linf(*weights),
        "weighted_l1": weighted_l1(*weights),
        "block_l2": block_l2(draw(st.sampled_from(blocks))),
    }[kind]
    atoms = draw(st.lists(vectors, min_size=count, max_size=count))
    return Problem(draw(vectors), atoms, norm)


def simplex_grid(count: int, steps: int) -> Iterator[Vector]:
    """Every mixture with weights in multiples of ``1/steps``."""
    for bars in itertools.combinations(range(steps + count - 1), count - 1):
        edges = (-1, *bars, steps + count - 1)
        yield [Fraction(b - a - 1, steps) for a, b in itertools.pairwise(edges)]


# --- changes of a claim --------------------------------------------------------------------------


def _changed_vectors(vector: SparseVector) -> Iterator[SparseVector]:
    for by in (1, -1):
        yield dataclasses.replace(vector, denominator=vector.denominator + by)
        for k in range(len(vector.indices)):
            numbers = list(vector.numerators)
            numbers[k] += by
            yield dataclasses.replace(vector, numerators=tuple(numbers))
            indices = list(vector.indices)
            indices[k] += by
            yield dataclasses.replace(vector, indices=tuple(indices))
    yield dataclasses.replace(vector, denominator=-vector.denominator)
    for k in range(len(vector.indices)):
        numbers = list(vector.numerators)
        numbers[k] = -numbers[k]
        yield dataclasses.replace(vector, numerators=tuple(numbers))
        kept = [i for i in range(len(vector.indices)) if i != k]
        yield SparseVector(
            vector.denominator,
            tuple(vector.indices[i] for i in kept),
            tuple(vector.numerators[i] for i in kept),
        )
    if len(vector.indices) > 1:
        yield dataclasses.replace(vector, numerators=tuple(reversed(vector.numerators)))
        yield dataclasses.replace(vector, indices=tuple(reversed(vector.indices)))


def mutants(claim: AffineLPClaim) -> Iterator[AffineLPClaim]:
    """Every number by one up and down, every sign, every index, every entry left out."""
    for primal in _changed_vectors(claim.primal):
        yield dataclasses.replace(claim, primal=primal)
    for dual in _changed_vectors(claim.dual):
        yield dataclasses.replace(claim, dual=dual)
    bounds = claim.dual_block_norms
    for k, bound in enumerate(bounds):
        for other in (bound + 1, bound - 1, -bound, Fraction(0)):
            changed = (*bounds[:k], other, *bounds[k + 1 :])
            yield dataclasses.replace(claim, dual_block_norms=changed)
        yield dataclasses.replace(claim, dual_block_norms=(*bounds[:k], *bounds[k + 1 :]))
    yield dataclasses.replace(claim, dual_block_norms=(*bounds, Fraction(0)))
    for by in (1, -1):
        yield dataclasses.replace(claim, lower=claim.lower + by)
        yield dataclasses.replace(claim, upper=claim.upper + by)
    yield dataclasses.replace(claim, lower=-claim.lower)
    yield dataclasses.replace(claim, lower=claim.upper, upper=claim.lower)


def with_own_ends(problem: Problem, claim: AffineLPClaim) -> AffineLPClaim | None:
    """The claim with the values its vectors have, so that only their validity is in question.

    ``None`` where the vectors are not even vectors of the problem.
    """
    alpha = dense(claim.primal, len(problem.atoms))
    witness = dense(claim.dual, len(problem.target))
    if alpha is None or witness is None:
        return None

    def value(vector: Vector) -> Fraction:
        return sum((a * b for a, b in zip(witness, vector, strict=True)), Fraction(0))

    upper = problem.error(alpha)
    if isinstance(problem.norm, BlockL2Norm | L2Norm):
        upper = sqrt_bounds(upper)[1]
    lower = value(problem.target) - max(map(value, problem.atoms))
    return dataclasses.replace(claim, lower=lower, upper=upper)


def dense(vector: SparseVector, length: int) -> Vector | None:
    """All entries; ``None`` for a zero denominator or an index outside."""
    if vector.denominator == 0 or any(not 0 <= i < length for i in vector.indices):
        return None
    entries = [Fraction(0)] * length
    for index, number in zip(vector.indices, vector.numerators, strict=False):
        entries[index] = number / vector.denominator
    return entries

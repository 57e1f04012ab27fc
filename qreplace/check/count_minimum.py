"""Checker of ``count_minimum`` (theory T7.13).

Claim: no counts ``n >= 0`` of sum D have ``||B n / D - y|| < lower``, so every pure schedule of D
steps has ideal endpoint error at least ``lower``.

Obligations, numbered as in ``schemas/count_minimum.v1.md``:

1. the claim's subject is this question's problem at the claim's code, and its atoms do not depend
   on the state;
2. a schedule has at least one step;
3. every functional lambda has dual norm at most 1;
4. the tree, read in preorder, divides the set of all counts into parts that are not empty and
   closes every one of them, with nothing left over;
5. a part closed by a functional: ``lambda . y - max over the part of lambda . B n / D``, the
   maximum by a greedy fill, is at least ``lower``;
6. a part closed as a single choice of counts holds no other, and the lower enclosure of its error
   is at least ``lower``.

Only integers over common denominators are compared. The work is estimated before it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from qreplace.check.bounds import ScopedBound, floor_bounds, require, require_subject
from qreplace.check.functional import VectorPlaces, check_functional
from qreplace.check.work import Work, number_bits
from qreplace.claims.count_minimum import Bounded, CountMinimumClaim, Split
from qreplace.claims.functional import Functional
from qreplace.errors import InputError, Rejected
from qreplace.exact.counts import CountBox, all_counts
from qreplace.premises import Evidence
from qreplace.question.norms import norm_bounds
from qreplace.question.subject import LiftedProblem, Subject

SHORT_PRODUCTS = 10
"""So many products with a short integer cost about as much as one of two terms."""
LIMB_BITS = 1000
"""Numbers this much longer make a product about once more as slow."""
MAX_WAITING = 5_000_000
"""Most counts in the parts that wait at once."""


@dataclass(frozen=True, slots=True)
class Gains:
    """A functional on the atoms: ``lambda . b_j`` and ``lambda . y``, integers over ``scale``."""

    atoms: tuple[int, ...]
    order: tuple[int, ...]
    """The atoms by falling gain."""
    target: int
    scale: int

    def keeps(self, box: CountBox, lower: Fraction) -> bool:
        """Whether every choice of counts in ``box`` has error at least ``lower``."""
        value = self.target * box.total - box.largest(self.atoms, self.order)
        return value * lower.denominator >= lower.numerator * box.total * self.scale


def check(subject: Subject, claim: CountMinimumClaim) -> tuple[ScopedBound, ...]:
    """The lower bound on the ideal error at depth ``claim.depth``; raises ``Rejected``."""
    require_subject(subject, claim.subject, claim.code)  # 1
    try:
        problem = subject.lifted(claim.code)
    except InputError as error:
        raise Rejected(error.message) from None
    require(claim.depth >= 1, "a schedule has at least one step", "/depth")  # 2
    _limit_work(problem, claim)
    gains = [
        _gains(subject, problem, functional, f"/functionals/{index}")
        for index, functional in enumerate(claim.functionals)
    ]
    _walk(subject, problem, claim, gains)
    evidence = Evidence.FINITE_WITNESS_CERTIFIED
    return floor_bounds(subject, claim, lower=claim.lower, evidence=evidence, depth=claim.depth)


def _limit_work(problem: LiftedProblem, claim: CountMinimumClaim) -> None:
    """Functionals on all atoms, a fill a part, a residual a single choice."""
    atoms, work = len(problem.atoms), Work(0)
    singles = sum(part.kind == "single" for part in claim.tree)
    splits = sum(part.kind == "split" for part in claim.tree)
    longest = 0
    for functional in claim.functionals:
        bits = number_bits(functional)
        longest = max(longest, bits)
        touched = len(functional.vector.indices)
        work.products(touched * (atoms + 1) * (1 + bits // LIMB_BITS) // SHORT_PRODUCTS)
    work.products(len(claim.tree) * atoms * (1 + longest // LIMB_BITS) // SHORT_PRODUCTS)
    work.products(splits * atoms)
    work.products(singles * atoms * problem.dimension // SHORT_PRODUCTS)


def _gains(subject: Subject, problem: LiftedProblem, functional: Functional, pointer: str) -> Gains:
    places = VectorPlaces(f"{pointer}/vector", f"{pointer}/block_norms")
    norm = subject.question.norm
    numbers = check_functional(norm, functional, problem.dimension, places)  # 3
    indices = functional.vector.indices

    def along(column: Sequence[int]) -> int:
        return sum(map(mul, numbers, (column[i] for i in indices)))

    values = tuple(map(along, problem.atoms))
    return Gains(
        atoms=values,
        order=tuple(sorted(range(len(values)), key=lambda j: -values[j])),
        target=along(problem.target),
        scale=functional.vector.denominator.numerator * problem.denominator,
    )


def _walk(
    subject: Subject, problem: LiftedProblem, claim: CountMinimumClaim, gains: Sequence[Gains]
) -> None:
    """Every part of the tree against the set of counts that it stands for."""
    waiting = [all_counts(len(problem.atoms), claim.depth)]
    for index, part in enumerate(claim.tree):
        place = f"/tree/{index}"
        require(bool(waiting), "the tree goes on after every part is closed", place)  # 4
        box = waiting.pop()
        if isinstance(part, Split):
            divides = box.divides(part.atom, part.at)
            require(divides, "a split leaves no counts on one side", place)  # 4
            waiting.extend(reversed(box.split(part.atom, part.at)))
            few = len(waiting) * len(problem.atoms) <= MAX_WAITING
            require(few, "the claim asks for more arithmetic than is done", place)
        elif isinstance(part, Bounded):
            known = 0 <= part.functional < len(gains)
            require(known, "a part names a functional that is not there", place)
            kept = gains[part.functional].keeps(box, claim.lower)
            require(kept, "the functional does not keep a part above the lower end", place)  # 5
        else:
            require(box.single, "more than one choice of counts is left", place)  # 6
            residual = problem.residual(box.lower, box.total)
            unit = box.total * problem.denominator
            error = norm_bounds(subject.question.norm, residual, unit)[0]
            require(error >= claim.lower, "one choice of counts has a smaller error", place)  # 6
    require(not waiting, "the tree leaves parts open", "/tree")  # 4

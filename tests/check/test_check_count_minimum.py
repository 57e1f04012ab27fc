"""A checked count minimum never exceeds the least error of all counts, whatever the tree says."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest
from corpora import count_minimum as corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import make_subject
from lifted_strategies import Problem, problems, simplex_grid
from mutations import mutants

from qreplace.check.bounds import DepthSet
from qreplace.check.registry import check_claim
from qreplace.claims import Claim, read_claim
from qreplace.claims.count_minimum import Bounded, CountMinimumClaim, Single, Split
from qreplace.claims.functional import Functional
from qreplace.errors import Malformed, Rejected
from qreplace.exact.codec import encode
from qreplace.exact.counts import CountBox, all_counts
from qreplace.exact.document import canonical_bytes
from qreplace.exact.roots import sqrt_bounds
from qreplace.premises import Evidence
from qreplace.produce.functionals import exact_functional
from qreplace.question.model import BlockL2Norm, L2Norm

PER_CASE = 150
SEED = 11
LEAST_REFUSED = 0.5
"""A smaller end, or a part moved where it holds as well, is no forgery."""

Part = Split | Bounded | Single


def least(problem: Problem, depth: int) -> Fraction:
    """The least error by complete enumeration; its square for the l2 norms."""
    return min(problem.error(alpha) for alpha in simplex_grid(len(problem.atoms), depth))


def holds(problem: Problem, depth: int, lower: Fraction) -> bool:
    """Whether no counts have a smaller error."""
    square = isinstance(problem.norm, BlockL2Norm | L2Norm)
    return lower <= 0 or least(problem, depth) >= (lower * lower if square else lower)


def listing(box: CountBox, generator: random.Random) -> Iterator[Part]:
    """A tree that lists every choice of counts, in some order."""
    if box.single:
        yield Single("single")
        return
    places = [
        (atom, at)
        for atom, (low, high) in enumerate(zip(box.lower, box.upper, strict=True))
        for at in range(low, high)
    ]
    atom, at = generator.choice(places)
    yield Split("split", atom, at)
    for part in box.split(atom, at):
        yield from listing(part, generator)


def document(
    problem: Problem,
    depth: int,
    lower: Fraction,
    functionals: tuple[Functional, ...],
    tree: tuple[Part, ...],
) -> CountMinimumClaim:
    return CountMinimumClaim(
        "qreplace/claim/count_minimum/v1",
        problem.subject.problem_digest(0),
        0,
        depth,
        lower,
        functionals,
        tree,
    )


@settings(max_examples=80)
@given(problems(), st.integers(1, 5), st.integers(0, 1000))
def test_a_listing_proves_the_least_error_and_no_more(
    problem: Problem, depth: int, seed: int
) -> None:
    tree = tuple(listing(all_counts(len(problem.atoms), depth), random.Random(seed)))
    best = least(problem, depth)
    square = isinstance(problem.norm, BlockL2Norm | L2Norm)
    lower = sqrt_bounds(best)[0] if square else best
    claim = document(problem, depth, lower, (), tree)
    (bound,) = check_claim(problem.subject, claim)
    assert bound.value == lower
    assert bound.quantity == "ideal_error"
    assert bound.side == "lower"
    assert bound.depths == DepthSet(depth, depth)
    assert bound.covers == "every_schedule"
    assert bound.domain == "witnesses"
    assert bound.evidence is Evidence.FINITE_WITNESS_CERTIFIED
    assert bound.kind == "count_minimum"
    for more in (Fraction(1, 10**40), Fraction(1)):
        with pytest.raises(Rejected, match="one choice of counts has a smaller error"):
            check_claim(problem.subject, dataclasses.replace(claim, lower=lower + more))
    for k in range(len(tree)):
        without = dataclasses.replace(claim, tree=tree[:k] + tree[k + 1 :])
        with pytest.raises(Rejected):
            check_claim(problem.subject, without)


@settings(max_examples=150)
@given(problems(), st.integers(1, 5), st.data())
def test_a_functional_never_proves_more_than_is_true(
    problem: Problem, depth: int, data: st.DataObject
) -> None:
    """Any functional of dual norm 1 on any division, with the largest end it admits."""
    size, count = len(problem.target), len(problem.atoms)
    entries = st.lists(st.integers(-4, 4), min_size=size, max_size=size)
    functionals = tuple(
        exact_functional(problem.norm, [(i, Fraction(n)) for i, n in enumerate(numbers)], size)
        for numbers in data.draw(st.lists(entries, min_size=1, max_size=3))
    )
    number = st.integers(0, len(functionals) - 1)
    tree: list[Part] = [Bounded("bounded", data.draw(number))]
    if count > 1 and data.draw(st.booleans()):
        at = data.draw(st.integers(0, depth - 1))
        tree = [Split("split", data.draw(st.integers(0, count - 1)), at), *tree]
        tree.append(Bounded("bounded", data.draw(number)))
    lower = data.draw(st.fractions(min_value=-1, max_value=4, max_denominator=24))
    claim = document(problem, depth, lower, functionals, tuple(tree))
    try:
        check_claim(problem.subject, claim)
    except Rejected:
        return
    assert holds(problem, depth, lower)


@cache
def truth(name: str, depth: int) -> Fraction:
    """The least error of a question of the corpus at a depth; squared for the l2 norms."""
    question = corpus.QUESTIONS[name]
    problem = corpus.subject(name).lifted(0)
    unit = problem.denominator
    plain = Problem(
        [Fraction(y, unit) for y in problem.target],
        [[Fraction(x, unit) for x in atom] for atom in problem.atoms],
        question.norm,
    )
    return least(plain, depth)


@pytest.mark.parametrize("case", corpus.ACCEPTED, ids=lambda case: case[1])
def test_no_mutated_tree_proves_what_is_false(case: tuple[str, str, Claim]) -> None:
    _, name, claim = case
    question = name.split("--")[0]
    subject = corpus.subject(question)
    square = isinstance(subject.question.norm, BlockL2Norm | L2Norm)
    refused = 0
    for note, changed in mutants(encode(claim), PER_CASE, SEED):
        try:
            mutant = read_claim(canonical_bytes(changed))
            (bound,) = check_claim(subject, mutant)
        except (Malformed, Rejected):
            refused += 1
            continue
        assert isinstance(mutant, CountMinimumClaim)
        value = max(bound.value, Fraction(0))
        best = truth(question, mutant.depth)
        assert best >= (value * value if square else value), note
    assert refused >= PER_CASE * LEAST_REFUSED


def test_splits_of_one_atom_cover_its_whole_range() -> None:
    """Every pair of thresholds: accepted exactly where both sides really are that far away."""
    claim = corpus.HALF
    for at, depth in itertools.product(range(-1, 8), range(1, 8)):
        changed = dataclasses.replace(
            claim, depth=depth, tree=(corpus.split(1, at), *claim.tree[1:])
        )
        low, high = Fraction(at, depth), Fraction(at + 1, depth)
        half = Fraction(1, 2)
        true = 0 <= at < depth and half - low >= claim.lower and high - half >= claim.lower
        if true:
            assert check_claim(corpus.subject("count-half"), changed)
        else:
            with pytest.raises(Rejected):
                check_claim(corpus.subject("count-half"), changed)


def test_endless_trees_and_long_functionals_are_refused_before_any_work() -> None:
    wide = make_subject([0] * 400, [[j] * 400 for j in range(40)])
    claim = CountMinimumClaim(
        "qreplace/claim/count_minimum/v1",
        wide.problem_digest(0),
        0,
        3,
        Fraction(0),
        (),
        (Single("single"),) * 300_000,
    )
    with pytest.raises(Rejected, match="more arithmetic than is done"):
        check_claim(wide, claim)
    few = dataclasses.replace(claim, tree=(Single("single"),) * 3)
    with pytest.raises(Rejected, match="more than one choice"):
        check_claim(wide, few)

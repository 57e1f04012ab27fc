"""A checked minimum is below what every schedule attains, and nothing less is accepted."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from corpora.schedule_minimum import ACCEPTED, DISK, LEAF, ONE, REJECTED, RELU, TWO, subject
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import LINF
from mutations import mutants
from piecewise_questions import atom, matrix_question, pwa_question, reference
from random_schedules import exact_minimum, questions

from qreplace.check.schedule_minimum import MAX_PRODUCTS, check
from qreplace.claims import read_claim
from qreplace.claims.schedule_minimum import BRANCH, ScheduleMinimumClaim
from qreplace.errors import Malformed, Rejected
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes
from qreplace.premises import Evidence
from qreplace.produce.schedule_minimum import produce
from qreplace.question.maps import homogeneous, rational_point
from qreplace.question.model import Question
from qreplace.question.subject import Subject


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[a[1] for a in ACCEPTED])
def test_accepted(kind: str, name: str, claim: ScheduleMinimumClaim) -> None:
    (bound,) = check(subject(name.split("--")[0]), claim)
    assert bound.kind == kind and bound.value == claim.lower
    assert bound.quantity == "ideal_error" and bound.side == "lower"
    assert bound.covers == "every_schedule"
    assert claim.depth in bound.depths and claim.depth + 1 not in bound.depths


@pytest.mark.parametrize(
    ("kind", "name", "claim", "pointer", "words"), REJECTED, ids=[r[1] for r in REJECTED]
)
def test_rejected(
    kind: str, name: str, claim: ScheduleMinimumClaim, pointer: str, words: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message and caught.value.pointer == pointer
    assert kind == "schedule_minimum"


def test_witnesses_bound_the_witnesses_only() -> None:
    (bound,) = check(subject("schedules-line"), ONE)
    assert bound.domain == "witnesses"
    assert bound.evidence is Evidence.FINITE_WITNESS_CERTIFIED
    (bound,) = check(subject("schedules-disk"), LEAF)
    assert bound.domain == "full" and bound.evidence is Evidence.ANALYTIC_CERTIFIED


def test_the_work_of_the_largest_ordinary_trees_is_done() -> None:
    """A thousand leaves at 20 steps of two atoms of two states are far below the limit."""
    a_leaf = 20 * 2 * (2 * 4 + 4 + 4 + 16) * 19
    assert 10 * 1000 * a_leaf < MAX_PRODUCTS


# --- random questions -----------------------------------------------------------------------------


def complete_tree(count: int, depth: int, leaf: Sequence[int]) -> list[int]:
    """Every schedule a leaf of its own, naming the inputs in ``leaf`` one after the other."""
    found, names = [], iter(leaf)

    def grow(length: int) -> None:
        if length == depth:
            found.append(next(names))
            return
        found.append(BRANCH)
        for _ in range(count):
            grow(length + 1)

    grow(0)
    return found


def claim_of(
    about: Subject, depth: int, lower: Fraction, tree: Sequence[int]
) -> ScheduleMinimumClaim:
    """A claim that names every witness."""
    witnesses = about.piecewise(0).witnesses or ()
    return ScheduleMinimumClaim(
        "qreplace/claim/schedule_minimum/v1",
        about.problem_digest(0),
        0,
        depth,
        lower,
        tuple(map(rational_point, witnesses)),
        tuple(tree),
    )


@settings(max_examples=15)
@given(questions(), st.integers(1, 3))
def test_the_minimum_is_accepted_and_nothing_above_it(case: Question, depth: int) -> None:
    about = Subject(case, {})
    problem, norm = about.piecewise(0), about.question.norm
    count = len(problem.fields)
    found = exact_minimum(problem, norm, depth)
    worst = [found.worst[schedule] for schedule in itertools.product(range(count), repeat=depth)]
    tree = complete_tree(count, depth, worst)
    below = found.lower * (1 - Fraction(1, 1 << 60)) - Fraction(1, 1 << 100)
    assert check(about, claim_of(about, depth, below, tree))[0].value == below
    above = found.upper + Fraction(1, 10**30)
    with pytest.raises(Rejected, match="closer"):
        check(about, claim_of(about, depth, above, tree))


@settings(max_examples=15)
@given(questions(), st.integers(1, 3), st.randoms(use_true_random=False))
def test_random_trees_prove_only_what_is_true(
    case: Question, depth: int, generator: random.Random
) -> None:
    """Any tree, any inputs: with the largest end that is accepted, the claim is still true."""
    about = Subject(case, {})
    problem, norm = about.piecewise(0), about.question.norm
    count, inputs = len(problem.fields), len(problem.witnesses or ())
    tree: list[int] = []

    def grow(length: int) -> None:
        if length == depth or generator.random() < 0.3:
            tree.append(generator.randrange(inputs))
            return
        tree.append(BRANCH)
        for _ in range(count):
            grow(length + 1)

    grow(0)
    truth = exact_minimum(problem, norm, depth).upper
    low, high = Fraction(0), 2 * truth + 1
    for _ in range(12):
        middle = (low + high) / 2
        try:
            check(about, claim_of(about, depth, middle, tree))
        except Rejected:
            high = middle
        else:
            low = middle
    assert low <= truth


@pytest.mark.parametrize("claim", [TWO, DISK, RELU], ids=["line", "disk", "relu"])
def test_mutants_are_refused_or_true(claim: ScheduleMinimumClaim) -> None:
    name = {TWO: "schedules-line", DISK: "schedules-disk", RELU: "schedules-relu"}[claim]
    about = subject(name)
    refused = 0
    for note, document in mutants(encode(claim), 60, seed=4):
        try:
            changed = read_claim(canonical_bytes(document))
            assert isinstance(changed, ScheduleMinimumClaim)
            (bound,) = check(about, changed)
        except (Malformed, Rejected):
            refused += 1
            continue
        depth = bound.depths.first
        problem = about.piecewise(0)
        points = [homogeneous(point) for point in changed.points]
        truth = exact_minimum(problem, about.question.norm, depth, points)
        assert bound.value <= truth.upper, note
    assert refused >= 40


def test_an_atom_alone_needs_no_branches() -> None:
    """With one atom a chain of branches is complete, and so is its root."""
    question = pwa_question(
        [atom([[1]])],
        reference([atom([["1/8"]])], (0,)),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
        norm=LINF,
    )
    about = Subject(question, {})
    for tree in ([0], [-1, 0], [-1, -1, 0]):
        assert check(about, claim_of(about, 2, Fraction(5, 8), tree))
    with pytest.raises(Rejected, match="branch after"):
        check(about, claim_of(about, 2, Fraction(5, 8), [-1, -1, -1, 0]))


def test_the_matrix_instance_by_three_inputs() -> None:
    """A tree of 53 entries and two witnesses refutes all 128 schedules of depth 7 (theory T8.5)."""
    about = Subject(matrix_question(full=False), {})
    claim = produce(about, 0, 7)
    assert abs(claim.lower - Fraction("0.0255376910274")) < Fraction(1, 10**12)
    assert len(claim.tree) < 128 and len(claim.points) <= 4
    assert check(about, claim)[0].value == claim.lower

"""No changed ``affine_lp`` claim proves a false bound; the plain checker decides the same."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import bracket_of, make_subject
from lifted_strategies import (
    LINEAR,
    Problem,
    mutants,
    problems,
    simplex_grid,
    with_own_ends,
)

from qreplace.check.plain import plain_bracket, plain_problem
from qreplace.check.registry import check_claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.functional import SparseVector
from qreplace.errors import Rejected
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.affine_lp import produce
from qreplace.question.model import BlockL2Norm, L2Norm
from qreplace.question.subject import Subject


def outcome(subject: Subject, claim: AffineLPClaim) -> tuple[Fraction, Fraction] | None:
    """The checked ends, or ``None`` when the claim is rejected; any other error fails the test."""
    try:
        return bracket_of(subject, claim)
    except Rejected:
        return None


@settings(max_examples=150)
@given(problems())
def test_changed_claims_are_rejected_or_still_true(problem: Problem) -> None:
    subject = problem.subject
    claim = produce(subject, 0)
    lower, upper = bracket_of(subject, claim)
    accepted = 0
    for changed in mutants(claim):
        for candidate in (changed, with_own_ends(problem, changed)):
            if candidate is None:
                continue
            ends = outcome(subject, candidate)
            if ends is not None:
                # The floor lies in [lower, upper], so a true bound cannot pass the other end.
                assert ends[0] <= upper and ends[1] >= lower
                accepted += 1
    assert accepted < len(list(mutants(claim)))


@settings(max_examples=150)
@given(problems(), st.data())
def test_any_vectors_that_pass_prove_true_bounds(problem: Problem, data: st.DataObject) -> None:
    """Random witnesses and points, not only neighbours of optimal ones."""

    def vector(length: int, low: int) -> SparseVector:
        numbers = data.draw(
            st.lists(st.integers(low, 6), min_size=length, max_size=length), label="numerators"
        )
        denominator = data.draw(st.integers(1, 12), label="denominator")
        total = sum(map(abs, numbers)) if low == 0 else denominator
        return SparseVector(
            Fraction(max(total, 1)), tuple(range(length)), tuple(map(Fraction, numbers))
        )

    dual = vector(len(problem.target), -6)
    bounds: tuple[Fraction, ...] = ()
    if isinstance(problem.norm, BlockL2Norm | L2Norm):
        width = getattr(problem.norm, "block", len(problem.target))
        entries = [n / dual.denominator for n in dual.numerators]
        parts = [entries[i : i + width] for i in range(0, len(entries), width)]
        bounds = tuple(sqrt_bounds(sum((x * x for x in p), Fraction(0)))[1] for p in parts)
    subject = problem.subject
    claim = AffineLPClaim(
        format="qreplace/claim/affine_lp/v1",
        subject=subject.problem_digest(0),
        code=0,
        method="rounded",
        primal=vector(len(problem.atoms), 0),
        dual=dual,
        dual_block_norms=bounds,
        lower=Fraction(0),
        upper=Fraction(0),
    )
    stated = with_own_ends(problem, claim)
    assert stated is not None
    ends = outcome(subject, stated)
    if ends is not None:
        for alpha in simplex_grid(len(problem.atoms), 6):
            assert problem.exceeds(alpha, ends[0])
    assert (ends is None) == (plain_outcome(subject, stated) is None)


def plain_outcome(subject: Subject, claim: AffineLPClaim) -> tuple[Fraction, Fraction] | None:
    try:
        return plain_bracket(subject, claim)
    except Rejected:
        return None


@settings(max_examples=100)
@given(problems())
def test_the_plain_checker_decides_the_same(problem: Problem) -> None:
    subject = problem.subject
    claim = produce(subject, 0)
    formed = plain_problem(subject, 0)
    assert plain_bracket(subject, claim) == bracket_of(subject, claim)
    assert plain_bracket(subject, claim, formed) == bracket_of(subject, claim)
    for changed in mutants(claim):
        assert outcome(subject, changed) == plain_outcome(subject, changed)
        stated = with_own_ends(problem, changed)
        if stated is not None:
            assert outcome(subject, stated) == plain_outcome(subject, stated)


@pytest.mark.parametrize("power", [30, 300])
@settings(max_examples=60)
@given(problem=problems(LINEAR))
def test_a_dual_norm_just_above_1(power: int, problem: Problem) -> None:
    subject = problem.subject
    claim = produce(subject, 0)
    entries = [n / claim.dual.denominator for n in claim.dual.numerators]
    if not entries:  # the floor is 0; any functional does
        claim = dataclasses.replace(
            claim, dual=SparseVector(Fraction(1), (0,), (Fraction(1),)), dual_block_norms=()
        )
        entries = [Fraction(1)]
    norm = dual_norm(problem, claim)
    above = (1 + Fraction(1, 10**power)) / norm
    dual = SparseVector(
        claim.dual.denominator * above.denominator,
        claim.dual.indices,
        tuple(n * above.numerator for n in claim.dual.numerators),
    )
    stated = with_own_ends(problem, dataclasses.replace(claim, dual=dual))
    assert stated is not None
    with pytest.raises(Rejected, match="the dual norm of the witness exceeds 1"):
        check_claim(subject, stated)
    with pytest.raises(Rejected, match="dual norm exceeds 1"):
        plain_bracket(subject, stated)


def dual_norm(problem: Problem, claim: AffineLPClaim) -> Fraction:
    entries = [abs(n) / claim.dual.denominator for n in claim.dual.numerators]
    weights = getattr(problem.norm, "weights", [Fraction(1)] * len(problem.target))
    ratios = [x / weights[i] for i, x in zip(claim.dual.indices, entries, strict=True)]
    return max(ratios) if problem.norm.kind.endswith("l1") else sum(ratios, Fraction(0))


def test_numbers_of_ten_thousand_digits() -> None:
    huge = 10**10_000
    subject = make_subject([Fraction(1, 3), 2], [[1, 0], [0, 1]])
    claim = produce(subject, 0)
    for side in ("primal", "dual"):
        vector = getattr(claim, side)
        scaled = SparseVector(
            vector.denominator * huge, vector.indices, tuple(n * huge for n in vector.numerators)
        )
        same = dataclasses.replace(claim, **{side: scaled})
        assert bracket_of(subject, same) == (claim.lower, claim.upper)
        numbers = (scaled.numerators[0] + 1, *scaled.numerators[1:])
        wrong = dataclasses.replace(
            claim, **{side: dataclasses.replace(scaled, numerators=numbers)}
        )
        with pytest.raises(Rejected):
            check_claim(subject, wrong)

"""Which checked bounds and declared premises become ends, and which pairs are contradictions."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, Literal

import pytest
from corpus_claims import CLAIM_BY_NAME
from corpus_questions import QUESTIONS, STORE, declared
from hypothesis import given
from hypothesis import strategies as st

from qreplace.check.bounds import EVERY_DEPTH, DepthSet, ScopedBound
from qreplace.check.registry import check_claim
from qreplace.errors import Contradiction
from qreplace.floor.bracket import bracket, ends_at
from qreplace.premises import Evidence
from qreplace.question.model import DeclaredFloor, FullDomain, Question
from qreplace.question.subject import Subject

Side = Literal["lower", "upper"]
Quantity = Literal["relaxed_floor", "ideal_error", "executed_error"]

SUBJECT = Subject(QUESTIONS["frozen-grid"], STORE)


def bound(
    side: Side,
    value: str,
    quantity: Quantity = "relaxed_floor",
    depths: DepthSet = EVERY_DEPTH,
    **fields: Any,
) -> ScopedBound:
    """A bound about the corpus question ``frozen-grid``, as a checker would return it."""
    executed = quantity == "executed_error"
    digest = SUBJECT.execution_digest(0) if executed else SUBJECT.problem_digest(0)
    made = ScopedBound(
        quantity=quantity,
        side=side,
        value=Fraction(value),
        objective="endpoint",
        domain="witnesses",
        depths=depths,
        subject=digest,
        code=0,
        covers="every_schedule" if side == "lower" else "one_schedule",
        evidence=Evidence.FINITE_WITNESS_CERTIFIED,
        kind="example",
        claim="0" * 64,
    )
    return dataclasses.replace(made, **fields)


def floor_question(floor: DeclaredFloor | None, **blocks: Any) -> Question:
    return dataclasses.replace(QUESTIONS["frozen-grid"], floor=floor, **blocks)


def test_checked_bounds_become_ends_with_their_provenance() -> None:
    subject = Subject(QUESTIONS["linf-edge"], STORE)
    bounds = check_claim(subject, CLAIM_BY_NAME["linf-edge--rounded"])
    ends = ends_at(subject, 0, bounds)
    assert [(end.side, end.value) for end in ends] == [
        ("lower", Fraction(1, 16)),
        ("upper", Fraction(5, 12)),
    ]
    for end in ends:
        assert end.quantity == "relaxed_floor" and end.claim is not None
        assert end.declared == () and not end.covers_family
        assert end.evidence is Evidence.FINITE_WITNESS_CERTIFIED


def test_bounds_of_another_scope_are_left_out() -> None:
    kept = bound("upper", "1")
    others = [
        bound("lower", "2", subject="0" * 64),
        bound("lower", "2", covers="one_schedule"),
        bound("lower", "2", "executed_error", subject=SUBJECT.problem_digest(0)),
        bound("lower", "2", "ideal_error", subject=SUBJECT.execution_digest(0)),
    ]
    assert [end.value for end in ends_at(SUBJECT, 0, [kept, *others])] == [1]


@pytest.mark.parametrize("quantity", ["relaxed_floor", "ideal_error", "executed_error"])
@pytest.mark.parametrize(
    ("low", "high", "crosses"),
    [("1/2", "1/2", False), ("1/2", "499/1000", True), ("1/3", "1/2", False)],
)
def test_checked_ends_that_cross(quantity: Quantity, low: str, high: str, crosses: bool) -> None:
    bounds = [bound("lower", low, quantity), bound("upper", high, quantity)]
    for order in (bounds, bounds[::-1]):
        if crosses:
            with pytest.raises(Contradiction, match="exceeds a checked upper end"):
                ends_at(SUBJECT, 0, order)
        else:
            assert len(ends_at(SUBJECT, 0, order)) == 2


depth_sets = st.builds(
    lambda first, more: DepthSet(first, None if more is None else first + more),
    st.integers(1, 12),
    st.none() | st.integers(0, 6),
)


@given(depth_sets, depth_sets)
def test_ends_at_different_depths_do_not_contradict(one: DepthSet, other: DepthSet) -> None:
    bounds = [bound("lower", "2", "ideal_error", one), bound("upper", "1", "ideal_error", other)]
    if any(depth in one and depth in other for depth in range(1, 40)):
        with pytest.raises(Contradiction):
            ends_at(SUBJECT, 0, bounds)
    else:
        assert len(ends_at(SUBJECT, 0, bounds)) == 2


def test_different_quantities_do_not_contradict() -> None:
    """E_D may lie below E_inf at shallow depth in general (theory T11.1)."""
    bounds = [bound("lower", "2"), bound("upper", "1", "executed_error")]
    assert len(ends_at(SUBJECT, 0, bounds)) == 2


def test_declared_brackets_are_premises() -> None:
    floor = DeclaredFloor("declared", declared("1/8"), declared("1/2"), "family")
    subject = Subject(floor_question(floor), STORE)
    lower, upper = ends_at(subject, 0, [])
    assert (lower.declared, upper.declared) == (("floor_lower",), ("floor_upper",))
    assert (lower.value, upper.value) == (Fraction(1, 8), Fraction(1, 2))
    assert lower.claim is None and lower.covers_family
    assert bracket([lower, upper], certified=True).lower is None
    assert bracket([lower, upper], certified=False).upper is upper


def test_an_interval_counts_with_its_unfavourable_end() -> None:
    loose = dataclasses.replace(declared("1/4"), lower=Fraction(1, 8), upper=Fraction(1, 2))
    floor = DeclaredFloor("declared", loose, loose, "dictionary")
    lower, upper = ends_at(Subject(floor_question(floor), STORE), 0, [])
    assert (lower.value, upper.value) == (Fraction(1, 8), Fraction(1, 2))
    assert not lower.covers_family


def test_unavailable_and_missing_premises_are_no_ends() -> None:
    unavailable = declared("1/8", Evidence.UNAVAILABLE)
    for floor in (
        None,
        DeclaredFloor("declared", None, None, "dictionary"),
        DeclaredFloor("declared", unavailable, unavailable, "dictionary"),
    ):
        assert ends_at(Subject(floor_question(floor), STORE), 0, []) == []


def test_a_declared_bracket_speaks_about_the_questions_domain() -> None:
    floor = DeclaredFloor("declared", declared("1/8"), None, "dictionary")
    question = floor_question(floor, domain=FullDomain("full", None, None), scope="path")
    (end,) = ends_at(Subject(question, STORE), 0, [])
    assert (end.domain, end.objective) == ("full", "path")


def test_a_declared_end_never_contradicts_a_checked_one() -> None:
    """Whoever types a number can be wrong; what was checked stands (design rule 5)."""
    floor = DeclaredFloor("declared", declared("3"), None, "dictionary")
    subject = Subject(floor_question(floor), STORE)
    digest = subject.problem_digest(0)
    assert digest == SUBJECT.problem_digest(0)
    ends = ends_at(subject, 0, [bound("upper", "1")])
    assert bracket(ends, certified=True).lower is None


@given(st.lists(st.fractions(0, 1), min_size=1), st.lists(st.fractions(1, 2), min_size=1))
def test_the_tightest_ends_make_the_bracket(lows: list[Fraction], highs: list[Fraction]) -> None:
    bounds = [bound("lower", str(x)) for x in lows] + [bound("upper", str(x)) for x in highs]
    found = bracket(ends_at(SUBJECT, 0, bounds), certified=True)
    assert found.lower is not None and found.upper is not None
    assert (found.lower.value, found.upper.value) == (max(lows), min(highs))


@given(depth_sets, st.integers(1, 40))
def test_membership_of_depths(depths: DepthSet, depth: int) -> None:
    last = 10**9 if depths.last is None else depths.last
    assert (depth in depths) == (depths.first <= depth <= last)

"""No accepted ``pwa_supremum`` claim bounds an error falsely, whatever its cover."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from random import Random

import pytest
import supremum_claims
from corpora.pwa_supremum import ACCEPTED, REJECTED
from hypothesis import given, settings
from hypothesis import strategies as st
from random_maps import (
    exceeds,
    plain_norm,
    random_norm,
    random_question,
    random_schedule,
)
from supremum_claims import DISK, WITNESSES, subject, supremum

from qreplace.check import cell_cover, piecewise_work
from qreplace.check.cell_cover import compared
from qreplace.check.piecewise_work import MapCost, product_cost
from qreplace.check.pwa_supremum import check
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.pwa_supremum import (
    BoxCover,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.errors import Rejected
from qreplace.exact.roots import sqrt_bounds
from qreplace.premises import Evidence
from qreplace.question.clipped_boxes import region_bound
from qreplace.question.model import BallRegion
from qreplace.question.subject import Subject

TINIER = Fraction(1, 10**40)
RELAXED = {"sup-disk--one-cell", "sup-disk--stitched"}
"""Cases of the corpus with kinks inside cells."""


# --- the corpus -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name", "claim"), ACCEPTED, ids=[n for _, n, _ in ACCEPTED])
def test_the_corpus_speaks_the_truth(kind: str, name: str, claim: PwaSupremumClaim) -> None:
    about = subject(name.split("--")[0])
    found = {bound.side: bound for bound in check(about, claim)}
    assert {side: bound.value for side, bound in found.items()} == {
        side: value for side in ("lower", "upper") if (value := getattr(claim, side)) is not None
    }
    full = about.question.domain.kind == "full"
    for side, bound in found.items():
        assert (bound.kind, bound.objective, bound.covers) == (kind, "endpoint", "one_schedule")
        assert bound.subject == about.problem_digest(0)
        on_witnesses = not full or (side == "upper" and isinstance(claim.cover, WitnessCover))
        assert bound.domain == ("witnesses" if on_witnesses else "full")
        relaxed = isinstance(claim.cover, BoxCover) or name in RELAXED
        expected = Evidence.ANALYTIC_CERTIFIED
        if on_witnesses:
            expected = Evidence.FINITE_WITNESS_CERTIFIED
        elif side == "upper" and relaxed:
            expected = Evidence.INTERVAL_CERTIFIED
        assert bound.evidence is expected
        if isinstance(claim.map, ScheduleMap):
            depth = len(claim.map.schedule)
            assert bound.quantity == "ideal_error"
            assert (bound.depths.first, bound.depths.last) == (depth, depth)
        else:
            assert bound.quantity == "comparator_error" and bound.depths.last is None


@pytest.mark.parametrize(
    ("name", "claim", "pointer", "words"), [r[1:] for r in REJECTED], ids=[r[1] for r in REJECTED]
)
def test_attacks_are_refused(name: str, claim: PwaSupremumClaim, pointer: str, words: str) -> None:
    assert read_claim(claim_bytes(claim)) == claim
    with pytest.raises(Rejected) as caught:
        check(subject(name.split("--")[0]), claim)
    assert words in caught.value.message and caught.value.pointer == pointer


@pytest.mark.parametrize("name", ["MAX_VERTICES", "MAX_CELLS"])
def test_covers_of_too_many_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = {"MAX_VERTICES": 16, "MAX_CELLS": 9}[name]
    monkeypatch.setattr(cell_cover, name, limit)
    assert len(check(subject("sup-disk"), DISK)) == 2
    monkeypatch.setattr(cell_cover, name, limit - 1)
    with pytest.raises(Rejected, match=f"a cover has at most {limit - 1} "):
        check(subject("sup-disk"), DISK)


def test_only_witness_questions_take_their_witnesses_as_inputs() -> None:
    """On the full domain a witness outside of the region is no input, though it may be bounded."""
    about = subject("sup-square")
    cover = WitnessCover("witnesses")
    assert check(about, supremum("sup-square", upper=1, cover=cover))[0].domain == "witnesses"
    with pytest.raises(Rejected, match="outside the region"):
        check(about, supremum("sup-square", lower=1, point=[2, 2]))
    assert check(subject("sup-witnesses"), WITNESSES)[0].domain == "witnesses"


# --- boxes ----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_boxes_bound_every_error_and_no_tree_shows_less(seed: int, inputs: int) -> None:
    rng = Random(seed)
    question = random_question(rng, inputs, BallRegion("ball", None, Fraction(1)), depth=2)
    about = Subject(question, {})
    problem = about.piecewise(0)
    schedule = random_schedule(rng, 2)
    splits = random_tree(rng, inputs)
    wide = (Fraction(5, 4),) * inputs
    cover = BoxCover("boxes", tuple(-x for x in wide), wide, tuple(splits))
    maps = problem.student(schedule), problem.target
    bounds = [
        region_bound(*maps, low, high, problem.region, question.norm)
        for low, high in leaves(cover)
        if problem.region is not None and not problem.region.avoids_box(low, high)
    ]
    claim = PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1",
        about.problem_digest(0),
        0,
        ScheduleMap("schedule", schedule),
        None,
        None,
        max(bounds),
        cover,
    )
    assert check(about, claim)[0].evidence is Evidence.INTERVAL_CERTIFIED
    for _ in range(12):
        y = tuple(Fraction(rng.randint(-6, 6), 6 * inputs) for _ in range(inputs))
        assert not exceeds(question, schedule, y, max(bounds))
    with pytest.raises(Rejected, match="the bound on a box exceeds the upper end"):
        check(about, dataclasses.replace(claim, upper=max(bounds) - TINIER))
    for spoiled in (splits[:-1], [*splits, -1], [*splits, 0]):
        changed = dataclasses.replace(cover, splits=tuple(spoiled))
        with pytest.raises(Rejected, match="the halvings"):
            check(about, dataclasses.replace(claim, cover=changed))


def random_tree(rng: Random, inputs: int, depth: int = 4) -> list[int]:
    """Halvings in preorder."""
    if depth == 0 or rng.random() < 0.3:
        return [-1]
    halves = random_tree(rng, inputs, depth - 1) + random_tree(rng, inputs, depth - 1)
    return [rng.randrange(inputs), *halves]


Box = tuple[list[Fraction], list[Fraction]]


def leaves(cover: BoxCover) -> list[Box]:
    """The boxes that are left, by recursion."""
    splits = iter(cover.splits)

    def part(low: list[Fraction], high: list[Fraction]) -> list[Box]:
        axis = next(splits)
        if axis < 0:
            return [(low, high)]
        middle = (low[axis] + high[axis]) / 2
        below, above = list(high), list(low)
        below[axis] = above[axis] = middle
        return part(low, below) + part(above, high)

    return part(list(cover.lower), list(cover.upper))


# --- comparisons and work -------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.integers(1, 4))
def test_norms_are_compared_exactly(seed: int, dimension: int) -> None:
    rng = Random(seed)
    norm = random_norm(rng, dimension)
    numerators = [rng.randint(-9, 9) for _ in range(dimension)]
    denominator = rng.randint(1, 6)
    exact, squared = plain_norm(norm, [Fraction(n, denominator) for n in numerators])
    near = sqrt_bounds(exact) if squared else (exact, exact)
    others = near[0] - TINIER, near[1] + TINIER, Fraction(-1), Fraction(rng.randint(0, 9))
    for value in (*near, *others):
        other = value * value if squared else value
        sign = 1 if value < 0 else (exact > other) - (exact < other)
        assert compared(norm, numerators, denominator, value) == sign


@pytest.mark.parametrize("name", ["DISK", "BOXED", "WITNESSES", "CUBE", "ON_THE_LINE"])
def test_work_beyond_the_limit_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = getattr(supremum_claims, name)
    about = {
        "DISK": "sup-disk",
        "BOXED": "sup-disk",
        "WITNESSES": "sup-witnesses",
        "CUBE": "sup-cube",
        "ON_THE_LINE": "sup-line",
    }[name]
    assert check(subject(about), claim)
    monkeypatch.setattr(piecewise_work, "MAX_WORK", 3000)
    with pytest.raises(Rejected, match="the claim asks for more arithmetic than is done"):
        check(subject(about), claim)


def test_long_numbers_cost_more() -> None:
    target = subject("sup-disk").piecewise(0).target
    long = subject("sup-long").piecewise(0)
    short = MapCost.of(target)
    assert short.trace(10) < short.trace(1000) < short.trace(100_000)
    once, often = (MapCost.of(long.student([0] * n)) for n in (1, 64))
    # Both the products and the length of their factors grow with the depth.
    assert often.trace(10) > 64 * 16 * once.trace(10)
    assert product_cost(3000, 3000) > 10_000 > product_cost(30, 30)

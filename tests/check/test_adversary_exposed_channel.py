"""Attacks on ``exposed_channel``: what is accepted is beaten by no schedule, and costs little."""

from __future__ import annotations

import dataclasses
import itertools
import random
import time
from fractions import Fraction
from typing import Any

import pytest
from affine_systems import error, euler
from corpora.exposed_channel import LEAKY, PRODUCT, QUESTIONS, TEACHER, TEACHER_DEEP, subject
from corpora.observable import witness
from dynamic_questions import affine_question, polynomial_question
from dynamic_truth import ROUNDING, best_schedule_error
from hypothesis import given, settings
from hypothesis import strategies as st
from lifted_questions import L1, L2, LINF
from mutations import mutants

from qreplace.check.exposed_channel import check
from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import Malformed, Rejected
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes
from qreplace.exact.exposed_channel import Channel, least_distance, weight_sum
from qreplace.produce.exposed_channel import produce
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

SEEDS = st.integers(0, 10**6)
NORMS: list[Norm] = [L1, L2, LINF]
LABELS: list[tuple[str, str]] = [("0", "1"), ("-1", "1"), ("1/3", "1/2")]
AIMS = ("1", "3/4", "1/4", "-1")
DEPTHS = (1, 2, 3, 4, 5)
MUTANTS = 80


def triangular(seed: int) -> Subject:
    """Two coordinates, the first of which moves by itself; the second follows it."""
    draw = random.Random(seed)

    def number(unit: int = 2) -> Fraction:
        return Fraction(draw.randint(-6, 6), unit)

    question = affine_question(
        [[number(), number()] for _ in range(draw.randint(2, 3))],
        [number(), number()],
        [number(), number()],
        draw.choice(NORMS),
        rate=number(),
        state_matrix=None if draw.random() < 0.3 else [[0, 0], [number(), number(1)]],
        horizon=draw.choice([Fraction(1), Fraction(3, 2)]),
    )
    return Subject(question, {})


def least_error(about: Subject, depth: int) -> float:
    """Over every schedule, from exact states."""
    problem, norm = about.affine(0), about.question.norm
    schedules = itertools.product(range(len(problem.atoms)), repeat=depth)
    return min(error(problem, norm, euler(problem, schedule)) for schedule in schedules)


@settings(max_examples=40)
@given(SEEDS)
def test_no_schedule_beats_a_claim_at_any_of_its_depths(seed: int) -> None:
    about = triangular(seed)
    truth = {depth: least_error(about, depth) for depth in DEPTHS}
    try:
        claims = list(produce(about, 0, DEPTHS, Fraction(1, 100)))
    except Exception as reason:
        assert "no functional" in str(reason)
        return
    for claim in claims:
        (bound,) = check(about, claim)
        assert bound.quantity == "ideal_error" and bound.side == "lower"
        assert bound.covers == "every_schedule" and bound.value == claim.lower
        assert (bound.depths.first, bound.depths.last) == (claim.first, claim.last)
        for depth in range(claim.first, claim.last + 1):
            assert float(claim.lower) <= truth[depth] + 1e-12


@settings(max_examples=150)
@given(SEEDS, st.data())
def test_whatever_is_accepted_is_true_of_every_schedule(seed: int, data: Any) -> None:
    """Labels, rates, functionals and depths of an attacker's own choice."""
    about = triangular(seed)
    problem = about.affine(0)
    halves = st.integers(-8, 8).map(lambda n: Fraction(n, 2))
    first = data.draw(st.integers(1, 3))
    last = data.draw(st.integers(first, 4))
    row = data.draw(st.sampled_from([(1, 0), (0, 1), (-1, 0)]))
    along = [
        sum(Fraction(n * b, problem.denominator)
            for n, b in zip(row, atom[0].coefficients[0], strict=True))
        for atom in problem.atoms
    ]  # fmt: skip
    noise = data.draw(st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 10**9)]))
    norms = (1,) if about.question.norm == L2 else ()
    rate = data.draw(st.sampled_from([-problem.rate, -problem.entry(1, 1), Fraction(1)]))
    claim = ExposedChannelClaim(
        "qreplace/claim/exposed_channel/v1", about.problem_digest(0), 0, first, last,
        data.draw(st.sampled_from([0, first, last])), witness(1, *row, norms=norms), rate,
        tuple(x + noise for x in along), Fraction(0), None, data.draw(halves) / 4,
    )  # fmt: skip
    try:
        check(about, claim)
    except Rejected:
        return
    assert noise == 0
    for depth in range(first, last + 1):
        assert float(claim.lower) <= least_error(about, depth) + 1e-12


@settings(max_examples=40)
@given(SEEDS)
def test_defects_pay_for_what_the_rest_of_the_state_does(seed: int) -> None:
    """The first coordinate is off its label by what the second one, in [0, 1], adds."""
    draw = random.Random(seed)
    size = draw.choice(["1/16", "1/9", "-1/8"])
    labels = draw.choice(LABELS)
    power = draw.randint(1, 2)
    question = polynomial_question(
        [[f"({label}) - z1 + ({size})*z2^{power}", field] for label, field in zip(
            labels, ("1 - z2", "-z2"), strict=True)],
        [draw.choice(AIMS), 0],
        norm=LINF,
    )  # fmt: skip
    about = Subject(question, {})
    problem, norm = about.polynomial(0), question.norm
    low, high = sorted((Fraction(0), Fraction(size)))
    tube = BoxPart("box", (Fraction(-3), Fraction(0)), (Fraction(3), Fraction(1)), (8, 1, 1))
    claim = ExposedChannelClaim(
        "qreplace/claim/exposed_channel/v1", about.problem_digest(0), 0, 1, 4, 4, witness(1, 1, 0),
        Fraction(1), tuple(Fraction(q) + (low + high) / 2 for q in labels), (high - low) / 2, tube,
        Fraction(-1),
    )  # fmt: skip
    channel = Channel(Fraction(1), Fraction(0), claim.labels, problem.target[0], problem.horizon)
    for depth in (1, 2, 4):
        shown = least_distance(channel, depth) - claim.mode_defect * weight_sum(channel, depth)
        check(about, dataclasses.replace(claim, first=depth, last=depth, lower=shown))
        assert float(shown) <= best_schedule_error(problem, norm, depth) + ROUNDING


@pytest.mark.parametrize("claim", [TEACHER, TEACHER_DEEP, PRODUCT, LEAKY], ids=lambda c: c.subject)
def test_mutants_prove_nothing_false(claim: ExposedChannelClaim) -> None:
    """Single changes of a document are refused, or what they prove still holds."""
    name = next(n for n in QUESTIONS if subject(n).problem_digest(0) == claim.subject)
    about = subject(name)
    problem, norm = about.polynomial(0), about.question.norm
    refused = 0
    for _, document in mutants(encode(claim), MUTANTS, 5):
        try:
            mutant = read_claim(canonical_bytes(document))
            (bound,) = check_claim(about, mutant)
        except (Malformed, Rejected):
            refused += 1
            continue
        assert isinstance(mutant, ExposedChannelClaim)
        for depth in range(mutant.first, min(mutant.last, 11) + 1):
            truth = best_schedule_error(problem, norm, depth)
            assert float(bound.value) <= truth + ROUNDING  # type: ignore[union-attr]
    assert refused > MUTANTS // 2


# --- walls and steps ------------------------------------------------------------------------------


def test_a_tube_shown_for_short_steps_is_refused_for_long_ones() -> None:
    """z' = 4 - 8 z keeps [0, 1] by its walls for steps up to 1/8, not in one step of 1/2."""
    question = polynomial_question([["-z1", "4 - 8*z2"], ["1 - z1", "4 - 8*z2"]], [1, 0], norm=LINF)
    about = Subject(question, {})
    tube = BoxPart("box", (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), (4, 1, 1))
    claim = ExposedChannelClaim(
        "qreplace/claim/exposed_channel/v1", about.problem_digest(0), 0, 8, 20, 0,
        witness(1, 1, 0), Fraction(1), (Fraction(0), Fraction(1)), Fraction(0), tube,
        Fraction(1, 4),
    )  # fmt: skip
    assert check(about, claim)
    shallow = dataclasses.replace(claim, first=2, lower=Fraction(1, 8))
    with pytest.raises(Rejected, match="a trajectory can leave the box"):
        check(about, shallow)


# --- bounded work ---------------------------------------------------------------------------------


def test_hostile_ranges_and_searches_are_refused_at_once() -> None:
    started = time.process_time()
    big = 1 << 20
    for fields in (
        {"first": big - 4095, "last": big, "searched": big},
        {"first": 1, "last": 4096, "searched": 4096},
        {"first": big, "last": big, "searched": 1 << 62},
    ):
        with pytest.raises(Rejected, match="takes too long to check"):
            check(subject("channel-teacher"), dataclasses.replace(TEACHER, **fields))  # type: ignore[arg-type]
    assert time.process_time() - started < 5


def test_the_widest_range_is_still_checked() -> None:
    claim = dataclasses.replace(TEACHER_DEEP, last=4101)
    assert check(subject("channel-teacher"), claim)
    assert read_claim(claim_bytes(claim)) == claim

"""Hundreds of single mutations of certificates: none proves more than what is true.

A mutant is refused, or what it is accepted for still holds: its lower end is at most an error that
some control really has, its upper end at least the true one. ``kill_rate`` says how many are
refused; the rest lose something (a smaller end) or change what does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import e, sqrt
from typing import Any

import pytest
from corpora import (
    compositional,
    count_minimum,
    hjb_sos,
    net_floor,
    pwa_supremum,
    schedule_minimum,
    support,
)
from dynamic_truth import ROUNDING, best_schedule_error, enumerated_value
from mutations import mutants
from piecewise_truth import attained

from qreplace.check import compositional as check_compositional
from qreplace.check import count_minimum as check_count_minimum
from qreplace.check import hjb_sos as check_hjb_sos
from qreplace.check import net_floor as check_net_floor
from qreplace.check import pwa_supremum as check_pwa_supremum
from qreplace.check import schedule_minimum as check_schedule_minimum
from qreplace.check import support as check_support
from qreplace.check.bounds import Checked, ScopedBound
from qreplace.claims import Claim, read_claim
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.errors import Malformed, Rejected
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes
from qreplace.question.model import Question
from qreplace.question.subject import Subject

PER_CASE = 60
SEED = 20
LEAST_KILL_RATE = 0.95
"""Most mutants of a proof written out by hand are no proof of anything."""
LEAST_PIECEWISE_RATE = 0.85
"""Claims about maps have more to lose: looser ends, other points and steps, cells beyond need."""

DEPTH_CONSTANT = 10
"""``E_D <= E_inf + DEPTH_CONSTANT / D`` for every system here (theory T3.3)."""

Checker = Callable[[Subject, Claim], tuple[Checked, ...]]


@dataclass(frozen=True)
class Case:
    """A certificate with the floor that is known without it; ``None``: enumerate controls."""

    name: str
    question: Question
    claim: Claim
    checker: Checker
    floor: float | None
    piecewise: bool = False
    """Of a kind whose truth is ``piecewise_truth.attained``, from the mutant itself."""


FLOORS: dict[str, float] = {
    "hjb-worked": 1,
    "hjb-decay": 1 + 1 / e,
    "hjb-linf": 1,
    "hjb-l1": 2,
    "hjb-weighted-linf": 4 / 3,
    "hjb-weighted-l1": 2,
    "hjb-tokens": sqrt(2),
    "hjb-circle": 1,
    "support-double": 1 / 2,
    "support-line": 1,
    "support-forced": 3 / 2,
    # Each coordinate ends at (e^(1/20) - 1) * 20 at most, both together.
    "comp-pair": sqrt(2) * (3 - 20 * (e ** (1 / 20) - 1)),
    "comp-pair-linf": 3 - 20 * (e ** (1 / 20) - 1),
}
"""Structural floors worked out by hand."""


def cases() -> Iterator[Case]:
    """Every accepted claim of these corpora; other kinds are appended here."""
    tables: list[tuple[Any, Checker]] = [
        (hjb_sos, check_hjb_sos.check),
        (support, check_support.check),
        (compositional, check_compositional.check),
    ]
    for corpus, checker in tables:
        for _, name, claim in corpus.ACCEPTED:
            question = name.split("--")[0]
            yield Case(name, corpus.QUESTIONS[question], claim, checker, FLOORS.get(question))
    tables = [
        (pwa_supremum, check_pwa_supremum.check),
        (schedule_minimum, check_schedule_minimum.check),
        (count_minimum, check_count_minimum.check),
        (net_floor, check_net_floor.check),
    ]
    for corpus, checker in tables:
        for _, name, claim in corpus.ACCEPTED:
            question = corpus.QUESTIONS[name.split("--")[0]]
            yield Case(name, question, claim, checker, None, piecewise=True)


CASES = list(cases())


@cache
def truth(name: str, depth: int | None) -> float:
    """The floor, or the ideal error at a depth; an error that is really attained if unknown."""
    case = next(case for case in CASES if case.name == name)
    problem = Subject(case.question, {}).polynomial(0)
    norm = case.question.norm
    if depth is not None:
        if len(problem.atoms) ** depth > 5000:
            return truth(name, None) + DEPTH_CONSTANT / depth
        return best_schedule_error(problem, norm, depth)
    if case.floor is not None:
        return case.floor
    return enumerated_value(problem, norm, cells=5, keep=500)


def outcome(case: Case, document: object) -> tuple[Claim, list[ScopedBound]] | None:
    """The claim and the bounds that a document is accepted for; ``None`` when it is refused."""
    try:
        claim = read_claim(canonical_bytes(document))
        found = case.checker(Subject(case.question, {}), claim)
    except (Malformed, Rejected):
        return None
    return claim, [bound for bound in found if isinstance(bound, ScopedBound)]


def holds(case: Case, claim: Claim, bound: ScopedBound) -> bool:
    """Whether a bound is true, as far as floats can tell."""
    if case.piecewise:
        return _holds_piecewise(case, claim, bound)
    depth = None if bound.quantity == "relaxed_floor" else bound.depths.first
    value = truth(case.name, depth)
    if bound.side == "lower":
        return float(bound.value) <= value + ROUNDING
    return float(bound.value) >= value - ROUNDING


def _holds_piecewise(case: Case, claim: Claim, bound: ScopedBound) -> bool:
    """Upper ends of floors have only certified lower ends to be held against."""
    value = float(bound.value)
    if bound.quantity == "relaxed_floor" and bound.side == "upper":
        assert isinstance(case.claim, NetFloorClaim)
        return value >= case.claim.lower
    truth = attained(case.question, claim, bound)
    return value <= truth + ROUNDING if bound.side == "lower" else value >= truth - ROUNDING


@cache
def survivors(case: Case, count: int = PER_CASE, seed: int = SEED) -> list[tuple[str, bool]]:
    """What was changed in every accepted mutant, and whether its bounds still hold."""
    kept = []
    for note, document in mutants(encode(case.claim), count, seed):
        accepted = outcome(case, document)
        if accepted is not None:
            claim, bounds = accepted
            kept.append((note, all(holds(case, claim, bound) for bound in bounds)))
    return kept


def kill_rate(piecewise: bool, count: int = PER_CASE, seed: int = SEED) -> Fraction:
    """The share of mutants that is refused, over all cases of one family."""
    family = [case for case in CASES if case.piecewise is piecewise]
    alive = sum(len(survivors(case, count, seed)) for case in family)
    return 1 - Fraction(alive, count * len(family))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_no_mutant_proves_what_is_not_true(case: Case) -> None:
    assert outcome(case, encode(case.claim)), "the certificate itself is accepted"
    false = [note for note, true in survivors(case, PER_CASE, SEED) if not true]
    assert not false


@pytest.mark.parametrize("piecewise", [False, True])
def test_the_kill_rate(piecewise: bool, record_property: Callable[[str, object], None]) -> None:
    rate = kill_rate(piecewise)
    record_property("kill_rate", float(rate))
    assert rate >= (LEAST_PIECEWISE_RATE if piecewise else LEAST_KILL_RATE), float(rate)


def test_mutations_are_those_of_the_seed() -> None:
    document = encode(CASES[0].claim)
    first = list(mutants(document, 30, 1))
    assert first == list(mutants(document, 30, 1))
    assert first != list(mutants(document, 30, 2))
    assert all(changed != document for _, changed in first)


def test_a_checker_without_its_last_obligation_would_be_caught() -> None:
    """The test can fail: believing the claimed end accepts mutants above the truth."""
    case = next(case for case in CASES if case.name == "hjb-worked--squares")

    def believing(subject: Subject, claim: Claim) -> tuple[Checked, ...]:
        (bound,) = case.checker(subject, hjb_sos.changed(claim, lower=Fraction(0)))
        assert isinstance(bound, ScopedBound)
        return (hjb_sos.changed(bound, value=claim.lower),)  # type: ignore[union-attr]

    naive = Case(case.name, case.question, case.claim, believing, case.floor)
    assert any(not true for _, true in survivors(naive, 300))

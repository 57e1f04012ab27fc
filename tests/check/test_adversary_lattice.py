"""Attacks on ``lattice``: what is accepted is true of every run, and costs a bounded time."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from corpora.lattice import (
    FIXED,
    FREE,
    LEAK,
    QUESTIONS,
    SMALL,
    claim,
    execution,
    free,
    grid,
    leak,
    registers,
)
from corpus_questions import QUESTIONS as OLDER
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_truth import Case, cases, reached
from lifted_questions import LINF, make_question

from qreplace.check.frozen import frozen_step_rule
from qreplace.check.lattice import check
from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes, read_claim
from qreplace.claims.frozen import FrozenClaim
from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import Malformed, Rejected
from qreplace.question.code_lattice import CodeRange
from qreplace.question.frozen_start import frozen_start
from qreplace.question.model import (
    CodesMetadata,
    FullDomain,
    Question,
    Registers,
    Saturating,
    Wrapping,
)
from qreplace.question.subject import Subject
from qreplace.simulate.arithmetic import simulate
from qreplace.simulate.study import study_arithmetic, study_system

REGISTERS = ("state", "increment", "carry", "accumulator")


def about(question: Question, own: LatticeClaim, code: int = 0) -> LatticeClaim:
    """The same claim with another question's name on it."""
    return dataclasses.replace(own, subject=Subject(question, {}).execution_digest(code), code=code)


# --- nothing false is accepted --------------------------------------------------------------------


@st.composite
def attacks(draw: Any) -> tuple[Case, LatticeClaim]:
    """A small question with narrow registers or limits, and a claim that may be false."""
    case: Case = draw(cases(depths=(1, 2)))
    power = draw(st.integers(0, 2))
    case = dataclasses.replace(case, power=power, cell=case.cell * case.depth**power)
    if case.carry is not None:
        other = draw(st.integers(0, 2))
        case = dataclasses.replace(case, carry=(case.carry[0] * case.depth**other, other))
    if draw(st.booleans()):
        case = dataclasses.replace(case, initial=(Fraction(0),) * case.size)
    kind = draw(st.sampled_from(["registers", "limit"]))
    bits = st.none() | st.integers(1, 5)
    if kind == "registers":
        feeds = case.semantics == "error_feedback"
        widths = [draw(bits), None, draw(bits) if feeds else None, draw(bits)]
        if case.semantics != "write_back":
            widths[1] = draw(bits)
        if not any(widths):
            widths[0] = 3
        overflow: Any = Registers("registers", draw(st.sampled_from(["wrap", "saturate"])), *widths)
        case = dataclasses.replace(case, overflow=overflow)
    else:
        limit = case.step * Fraction(draw(st.integers(1, 16)), 2)
        overflow = draw(st.sampled_from([Wrapping("wrap", None), Saturating("saturate", None)]))
        case = dataclasses.replace(case, limit=limit, overflow=overflow)
    first = draw(st.integers(1, 3))
    last = draw(st.integers(first, 4))
    wide = st.sampled_from([1, 2, 3, 8, 10**6])
    whole = registered(case, first)
    ranges = []
    for name in REGISTERS:
        own = whole.get(name)
        if own is None or draw(st.integers(0, 4)) == 0:
            own = CodeRange(-draw(wide), draw(wide) - 1)
        ranges.append(own)
    method = draw(st.sampled_from(["intervals", "enumeration"]))
    digest = Subject(case.question(), {}).execution_digest(0)
    made = LatticeClaim("qreplace/claim/lattice/v1", digest, 0, first, last, method, *ranges)
    return case, made


def registered(case: Case, depth: int) -> dict[str, CodeRange]:
    """What the registers hold at a depth, worked out anew."""
    own = case.overflow
    if isinstance(own, Registers):
        bits = (own.state_bits, own.increment_bits, own.carry_bits, own.accumulator_bits)
        return {
            name: CodeRange(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
            for name, width in zip(REGISTERS, bits, strict=True)
            if width is not None
        }
    at = dataclasses.replace(case, depth=depth)
    assert case.limit is not None
    most = int(case.limit / at.step)
    return {"state" if case.semantics == "write_back" else "increment": CodeRange(-most, most)}


@settings(max_examples=400)
@given(attacks())
def test_whatever_is_accepted_is_true_of_every_run(attack: tuple[Case, LatticeClaim]) -> None:
    """At every claimed depth every code is on its lattice, in its range and in its register."""
    case, made = attack
    try:
        check(Subject(case.question(), {}), made)
    except Rejected:
        return
    for depth in range(made.first_depth, made.last_depth + 1):
        at = dataclasses.replace(case, depth=depth)
        found = reached(at)  # stops where a code is off its lattice
        for name, own in found.items():
            assert own.within(made.ranges[name]), (depth, name)
        for name, holds in registered(case, depth).items():
            assert found[name].within(holds), (depth, name)


def test_the_attacks_above_are_neither_all_refused_nor_all_accepted() -> None:
    outcomes: list[bool] = []

    @settings(max_examples=120, derandomize=True, database=None)
    @given(attacks())
    def collect(attack: tuple[Case, LatticeClaim]) -> None:
        case, made = attack
        try:
            check(Subject(case.question(), {}), made)
            outcomes.append(True)
        except Rejected:
            outcomes.append(False)

    collect()
    assert sum(outcomes) >= 10
    assert len(outcomes) - sum(outcomes) >= 10


# --- single changes -------------------------------------------------------------------------------


def mutations(own: LatticeClaim) -> Iterator[tuple[str, LatticeClaim]]:
    """Every change of one number that makes the claim say more."""
    for name in REGISTERS:
        at = own.ranges[name]
        for which, narrow in (
            ("upper", CodeRange(at.lower, at.upper - 1)),
            ("lower", CodeRange(at.lower + 1, at.upper)),
            ("reversed", CodeRange(at.upper + 1, at.lower - 1)),
            ("nothing", CodeRange(1, 0)),
        ):
            yield f"{name}-{which}", dataclasses.replace(own, **{name: narrow})
    yield "deeper", dataclasses.replace(own, last_depth=own.last_depth + 1)
    yield "from 0", dataclasses.replace(own, first_depth=0)
    yield "from -1", dataclasses.replace(own, first_depth=-1)
    yield "backwards", dataclasses.replace(own, first_depth=own.last_depth + 1)
    yield "other subject", dataclasses.replace(own, subject="0" * 64)
    yield "negative code", dataclasses.replace(own, code=-1)


@pytest.mark.parametrize(("name", "made"), list(mutations(SMALL)))
def test_a_tight_claim_says_no_more(name: str, made: LatticeClaim) -> None:
    with pytest.raises(Rejected):
        check(Subject(QUESTIONS["lattice-free"], {}), made)


def test_documents_that_are_no_claims_are_malformed() -> None:
    tree = json.loads(claim_bytes(SMALL))
    for change in (
        {"first_depth": True},
        {"first_depth": 1.0},
        {"first_depth": "1"},
        {"method": "guess"},
        {"state": {"lower": 0, "upper": None}},
        {"state": [0, 3]},
        {"carry": {"lower": -2, "upper": 2, "more": 1}},
    ):
        text = json.dumps({**tree, **change}, sort_keys=True, separators=(",", ":"))
        with pytest.raises(Malformed):
            read_claim(text.encode())


# --- another question -----------------------------------------------------------------------------

OTHERS = {
    "another width": free(execution=dataclasses.replace(FREE, overflow=registers(4, 3, 3, 2))),
    "another overflow": free(
        execution=dataclasses.replace(
            FREE, overflow=dataclasses.replace(registers(3, 2, 3, 2), on_overflow="saturate")
        )
    ),
    "a coarser carry": free(execution=dataclasses.replace(FREE, carry=grid("2", 1))),
    "no carry grid": free(execution=dataclasses.replace(FREE, carry=None)),
    "directed rounding": free(execution=dataclasses.replace(FREE, grid=grid("4", 1, "directed"))),
    "another semantics": free(
        execution=execution(grid("4", 1), None, registers(3, 2), "increment")
    ),
    "another dictionary": make_question(["3/4", "3/4"], [[1, 0], [0, 2]], LINF, execution=FREE),
    "another start": leak(FREE),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_claim_serves_no_other_question(name: str) -> None:
    with pytest.raises(Rejected, match="about another question"):
        check(Subject(OTHERS[name], {}), SMALL)


def test_a_relabelled_claim_is_checked_on_the_other_question() -> None:
    """With the other question's digest it is that question's claim: true ones only pass."""
    for name in ("a coarser carry", "directed rounding", "another dictionary", "another start"):
        with pytest.raises(Rejected):
            check(Subject(OTHERS[name], {}), about(OTHERS[name], SMALL))


def test_a_claim_about_another_code_is_about_that_dictionary() -> None:
    codes = OLDER["two-codes"].metadata
    assert isinstance(codes, CodesMetadata)
    question = dataclasses.replace(OLDER["two-codes"], execution=FREE)
    subject = Subject(question, {})
    bits = sorted(question.codes)
    whole = {name: CodeRange(-64, 64) for name in REGISTERS}
    wide = dataclasses.replace(question, execution=dataclasses.replace(FREE, overflow=registers(9)))
    other = Subject(wide, {})
    for code in bits:
        made = dataclasses.replace(SMALL, subject=other.execution_digest(code), code=code, **whole)
        (entry,) = check(other, made)
        assert (entry.code, entry.subject) == (code, other.execution_digest(code))
    swapped = dataclasses.replace(made, code=bits[0])
    with pytest.raises(Rejected, match="about another question"):
        check(other, swapped)
    absent = dataclasses.replace(SMALL, subject=subject.execution_digest(77), code=77)
    with pytest.raises(Rejected, match="no dictionary at this code"):
        check(subject, absent)


def test_nothing_is_claimed_between_the_inputs() -> None:
    full = free(domain=FullDomain("full", None, None))
    with pytest.raises(Rejected, match="those of the witnesses"):
        check(Subject(full, {}), about(full, SMALL))


# --- found by hand --------------------------------------------------------------------------------


def test_a_limit_holds_fewer_codes_at_small_depths() -> None:
    """Codes are the same at every depth here, but one increment is 4/D and the limit is 1/8.

    It holds at depth 32; before, rounding up to one step overflows.
    """
    own = execution(grid("4", 1, limit="1/8"), grid("1", 1, limit="1/8"), Wrapping("wrap", None))
    question = free(execution=own)
    ranges = {"state": CodeRange(0, 8), "increment": CodeRange(-1, 1)}
    deep = about(question, dataclasses.replace(SMALL, first_depth=32, last_depth=32, **ranges))
    (entry,) = check(Subject(question, {}), deep)
    assert (entry.depths.first, entry.depths.last) == (32, 32)
    for first in (1, 31):
        shallow = dataclasses.replace(deep, first_depth=first)
        with pytest.raises(Rejected, match="more than its register holds"):
            check(Subject(question, {}), shallow)


@pytest.mark.parametrize("overflow", [Wrapping("wrap", None), Saturating("saturate", None)])
def test_a_register_without_a_range_is_not_one_that_never_overflows(overflow: Any) -> None:
    question = free(execution=dataclasses.replace(FREE, overflow=overflow))
    with pytest.raises(Rejected, match="needs its range"):
        check(Subject(question, {}), about(question, SMALL))


def test_the_carry_lattice_is_that_of_every_depth() -> None:
    """On cells 1/4 and 1/64 increments 1/D are whole codes only where D divides 64."""
    own = execution(grid("1/4", 0), grid("1/64", 0), registers(20, 20, 20, 20))
    question = free(execution=own)
    whole = {name: CodeRange(-500, 500) for name in REGISTERS}
    for depth in range(1, 70):
        made = about(question, dataclasses.replace(SMALL, first_depth=depth, last_depth=depth,
                                                   **whole))  # fmt: skip
        if 64 % depth == 0:
            check(Subject(question, {}), made)
            continue
        with pytest.raises(Rejected, match="not on the carry's lattice"):
            check(Subject(question, {}), made)
    with pytest.raises(Rejected, match="not on the carry's lattice at depth 3"):
        check(Subject(question, {}), dataclasses.replace(made, first_depth=1, last_depth=4))


def test_an_enumerated_claim_is_accepted_exactly_where_it_is_true() -> None:
    """z' = -z + b on quarters: at each depth by itself, against every run of it."""
    made = claim("lattice-leak", 4, 4, "enumeration", (0, 4), (-1, 1), (0, 0), (-4, 4))
    subject = Subject(QUESTIONS["lattice-leak"], {})
    one, zero = (Fraction(1),), (Fraction(0),)
    leaking = Case(Fraction(-1), None, (one, zero), zero, "write_back", "nearest", 1,
                   Fraction(1, 4), overflow=LEAK.overflow)  # fmt: skip
    outcomes = set()
    for depth in range(1, 9):
        moved = dataclasses.replace(made, first_depth=depth, last_depth=depth)
        found = reached(dataclasses.replace(leaking, depth=depth))
        true = all(own.within(made.ranges[name]) for name, own in found.items())
        try:
            check(subject, moved)
            assert true, depth
        except Rejected:
            assert not true, depth
        outcomes.add(true)
    assert outcomes == {True, False}


def test_a_state_that_its_register_does_not_hold_is_not_frozen() -> None:
    """Freezing (T4.4) is about the state that is stored: code 2 in two bits is -2."""
    question = OLDER["grid-narrow-register"]
    subject = Subject(question, {})
    system, _ = study_system(subject, 0)
    run = simulate(system, [0] * 9, study_arithmetic(subject, 9))
    assert (system.initial[0], run.executed[0]) == (Fraction(1, 2), Fraction(-1, 2))
    start = frozen_start(subject, 0)
    with pytest.raises(Rejected, match="does not hold the initial state"):
        frozen_step_rule(subject, start)
    unguarded = FrozenClaim("qreplace/claim/frozen/v1", subject.execution_digest(0), 0, 9,
                            *start.ends)  # fmt: skip
    with pytest.raises(Rejected, match="does not hold the initial state"):
        check_claim(subject, unguarded)
    held = Subject(OLDER["frozen-register"], {})
    run = simulate(study_system(held, 0)[0], [0] * 9, study_arithmetic(held, 9))
    assert run.executed == study_system(held, 0)[0].initial


# --- bounded work ---------------------------------------------------------------------------------


def expensive() -> Iterator[tuple[str, Question, LatticeClaim]]:
    """Small documents that ask for hours of arithmetic."""
    wide = {name: CodeRange(-(10**9), 10**9) for name in REGISTERS}
    endless = dataclasses.replace(SMALL, first_depth=1, last_depth=10**6, **wide)
    yield (
        "every depth enumerated",
        free(execution=FIXED),
        dataclasses.replace(endless, method="enumeration"),
    )
    long = leak(dataclasses.replace(LEAK, overflow=registers(accumulator=63)))
    yield "every depth propagated", long, endless
    size = 200
    rows = [[int(i == j) for j in range(size)] for i in range(size)]
    own = execution(grid("1", 1), None, registers(accumulator=63), "write_back")
    coupled = affine_question([[1] * size], [1] * size, norm=LINF, state_matrix=rows, execution=own)
    yield "a large matrix at every depth", coupled, endless
    ones = make_question([1] * 5000, [[1] * 5000], LINF, execution=own)
    deep = dataclasses.replace(endless, first_depth=9 * 10**8, last_depth=9 * 10**8)
    yield "one long state at every step", ones, dataclasses.replace(deep, method="enumeration")
    growing = affine_question([[1]], [1], norm=LINF, rate=1 << 60, execution=own)
    doubling = dataclasses.replace(endless, first_depth=1 << 20, last_depth=1 << 20)
    for method in ("intervals", "enumeration"):
        yield f"numbers that grow ({method})", growing, dataclasses.replace(doubling, method=method)


@pytest.mark.parametrize(("name", "question", "made"), list(expensive()))
def test_a_short_document_cannot_ask_for_hours(
    name: str, question: Question, made: LatticeClaim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a hundredth of the allowance the refusal comes at once."""
    monkeypatch.setattr("qreplace.question.code_lattice.MAX_WORK", 400_000)
    with pytest.raises(Rejected):
        check(Subject(question, {}), about(question, made))


def test_depths_beyond_every_grid_are_whole_numbers_too() -> None:
    """Where codes do not change with depth a claim may reach beyond what a study searches."""
    wide = free(execution=dataclasses.replace(FREE, overflow=registers(None, 2, 3, 2)))
    deep = about(wide, dataclasses.replace(SMALL, last_depth=10**30, state=CodeRange(0, 10**31)))
    (entry,) = check_claim(Subject(wide, {}), deep)
    assert entry.depths.last == 10**30


def test_the_widths_of_a_register_are_those_of_twos_complement() -> None:
    """One bit holds -1 and 0, two bits -2 .. 1: one state code more, and nothing is claimed."""
    for bits, low in itertools.product((1, 2, 3), (False, True)):
        step = -1 if low else 1
        edge = 2 ** (bits - 1) if low else 2 ** (bits - 1) - 1
        own = execution(grid("1", 1), None, registers(bits), "write_back")
        question = make_question([1], [[step]], LINF, execution=own)
        for depth in (edge, edge + 1):
            if depth == 0:
                continue
            ends = (-depth, 0) if low else (0, depth)
            ranges = [CodeRange(*ends), CodeRange(-1, 1), CodeRange(0, 0), CodeRange(-1, 1)]
            made = LatticeClaim("qreplace/claim/lattice/v1", "", 0, 1, depth, "intervals", *ranges)
            if depth == edge:
                check(Subject(question, {}), about(question, made))
                continue
            with pytest.raises(Rejected, match="more than its register holds"):
                check(Subject(question, {}), about(question, made))

"""Registers that fit: what is proposed is accepted, and nothing that is true is left out."""

from __future__ import annotations

import dataclasses
import itertools
import random
from fractions import Fraction
from typing import Any

import pytest
from corpora.lattice import FIXED, FREE, execution, free, grid, leak, registers
from declared_questions import depths
from dynamic_questions import affine_question
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_truth import Case, cases, reached
from lifted_questions import LINF, make_question
from register_studies import random_study

from qreplace.check.lattice import check
from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import InputError, ProducerFailed
from qreplace.produce import lattice as producer
from qreplace.produce.lattice import produce, signed_bits
from qreplace.question.code_lattice import (
    CodeRange,
    Work,
    declared_ranges,
    lattice_problem,
    ranges_at,
)
from qreplace.question.model import Question, Registers, Wrapping
from qreplace.question.subject import Subject

WIDTHS = ("state", "increment", "carry", "accumulator")


def made(question: Question) -> list[LatticeClaim]:
    """The claims at the searched depths, each accepted by the checker."""
    subject = Subject(question, {})
    found = list(produce(subject, 0, question.search.depths))
    for own in found:
        (entry,) = check(subject, own)
        assert (entry.depths.first, entry.depths.last) == (own.first_depth, own.last_depth)
    return found


def covered(claims: list[LatticeClaim]) -> set[int]:
    return {depth for own in claims for depth in range(own.first_depth, own.last_depth + 1)}


def reason(question: Question) -> str:
    """Why nothing is claimed."""
    with pytest.raises(ProducerFailed) as caught:
        made(question)
    return str(caught.value)


def holds(question: Question, depth: int) -> bool:
    """Whether some method shows that the registers hold every code at one depth."""
    own, problem = lattice_problem(Subject(question, {}), 0)
    for method in ("intervals", "enumeration"):
        try:
            found = ranges_at(own, problem, depth, method, Work())  # type: ignore[arg-type]
        except InputError:
            continue
        if all(found[n].within(most) for n, most in declared_ranges(own, depth).items()):
            return True
    return False


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(["registers", "wrap", "saturate"]))
def test_every_depth_that_can_be_shown_is_claimed(seed: int, overflow: str) -> None:
    question = dataclasses.replace(
        random_study(random.Random(seed), overflow), search=depths(1, 12)
    )
    wanted = {depth for depth in range(1, 13) if holds(question, depth)}
    if wanted:
        claims = made(question)
        assert covered(claims) == wanted
        assert all(a.last_depth < b.first_depth for a, b in itertools.pairwise(claims))
    else:
        assert reason(question)


@settings(max_examples=80)
@given(cases(depths=(1, 2, 3)), st.integers(0, 2**32))
def test_a_depth_is_left_out_only_where_a_register_overflows(case: Case, seed: int) -> None:
    """Against every run of the depth: claimed exactly where nothing overflows."""
    rng = random.Random(seed)
    widths: list[int | None] = [rng.choice([None, 1, 2, 3, 4, 6]) for _ in WIDTHS]
    if case.semantics == "write_back":
        widths[1] = None
    if case.semantics != "error_feedback":
        widths[2] = None
    if not any(widths):
        widths[0] = 4
    case = dataclasses.replace(case, overflow=Registers("registers", "wrap", *widths))
    question = dataclasses.replace(case.question(), search=depths(case.depth, case.depth))
    found = reached(case)
    needed = {name: signed_bits(found[name]) for name in WIDTHS}
    fits = all(bits is None or needed[name] <= bits
               for name, bits in zip(WIDTHS, widths, strict=True))  # fmt: skip
    if fits:
        assert covered(made(question)) == {case.depth}
    else:
        assert f"bits at depth {case.depth}, it has" in reason(question)


def test_signed_widths() -> None:
    for low in range(-9, 3):
        for high in range(low, 9):
            bits = signed_bits(CodeRange(low, high))
            assert -(2 ** (bits - 1)) <= low
            assert high <= 2 ** (bits - 1) - 1
            narrow = bits - 1
            assert narrow == 0 or low < -(2 ** (narrow - 1)) or high > 2 ** (narrow - 1) - 1


@pytest.mark.parametrize(
    ("register", "needed"), [("state", 4), ("increment", 2), ("carry", 3), ("accumulator", 2)]
)
def test_one_bit_narrower_is_refused_with_the_register_its_bits_and_the_depth(
    register: str, needed: int
) -> None:
    """T4.10 at depth 16: states to (16 + 2) / 4, increments within 1, carries 2, sums 0 and 1."""
    enough = {"state": 4, "increment": 2, "carry": 3, "accumulator": 2}
    assert enough[register] == needed

    def study(**widths: int) -> Question:
        own = dataclasses.replace(FREE, overflow=registers(**widths))
        return free(execution=own, search=depths(16, 16))

    assert covered(made(study(**enough))) >= {16}
    narrow = reason_of_depth(study(**{**enough, register: needed - 1}), 16)
    assert narrow == (
        f"the {register} register would need {needed} bits at depth 16, it has {needed - 1}"
    )


def reason_of_depth(question: Question, depth: int) -> str:
    """The reason against one depth; a narrow state may still serve smaller ones."""
    maker = producer._Maker(*lattice_problem(Subject(question, {}), 0))
    assert maker.at(depth) is None
    return maker.reason


def test_a_limit_is_named_by_its_codes() -> None:
    own = execution(grid("1/4", 0, limit="1/2"), None, Wrapping("wrap", None), "write_back")
    question = dataclasses.replace(
        make_question([1], [[0], [1]], LINF, execution=own), search=depths(4, 4)
    )
    assert reason(question) == (
        "the state register would hold codes 0 to 4 at depth 4, its limit allows -2 to 2"
    )


def test_codes_that_do_not_change_need_one_claim() -> None:
    """However many depths are searched: the deepest that fits, and from 1 on."""
    (own,) = made(free(search=depths(1, 10**6)))
    assert (own.first_depth, own.last_depth) == (1, 13)
    wide = dataclasses.replace(FREE, overflow=registers(30))
    (own,) = made(free(execution=wide, search=depths(7, 10**9, 3)))
    assert own.first_depth == 1
    assert own.last_depth == 10**9


def test_depths_are_joined_where_codes_change_with_them() -> None:
    (own,) = made(free(execution=FIXED, search=depths(4, 8)))
    assert (own.first_depth, own.last_depth) == (4, 8)
    claims = made(free(execution=FIXED, search=depths(2, 30, 2)))
    assert [(one.first_depth, one.last_depth) for one in claims] == [
        (depth, depth) for depth in range(2, 31, 2)
    ]


def test_there_are_at_most_so_many_claims() -> None:
    claims = made(free(execution=FIXED, search=depths(3, 401, 2)))
    assert len(claims) == producer.MAX_CLAIMS
    assert covered(claims) == set(range(3, 2 * producer.MAX_CLAIMS + 3, 2))


def test_a_search_for_registers_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before the allowance ran out is kept."""
    slow = execution(grid("1/4", 0), None, registers(6), "write_back")
    ones = leak(slow, search=depths(1, 64))
    everything = covered(made(ones))
    monkeypatch.setattr(producer, "MAX_SEARCH", 20_000)
    some = covered(made(ones))
    assert set() < some < everything
    assert max(some) < max(everything)
    monkeypatch.setattr(producer, "MAX_SEARCH", 10)
    assert "more than are followed" in reason(ones)
    monkeypatch.setattr(producer, "MAX_DEPTHS", 3)
    monkeypatch.setattr(producer, "MAX_SEARCH", 10**7)
    assert covered(made(ones)) == {1, 2, 3}


def test_state_dependent_dynamics_on_powers_of_two() -> None:
    """z' = -z + b on cells 2^-8: depths 1, 2, 4, 8 keep every increment on 2^-11."""
    own = execution(grid("1/256", 0), grid("1/2048", 0), registers(10, 10, 5, 13))
    question = affine_question(
        [[1], [Fraction(1, 2)]], [1], norm=LINF, rate=-1, execution=own, search=depths(1, 8)
    )
    assert covered(made(question)) == {1, 2, 4, 8}
    off: Any = dataclasses.replace(question, search=depths(3, 3))
    assert "not on the carry's lattice at depth 3" in reason(off)


def test_without_registers_there_is_nothing_to_look_at() -> None:
    exact = make_question([1], [[0], [1]], LINF)
    assert reason(exact) == "registers are those of a quantized execution"

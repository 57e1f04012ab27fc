"""The example whose registers wrap: each width is what its comments say it is."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import pytest

import qreplace
from qreplace.check.__main__ import check_claims
from qreplace.claims import claim_bytes
from qreplace.claims.lattice import LatticeClaim
from qreplace.decision.verdict import decide
from qreplace.pipeline import Study
from qreplace.pipeline.lifted import lattice_claims
from qreplace.question.model import DepthRange, QuantizedExecution, Question, Registers, Search
from qreplace.question.subject import Subject

EXAMPLE = Path(__file__).parents[2] / "examples" / "wrapping-accumulator.yaml"


@cache
def study() -> Study:
    return qreplace.decide(EXAMPLE)


def with_widths(**bits: int) -> Question:
    """The example's question with other widths."""
    question = study().spec.question
    own = question.execution
    assert isinstance(own, QuantizedExecution)
    assert isinstance(own.overflow, Registers)
    overflow = dataclasses.replace(own.overflow, **bits)
    return dataclasses.replace(question, execution=dataclasses.replace(own, overflow=overflow))


def again(question: Question) -> tuple[str, list[LatticeClaim], str]:
    """The verdict with the example's other claims and new ones about the registers.

    The others are about the system in exact execution, so they serve every width.
    """
    subject = Subject(question, study().spec.arrays)
    kept = [claim for claim in study().claims if not isinstance(claim, LatticeClaim)]
    made, reason = lattice_claims(subject, 0)
    claims, bounds = check_claims(subject, [claim_bytes(claim) for claim in (*kept, *made)])
    own = [claim for claim in made if isinstance(claim, LatticeClaim)]
    return decide(subject, claims, bounds)["verdict"], own, reason


def test_it_is_certified_by_one_claim_a_depth() -> None:
    assert study().verdict == "certified_feasible"
    assert study().decision["best"]["depth"] == 64
    verdict, claims, _ = again(with_widths())
    assert verdict == "certified_feasible"
    assert sorted(claim.first_depth for claim in claims) == [16, 32, 64]
    assert all(claim.first_depth == claim.last_depth for claim in claims)


@pytest.mark.parametrize(("width", "bits", "needed"), [("state_bits", 7, 8), ("carry_bits", 6, 7)])
def test_one_bit_less_for_state_or_carry_leaves_it_unresolved(
    width: str, bits: int, needed: int
) -> None:
    verdict, claims, reason = again(with_widths(**{width: bits}))
    assert (verdict, claims) == ("unresolved", [])
    name = width.removesuffix("_bits")
    assert reason == f"the {name} register would need {needed} bits at depth 16, it has {bits}"


@pytest.mark.parametrize(("width", "bits"), [("increment_bits", 4), ("accumulator_bits", 10)])
def test_one_bit_less_for_increment_or_accumulator_loses_the_shallow_depth_only(
    width: str, bits: int
) -> None:
    verdict, claims, reason = again(with_widths(**{width: bits}))
    assert verdict == "certified_feasible"
    assert sorted(claim.first_depth for claim in claims) == [32, 64]
    assert reason == ""


def test_depth_128_is_off_the_lattice() -> None:
    """Increments need cells of 1/32768 there: no claim, whatever the widths."""
    deeper = dataclasses.replace(with_widths(), search=Search((DepthRange(128, 128, 1),), (0,)))
    verdict, claims, reason = again(deeper)
    assert (verdict, claims) == ("unresolved", [])
    assert "not on the carry's lattice at depth 128" in reason


def test_the_comments_name_the_codes() -> None:
    """Codes within 124, 13 and 32, as the example says, and within 4 at depth 64."""
    text = EXAMPLE.read_text("utf-8")
    claims = {claim.first_depth: claim for claim in study().claims
              if isinstance(claim, LatticeClaim)}  # fmt: skip
    widest = claims[16]
    assert (widest.state.lower, widest.state.upper) == (-124, 124)
    assert (widest.increment.upper, claims[64].increment.upper) == (13, 4)
    assert (widest.carry.lower, widest.carry.upper) == (-32, 32)
    for words in ("codes within 124", "codes within 13 at depth 16", "within 4 at depth 64",
                  "half a cell is 32 codes"):  # fmt: skip
        assert words in text

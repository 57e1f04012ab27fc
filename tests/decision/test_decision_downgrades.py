"""What is omitted, unavailable or without an engine decides nothing (design rule 4)."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from declared_questions import (
    bounded_variation,
    covering,
    decided,
    declared,
    depths,
    floor,
    floor_claims,
    growth,
    lifted,
    premise,
    quantized,
    tolerance,
    verdict_of,
)
from lifted_questions import vector

from qreplace.premises import Evidence
from qreplace.produce.frozen import produce as produce_frozen
from qreplace.question import model as q
from qreplace.question.frozen_start import frozen_start
from qreplace.question.subject import Subject

# --- omitted blocks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("synthesis", "synthesis: the synthesis block is omitted"),
        ("tube", "synthesis: no tube is declared"),
        ("metadata", "metadata: the metadata block is omitted"),
        ("execution", "arithmetic: the execution block is omitted"),
        ("routing", "routing: the routing block is omitted"),
        ("floor", "there is no upper end"),
    ],
)
def test_an_omitted_block_is_unavailable_for_both_verdicts(block: str, reason: str) -> None:
    for question in (declared(), declared(floor=floor(1, 2), search=depths(8, 128))):
        assert verdict_of(question)["verdict"] != "unresolved"
        verdict = verdict_of(dataclasses.replace(question, **{block: None}))
        assert verdict["verdict"] == "unresolved"
        assert reason in " ".join(verdict["reasons"])
        assert not any("radii are too large" in text for text in verdict["reasons"])


@pytest.mark.parametrize("block", ["metadata", "execution", "routing"])
def test_an_omitted_block_of_lifted_data_is_unavailable_too(block: str) -> None:
    question = lifted(["1/2", "1/2"], [[1, 0], [0, 1]], **{block: None})
    assert decided(question, [1, 1])["verdict"] == "unresolved"
    impossible = lifted([3], [[1], [2]], **{block: None})
    assert decided(impossible)["verdict"] == "unresolved"


def test_radii_that_are_too_large_are_named_only_where_there_are_radii() -> None:
    verdict = verdict_of(declared(objective=tolerance("1/50"), search=depths(1, 8)))
    text = " ".join(verdict["reasons"])
    assert verdict["verdict"] == "unresolved" and "radii are too large" in text
    assert "the smallest upper end found is" in text


def test_a_bracket_around_the_tolerance_is_named() -> None:
    verdict = verdict_of(declared(floor=floor(0, 1)))
    assert "does not lie on one side of the tolerance" in " ".join(verdict["reasons"])


# --- routing, overflow, labels --------------------------------------------------------------------

ROUTING = q.StateDependentRouting("state_dependent", (), None, None, None, None)


def test_state_dependent_routing_kills_feasibility_and_impossibility() -> None:
    for question, counts in (
        (lifted(["1/2", "1/2"], [[1, 0], [0, 1]], routing=ROUTING), [[1, 1]]),
        (lifted([3], [[1], [2]], routing=ROUTING), []),
    ):
        verdict = decided(question, *counts)
        assert verdict["verdict"] == "unresolved"
        assert "the listed atoms are those of one route" in " ".join(verdict["reasons"])
    assert verdict_of(declared(routing=ROUTING))["verdict"] == "unresolved"


def test_an_executed_claim_is_about_a_run_without_a_router_and_of_the_listed_dictionary() -> None:
    for blocks in (
        {"routing": ROUTING},
        {"routing": None},
        {"metadata": None},
        {"metadata": covering(), "search": depths(1, 8, bits=(4,))},
    ):
        for target in ["1/20"], [1]:
            question = lifted(target, [[1], [-1]], execution=quantized(step=4), **blocks)
            subject = Subject(question, {})
            start = frozen_start(subject, 0)
            claim = produce_frozen(subject, 0, start, q.DepthRule(Fraction(4), 0))
            assert claim is not None
            assert verdict_of(question, [claim])["verdict"] == "unresolved"


def test_wrapping_without_an_invariant_downgrades() -> None:
    def wrapped(invariant: Any, limit: int = 8) -> dict[str, Any]:
        overflow = q.Wrapping("wrap", invariant)
        execution = quantized(step="1/10000", limit=limit, overflow=overflow)
        return decided(lifted(["1/2", "1/2"], [[1, 0], [0, 1]], execution=execution), [1, 1])

    assert wrapped(None)["verdict"] == "unresolved"
    assert "wrapping without a no-overflow invariant" in wrapped(None)["reasons"][0]
    assert wrapped(premise(9))["verdict"] == "unresolved"
    assert wrapped(premise(2))["verdict"] == "conditionally_feasible"
    assert wrapped(premise(2))["declared"] == ["no_overflow"]


def test_a_premise_labelled_unavailable_is_not_used() -> None:
    gone = Evidence.UNAVAILABLE
    for question in (
        declared(floor=floor(0, premise("1/100", evidence=gone))),
        declared(synthesis=bounded_variation(field_bound=premise(1, evidence=gone))),
        declared(execution=quantized(field_error=premise(0, evidence=gone))),
    ):
        assert verdict_of(question)["verdict"] == "unresolved"
    # Where there is something to fall back on, it is as if the premise had not been written.
    constants = bounded_variation(
        difference_bound=premise("1/1000", evidence=gone), growth=growth(premise(-1, evidence=gone))
    )
    verdict = verdict_of(declared(synthesis=constants))
    assert {**verdict, "study": ""} == {**verdict_of(declared()), "study": ""}


# --- metadata -------------------------------------------------------------------------------------


def codes(*atoms: list[list[Any]]) -> q.CodesMetadata:
    listed = [
        q.ListedDictionary(
            "listed",
            tuple(q.VectorAtom("vector", vector(atom)) for atom in code),
            4,
            learned=False,
            shared_schedule=True,
        )
        for code in atoms
    ]
    return q.CodesMetadata(
        "codes", tuple(q.MetadataCode(2 * i, one) for i, one in enumerate(listed))
    )


def test_each_code_runs_its_own_dictionary() -> None:
    """0 bits cannot, 2 bits can: the study is feasible at 2 bits; alone, 0 bits is impossible."""
    metadata = codes([[3]], [["1/2"]])
    question = lifted(
        ["1/2"], [[9]], metadata=metadata, search=depths(1, 4, bits=(0, 2)),
        costs=q.Costs(Fraction(0), Fraction(1), Fraction(0), Fraction(0)),
    )  # fmt: skip
    subject = Subject(question, {})
    claims = [*floor_claims(subject, 0), *floor_claims(subject, 2)]
    verdict = verdict_of(question, claims)
    assert verdict["verdict"] == "certified_feasible"
    assert (verdict["best"]["depth"], verdict["best"]["metadata_bits"]) == (1, 2)
    # The claim about one code says nothing about the other.
    assert verdict_of(question, claims[:1])["verdict"] == "unresolved"
    both = dataclasses.replace(question, metadata=codes([[3]], [[4]]))
    subject = Subject(both, {})
    claims = [*floor_claims(subject, 0), *floor_claims(subject, 2)]
    assert verdict_of(both, claims)["verdict"] == "certified_impossible"
    assert verdict_of(both, claims[1:])["verdict"] == "unresolved"


def test_a_declared_bracket_is_about_the_questions_dictionary_not_about_its_codes() -> None:
    for covers, expected in (("dictionary", "unresolved"), ("family", "conditionally_impossible")):
        question = lifted(
            ["1/2"], [[9]], metadata=codes([["1/2"]], [[4]]), floor=floor(1, 2, covers),
            search=depths(1, 4, bits=(0, 2)),
        )  # fmt: skip
        assert verdict_of(question)["verdict"] == expected
    own = lifted(
        ["1/2"], [["1/2"]], metadata=codes([["1/2"]], [[4]]), floor=floor(0, 0),
        search=depths(1, 4, bits=(0, 2)),
    )  # fmt: skip
    assert verdict_of(own)["best"]["metadata_bits"] == 0


def test_a_lower_end_proved_for_one_dictionary_pays_for_the_code_a_family_one_does_not() -> None:
    """T5.1: lo = 1 against eps = 1/10 with delta_s = 1 at 0 bits."""
    for covers, expected in (("dictionary", "unresolved"), ("family", "conditionally_impossible")):
        question = declared(
            floor=floor(1, 2, covers),
            synthesis=bounded_variation(state_lipschitz=0),
            metadata=covering(constant=1, sensitivity=1),
        )
        assert verdict_of(question)["verdict"] == expected
    # A claim is about the listed dictionary, so it pays as well.
    question = lifted([3], [[1], [2]], metadata=covering(constant=1, sensitivity=1))
    assert decided(question)["verdict"] == "unresolved"
    fine = dataclasses.replace(question, search=depths(1, 8, bits=(40,)))
    assert decided(fine)["verdict"] == "conditionally_impossible"

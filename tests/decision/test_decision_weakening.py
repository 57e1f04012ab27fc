"""Evidence only weakens (design rule 4): what is taken away never helps.

The verdict never becomes stronger in the order certified, conditional, unresolved; within one kind
its label never becomes better; and no "no" or "unresolved" becomes a "yes" of the same strength.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from declared_questions import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from weakenings import Draw, Study, weakenings

from qreplace.claims import Claim
from qreplace.decision.verdict import decide
from qreplace.errors import Rejected
from qreplace.premises import Evidence
from qreplace.question.subject import Subject

STRENGTH = {"certified": 2, "conditionally": 1, "unresolved": 0}


def verdict_of_study(study: Study) -> dict[str, Any]:
    """The verdict from the claims that still hold; a rejected claim is no evidence."""
    subject = Subject(study.question, {})
    held: list[Claim] = []
    for claim in study.claims:
        try:
            checked(subject, [claim])
        except Rejected:
            continue
        held.append(claim)
    return decide(subject, *checked(subject, held))


def strength(verdict: dict[str, Any]) -> tuple[int, int]:
    """Certified, conditional or unresolved; among conditional ones the label decides."""
    kind = STRENGTH[verdict["verdict"].split("_")[0]]
    return kind, -Evidence(verdict["evidence"]).rank if kind == 1 else 0


def feasible(verdict: dict[str, Any]) -> bool:
    return str(verdict["verdict"]).endswith("_feasible")


def draw_study(seed: int) -> Study:
    draw = Draw(random.Random(seed))
    return draw.lifted() if seed % 2 else draw.declared()


@settings(derandomize=True, max_examples=120)
@given(st.integers(0, 2**32 - 1))
def test_taking_evidence_away_never_strengthens_a_verdict(seed: int) -> None:
    study = draw_study(seed)
    before = verdict_of_study(study)
    # What is unresolved can only be wrongly resolved: a few weakenings of each are enough.
    every = 1 if strength(before) > (0, 0) else 5
    for name, weaker in list(weakenings(study))[seed % every :: every]:
        after = verdict_of_study(weaker)
        assert strength(after) <= strength(before), (name, before["verdict"], after["verdict"])
        if feasible(after) and not feasible(before):
            assert strength(after) < strength(before), (name, before["verdict"])


@settings(derandomize=True, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_neither_does_taking_several_things_away(seed: int, choices: int) -> None:
    study = draw_study(seed)
    before = verdict_of_study(study)
    rng = random.Random(choices)
    for _ in range(4):
        options = list(weakenings(study))
        if not options:
            return
        name, study = rng.choice(options)
        after = verdict_of_study(study)
        assert strength(after) <= strength(before), (name, before["verdict"], after["verdict"])
        before = after


@settings(derandomize=True, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_depths_and_ends_weaken_too(seed: int) -> None:
    """Row by row: no interval shrinks and no depth is decided better than before."""
    study = draw_study(seed)
    before = {row["depth"]: row for row in verdict_of_study(study)["depths"]}
    for name, weaker in list(weakenings(study))[seed % 4 :: 4]:
        for row in verdict_of_study(weaker)["depths"]:
            if row["depth"] in before:
                kind = row["verdict"].split("_")[0]
                was = before[row["depth"]]["verdict"].split("_")[0]
                assert STRENGTH[kind] <= STRENGTH[was], (name, row["depth"])


def test_the_random_studies_reach_every_kind_of_verdict() -> None:
    """Otherwise the tests above would say little."""
    found = Counter(verdict_of_study(draw_study(seed))["verdict"] for seed in range(200))
    for verdict in (
        "certified_feasible",
        "certified_impossible",
        "conditionally_feasible",
        "conditionally_impossible",
        "unresolved",
    ):
        assert found[verdict] >= 4, found

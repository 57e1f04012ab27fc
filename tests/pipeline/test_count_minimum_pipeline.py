"""Depths that floors and schedules leave open are decided by exact searches (theory T7.13)."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lifted_questions import make_question, write_back

from qreplace import check
from qreplace.claims import Claim, claim_kind
from qreplace.claims.count_minimum import CountMinimumClaim
from qreplace.errors import ProducerFailed
from qreplace.pipeline import attempts, counts, decide
from qreplace.pipeline.attempts import Produced, produce_claims
from qreplace.pipeline.counts import Wanted, count_claims, open_depths
from qreplace.question.model import DepthRange, Emulation, Question, Search
from qreplace.question.subject import Subject
from qreplace.report.context import Attempt
from qreplace.spec import FloorBudget, load_spec_bytes

NO_BUDGET = FloorBudget(None, None, None)

ATOMS = [[j == i for i in range(5)] for j in range(5)]
"""Corners of a simplex; the target is a mixture with denominator 12."""
TARGET = [Fraction(n, 12) for n in (5, 3, 2, 1, 1)]


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


def corners(tolerance: str, *, last: int = 12, **blocks: Any) -> Question:
    """The floor is 0 and depth 12 meets it; the shallower depths miss by what rounding leaves."""
    question = make_question(TARGET, [[int(x) for x in atom] for atom in ATOMS])
    return dataclasses.replace(
        question,
        objective=Emulation("emulation", Fraction(tolerance)),
        search=Search((DepthRange(1, last, 1),), (0,)),
        **blocks,
    )


def produced_for(question: Question, budget: FloorBudget = NO_BUDGET) -> Produced:
    return produce_claims(Subject(question, {}), budget, silent)


def minima(claims: dict[str, Claim]) -> dict[int, CountMinimumClaim]:
    return {c.depth: c for c in claims.values() if isinstance(c, CountMinimumClaim)}


def attempt(produced: Produced) -> Attempt:
    """The record of the exact searches; it must be there."""
    (found,) = [a for a in produced.attempts if a.engine == "count_minimum"]
    return found


SPEC: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "objective": {
        "kind": "emulation",
        "tolerance": "1/24",
        "norm": "linf",
        "domain": "witnesses",
    },
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": [str(x) for x in TARGET]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [{"kind": "vector", "values": [int(x) for x in atom]} for atom in ATOMS],
    },
    "structural_floor": {"compute": "affine_lp"},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [{"from": 1, "to": 16}]},
}


def least(depth: int) -> Fraction:
    """The least error by listing all counts of a depth."""
    from lifted_strategies import simplex_grid

    return min(
        max(abs(a - y) for a, y in zip(alpha, TARGET, strict=True))
        for alpha in simplex_grid(5, depth)
    )


def test_every_smaller_depth_is_certified_impossible_so_the_depth_is_minimal() -> None:
    """The floor is 0, so only exact searches exclude a depth: each says what listing says."""
    data = json.dumps(SPEC).encode()
    study = decide(load_spec_bytes(data, name="s.json", base=None, media="json"))
    tolerance = Fraction(1, 24)
    first = next(depth for depth in range(1, 17) if least(depth) <= tolerance)
    assert first > 4
    decision = study.decision
    assert study.verdict == "certified_feasible"
    assert decision["best"]["depth"] == first
    assert decision["minimal"] is True
    rows = {row["depth"]: row for row in decision["depths"]}
    for depth in range(1, first):
        assert rows[depth]["verdict"] == "certified_impossible"
        interval = rows[depth]["interval"]
        assert tolerance < Fraction(interval["lower"]) <= least(depth)
        assert Fraction(interval["upper"]) >= least(depth)
    kinds = [claim_kind(claim) for claim in study.claims]
    assert kinds.count("count_minimum") == first - 1
    assert check(study.bundle).verdict == study.decision


def test_the_same_study_gives_the_same_bundle() -> None:
    data = json.dumps(SPEC).encode()
    loaded = load_spec_bytes(data, name="s.json", base=None, media="json")
    assert decide(loaded).bundle == decide(loaded).bundle


def test_a_study_whose_every_depth_is_excluded_is_impossible() -> None:
    produced = produced_for(corners("1/24", last=3))
    found = minima(produced.claims)
    assert set(found) == {1, 2, 3}
    assert all(claim.lower > Fraction(1, 24) for claim in found.values())
    assert attempt(produced).outcome == "kept"
    assert attempt(produced).detail == ""


def test_depths_that_the_floor_excludes_need_no_search() -> None:
    """No mixture comes within 1 of (3, 3)."""
    question = make_question([3, 3], [[0, 0], [1, 1]])
    produced = produced_for(question)
    assert not minima(produced.claims)
    assert [a.engine for a in produced.attempts] == ["affine_lp"]


def test_nothing_beyond_the_first_depth_that_serves_is_searched() -> None:
    subject = Subject(corners("1/12"), {})
    produced = produced_for(corners("1/12"))
    cheap = [c for c in produced.claims.values() if not isinstance(c, CountMinimumClaim)]
    bounds = [b for c in cheap for b in Produced().accept(subject, c)]
    served = next(depth for depth in range(1, 13) if least(depth) <= Fraction(1, 12))
    assert [one.depth for one in open_depths(subject, 0, bounds)] == list(range(1, served))
    assert max(minima(produced.claims), default=0) < served


def test_a_schedule_of_the_exact_search_makes_a_depth_feasible() -> None:
    """A poor schedule to begin with: the search finds the one that serves, and stops there."""
    subject = Subject(corners("1/6"), {})
    found = count_claims(subject, 0, [], [], silent)
    assert found is not None
    served = next(depth for depth in range(1, 13) if least(depth) <= Fraction(1, 6))
    schedules = [c for c in found.claims if claim_kind(c) == "schedule_error"]
    assert sum(schedules[-1].counts) == served  # type: ignore[union-attr]
    assert schedules[-1].error <= Fraction(1, 6)  # type: ignore[union-attr]
    depths = [c.depth for c in found.claims if isinstance(c, CountMinimumClaim)]
    assert depths[: served - 1] == list(range(1, served))


def test_the_radii_of_the_execution_are_part_of_what_a_depth_needs() -> None:
    """With rounding between the ideal error and the executed one, both thresholds move inward."""
    exact = Subject(corners("1/12"), {})
    rounded = Subject(corners("1/12", execution=write_back("1/1024")), {})
    ideal = {one.depth: one for one in open_depths(exact, 0, [])}
    executed = {one.depth: one for one in open_depths(rounded, 0, [])}
    assert ideal[3] == Wanted(3, Fraction(1, 12), Fraction(1, 12))
    assert executed[3].above is not None
    assert executed[3].within is not None
    # Three steps, each rounded by at most half a cell.
    assert 0 < executed[3].above - Fraction(1, 12) <= Fraction(3, 2048)
    assert executed[3].above - Fraction(1, 12) == Fraction(1, 12) - executed[3].within
    produced = produced_for(corners("1/12", execution=write_back("1/1024"), last=3))
    assert all(c.lower > executed[d].above for d, c in minima(produced.claims).items())  # type: ignore[operator]


def test_the_budget_of_nodes_is_shared_and_what_stays_open_is_said() -> None:
    produced = produced_for(corners("1/24"), FloorBudget(None, None, 4))
    record = attempt(produced)
    assert "deeper ones were not searched" in record.detail
    assert len(minima(produced.claims)) < 4


def test_running_out_of_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SECONDS", 0)
    record = attempt(produced_for(corners("1/24")))
    assert record.outcome == "stopped"
    assert "the time limit ran out" in record.detail


def test_hard_depths_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """One box a depth is not enough; after two such depths no deeper one is tried."""
    monkeypatch.setattr(counts, "NODES", 1)
    record = attempt(produced_for(corners("1/100", last=11)))
    assert "undecided" in record.detail
    assert "deeper ones were not searched" in record.detail


def test_a_failing_solver_is_reported_and_the_rest_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from qreplace.produce import count_minimum

    def failing(*arguments: object, **options: object) -> object:
        raise ProducerFailed("no answer today")

    monkeypatch.setattr(count_minimum.CountProducer, "produce", failing)
    produced = produced_for(corners("1/24"))
    assert attempt(produced).outcome == "failed"
    assert "no answer today" in attempt(produced).detail
    assert {claim_kind(c) for c in produced.claims.values()} == {"affine_lp", "schedule_error"}


def test_grids_of_great_depths_are_left_to_the_radii() -> None:
    deep = dataclasses.replace(
        corners("1/24"), search=Search((DepthRange(10**6, 10**6 + 5, 1),), (0,))
    )
    assert list(open_depths(Subject(deep, {}), 0, [])) == []
    assert not minima(produced_for(deep).claims)


def test_progress_is_reported_depth_by_depth() -> None:
    heard: list[tuple[str, int, int]] = []
    produce_claims(
        Subject(corners("1/24", last=4), {}),
        NO_BUDGET,
        lambda stage, done, total: heard.append((stage, done, total)),
    )
    assert [entry for entry in heard if entry[0] == "counts"] == [
        ("counts", done, 4) for done in range(5)
    ]


def test_only_checked_claims_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = attempts.check_claim

    def listening(subject: Subject, claim: Claim) -> Any:
        seen.append(claim_kind(claim))
        return original(subject, claim)

    monkeypatch.setattr(attempts, "check_claim", listening)
    produced = produced_for(corners("1/24", last=4))
    assert seen.count("count_minimum") == len(minima(produced.claims)) == 4


def test_the_real_layer_needs_fifteen_steps() -> None:
    """6,144 coordinates, 16 atoms: depths 1 to 14 are cut off, and a search finds depth 15."""
    root = Path(__file__).parent.parent.parent
    study = decide(root / "examples" / "minilm-attention-output" / "feasible.yaml")
    assert study.decision["best"]["depth"] == 15
    assert study.decision["minimal"] is True
    records = {a.engine: a for a in study.attempts}
    assert records["count_minimum"].outcome == "kept"
    assert records["count_minimum"].detail == ""

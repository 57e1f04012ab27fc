"""Depth against an 8-bit state: what the two int8 examples say of it, and what a run shows."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import qreplace
from qreplace.claims.frozen import FrozenClaim
from qreplace.decision.plan import plan
from qreplace.question.subject import Subject
from qreplace.simulate.arithmetic import distance, simulate
from qreplace.simulate.model import Run
from qreplace.simulate.study import study_arithmetic, study_system

EXAMPLES = Path(__file__).parents[2] / "examples"
WRITE_BACK = EXAMPLES / "int8-write-back.yaml"
FEEDBACK = EXAMPLES / "int8-error-feedback.yaml"


@cache
def study(path: Path) -> qreplace.Study:
    return qreplace.decide(path)


def decided(path: Path) -> dict[str, Any]:
    return study(path).decision


def executed(path: Path, depth: int) -> tuple[Run, Fraction]:
    """The schedule that the study's claims plan at a depth, run; and how far it ends off target."""
    own = study(path)
    subject = Subject(own.spec.question, own.spec.arrays)
    # The amount only enters the plan's own error bound; given, a control is rounded to a schedule.
    found = plan(subject, own.claims, depth, 0, rounding=Fraction(0))
    assert found is not None
    system, target = study_system(subject, 0)
    run = simulate(system, found["schedule"], study_arithmetic(subject, depth))
    return run, distance(run.executed, target)


@pytest.mark.parametrize(("verdict", "depths"), [
    ("certified_feasible", [4, 16]),
    ("unresolved", [64, 128]),
    ("certified_impossible", [256, 1024]),
])  # fmt: skip
def test_write_back_is_feasible_then_open_then_frozen(verdict: str, depths: list[int]) -> None:
    rows = decided(WRITE_BACK)["depths"]
    assert [row["depth"] for row in rows if row["verdict"] == verdict] == depths


def test_the_reader_learns_where_depth_stops_helping() -> None:
    document = decided(WRITE_BACK)
    assert document["verdict"] == "certified_feasible"
    assert document["best"]["depth"] == 4
    assert document["impossible_from"] == 193
    told = " ".join(document["reasons"])
    assert "more depth loses it: the error exceeds the tolerance at every depth from 193 on" in told
    assert "the frozen state is off by at least 0.35" in told


def test_error_feedback_keeps_every_depth() -> None:
    document = decided(FEEDBACK)
    assert document["verdict"] == "certified_feasible"
    assert document["declared"] == []
    assert document["impossible_from"] is None
    rows = document["depths"]
    assert {row["verdict"] for row in rows} == {"certified_feasible"}
    depths = {row["depth"] for row in rows}
    assert {row["depth"] for row in decided(WRITE_BACK)["depths"]} <= depths
    assert max(depths) == 65_536


def claimed(path: Path, depth: int) -> tuple[Fraction, Fraction]:
    (row,) = (row for row in decided(path)["depths"] if row["depth"] == depth)
    return Fraction(row["interval"]["lower"]), Fraction(row["interval"]["upper"])


@pytest.mark.parametrize(("path", "depth"), [
    *((WRITE_BACK, depth) for depth in (4, 16, 64, 128)),
    *((FEEDBACK, depth) for depth in (4, 16, 64, 256, 1024)),
])  # fmt: skip
def test_the_planned_schedule_runs_within_the_claimed_interval(path: Path, depth: int) -> None:
    lower, upper = claimed(path, depth)
    assert lower <= executed(path, depth)[1] <= upper


@pytest.mark.parametrize("depth", [256, 1024])
def test_a_frozen_run_ends_where_it_starts(depth: int) -> None:
    run, missed = executed(WRITE_BACK, depth)
    assert set(run.executed) == {0}
    assert run.extremes["state"] == (0, 0)
    assert (missed, missed) == claimed(WRITE_BACK, depth)
    assert missed == Fraction(7, 20)


def test_freezing_is_certain_from_the_first_depth_possible() -> None:
    """192 steps leave an increment of exactly half a cell, which a tie may round up."""
    (frozen,) = (claim for claim in study(WRITE_BACK).claims if isinstance(claim, FrozenClaim))
    assert frozen.first_depth == 193
    assert Fraction(3, 4) / 193 < Fraction(1, 256) <= Fraction(3, 4) / 192

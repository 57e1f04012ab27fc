"""Depth against an 8-bit state: what the two int8 examples say of it, and what a run shows."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import qreplace
from qreplace.pipeline.simulation import simulate_study

EXAMPLES = Path(__file__).parents[2] / "examples"
WRITE_BACK = EXAMPLES / "int8-write-back.yaml"
FEEDBACK = EXAMPLES / "int8-error-feedback.yaml"


@cache
def decided(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = qreplace.decide(path).decision
    return found


@pytest.mark.parametrize(("verdict", "depths"), [
    ("certified_feasible", [4, 16]),
    ("unresolved", [64, 128]),
    ("certified_impossible", [256, 4096]),
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
    assert document["declared"] == []
    assert document["impossible_from"] is None
    rows = document["depths"]
    assert {row["verdict"] for row in rows} == {"certified_feasible"}
    assert (rows[0]["depth"], rows[-1]["depth"]) == (128, 65_536)


def test_the_simulator_agrees_with_both() -> None:
    """Inside the claimed interval where it moves; at the start where it is frozen."""
    claimed = {row["depth"]: row["interval"] for row in decided(WRITE_BACK)["depths"]}
    rows = {row["depth"]: row for row in simulate_study(WRITE_BACK, [4, 16, 256]).document["rows"]}
    for depth in (4, 16):
        assert Fraction(rows[depth]["target_error"]) <= Fraction(claimed[depth]["upper"])
    assert rows[256]["extremes"]["state"] == [0, 0]
    assert Fraction(rows[256]["target_error"]) == Fraction(claimed[256]["lower"]) == Fraction(7, 20)
    (row,) = simulate_study(FEEDBACK, [256]).document["rows"]
    assert Fraction(row["target_error"]) <= Fraction(1, 10)

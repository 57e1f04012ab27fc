"""A study that declares registers, from its specification to its report and back."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bundle_kit import members_of, rehashed

import qreplace
from qreplace.check.__main__ import main as check_main
from qreplace.claims import claim_bytes, claim_digest, claim_kind
from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import Rejected
from qreplace.pipeline import Study, attempts, decide
from qreplace.report import render
from qreplace.spec import load_spec_bytes

TREE: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "title": "Counters that wrap",
    "objective": {"kind": "emulation", "tolerance": "1/10", "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": ["3/8", "3/8"]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [
            {"kind": "vector", "name": "east", "values": ["3/4", 0]},
            {"kind": "vector", "name": "north", "values": [0, "3/4"]},
        ],
    },
    "structural_floor": "auto",
    "metadata": "none",
    "execution": {
        "semantics": "error_feedback",
        "grid": {"step": {"coefficient": 1, "power": 1}, "rounding": "nearest"},
        "carry": {"grid": {"step": {"coefficient": "1/4", "power": 1}, "rounding": "nearest"}},
        "field_error": "exact",
        "initial_error": "exact",
    },
    "routing": "none",
    "search": {"depths": [{"from": 4, "to": 40}]},
}
WIDTHS = {"state_bits": 6, "increment_bits": 2, "carry_bits": 3, "accumulator_bits": 3}
"""Increments are 0 and 3 fine codes, 4 a cell: sums to 3 D, states to (3 D + 2)/4 at most, and
increments -1, 0 and 1, since ties leave carries of -2 and 2."""


@cache
def study(mode: str = "wrap", **changes: int) -> Study:
    """The study with other widths."""
    overflow = {"kind": "registers", "on_overflow": mode, **WIDTHS, **changes}
    tree = {**TREE, "execution": {**TREE["execution"], "overflow": overflow}}
    data = json.dumps(tree).encode()
    return decide(load_spec_bytes(data, name="counters.json", base=None, media="json"))


def reports(one: Study) -> dict[str, bytes]:
    """The reports, without their figures."""
    return render(one.document(), one.report_context(), figures=False)


def attempt(one: Study) -> dict[str, Any]:
    (found,) = [a for a in one.document()["attempts"] if a["engine"] == "lattice"]
    return dict(found)


@pytest.mark.parametrize("mode", ["wrap", "saturate"])
def test_registers_that_fit_are_certified_and_the_bundle_says_so_again(mode: str) -> None:
    one = study(mode)
    assert one.verdict == "certified_feasible"
    (kept,) = [claim for claim in one.claims if isinstance(claim, LatticeClaim)]
    assert (kept.first_depth, kept.last_depth) == (1, 40)
    assert attempt(one)["outcome"] == "kept"
    assert "T4.10" in one.decision["best"]["radii"]["arithmetic"]["formula"]
    again = qreplace.check(one.bundle)
    assert again.verdict["verdict"] == "certified_feasible"
    assert "lattice" in {claim["kind"] for claim in one.decision["claims"]}


@pytest.mark.parametrize(
    ("width", "bits", "needed"),
    [("increment_bits", 1, 2), ("carry_bits", 2, 3), ("accumulator_bits", 2, 3)],
)
def test_a_register_too_narrow_leaves_the_study_open_and_says_which(
    width: str, bits: int, needed: int
) -> None:
    one = study(**{width: bits})
    assert one.verdict == "unresolved"
    assert any("T4.9, T4.10" in reason for reason in one.decision["reasons"])
    tried = attempt(one)
    assert tried["outcome"] == "failed"
    name = width.removesuffix("_bits")
    reason = f"the {name} register would need {needed} bits at depth 4, it has {bits}"
    assert tried["detail"] == reason
    for name in ("report.html", "report.md"):
        assert reason in reports(one)[name].decode()
    assert qreplace.check(one.bundle).verdict["verdict"] == "unresolved"


def test_a_narrow_state_register_is_certified_as_deep_as_it_holds() -> None:
    """Three bits hold up to 3, so to depth 4; tolerance 1/10 needs A_D = 1/(2 D) and so depth 5."""
    one = study(state_bits=3)
    assert one.verdict == "unresolved"
    (kept,) = [claim for claim in one.claims if isinstance(claim, LatticeClaim)]
    assert (kept.first_depth, kept.last_depth) == (1, 4)


def test_the_report_shows_what_the_registers_hold() -> None:
    text = reports(study())["report.html"].decode()
    assert "Registers that never overflow" in text
    assert "Codes of every schedule at depths 1 to 40 (by intervals)" in text
    assert "state 0..30" in text
    assert "accumulator 0..3" in text


def test_the_checkers_of_bundle_and_claim_say_it_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = study()
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(one.bundle)
    assert check_main([str(bundle)]) == 0
    assert "verdict: certified_feasible" in capsys.readouterr().out
    (kept,) = [claim for claim in one.claims if claim_kind(claim) == "lattice"]
    document = tmp_path / "claim.json"
    document.write_bytes(claim_bytes(kept))
    assert check_main([str(document), "--question", str(bundle)]) == 0
    said = capsys.readouterr().out
    assert "no declared register overflows, whatever the schedule, at every depth from 1" in said
    done = subprocess.run(
        [sys.executable, "-m", "qreplace.cli", "check", bundle],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, "accepted" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_bundle_without_its_lattice_claim_is_refused() -> None:
    """The verdict was reached with it; without it the checker reaches another."""
    one = study()
    (kept,) = [claim for claim in one.claims if isinstance(claim, LatticeClaim)]
    name = f"claims/{claim_digest(kept)}.json"
    members = members_of(one.bundle)
    assert name in members
    without = {key: data for key, data in members.items() if key != name}
    with pytest.raises(Rejected, match="the stored verdict differs"):
        qreplace.check(rehashed(without))


def test_a_claim_the_checker_refuses_is_reported_and_decides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> Any:
        raise Rejected("a code leaves the claimed range of its register", pointer="/state")

    held = attempts.check_claim

    def check(subject: Any, claim: Any) -> Any:
        return refuse() if isinstance(claim, LatticeClaim) else held(subject, claim)

    monkeypatch.setattr(attempts, "check_claim", check)
    one = study.__wrapped__()
    assert one.verdict == "unresolved"
    assert attempt(one)["outcome"] == "failed"
    assert "the checker refused what it produced" in attempt(one)["detail"]

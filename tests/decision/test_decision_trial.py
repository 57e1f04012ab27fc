"""Cases that a first user found: true premises from which too much was once concluded."""

from __future__ import annotations

import json
from typing import Any

import qreplace
from qreplace.spec import load_spec_bytes

FULL = {"kind": "full", "covering": {"value": "0.006", "evidence": "analytic_certified",
                                     "source": "2 K eta, K = 1, eta = 0.003"}}  # fmt: skip


def decided(
    target: str, atom: str, execution: dict[str, Any], *, depths: list[int], tolerance: str,
    domain: dict[str, Any] | None = None, **blocks: Any,
) -> dict[str, Any]:  # fmt: skip
    """One scalar map on one witness, or one vector of one coordinate."""
    vector = domain is None
    key, wrap = ("values", [target]) if vector else ("weights", [[target]])
    kind = "vector" if vector else "linear_map"
    tree = {
        "format": "qreplace/spec/v1",
        "objective": {"kind": "emulation", "tolerance": tolerance, "norm": "linf",
                      "domain": domain or "witnesses"},
        "system": {"kind": "lifted_affine"},
        "target": {"kind": kind, key: wrap},
        "dictionary": {"bits": 4, "learned": False, "schedule": "shared",
                       "atoms": [{"kind": kind, key: [atom] if vector else [[atom]]}]},
        "structural_floor": {"compute": "affine_lp"},
        "metadata": "none",
        "execution": {"field_error": "none", "initial_error": "exact", "overflow": "unbounded",
                      **execution},
        "routing": "none",
        "search": {"depths": depths},
        **blocks,
    }  # fmt: skip
    spec = load_spec_bytes(json.dumps(tree).encode(), name="spec.json", base=None, media="json")
    study = qreplace.decide(spec)
    qreplace.check(study.bundle)
    return study.decision


def test_a_frozen_upper_end_is_not_carried_between_witnesses_by_a_covering() -> None:
    """At x = 1.001 the state jumps to 2: rounding is not continuous, whatever the covering."""
    grid = {"step": 2, "rounding": "nearest"}
    verdict = decided(
        "0.01", "1", {"semantics": "write_back", "grid": grid}, depths=[1], tolerance="0.1",
        domain={**FULL, "inputs": [["0.999"]]},
    )  # fmt: skip
    assert verdict["verdict"] == "unresolved"
    assert any("rounding jumps" in reason for reason in verdict["reasons"])


def test_a_carry_register_that_is_too_narrow_is_not_ignored() -> None:
    """Clipped to 1/1000 the carry loses what a step of 1/4 leaves, and the state never moves."""
    execution = {
        "semantics": "error_feedback",
        "grid": {"step": "1/4", "rounding": "nearest", "limit": 10},
        "carry": {"grid": {"step": "1/100000", "rounding": "nearest", "limit": "1/1000"}},
        "overflow": "saturate",
    }
    verdict = decided("0.9", "0.9", execution, depths=[16], tolerance="0.3")
    assert verdict["verdict"] == "unresolved"
    assert any("carry register is narrower" in reason for reason in verdict["reasons"])


def test_rounding_up_past_the_register_is_not_covered_by_an_invariant_before_rounding() -> None:
    execution = {
        "semantics": "write_back",
        "grid": {"bits": 4, "limit": 1, "rounding": "directed"},
        "overflow": {"kind": "wrap", "no_overflow": {
            "value": 1, "evidence": "analytic_certified", "source": "0.95 at depth 1"}},
    }  # fmt: skip
    verdict = decided("0.95", "0.95", execution, depths=[1], tolerance="0.2")
    assert verdict["verdict"] == "unresolved"


def test_saturating_increments_need_no_margin_of_the_state() -> None:
    execution = {
        "semantics": "error_feedback",
        "grid": {"step": "1/64", "rounding": "nearest", "limit": 2},
        "carry": "exact",
        "overflow": "saturate",
    }
    verdict = decided("0.9", "0.9", execution, depths=[4], tolerance="0.1")
    assert verdict["verdict"] == "certified_feasible"
    assert "a state register as wide as needed" in verdict["asked"]


def test_an_initial_state_off_the_grid_is_not_exact() -> None:
    grid = {"step": "1/64", "rounding": "nearest"}
    run = {"semantics": "write_back", "grid": grid}
    on = decided("1", "1", run, depths=[1], tolerance="0.0078125", initial_state=["1/64"])
    off = decided("1", "1", run, depths=[1], tolerance="0.0078125", initial_state=["1/100"])
    assert on["best"] is None or on["best"]["radii"]["arithmetic"]["value"] == "1/128"
    assert off["best"] is None
    wide = decided("1", "1", run, depths=[1], tolerance="0.1", initial_state=["1/100"])
    assert wide["best"]["radii"]["arithmetic"]["value"] == "1/64"


def test_beside_no_large_depth_the_working_shallow_one_is_named() -> None:
    grid = {"step": "1/2", "rounding": "nearest"}
    covering = {"value": 0, "evidence": "analytic_certified", "source": "by hand"}
    verdict = decided(
        "1", "1", {"semantics": "write_back", "grid": grid}, depths=[1], tolerance="0.3",
        domain={"kind": "full", "inputs": [[1]], "covering": covering},
    )  # fmt: skip
    assert verdict["verdict"] == "certified_asymptotically_impossible"
    text = " ".join(verdict["reasons"])
    assert "the frozen state is off by at least 1" in text
    assert "given the declared premises, depth 1 does meet the tolerance" in text


def test_what_is_declared_is_weaker_than_what_was_checked() -> None:
    covering = {"value": "0.01", "evidence": "analytic_certified", "source": "by hand"}
    grid = {"step": "1/1024", "rounding": "nearest"}
    verdict = decided(
        "0.9", "0.9", {"semantics": "error_feedback", "grid": grid, "carry": "exact"},
        depths=[2], tolerance="0.1",
        domain={"kind": "full", "inputs": [[1]], "covering": covering},
    )  # fmt: skip
    assert verdict["verdict"] == "conditionally_feasible"
    assert verdict["weakest"].startswith("declared: covering")

"""Small decided studies, one for each verdict, and a title that tries everything."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from qreplace.pipeline import Study, decide
from qreplace.report import render
from qreplace.spec import load_spec_bytes

HOSTILE = (
    "<script>alert(1)</script> [link](http://e.example/x) ![i](http://e.example/i.png) | **b** `c` "
    "&amp; </style></title> {{ 7*7 }} \"'> \x9b[31m \u202eevil\u202c " + "w" * 300
)

LIFTED: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "title": "Two vectors",
    "objective": {"kind": "emulation", "tolerance": "3/20", "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": ["1/2", "1/4"]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [
            {"kind": "vector", "name": "east", "recipe": "by hand", "values": [1, 0]},
            {"kind": "vector", "name": "north", "recipe": "by hand", "values": [0, 1]},
        ],
    },
    "structural_floor": {"compute": "affine_lp"},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [4, 8]},
}

DECLARED: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "title": "Declared",
    "objective": {"kind": "emulation", "tolerance": "1/10", "norm": "l2", "domain": "witnesses"},
    "system": {"kind": "declared", "dimension": 4},
    "initial_state": "zero",
    "target": {"kind": "declared", "name": "block"},
    "dictionary": {"bits": 4, "learned": False, "atom_count": 2},
    "structural_floor": {"lower": 0, "upper": "1/100"},
    "synthesis": {
        "kind": "constant",
        "constant": {
            "value": "1/10",
            "evidence": "calibrated_estimate",
            "source": "fitted to runs",
            "assumptions": ["the runs are typical"],
            "description": "C of C/D.",
        },
    },
    "tube": "whole_space",
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [4, 8]},
}

SHRINKING_GRID = {
    "semantics": "error_feedback",
    "grid": {"step": {"coefficient": 1, "power": 1}, "rounding": "nearest"},
    "carry": "exact",
    "field_error": "exact",
    "initial_error": "exact",
    "overflow": "unbounded",
}

VERDICTS = (
    "certified_feasible",
    "certified_impossible",
    "certified_asymptotically_impossible",
    "conditionally_feasible",
    "conditionally_impossible",
    "unresolved",
)


def changed(tree: dict[str, Any], **blocks: Any) -> dict[str, Any]:
    """A copy of a specification with other blocks; ``None`` removes a block."""
    copied = copy.deepcopy(tree)
    copied.update(copy.deepcopy(blocks))
    return {key: value for key, value in copied.items() if value is not None}


def with_tolerance(tree: dict[str, Any], tolerance: str) -> dict[str, Any]:
    """A copy with another tolerance."""
    return changed(tree, objective={**tree["objective"], "tolerance": tolerance})


TREES: dict[str, dict[str, Any]] = {
    "certified_feasible": LIFTED,
    "certified_impossible": with_tolerance(LIFTED, "1/10"),
    "certified_asymptotically_impossible": changed(
        with_tolerance(LIFTED, "1/10"),
        execution=SHRINKING_GRID,
        search={"depths": [2, 4, 64]},
    ),
    "conditionally_feasible": DECLARED,
    "conditionally_impossible": changed(
        DECLARED, structural_floor={"lower": "1/2", "upper": "3/5"}
    ),
    "unresolved": changed(DECLARED, synthesis=None),
}


def study_of(tree: dict[str, Any], name: str = "spec.json") -> Study:
    """Decide a specification given as a tree."""
    data = json.dumps(tree).encode()
    return decide(load_spec_bytes(data, name=name, base=None, media="json"))


@cache
def study(verdict: str) -> Study:
    """The example that has this verdict."""
    found = study_of(TREES[verdict])
    assert found.verdict == verdict
    return found


@cache
def plain_files(verdict: str) -> dict[str, bytes]:
    """Its reports without figures."""
    found = study(verdict)
    return render(found.document(), found.report_context(), figures=False)


@cache
def drawn_files(verdict: str) -> dict[str, bytes]:
    """Its reports with figures."""
    found = study(verdict)
    return render(found.document(), found.report_context())

"""Small specifications that tests vary: as trees, written out as JSON or YAML."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from qreplace.errors import Problem, SpecError
from qreplace.spec import LoadedSpec, load_spec_bytes

LIFTED: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "objective": {"kind": "emulation", "tolerance": "3/20", "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": ["1/2", "1/4"]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [{"kind": "vector", "values": [1, 0]}, {"kind": "vector", "values": [0, 1]}],
    },
    "structural_floor": {"compute": "affine_lp"},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [4, 8]},
}

DECLARED: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "objective": {"kind": "emulation", "tolerance": "1/10", "norm": "l2", "domain": "witnesses"},
    "system": {"kind": "declared", "dimension": 4},
    "initial_state": "zero",
    "target": {"kind": "declared", "name": "block"},
    "dictionary": {"bits": 4, "learned": False, "atom_count": 2},
    "structural_floor": {"lower": 0, "upper": "1/100"},
    "synthesis": {"kind": "constant", "constant": 1},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [4, 8]},
}


POLYNOMIAL: dict[str, Any] = {
    **LIFTED,
    "system": {"kind": "polynomial", "states": ["x", "v"]},
    "horizon": 2,
    "initial_state": "zero",
    "target": {"kind": "vector", "values": [1, 0]},
    "dictionary": {
        "bits": 2,
        "learned": False,
        "atoms": [
            {"kind": "polynomial", "field": ["v", "1 - x*v^2/3"]},
            {"kind": "polynomial", "field": ["v", -1]},
        ],
    },
    "structural_floor": "auto",
}

AFFINE: dict[str, Any] = {
    **POLYNOMIAL,
    "system": {"kind": "affine_dynamics", "rate": "-1/2", "matrix": [[0, 1], [-1, 0]]},
    "dictionary": {
        "bits": 2,
        "learned": False,
        "atoms": [
            {"kind": "vector", "values": [1, 1]},
            {
                "kind": "forcing",
                "pieces": [
                    {"start": 0, "coefficients": [[0, 1], ["1/2", 0]]},
                    {"start": 1, "coefficients": [[1, 1]]},
                ],
            },
        ],
    },
}


def premise(value: Any, **more: Any) -> dict[str, Any]:
    """A premise with a label and a source."""
    return {"value": value, "evidence": "calibrated_estimate", "source": "fit", **more}


def changed(tree: dict[str, Any], **blocks: Any) -> dict[str, Any]:
    """A copy of a tree with other blocks; ``None`` removes a block."""
    copied = copy.deepcopy(tree)
    copied.update(blocks)
    return {key: value for key, value in copied.items() if value is not None}


def load(tree: Any, files: Mapping[str, bytes] | None = None) -> LoadedSpec:
    """Load a tree through its JSON text, without any file system."""
    data = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    return load_spec_bytes(data, name="spec.json", base=None, media="json", files=files)


def problems(tree: Any, files: Mapping[str, bytes] | None = None) -> tuple[Problem, ...]:
    """The problems of a tree that must be refused."""
    try:
        load(tree, files)
    except SpecError as error:
        return error.problems
    raise LookupError("the specification was accepted")

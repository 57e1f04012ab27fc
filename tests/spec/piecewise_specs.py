"""Small specifications of piecewise systems that tests vary."""

from __future__ import annotations

import copy
import json
from typing import Any

from spec_examples import LIFTED, changed

SOFT: dict[str, Any] = {
    "activation": "soft_threshold",
    "input_weights": [["1/2", 0], [0, "1/2"]],
    "state_weights": [["1/10", 0], [0, "-1/10"]],
    "thresholds": "1/4",
}
RELU: dict[str, Any] = {"activation": "relu", "input_weights": [[0, -1], [1, 0]], "leak": 1}
DISK: dict[str, Any] = {"kind": "disk", "radius": 1}

_TREE: dict[str, Any] = {
    **LIFTED,
    "objective": {"kind": "emulation", "tolerance": "1/10", "norm": "l2", "domain": "full"},
    "system": {"kind": "piecewise", "inputs": 2, "dimension": 2, "region": DISK},
    "target": {"kind": "schedule", "atoms": [SOFT, RELU], "steps": "0110"},
    "dictionary": {"bits": 4, "learned": False, "atoms": [SOFT, RELU]},
    "structural_floor": "auto",
}
PIECEWISE: dict[str, Any] = json.loads(json.dumps(_TREE))
"""A piecewise system on the unit disk; no part of it is shared with another."""


def put(tree: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy with another value at a JSON Pointer; ``None`` removes it."""
    copied = copy.deepcopy(tree)
    *path, last = [int(t) if t.isdigit() else t for t in pointer.strip("/").split("/")]
    here: Any = copied
    for token in path:
        here = here[token]
    if value is None:
        del here[last]
    else:
        here[last] = value
    return copied


def soft(**keys: Any) -> dict[str, Any]:
    """The soft-threshold atom with other keys; ``None`` removes one."""
    return {key: value for key, value in (SOFT | keys).items() if value is not None}


def with_atom(atom: dict[str, Any]) -> dict[str, Any]:
    """The specification whose dictionary has one atom."""
    return changed(PIECEWISE, dictionary={"bits": 4, "learned": False, "atoms": [atom]})


def matching(comparator: Any, **blocks: Any) -> dict[str, Any]:
    """Accuracy matching against a comparator."""
    objective = {"kind": "accuracy_matching", "norm": "l2", "domain": "full"}
    return changed(PIECEWISE, objective={**objective, "comparator": comparator}, **blocks)


def network(*layers: dict[str, Any]) -> dict[str, Any]:
    """The specification with a network as its target."""
    return changed(PIECEWISE, target={"kind": "network", "layers": list(layers)})

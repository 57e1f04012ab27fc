"""Block descriptions for tests: a complete one as a plain tree, and ways to run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qreplace.ledger.outcome import LedgerOutcome, run

NORM = {"kind": "layer_norm", "eps": "1/100", "gamma": 1, "beta": 0}
LINEAR = {"norm": 1, "error": "1/100", "bias": "1/10"}

BLOCK: dict[str, Any] = {
    "format": "qreplace/ledger/v1",
    "norm": "token_l2_inf",
    "dimensions": {"model": 4, "heads": 2, "key": 2, "hidden": 8},
    "tube": {"radius": 3},
    "unstated_errors": "exact",
    "attention": {
        "scale": "1/4", "norm": NORM,
        "query": LINEAR, "key": LINEAR, "value": LINEAR, "output": LINEAR,
    },
    "mlp": {"scale": "1/4", "norm": NORM, "activation": "gelu", "up": LINEAR, "down": LINEAR},
}  # fmt: skip

EXPERTS: dict[str, Any] = {
    "scale": 1, "norm": NORM, "gating": "softmax", "active": 2,
    "expert": {"bound": 2, "lipschitz": 3, "error": "1/10"},
    "scores": {"lipschitz": "1/2", "error": "1/50"},
}  # fmt: skip


def changed(tree: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with values replaced by path (``attention/query``); ``None`` removes a key."""
    found: dict[str, Any] = json.loads(json.dumps(tree))  # shares no parts, as copies may
    for path, value in changes.items():
        *parents, last = path.split("/")
        place: Any = found
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return found


def routed() -> dict[str, Any]:
    """The block with experts in place of its MLP."""
    found = changed(BLOCK, {"mlp": None})
    return found | {"experts": EXPERTS}


def ledger(folder: Path, tree: dict[str, Any]) -> LedgerOutcome:
    """The ledger of a description that lies in ``folder``."""
    path = folder / "block.json"
    path.write_text(json.dumps(tree), "utf-8")
    return run(path)

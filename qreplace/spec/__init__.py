"""The user's contract: a specification in YAML or JSON, checked, and lowered to a question.

Nothing heavy is imported until a specification is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qreplace.spec.loading import LoadedSpec, load_spec, load_spec_bytes
    from qreplace.spec.lower import AtomLabel, FloorBudget, Labels
    from qreplace.spec.schema import spec_schema

__all__ = [
    "AtomLabel",
    "FloorBudget",
    "Labels",
    "LoadedSpec",
    "load_spec",
    "load_spec_bytes",
    "spec_schema",
]

_HOME = {
    "AtomLabel": "qreplace.spec.lower",
    "FloorBudget": "qreplace.spec.lower",
    "Labels": "qreplace.spec.lower",
    "LoadedSpec": "qreplace.spec.loading",
    "load_spec": "qreplace.spec.loading",
    "load_spec_bytes": "qreplace.spec.loading",
    "spec_schema": "qreplace.spec.schema",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)

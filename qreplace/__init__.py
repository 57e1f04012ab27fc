"""qreplace: can more low-bit steps replace the missing precision? Answered before training.

``decide(spec)`` returns a study with its verdict and its bundle; ``check(bundle)`` re-checks a
bundle offline; ``load_spec(path)`` reads a specification. Everything is imported on first use, so
``import qreplace.check`` stays within the standard library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qreplace.version import __version__

if TYPE_CHECKING:
    from qreplace import check as check
    from qreplace.pipeline import Study as Study
    from qreplace.pipeline import decide as decide
    from qreplace.spec import load_spec as load_spec

__all__ = ["Study", "__version__", "check", "decide", "load_spec"]

_LAZY = {"decide": "qreplace.pipeline", "Study": "qreplace.pipeline", "load_spec": "qreplace.spec"}


def __getattr__(name: str) -> Any:
    if name == "check":
        return importlib.import_module("qreplace.check")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'qreplace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Files that are shipped beside the code: JSON Schemas, page templates and styles.

In a wheel they lie in this folder; in a checkout they lie at the root of the repository.
"""

from __future__ import annotations

import re
from pathlib import Path

from qreplace.errors import NotFound

_HERE = Path(__file__).resolve().parent
_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")


def data_path(folder: str) -> Path:
    """The shipped folder of that name (``schemas``, ``web``), wherever this package runs from."""
    packaged = _HERE / folder
    return packaged if packaged.is_dir() else _HERE.parents[1] / folder


def schema_kinds() -> tuple[str, ...]:
    """The kinds that have a shipped JSON Schema, sorted: ``spec`` and the kinds of documents."""
    names = (path.name for path in data_path("schemas").glob("*.v1.json"))
    return tuple(sorted(name.removesuffix(".v1.json") for name in names))


def schema_text(kind: str) -> str:
    """The JSON Schema of a kind (``spec``, a claim kind, ``bundle``, …) as it is shipped.

    Raises ``NotFound`` for a kind that has none; no other file can be named.
    """
    if _KIND.fullmatch(kind) is None or kind not in schema_kinds():
        raise NotFound(
            f"no schema of the kind {kind[:40]!r}",
            remedy=f"There are {', '.join(schema_kinds())}.",
        )
    return (data_path("schemas") / f"{kind}.v1.json").read_text(encoding="utf-8")

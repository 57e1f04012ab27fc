"""Writes the exported schemas: ``python tests/claims/make_schemas.py``."""

from __future__ import annotations

from pathlib import Path

from qreplace.claims.schemas import NAMES, schema_of, written

SCHEMAS = Path(__file__).parents[2] / "schemas"


def main() -> None:
    """One file a kind."""
    for name in NAMES:
        (SCHEMAS / f"{name}.v1.json").write_text(written(schema_of(name)), "utf-8")


if __name__ == "__main__":
    main()

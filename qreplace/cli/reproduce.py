"""``reproduce``: published tables and figures, recomputed beside the published numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from qreplace.errors import InputError

if TYPE_CHECKING:
    from qreplace.reproduce import Entry


def reproduce(
    table: Annotated[str | None, typer.Argument(help="A table; without one, the list.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Largest depth.")] = None,
    restarts: Annotated[int | None, typer.Option("--restarts", help="Local searches.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of local searches.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recompute published tables; exit 1 if one disagrees."""
    from qreplace.cli.study import terminal_progress
    from qreplace.reproduce import TABLES
    from qreplace.reproduce import reproduce as compute

    given = {"depth": depth, "restarts": restarts, "seed": seed}
    options = {name: value for name, value in given.items() if value is not None}
    if table is None:
        if options:
            raise InputError("options belong to a table", remedy="Name one of them.")
        _list(TABLES, as_json=as_json)
        return
    found = compute(table, options, terminal_progress())
    typer.echo(json.dumps(found.document(), ensure_ascii=False) if as_json else found.text())
    if not found.agrees:
        raise typer.Exit(1)


def _list(tables: Mapping[str, Entry], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {
                "table": name,
                "title": entry.title,
                "reference": entry.reference,
                "options": dict(entry.options),
            }
            for name, entry in tables.items()
        ]
        typer.echo(json.dumps({"tables": listed}, ensure_ascii=False))
        return
    for name, entry in tables.items():
        typer.echo(f"{name:<11}{entry.title} ({entry.reference})")
        for option, meaning in entry.options.items():
            typer.echo(f"{'':<11}  --{option}: {meaning}")
    typer.echo("\nCompute one with: qreplace reproduce TABLE")

"""``ledger``: which component of a block costs how much, and the constants of its field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def ledger(
    block: Annotated[Path, typer.Argument(help="A block description (docs/ledger.md).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write ledger.json, premises.yaml and the figure here."),
    ] = None,
) -> None:
    """Bound a Transformer block's field and error, part by part."""
    from qreplace.cli.study import terminal_progress, write_files
    from qreplace.ledger.outcome import run

    found = run(block, terminal_progress())
    files = {} if out is None else found.files()
    if out is not None:
        write_files(out, files)
    if as_json:
        typer.echo(json.dumps(found.document(), ensure_ascii=False))
        return
    typer.echo(found.text())
    if out is not None:
        typer.echo(f"\nwritten: {', '.join(str(out / name) for name in sorted(files))}")

"""``check``: the offline checker, the same as ``python -m qreplace.check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def check(
    file: Annotated[Path, typer.Argument(help="A bundle.zip or a claim .json.")],
    question: Annotated[
        Path | None, typer.Option("--question", help="question.json, or a bundle that holds it.")
    ] = None,
    arrays: Annotated[
        Path | None, typer.Option("--arrays", help="Folder of <sha256>.npy for a bare question.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Re-check a bundle, or a claim against its question."""
    from qreplace.check.__main__ import main

    arguments = [str(file)]
    if question is not None:
        arguments += ["--question", str(question)]
    if arrays is not None:
        arguments += ["--arrays", str(arrays)]
    if as_json:
        arguments.append("--json")
    raise typer.Exit(main(arguments))

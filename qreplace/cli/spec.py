"""``init``, ``validate`` and ``schema``: the specification itself."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from qreplace.errors import InputError

TEMPLATES = ("affine", "linear", "dynamics", "polynomial", "piecewise", "declared")


def init(
    template: Annotated[str, typer.Argument(help=f"One of: {', '.join(TEMPLATES)}.")],
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented starting specification."""
    if template not in TEMPLATES:
        raise InputError(
            f"there is no template {template!r}", remedy=f"Use one of: {', '.join(TEMPLATES)}."
        )
    if path.exists() and not force:
        raise InputError(f"{path} exists already", remedy="Add --force to overwrite it.")
    text = (
        resources.files("qreplace.cli").joinpath("templates", f"{template}.yaml").read_text("utf-8")
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    typer.echo(f"wrote {path}; next: qreplace decide {path} --out out/")


def validate(
    specs: Annotated[list[Path], typer.Argument(help="Specification files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check specifications and side files, all problems at once."""
    from qreplace.errors import Problem, SpecError
    from qreplace.spec import load_spec

    problems: list[Problem] = []
    studies = {}
    for path in specs:
        try:
            studies[str(path)] = load_spec(path).question.study_id
        except SpecError as error:
            problems.extend(error.problems)
    if problems:
        raise SpecError(problems)
    if as_json:
        typer.echo(json.dumps({"valid": True, "studies": studies}))
        return
    for name, study in studies.items():
        typer.echo(f"{name}: valid, study {study}")


def schema(
    kind: Annotated[str, typer.Argument(help="spec, question, verdict, bundle or a claim kind.")],
) -> None:
    """Print the JSON Schema of a document kind."""
    from qreplace.data import schema_text

    typer.echo(schema_text(kind), nl=False)

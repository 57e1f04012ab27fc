"""``qreplace``: entry point, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from qreplace.cli import check, gate, ledger, reproduce, serve, simulate, spec, study
from qreplace.errors import QReplaceError, SpecError
from qreplace.version import __version__

app = typer.Typer(
    name="qreplace",
    help="Can more low-bit steps replace the missing precision? Answered before training, "
    "with a proof that anyone can re-check.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's usage error, wherever this Typer keeps it."""


def _version(value: bool) -> None:
    if value:
        typer.echo(f"qreplace {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


app.command("init")(spec.init)
app.command("validate")(spec.validate)
app.command("decide")(study.decide)
app.command("gate")(gate.gate)
app.command("certify")(study.certify)
app.command("check")(check.check)
app.command("explain")(study.explain)
app.command("schema")(spec.schema)
app.add_typer(simulate.app, name="simulate")
app.command("ledger")(ledger.ledger)
app.command("reproduce")(reproduce.reproduce)
app.command("serve")(serve.serve)


def main() -> None:
    """Run a command; errors of ours print their message and give their exit code.

    A wrong command line is invalid input (3), so that a misspelt option in a pipeline is never
    mistaken for ``gate``'s *unresolved* (2).
    """
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="qreplace", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except USAGE_ERROR as error:
        print(f"invalid command line: {_message(error)}", file=sys.stderr)
        print("Try qreplace --help, or qreplace COMMAND --help.", file=sys.stderr)
        sys.exit(3)
    except QReplaceError as error:
        report_error(error)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        sys.exit(130)


def _message(error: Exception) -> str:
    describe = getattr(error, "format_message", None)
    return str(describe()) if callable(describe) else str(error)


def report_error(error: QReplaceError) -> None:
    """Print an error for people, or as one JSON object when ``--json`` was asked for."""
    if "--json" in sys.argv:
        document: dict[str, object] = {"error": error.code, "message": str(error)}
        if isinstance(error, SpecError):
            document["problems"] = [
                {"pointer": p.pointer, "line": p.line, "message": p.message} for p in error.problems
            ]
        print(json.dumps(document, ensure_ascii=False))
        return
    print(f"{error.title.lower()}:", file=sys.stderr)
    print(str(error), file=sys.stderr)


if __name__ == "__main__":
    main()

"""``simulate``: switching, execution arithmetic, the common lattice, phase diagrams, routers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qreplace.errors import InputError

if TYPE_CHECKING:
    from qreplace.simulate.outcome import Outcome

app = typer.Typer(
    help="Run switching and low-bit arithmetic, bit for bit.",
    add_completion=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Write result.json, figures and premises here.")
]
Request = Annotated[
    Path | None, typer.Argument(help="A simulation request, YAML or JSON (docs/simulate.md).")
]


@app.command("switching")
def switching(
    source: Annotated[
        Path | None,
        typer.Argument(help="A simulation request, or a study's spec: its claims' control."),
    ] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", help="Constant weights, as in 1/2,1/3,1/6.")
    ] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Number of steps.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="chairman, greedy or sum_up; repeatable.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option("--metadata-bits", help="For a study: the dictionary to switch.")
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Schedules for given weights, with the discrepancy that each rule realises (T2)."""
    from qreplace.simulate.request import is_request

    if source is not None and not is_request(source):
        if weights is not None:
            raise InputError("a study's claims hold the weights; --weights cannot be added")
        _switch_study(source, depth, rule, bits, as_json=as_json, out=out)
        return
    if bits is not None:
        raise InputError("--metadata-bits belongs to a study")
    given: dict[str, Any] = {"depth": depth, "rules": rule}
    if weights is not None:
        given["weights"] = [text.strip() for text in weights.split(",")]
    _answer(_request("switching", source, given), as_json=as_json, out=out)


def _switch_study(
    source: Path,
    depth: int | None,
    rule: list[str] | None,
    bits: int | None,
    *,
    as_json: bool,
    out: Path | None,
) -> None:
    from qreplace.cli.study import terminal_progress
    from qreplace.pipeline.simulation import switch_study
    from qreplace.simulate.switching import RULES

    if depth is None:
        raise InputError("a study needs the depth to switch at", remedy="Add --depth 16, say.")
    chosen = [own for own in RULES if own in rule] if rule else list(RULES[:2])
    unknown = [own for own in rule or [] if own not in RULES]
    if unknown:
        raise InputError(f"the rule is {unknown[0]!r}; needed one of {', '.join(RULES)}")
    found = switch_study(source, depth, chosen, bits, terminal_progress())
    _print(found, as_json=as_json, out=out)


@app.command("arithmetic")
def arithmetic(
    source: Annotated[Path, typer.Argument(help="A simulation request, or a study's spec.")],
    depth: Annotated[
        list[int] | None, typer.Option("--depth", help="For a study: a depth to run; repeatable.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option("--metadata-bits", help="For a study: the dictionary to run.")
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """A system in its declared arithmetic beside the ideal run (T4)."""
    from qreplace.simulate.request import is_request, load_request

    if is_request(source):
        if depth or bits is not None:
            raise InputError("a request names its own depths; --depth belongs to a study")
        _answer(load_request(source, "arithmetic"), as_json=as_json, out=out)
        return
    from qreplace.cli.study import terminal_progress
    from qreplace.pipeline.simulation import simulate_study

    if not depth:
        raise InputError("a study needs the depths to run", remedy="Add --depth 16, for example.")
    found = simulate_study(source, depth, bits, terminal_progress())
    _print(found, as_json=as_json, out=out)


@app.command("lattice")
def lattice(
    max_code: Annotated[int | None, typer.Option("--max-code", help="Largest code.")] = None,
    max_depth: Annotated[int | None, typer.Option("--max-depth", help="Longest sequence.")] = None,
    ratio: Annotated[
        list[int] | None, typer.Option("--ratio", help="Lattice ratio; repeatable.")
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", help="Randomized trials.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the trials.")] = None,
    rounding: Annotated[str | None, typer.Option("--rounding", help="Rounding mode.")] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Every sequence of the registered grid against every bound of the common lattice (T4.10)."""
    given = {
        "max_code": max_code,
        "max_depth": max_depth,
        "ratios": ratio,
        "trials": trials,
        "seed": seed,
        "rounding": rounding,
    }
    _answer(_request("lattice", None, given), as_json=as_json, out=out)


@app.command("phase")
def phase(request: Request = None, as_json: Json = False, out: Out = None) -> None:
    """Error against depth for each semantics, and over depth and state bits (T4.3-T4.7)."""
    _answer(_request("phase", request, {}), as_json=as_json, out=out)


@app.command("routing")
def routing(
    source: Annotated[Path, typer.Argument(help="A simulation request, YAML or JSON.")],
    as_json: Json = False,
    out: Out = None,
) -> None:
    """A router that the state drives, beside the target's own route (T6)."""
    _answer(_request("routing", source, {}), as_json=as_json, out=out)


def _request(kind: str, path: Path | None, given: dict[str, Any]) -> Any:
    """The request in a file, or the one that the options make."""
    from qreplace.simulate.request import FORMAT, load_request, request_from

    options = {name: value for name, value in given.items() if value is not None}
    if path is None:
        return request_from({"format": FORMAT, "kind": kind, **options}, "command line")
    if options:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise InputError(f"a request file says it all; {names} cannot be added")
    return load_request(path, kind)


def _answer(request: Any, *, as_json: bool, out: Path | None) -> None:
    from qreplace.cli.study import terminal_progress
    from qreplace.simulate.outcome import run

    _print(run(request, terminal_progress()), as_json=as_json, out=out)


def _print(found: Outcome, *, as_json: bool, out: Path | None) -> None:
    from qreplace.cli.study import write_files

    if out is not None:
        write_files(out, found.files())
    if as_json:
        typer.echo(json.dumps(found.document, ensure_ascii=False))
        return
    typer.echo(found.text)
    if found.premises:
        typer.echo(f"\nfor a specification:\n\n{found.premises}")
    if out is not None:
        typer.echo(f"\nwritten: {', '.join(str(out / name) for name in sorted(found.files()))}")

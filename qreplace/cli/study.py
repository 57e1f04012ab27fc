"""``decide``, ``certify`` and ``explain``."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qreplace.errors import InputError

if TYPE_CHECKING:
    from qreplace.pipeline import Study


def decide(
    spec: Annotated[Path, typer.Argument(help="The specification, YAML or JSON.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write bundle.zip and the reports here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures of the reports.")] = True,
) -> None:
    """Decide a specification; exits 0 whenever there is a verdict."""
    from qreplace.pipeline import decide as decide_spec
    from qreplace.report.terminal import render_terminal

    study = decide_spec(spec, progress=terminal_progress())
    document = study.document()
    if out is not None:
        write_files(out, study_files(study, figures=figures))
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    typer.echo(render_terminal(document, study.report_context()))
    if out is not None:
        typer.echo(f"\nreport: {out / 'report.html'}\nbundle: {out / 'bundle.zip'}")


def study_files(study: Study, *, figures: bool) -> dict[str, bytes]:
    """Everything ``--out`` writes: bundle, original specification, reports and figures."""
    from qreplace.report import render

    files = render(study.document(), study.report_context(), figures=figures)
    suffix = Path(study.spec.name).suffix or ".yaml"
    return {**files, "bundle.zip": study.bundle, f"spec{suffix}": study.spec.source}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files or none: each goes to a temporary name first and is then moved."""
    staged: list[tuple[str, Path]] = []
    try:
        for name, data in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
            staged.append((temporary, target))
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            Path(temporary).chmod(0o644)
        for temporary, target in staged:
            Path(temporary).replace(target)
    except OSError as error:
        for temporary, _ in staged:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def terminal_progress() -> Any:
    """A one-line progress display on a terminal; nothing otherwise."""
    if not sys.stderr.isatty():
        return None

    def show(stage: str, done: int, total: int) -> None:
        end = "\r" if done < total else "\r\033[K"
        print(f"{stage}: {done}/{total}", end=end, file=sys.stderr, flush=True)

    return show


def certify(
    spec: Annotated[Path, typer.Argument(help="The specification, YAML or JSON.")],
    out: Annotated[
        Path, typer.Option("--out", help="Write question.json, claims/ and arrays/ here.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Produce and check claims without deciding."""
    from qreplace.check.bounds import ScopedBound
    from qreplace.claims import claim_bytes, claim_digest, claim_kind
    from qreplace.exact.rational import format_rational
    from qreplace.pipeline import certify as certify_spec
    from qreplace.question.subject import Subject
    from qreplace.spec import load_spec

    loaded = load_spec(spec)
    subject = Subject(loaded.question, loaded.arrays)
    checked = certify_spec(loaded, subject, progress=terminal_progress())
    claims = checked.claims
    if not claims:
        raise InputError(
            "nothing was certified: the specification requests no engine and attaches no claim",
            remedy="Ask for one with structural_floor: {compute: affine_lp}.",
        )
    files = {"question.json": loaded.question.to_bytes()}
    files.update({f"arrays/{digest}.npy": data for digest, data in loaded.arrays.items()})
    files.update({f"claims/{claim_digest(claim)}.json": claim_bytes(claim) for claim in claims})
    write_files(out, files)

    def ends(digest: str, side: str) -> str | None:
        own = [
            bound
            for bound in checked.bounds
            if isinstance(bound, ScopedBound) and bound.claim == digest and bound.side == side
        ]
        return format_rational(own[0].value) if own else None

    listed = [
        {
            "kind": claim_kind(claim),
            "sha256": claim_digest(claim),
            "lower": ends(claim_digest(claim), "lower"),
            "upper": ends(claim_digest(claim), "upper"),
        }
        for claim in claims
    ]
    if as_json:
        typer.echo(json.dumps({"study": loaded.question.study_id, "claims": listed}))
        return
    for entry in listed:
        typer.echo(f"{entry['kind']} {entry['sha256'][:16] if entry['sha256'] else ''} checked")
    typer.echo(f"{len(listed)} claims checked, written to {out}")


def explain(
    specs: Annotated[list[Path], typer.Argument(help="One specification, or two to compare.")],
) -> None:
    """A verdict in words, or what differs between two studies."""
    from qreplace.pipeline import decide as decide_spec
    from qreplace.report.explain import explain as explain_one
    from qreplace.report.explain import explain_difference

    if len(specs) > 2:
        raise InputError("explain takes one specification, or two to compare")
    studies = [decide_spec(path) for path in specs]
    if len(studies) == 1:
        typer.echo(explain_one(studies[0].document(), studies[0].report_context()))
        return
    typer.echo(explain_difference(studies[0].document(), studies[1].document()))

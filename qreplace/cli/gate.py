"""``gate``: a release pipeline's yes or no, from the same verdicts (design.md, exit codes).

0 met; 1 not met; 2 unresolved; 3 specification or input invalid; 4 a claim or required evidence
rejected; 5 internal error. Several specifications give the worst of 5, 4, 3, 1, 2, 0.
"""

from __future__ import annotations

import enum
import json
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree

import typer

from qreplace.errors import InputError, QReplaceError
from qreplace.premises import Evidence

SEVERITY = (5, 4, 3, 1, 2, 0)
"""Exit codes from the worst to the best."""


class Requirement(enum.Enum):
    """What a pipeline may demand."""

    FEASIBLE = "feasible"
    NOT_IMPOSSIBLE = "not-impossible"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class Result:
    """One specification's outcome."""

    spec: str
    code: int
    verdict: str | None
    evidence: str | None
    message: str
    study: str | None = None


def judge(
    requirement: Requirement, verdict: str, evidence: Evidence, floor: Evidence | None
) -> int:
    """The exit code of one verdict: 0, 1 or 2.

    A conditional verdict counts only where ``floor`` (``--min-evidence``) admits its label:
    conditionally feasible meets ``feasible``, conditionally impossible fails ``not-impossible``,
    both meet ``resolved``. What is not admitted counts as unresolved. ``unresolved`` itself meets
    only ``not-impossible``.
    """
    if verdict.startswith("conditionally_") and not admitted(evidence, floor):
        verdict = "unresolved"
    if verdict == "unresolved":
        return 0 if requirement is Requirement.NOT_IMPOSSIBLE else 2
    if requirement is Requirement.RESOLVED:
        return 0
    return 0 if verdict.endswith("_feasible") else 1


def admitted(evidence: Evidence, floor: Evidence | None) -> bool:
    """Whether ``--min-evidence`` lets a conditional verdict of this label count."""
    return floor is not None and evidence.rank <= floor.rank


def worst(codes: Sequence[int]) -> int:
    """The worst exit code; checking nothing is not success."""
    return min(codes, key=SEVERITY.index, default=3)


def gate(
    specs: Annotated[list[Path], typer.Argument(help="Specification files.")],
    require: Annotated[
        Requirement, typer.Option("--require", help="What every specification must meet.")
    ],
    min_evidence: Annotated[
        Evidence | None,
        typer.Option("--min-evidence", help="Weakest label at which a conditional verdict counts."),
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML here.")] = None,
    annotations: Annotated[
        bool | None,
        typer.Option(help="GitHub annotations; by default only where GITHUB_ACTIONS is set."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fail a pipeline unless every specification qualifies.

    Exit codes: 0 met, 1 not met, 2 unresolved, 3 invalid input, 4 evidence rejected, 5 internal.
    """
    results = [_run(path, require, min_evidence) for path in specs]
    code = worst([result.code for result in results])
    if junit is not None:
        _write(junit, junit_xml(results, require))
    if annotations if annotations is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for result in results:
            line = annotation(result)
            if line:
                typer.echo(line)
    if as_json:
        document = {
            "require": require.value,
            "exit_code": code,
            "results": [vars(r) for r in results],
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
    else:
        for result in results:
            typer.echo(f"{_WORD[result.code]:10} {result.spec}: {result.message}")
    raise typer.Exit(code)


_WORD = {0: "met", 1: "not met", 2: "unresolved", 3: "invalid", 4: "rejected", 5: "internal"}


def _run(path: Path, requirement: Requirement, floor: Evidence | None) -> Result:
    from qreplace.pipeline import decide

    try:
        study = decide(path)
    except QReplaceError as error:
        return Result(str(path), error.exit_code, None, None, str(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OSError) as error:
        # A fault of ours in one specification must not hide the others' results.
        traceback.print_exc()
        return Result(str(path), 5, None, None, f"internal error: {type(error).__name__}")
    decision = study.decision
    evidence = Evidence(decision["evidence"])
    code = judge(requirement, study.verdict, evidence, floor)
    message = f"{study.verdict} ({evidence.value}): {'; '.join(decision['reasons'])}"
    if study.verdict.startswith("conditionally_") and not admitted(evidence, floor):
        message += f"; conditional verdicts of this label need --min-evidence {evidence.value}"
    return Result(str(path), code, study.verdict, evidence.value, message, study.id)


def junit_xml(results: Sequence[Result], requirement: Requirement) -> bytes:
    """One test case a specification; not met and unresolved are failures, the rest errors."""
    failures = sum(result.code in (1, 2) for result in results)
    errors = sum(result.code >= 3 for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name=f"qreplace gate --require {requirement.value}",
        tests=str(len(results)),
        failures=str(failures),
        errors=str(errors),
    )
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="qreplace.gate", name=_printable(result.spec)
        )
        if result.code in (1, 2):
            ElementTree.SubElement(
                case, "failure", message=_printable(result.message), type=_WORD[result.code]
            )
        elif result.code >= 3:
            ElementTree.SubElement(
                case, "error", message=_printable(result.message), type=_WORD[result.code]
            )
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text


def _printable(text: str) -> str:
    """XML 1.0 has no place for control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def annotation(result: Result) -> str:
    """A GitHub workflow command; empty when the requirement is met."""
    if result.code == 0:
        return ""
    level = "warning" if result.code == 2 else "error"
    file = _escape(result.spec).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} file={file},title=qreplace {_WORD[result.code]}::{_escape(result.message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None

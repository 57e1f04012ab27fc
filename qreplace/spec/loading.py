"""``load_spec``: bytes, tree, models, contradictions, arrays, question; every problem at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from qreplace.errors import Malformed, Problem, SpecError
from qreplace.question.model import Question
from qreplace.spec.contradictions import contradictions
from qreplace.spec.findings import Finding, needed, shown, to_problems
from qreplace.spec.lower import FloorBudget, Labels, budget, lower
from qreplace.spec.model import FORMAT, Spec
from qreplace.spec.problems import findings_of
from qreplace.spec.reading import MAX_BYTES, Document, Media, read_document
from qreplace.spec.resolve import Resolved, missing_digest, resolve
from qreplace.spec.shapes import shape_findings
from qreplace.spec.side_files import SideFiles

_SUFFIXES: dict[str, Media] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """A specification that was read: the question, its data, and what people wrote beside it."""

    question: Question
    arrays: dict[str, bytes]
    """Canonical ``.npy`` bytes by their SHA-256."""
    labels: Labels
    source: bytes
    """The specification as it was written."""
    certificates: dict[str, bytes]
    """Attached claim documents by their SHA-256."""
    name: str
    """The name of the specification's file."""
    budget: FloorBudget
    """What each attempt at a floor may spend."""


def load_spec(path: str | os.PathLike[str]) -> LoadedSpec:
    """Read a specification file; side files are found beside it.

    Raises ``SpecError`` with every problem found.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        base = file.resolve().parent
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be read"
        message = needed("a readable specification file", str(reason))
        raise SpecError([Problem(message, file=str(path), code="unreadable")]) from None
    media = _SUFFIXES.get(file.suffix.lower())
    return _load(data, file.name, str(path), SideFiles(base, {}), media)


def load_spec_bytes(
    data: bytes,
    *,
    name: str,
    base: Path | None,
    media: Media | None,
    files: Mapping[str, bytes] | None = None,
) -> LoadedSpec:
    """Read a specification from memory.

    ``files`` are attachments by name or by SHA-256; with ``base`` ``None`` no others are read.
    ``media`` ``None`` tells JSON from YAML by the text. Raises ``SpecError`` with every problem.
    """
    return _load(data, name, name, SideFiles(base, files or {}), media)


def _load(
    data: bytes, name: str, file: str, side_files: SideFiles, media: Media | None
) -> LoadedSpec:
    document = read_document(data, media)
    if document.findings:
        _refuse(document.findings, document, file)
    spec, resolved = _validated(document, side_files, file)
    try:
        question, labels = lower(spec, resolved)
    except Malformed as error:  # a rule of the question that no check above states
        _refuse([Finding((), error.message)], document, file)
    return LoadedSpec(
        question=question,
        arrays=resolved.store,
        labels=labels,
        source=data,
        certificates=resolved.certificates,
        name=name,
        budget=budget(spec),
    )


def _validated(document: Document, side_files: SideFiles, file: str) -> tuple[Spec, Resolved]:
    """The models and arrays of a specification without any fault; raises ``SpecError`` else."""
    tree = document.tree
    valid: frozenset[str] | None = None
    findings: list[Finding] = []
    if not isinstance(tree, dict):
        message = needed("a specification (an object with the key format)", shown(tree))
        _refuse([Finding((), message, "type")], document, file)
    try:
        spec = Spec.model_validate(tree)
    except ValidationError as error:
        findings = [_with_digest(found, tree, side_files) for found in findings_of(error, tree)]
        spec, valid = _valid_blocks(tree, error)
    findings += contradictions(spec, valid)
    resolved = resolve(spec, side_files, valid)
    findings += resolved.findings
    findings += shape_findings(spec, resolved, valid)
    if findings:
        _refuse(findings, document, file)
    return spec, resolved


_STAND_INS: dict[str, Any] = {
    "format": FORMAT,
    "objective": {"kind": "emulation", "tolerance": 0, "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "declared", "name": ""},
    "dictionary": {"bits": 1, "learned": False, "atom_count": 1},
    "search": {"depths": [1]},
}
"""Stand in for required blocks that are missing or invalid; no check ever looks at them."""


def _valid_blocks(tree: dict[str, Any], error: ValidationError) -> tuple[Spec, frozenset[str]]:
    """The specification without its invalid blocks, and the names of those that are valid.

    Contradictions among valid blocks are found although another block is wrong.
    """
    wrong = {item["loc"][0] for item in error.errors(include_url=False) if item["loc"]}
    kept = {name: tree[name] for name in Spec.model_fields if name in tree and name not in wrong}
    return Spec.model_validate(_STAND_INS | kept), frozenset(Spec.model_fields) - wrong


def _with_digest(finding: Finding, tree: Any, side_files: SideFiles) -> Finding:
    """Where only the digest of a side file is missing, offer the one of the file there now."""
    if finding.code != "missing-key" or "'sha256'" not in finding.message:
        return finding
    block = tree
    for token in finding.location:
        block = block[token]
    path = block.get("path") if isinstance(block, dict) else None
    return missing_digest(path, finding.location, side_files) if isinstance(path, str) else finding


def _refuse(findings: Sequence[Finding], document: Document, file: str) -> NoReturn:
    raise SpecError(to_problems(findings, document.positions(), file))

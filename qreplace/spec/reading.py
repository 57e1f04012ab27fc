"""Bytes to a plain tree, under safe limits and before anything is built from it.

A tree holds dictionaries, lists, strings, integers, booleans, ``None`` and ``ExactText`` (the
literal text of any other number); never a binary float. JSON takes the fast reader and positions
are found only when there is something to report; YAML is read from its events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from qreplace.errors import Malformed
from qreplace.exact.document import read_json
from qreplace.spec.findings import Finding, Positions, needed

MAX_BYTES = 1024 * 1024
"""Largest specification, in bytes. Arrays larger than this belong in side files."""

MAX_NESTING = 32
MAX_NODES = 100_000
"""Keys, scalars, lists and objects together."""

Media = Literal["json", "yaml"]


@dataclass(frozen=True, slots=True)
class Document:
    """The tree, what is wrong with the text, and how to find where things stand."""

    tree: Any
    findings: tuple[Finding, ...]
    positions: Callable[[], Positions]


def read_document(data: bytes, media: Media | None) -> Document:
    """Read a specification's text; whatever is wrong is in ``findings``, nothing is raised."""
    if len(data) > MAX_BYTES:
        return _refused(
            needed(
                f"at most {MAX_BYTES} bytes",
                f"{len(data)} or more",
                "Put large arrays in side files (path and sha256).",
            ),
            "too-large",
        )
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        positions = Positions(values={(): (line, column)})
        message = needed("UTF-8 text", f"byte 0x{data[error.start]:02x}", "Save it as UTF-8.")
        return Document(None, (Finding((), message, "not-utf8"),), lambda: positions)
    if media == "json" or text.lstrip().startswith("{"):
        document = _read_json(data, text)
        if not document.findings or media == "json":
            return document
        if media is None and not _is_syntax(document):
            return document
    from qreplace.spec.yaml_text import read_yaml

    tree, found, positions = read_yaml(text)
    return Document(tree, tuple(found), lambda: positions)


def _is_syntax(document: Document) -> bool:
    return any(finding.code == "syntax" for finding in document.findings)


def _refused(message: str, code: str) -> Document:
    return Document(None, (Finding((), message, code),), Positions)


def _read_json(data: bytes, text: str) -> Document:
    try:
        tree = read_json(data, max_bytes=MAX_BYTES, what="specification")
    except Malformed as error:
        from qreplace.spec.json_text import explain_json

        found, positions = explain_json(text, error.message)
        return Document(None, tuple(found), lambda: positions)
    finding = limit_tree(tree, unicode_escapes="\\u" in text)
    return Document(tree, (finding,) if finding else (), lambda: _json_positions(text))


def _json_positions(text: str) -> Positions:
    from qreplace.spec.json_text import scan_json

    return scan_json(text)[1]


def limit_tree(tree: Any, *, unicode_escapes: bool = False) -> Finding | None:
    """The first limit that the tree exceeds, if any; strings must be Unicode text."""
    nodes = 0
    level = [tree]
    for depth in range(MAX_NESTING + 2):
        if not level:
            return None
        nodes += len(level)
        if nodes > MAX_NODES:
            return Finding((), f"needed at most {MAX_NODES} values and keys", "too-large")
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                nodes += len(item)
                following.extend(item.values())
                if unicode_escapes and not all(map(is_text, item)):
                    return Finding((), _SURROGATE, "not-utf8")
            elif isinstance(item, list):
                following.extend(item)
            elif unicode_escapes and isinstance(item, str) and not is_text(item):
                return Finding((), _SURROGATE, "not-utf8")
        if depth >= MAX_NESTING and any(isinstance(item, (dict, list)) for item in level):
            break
        level = following
    return Finding((), too_deep(), "too-deep")


def too_deep() -> str:
    """The message for a document that nests too deep."""
    return f"the specification nests deeper than {MAX_NESTING} levels"


_SURROGATE = "needed Unicode text, received half of a surrogate pair (\\ud800 to \\udfff alone)"


def is_text(text: str) -> bool:
    """Whether the string can be written as UTF-8."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)

"""YAML 1.2 (core schema) to a plain tree, from the parser's events, under the same limits as JSON.

No anchors, aliases or tags; one document; no repeated keys; keys are text. Numbers stay text
unless they are integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from qreplace.exact.document import MAX_INTEGER_DIGITS, ExactText
from qreplace.spec.findings import MAX_FINDINGS, Finding, Location, Positions
from qreplace.spec.reading import MAX_NESTING, MAX_NODES, is_text, too_deep

_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_TRUE = frozenset(["true", "True", "TRUE"])
_FALSE = frozenset(["false", "False", "FALSE"])
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class _Stop(Exception):
    """A limit is exceeded; what follows is not read."""


class _Frame:
    """An open mapping or sequence."""

    def __init__(self, location: Location, container: dict[str, Any] | list[Any]) -> None:
        self.location = location
        self.container = container
        self.key: str | None = None

    @property
    def expects_key(self) -> bool:
        return isinstance(self.container, dict) and self.key is None


class _Builder:
    """Builds the tree event by event and keeps what is wrong."""

    def __init__(self) -> None:
        self.tree: Any = None
        self.findings: list[Finding] = []
        self.positions = Positions()
        self.stack: list[_Frame] = []
        self.nodes = 0
        self.documents = 0

    def find(self, location: Location, message: str, code: str, *, at_key: bool = False) -> None:
        self.findings.append(Finding(location, message, code, at_key))
        if len(self.findings) > MAX_FINDINGS:
            raise _Stop

    def take(self, event: Event) -> None:
        """One event of the parser."""
        if isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.positions.values[()] = _place(event.start_mark)
                self.find((), "needed one YAML document, received a second", "syntax")
                raise _Stop
        elif isinstance(event, CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, NodeEvent):
            self.node(event)

    def node(self, event: NodeEvent) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.find((), f"needed at most {MAX_NODES} values and keys", "too-large")
            raise _Stop
        top = self.stack[-1] if self.stack else None
        if top is not None and top.expects_key:
            self.key(event, top)
        else:
            self.value(event, top)

    def key(self, event: NodeEvent, top: _Frame) -> None:
        place = _place(event.start_mark)
        if not isinstance(event, ScalarEvent):
            self.positions.values[(*top.location, "?")] = place
            self.find((*top.location, "?"), "needed a key that is text", "syntax")
            raise _Stop
        top.key = event.value
        location = (*top.location, event.value)
        self.plain_only(event, location, at_key=True)
        self.text(event.value, location)
        if event.value in top.container:
            message = f"the key {event.value!r} appears twice in one object. Keep one of them."
            self.find(location, message, "duplicate-key", at_key=True)
        self.positions.keys[location] = place

    def value(self, event: NodeEvent, top: _Frame | None) -> None:
        location: Location = ()
        if top is not None:
            container = top.container
            last = len(container) if isinstance(container, list) else str(top.key)
            location = (*top.location, last)
        self.positions.values[location] = _place(event.start_mark)
        self.plain_only(event, location)
        value: Any = None
        if isinstance(event, ScalarEvent):
            value = self.scalar(event, location)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            value = {} if isinstance(event, MappingStartEvent) else []
            self.positions.collections.add(location)
        if top is None:
            self.tree = value
        elif isinstance(top.container, list):
            top.container.append(value)
        else:
            top.container[str(top.key)] = value
            top.key = None
        if isinstance(value, (dict, list)):
            self.stack.append(_Frame(location, value))
            if len(self.stack) > MAX_NESTING:
                self.find((), too_deep(), "too-deep")
                raise _Stop

    def plain_only(self, event: NodeEvent, location: Location, *, at_key: bool = False) -> None:
        if isinstance(event, AliasEvent):
            message = f"aliases (*{event.anchor}) are not read. Write the value out."
            self.find(location, message, "yaml-alias", at_key=at_key)
            return
        if event.anchor is not None:
            message = f"anchors (&{event.anchor}) are not read. Write values out where needed."
            self.find(location, message, "yaml-anchor", at_key=at_key)
        if getattr(event, "tag", None) is not None:
            message = f"tags ({str(event.tag)[:40]}) are not read. Remove the tag."  # type: ignore[attr-defined]
            self.find(location, message, "yaml-tag", at_key=at_key)

    def text(self, value: str, location: Location) -> None:
        if not is_text(value):
            self.find(
                location, "needed Unicode text, received half of a surrogate pair", "not-utf8"
            )

    def scalar(self, event: ScalarEvent, location: Location) -> Any:
        text = event.value
        self.text(text, location)
        if event.style in ('"', "'", "|", ">"):
            return text
        if text in _NULL:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if _NOT_FINITE.fullmatch(text):
            return ExactText(text)  # refused, in its place, by whatever reads a number
        if _FLOAT.fullmatch(text) and not _INTEGER.fullmatch(text):
            return ExactText(text)
        return _integer(text)


def _integer(text: str) -> int | str:
    """The integer that a plain scalar denotes, else its text; one that is too long stays text."""
    decimal = _INTEGER.fullmatch(text) is not None
    if not decimal and not _BASED.fullmatch(text):
        return text
    if len(text) > (MAX_INTEGER_DIGITS if decimal else MAX_INTEGER_DIGITS // 2):
        return ExactText(text)
    return int(text) if decimal else int(text, 0)


def read_yaml(text: str) -> tuple[Any, list[Finding], Positions]:
    """The tree, everything wrong with the text, and where things stand."""
    builder = _Builder()
    try:
        for event in _events(text):
            builder.take(event)
    except _Stop:
        pass
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            builder.positions.values[()] = _place(mark)
        builder.findings.append(Finding((), f"this is not YAML: {error.problem}", "syntax"))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        builder.positions.values[()] = (line, error.position - text.rfind("\n", 0, error.position))
        message = f"needed text, received the control character {error.character!r}"
        builder.findings.append(Finding((), message, "syntax"))
    except ValueError as error:  # an escape beyond Unicode
        builder.findings.append(Finding((), f"this is not YAML: {error}"[:200], "syntax"))
    except YAMLError as error:
        builder.findings.append(Finding((), f"this is not YAML: {error}"[:200], "syntax"))
    return builder.tree, builder.findings, builder.positions


def _events(text: str) -> Iterator[Event]:
    yield from YAML(typ="safe", pure=True).parse(text)


def _place(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1

"""What is wrong with a specification, by location; turned into problems with positions at the end.

A location is the path of keys and indices from the root of the document as it was written. Every
stage adds findings; none stops at the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from qreplace.errors import Problem
from qreplace.exact.codec import escape
from qreplace.exact.document import ExactText

Location = tuple[str | int, ...]
Place = tuple[int, int]
"""Line and column, both counted from 1."""

MAX_FINDINGS = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and where in the document."""

    location: Location
    message: str
    code: str = "invalid"
    at_key: bool = False
    """Whether the key itself is wrong (unknown, repeated), rather than its value."""


@dataclass(slots=True)
class Positions:
    """Where keys and values stand in the text."""

    values: dict[Location, Place] = field(default_factory=dict)
    keys: dict[Location, Place] = field(default_factory=dict)
    collections: set[Location] = field(default_factory=set)

    def place(self, finding: Finding) -> Place | None:
        """The nearest known place: the value of a scalar, the key of anything larger."""
        location = finding.location
        while True:
            if location in self.keys and (finding.at_key or location in self.collections):
                return self.keys[location]
            if location in self.values:
                return self.values[location]
            if not location:
                return None
            location = location[:-1]


def needed(what: str, received: str, remedy: str = "") -> str:
    """The house form of a message: needed, received, remedy."""
    return f"needed {what}, received {received}" + (f". {remedy}" if remedy else "")


def shown(value: Any) -> str:
    """A short, plain description of a value of a document."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, ExactText)):
        return f"the number {_cut(str(value))}"
    if isinstance(value, str):
        return f"the text {_cut(value)!r}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object with " + (_cut(", ".join(map(str, value))) if value else "no keys")
    return f"a {type(value).__name__}"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def pointer(location: Location) -> str:
    """The JSON Pointer (RFC 6901) of a location."""
    text = "".join(f"/{escape(str(token))}" for token in location)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def to_problems(findings: Iterable[Finding], positions: Positions, file: str) -> list[Problem]:
    """Problems in document order, without repetitions, at most ``MAX_FINDINGS`` of them."""
    placed = []
    for finding in dict.fromkeys(findings):
        line, column = positions.place(finding) or (None, None)
        placed.append(
            Problem(
                finding.message,
                pointer=pointer(finding.location),
                file=file,
                line=line,
                column=column,
                code=finding.code,
            )
        )
    placed.sort(key=lambda problem: (problem.line or 0, problem.column or 0, problem.pointer))
    if len(placed) > MAX_FINDINGS:
        placed[MAX_FINDINGS:] = [Problem("further problems are not shown", file=file)]
    return placed

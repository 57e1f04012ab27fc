"""Where things stand in a JSON text, and what is wrong with it: the slow path, for messages only.

``qreplace.exact.document.read_json`` decides whether a text is accepted; this scanner explains.
"""

from __future__ import annotations

import bisect
import json
import re

from qreplace.exact.document import MAX_INTEGER_DIGITS
from qreplace.spec.findings import Finding, Location, Place, Positions
from qreplace.spec.reading import too_deep

_TOKEN = re.compile(
    r'[ \t\r\n]*(?:("[^"\\]*(?:\\.[^"\\]*)*")|([{}\[\],:])|(-?[A-Za-z0-9.+-]+))', re.DOTALL
)
_MAX_DEPTH = 64


def explain_json(text: str, message: str) -> tuple[list[Finding], Positions]:
    """All that the scanner can say about a text that was refused with ``message``."""
    found, positions = scan_json(text)
    if found:
        return found, positions
    if "nests deeper" in message:
        return [Finding((), too_deep(), "too-deep")], positions
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        positions.values[()] = (error.lineno, error.colno)
        remedy = "Write JSON (RFC 8259), or YAML in a .yaml file."
        return [Finding((), f"this is not JSON: {error.msg}. {remedy}", "syntax")], positions
    return [Finding((), message, "syntax")], positions


class _Lines:
    """Line and column of an offset."""

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


class _Frame:
    """An open object or list."""

    def __init__(self, location: Location, is_object: bool) -> None:
        self.location = location
        self.is_object = is_object
        self.key: str | None = None
        self.index = 0
        self.seen: set[str] = set()

    def child(self) -> Location:
        """The location of the value that comes next."""
        return (*self.location, self.key if self.key is not None else self.index)


def scan_json(text: str) -> tuple[list[Finding], Positions]:
    """Places of keys and values; repeated keys, constants and oversized integers as findings.

    Stops quietly at the first token that is not JSON.
    """
    lines = _Lines(text)
    positions = Positions()
    found: list[Finding] = []
    stack: list[_Frame] = []
    offset = 0
    while match := _TOKEN.match(text, offset):
        offset = match.end()
        string, mark, scalar = match.groups()
        place = lines.place(match.start(match.lastindex or 0))
        top = stack[-1] if stack else None
        if mark is not None and mark not in "{[":
            _punctuate(mark, stack)
        elif top is not None and top.is_object and top.key is None:
            _key(string, place, top, positions, found)
        else:
            location = top.child() if top else ()
            positions.values[location] = place
            if mark is not None:
                positions.collections.add(location)
                stack.append(_Frame(location, mark == "{"))
            elif scalar is not None:
                _scalar(scalar, location, found)
        if len(stack) > _MAX_DEPTH:
            break
    return found, positions


def _punctuate(mark: str, stack: list[_Frame]) -> None:
    if mark in "}]" and stack:
        stack.pop()
    elif mark == "," and stack:
        stack[-1].key = None
        stack[-1].index += 1


def _key(
    string: str | None, place: Place, frame: _Frame, positions: Positions, found: list[Finding]
) -> None:
    try:
        key = json.loads(string or "")
    except json.JSONDecodeError:
        key = ""
    frame.key = key
    location = (*frame.location, key)
    if key in frame.seen:
        # Reported where the repetition stands; the first one keeps its place otherwise.
        message = f"the key {key!r} appears twice in one object. Keep one of them."
        found.append(Finding(location, message, "duplicate-key", at_key=True))
        positions.keys[location] = place
    frame.seen.add(key)
    positions.keys.setdefault(location, place)


def _scalar(scalar: str, location: Location, found: list[Finding]) -> None:
    if scalar.lstrip("-") in ("NaN", "Infinity"):
        message = f"needed a finite exact number, received {scalar}"
        found.append(Finding(location, message, "number"))
    elif len(scalar) > MAX_INTEGER_DIGITS and scalar.lstrip("-").isdigit():
        message = f"an integer of {len(scalar)} digits; at most {MAX_INTEGER_DIGITS} are read"
        found.append(Finding(location, message, "number"))

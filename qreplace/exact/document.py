"""Exact JSON documents: strict reading, canonical writing.

Canonical JSON is UTF-8 with sorted keys, no spaces and no floats; the same document always has
the same bytes, so its SHA-256 names it. Reading is strict: bounded size and nesting, no duplicate
keys, no NaN or infinity. Numbers with a fraction or an exponent arrive as their *text*
(``ExactText``), never through a binary float.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from qreplace.errors import Malformed

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 4000


class ExactText(str):
    """The literal text of a JSON number that is not an integer."""

    __slots__ = ()


def canonical_bytes(document: Any) -> bytes:
    """The canonical JSON bytes of ``document`` (objects, lists, strings, integers, booleans)."""
    _refuse_floats(document)
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Malformed("needed Unicode text, received half of a surrogate pair") from None


def sha256_hex(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def read_json(data: bytes, *, max_bytes: int = MAX_BYTES, what: str = "document") -> Any:
    """Parse JSON exactly and strictly.

    Raises ``Malformed`` (with a position where the parser knows one) for oversized input, bytes
    that are not UTF-8, nesting beyond ``MAX_DEPTH``, duplicate keys, NaN and infinities, and
    integers beyond ``MAX_INTEGER_DIGITS`` digits. Escaped halves of surrogate pairs are read as
    they stand; such a text cannot be written again.
    """
    if len(data) > max_bytes:
        raise Malformed(f"the {what} has {len(data)} bytes; at most {max_bytes} are read")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"the {what} is not UTF-8 (byte {error.start})") from None
    limit_nesting(text, what)
    try:
        return json.loads(
            text,
            parse_float=ExactText,
            parse_int=_parse_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object_without_duplicates,
        )
    except json.JSONDecodeError as error:
        raise Malformed(
            f"the {what} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None


def limit_nesting(text: str, what: str = "document") -> None:
    """Raise ``Malformed`` when brackets outside strings nest deeper than ``MAX_DEPTH``."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    in_string = False
    escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Malformed(f"the {what} nests deeper than {MAX_DEPTH} levels")
        elif character in "]}":
            depth -= 1


def _parse_integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise Malformed(f"an integer of {len(text)} digits; at most {MAX_INTEGER_DIGITS} are read")
    return int(text)


def _refuse_constant(text: str) -> Any:
    raise Malformed(f"{text} is not a number of this format", remedy="Numbers are exact.")


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Malformed(f"the key {key!r} appears twice in one object")
            seen.add(key)
    return result


def _refuse_floats(document: Any) -> None:
    """Walk the document once; a float in it is a fault of ours, found before it is hashed."""
    stack = [document]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, float):
            raise Malformed(f"a binary float ({item!r}) in an exact document")

"""``multipart/form-data`` (RFC 7578): a strict reader of bodies that are already in memory.

A body is at most ``Settings.max_body_bytes`` long and its attachments are handed on as bytes, so
nothing is gained by reading in pieces, and nothing is ever written to a file. File names are
texts to compare with, never paths to open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from qreplace.errors import Malformed
from qreplace.service.media import unquoted

MAX_HEADER_BYTES = 4096
"""Largest header block of one part."""

_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_DISPOSITION = re.compile(
    r'\s*form-data((?:\s*;\s*[A-Za-z*-]+=(?:"(?:[^"\\]|\\.)*"|[^\s";]+))*)\s*'
)
_PARAMETER = re.compile(r';\s*([A-Za-z*-]+)=("(?:[^"\\]|\\.)*"|[^\s";]+)')
_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
"""How browsers write these three characters in a name (WHATWG HTML, multipart/form-data)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part: the field's name, the file's name if it is a file, its media type, its bytes."""

    name: str
    filename: str | None
    content_type: str
    data: bytes


def read_parts(body: bytes, boundary: str, *, max_parts: int) -> list[Part]:
    """The parts of a body; raises ``Malformed`` with what is wrong."""
    if not _BOUNDARY.fullmatch(boundary):
        raise Malformed("needed a multipart boundary of 1 to 70 allowed characters")
    delimiter = b"\r\n--" + boundary.encode("ascii")
    pieces = (b"\r\n" + body).split(delimiter, max_parts + 2)
    if len(pieces) < 2:
        raise Malformed("needed the boundary named in Content-Type, received a body without it")
    if len(pieces) > max_parts + 2:
        raise Malformed(f"needed at most {max_parts} parts, received more")
    preamble, *parts, end = pieces
    if preamble.strip(b"\r\n \t"):
        raise Malformed("needed the first boundary at the start of the body, received other bytes")
    if not end.startswith(b"--") or end[2:].strip(b"\r\n \t"):
        raise Malformed("needed the closing boundary at the end of the body")
    return [_part(piece, number) for number, piece in enumerate(parts, start=1)]


def _part(piece: bytes, number: int) -> Part:
    line_end = piece.find(b"\r\n")
    if line_end < 0 or piece[:line_end].strip(b" \t"):
        raise Malformed(f"part {number}: needed a line end after the boundary")
    head_end = piece.find(b"\r\n\r\n", line_end, line_end + MAX_HEADER_BYTES)
    if head_end < 0:
        raise Malformed(f"part {number}: needed headers of at most {MAX_HEADER_BYTES} bytes")
    headers = _headers(piece[line_end + 2 : head_end], number)
    if "content-transfer-encoding" in headers:
        raise Malformed(f"part {number}: needed plain bytes, received a Content-Transfer-Encoding")
    names = _names(headers.get("content-disposition", ""), number)
    return Part(
        name=names["name"],
        filename=names.get("filename"),
        content_type=headers.get("content-type", ""),
        data=piece[head_end + 4 :],
    )


def _headers(block: bytes, number: int) -> dict[str, str]:
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed(f"part {number}: needed headers in UTF-8") from None
    headers: dict[str, str] = {}
    for line in text.split("\r\n"):
        name, colon, value = line.partition(":")
        key = name.strip().lower()
        if not colon or not key or key in headers:
            raise Malformed(f"part {number}: needed one 'Name: value' a line, received another")
        headers[key] = value.strip()
    return headers


def _names(disposition: str, number: int) -> dict[str, str]:
    match = _DISPOSITION.fullmatch(disposition)
    parameters = _PARAMETER.findall(match[1]) if match is not None else []
    names = {key.lower(): _unescaped(unquoted(value)) for key, value in parameters}
    if "name" not in names or len(names) != len(parameters):
        raise Malformed(f"part {number}: needed Content-Disposition: form-data with one name")
    return names


def _unescaped(text: str) -> str:
    for written, character in _ESCAPES.items():
        text = text.replace(written, character)
    return text

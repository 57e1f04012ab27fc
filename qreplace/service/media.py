"""Media types: what a request says it holds, and which representation it would like back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qreplace.spec.reading import Media

JSON = "application/json"
HTML = "text/html"
MARKDOWN = "text/markdown"
CSV = "text/csv"
MULTIPART = "multipart/form-data"

SPEC_MEDIA: dict[str, Media] = {
    JSON: "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
}
"""Media types of a specification that is the whole body."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER = re.compile(rf'\s*;\s*(?:({_TOKEN})\s*=\s*({_TOKEN}|"(?:[^"\\]|\\.)*"))?')
_ESSENCE = re.compile(rf"\s*({_TOKEN}/{_TOKEN})")
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


@dataclass(frozen=True, slots=True)
class ContentType:
    """A parsed ``Content-Type``: type and subtype in lower case, and the parameters."""

    essence: str
    parameters: dict[str, str]


def parse_content_type(text: str) -> ContentType | None:
    """A ``Content-Type`` value (RFC 9110, 8.3.1), or ``None`` when it is none."""
    match = _ESSENCE.match(text)
    if match is None:
        return None
    parameters: dict[str, str] = {}
    position = match.end()
    while position < len(text.rstrip()):
        found = _PARAMETER.match(text, position)
        if found is None:
            return None
        if found[1] is not None:
            parameters.setdefault(found[1].lower(), unquoted(found[2]))
        position = found.end()
    return ContentType(match[1].lower(), parameters)


def unquoted(text: str) -> str:
    """The value of a token or quoted string."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """The best of ``offered`` for an ``Accept`` value (RFC 9110, 12.5.1); ``None`` if none will do.

    An empty value accepts everything. Equal wishes are settled by the order of ``offered``; a range
    that cannot be read is passed over.
    """
    ranges = [wish for part in accept.split(",") if (wish := _range(part)) is not None]
    if not ranges:
        return offered[0] if not accept.strip() else None
    best, best_quality = None, 0
    for media in offered:
        quality = _quality(media, ranges)
        if quality > best_quality:
            best, best_quality = media, quality
    return best


def _range(part: str) -> tuple[str, int] | None:
    """A media range and its quality in thousandths."""
    content_type = parse_content_type(part)
    if content_type is None:
        return None
    quality = content_type.parameters.get("q", "1")
    if not _QUALITY.fullmatch(quality):
        return None
    whole, _, fraction = quality.partition(".")
    return content_type.essence, 1000 * int(whole) + int(fraction.ljust(3, "0") or "0")


def _quality(media: str, ranges: Sequence[tuple[str, int]]) -> int:
    """The quality of the most specific range that matches ``media``."""
    for wanted in (media, media.partition("/")[0] + "/*", "*/*"):
        matching = [quality for essence, quality in ranges if essence == wanted]
        if matching:
            return max(matching)
    return 0

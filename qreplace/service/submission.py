"""A ``POST``ed specification: raw bytes in, under the limits, and never through a float parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from qreplace.errors import Malformed
from qreplace.exact.document import sha256_hex
from qreplace.service.media import MULTIPART, SPEC_MEDIA, ContentType, parse_content_type
from qreplace.service.multipart import Part, read_parts
from qreplace.service.problems import Refusal
from qreplace.service.settings import Settings
from qreplace.spec.reading import MAX_BYTES as MAX_SPEC_BYTES
from qreplace.spec.reading import Media

if TYPE_CHECKING:
    from qreplace.spec import LoadedSpec

SPEC_PART = "spec"
_OFFERED = [*SPEC_MEDIA, MULTIPART]
_SUFFIXES: dict[str, Media] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Submission:
    """A specification and its attachments, as they were sent."""

    data: bytes
    media: Media | None
    name: str
    """What messages call the specification."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Attachments by file name and by SHA-256."""

    def load(self) -> LoadedSpec:
        """Read the specification; no file of this machine is ever read for it.

        Raises ``SpecError`` with every problem found.
        """
        from qreplace.spec import load_spec_bytes

        return load_spec_bytes(
            self.data, name=self.name, base=None, media=self.media, files=self.files
        )


async def read_submission(request: Request, settings: Settings) -> Submission:
    """The submission in a request; raises ``Refusal`` for a body that is not read."""
    content_type = parse_content_type(request.headers.get("content-type", ""))
    essence = content_type.essence if content_type is not None else ""
    if content_type is None or (essence != MULTIPART and essence not in SPEC_MEDIA):
        received = f"the media type {essence[:80]!r}" if essence else "no media type"
        raise _unsupported(received, _OFFERED)
    _require_identity(request, _OFFERED)
    if essence != MULTIPART:
        data = await read_body(request, min(MAX_SPEC_BYTES, settings.max_body_bytes))
        media = SPEC_MEDIA[essence]
        return Submission(data, media, f"spec.{media}")
    body = await read_body(request, settings.max_body_bytes)
    return await run_in_threadpool(_from_parts, body, content_type, settings)


async def read_document_body(request: Request, settings: Settings) -> tuple[bytes, Media, str]:
    """A body that is one JSON or YAML document: its bytes, which it is, and a name for messages."""
    content_type = parse_content_type(request.headers.get("content-type", ""))
    essence = content_type.essence if content_type is not None else ""
    if essence not in SPEC_MEDIA:
        received = f"the media type {essence[:80]!r}" if essence else "no media type"
        raise _unsupported(received, [*SPEC_MEDIA])
    _require_identity(request, [*SPEC_MEDIA])
    data = await read_body(request, min(MAX_SPEC_BYTES, settings.max_body_bytes))
    media = SPEC_MEDIA[essence]
    return data, media, f"request.{media}"


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body; raises ``Refusal`` as soon as it is known to exceed ``limit`` bytes."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _from_parts(body: bytes, content_type: ContentType, settings: Settings) -> Submission:
    try:
        parts = read_parts(
            body, content_type.parameters.get("boundary", ""), max_parts=settings.max_parts
        )
    except Malformed as error:
        raise Refusal("bad-request", f"multipart body: {error.message}") from None
    specs = [part for part in parts if part.name == SPEC_PART]
    if len(specs) != 1:
        raise Refusal(
            "bad-request",
            f"multipart body: needed one part named {SPEC_PART!r}, received {len(specs)}. "
            "The other parts are attachments.",
        )
    spec = specs[0]
    if len(spec.data) > MAX_SPEC_BYTES:
        raise _too_large(MAX_SPEC_BYTES)
    media = _media_of(spec)
    name = spec.filename if _is_plain(spec.filename) else f"spec.{media or 'yaml'}"
    return Submission(spec.data, media, name or "spec", _attachments(parts))


def _attachments(parts: list[Part]) -> dict[str, bytes]:
    """Attachments by name and by digest; a digest wins over a file name that looks like one."""
    named: dict[str, bytes] = {}
    digests: dict[str, bytes] = {}
    for part in parts:
        if part.name == SPEC_PART:
            continue
        if part.filename is not None:
            if named.get(part.filename, part.data) != part.data:
                raise Refusal(
                    "bad-request",
                    f"multipart body: two different attachments are named {part.filename[:80]!r}",
                )
            named[part.filename] = part.data
        digests[sha256_hex(part.data)] = part.data
    return named | digests


def _media_of(part: Part) -> Media | None:
    """JSON or YAML, by the part's media type, else by its file name; ``None`` tells by the text."""
    content_type = parse_content_type(part.content_type)
    if content_type is not None and content_type.essence in SPEC_MEDIA:
        return SPEC_MEDIA[content_type.essence]
    name = (part.filename or "").lower()
    return next((media for suffix, media in _SUFFIXES.items() if name.endswith(suffix)), None)


def _is_plain(name: str | None) -> bool:
    return bool(name) and name is not None and name.isprintable() and len(name) <= 200


def _require_identity(request: Request, kinds: list[str]) -> None:
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise _unsupported(f"the content coding {coding[:40]!r}", kinds)


def _unsupported(received: str, kinds: list[str]) -> Refusal:
    offered = ", ".join(kinds)
    return Refusal(
        "unsupported-media-type",
        f"needed a body in one of {offered} without content coding, received {received}",
        headers={"Accept-Post": offered},
    )


def _too_large(limit: int) -> Refusal:
    return Refusal(
        "too-large",
        f"needed at most {limit} bytes, received more. Put large arrays in attachments.",
        more={"limit": limit},
    )

"""Stored bytes and small objects as responses: entity tags, revalidation, policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from qreplace.service import media
from qreplace.service.headers import REPORT_POLICY

REPORTS = {
    "json": ("report.json", media.JSON),
    "csv": ("report.csv", f"{media.CSV}; charset=utf-8"),
    "md": ("report.md", f"{media.MARKDOWN}; charset=utf-8"),
    "html": ("report.html", f"{media.HTML}; charset=utf-8"),
}
"""Report formats: the stored file and its media type."""

FIGURES = {"svg": "image/svg+xml", "png": "image/png"}
"""Figure formats and their media types."""


def json_response(
    document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A small object as JSON; it is made anew for each request, so it is not to be kept."""
    return Response(
        json.dumps(document, ensure_ascii=False).encode(),
        status_code=status,
        media_type=media.JSON,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def entity_tag(digest: str) -> str:
    """The strong entity tag of stored bytes."""
    return f'"{digest}"'


def is_current(request: Request, digest: str) -> bool:
    """Whether the client already holds the bytes with that digest (RFC 9110, 13.1.2)."""
    held = [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]
    return "*" in held or entity_tag(digest) in {tag.removeprefix("W/") for tag in held}


def stored_response(
    data: bytes | None,
    digest: str,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Stored bytes, or 304 when ``data`` is ``None`` because the client holds them.

    A later engine may answer the same question anew, so caches ask before they use what they have.
    """
    tags = {"ETag": entity_tag(digest), "Cache-Control": "no-cache", **(headers or {})}
    if data is None:
        return Response(status_code=304, headers=tags)
    if content_type.startswith((media.HTML, FIGURES["svg"])):
        tags["Content-Security-Policy"] = REPORT_POLICY
    return Response(data, status_code=status, headers={**tags, "Content-Type": content_type})

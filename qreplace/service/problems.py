"""Errors as RFC 9457 problem documents; ``PROBLEMS`` is the one list of their types.

A problem says what was needed, what was received and how to mend it; it never tells internals.
``instance`` is the request's own number, which the log repeats.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from qreplace.errors import Problem, QReplaceError, SpecError
from qreplace.service.headers import SECURITY_HEADERS

MEDIA = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem: its status, its title and what it means."""

    status: int
    title: str
    meaning: str


PROBLEMS: dict[str, ProblemType] = {
    "bad-request": ProblemType(
        400, "The request is invalid", "A parameter or the multipart body is not as documented."
    ),
    "not-found": ProblemType(404, "Not found", "Nothing is stored or served under this address."),
    "method-not-allowed": ProblemType(
        405, "Method not allowed", "The address exists, with the methods that Allow lists."
    ),
    "not-acceptable": ProblemType(
        406, "Not acceptable", "None of the media types in Accept is offered; offered are listed."
    ),
    "too-large": ProblemType(
        413, "The body is too large", "The body, or the specification in it, exceeds its limit."
    ),
    "unsupported-media-type": ProblemType(
        415, "Unsupported media type", "The body is not in a media type or coding that is read."
    ),
    "invalid-specification": ProblemType(
        422, "The specification is invalid", "Every fault found is in problems, with its place."
    ),
    "invalid-input": ProblemType(
        422, "The input is invalid", "An attachment is missing, changed or unreadable."
    ),
    "malformed": ProblemType(
        422, "The document is malformed", "An attached claim is no document of its format."
    ),
    "rejected": ProblemType(
        422, "The evidence was rejected", "An attached claim does not prove what it says."
    ),
    "contradiction": ProblemType(
        422, "Checked claims contradict each other", "A lower end lies above an upper end."
    ),
    "simulation-failed": ProblemType(
        422, "The simulation failed", "The request asks for what cannot be run, or for too much."
    ),
    "internal": ProblemType(
        500, "The service failed", "A fault of the service; nothing was stored. The log has more."
    ),
    "not-ready": ProblemType(503, "Not ready", "The store cannot be written."),
    "busy": ProblemType(503, "Busy", "Too many simulations wait already; Retry-After says when."),
}
"""Problem types by code; those of ``qreplace.errors`` that a request can cause are among them."""


@dataclass
class Refusal(Exception):
    """A request that is answered with a problem document."""

    code: str
    detail: str
    problems: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal_of(error: QReplaceError) -> Refusal:
    """The problem that one of our errors is for a client; an unlisted code is an internal fault."""
    if error.code not in PROBLEMS:
        return Refusal("internal", _INTERNAL)
    if isinstance(error, SpecError):
        return _invalid_specification(error.problems)
    detail = f"{error.message} {error.remedy}".strip()
    return Refusal(error.code, detail, more={"pointer": error.pointer} if error.pointer else {})


_INTERNAL = "The service failed while it worked on this request; nothing was stored."


def internal() -> Refusal:
    """The problem for any fault of ours."""
    return Refusal("internal", _INTERNAL)


def _invalid_specification(problems: Sequence[Problem]) -> Refusal:
    count = len(problems)
    first = str(problems[0]) if problems else "The specification cannot be read."
    more = f" (and {count - 1} more in problems)" if count > 1 else ""
    return Refusal(
        "invalid-specification",
        first + more,
        problems=[
            {
                "pointer": problem.pointer,
                "file": problem.file,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
                "code": problem.code,
            }
            for problem in problems
        ],
        more={"pointer": problems[0].pointer} if problems else {},
    )


def problem_response(request: Request, refusal: Refusal) -> Response:
    """The response for a refusal; it carries the security headers even outside the middleware."""
    kind = PROBLEMS[refusal.code]
    document: dict[str, Any] = {
        "type": f"/problems/{refusal.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": refusal.detail,
        "instance": f"urn:uuid:{request_number(request)}",
        **refusal.more,
    }
    if refusal.problems:
        document["problems"] = list(refusal.problems)
    return Response(
        json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"),
        status_code=kind.status,
        media_type=MEDIA,
        headers={
            **SECURITY_HEADERS,
            "Cache-Control": "no-store",
            "X-Request-ID": request_number(request),
            **refusal.headers,
        },
    )


def request_number(request: Request) -> str:
    """The random number of a request, made when it is first asked for."""
    state = request.scope.setdefault("state", {})
    number: str = state.setdefault("request_number", str(uuid.uuid4()))
    return number

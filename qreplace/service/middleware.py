"""Around every request: its number, the security headers, and one line in the log."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qreplace.service.headers import SECURITY_HEADERS
from qreplace.service.logs import log
from qreplace.service.problems import request_number


class Surroundings:
    """Plain ASGI, so that bodies pass through without being held back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; only HTTP requests are numbered and logged."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = request_number(Request(scope))
        head = scope["method"] == "HEAD"  # is GET without the body
        inner = {**scope, "method": "GET"} if head else scope
        status = 500
        started = time.monotonic()

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Request-ID", number)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            elif head:
                message = {**message, "body": b""}
            await send(message)

        try:
            await self._app(inner, receive, with_headers)
        finally:
            log(
                logging.DEBUG if scope["path"] in ("/healthz", "/readyz") else logging.INFO,
                "request",
                request=number,
                method=scope["method"],
                path=scope["path"][:200],
                status=status,
                milliseconds=round(1000 * (time.monotonic() - started), 1),
            )

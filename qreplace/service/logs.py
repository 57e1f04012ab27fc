"""One JSON object a line on standard error: when, what, and which request; never a body."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from typing import Any

LOGGER = logging.getLogger("qreplace.service")


class JsonLines(logging.Formatter):
    """Records as JSON objects; what ``extra={"fields": …}`` holds comes after the event."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in one line; a traceback, if there is one, is a field of it."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def log(level: int, event: str, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event with its fields, and the traceback of ``error``."""
    LOGGER.log(level, event, exc_info=error, extra={"fields": fields})


def configure(level: str) -> None:
    """Send everything that is logged, the server's own lines too, to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOGGER.setLevel(level.upper())

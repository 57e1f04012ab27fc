"""A real server in a process of its own, on a free loopback port, ended by its process id."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

STARTS_WITHIN = 60
STOPS_WITHIN = 60
COMMAND = (sys.executable, "-m", "qreplace.cli")


class Server:
    """``qreplace serve`` as a child process; a context manager that always ends it."""

    def __init__(
        self,
        folder: Path,
        *,
        command: Sequence[str] = COMMAND,
        arguments: Sequence[str] = ("serve", "--host", "127.0.0.1", "--port", "0"),
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [*command, *arguments],
            env={**os.environ, "QREPLACE_DATA_DIR": str(folder), **(environment or {})},
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._first: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        if self._process.stderr is not None:
            for line in self._process.stderr:
                self.lines.append(line)
                self._first.put(line)
        self._first.put("")

    def __enter__(self) -> Server:
        try:
            first = self._first.get(timeout=STARTS_WITHIN)
            self.url = str(json.loads(first)["url"])
        except BaseException:
            self.kill()
            raise
        self.http = httpx.Client(base_url=self.url, timeout=60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()
        self.stop()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self) -> int:
        """Ask the process to end, as an operator does; its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._reader.join(STOPS_WITHIN)
        return code

    def kill(self) -> None:
        """End the process without asking, as a power cut does."""
        self._process.kill()
        self._process.wait(STOPS_WITHIN)

    def log(self) -> list[dict[str, Any]]:
        """Every line of the log, each of which is a JSON object."""
        return [json.loads(line) for line in self.lines]

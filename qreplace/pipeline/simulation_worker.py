"""One simulation in a process of its own: ``python -m qreplace.pipeline.simulation_worker``.

Standard input holds one line of JSON (the memory limit) and then the request; standard output holds
one JSON object a line: ``{"progress": [stage, done, total]}``, and at the end ``{"files": {name:
base64}}`` or ``{"failed": message, "code": code, "pointer": pointer}``.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from qreplace.errors import QReplaceError
from qreplace.pipeline.worker import limit_memory
from qreplace.simulate.outcome import run
from qreplace.simulate.request import read_request

COMMAND = [sys.executable, "-P", "-m", "qreplace.pipeline.simulation_worker"]
"""-P: the folder it is started in holds the user's files, not modules."""


def main() -> int:
    """Read a request, simulate, and print what was found."""
    stream = sys.stdin.buffer
    limit_memory(int(json.loads(stream.readline())["megabytes"]))
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else spoils the protocol

    def say(**entry: Any) -> None:
        output.write(json.dumps(entry).encode() + b"\n")
        output.flush()

    def progress(stage: str, done: int, total: int) -> None:
        say(progress=[stage, done, total])

    try:
        found = run(read_request(stream.read(), name="request", media="json"), progress)
        files = {name: base64.b64encode(data).decode() for name, data in found.files().items()}
        say(files=files)
    except MemoryError:
        say(failed="the memory limit was reached", code="invalid-input", pointer="")
    except QReplaceError as error:
        say(failed=str(error), code=error.code, pointer=error.pointer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

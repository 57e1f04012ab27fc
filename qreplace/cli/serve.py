"""``serve``: the HTTP service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 picks a free one.")] = 8321,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the study store.")] = None,
) -> None:
    """Serve the HTTP API and the report pages."""
    from qreplace.service.run import serve as run

    run(host=host, port=port, data_dir=data)

"""``serve``: the service on one address, until it is told to stop."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qreplace.errors import InputError
from qreplace.service.logs import configure, log
from qreplace.service.settings import Settings

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321


def serve(
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    data_dir: Path | None = None,
    settings: Settings | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; running requests are finished first.

    ``port`` 0 picks a free one; the first line of the log names it. ``settings`` default to the
    environment's, ``data_dir`` wins over them. Raises ``InputError`` when the address or the store
    cannot be had.
    """
    import uvicorn

    from qreplace.service.app import create_app

    chosen = Settings.from_environment(data_dir=data_dir) if settings is None else settings
    configure(chosen.log_level)
    app = create_app(chosen)
    listener = _listen(host, port)
    address, actual = listener.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    log(logging.INFO, "listening", url=f"http://{shown}:{actual}", data=str(chosen.data_dir))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=60,
    )
    with listener, _ended_by_signal():
        uvicorn.Server(config).run(sockets=[listener])
    log(logging.INFO, "stopped")


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM ends the block as SIGINT does, and neither is an error.

    The server raises again what it was ended by, once every request is done.
    """
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen on {host} port {port}: {reason}",
            remedy="Choose another address or port; port 0 picks a free one.",
        ) from None

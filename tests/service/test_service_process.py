"""The server as people run it: a process, a port, a restart, a kill."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import pytest
from service_client import SPEC, everything_in
from service_process import COMMAND, Server

from qreplace.check.__main__ import check_bundle
from qreplace.exact.document import sha256_hex
from qreplace.service.store import StudyStore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
JSON = {"Content-Type": "application/json"}


def test_studies_outlive_the_process(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with Server(folder) as server:
        assert server.http.get("/readyz").status_code == 200
        posted = server.http.post("/v1/studies", content=json.dumps(SPEC), headers=JSON)
        assert posted.status_code == 201
        page = server.http.get(posted.headers["location"], headers={"Accept": "text/html"})
        head = server.http.head(posted.headers["location"])
        assert head.status_code == 200 and head.content == b""
        assert server.stop() == 0
    events = [line["event"] for line in server.log()]
    assert events[0] == "listening" and events.count("decided") == 1
    with Server(folder) as again:
        assert again.http.get(posted.headers["location"]).content == posted.content
        kept = again.http.get(posted.headers["location"], headers={"Accept": "text/html"})
        assert kept.content == page.content
        second = again.http.post("/v1/studies", content=json.dumps(SPEC), headers=JSON)
        assert second.status_code == 200 and second.content == posted.content
        bundle = again.http.get(f"{posted.headers['location']}/bundle.zip").content
        assert check_bundle(bundle).kind == "bundle"


def test_a_kill_leaves_whole_answers_only(tmp_path: Path) -> None:
    """Killed in the middle of a decision, the store opens again and holds no part of it."""
    folder = tmp_path / "store"
    text = (EXAMPLES / "affine-128.yaml").read_bytes()
    with Server(folder) as server:

        def post() -> None:
            with pytest.raises(httpx.TransportError):
                server.http.post("/v1/studies", content=text, headers={"Content-Type": "text/yaml"})

        caller = threading.Thread(target=post)
        caller.start()
        caller.join(0.3)
        server.kill()
        caller.join(60)
    store = StudyStore(folder)
    assert store.page(10).studies == ()
    for path, data in everything_in(folder).items():
        assert path.endswith(sha256_hex(data))
    with Server(folder) as again:
        posted = again.http.post("/v1/studies", content=text, headers={"Content-Type": "text/yaml"})
        assert posted.status_code == 201


def test_an_oversized_body_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with Server(tmp_path, environment={"QREPLACE_MAX_BODY_BYTES": "4096"}) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(
                b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 999999999999\r\n\r\n"
            )
            head = connection.recv(65536)
        assert head.startswith(b"HTTP/1.1 413 ")
        assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200_000 + b"\r\n\r\n", b"4"),
        (b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET /v1/studies/%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
    ],
    ids=["no request", "huge header", "negative length", "odd address"],
)
def test_requests_that_are_none(server: Server, raw: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(raw)
        head = connection.recv(65536)
    assert head.startswith(b"HTTP/1.1 " + status)
    assert server.http.get("/healthz").status_code == 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> object:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


def test_a_port_that_is_taken(server: Server, tmp_path: Path) -> None:
    result = subprocess.run(
        [*COMMAND, "serve", "--port", str(server.port), "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 3
    assert f"cannot listen on 127.0.0.1 port {server.port}" in result.stderr


def test_a_wrong_setting_stops_it_before_it_listens(tmp_path: Path) -> None:
    result = subprocess.run(
        [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path / "store")],
        env={"QREPLACE_DECIDERS": "many"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 3
    assert "QREPLACE_DECIDERS" in result.stderr
    assert not (tmp_path / "store").exists()

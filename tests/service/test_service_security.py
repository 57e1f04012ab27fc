"""Headers on every response, no other origin, and no path of a client's is ever opened."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from service_client import SPEC, Client, spec

from qreplace.service.headers import REPORT_POLICY, SECURITY_HEADERS
from qreplace.service.logs import JsonLines, log

SCRIPT = "<script>alert(1)</script>"


def test_headers_on_every_response(client: Client) -> None:
    study = client.post(SPEC).json()["study"]
    base = f"/v1/studies/{study}"
    styled = {f"{base}/report.html", f"{base}/figures/interval.svg"}
    for path in (
        *styled,
        base,
        f"{base}/report.json",
        f"{base}/report.md",
        f"{base}/bundle.zip",
        "/v1/studies",
        "/v1/schemas/spec",
        "/openapi.json",
        "/healthz",
        "/nothing",
        "/v1/studies?limit=0",
    ):
        headers = client.get(path, origin="http://elsewhere.example").headers
        for name, value in SECURITY_HEADERS.items():
            expected = value
            if name == "Content-Security-Policy" and path in styled:
                expected = REPORT_POLICY
            assert headers[name] == expected, path
        assert "script-src" not in headers["Content-Security-Policy"]
        assert not any(name.startswith("access-control") for name in headers)
        assert len(headers["x-request-id"]) == 36
    assert client.get(base, accept="text/html").headers["Content-Security-Policy"] == REPORT_POLICY


def test_preflight_is_not_answered(client: Client) -> None:
    response = client.request(
        "OPTIONS",
        "/v1/studies",
        headers={"Origin": "http://elsewhere.example", "Access-Control-Request-Method": "POST"},
    )
    assert response.status_code == 405
    assert not any(name.startswith("access-control") for name in response.headers)


def test_a_page_cannot_be_injected(engine: Client) -> None:
    study = engine.post(spec(title=SCRIPT, search={"depths": [3]})).json()["study"]
    page = engine.get(f"/v1/studies/{study}/report.html")
    assert "&lt;script&gt;" in page.text and "<script" not in page.text
    assert engine.get("/v1/studies").headers["content-type"] == "application/json"


class Watch:
    """Notes the paths that this process opens while it is on; an audit hook stays for good."""

    def __init__(self) -> None:
        self.on = False
        self.opened: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in ("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename"):
            self.opened.append(str(arguments[0]))


@pytest.fixture
def opened() -> Iterator[list[str]]:
    watch = Watch()
    watch.on = True
    yield watch.opened
    watch.on = False


def test_no_path_of_a_client_is_opened(client: Client, opened: list[str]) -> None:
    mark = "marked-by-the-client"
    array = {"path": f"{mark}/w.npy", "sha256": "0" * 64}
    for path in (f"{mark}/w.npy", f"/{mark}", f"../{mark}", f"{mark}/../x"):
        tree = spec(title=mark, target={"kind": "vector", "values": {**array, "path": path}})
        data = json.dumps(tree).encode()
        assert client.post(tree).status_code == 422
        attachment = ("x", (f"../{mark}", b"1", None))
        assert client.post_parts(("spec", (f"/{mark}", data, None)), attachment).status_code == 422
    good = json.dumps(spec(title=mark)).encode()
    posted = client.post_parts(("spec", (f"../{mark}", good, None)), ("x", (mark, b"1", None)))
    assert posted.status_code == 201
    for path in (f"/v1/studies/{mark}", f"/v1/schemas/{mark}", f"/problems/..%2f{mark}"):
        assert client.get(path).status_code == 404
    assert opened, "the hook saw nothing at all"
    assert not [path for path in opened if mark in path]


def test_log_lines_are_json(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "qreplace.service"):
        response = client.post(spec(title="not for the log"))
        client.get('/v1/studies/"%0a{"')
    lines = [json.loads(JsonLines().format(r)) for r in caplog.records if "fields" in vars(r)]
    assert [line["event"] for line in lines] == ["decided", "request", "request"]
    decided, request, other = lines
    assert decided["study"] == response.json()["study"]
    assert request["request"] == response.headers["x-request-id"]
    assert (request["method"], request["path"], request["status"]) == ("POST", "/v1/studies", 201)
    assert other["path"] == '/v1/studies/"\n{"' and other["status"] == 404
    assert "not for the log" not in json.dumps(lines)


def test_a_fault_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    log(logging.ERROR, "failed", error=ValueError("inside"), request="r")
    line = json.loads(JsonLines().format(caplog.records[-1]))
    assert (line["level"], line["request"]) == ("error", "r")
    assert "ValueError: inside" in line["traceback"]

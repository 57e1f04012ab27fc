"""Every way to be refused is a problem document of its own type, and leaves the store alone."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from service_client import SPEC, Client, Stub, everything_in, spec

from qreplace.errors import (
    Contradiction,
    InputError,
    Malformed,
    ProducerFailed,
    Rejected,
    SpecError,
)
from qreplace.service.problems import PROBLEMS
from qreplace.service.store import StudyStore
from qreplace.spec import load_spec_bytes
from qreplace.spec.reading import MAX_BYTES

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
DOCUMENTS = sorted(
    path
    for folder in ("malformed", "rejected")
    for path in (CORPUS / folder / "spec").iterdir()
    if path.suffix in (".json", ".yaml")
)


def problem_of(response: httpx.Response, code: str) -> dict[str, Any]:
    """The problem document of a response, after checking everything that each one has."""
    kind = PROBLEMS[code]
    assert response.status_code == kind.status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    document: dict[str, Any] = response.json()
    assert document["type"] == f"/problems/{code}"
    assert document["title"] == kind.title
    assert document["status"] == kind.status
    assert document["detail"]
    assert document["instance"] == f"urn:uuid:{response.headers['x-request-id']}"
    return document


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("refusing"), Stub())
    yield client
    client.close()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_corpus(refusing: Client, path: Path) -> None:
    """All problems of a refused specification, as Python reports them, and nothing stored."""
    data = path.read_bytes()
    media = "json" if path.suffix == ".json" else "yaml"
    with pytest.raises(SpecError) as caught:
        load_spec_bytes(data, name=f"spec.{media}", base=None, media=media, files={})
    expected = caught.value.problems
    document = problem_of(
        refusing.post_bytes(data, f"application/{media}"), "invalid-specification"
    )
    assert document["pointer"] == expected[0].pointer
    assert [
        (p["pointer"], p["file"], p["line"], p["column"], p["message"], p["code"])
        for p in document["problems"]
    ] == [(p.pointer, p.file, p.line, p.column, p.message, p.code) for p in expected]
    assert everything_in(refusing.folder) == {}


def test_several_problems_at_once(client: Client) -> None:
    document = problem_of(client.post(spec(system="x", horizon=-1)), "invalid-specification")
    assert [p["pointer"] for p in document["problems"]] == ["/system", "/horizon"]
    assert "1 more" in document["detail"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("needed a file", remedy="Attach it."), "invalid-input"),
        (Malformed("no claim", pointer="/format"), "malformed"),
        (Rejected("the dual norm exceeds 1", pointer="/dual"), "rejected"),
        (Contradiction("lower above upper"), "contradiction"),
    ],
)
def test_errors_of_the_engine(tmp_path: Path, error: Any, code: str) -> None:
    client = Client(tmp_path / "store", Stub(fails=error))
    document = problem_of(client.post(SPEC), code)
    assert error.message in document["detail"] and error.remedy in document["detail"]
    assert document.get("pointer", "") == error.pointer
    assert everything_in(client.folder) == {}
    client.close()


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a secret of the inside"),
        RecursionError("a secret of the inside"),
        ProducerFailed("a secret of the inside"),
        KeyError("a secret of the inside"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_internal_faults_tell_nothing(
    tmp_path: Path, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(tmp_path / "store", Stub(fails=error))
    response = client.post(SPEC)
    document = problem_of(response, "internal")
    assert "secret" not in response.text and "Traceback" not in response.text
    assert "Content-Security-Policy" in response.headers
    logged = [record for record in caplog.records if record.getMessage() == "failed"]
    assert [record.fields["request"] for record in logged] == [document["instance"][9:]]
    assert logged[0].exc_info is not None and logged[0].exc_info[1] is error
    assert everything_in(client.folder) == {}
    assert client.get("/v1/studies").json()["studies"] == []
    client.close()


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "before=0", "before=-1", "before=" + "9" * 30]
)
def test_wrong_parameters(client: Client, query: str) -> None:
    document = problem_of(client.get(f"/v1/studies?{query}"), "bad-request")
    assert [p["parameter"] for p in document["problems"]] == [query.partition("=")[0]]


@pytest.mark.parametrize("accept", ["image/png", "text/html;q=0", "nonsense"])
def test_not_acceptable(client: Client, stub: Stub, accept: str) -> None:
    study = client.post(SPEC).json()["study"]
    document = problem_of(client.get(f"/v1/studies/{study}", accept=accept), "not-acceptable")
    assert "text/markdown" in document["offered"]
    refused = client.post_bytes(b"{}", "application/json", accept=accept)
    problem_of(refused, "not-acceptable")
    assert len(stub.asked) == 1


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/studies", "GET, HEAD, POST"),
        ("PUT", "/v1/schemas/spec", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_wrong_method(client: Client, method: str, path: str, allowed: str) -> None:
    response = client.request(method, path)
    problem_of(response, "method-not-allowed")
    assert response.headers["allow"] == allowed


@pytest.mark.parametrize(
    ("media", "headers"),
    [
        ("text/plain", {}),
        ("application/octet-stream", {}),
        ("", {}),
        ("no media type", {}),
        ("application/json", {"Content-Encoding": "gzip"}),
        ("multipart/mixed; boundary=x", {}),
    ],
)
def test_unsupported_media(client: Client, media: str, headers: dict[str, str]) -> None:
    response = client.post_bytes(json.dumps(SPEC).encode(), media, **headers)
    problem_of(response, "unsupported-media-type")
    assert "multipart/form-data" in response.headers["accept-post"]


async def _pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 4096 + 1):
        yield b" " * 4096


def test_too_large_by_what_it_says(client: Client) -> None:
    """A declared length is believed before anything is read."""

    async def never_read() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    response = client.post_bytes(
        never_read(), "application/json", **{"Content-Length": str(MAX_BYTES + 1)}
    )
    assert problem_of(response, "too-large")["limit"] == MAX_BYTES


def test_too_large_by_what_arrives(client: Client) -> None:
    response = client.post_bytes(_pieces(MAX_BYTES), "application/yaml")
    assert problem_of(response, "too-large")["limit"] == MAX_BYTES


def test_too_large_by_setting(tmp_path: Path) -> None:
    client = Client(tmp_path / "store", Stub(), max_body_bytes=4096)
    problem_of(client.post_bytes(b" " * 4097, "application/json"), "too-large")
    problem_of(client.post_bytes(_pieces(4096), "multipart/form-data; boundary=x"), "too-large")
    assert client.post(SPEC).status_code == 201
    client.close()


def test_too_large_a_specification_in_a_part(client: Client) -> None:
    response = client.post_parts(("spec", ("s.yaml", b"#" * (MAX_BYTES + 1), None)))
    assert problem_of(response, "too-large")["limit"] == MAX_BYTES


def test_multipart_bodies_that_are_none(client: Client) -> None:
    whole = json.dumps(SPEC).encode()
    refused = [
        client.post_bytes(whole, "multipart/form-data"),
        client.post_bytes(whole, "multipart/form-data; boundary=abc"),
        client.post_parts(("file", ("a", b"1", None))),
        client.post_parts(("spec", ("a", whole, None)), ("spec", ("b", whole, None))),
        client.post_parts(
            ("spec", ("a", whole, None)), ("x", ("f", b"1", None)), ("y", ("f", b"2", None))
        ),
    ]
    for response in refused:
        assert problem_of(response, "bad-request")["detail"].startswith("multipart body: ")


def test_too_many_parts(tmp_path: Path) -> None:
    client = Client(tmp_path / "store", Stub(), max_parts=2)
    whole = ("spec", ("s.json", json.dumps(SPEC).encode(), None))
    extra = ("x", ("f", b"1", None))
    assert client.post_parts(whole, extra).status_code == 201
    problem_of(client.post_parts(whole, extra, extra), "bad-request")
    client.close()


def test_a_client_that_leaves(client: Client, stub: Stub) -> None:
    """Half a body is no specification."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/studies",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }

    async def work() -> None:
        await client.app(scope, receive, send)

    client.run(work)
    assert sent[0]["status"] == 400 and stub.asked == []


def test_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/readyz").json()["status"] == "ready"
    monkeypatch.setattr(StudyStore, "ready", lambda store: False)
    problem_of(client.get("/readyz"), "not-ready")
    assert client.get("/healthz").status_code == 200


def test_every_type_says_what_it_means(client: Client) -> None:
    for code, kind in PROBLEMS.items():
        document = client.get(f"/problems/{code}").json()
        assert document == {
            "type": f"/problems/{code}",
            "title": kind.title,
            "status": kind.status,
            "meaning": kind.meaning,
        }


def test_the_documented_table_is_the_list() -> None:
    text = (CORPUS.parents[1] / "docs" / "http.md").read_text()
    rows = re.findall(r"^\| `/problems/([a-z-]+)` \| (\d+) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(code, str(kind.status), kind.meaning) for code, kind in PROBLEMS.items()]

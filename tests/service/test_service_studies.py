"""What happens to answers: stored once, read back, listed, revalidated."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from service_client import SPEC, Client, Stub, answer, everything_in, spec

from qreplace.service.deciding import Answer
from qreplace.service.responses import FIGURES, REPORTS

if TYPE_CHECKING:
    from qreplace.spec import LoadedSpec

UNKNOWN = "0" * 64


def test_asked_twice_decided_once(client: Client, stub: Stub) -> None:
    first = client.post(SPEC)
    before = everything_in(client.folder)
    second = client.post(spec(title="another title"))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.content == second.content
    assert first.headers["location"] == second.headers["location"]
    assert len(stub.asked) == 1
    assert everything_in(client.folder) == before


def test_a_restart_keeps_studies(client: Client, stub: Stub) -> None:
    study = client.post(SPEC).json()["study"]
    again = Client(client.folder, stub)
    assert again.get(f"/v1/studies/{study}").json()["study"] == study
    assert again.post(SPEC).status_code == 200
    again.close()


def test_another_engine_decides_anew_and_both_stay(client: Client, stub: Stub) -> None:
    """What an older engine stored does not answer for this one (design rule 7)."""
    study = client.post(SPEC).json()["study"]
    other = Client(client.folder.with_name("other"), Stub(engine="0.0.1"))
    assert other.post(SPEC).status_code == 201
    assert other.post(SPEC).status_code == 201  # stored for 0.0.1, asked of the present engine
    other.close()
    newer = Client(other.folder, stub)
    assert newer.post(SPEC).status_code == 201
    assert newer.get(f"/v1/studies/{study}").json()["engine"] != "0.0.1"
    assert len(newer.get("/v1/studies").json()["studies"]) == 1
    newer.close()


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
        ("text/*", "text/html"),
        ("text/markdown, text/html;q=0.9", "text/markdown"),
        ("application/json;q=0.1, text/csv;q=0.2", "text/csv"),
        ("text/html;q=0, */*;q=0.1", "application/json"),
    ],
)
def test_negotiation(client: Client, accept: str | None, media: str) -> None:
    study = client.post(SPEC).json()["study"]
    headers = {} if accept is None else {"accept": accept}
    response = client.get(f"/v1/studies/{study}", **headers)
    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == media


def test_every_file_has_its_type_and_tag(client: Client) -> None:
    study = client.post(SPEC).json()["study"]
    expected = answer(study)
    urls = {f"report.{form}": REPORTS[form][1] for form in REPORTS}
    urls |= {f"figures/interval.{form}": media for form, media in FIGURES.items()}
    for name, media in urls.items():
        response = client.get(f"/v1/studies/{study}/{name}")
        assert response.status_code == 200
        assert response.headers["content-type"] == media
        assert response.content == expected.files[name]
        held = client.get(f"/v1/studies/{study}/{name}", if_none_match=response.headers["etag"])
        assert held.status_code == 304 and not held.content
        stale = client.get(f"/v1/studies/{study}/{name}", if_none_match='"other"')
        assert stale.status_code == 200


def test_the_bundle_is_an_attachment(client: Client) -> None:
    study = client.post(SPEC).json()["study"]
    response = client.get(f"/v1/studies/{study}/bundle.zip")
    assert response.headers["content-type"] == "application/zip"
    assert response.headers["content-disposition"] == (
        f'attachment; filename="qreplace-{study[:12]}.zip"'
    )
    assert response.content == answer(study).bundle


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/studies/{UNKNOWN}",
        f"/v1/studies/{UNKNOWN}/bundle.zip",
        f"/v1/studies/{UNKNOWN}/report.md",
        f"/v1/studies/{UNKNOWN}/figures/interval.svg",
        "/v1/studies/..%2f..%2fetc%2fpasswd",
        "/v1/studies/%00",
        "/v1/studies/ABC/report.json",
        "/v1/studies/",
        "/v1/schemas/..%2fpyproject",
        "/v1/schemas/nothing",
        "/problems/nothing",
        "/",
    ],
)
def test_not_found(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert response.json()["type"] == "/problems/not-found"


@pytest.mark.parametrize(
    "name",
    ["report.pdf", "figures/frontier.svg", "figures/interval.gif", "figures/other.svg", "blobs"],
)
def test_files_that_a_study_has_not(client: Client, name: str) -> None:
    study = client.post(SPEC).json()["study"]
    assert client.get(f"/v1/studies/{study}/{name}").status_code == 404


def test_pages_of_the_list(client: Client) -> None:
    for depth in range(1, 8):
        client.post(spec(title=f"depth {depth}", search={"depths": [depth]}))
    titles, url, pages = [], "/v1/studies?limit=3", 0
    while url is not None:
        page = client.get(url).json()
        titles += [entry["title"] for entry in page["studies"]]
        url, pages = page["next"], pages + 1
    assert titles == [f"depth {depth}" for depth in range(7, 0, -1)]
    assert pages == 3
    entry = client.get("/v1/studies?limit=1").json()["studies"][0]
    assert client.get(entry["href"]).json()["study"] == entry["study"]
    assert client.get("/v1/studies?before=1").json() == {"studies": [], "next": None}


def test_head_is_get_without_the_body(client: Client) -> None:
    study = client.post(SPEC).json()["study"]
    for path in (f"/v1/studies/{study}", "/healthz", "/v1/schemas/spec"):
        whole, head = client.get(path), client.request("HEAD", path)
        assert head.status_code == 200 and head.content == b""
        assert head.headers["content-length"] == str(len(whole.content))


class Gate:
    """A decider that waits until it is told to go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.inner = Stub()

    def decide(self, spec: LoadedSpec) -> Answer:
        self.entered.set()
        if not self.open.wait(30):
            raise TimeoutError("the gate was never opened")
        return self.inner.decide(spec)


def test_the_service_answers_while_it_decides(tmp_path: Path) -> None:
    """Decisions are outside the event loop; who asks the same meanwhile gets the one answer."""
    gate = Gate()
    client = Client(tmp_path / "store", gate)
    body = {"content": json.dumps(SPEC), "headers": {"Content-Type": "application/json"}}

    async def work() -> list[httpx.Response]:
        posts = [asyncio.create_task(client.http.post("/v1/studies", **body)) for _ in range(3)]
        await asyncio.to_thread(gate.entered.wait, 30)
        healthy = await client.http.get("/healthz")
        listed = await client.http.get("/v1/studies")
        assert (healthy.status_code, listed.json()["studies"]) == (200, [])
        gate.open.set()
        return await asyncio.gather(*posts)

    responses = client.run(work)
    assert sorted(response.status_code for response in responses) == [200, 200, 201]
    assert len({response.content for response in responses}) == 1
    assert len(gate.inner.asked) == 1
    client.close()


def test_attachments_that_nothing_names_are_passed_over(client: Client) -> None:
    """Also large ones: 20 MiB of every byte, line ends among them."""
    data = bytes(range(256)) * (20 << 12) + b"\r\n--"
    parts = (("spec", ("s.json", json.dumps(SPEC).encode(), None)), ("x", ("big", data, None)))
    assert client.post_parts(*parts).status_code == 201
    assert client.post(SPEC).status_code == 200

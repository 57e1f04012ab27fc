"""Simulation jobs: quick answers, jobs, cancelling, limits, one stored result a request."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from service_client import DONE, READ, SAY, Client

from qreplace.service.openapi import SIMULATION_EXAMPLE
from qreplace.service.simulations import MAX_QUEUED

SLOW = READ + SAY + "say(progress=['runs', 1, 9]); time.sleep(60)\n"
FAILS = READ + SAY + "say(failed='atom 3 is not there', code='invalid-input', pointer='/x')\n"
DIES = READ + "sys.exit(7)\n"

Make = Callable[..., Client]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A service whose simulations are a small program."""
    made: list[Client] = []

    def build(program: str, **settings: Any) -> Client:
        command = [sys.executable, "-c", program]
        made.append(Client(tmp_path / "store", simulator=command, **settings))
        return made[-1]

    yield build
    for client in made:
        client.close()


def post(client: Client, tree: Any = None, **headers: str) -> httpx.Response:
    data = json.dumps(SIMULATION_EXAMPLE if tree is None else tree).encode()
    return client.request(
        "POST",
        "/v1/simulations",
        content=data,
        headers={"Content-Type": "application/json", **headers},
    )


def ended(client: Client, url: str) -> dict[str, Any]:
    """The job once it has ended."""
    for _ in range(400):
        found: dict[str, Any] = client.get(url).json()
        if found["state"] not in ("queued", "running"):
            return found
        time.sleep(0.025)
    raise AssertionError("the simulation did not end")


def test_a_quick_simulation_answers_at_once(make: Make) -> None:
    client = make(DONE)
    response = post(client)
    assert response.status_code == 200
    found = response.json()
    assert found["state"] == "done"
    assert found["result"] == {"kind": "switching"}
    assert response.headers["location"] == found["href"]
    figure = client.get(f"{found['href']}/a.svg")
    assert figure.content == b"<svg/>"
    assert figure.headers["content-type"] == "image/svg+xml"
    tag = figure.headers["etag"]
    assert client.get(f"{found['href']}/a.svg", if_none_match=tag).status_code == 304


def test_the_same_request_is_the_same_object_also_after_a_restart(make: Make) -> None:
    first = post(make(DONE)).json()
    again = make(DIES)  # would fail if it ran
    for tree in (SIMULATION_EXAMPLE, {**SIMULATION_EXAMPLE, "title": "for people"}):
        found = post(again, tree)
        assert found.status_code == 200
        assert found.json() == first


def test_a_long_one_is_a_job_that_can_be_watched_and_stopped(make: Make) -> None:
    client = make(SLOW)
    response = post(client, Prefer="respond-async")
    assert response.status_code == 202
    url = response.headers["location"]
    for _ in range(400):
        found = client.get(url).json()
        if found["progress"]["stage"]:
            break
        time.sleep(0.025)
    assert found["state"] == "running"
    assert found["progress"] == {"stage": "runs", "done": 1, "total": 9}
    stopped = client.request("DELETE", url)
    assert stopped.json()["state"] == "cancelled"
    assert ended(client, url)["state"] == "cancelled"
    assert post(client, Prefer="respond-async").status_code == 202  # asked again, run again


def test_a_failure_is_told(make: Make) -> None:
    response = post(make(FAILS))
    assert response.status_code == 422
    problem = response.json()
    assert problem["type"] == "/problems/simulation-failed"
    assert problem["detail"] == "atom 3 is not there"
    assert problem["pointer"] == "/x"


def test_a_worker_that_dies_is_a_failure_and_can_be_tried_again(make: Make) -> None:
    response = post(make(DIES))
    assert response.status_code == 422
    assert "ended without a result" in response.json()["detail"]
    assert post(make(DONE)).status_code == 200


def test_the_time_limit_stops_a_simulation(make: Make) -> None:
    client = make(SLOW, simulation_seconds=1)
    found = ended(client, post(client, Prefer="respond-async").headers["location"])
    assert found["state"] == "failed"
    assert found["problem"] == "the time limit of 1 s was reached"
    assert found["result"] is None
    assert found["progress"] is None


def test_too_many_waiting_ones_are_refused(make: Make) -> None:
    client = make(SLOW)
    statuses = [
        post(client, {**SIMULATION_EXAMPLE, "depth": depth}, Prefer="respond-async").status_code
        for depth in range(1, MAX_QUEUED + 4)
    ]
    assert statuses[:MAX_QUEUED] == [202] * MAX_QUEUED
    assert statuses[-1] == 503


@pytest.mark.parametrize(("data", "kind", "status", "problem"), [
    (b"{}", "application/json", 422, "invalid-specification"),
    (b"format: [", "application/yaml", 422, "invalid-specification"),
    (b"x", "text/plain", 415, "unsupported-media-type"),
    (b" " * (1 << 21), "application/json", 413, "too-large"),
])  # fmt: skip
def test_bad_requests(make: Make, data: bytes, kind: str, status: int, problem: str) -> None:
    response = make(DONE).request(
        "POST", "/v1/simulations", content=data, headers={"Content-Type": kind}
    )
    assert response.status_code == status
    assert response.json()["type"] == f"/problems/{problem}"


@pytest.mark.parametrize("path", [
    "0" * 64, "short", f"{'0' * 64}/result.json", f"{'0' * 64}/..%2f..%2fetc%2fpasswd",
])  # fmt: skip
def test_unknown_simulations_are_not_found(make: Make, path: str) -> None:
    client = make(DONE)
    assert client.get(f"/v1/simulations/{path}").status_code == 404
    assert client.request("DELETE", f"/v1/simulations/{'0' * 64}").status_code == 404


def test_the_real_worker_answers_what_the_command_line_does(tmp_path: Path) -> None:
    client = Client(tmp_path / "store")
    try:
        response = post(client)
        found = response.json()
        for _ in range(400):
            if found["state"] not in ("queued", "running"):
                break
            time.sleep(0.05)
            found = client.get(found["href"]).json()
        assert found["state"] == "done", found
        from qreplace.simulate.outcome import run
        from qreplace.simulate.request import request_from

        assert found["result"] == run(request_from(SIMULATION_EXAMPLE, "example")).document
        figure = next(href for href in found["files"] if href.endswith(".svg"))
        assert client.get(figure).content.startswith(b"<?xml")
    finally:
        client.close()

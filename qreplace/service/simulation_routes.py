"""The routes of simulation jobs: start one, watch it, read its result, stop it."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from qreplace.service import media
from qreplace.service.openapi import (
    SIMULATION,
    SIMULATION_BODY,
    binary,
    failures,
    not_modified,
    success,
)
from qreplace.service.problems import Refusal
from qreplace.service.responses import FIGURES, is_current, json_response, stored_response
from qreplace.service.settings import Settings
from qreplace.service.simulations import RESULT, Job, Simulations
from qreplace.service.submission import read_document_body
from qreplace.version import __version__

QUICK_SECONDS = 5.0
"""How long a request waits for its result before it gets a job instead."""

_ID = re.compile(r"[0-9a-f]{64}")
_ASYNC = re.compile(r"(^|,)\s*respond-async\s*(;|,|$)", re.IGNORECASE)
FILES = {
    RESULT: media.JSON,
    "premises.yaml": "application/yaml",
}
"""Files of a simulation that are no figures, with their media types."""

SimulationId = Annotated[
    str, Path(description="The simulation's id: SHA-256 of the canonical request.")
]


def simulation_routes(simulations: Simulations, settings: Settings) -> APIRouter:
    """``POST``, ``GET`` and ``DELETE`` below ``/v1/simulations``."""
    router = APIRouter(tags=["simulations"], default_response_class=Response)

    @router.post(
        "/v1/simulations",
        operation_id="create_simulation",
        summary="Run a simulation",
        responses={
            200: success("The simulation ended, now or before.", SIMULATION, "Location"),
            202: success("It is a job; ask for it again.", SIMULATION, "Location"),
            **failures(400, 406, 413, 415, 422, 503),
        },
        openapi_extra={"requestBody": SIMULATION_BODY},
    )
    async def create_simulation(request: Request) -> Response:
        """Quick ones answer at once; `Prefer: respond-async` asks for the job."""
        _json_wanted(request)
        data, kind, name = await read_document_body(request, settings)
        wanted = await _read(data, name, kind)
        job = _found(simulations, await simulations.submit(wanted))
        if not _ASYNC.search(request.headers.get("prefer", "")):
            await simulations.wait(job, QUICK_SECONDS)
        return _answer(simulations, job)

    @router.get(
        "/v1/simulations/{simulation}",
        operation_id="get_simulation",
        summary="A simulation: its state, and its result once there is one",
        responses={200: success("The simulation.", SIMULATION), **failures(404)},
    )
    def get_simulation(simulation: SimulationId) -> Response:
        """`state` is queued, running, done, failed or cancelled."""
        return json_response(_document(simulations, _found(simulations, simulation)))

    @router.delete(
        "/v1/simulations/{simulation}",
        operation_id="cancel_simulation",
        summary="Stop a simulation that has not ended",
        responses={200: success("The simulation as it is now.", SIMULATION), **failures(404)},
    )
    def cancel_simulation(simulation: SimulationId) -> Response:
        """Its process is killed; one that has ended stays as it is."""
        job = _found(simulations, simulation)
        simulations.cancel(job)
        return json_response(_document(simulations, job))

    @router.get(
        "/v1/simulations/{simulation}/{name}",
        operation_id="get_simulation_file",
        summary="A file of a finished simulation",
        responses={
            200: binary("The file.", *FIGURES.values(), *FILES.values()),
            **not_modified(),
            **failures(404),
        },
    )
    def get_simulation_file(
        request: Request,
        simulation: SimulationId,
        name: Annotated[str, Path(description="A name in `files`, such as phase.svg.")],
    ) -> Response:
        """Figures, `result.json`, and `premises.yaml` for a specification."""
        known = _ID.fullmatch(simulation) and len(name) <= 64
        digest = simulations.store.digest(simulation, __version__, name) if known else None
        if digest is None:
            raise Refusal("not-found", "no file of this name is stored for such a simulation")
        content_type = FILES.get(name) or FIGURES[name.rpartition(".")[2]]
        data = None if is_current(request, digest) else simulations.store.blobs.read(digest)
        return stored_response(data, digest, content_type)

    return router


async def _read(data: bytes, name: str, kind: Any) -> Any:
    from starlette.concurrency import run_in_threadpool

    from qreplace.simulate.request import read_request

    return await run_in_threadpool(lambda: read_request(data, name=name, media=kind))


def _json_wanted(request: Request) -> None:
    accept = ", ".join(request.headers.getlist("accept"))
    if media.preferred(accept, [media.JSON]) is None:
        raise Refusal(
            "not-acceptable",
            f"needed an Accept that admits {media.JSON}, received {accept[:200]!r}",
            more={"offered": [media.JSON]},
        )


def _found(simulations: Simulations, name: str) -> Job:
    job = simulations.find(name) if _ID.fullmatch(name) else None
    if job is None:
        raise Refusal("not-found", "no simulation of this id is known here")
    return job


def _answer(simulations: Simulations, job: Job) -> Response:
    """The result, or the job while it runs; a failed one says what was wrong."""
    if job.state == "failed":
        more = {"pointer": job.pointer} if job.pointer else {}
        raise Refusal("simulation-failed", job.problem, more=more)
    return json_response(
        _document(simulations, job),
        status=200 if job.finished.is_set() else 202,
        headers={"Location": f"/v1/simulations/{job.id}"},
    )


def _document(simulations: Simulations, job: Job) -> dict[str, Any]:
    document = {**job.document(), "result": None, "files": []}
    if job.state == "done":
        files = simulations.store.files(job.id, __version__)
        document["result"] = json.loads(simulations.store.blobs.read(files[RESULT]))
        document["files"] = [f"/v1/simulations/{job.id}/{name}" for name in files]
    return document

"""``create_app``: the application from its settings."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match

from qreplace.errors import QReplaceError
from qreplace.service.deciding import Decider, ThreadDecider
from qreplace.service.logs import log
from qreplace.service.middleware import Surroundings
from qreplace.service.openapi import describe
from qreplace.service.problems import (
    Refusal,
    internal,
    problem_response,
    refusal_of,
    request_number,
)
from qreplace.service.routes import file_routes, service_routes, study_routes
from qreplace.service.settings import Settings
from qreplace.service.simulation_routes import simulation_routes
from qreplace.service.simulations import Simulations
from qreplace.service.store import StudyStore
from qreplace.service.studies import Studies
from qreplace.version import __version__


def create_app(
    settings: Settings | None = None,
    *,
    decider: Decider | None = None,
    simulator: Sequence[str] = (),
) -> FastAPI:
    """The service over the store in ``settings.data_dir``.

    ``decider`` replaces the engine's own, ``simulator`` the command of a simulation. Raises
    ``InputError`` when the store cannot be opened.
    """
    chosen = Settings.from_environment() if settings is None else settings
    store = StudyStore(chosen.data_dir)
    own = ThreadDecider(chosen.attempt_seconds, chosen.attempt_megabytes)
    studies = Studies(store, decider or own, chosen.deciders)
    simulations = Simulations(
        store.simulations,
        chosen.deciders,
        chosen.simulation_seconds,
        chosen.simulation_megabytes,
        simulator,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        simulations.close()
        store.close()

    app = FastAPI(
        title="qreplace",
        version=__version__,
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.simulations = simulations
    app.add_middleware(Surroundings)
    _handle_errors(app)
    app.include_router(study_routes(studies, chosen))
    app.include_router(file_routes(store))
    app.include_router(simulation_routes(simulations, chosen))
    app.include_router(service_routes(store))
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _handle_errors(app: FastAPI) -> None:
    """Every error leaves as a problem document."""

    async def respond(request: Request, error: Exception) -> Response:
        return problem_response(request, _refusal(request, error))

    for kind in (
        Refusal,
        QReplaceError,
        RequestValidationError,
        HTTPException,
        ClientDisconnect,
        Exception,
    ):
        app.add_exception_handler(kind, respond)


def _refusal(request: Request, error: Exception) -> Refusal:
    """What a client is told about an error."""
    match error:
        case Refusal():
            return error
        case QReplaceError():
            refusal = refusal_of(error)
        case RequestValidationError():
            return _invalid_parameters(error)
        case HTTPException():
            return _from_router(request, error)
        case ClientDisconnect():  # nobody reads this answer; the log shows it
            return Refusal("bad-request", "the client left before its body was read")
        case _:
            refusal = internal()
    if refusal.code == "internal":
        log(
            logging.ERROR,
            "failed",
            error=error,
            request=request_number(request),
            type=type(error).__name__,
        )
    return refusal


def _invalid_parameters(error: RequestValidationError) -> Refusal:
    """A wrong path parameter names nothing that is here; a wrong query parameter is a 400."""
    faults = error.errors()
    if any(fault["loc"][0] == "path" for fault in faults):
        return Refusal("not-found", "nothing is served under this address")
    problems = [
        {
            "pointer": "",
            "parameter": ".".join(str(token) for token in fault["loc"][1:]),
            "message": f"{fault['msg']}; received {str(fault.get('input'))[:80]!r}",
            "code": "parameter",
        }
        for fault in faults
    ]
    names = ", ".join(str(problem["parameter"]) for problem in problems)
    return Refusal("bad-request", f"parameters that are not as documented: {names}", problems)


def _from_router(request: Request, error: HTTPException) -> Refusal:
    """Starlette's own errors: no such address, no such method."""
    if error.status_code == 405:
        allowed = ", ".join(_allowed(request))
        return Refusal("method-not-allowed", f"needed one of {allowed}", headers={"Allow": allowed})
    if error.status_code == 404:
        return Refusal("not-found", "nothing is served under this address")
    return Refusal("bad-request", "the request cannot be read")


def _allowed(request: Request) -> list[str]:
    """The methods that some route has for the request's address; routes know only their own."""
    found = []
    for method in ("GET", "POST", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            found += ["GET", "HEAD"] if method == "GET" else [method]
    return found

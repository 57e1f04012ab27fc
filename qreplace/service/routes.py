"""The routes: studies, their files, schemas, problem types, health."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from qreplace.data import schema_text
from qreplace.service import media
from qreplace.service.openapi import (
    DECISION,
    LIST,
    SPEC_BODY,
    binary,
    failures,
    not_modified,
    success,
)
from qreplace.service.problems import PROBLEMS, Refusal
from qreplace.service.responses import (
    FIGURES,
    REPORTS,
    is_current,
    json_response,
    stored_response,
)
from qreplace.service.settings import Settings
from qreplace.service.store import StoredStudy, StudyStore
from qreplace.service.store.studies import BUNDLE, DOCUMENT
from qreplace.service.studies import Studies
from qreplace.service.submission import read_submission
from qreplace.version import __version__

_ID = re.compile(r"[0-9a-f]{64}")
MAX_PAGE = 200
StudyId = Annotated[str, Path(description="The study id: SHA-256 of the canonical question.")]

REPRESENTATIONS = {
    media.JSON: (DOCUMENT, media.JSON),
    media.HTML: REPORTS["html"],
    media.MARKDOWN: REPORTS["md"],
    media.CSV: REPORTS["csv"],
}
"""What ``Accept`` can choose: the stored file and its full media type; JSON comes first."""


def study_routes(studies: Studies, settings: Settings) -> APIRouter:
    """``POST`` and ``GET`` below ``/v1/studies``."""
    router = APIRouter(tags=["studies"])
    store = studies.store

    @router.post(
        "/v1/studies",
        operation_id="create_study",
        summary="Decide a specification",
        responses={
            200: success("The question was decided before by this engine.", DECISION, "Location"),
            201: success("The question was decided now.", DECISION, "Location"),
            **failures(400, 406, 413, 415, 422),
        },
        openapi_extra={"requestBody": SPEC_BODY},
        response_class=Response,
    )
    async def create_study(request: Request) -> Response:
        """The verdict of a specification, the same as Python and the command line give."""
        _negotiated(request, [media.JSON])
        study, decided = await studies.submit(await read_submission(request, settings))
        data = await run_in_threadpool(store.blobs.read, study.document_sha256)
        return stored_response(
            data,
            study.document_sha256,
            media.JSON,
            status=201 if decided else 200,
            headers={"Location": f"/v1/studies/{study.id}"},
        )

    @router.get(
        "/v1/studies",
        operation_id="list_studies",
        summary="Studies, newest first",
        responses={200: success("A page of studies.", LIST), **failures(400)},
        response_class=Response,
    )
    def list_studies(
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Studies a page.")] = 50,
        before: Annotated[
            int | None, Query(ge=1, lt=1 << 63, description="Where next of the last page points.")
        ] = None,
    ) -> Response:
        """One entry for each question: its newest answer."""
        page = store.page(limit, before)
        following = f"/v1/studies?limit={limit}&before={page.before}" if page.before else None
        return json_response({"studies": [_entry(s) for s in page.studies], "next": following})

    @router.get(
        "/v1/studies/{study}",
        operation_id="get_study",
        summary="A study, in the representation that Accept asks for",
        responses={
            200: {**success("The study.", DECISION), "content": _negotiable()},
            **not_modified(),
            **failures(404, 406),
        },
        response_class=Response,
    )
    def get_study(request: Request, study: StudyId) -> Response:
        """The decision document, or a report of it."""
        chosen = _negotiated(request, list(REPRESENTATIONS))
        name, content_type = REPRESENTATIONS[chosen]
        return _file(store, request, study, name, content_type, {"Vary": "Accept"})

    return router


def file_routes(store: StudyStore) -> APIRouter:
    """``GET`` of the reports, the bundle and the figures of a study."""
    router = APIRouter(tags=["files"], default_response_class=Response)

    @router.get(
        "/v1/studies/{study}/report.{form}",
        operation_id="get_report",
        summary="A report of a study",
        responses={
            200: binary("The report.", *(content_type for _, content_type in REPORTS.values())),
            **not_modified(),
            **failures(404),
        },
    )
    def get_report(
        request: Request, study: StudyId, form: Literal["json", "csv", "md", "html"]
    ) -> Response:
        """The report as JSON, CSV, Markdown or a self-contained page."""
        return _file(store, request, study, *REPORTS[form])

    @router.get(
        "/v1/studies/{study}/bundle.zip",
        operation_id="get_bundle",
        summary="The bundle that anyone can re-check offline",
        responses={
            200: binary("The bundle.", "application/zip"),
            **not_modified(),
            **failures(404),
        },
    )
    def get_bundle(request: Request, study: StudyId) -> Response:
        """For ``python -m qreplace.check``."""
        name = f"qreplace-{study[:12]}.zip" if _ID.fullmatch(study) else "bundle.zip"
        return _file(
            store,
            request,
            study,
            BUNDLE,
            "application/zip",
            {"Content-Disposition": f'attachment; filename="{name}"'},
        )

    @router.get(
        "/v1/studies/{study}/figures/{name}.{form}",
        operation_id="get_figure",
        summary="A figure of a study",
        responses={
            200: binary("The figure.", *FIGURES.values()),
            **not_modified(),
            **failures(404),
        },
    )
    def get_figure(
        request: Request,
        study: StudyId,
        name: Literal["interval", "frontier"],
        form: Literal["svg", "png"],
    ) -> Response:
        """Interval against depth, or the cost frontier."""
        return _file(store, request, study, f"figures/{name}.{form}", FIGURES[form])

    return router


def service_routes(store: StudyStore) -> APIRouter:
    """Schemas, problem types and health."""
    router = APIRouter(tags=["service"], default_response_class=Response)
    anything = {"type": "object"}

    @router.get(
        "/v1/schemas/{kind}",
        operation_id="get_schema",
        summary="The JSON Schema of the specification or of a kind of document",
        responses={
            200: {"description": "The schema.", "content": {SCHEMA_MEDIA: {"schema": anything}}},
            **failures(404),
        },
    )
    def get_schema(
        kind: Annotated[str, Path(description="spec, or a claim's kind such as affine_lp.")],
    ) -> Response:
        """As it is checked in; the prose beside it is in the documentation."""
        return Response(schema_text(kind), media_type=SCHEMA_MEDIA)

    @router.get(
        "/problems/{code}",
        operation_id="get_problem_type",
        summary="What a type of problem means",
        responses={200: success("The problem type.", anything), **failures(404)},
    )
    def get_problem_type(code: str) -> Response:
        """What ``type`` of a problem document points to."""
        if code not in PROBLEMS:
            raise Refusal("not-found", "no problem type of this name")
        kind = PROBLEMS[code]
        return json_response(
            {
                "type": f"/problems/{code}",
                "title": kind.title,
                "status": kind.status,
                "meaning": kind.meaning,
            }
        )

    @router.get(
        "/healthz",
        operation_id="get_health",
        summary="Whether the service answers",
        responses={200: success("It answers.", anything), **failures()},
    )
    async def get_health() -> Response:
        """Looks at nothing else."""
        return json_response({"status": "ok", "engine": __version__})

    @router.get(
        "/readyz",
        operation_id="get_readiness",
        summary="Whether the store can be written",
        responses={200: success("It can.", anything), **failures(503)},
    )
    def get_readiness() -> Response:
        """Takes the write lock for a moment and writes a small file."""
        if not store.ready():
            raise Refusal("not-ready", "the study store cannot be written")
        return json_response({"status": "ready", "engine": __version__})

    return router


SCHEMA_MEDIA = "application/schema+json"


def _negotiated(request: Request, offered: list[str]) -> str:
    accept = ", ".join(request.headers.getlist("accept"))
    chosen = media.preferred(accept, offered)
    if chosen is None:
        raise Refusal(
            "not-acceptable",
            f"needed an Accept that admits one of {', '.join(offered)}, received {accept[:200]!r}",
            more={"offered": offered},
        )
    return chosen


def _negotiable() -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    return {media.JSON: {"schema": DECISION}} | {
        name: text for name in REPRESENTATIONS if name != media.JSON
    }


def _entry(study: StoredStudy) -> dict[str, Any]:
    return {
        "study": study.id,
        "verdict": study.verdict,
        "title": study.title,
        "engine": study.engine,
        "created": study.created,
        "bundle_sha256": study.bundle_sha256,
        "href": f"/v1/studies/{study.id}",
    }


def _file(
    store: StudyStore,
    request: Request,
    study: str,
    name: str,
    content_type: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A file of a study; ``study`` and ``name`` are looked up, never made into a path."""
    found = store.find(study) if _ID.fullmatch(study) else None
    if found is None:
        raise Refusal("not-found", "no study of this id is stored here")
    digest = store.digest(found, name)
    if digest is None:
        raise Refusal("not-found", "the study has no file of this name")
    data = None if is_current(request, digest) else store.blobs.read(digest)
    return stored_response(data, digest, content_type, headers=headers)

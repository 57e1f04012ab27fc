"""The OpenAPI document: every response of every operation, and none that is never sent.

FastAPI would add its own 422 to every operation with a parameter; here a wrong parameter is a 400
and 422 means that a specification or claim was refused, so those additions are taken out.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from qreplace.decision.verdict import Verdict
from qreplace.service import media
from qreplace.service.problems import MEDIA as PROBLEM_MEDIA
from qreplace.service.problems import PROBLEMS
from qreplace.version import __version__

DECISION = {"$ref": "#/components/schemas/Decision"}
LIST = {"$ref": "#/components/schemas/StudyList"}
SIMULATION = {"$ref": "#/components/schemas/Simulation"}

_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_VERDICT = {"type": "string", "enum": [verdict.value for verdict in Verdict]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_OPTIONAL_OBJECT = {"type": ["object", "null"]}

COMPONENTS: dict[str, Any] = {
    "Decision": {
        "type": "object",
        "description": "What `qreplace decide --json` prints. Exact numbers are strings; a key "
        "with ~ holds the decimal beside it.",
        "required": ["study", "bundle_sha256", "engine", "verdict", "domain", "evidence"],
        "properties": {
            "study": _DIGEST,
            "bundle_sha256": _DIGEST,
            "engine": {"type": "string"},
            "verdict": _VERDICT,
            "domain": {"type": "string"},
            "evidence": {"type": "string"},
            "declared": _TEXTS,
            "tolerance": {"type": "object"},
            "bracket": _OPTIONAL_OBJECT,
            "best": _OPTIONAL_OBJECT,
            "plan": _OPTIONAL_OBJECT,
            "obstruction": _OPTIONAL_OBJECT,
            "depths": {"type": "array", "items": {"type": "object"}},
            "claims": {"type": "array", "items": {"type": "object"}},
            "reasons": _TEXTS,
            "not_shown": _TEXTS,
        },
    },
    "StudyList": {
        "type": "object",
        "required": ["studies", "next"],
        "properties": {
            "studies": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["study", "verdict", "title", "engine", "created", "href"],
                    "properties": {
                        "study": _DIGEST,
                        "verdict": _VERDICT,
                        "title": {"type": "string"},
                        "engine": {"type": "string"},
                        "created": {"type": "string", "format": "date-time"},
                        "bundle_sha256": _DIGEST,
                        "href": {"type": "string"},
                    },
                },
            },
            "next": {"type": ["string", "null"]},
        },
    },
    "Simulation": {
        "type": "object",
        "description": "A simulation job. `result` is what `qreplace simulate --json` prints.",
        "required": ["simulation", "state", "progress", "problem", "href", "result", "files"],
        "properties": {
            "simulation": _DIGEST,
            "state": {
                "type": "string",
                "enum": ["queued", "running", "done", "failed", "cancelled"],
            },
            "progress": {
                "type": ["object", "null"],
                "properties": {
                    "stage": {"type": "string"},
                    "done": {"type": "integer"},
                    "total": {"type": "integer"},
                },
            },
            "problem": {"type": ["string", "null"]},
            "href": {"type": "string"},
            "result": _OPTIONAL_OBJECT,
            "files": {**_TEXTS, "description": "Addresses of figures and other files."},
        },
    },
    "Problem": {
        "type": "object",
        "description": "An RFC 9457 problem document.",
        "required": ["type", "title", "status", "detail", "instance"],
        "properties": {
            "type": {"type": "string", "enum": [f"/problems/{code}" for code in PROBLEMS]},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string", "pattern": "^urn:uuid:"},
            "pointer": {"type": "string", "description": "JSON Pointer to the first fault."},
            "problems": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["pointer", "message"],
                    "properties": {
                        "pointer": {"type": "string"},
                        "file": {"type": "string"},
                        "line": {"type": ["integer", "null"]},
                        "column": {"type": ["integer", "null"]},
                        "message": {"type": "string"},
                        "code": {"type": "string"},
                        "parameter": {"type": "string"},
                    },
                },
            },
        },
    },
}

EXAMPLE: dict[str, Any] = {
    "format": "qreplace/spec/v1",
    "title": "Two vectors",
    "objective": {"kind": "emulation", "tolerance": "3/20", "norm": "linf", "domain": "witnesses"},
    "system": "lifted_affine",
    "target": {"kind": "vector", "values": ["1/2", "1/4"]},
    "dictionary": {
        "bits": 4,
        "learned": False,
        "atoms": [{"kind": "vector", "values": [1, 0]}, {"kind": "vector", "values": [0, 1]}],
    },
    "structural_floor": {"compute": "affine_lp"},
    "metadata": "none",
    "execution": "exact",
    "routing": "none",
    "search": {"depths": [4, 8]},
}
"""A small specification that is decided at once."""

_SPEC_SCHEMA = {
    "type": "object",
    "required": ["format", "objective", "system", "target", "dictionary", "search"],
    "properties": {"format": {"const": "qreplace/spec/v1"}},
    "description": "A specification; its whole JSON Schema is at /v1/schemas/spec.",
}
_YAML_BODY = {"schema": {"type": "string", "description": "The same specification in YAML."}}

SPEC_BODY: dict[str, Any] = {
    "required": True,
    "description": "The specification alone, or with attachments. Numbers are read exactly, from "
    "the bytes as they are sent.",
    "content": {
        media.JSON: {"schema": _SPEC_SCHEMA, "examples": {"two vectors": {"value": EXAMPLE}}},
        **{name: _YAML_BODY for name in media.SPEC_MEDIA if name != media.JSON},
        media.MULTIPART: {
            "schema": {
                "type": "object",
                "required": ["spec"],
                "properties": {"spec": {"type": "string", "description": "The specification."}},
                "additionalProperties": {
                    "type": "string",
                    "format": "binary",
                    "description": "An attachment; the specification names its file name or "
                    "its SHA-256.",
                },
            }
        },
    },
}

SIMULATION_EXAMPLE: dict[str, Any] = {
    "format": "qreplace/simulation/v1",
    "kind": "switching",
    "weights": ["1/2", "1/3", "1/6"],
    "depth": 12,
}
"""A small simulation that ends at once."""

_SIMULATION_SCHEMA = {
    "type": "object",
    "required": ["format", "kind"],
    "properties": {
        "format": {"const": "qreplace/simulation/v1"},
        "kind": {"enum": ["switching", "arithmetic", "lattice", "phase"]},
    },
    "description": "A simulation request; its whole JSON Schema is at /v1/schemas/simulation.",
}

SIMULATION_BODY: dict[str, Any] = {
    "required": True,
    "description": "The request. Numbers are read exactly, from the bytes as they are sent.",
    "content": {
        media.JSON: {
            "schema": _SIMULATION_SCHEMA,
            "examples": {"three atoms": {"value": SIMULATION_EXAMPLE}},
        },
        **{
            name: {"schema": {"type": "string", "description": "The same request in YAML."}}
            for name in media.SPEC_MEDIA
            if name != media.JSON
        },
    },
}


def success(description: str, schema: dict[str, Any], *headers: str) -> dict[str, Any]:
    """A JSON response."""
    described: dict[str, Any] = {
        "description": description,
        "content": {media.JSON: {"schema": schema}},
    }
    if headers:
        described["headers"] = {
            name: {"required": True, "schema": {"type": "string"}} for name in headers
        }
    return described


def binary(description: str, *content_types: str) -> dict[str, Any]:
    """A response with stored bytes, in any of the media types."""
    return {
        "description": description,
        "content": {content_type.partition(";")[0]: {} for content_type in content_types},
    }


def not_modified() -> dict[int | str, dict[str, Any]]:
    """304, for ``If-None-Match``."""
    return {304: {"description": "The client holds these bytes."}}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem documents for the statuses, and for 500, with the types that each can have."""
    described: dict[int | str, dict[str, Any]] = {}
    for status in (*statuses, 500):
        kinds = {code: kind for code, kind in PROBLEMS.items() if kind.status == status}
        meanings = " ".join(f"`{code}`: {kind.meaning}" for code, kind in kinds.items())
        schema = {"$ref": "#/components/schemas/Problem"}
        described[status] = {
            "description": meanings,
            "content": {PROBLEM_MEDIA: {"schema": schema}},
        }
    return described


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the application, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="qreplace",
            version=__version__,
            description="Can more low-bit steps replace the missing precision? "
            "A specification goes in, a verdict that anyone can re-check comes out.",
            routes=app.routes,
        )
        for operations in document["paths"].values():
            for operation in operations.values():
                _drop_validation_error(operation["responses"])
        document["components"] = {"schemas": COMPONENTS}
        app.openapi_schema = document
    return app.openapi_schema


def _drop_validation_error(responses: dict[str, Any]) -> None:
    content = responses.get("422", {}).get("content", {})
    schema = content.get(media.JSON, {}).get("schema", {})
    if schema.get("$ref", "").endswith("/HTTPValidationError"):
        del responses["422"]

"""The JSON Schemas of claims, question, manifest and verdict, as checked in under ``schemas/``.

Claims and question are exported from their dataclasses, so schema, reader and writer cannot drift
apart. A schema describes shape only: that numbers are in lowest terms, indices ascend or a claim
holds is for the reader and the checker.
"""

from __future__ import annotations

import json
from typing import Any

from qreplace.claims import KINDS
from qreplace.claims.bundle import FORMAT as BUNDLE_FORMAT
from qreplace.claims.bundle import MEMBER_PATTERN
from qreplace.claims.verdict_schema import DIGEST, TEXT, VERDICT
from qreplace.errors import NotFound
from qreplace.exact.codec import json_schema
from qreplace.question.model import Question

DIALECT = "https://json-schema.org/draft/2020-12/schema"

NAMES = (*KINDS, "question", "bundle", "verdict")
"""Every kind of document with a schema here, a prose specification and a corpus."""


def schema_of(name: str) -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) of one kind of document; raises ``NotFound``."""
    identifier = f"https://qreplace.dev/schemas/{name}.v1.json"
    if name in KINDS:
        title = f"qreplace/claim/{name}/v1"
        return json_schema(KINDS[name], identifier=identifier, title=title)
    if name == "question":
        return json_schema(Question, identifier=identifier, title="qreplace/question/v1")
    bodies = {"bundle": (BUNDLE_FORMAT, _MANIFEST), "verdict": ("qreplace/verdict/v1", VERDICT)}
    if name not in bodies:
        raise NotFound(f"no schema is named {name[:40]!r}; there are {', '.join(NAMES)}")
    title, body = bodies[name]
    return {"$schema": DIALECT, "$id": identifier, "title": title, **body}


def written(schema: dict[str, Any]) -> str:
    """The text of a schema as it is checked in."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


_MANIFEST: dict[str, Any] = {
    "description": "manifest.json of a bundle: every other member by its SHA-256.",
    "type": "object",
    "properties": {
        "format": {"const": BUNDLE_FORMAT},
        "engine": TEXT,
        "study": DIGEST,
        "members": {
            "type": "object",
            "propertyNames": {"pattern": f"^({MEMBER_PATTERN})$"},
            "additionalProperties": DIGEST,
            "required": ["question.json", "verdict.json"],
        },
    },
    "required": ["format", "engine", "study", "members"],
    "additionalProperties": False,
}

"""The JSON Schema of ``qreplace/spec/v1``, exported from the models.

Pydantic's schema is tidied: no generated titles, our names without the models' suffix, and the
repeated number, interval and polynomial written once.
"""

from __future__ import annotations

import json
import re
from typing import Any

from qreplace.spec.blocks.array import NESTED_SCHEMA
from qreplace.spec.blocks.polynomial import POLYNOMIAL_SCHEMA
from qreplace.spec.model import FORMAT, Spec
from qreplace.spec.premises import BOUNDS_SCHEMA
from qreplace.spec.values import NUMBER_SCHEMA

IDENTIFIER = "https://qreplace.dev/schemas/spec.v1.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SHARED = {
    "NumberOrInterval": BOUNDS_SCHEMA,
    "NestedLists": NESTED_SCHEMA,
    "Number": NUMBER_SCHEMA,
    "PolynomialText": POLYNOMIAL_SCHEMA,
}


def spec_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12), the same every time.

    It describes keys, shapes and units. Contradictions between blocks, digests, array shapes and
    the safe limits are checked when a specification is loaded.
    """
    return tidied(Spec.model_json_schema(by_alias=True), IDENTIFIER, FORMAT)


def tidied(schema: dict[str, Any], identifier: str, title: str) -> dict[str, Any]:
    """A schema as Pydantic makes it, as one of ours."""
    definitions = schema.pop("$defs") | _SHARED
    body = _tidy(schema)
    named = {
        _public(name): _tidy(definition, skip=definition if name in _SHARED else None)
        for name, definition in sorted(definitions.items())
    }
    used = json.dumps([body, named])
    return {
        "$schema": DIALECT,
        "$id": identifier,
        "title": title,
        **body,
        "$defs": {
            name: definition for name, definition in named.items() if f'"#/$defs/{name}"' in used
        },
    }


def _public(name: str) -> str:
    """``_NormRate`` and ``EmulationSpec`` without what marks them as ours."""
    return re.sub(r"Spec$", "", name.lstrip("_")) or "Spec"


def _tidy(node: Any, skip: Any = None) -> Any:
    """A copy without generated titles, with shared definitions as references."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    for name, shared in _SHARED.items():
        if node == shared and node is not skip:
            return {"$ref": f"#/$defs/{name}"}
    tidied = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "$ref":
            value = "#/$defs/" + _public(value.rsplit("/", 1)[1])
        tidied[key] = _names(value) if key == "properties" else _tidy(value)
    return tidied


def _names(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties, whose keys are names of fields and not keywords."""
    return {name: _tidy(definition) for name, definition in properties.items()}

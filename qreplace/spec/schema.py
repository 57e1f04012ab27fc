"""The JSON Schema of ``qreplace/spec/v1``, exported from the models."""

from __future__ import annotations

from typing import Any

from qreplace.spec.model import Spec

IDENTIFIER = "https://qreplace.dev/schemas/spec.v1.json"


def spec_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12). It describes shape and units; contradictions between
    blocks, digests and array shapes are checked when a specification is loaded.
    """
    schema = Spec.model_json_schema(by_alias=True)
    return schema

"""The exported schema: current, valid, accepting what is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from qreplace.spec import spec_schema
from qreplace.spec.reading import read_document

ROOT = Path(__file__).parent.parent.parent
SCHEMA = ROOT / "schemas" / "spec.v1.json"
ACCEPTED = [
    *sorted((ROOT / "tests" / "corpus" / "accepted" / "spec").glob("*.*")),
    *sorted((ROOT / "examples").glob("declared-*.yaml")),
]


def written(schema: Any) -> str:
    """The text of the schema as it is checked in."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def test_the_checked_in_schema_is_the_exported_one() -> None:
    assert SCHEMA.read_text("utf-8") == written(spec_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(spec_schema())
    assert "pydantic" not in written(spec_schema()).lower()


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.name)
def test_what_is_accepted_validates(path: Path) -> None:
    document = read_document(path.read_bytes(), None)
    assert not document.findings
    validator = jsonschema.Draft202012Validator(spec_schema())
    assert [error.message for error in validator.iter_errors(document.tree)] == []


@pytest.mark.parametrize(
    "name", ["unknown-key.yaml", "unknown-kind.yaml", "missing-keys.yaml", "evidence-label.yaml"]
)
def test_what_is_malformed_does_not(name: str) -> None:
    data = (ROOT / "tests" / "corpus" / "malformed" / "spec" / name).read_bytes()
    validator = jsonschema.Draft202012Validator(spec_schema())
    assert not validator.is_valid(read_document(data, None).tree)


def test_the_prose_names_every_key() -> None:
    prose = (ROOT / "schemas" / "spec.v1.md").read_text("utf-8")
    schema = spec_schema()
    objects = [schema, *schema["$defs"].values()]
    keys = {key for item in objects for key in item.get("properties", {})}
    assert {key for key in keys if not re.search(rf"[`{{, ]{key}[`}}:, ]", prose)} == set()

"""Schemas and prose of claims, question, manifest and verdict: current, valid, and complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bundle_kit import HONEST, members_of

from qreplace.claims import KINDS
from qreplace.claims.schemas import NAMES, schema_of, written
from qreplace.errors import NotFound

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"

ENDPOINTS = [CORPUS / verdict / kind for verdict in ("accepted", "rejected") for kind in KINDS]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema_of(name))


def faults(name: str, document: Any) -> list[str]:
    return [error.message for error in validator(name).iter_errors(document)]


@pytest.mark.parametrize("name", NAMES)
def test_the_checked_in_schema_is_the_exported_one(name: str) -> None:
    checked_in = (ROOT / "schemas" / f"{name}.v1.json").read_text("utf-8")
    assert checked_in == written(schema_of(name))
    jsonschema.Draft202012Validator.check_schema(schema_of(name))


def test_every_kind_has_a_schema() -> None:
    assert set(KINDS) | {"question", "bundle", "verdict"} == set(NAMES)
    with pytest.raises(NotFound, match="no schema is named"):
        schema_of("proof")


@pytest.mark.parametrize("folder", ENDPOINTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_claims_of_the_corpus_have_the_shape(folder: Path) -> None:
    """A rejected claim is well formed; what is wrong with it is not its shape."""
    paths = sorted(folder.glob("*.json"))
    assert paths
    for path in paths:
        assert faults(folder.name, json.loads(path.read_bytes())) == [], path.name


def test_questions_of_the_corpus_have_the_shape() -> None:
    for verdict in ("accepted", "rejected"):
        paths = sorted((CORPUS / verdict / "question").glob("*.json"))
        assert paths
        for path in paths:
            assert faults("question", json.loads(path.read_bytes())) == [], path.name


SHAPELESS = (
    "unknown-key", "missing-key", "float", "integer", "nan-text", "decimal-text", "plus",
    "zero-denominator", "negative-denominator", "exponent", "other-digits", "null", "list",
    "format-version", "format-kind", "format-list", "code-true", "code-text", "format",
    "kind", "kind-missing", "kind-list", "boolean", "evidence",
)  # fmt: skip


def shapeless() -> Iterator[tuple[str, Path]]:
    for kind in (*KINDS, "question"):
        for path in sorted((CORPUS / "malformed" / kind).glob("*.json")):
            if path.stem.rpartition("--")[2] in SHAPELESS:
                yield kind, path


@pytest.mark.parametrize(("kind", "path"), list(shapeless()), ids=lambda item: str(item)[-60:])
def test_what_has_no_shape_is_refused_by_the_schema_too(kind: str, path: Path) -> None:
    assert faults(kind, json.loads(path.read_bytes()))


@pytest.mark.parametrize("name", sorted(HONEST))
def test_bundles_have_the_shape(name: str) -> None:
    members = members_of(HONEST[name]())
    assert faults("bundle", json.loads(members["manifest.json"])) == []
    assert faults("verdict", json.loads(members["verdict.json"])) == []
    assert faults("question", json.loads(members["question.json"])) == []


def keys_of(schema: Any) -> set[str]:
    """Every property that a schema names."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {}))
    return own.union(*map(keys_of, schema.values()))


@pytest.mark.parametrize("name", NAMES)
def test_the_prose_names_every_key_and_kind(name: str) -> None:
    prose = (ROOT / "schemas" / f"{name}.v1.md").read_text("utf-8")
    if "(parts.v1.md)" in prose:  # what several kinds share is described once
        prose += (ROOT / "schemas" / "parts.v1.md").read_text("utf-8")
    named = set(re.findall(r"`([^`\s]+)`", prose))
    schema = schema_of(name)
    assert {key for key in keys_of(schema) if key not in named} == set()
    constants = set(re.findall(r'"const": "([a-z0-9_]+)"', json.dumps(schema)))
    assert {kind for kind in constants if kind not in named} == set()


@pytest.mark.parametrize("name", KINDS)
def test_the_prose_lists_the_checkers_obligations(name: str) -> None:
    """As many numbered obligations in the prose as in the checker's docstring."""
    prose = (ROOT / "schemas" / f"{name}.v1.md").read_text("utf-8")
    docstring = (ROOT / "qreplace" / "check" / f"{name}.py").read_text("utf-8").split('"""')[1]
    pattern = re.compile(r"^(\d+)\. ", flags=re.MULTILINE)
    section = prose.split("## Obligations")[1].split("\n## ")[0]
    assert pattern.findall(section) == pattern.findall(docstring) != []


def test_the_prose_lists_the_bundle_checks() -> None:
    prose = (ROOT / "schemas" / "bundle.v1.md").read_text("utf-8")
    main = (ROOT / "qreplace" / "check" / "__main__.py").read_text("utf-8").split('"""')[1]
    pattern = re.compile(r"^(\d+)\. ", flags=re.MULTILINE)
    section = prose.split("## Steps of the check")[1].split("\n## ")[0]
    assert pattern.findall(section) == pattern.findall(main) == list("1234567")

"""OpenAPI says what is sent: every status, no other, and the shapes of the bodies."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service_client import DONE, SPEC, Client, Stub

from qreplace.claims import KINDS
from qreplace.data import schema_kinds, schema_text
from qreplace.errors import NotFound
from qreplace.service.openapi import SIMULATION_EXAMPLE
from qreplace.service.problems import MEDIA

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXPECTED = {
    ("post", "/v1/studies"): {"200", "201", "400", "406", "413", "415", "422", "500"},
    ("get", "/v1/studies"): {"200", "400", "500"},
    ("get", "/v1/studies/{study}"): {"200", "304", "404", "406", "500"},
    ("get", "/v1/studies/{study}/report.{form}"): {"200", "304", "404", "500"},
    ("get", "/v1/studies/{study}/bundle.zip"): {"200", "304", "404", "500"},
    ("get", "/v1/studies/{study}/figures/{name}.{form}"): {"200", "304", "404", "500"},
    ("post", "/v1/simulations"): {"200", "202", "400", "406", "413", "415", "422", "500", "503"},
    ("get", "/v1/simulations/{simulation}"): {"200", "404", "500"},
    ("delete", "/v1/simulations/{simulation}"): {"200", "404", "500"},
    ("get", "/v1/simulations/{simulation}/{name}"): {"200", "304", "404", "500"},
    ("get", "/v1/schemas/{kind}"): {"200", "404", "500"},
    ("get", "/problems/{code}"): {"200", "404", "500"},
    ("get", "/healthz"): {"200", "500"},
    ("get", "/readyz"): {"200", "503", "500"},
}


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/openapi.json").json()
    return document


def test_every_operation_with_its_statuses(document: dict[str, Any]) -> None:
    found = {
        (method, path): set(operation["responses"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert found == EXPECTED


def test_errors_are_problem_documents(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    assert "HTTPValidationError" not in text and "ValidationError" not in text
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status >= "400":
                    assert list(response["content"]) == [MEDIA]


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(item: Any) -> Iterator[str]:
        if isinstance(item, dict):
            for key, value in item.items():
                if key == "$ref":
                    yield value
                else:
                    yield from references(value)
        elif isinstance(item, list):
            for value in item:
                yield from references(value)

    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]


def test_the_example_is_a_specification(document: dict[str, Any], client: Client) -> None:
    body = document["paths"]["/v1/studies"]["post"]["requestBody"]["content"]["application/json"]
    (example,) = body["examples"].values()
    jsonschema.validate(example["value"], json.loads(schema_text("spec")))
    assert client.post(example["value"]).status_code == 201


def test_schemas_are_served_as_they_are_shipped(client: Client) -> None:
    assert "spec" in schema_kinds()
    for kind in schema_kinds():
        response = client.get(f"/v1/schemas/{kind}")
        assert response.headers["content-type"] == "application/schema+json"
        assert response.text == schema_text(kind)
        jsonschema.Draft202012Validator.check_schema(response.json())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_claim_kind_has_a_schema(client: Client, kind: str) -> None:
    assert client.get(f"/v1/schemas/{kind}").status_code == 200


@pytest.mark.parametrize("kind", ["", "nothing", "../pyproject", "spec.v1", "SPEC", "a" * 100])
def test_no_other_file_is_a_schema(kind: str) -> None:
    with pytest.raises(NotFound, match="no schema of the kind"):
        schema_text(kind)


def test_generated_requests_get_documented_responses(tmp_path: Path) -> None:
    """Schemathesis makes requests from the document itself, a bounded number of each.

    Identifiers that it invents name nothing, so in every other request a stored study takes their
    place; each operation must have succeeded at least once.
    """
    client = Client(tmp_path, Stub(), simulator=[sys.executable, "-c", DONE])
    simulation = client.request("POST", "/v1/simulations", json=SIMULATION_EXAMPLE).json()
    known = {
        "study": client.post(SPEC).json()["study"],
        "simulation": simulation["simulation"],
    }
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert {(o.method, o.path) for o in operations} == set(EXPECTED)
    for operation in operations:
        statuses = _exercise(operation, known)
        assert statuses & {200, 201}, (operation.label, statuses)
    client.close()


KNOWN = {"kind": "spec", "code": "internal"}
FILES = {"/v1/simulations/{simulation}/{name}": {"name": "a.svg"}}


BODIES = {"/v1/studies": SPEC, "/v1/simulations": SIMULATION_EXAMPLE}


def _exercise(operation: Any, stored: dict[str, str]) -> set[int]:
    """Call an operation as its description allows and check every response against it."""
    statuses: set[int] = set()

    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(), st.booleans())
    def conforms(case: Any, known: bool) -> None:
        if known:
            named = {**stored, **KNOWN, **FILES.get(operation.path, {})}
            for name in case.path_parameters.keys() & named.keys():
                case.path_parameters[name] = named[name]
            if case.media_type == "application/json":
                case.body = BODIES[operation.path]
        response = case.call()
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    conforms()
    return statuses

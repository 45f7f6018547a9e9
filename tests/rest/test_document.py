"""The OpenAPI document is valid, typed throughout, and says what the API does."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from kscope.runs.errors import PROBLEM_JSON
from kscope.runs.models import Run
from tests.contract import document

TEXTS = ("application/x-ndjson", "text/csv")
OPERATIONS = [
    pytest.param(path, method, operation, id=f"{method} {path}")
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
]


def test_the_document_is_valid_openapi(client: Client) -> None:
    answer = client.get("/api/v1/schema/", headers={"accept": "application/json"})
    served = answer.json()
    assert served["openapi"].startswith("3.1.")
    validate(served, cls=OpenAPIV31SpecValidator)
    assert served["paths"].keys() == document()["paths"].keys()


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_no_operation_answers_a_bare_object(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    answers = operation["responses"]
    good = [answers[status] for status in answers if status.startswith("2")]
    assert good
    for answer in good:
        for kind, content in answer.get("content", {}).items():
            whole = _resolved(content["schema"])
            for schema in map(_resolved, whole.get("oneOf", [whole])):
                is_text = kind in TEXTS and schema["type"] == "string"
                is_file = schema.get("format") == "binary"
                assert is_text or is_file or schema.get("properties"), f"{kind} of {method} {path}"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_refusal_is_a_described_problem(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    refusals = {s: a for s, a in operation["responses"].items() if s[0] in "45"}
    assert {"400", "401", "406", "429", "500", "503"} <= refusals.keys()
    for answer in refusals.values():
        assert list(answer["content"]) == [PROBLEM_JSON]
        assert answer["description"]


def test_only_open_objects_are_untyped() -> None:
    # Their fields are named by Kubernetes, a plugin or an event: see shapes/open.py.
    bare = {
        name
        for name, schema in document()["components"]["schemas"].items()
        for part in _parts(schema)
        if part.get("type") == "object" and "properties" not in part
        if part.get("additionalProperties") in (None, True, {})
    }
    assert bare == {"Configuration"}


def test_every_default_is_a_value_that_is_taken() -> None:
    wrong = [
        f"{name}: {part}"
        for name, schema in document()["components"]["schemas"].items()
        for part in _parts(schema)
        if "default" in part and not _takes(part, part["default"])
    ]
    assert wrong == []


def _takes(part: dict[str, Any], value: Any) -> bool:
    choices = [_resolved(each).get("enum") for each in part.get("allOf", [part])]
    if any(each is not None and value not in each for each in choices):
        return False
    return not (isinstance(value, str) and len(value) < part.get("minLength", 0))


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from _parts(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _parts(each)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def test_an_upload_takes_files_not_addresses() -> None:
    upload = document()["components"]["schemas"]["Upload"]["properties"]
    assert upload["files"]["items"] == {"type": "string", "format": "binary"}


def test_the_page_of_the_api_names_every_operation(client: Client, driven: Run) -> None:
    page = client.get("/api/docs/").content.decode()
    assert [path for path in document()["paths"] if path not in page] == []

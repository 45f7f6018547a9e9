"""Holds answers of the REST API against its OpenAPI document, in which no object may have more fields
than it says.

`kept` watches every answer that Django's test client gets.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client
from django.urls import Resolver404, resolve
from drf_spectacular.generators import SchemaGenerator

Document = dict[str, Any]
_PARAMETER = re.compile(r"<\w+:(\w+)>")
# Asked by browsers beforehand, and by programs that look around; no part of the contract.
_BESIDE = ("OPTIONS", "TRACE")
_V1, _SCHEMA = "/api/v1/", "/api/v1/schema/"


@cache
def document() -> Document:
    """The OpenAPI document."""
    found: Document = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(found))


@cache
def _closed() -> Document:
    return _shut(document())


def _shut(part: Any) -> Any:
    """*part* with objects that have no other fields than they name, unless it says that they may."""
    if isinstance(part, list):
        return [_shut(each) for each in part]
    if not isinstance(part, dict):
        return part
    shut = {name: _shut(each) for name, each in part.items()}
    if isinstance(part.get("properties"), dict) and "additionalProperties" not in part:
        shut["additionalProperties"] = False
    return shut


def fault_of(method: str, path: str, response: Any) -> str:
    """What of a response the document does not say; "" for nothing."""
    operation = _operation(method, path)
    if operation is None:
        return (
            "" if response.status_code in (308, 404, 405) else f"{method} {path} is not described"
        )
    answers, status = operation["responses"], str(response.status_code)
    if status == "405":
        return ""
    if status not in answers:
        return f"{method} {path}: {status} is not described"
    content = answers[status].get("content", {})
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if not content or kind not in content:
        return "" if not content else f"{method} {path}: {status} comes as {kind}"
    if method == "HEAD" or response.streaming or not kind.endswith("json"):
        return ""
    return _body_fault(f"{method} {path} {status}", content[kind]["schema"], response.content)


def _operation(method: str, path: str) -> Document | None:
    try:
        route = resolve(path).route
    except Resolver404:
        return None
    template = "/" + _PARAMETER.sub(r"{\1}", route)
    methods = document()["paths"].get(template, {})
    return methods.get("get" if method == "HEAD" else method.lower())


def _body_fault(what: str, schema: Document, content: bytes) -> str:
    validator = _validator(json.dumps(schema))
    found = next(validator.iter_errors(json.loads(content)), None)
    if found is None:
        return ""
    where = "/".join(str(each) for each in found.instance_path)
    return f"{what}: at {where}: {found.message[:600]}"


@cache
def _validator(schema: str) -> Any:
    whole = {**json.loads(schema), "components": _closed()["components"]}
    return jsonschema_rs.Draft202012Validator(whole)


@contextmanager
def kept() -> Iterator[None]:
    """Fail where an answer below /api/v1/ is not what the document says."""
    with pytest.MonkeyPatch.context() as patched:
        request = Client.request

        def watched(client: Client, **parts: Any) -> Any:
            response = request(client, **parts)
            path, method = parts["PATH_INFO"], parts["REQUEST_METHOD"]
            if path.startswith(_V1) and not path.startswith(_SCHEMA) and method not in _BESIDE:
                fault = fault_of(method, path, response)
                assert not fault, fault
            return response

        patched.setattr(Client, "request", watched)
        yield

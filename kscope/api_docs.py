"""`/api/docs/`: the OpenAPI schema as our own page, which loads nothing from other sites."""

from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.http import require_GET
from drf_spectacular.generators import SchemaGenerator

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body: its name, type, and what it means."""

    name: str
    kind: str
    text: str = ""
    required: bool = False

    @property
    def summary(self) -> str:
        """Its type, and whether a request needs it: "integer, required"."""
        return f"{self.kind}, required" if self.required else self.kind


@dataclass(frozen=True, slots=True)
class Response:
    """The response under one HTTP status."""

    status: str
    text: str
    fields: list[Field] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    text: str
    parameters: list[Field]
    body: list[Field]
    answers: list[Response]


@require_GET
def api_docs(request: HttpRequest) -> HttpResponse:
    """All operations, path by path."""
    context = {"operations": operations(), "refusals": refusals()}
    return render(request, "api_docs.html", context)


@cache
def operations() -> list[Operation]:
    """The operations of the schema, in the order of their paths."""
    schema = _schema()
    return [
        _operation(schema, path, method, described)
        for path, methods in schema["paths"].items()
        for method, described in methods.items()
    ]


@cache
def refusals() -> dict[str, str]:
    """What each status of a refusal means."""
    found = {
        status: answer["description"]
        for methods in _schema()["paths"].values()
        for described in methods.values()
        for status, answer in described["responses"].items()
        if int(status) >= HTTPStatus.BAD_REQUEST
    }
    return dict(sorted(found.items()))


@cache
def _schema() -> Schema:
    """The document, described in English for everybody."""
    with translation.override(settings.LANGUAGE_CODE):
        schema: Schema = SchemaGenerator().get_schema(request=None, public=True)
    return schema


def _operation(schema: Schema, path: str, method: str, described: Schema) -> Operation:
    parameters = [
        Field(
            each["name"],
            _kind(schema, each["schema"]),
            each.get("description", ""),
            each.get("required", False),
        )
        for each in described.get("parameters", [])
        if each["in"] == "query"
    ]
    return Operation(
        method=method.upper(),
        path=path,
        text=described.get("description", ""),
        parameters=parameters,
        body=_fields(schema, described.get("requestBody", {})),
        answers=[
            Response(status, answer.get("description", ""), _fields(schema, answer))
            for status, answer in described["responses"].items()
            if int(status) < HTTPStatus.BAD_REQUEST
        ],
    )


def _fields(schema: Schema, message: Schema) -> list[Field]:
    """The fields of a request's or response's first content."""
    content = next(iter(message.get("content", {}).values()), {})
    body = _resolved(schema, content.get("schema", {}))
    return [
        Field(
            name, _kind(schema, each), each.get("description", ""), name in body.get("required", [])
        )
        for name, each in body.get("properties", {}).items()
    ]


def _resolved(schema: Schema, part: Schema) -> Schema:
    """What stands for *part*: of several choices the first, which is never null."""
    for several in ("allOf", "oneOf"):
        if several in part:
            return _resolved(schema, part[several][0])
    if "$ref" not in part:
        return part
    found: Schema = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]
    return found


def _kind(schema: Schema, part: Schema) -> str:
    known = _resolved(schema, part)
    if "enum" in known:
        return " | ".join(str(value) for value in known["enum"])
    given = known.get("type", "any JSON")
    types = [each for each in (given if isinstance(given, list) else [given]) if each != "null"]
    is_open = types != [given] or {"type": "null"} in part.get("oneOf", ())
    if types == ["array"]:
        types = [f"list of {_kind(schema, known['items'])}"]
    kind = "binary" if known.get("format") == "binary" else " or ".join(types)
    return f"{kind} or null" if is_open else kind

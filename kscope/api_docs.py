"""`/api/docs/`: the OpenAPI schema as our own page, which loads nothing from other sites."""

from dataclasses import dataclass, field
from functools import cache
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
    return render(request, "api_docs.html", {"operations": operations()})


@cache
def operations() -> list[Operation]:
    """The operations of the schema, in the order of their paths; described in English for everybody."""
    with translation.override(settings.LANGUAGE_CODE):
        schema: Schema = SchemaGenerator().get_schema(request=None, public=True)
    return [
        _operation(schema, path, method, described)
        for path, methods in schema["paths"].items()
        for method, described in methods.items()
    ]


def _operation(schema: Schema, path: str, method: str, described: Schema) -> Operation:
    parameters = [
        Field(each["name"], _kind(schema, each["schema"]), each.get("description", ""))
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
        ],
    )


def _fields(schema: Schema, message: Schema) -> list[Field]:
    """The fields of a request's or response's first content."""
    content = next(iter(message.get("content", {}).values()), {})
    body = _resolved(schema, content.get("schema", {}))
    return [
        Field(name, _kind(schema, each), _text(each), name in body.get("required", []))
        for name, each in body.get("properties", {}).items()
    ]


def _resolved(schema: Schema, part: Schema) -> Schema:
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
    if known.get("type") == "array":
        return f"list of {_kind(schema, known['items'])}"
    kind = known.get("format") if known.get("format") == "binary" else known.get("type", "any JSON")
    return f"{kind} or null" if part.get("nullable") else str(kind)


def _text(part: Schema) -> str:
    """The description of *part*, without the list of choices that the generator appends."""
    text: str = part.get("description", "")
    return "" if text.startswith("* ") else text.split("\n\n* ")[0]

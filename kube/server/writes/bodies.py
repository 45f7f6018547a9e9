"""What clients send: JSON, YAML or protobuf, as a manifest."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from starlette.requests import Request

from engine.api_server.validation.custom import definitions
from engine.api_server.validation.manifests import data_key_problems
from engine.api_server.validation.policies import not_done
from engine.api_server.validation.report import Report
from engine.objects.custom.definition import DEFINITION
from engine.objects.documents import Document, DocumentError, Limits, read_documents
from engine.objects.openapi.fields import without
from kscope.runs.errors import ApplicationError
from kscope.runs.web.bodies import MOST, REFUSED
from kube import protobuf, strict
from kube.decoding import decoding_problem, fields_of, undecodable
from kube.resources import Resource
from kube.server.writes.heavy import computed
from kube.status import (
    ApiError,
    bad_request,
    cause_of,
    invalid,
    too_large,
    too_many_requests,
    unsupported_media_type,
)

_JSON = ("application/json", "")
_YAML = ("application/yaml",)
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_READ = (*_JSON[:1], *_YAML, _PROTOBUF)
_PATCHES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}


async def patch_of(request: Request) -> tuple[str, Any]:
    """The kind of patch in the body (json, merge, strategic, apply), and the patch.

    Raises ApiError for anything else.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = _PATCHES.get(media_type)
    if kind is None:
        raise unsupported_media_type(_PATCHES)
    content = await _content(request)
    try:
        return kind, await computed(request, content, _document, content)
    except ValueError as problem:
        raise bad_request(f"the patch cannot be read: {problem}") from problem


async def body_of(request: Request, resource: Resource) -> dict[str, Any]:
    """The manifest in the body of *request*. Raises ApiError for anything else."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await _content(request)
    if media_type == _PROTOBUF:
        try:
            return await computed(request, content, protobuf.decoded, content)
        except protobuf.NotProtobuf as problem:
            raise bad_request(f"the body cannot be read: {problem}") from problem
    if media_type not in (*_JSON, *_YAML):
        raise unsupported_media_type(_READ)
    try:
        found = await computed(request, content, _document, content)
    except ValueError as problem:
        raise bad_request(f"the body cannot be read: {problem}") from problem
    if not isinstance(found, dict):
        raise bad_request(f"the body is no {resource.written_kind}")
    return found


def part_of(manifest: Any, name: str) -> Mapping[str, Any]:
    """The object at *name*, empty when it is absent. Raises ApiError when it is none."""
    found = manifest.get(name) if isinstance(manifest, Mapping) else None
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise bad_request(f"{name} must be an object")
    return found


async def _content(request: Request) -> bytes:
    """The body. Raises ApiError when it is longer than the server takes, or comes too slowly."""
    content = await request.body()
    refusal: ApplicationError | None = request.scope.get(REFUSED)
    match refusal.status if refusal else 200:
        case 200:
            return content
        case 413:
            most = request.scope.get(MOST, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
            raise too_large(f"limit is {most}")
        case 408:
            raise ApiError(408, "Timeout", f"the body was not read: {refusal}")
        case _:
            # Nothing was stored, so the client may send it again.
            raise too_many_requests("too many large bodies are being received")


def _document(content: bytes) -> Any:
    """The one document of a YAML or JSON text, within limits of depth and aliases.

    Raises ValueError.
    """
    try:
        documents = read_documents("body", content, Limits())
    except DocumentError:
        if not strict.repeated_fields(content):
            raise
        # Of a field that is given twice the last value counts, as for a server.
        documents = _lenient(content)
    if len(documents) != 1:
        raise DocumentError("a body is one document")
    return documents[0].value


def _lenient(content: bytes) -> list[Document]:
    try:
        return [Document(1, orjson.loads(content), 1)]
    except ValueError:
        return read_documents("body", content, Limits(takes_last=True))


def check_data_keys(resource: Resource, manifest: Mapping[str, Any]) -> None:
    """Raises ApiError for data under keys that it cannot have; a run keeps no data of Secrets."""
    if resource.kind == "Secret":
        report = Report()
        for problem in data_key_problems({**manifest, "kind": resource.kind}):
            report.add(*problem)
        if report.problems:
            name = str(part_of(manifest, "metadata").get("name") or "")
            raise invalid(resource, name, map(cause_of, report.answers()))


def is_strict(request: Request) -> bool:
    """Whether fields that the kind does not have are to be refused."""
    return request.query_params.get("fieldValidation") == "Strict"


def warns(request: Request) -> bool:
    """Whether the answer warns of such fields, which it does by default."""
    return request.query_params.get("fieldValidation") in (None, "", "Warn")


def warn(request: Request, problems: list[str]) -> None:
    """Have the answer to *request* name *problems*."""
    request.state.problems = problems


def warn_of_lack(request: Request, resource: Resource, manifest: Mapping[str, Any]) -> None:
    """Have the answer say what a run does not do of what an object of *resource* asks for."""
    if resource.kind == DEFINITION:
        found = definitions.not_done(manifest)
    else:
        found = [] if resource.custom else not_done.not_done(manifest)
    if found:
        warn(request, [*problems_of(request), *found])


def problems_of(request: Request) -> list[str]:
    """The problems that go with the answer, as warnings."""
    return getattr(request.state, "problems", [])


async def object_of(request: Request, resource: Resource, version: str) -> dict[str, Any]:
    """The object in the body of *request*, without fields that *version* does not have.

    Raises ApiError, also for fields that it cannot have.
    """
    given = await body_of(request, resource)
    if given.get("kind", resource.written_kind) != resource.written_kind:
        return given
    text = await request.body()
    return await computed(request, text, _checked_object, request, resource, version, given, text)


def _checked_object(
    request: Request, resource: Resource, version: str, given: dict[str, Any], text: bytes
) -> dict[str, Any]:
    found = fields_of(resource, given, version)
    if problem := decoding_problem(found):
        raise undecodable(resource, problem)
    check_data_keys(resource, given)
    heeds = is_strict(request) or warns(request)
    if heeds and (problems := strict.problems(resource, text, found)):
        if is_strict(request):
            raise strict.refusal(resource, problems)
        warn(request, problems)
    return without(given, [field.path for field in found.unknown])

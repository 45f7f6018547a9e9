"""What clients send: JSON, YAML or protobuf, as a manifest."""

from typing import Any

import orjson
import yaml
from starlette.requests import Request

from kube import protobuf
from kube.resources import Resource
from kube.status import bad_request, unsupported_media_type

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

    Raises ApiError for what is none.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = _PATCHES.get(media_type)
    if kind is None:
        raise unsupported_media_type(_PATCHES)
    content = await request.body()
    try:
        return kind, yaml.safe_load(content) if kind == "apply" else orjson.loads(content)
    except (ValueError, yaml.YAMLError, RecursionError) as problem:
        raise bad_request(f"the patch cannot be read: {problem}") from problem


async def body_of(request: Request, resource: Resource) -> dict[str, Any]:
    """The manifest in the body of *request*. Raises ApiError for what is none."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    content = await request.body()
    if media_type == _PROTOBUF:
        try:
            return protobuf.decoded(content)
        except protobuf.NotProtobuf as problem:
            raise bad_request(f"the body cannot be read: {problem}") from problem
    if media_type not in (*_JSON, *_YAML):
        raise unsupported_media_type(_READ)
    try:
        found = yaml.safe_load(content) if media_type in _YAML else orjson.loads(content)
    except (ValueError, yaml.YAMLError, RecursionError) as problem:
        raise bad_request(f"the body cannot be read: {problem}") from problem
    if not isinstance(found, dict):
        raise bad_request(f"the body is no {resource.kind}")
    return found

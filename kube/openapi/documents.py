"""OpenAPI documents of version 2 and 3: definitions, and the addresses with their operations."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from engine.objects.openapi.definitions import Definitions, Schema
from kube.openapi.definitions import (
    DELETE_OPTIONS,
    IN_VERSION_2,
    IN_VERSION_3,
    SCHEMA_VERSION,
    references,
    served_definitions,
)
from kube.openapi.gnostic import document_bytes
from kube.openapi.operations import Operations, Version2, Version3, paths
from kube.resources import SERVED, Resource, group_versions

_INFO = {"title": "Kubernetes", "version": SCHEMA_VERSION}


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents as bytes: version 2 as JSON and as protobuf, version 3 by its path.

    The path of version 3 is that of a group-version: "api/v1", "apis/apps/v1".
    """

    v2_json: bytes
    v2_protobuf: bytes
    v3: Mapping[str, bytes]
    v3_hashes: Mapping[str, str]

    def v3_index(self, root: str) -> bytes:
        """Where the documents of version 3 are, below the address *root* of the server.

        Each has a hash, so that clients keep what they have read.
        """
        paths = {
            path: {"serverRelativeURL": f"{root}/openapi/v3/{path}?hash={found}"}
            for path, found in self.v3_hashes.items()
        }
        return orjson.dumps({"paths": paths})


@cache
def documents() -> Documents:
    """The documents. They are made when they are first asked for, which takes a moment."""
    known = served_definitions()
    version_2 = _v2(known)
    version_3 = {
        path_of(version): orjson.dumps(
            document_v3([one for one in SERVED if one.api_version == version], known)
        )
        for version in group_versions()
    }
    hashes = {path: hashlib.sha256(text).hexdigest().upper() for path, text in version_3.items()}
    return Documents(orjson.dumps(version_2), document_bytes(version_2), version_3, hashes)


def path_of(group_version: str) -> str:
    """The path of a group-version: "api/v1", "apis/apps/v1"."""
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


def _v2(known: Definitions) -> Schema:
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": paths_of(SERVED, Version2(), known),
        "definitions": pointing("#/definitions/", in_version(known, IN_VERSION_2)),
    }


def document_v3(served: Iterable[Resource], known: Definitions) -> Schema:
    """The document of version 3 of the resources of a group-version, of *known* definitions."""
    resources = list(served)
    schemas = in_version(_needed(resources, known), IN_VERSION_3)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths_of(resources, Version3(), known),
        "components": {"schemas": _wrapped(pointing("#/components/schemas/", schemas))},
    }


def paths_of(
    served: Iterable[Resource], version: Version2 | Version3, known: Definitions
) -> dict[str, Schema]:
    """The addresses of resources."""
    found: dict[str, Schema] = {}
    for one in served:
        found |= paths(f"/{path_of(one.api_version)}", Operations(one, version, known))
    return dict(sorted(found.items()))


def _needed(served: Iterable[Resource], known: Definitions) -> Definitions:
    """The definitions that a group-version refers to."""
    wanted = [DELETE_OPTIONS]
    for one in served:
        wanted += [one.definition_name(kind) for kind in (one.written_kind, one.list_kind)]
    return reached(wanted, known)


def reached(wanted: Iterable[str], known: Definitions) -> Definitions:
    """The definitions of those names, and all that they refer to."""
    waiting, found = [*wanted], dict[str, Schema]()
    while waiting:
        name = waiting.pop()
        if name in known and name not in found:
            found[name] = known[name]
            waiting += references(known[name])
    return dict(sorted(found.items()))


def in_version(known: Definitions, special: Definitions) -> Definitions:
    """The definitions, with values that are written in more than one way as a version says it."""
    return {name: {**schema, **special.get(name, {})} for name, schema in known.items()}


def pointing(prefix: str, schemas: Definitions) -> Definitions:
    """The schemas with references that begin with *prefix*."""
    return {name: _pointed(prefix, one) for name, one in schemas.items()}


def _wrapped(schema: Any) -> Any:
    """A schema of version 3, in which whatever stands beside a reference would not count.

    Upstream: kube-openapi, pkg/builder3/util/util.go, WrapRefs().
    """
    if isinstance(schema, list):
        return [_wrapped(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _wrapped(value) for key, value in schema.items()}
    if isinstance(found.get("$ref"), str) and len(found) > 1:
        return {"allOf": [{"$ref": found.pop("$ref")}], **found}
    return found


def _pointed(prefix: str, schema: Any) -> Any:
    if isinstance(schema, list):
        return [_pointed(prefix, one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"{prefix}{value.rpartition('/')[2]}"
        if key == "$ref" and isinstance(value, str)
        else _pointed(prefix, value)
        for key, value in schema.items()
    }

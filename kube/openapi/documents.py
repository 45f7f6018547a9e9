"""OpenAPI documents of version 2 and 3: definitions, and the addresses with their parameters.

kubectl looks for a PATCH of the kind with the parameter `fieldValidation` or `dryRun` before it lets
the server validate, or try, what it sends; and for the address of a resource to explain it.
"""

import hashlib
from functools import cache
from typing import Any

import orjson

from kube.openapi.definitions import SCHEMA_VERSION, Schema, definition_of, definitions
from kube.openapi.gnostic import document_bytes
from kube.resources import SERVED, Resource, group_versions

_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_JSON = "application/json"
_WRITE_PARAMETERS = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_PATCH_PARAMETERS = {**_WRITE_PARAMETERS, "force": "boolean"}
_LIST_PARAMETERS = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_INFO = {"title": "Kubernetes", "version": SCHEMA_VERSION}


@cache
def v2_json() -> bytes:
    """The document of version 2."""
    return orjson.dumps(_v2())


@cache
def v2_protobuf() -> bytes:
    """The same as protobuf, by the schema of gnostic."""
    return document_bytes(_v2())


def _v2() -> Schema:
    paths = {path: item for one in SERVED for path, item in _paths(one, _Version2()).items()}
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "definitions": _pointing("#/definitions/", definitions()),
    }


def v3_index(address: str) -> bytes:
    """The addresses of the documents of version 3, below that of the server.

    Each has a hash, so that clients keep what they have read.
    """
    paths = {
        _root(one): {"serverRelativeURL": f"{address}/openapi/v3/{_root(one)}?hash={_hash(one)}"}
        for one in group_versions()
    }
    return orjson.dumps({"paths": paths})


@cache
def v3(root: str) -> bytes | None:
    """The document of a group-version, at "api/v1" or "apis/apps/v1"; None for no such one."""
    version = next((one for one in group_versions() if _root(one) == root), None)
    return None if version is None else orjson.dumps(_v3(version))


def _v3(group_version: str) -> Schema:
    served = [one for one in SERVED if one.api_version == group_version]
    paths = {path: item for one in served for path, item in _paths(one, _Version3()).items()}
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": _pointing("#/components/schemas/", _needed(served))},
    }


def _root(group_version: str) -> str:
    return f"apis/{group_version}" if "/" in group_version else f"api/{group_version}"


@cache
def _hash(group_version: str) -> str:
    return hashlib.sha256(v3(_root(group_version)) or b"").hexdigest()[:32].upper()


def _needed(served: list[Resource]) -> dict[str, Schema]:
    known = definitions()
    wanted = [definition_of(one.api_version, one.kind) for one in served]
    wanted += [definition_of(one.api_version, one.list_kind) for one in served]
    wanted.append("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = known[name]
            wanted += _named_in(known[name])
    return dict(sorted(found.items()))


def _named_in(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for one in schema for name in _named_in(one)]
    if not isinstance(schema, dict):
        return []
    here = schema.get("$ref")
    own = [here.rpartition("/")[2]] if isinstance(here, str) else []
    return [*own, *(name for one in schema.values() for name in _named_in(one))]


def _pointing(prefix: str, schemas: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas with references that begin with *prefix*."""
    return {name: _pointed(prefix, one) for name, one in schemas.items()}


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


class _Version2:
    """How version 2 writes an operation."""

    def body(self, media_types: tuple[str, ...], schema: Schema) -> Schema:
        parameter = {"in": "body", "name": "body", "required": True, "schema": schema}
        return {"consumes": list(media_types), "parameters": [parameter]}

    def parameter(self, name: str, type: str) -> Schema:
        return {"in": "query", "name": name, "type": type}

    def responses(self, schema: Schema) -> Schema:
        return {"200": {"description": "OK", "schema": schema}}

    def reference(self, name: str) -> Schema:
        return {"$ref": f"#/definitions/{name}"}


class _Version3:
    """How version 3 writes an operation."""

    def body(self, media_types: tuple[str, ...], schema: Schema) -> Schema:
        content = {one: {"schema": schema} for one in media_types}
        return {"requestBody": {"content": content, "required": True}}

    def parameter(self, name: str, type: str) -> Schema:
        return {"in": "query", "name": name, "schema": {"type": type}}

    def responses(self, schema: Schema) -> Schema:
        return {"200": {"description": "OK", "content": {_JSON: {"schema": schema}}}}

    def reference(self, name: str) -> Schema:
        return {"$ref": f"#/components/schemas/{name}"}


def _paths(one: Resource, version: _Version2 | _Version3) -> dict[str, Schema]:
    """The addresses of a resource, with what can be done there."""
    root = f"/{_root(one.api_version)}"
    collection = f"{root}/namespaces/{{namespace}}/{one.plural}" if one.namespaced else ""
    collection = collection or f"{root}/{one.plural}"
    operations = _Operations(one, version)
    paths = {collection: operations.of_collection()}
    if "get" in one.verbs:
        paths[f"{collection}/{{name}}"] = operations.of_object()
        if one.namespaced:
            paths[f"{root}/{one.plural}"] = {"get": operations.reads(is_list=True)}
    return paths


class _Operations:
    """The operations on one resource."""

    def __init__(self, one: Resource, version: _Version2 | _Version3) -> None:
        self._one = one
        self._version = version
        known = definitions()
        name = definition_of(one.api_version, one.kind)
        listed = definition_of(one.api_version, one.list_kind)
        self._schema = version.reference(name) if name in known else {"type": "object"}
        self._list = version.reference(listed) if listed in known else {"type": "object"}

    def of_collection(self) -> Schema:
        found = {"post": self._writes("post", _WRITE_PARAMETERS, (_JSON,))}
        return {"get": self.reads(is_list=True), **found} if "list" in self._one.verbs else found

    def of_object(self) -> Schema:
        return {
            "get": self.reads(is_list=False),
            "put": self._writes("put", _WRITE_PARAMETERS, (_JSON,)),
            "patch": self._writes("patch", _PATCH_PARAMETERS, _PATCHES),
            "delete": self._operation("delete", {"dryRun": "string"}, self._schema),
        }

    def reads(self, *, is_list: bool) -> Schema:
        if is_list:
            return self._operation("list", _LIST_PARAMETERS, self._list)
        return self._operation("get", {}, self._schema)

    def _writes(self, action: str, parameters: dict[str, str], types: tuple[str, ...]) -> Schema:
        body = {"type": "object"} if action == "patch" else self._schema
        found = self._operation(action, parameters, self._schema)
        given = self._version.body(types, body)
        parameters_too = [*given.pop("parameters", ()), *found["parameters"]]
        return {**found, **given, "parameters": parameters_too}

    def _operation(self, action: str, parameters: dict[str, str], schema: Schema) -> Schema:
        one = self._one
        kind = {"group": one.group, "version": one.version, "kind": one.kind}
        return {
            "parameters": [self._version.parameter(*each) for each in parameters.items()],
            "responses": self._version.responses(schema),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }

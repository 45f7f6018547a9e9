"""The documents of a run that has custom kinds: those of every run, and what these add.

Upstream: apiextensions-apiserver pkg/controller/openapi/builder/builder.go.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from engine.objects.openapi.definitions import Definitions, Schema, read_definitions
from kube.custom_kinds import CustomResources
from kube.openapi.definitions import DELETE_OPTIONS
from kube.openapi.documents import (
    IN_VERSION_2,
    Documents,
    document_v3,
    documents,
    in_version,
    path_of,
    paths_of,
    pointing,
    reached,
)
from kube.openapi.gnostic import document_bytes
from kube.openapi.operations import Version2
from kube.resources import Resource

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_MEANS = "x-kubernetes-group-version-kind"
# One whose fields describe what all objects have.
_ANY_KIND = "io.k8s.api.core.v1.ConfigMap"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_OBJECT_META: Schema = {
    "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
    "$ref": f"{_META}.ObjectMeta",
}
_EMBEDDED: Schema = {
    "apiVersion": {
        "description": "apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {_CONVENTIONS}#resources",
        "type": "string",
    },
    "kind": {
        "description": "kind is a string value representing the type of this object. In CamelCase. "
        f"More info: {_CONVENTIONS}#types-kinds",
        "type": "string",
    },
    "metadata": _OBJECT_META,
}
# What version 2 cannot say of a value. Upstream: pkg/controller/openapi/v2/conversion.go.
_NOT_IN_VERSION_2 = frozenset(("allOf", "anyOf", "not", "nullable", "oneOf"))


@lru_cache(maxsize=8)
def documents_with(custom: CustomResources) -> Documents:
    """The documents of a run with these kinds."""
    usual = documents()
    if not custom.resources:
        return usual
    known = _definitions(custom.resources)
    version_3 = dict(usual.v3)
    for group_version in dict.fromkeys(one.api_version for one in custom.resources):
        of_version = [one for one in custom.resources if one.api_version == group_version]
        path = path_of(group_version)
        made = document_v3(of_version, known)
        version_3[path] = orjson.dumps(_joined(orjson.loads(version_3.get(path, b"{}")), made))
    hashes = {
        path: usual.v3_hashes[path]
        if text is usual.v3.get(path)
        else hashlib.sha256(text).hexdigest().upper()
        for path, text in version_3.items()
    }
    added: Schema = {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths_of(custom.resources, Version2(), known),
        "definitions": pointing("#/definitions/", in_version(_of_version_2(known), IN_VERSION_2)),
    }
    version_2 = _joined(orjson.loads(usual.v2_json), added)
    # In protobuf what is written after a message is merged with it; what is there twice counts once.
    protobuf = usual.v2_protobuf + document_bytes({**added, "info": version_2["info"]})
    return Documents(orjson.dumps(version_2), protobuf, version_3, hashes)


def _joined(usual: Schema, added: Schema) -> Schema:
    found = {**added, **usual}
    for name in ("paths", "definitions"):
        if name in usual and name in added:
            found[name] = {**added[name], **usual[name]}
    if "components" in usual:
        of_usual, of_added = usual["components"]["schemas"], added["components"]["schemas"]
        found["components"] = {"schemas": {**of_added, **of_usual}}
    return found


def _definitions(resources: tuple[Resource, ...]) -> Definitions:
    """The definitions of custom kinds, and what they refer to."""
    usual, found = read_definitions(), Definitions()
    type_meta = {name: usual[_ANY_KIND]["properties"][name] for name in ("apiVersion", "kind")}
    for one in resources:
        found[one.definition_name(one.written_kind)] = _of_objects(one, type_meta)
        found[one.definition_name(one.list_kind)] = _of_lists(one, type_meta)
    return reached([*found, DELETE_OPTIONS], {**usual, **found})


def _of_objects(one: Resource, type_meta: Schema) -> Schema:
    schema = _with_embedded(one.custom.schema) if one.custom else {}
    fields = {**(schema.get("properties") or {}), **type_meta, "metadata": _OBJECT_META}
    return {**schema, "type": "object", "properties": fields, **_named(one, one.written_kind)}


def _of_lists(one: Resource, type_meta: Schema) -> Schema:
    items = {
        "description": f"List of {one.plural}. More info: {_CONVENTIONS}",
        "type": "array",
        "items": {"$ref": one.definition_name(one.written_kind)},
    }
    meta = {
        "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
        "$ref": f"{_META}.ListMeta",
    }
    return {
        "description": f"{one.list_kind} is a list of {one.written_kind}",
        "type": "object",
        "required": ["items"],
        "properties": {**type_meta, "metadata": meta, "items": items},
        **_named(one, one.list_kind),
    }


def _with_embedded(schema: Mapping[str, Any]) -> Schema:
    """A schema whose whole objects have what all objects have.

    Upstream: builder.go, addEmbeddedProperties().
    """
    found = dict(schema)
    if isinstance(found.get("properties"), Mapping):
        found["properties"] = {
            name: _with_embedded(one) for name, one in found["properties"].items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), Mapping):
            found[name] = _with_embedded(found[name])
    if found.get("x-kubernetes-embedded-resource"):
        found["properties"] = {**(found.get("properties") or {}), **_EMBEDDED}
        found["required"] = list(
            dict.fromkeys([*(found.get("required") or ()), "kind", "apiVersion"])
        )
    return found


def _named(one: Resource, kind: str) -> Schema:
    meant = {"group": one.group, "kind": kind, "version": one.version}
    return {_MEANS: [meant]}


def _of_version_2(known: Definitions) -> Definitions:
    return {name: _simpler_kind(schema) for name, schema in known.items()}


def _simpler_kind(schema: Schema) -> Schema:
    """The schema of a kind. Of one with fields that nobody knows, a client may not know any.

    Upstream: builder.go, buildKubeNative().
    """
    if not schema.get("x-kubernetes-preserve-unknown-fields"):
        return _simpler(schema)
    return {"type": "object", _MEANS: schema[_MEANS]} if _MEANS in schema else _simpler(schema)


def _simpler(schema: Mapping[str, Any]) -> Schema:
    """A schema as version 2 can say it."""
    found = {name: part for name, part in schema.items() if name not in _NOT_IN_VERSION_2}
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        # A client would drop what it does not know.
        for name in ("type", "properties", "items", "additionalProperties"):
            found.pop(name, None)
        return found
    if isinstance(found.get("properties"), dict):
        found["properties"] = {name: _simpler(one) for name, one in found["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _simpler(found[name])
    if schema.get("additionalProperties") is True:
        found.pop("additionalProperties")
    return found

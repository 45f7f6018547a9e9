"""The definitions that the served kinds need, with Kubernetes' own extensions.

The package kubernetes-validate holds those of each version as JSON schemas, in which every value may
be null; here they are as an API server publishes them.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from kube.resources import SERVED

Schema = dict[str, Any]

SCHEMA_VERSION = "v1.36.0"
_REFERENCE = "#/$defs/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_AS_TEXT: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": "string",
        "format": "int-or-string",
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
# What clients send or get beside the kinds themselves.
_ALWAYS = (
    f"{_META}.APIGroup",
    f"{_META}.DeleteOptions",
    f"{_META}.Status",
    f"{_META}.WatchEvent",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.authentication.v1.TokenRequest",
)


@cache
def definitions() -> dict[str, Schema]:
    """The schema of each definition by its name, as "io.k8s.api.core.v1.Pod"."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"{SCHEMA_VERSION}-local"
    known: dict[str, Schema] = orjson.loads((folder / "_definitions.json").read_bytes())["$defs"]
    wanted = [*_ALWAYS]
    for one in SERVED:
        wanted += [definition_of(one.api_version, one.kind)]
        wanted += [definition_of(one.api_version, one.list_kind)] if "list" in one.verbs else []
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = _published(name, known[name])
            wanted += _references(known[name])
    for one in SERVED:
        for kind in (one.kind, one.list_kind):
            _name_kind(found, definition_of(one.api_version, kind), one.api_version, kind)
    return dict(sorted(found.items()))


def definition_of(api_version: str, kind: str) -> str:
    """The name of the definition of a kind: batch/v1 Job is io.k8s.api.batch.v1.Job."""
    group, _, version = api_version.rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


def _name_kind(found: dict[str, Schema], name: str, api_version: str, kind: str) -> None:
    if name in found:
        group, _, version = api_version.rpartition("/")
        meant = {"group": group, "kind": kind, "version": version}
        found[name]["x-kubernetes-group-version-kind"] = [meant]


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for one in schema for name in _references(one)]
    if not isinstance(schema, dict):
        return []
    here = schema.get("$ref")
    own = [here.removeprefix(_REFERENCE)] if isinstance(here, str) else []
    return [*own, *(name for one in schema.values() for name in _references(one))]


def _published(name: str, schema: Schema) -> Schema:
    if name in _AS_TEXT:
        described = {"description": schema["description"]} if "description" in schema else {}
        return {**described, **_AS_TEXT[name]}
    return _plain(schema)


def _plain(schema: Schema) -> Schema:
    """The schema without null among its types, and without the one value of kind and apiVersion."""
    found: Schema = {}
    for key, value in schema.items():
        match key:
            case "type" if isinstance(value, list):
                found[key] = value[0]
            case "properties":
                found[key] = {name: _property(name, one) for name, one in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                found[key] = _plain(value)
            case "oneOf" | "anyOf" | "$schema":
                continue
            case _:
                found[key] = value
    return found


def _property(name: str, schema: Schema) -> Schema:
    found = _plain(schema)
    if name in ("kind", "apiVersion"):
        found.pop("enum", None)
    return found

"""The definitions that the served kinds need, with Kubernetes' own extensions.

The package kubernetes-validate holds those of each version as JSON schemas, in which every value may
be null; here they are as an API server publishes them.
"""

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from kube.resources import SERVED, kept_version

Schema = dict[str, Any]
# By the name of the definition: "io.k8s.api.core.v1.Pod".
Definitions = dict[str, Schema]

SCHEMA_VERSION = "v1.36.0"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
DELETE_OPTIONS = f"{_META}.DeleteOptions"
# Values that are written in more than one way, as each version of OpenAPI can say it.
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
IN_VERSION_2: dict[str, Schema] = {
    _INT_OR_STRING: {"type": "string", "format": "int-or-string"},
    _QUANTITY: {"type": "string"},
}
IN_VERSION_3: dict[str, Schema] = {
    _INT_OR_STRING: {
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "format": "int-or-string",
    },
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
# What clients send or get beside the kinds themselves.
_ALWAYS = (
    f"{_META}.APIGroup",
    DELETE_OPTIONS,
    f"{_META}.Status",
    f"{_META}.WatchEvent",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.authentication.v1.TokenRequest",
)


@cache
def definitions() -> Definitions:
    """The schemas of all served kinds without what is only for readers, for as long as the process.

    They say how lists are merged, and which fields there are.
    """
    return {name: _bare(schema) for name, schema in read_definitions().items()}


def followed(schema: Schema) -> Schema:
    """The schema itself, or the one that it refers to."""
    reference = schema.get("$ref")
    return definitions().get(reference.rpartition("/")[2], {}) if reference else schema


def read_definitions() -> Definitions:
    """The schemas of all served kinds, and of what they refer to.

    They are several megabytes once read: a caller makes documents of them and lets them go.
    """
    known: dict[str, Schema] = orjson.loads(_schema_file().read_bytes())["$defs"]
    wanted = [*_ALWAYS]
    for one in SERVED:
        wanted += [definition_of(one.api_version, one.kind)]
        wanted += [definition_of(one.api_version, one.list_kind)] if "list" in one.verbs else []
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = _published(name, known[name])
            wanted += references(known[name])
    for one in SERVED:
        for kind in (one.kind, one.list_kind):
            _name_kind(found, definition_of(one.api_version, kind), one.api_version, kind)
    return dict(sorted(found.items()))


def _bare(schema: Any) -> Any:
    """The schema without descriptions."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may be called "description": its schema is an object, a description a text.
    return {
        sys.intern(name): _bare(part)
        for name, part in schema.items()
        if not (name == "description" and isinstance(part, str))
    }


def _schema_file() -> Path:
    # The package is only found, not imported: it would bring a whole validator along.
    package = find_spec("kubernetes_validate")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the package kubernetes-validate is not installed")
    folder = Path(package.submodule_search_locations[0]) / "kubernetes-json-schema"
    return folder / f"{SCHEMA_VERSION}-local" / "_definitions.json"


def definition_of(api_version: str, kind: str) -> str:
    """The name of the definition of a kind: batch/v1 Job is io.k8s.api.batch.v1.Job."""
    group, _, version = kept_version(api_version).rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


def _name_kind(found: dict[str, Schema], name: str, api_version: str, kind: str) -> None:
    if name in found:
        group, _, version = api_version.rpartition("/")
        meant = {"group": group, "kind": kind, "version": version}
        found[name]["x-kubernetes-group-version-kind"] = [meant]


def references(schema: Any) -> list[str]:
    """The names of the definitions to which a schema refers, wherever they are."""
    if isinstance(schema, list):
        return [name for one in schema for name in references(one)]
    if not isinstance(schema, dict):
        return []
    here = schema.get("$ref")
    own = [here.rpartition("/")[2]] if isinstance(here, str) else []
    return [*own, *(name for one in schema.values() for name in references(one))]


def _published(name: str, schema: Schema) -> Schema:
    if name in IN_VERSION_2:
        return {"description": schema.get("description", "")}
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

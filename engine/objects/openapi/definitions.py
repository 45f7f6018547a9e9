"""The OpenAPI definitions of each version, with Kubernetes' own extensions.

The package kubernetes-validate holds those of v1.25 and later as JSON schemas, in which every value
may be null; here they are as an API server publishes them. Older versions have those of v1.25, and
what was removed since.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import orjson

from engine.kernel.trace import minor_of
from engine.objects.openapi.removed import REMOVED

Schema = dict[str, Any]
# By the name of the definition: "io.k8s.api.core.v1.Pod".
Definitions = dict[str, Schema]

NEWEST: Final = "v1.36"
_OLDEST_MINOR: Final = 25
# Values that are written in more than one way.
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@cache
def definitions(version: str = NEWEST) -> Definitions:
    """The definitions of "v1.36" without what is only for readers, for as long as the process.

    They say which fields there are, of which types, and how lists are merged.
    """
    known = {name: _bare(schema) for name, schema in read_definitions(version).items()}
    for name, fields in REMOVED.items():
        for field, (first, last, schema) in fields.items():
            if first <= minor_of(version) <= last:
                known[name]["properties"][field] = schema
    return known


def read_definitions(version: str = NEWEST) -> Definitions:
    """All definitions of the version.

    They are several megabytes once read: a caller makes something of them and lets them go.
    """
    known: dict[str, Schema] = orjson.loads(_file_of(version).read_bytes())["$defs"]
    return {name: _published(name, schema) for name, schema in known.items()}


@cache
def field_names(version: str) -> dict[str, frozenset[str]]:
    """The fields of each definition of a version, by its name."""
    known: dict[str, Schema] = orjson.loads(_file_of(version).read_bytes())["$defs"]
    return {
        sys.intern(name): frozenset(map(sys.intern, schema.get("properties") or ()))
        for name, schema in known.items()
    }


@cache
def all_versions() -> tuple[str, ...]:
    """Every version that there are definitions of, the oldest first."""
    found = (path.name.split(".")[1] for path in _folder().glob("v1.*.0-local"))
    return tuple(f"v1.{minor}" for minor in sorted(map(int, found)))


def _bare(schema: Any) -> Any:
    """The schema without descriptions."""
    if isinstance(schema, list):
        return [_bare(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    # A property may be called "description": its schema is an object, a description a text.
    return {
        sys.intern(name): _bare(part)
        for name, part in cast("Schema", schema).items()
        if not (name == "description" and isinstance(part, str))
    }


def _file_of(version: str) -> Path:
    minor = max(minor_of(version), _OLDEST_MINOR)
    return _folder() / f"v1.{minor}.0-local" / "_definitions.json"


def _folder() -> Path:
    # The package is only found, not imported: it would bring a whole validator along.
    package = find_spec("kubernetes_validate")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the package kubernetes-validate is not installed")
    return Path(package.submodule_search_locations[0]) / "kubernetes-json-schema"


def _published(name: str, schema: Schema) -> Schema:
    if name in (INT_OR_STRING, QUANTITY):
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
                found[key] = _plain(cast("Schema", value))
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

"""The definitions that the served kinds need, as documents of each version of OpenAPI have them."""

from typing import Any

from engine.objects.openapi.definitions import (
    INT_OR_STRING,
    QUANTITY,
    Definitions,
    Schema,
    read_definitions,
)
from engine.objects.openapi.names import definition_of
from kube.resources import SERVED

SCHEMA_VERSION = "v1.36.0"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
DELETE_OPTIONS = f"{_META}.DeleteOptions"
# Values that are written in more than one way, as each version of OpenAPI can say it.
IN_VERSION_2: dict[str, Schema] = {
    INT_OR_STRING: {"type": "string", "format": "int-or-string"},
    QUANTITY: {"type": "string"},
}
IN_VERSION_3: dict[str, Schema] = {
    INT_OR_STRING: {
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "format": "int-or-string",
    },
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
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


def served_definitions() -> Definitions:
    """The schemas of all served kinds, and of what they refer to, as they are published.

    They are several megabytes once read: a caller makes documents of them and lets them go.
    """
    known = read_definitions()
    wanted = [*_ALWAYS]
    for one in SERVED:
        wanted += [definition_of(one.api_version, one.kind)]
        wanted += [definition_of(one.api_version, one.list_kind)] if "list" in one.verbs else []
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = known[name]
            wanted += references(known[name])
    for one in SERVED:
        for kind in (one.kind, one.list_kind):
            _name_kind(found, definition_of(one.api_version, kind), one.api_version, kind)
    return dict(sorted(found.items()))


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

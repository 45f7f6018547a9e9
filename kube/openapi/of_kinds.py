"""The definitions of one kind, for who writes a manifest of it: what completion and hover texts need."""

import json
from functools import lru_cache
from typing import Any

import orjson

from engine.objects.openapi.definitions import Schema, read_definitions
from engine.objects.openapi.names import place_of
from kube.openapi.definitions import references
from kube.resources import SERVED

# Of a kind of each version some hundred kilobytes are kept.
_KEPT = 32
_PARTS = ("description", "type", "format", "enum", "required")


@lru_cache(maxsize=1)
def kinds_text() -> bytes:
    """The kinds that an object can be of, as JSON: {kinds: [{api_version, kind, namespaced}]}."""
    kinds = [
        {"api_version": one.api_version, "kind": one.kind, "namespaced": one.namespaced}
        for one in SERVED
        if "create" in one.verbs and "list" in one.verbs
    ]
    return orjson.dumps({"kinds": kinds})


@lru_cache(maxsize=_KEPT)
def schema_text(version: str, api_version: str, kind: str) -> bytes | None:
    """The definition of a kind and all that it refers to, as JSON: {root, definitions}.

    A reference is {ref: NAME}. None for a kind that Kubernetes does not have.
    """
    place = place_of(version, api_version, kind)
    if place is None:
        return None
    known = read_definitions(place[0])
    waiting, found = [place[1]], dict[str, Schema]()
    while waiting:
        name = waiting.pop()
        if name in known and name not in found:
            found[name] = _plain(known[name])
            waiting += references(known[name])
    return json.dumps({"root": place[1], "definitions": found}).encode()


def _plain(schema: Schema) -> Schema:
    if "$ref" in schema:
        kept: dict[str, Any] = {"ref": schema["$ref"].rpartition("/")[2]}
        return kept | ({"description": schema["description"]} if "description" in schema else {})
    kept = {part: schema[part] for part in _PARTS if part in schema}
    if "properties" in schema:
        kept["properties"] = {name: _plain(one) for name, one in schema["properties"].items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            kept[part] = _plain(schema[part])
    return kept

"""Merges a configuration into an object as server-side apply does, without asking who manages what.

Upstream: sigs.k8s.io/structured-merge-diff, typed/merge.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from engine.objects.openapi.definitions import Definitions, Schema

_LIST_TYPE: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_OBJECTS: Final = ("properties", "additionalProperties")


class AtomicPart(ValueError):
    """A configuration has a part that is replaced as a whole; the text is its path."""


def merged(
    old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema, known: Definitions
) -> dict[str, Any]:
    """*old* with what *new* has; *known* are the definitions to which schemas refer.

    Raises AtomicPart for a list or a map of *new* that could only take the place of another one.
    """
    return _object(old, new, _resolved(schema, known), known, "")


def _merged(old: Any, new: Any, schema: Schema, known: Definitions, path: str) -> object:
    schema = _resolved(schema, known)
    if isinstance(new, dict) and any(name in schema for name in _OBJECTS):
        if schema.get("x-kubernetes-map-type") == "atomic":
            raise AtomicPart(path)
        before = cast("dict[str, Any]", old) if isinstance(old, dict) else {}
        return _object(before, cast("dict[str, Any]", new), schema, known, path)
    if isinstance(new, list):
        before = cast("list[Any]", old) if isinstance(old, list) else []
        return _list(before, cast("list[Any]", new), schema, known, path)
    return cast("object", new)


def _object(
    old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema, known: Definitions, path: str
) -> dict[str, Any]:
    fields: Mapping[str, Schema] = schema.get("properties") or {}
    others: Any = schema.get("additionalProperties")
    rest = cast("Schema", others) if isinstance(others, dict) else {}
    found = dict(old)
    for name, value in new.items():
        inner = fields.get(name) or rest
        found[name] = _merged(old.get(name), value, inner, known, f"{path}.{name}")
    return found


def _list(
    old: list[Any], new: list[Any], schema: Schema, known: Definitions, path: str
) -> list[Any]:
    kind = schema.get(_LIST_TYPE)
    inner: Schema = schema.get("items") or {}
    if kind == "set":
        return [*old, *(one for one in new if one not in old)]
    if kind != "map":
        raise AtomicPart(path)
    keys: list[str] = schema.get(_KEYS) or []
    found = {_key(one, keys): one for one in old}
    for one in new:
        key = _key(one, keys)
        found[key] = _merged(found.get(key), one, inner, known, path)
    return list(found.values())


def _key(item: Any, keys: list[str]) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in keys) if isinstance(item, dict) else (item,)  # pyright: ignore


def _resolved(schema: Schema, known: Definitions) -> Schema:
    reference: Any = schema.get("$ref")
    return known.get(str(reference).rpartition("/")[2], {}) if reference else schema

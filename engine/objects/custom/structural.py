"""Pruning and defaults by a structural schema.

Upstream: apiextensions-apiserver pkg/apiserver/schema, pruning/algorithm.go and
defaulting/{algorithm,prunenulls}.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from engine.objects.documents import Path

Manifest = dict[str, Any]
Schema = Mapping[str, Any]

_OF_ROOTS: Final = frozenset(("apiVersion", "kind", "metadata"))
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"
# A schema that knows no field.
_NOTHING: Final[Schema] = {}


def unknown_fields(schema: Schema, manifest: Manifest) -> list[Path]:
    """The fields of an object that its schema does not have, and that are not stored."""
    found: list[Path] = []
    _look({**schema, _EMBEDDED: True}, manifest, (), found)
    return sorted(found, key=lambda path: [str(part) for part in path])


def _look(schema: Schema, value: Any, path: Path, found: list[Path]) -> None:
    is_kept = bool(schema.get(_PRESERVED))
    if isinstance(value, list):
        below = _of_items(schema)
        for place, item in enumerate(cast("list[Any]", value)):
            inner = {**below, _PRESERVED: True} if is_kept else below
            _look(inner, item, (*path, place), found)
    elif isinstance(value, dict):
        for name, part in cast("Manifest", value).items():
            if schema.get(_EMBEDDED) and name in _OF_ROOTS:
                continue
            below = _of_field(schema, name)
            if below is not None:
                _look(below, part, (*path, name), found)
            elif not is_kept:
                found.append((*path, name))


def _of_items(schema: Schema) -> Schema:
    inner: Any = schema.get("items")
    return cast("Schema", inner) if isinstance(inner, dict) else _NOTHING


def _of_field(schema: Schema, name: str) -> Schema | None:
    """The schema of a field; None for one that the schema does not have."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if name in properties:
        return cast("Schema", properties[name])
    others: Any = schema.get("additionalProperties")
    if isinstance(others, dict):
        return cast("Schema", others)
    return {_PRESERVED: True} if others is True else None


def with_schema_defaults(schema: Schema, value: Any) -> Any:
    """*value* with the defaults of its schema; the same object where it has them all."""
    if isinstance(value, dict):
        return _object_with_defaults(schema, cast("Manifest", value))
    if isinstance(value, list):
        given, inner = cast("list[Any]", value), _of_items(schema)
        if not inner:
            return given
        new = [_or_default(inner, item) for item in given]
        return new if any(one is not two for one, two in zip(new, given, strict=True)) else given
    return value


def _object_with_defaults(schema: Schema, value: Manifest) -> Manifest:
    changed: Manifest = {}
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name, inner in properties.items():
        if "default" in inner and _is_absent(inner, value, name):
            changed[name] = inner["default"]
    for name, part in (value | changed).items():
        inner = _of_field(schema, name)
        if inner and (new := _or_default(inner, part)) is not part:
            changed[name] = new
    return value | changed if changed else value


def _or_default(schema: Schema, value: Any) -> Any:
    if value is None and not schema.get("nullable") and "default" in schema:
        value = schema["default"]
    return with_schema_defaults(schema, value)


def _is_absent(schema: Schema, value: Manifest, name: str) -> bool:
    return name not in value or (value[name] is None and not schema.get("nullable"))

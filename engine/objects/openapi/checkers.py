"""Checkers: functions that say fast whether a value has only known fields of the right types.

Each definition is compiled once for each version. A checker answers for the whole value, without a
place or a reason: those are for `findings`, and for the few values with which something is wrong.
On its way it notes the objects that have fields which are null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, cast

from engine.objects.openapi.definitions import (
    INT_OR_STRING,
    QUANTITY,
    Definitions,
    Schema,
    definitions,
)
from engine.objects.values.quantity import QuantityError, parse

# The objects with fields that are null.
Nulls = list[dict[str, Any]]
Checker = Callable[[Any, Nulls], bool]

INT32: Final = range(-(1 << 31), 1 << 31)
INT64: Final = range(-(1 << 63), 1 << 63)
# What has no fields and is no object either: any value is kept as it is.
OPAQUE: Final = frozenset(
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
    )
)
_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)


def checker_of(version: str, name: str) -> Checker:
    """The checker of a definition of a version."""
    key = version, name
    found = _checkers.get(key)
    if found is None:
        found = _checkers[key] = _Compiler(version).of_name(name)
    return found


_checkers: dict[tuple[str, str], Checker] = {}


class _Compiler:
    def __init__(self, version: str) -> None:
        self._version = version
        self._known: Definitions = definitions(version)

    def of_name(self, name: str) -> Checker:
        """The checker of a definition, of which there is one, and which may refer to itself."""
        special = SPECIAL.get(name)
        if special is not None:
            return special
        key = self._version, name
        found = _checkers.get(key)
        if found is not None:
            return found
        _checkers[key] = lambda value, nulls: _checkers[key](value, nulls)
        schema = self._known.get(name, {})
        if schema.get("type") == "object" and name not in OPAQUE:
            found = self._of_object(schema, is_empty=True)
        else:
            found = self.of_schema(schema)
        _checkers[key] = found
        return found

    def of_schema(self, schema: Schema) -> Checker:
        reference = schema.get("$ref")
        if reference:
            return self.of_name(reference.rpartition("/")[2])
        match schema.get("type"):
            case "object":
                return self._of_object(schema)
            case "array":
                return _list_of(self.of_schema(schema.get("items") or {}))
            case "integer":
                return _is_int32 if schema.get("format") == "int32" else _is_int64
            case "string":
                return _is_text
            case "boolean":
                return _is_boolean
            case "number":
                return _is_number
            case _:
                return _is_anything

    def _of_object(self, schema: Schema, *, is_empty: bool = False) -> Checker:
        """An object without fields is one if *is_empty*, and else a value of any kind."""
        others = schema.get("additionalProperties")
        properties: dict[str, Schema] = schema.get("properties") or {}
        if isinstance(others, dict):
            return _map_of(self.of_schema(cast("Schema", others)))
        if not properties and not is_empty:
            return _is_anything
        return _object_with({name: self.of_schema(one) for name, one in properties.items()})


def _object_with(fields: dict[str, Checker]) -> Checker:
    # Most fields are texts and booleans: of those the class says all, without a call.
    classes = {name: _CLASSES[one] for name, one in fields.items() if one in _CLASSES}
    class_of, find = classes.get, fields.get

    def check(value: Any, nulls: Nulls) -> bool:
        if value.__class__ is not dict:
            return value is None
        for name, part in value.items():
            if class_of(name) is not part.__class__:
                is_right = find(name)
                if is_right is None or not is_right(part, nulls):
                    return False
                if part is None:
                    nulls.append(value)
        return True

    return check


def _map_of(is_right: Checker) -> Checker:
    def check(value: Any, nulls: Nulls) -> bool:
        if value.__class__ is not dict:
            return value is None
        if None in value.values():
            nulls.append(value)
        return all(map(is_right, value.values(), repeat(nulls)))

    return check


def _list_of(is_right: Checker) -> Checker:
    def check(value: Any, nulls: Nulls) -> bool:
        if value.__class__ is not list:
            return value is None
        return all(map(is_right, value, repeat(nulls)))

    return check


def _is_text(value: Any, nulls: Nulls) -> bool:
    return value.__class__ is str or value is None


def _is_boolean(value: Any, nulls: Nulls) -> bool:
    return value.__class__ is bool or value is None


def _is_int32(value: Any, nulls: Nulls) -> bool:
    return value is None or (value.__class__ is int and -0x8000_0000 <= value <= 0x7FFF_FFFF)


def _is_int64(value: Any, nulls: Nulls) -> bool:
    return value is None or (value.__class__ is int and value in INT64)


def _is_number(value: Any, nulls: Nulls) -> bool:
    return value is None or value.__class__ is int or value.__class__ is float


def _is_int_or_string(value: Any, nulls: Nulls) -> bool:
    return value.__class__ is str or _is_int32(value, nulls)


def _is_quantity(value: Any, nulls: Nulls) -> bool:
    if value is None:
        return True
    try:
        parse(value)
    except QuantityError:
        return False
    return True


def _is_time(value: Any, nulls: Nulls) -> bool:
    return value is None or (value.__class__ is str and _is_timestamp(value))


@lru_cache(maxsize=4096)
def _is_timestamp(text: str) -> bool:
    """Whether this is a moment as RFC 3339 writes it."""
    if _RFC3339.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _is_anything(value: Any, nulls: Nulls) -> bool:
    note_nulls(value, nulls)
    return True


def note_nulls(value: Any, nulls: Nulls) -> None:
    """Note the objects in *value*, of whatever kind it is, that have fields which are null."""
    if value.__class__ is dict:
        if None in value.values():
            nulls.append(value)
        value = value.values()
    elif value.__class__ is not list:
        return
    for part in value:
        if part.__class__ is dict or part.__class__ is list:
            note_nulls(part, nulls)


def _is_left_out(value: Any, nulls: Nulls) -> bool:
    return True


_CLASSES: Final[dict[Checker, type]] = {_is_text: str, _is_boolean: bool}
# Checkers of values that can be written in more than one way, or whose text has a form.
SPECIAL: Final[dict[str, Checker]] = {
    INT_OR_STRING: _is_int_or_string,
    QUANTITY: _is_quantity,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": _is_time,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": _is_time,
    # In managed fields, which are large, have no values, and are not kept.
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": _is_left_out,
}

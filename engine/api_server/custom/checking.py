"""What is wrong with an object by its structural schema, in an API server's words.

The library jsonschema checks it: what OpenAPI and Kubernetes say otherwise than JSON Schema is
translated before. Upstream: apiextensions-apiserver pkg/apiserver/validation/validation.go and
schema/listtype/validation.go; kube-openapi pkg/validation/errors/schema.go.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Final, cast
from urllib.parse import urlsplit
from uuid import UUID

from engine.api_server.validation.report import invalid_value, unsupported
from engine.objects.custom.definition import CustomVersion
from engine.objects.documents import Path, show_path
from engine.objects.values.patterns import PatternError, is_match

Schema = Mapping[str, Any]

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
# By the word of a schema, what is said of a value that does not keep to it.
_SENTENCES: Final[Mapping[str, str]] = {
    "pattern": "should match '{}'",
    "multipleOf": "should be a multiple of {}",
    "minLength": "should be at least {} chars long",
    "minItems": "should have at least {} items",
    "minProperties": "should have at least {} properties",
    "uniqueItems": "shouldn't contain duplicates",
}
_COMBINED: Final[Mapping[str, str]] = {
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf). Found none valid",
    "not": "must not validate the schema (not)",
}


def schema_errors(version: CustomVersion, manifest: Mapping[str, Any]) -> list[str]:
    """What is wrong with an object of *version*, each as "field: message"."""
    if not version.schema:
        return []
    found: list[str] = []
    errors = sorted(_validator(version).iter_errors(manifest), key=_place)
    for error in errors:
        found += _worded(error)
    found += _repeated(version.schema, manifest, ())
    return [*dict.fromkeys(found)]


def _place(error: Any) -> list[str]:
    return [str(part) for part in error.absolute_path]


@lru_cache(maxsize=256)
def _validator(version: CustomVersion) -> Any:
    # Imported by the first object: most runs have none.
    from jsonschema import Draft4Validator, FormatChecker, validators

    checker = FormatChecker(formats=())
    for name, check in _FORMATS.items():
        checker.checks(name, raises=(ValueError, TypeError))(check)
    types = Draft4Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    extended: Any = validators
    words = {"pattern": _pattern, "multipleOf": _multiple_of}
    kind = extended.extend(Draft4Validator, words, type_checker=types)
    return kind(_translated(version.schema), format_checker=checker)


def _is_integer(checker: Any, value: Any) -> bool:
    is_whole = isinstance(value, float) and value.is_integer()
    return is_whole or (isinstance(value, int) and not isinstance(value, bool))


def _pattern(validator: Any, pattern: str, value: Any, schema: Schema) -> Iterator[Any]:
    """The library's own check follows Python's syntax, and may take for ever."""
    from jsonschema import ValidationError

    try:
        is_right = not isinstance(value, str) or is_match(pattern, value)
    except PatternError as error:
        # Of a definition that was stored when nobody checked patterns.
        yield ValidationError(str(error))
        return
    if not is_right:
        yield ValidationError("another text")


def _multiple_of(validator: Any, factor: float, value: Any, schema: Schema) -> Iterator[Any]:
    """The library's own check, for factors and numbers with which it can reckon."""
    from jsonschema import Draft4Validator, ValidationError

    if not validator.is_type(value, "number"):
        return
    try:
        usual: Any = Draft4Validator.VALIDATORS["multipleOf"]
        yield from usual(validator, factor, value, schema) or ()
    except ArithmeticError:
        yield ValidationError("no multiple")


# -- OpenAPI's schema as one of JSON Schema ------------------------------------------------------

_KEPT: Final = frozenset(
    ("enum", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength")
    + ("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum")
    + ("multipleOf", "pattern", "required", "uniqueItems")
)


def _translated(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {name: part for name, part in schema.items() if name in _KEPT}
    kind: Any = schema.get("type")
    kinds = ["integer", "string"] if schema.get(_INT_OR_STRING) else [kind] if kind else []
    if kinds:
        found["type"] = [*kinds, "null"] if schema.get("nullable") else kinds
    if schema.get("nullable") and "enum" in found:
        found["enum"] = [*found["enum"], None]
    if not found.get("required", True):
        del found["required"]  # An empty one, which Draft 4 does not know.
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: _translated(one) for name, one in schema["properties"].items()}
    for name in ("items", "not"):
        if isinstance(schema.get(name), dict):
            found[name] = _translated(schema[name])
    others: Any = schema.get("additionalProperties")
    if isinstance(others, dict):
        found["additionalProperties"] = _translated(cast("Schema", others))
    for name in ("allOf", "anyOf", "oneOf"):
        if schema.get(name):
            found[name] = [_translated(one) for one in schema[name]]
    return found


# -- its errors in upstream's words --------------------------------------------------------------


def _worded(error: Any) -> Iterator[str]:
    path: Path = tuple(error.absolute_path)
    name, word, wanted, value = (
        show_path(path),
        error.validator,
        error.validator_value,
        error.instance,
    )
    shown = name or "<nil>"
    match word:
        case "required":
            for missing in wanted:
                if missing not in value:
                    yield f"{show_path((*path, missing))}: Required value"
        case "enum":
            allowed = [one if isinstance(one, str) else json.dumps(one) for one in wanted]
            yield f"{shown}: {unsupported(value, allowed)}"
        case "type":
            kinds = [one for one in wanted if one != "null"]
            found, text = _type_of(value), f"{name} in body must be of type {','.join(kinds)}"
            yield f'{shown}: Invalid value: "{found}": {text}: "{found}"'
        case "format":
            text = f"{name} in body must be of type {wanted}: {json.dumps(value)}"
            yield f"{shown}: {invalid_value(value, text)}"
        case "maxLength":
            yield f"{shown}: Too long: may not be more than {wanted} bytes"
        case "maxItems" | "maxProperties":
            yield f"{shown}: Too many: {len(value)}: must have at most {wanted} items"
        case "minimum" | "maximum":
            is_exclusive = error.schema.get(f"exclusive{word.capitalize()}")
            side = "greater" if word == "minimum" else "less"
            text = f"should be {side} than {'' if is_exclusive else 'or equal to '}{wanted}"
            yield f"{shown}: {invalid_value(value, f'{name} in body {text}')}"
        case "anyOf" | "oneOf" | "not":
            text = f'"{name}" {_COMBINED[word]}'
            yield f"{shown}: {invalid_value(value, text)}"
        case _:
            text = _SENTENCES.get(str(word), str(error.message)).format(wanted)
            yield f"{shown}: {invalid_value(value, f'{name} in body {text}')}"


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(value.__class__, "object")


# -- lists that are sets or maps -----------------------------------------------------------------


def _repeated(schema: Schema, value: Any, path: Path) -> Iterator[str]:
    """Items that a list has twice which may have each but once."""
    if isinstance(value, dict):
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        others: Any = schema.get("additionalProperties")
        for name, part in cast("dict[str, Any]", value).items():
            inner = properties.get(name, others)
            if isinstance(inner, dict) and isinstance(part, (dict, list)):
                yield from _repeated(cast("Schema", inner), part, (*path, name))
    elif isinstance(value, list):
        given = cast("list[Any]", value)
        inner: Any = schema.get("items")
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        kind, seen = schema.get("x-kubernetes-list-type"), set[str]()
        for place, item in enumerate(given):
            item_keys: Any = item if kind == "set" else None
            if kind == "map" and isinstance(item, dict):
                mapping = cast("dict[str, Any]", item)
                item_keys = {key: mapping[key] for key in keys if key in mapping}
            if item_keys is not None:
                text = json.dumps(item_keys, sort_keys=True, separators=(",", ":"))
                if text in seen:
                    yield f"{show_path((*path, place))}: Duplicate value: {text}"
                seen.add(text)
            if isinstance(inner, dict):
                yield from _repeated(cast("Schema", inner), item, (*path, place))


# -- formats -------------------------------------------------------------------------------------


def _text(check: Callable[[str], object]) -> Callable[[Any], bool]:
    """A check of texts: any other value has the format, as its type is checked elsewhere."""

    def checked(value: Any) -> bool:
        if isinstance(value, str):
            check(value)
        return True

    return checked


def _decoded(value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _moment(value: str) -> None:
    if datetime.fromisoformat(value).tzinfo is None or "T" not in value.upper():
        raise ValueError("a moment has a time zone")


def _address(value: str) -> None:
    if not urlsplit(value).scheme and not value.startswith("/"):
        raise ValueError("no URI")


# Upstream: pkg/apiserver/validation/formats.go, of which those of texts that are no free form.
_FORMATS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "byte": _text(_decoded),
    "cidr": _text(lambda value: ip_network(value, strict=False)),
    "date": _text(date.fromisoformat),
    "date-time": _text(_moment),
    "datetime": _text(_moment),
    "ipv4": _text(IPv4Address),
    "ipv6": _text(IPv6Address),
    "uri": _text(_address),
    "uuid": _text(UUID),
}

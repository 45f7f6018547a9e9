"""What a server cannot read as an object of its kind: values of another form than the field has.

Upstream: sigs.k8s.io/json, UnmarshalTypeError; apimachinery/pkg/api/resource/quantity.go,
ParseQuantity().
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kscope.sim.objects import quantity
from kube.openapi.definitions import Schema, definition_of, followed
from kube.resources import Resource
from kube.status import ApiError, bad_request

_QUANTITY = "Quantity"
_WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$'"
)
_FORMAT = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)", re.ASCII)
_SCALARS = {"boolean": "bool", "integer": "int32", "number": "float64", "string": "string"}


def decoding_problem(resource: Resource, manifest: Mapping[str, Any]) -> str:
    """Why *manifest* cannot be read as an object of *resource*; "" when it can be."""
    name = definition_of(resource.api_version, resource.kind)
    return next(_problems({"$ref": name}, manifest, (), ""), "")


def undecodable(resource: Resource, problem: str) -> ApiError:
    """What such an object is answered with."""
    kind = resource.kind
    return bad_request(
        f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {problem}'
    )


def _problems(schema: Schema, value: Any, path: tuple[str, ...], struct: str) -> Iterator[str]:
    """*struct* has the field *path*. Items of lists and values of maps do not count as fields."""
    if value is None:
        return
    name = _name(schema)
    schema = followed(schema)
    if name == _QUANTITY:
        if why := _quantity_problem(value):
            yield why
        return
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    match schema.get("type"), value:
        case "object", Mapping() if properties:
            for field, one in value.items():
                if field in properties:
                    yield from _problems(properties[field], one, (*path, field), name)
        case "object", Mapping() if isinstance(others, Mapping):
            for one in value.values():
                yield from _problems(dict(others), one, path, struct)
        case "array", list():
            for one in value:
                yield from _problems(schema.get("items") or {}, one, path, struct)
        case "object", _ if not isinstance(value, Mapping) and (properties or others):
            yield _mismatch(schema, name, value, path, struct)
        case "array", _:
            yield _mismatch(schema, name, value, path, struct)
        case kind, Mapping() | list() if kind in _SCALARS:
            yield _mismatch(schema, name, value, path, struct)
        case _:
            pass


def _mismatch(schema: Schema, name: str, value: Any, path: tuple[str, ...], struct: str) -> str:
    place = f"Go struct field {struct}.{'.'.join(path)}" if path else "Go value"
    wanted = f"v1.{name}" if name else _go_type(schema)
    return f"json: cannot unmarshal {_found(value)} into {place} of type {wanted}"


def _go_type(schema: Schema) -> str:
    if name := _name(schema):
        return f"v1.{name}"
    match schema.get("type"):
        case "array":
            return f"[]{_go_type(schema.get('items') or {})}"
        case "object":
            others = schema.get("additionalProperties")
            of_others = dict(others) if isinstance(others, Mapping) else {}
            is_amounts = _name(of_others) == _QUANTITY
            return "v1.ResourceList" if is_amounts else f"map[string]{_go_type(of_others)}"
        case kind:
            return str(schema.get("format") or _SCALARS.get(str(kind), "interface {}"))


def _name(schema: Schema) -> str:
    """The type that the schema refers to: "PodSpec"; "" when it is written out."""
    return str(schema.get("$ref") or "").rpartition(".")[2]


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _quantity_problem(value: Any) -> str:
    try:
        quantity.parse(value)
    except quantity.QuantityError as problem:
        text = problem.text if isinstance(problem.text, str) else ""
        found = _FORMAT.fullmatch(text)
        if found is None:
            return _WRONG_FORMAT
        has_digits = any(one.isdecimal() for one in found[1])
        why = "quantity's suffix" if has_digits else "numeric part of quantity"
        return f"unable to parse {why}"
    return ""

"""What a server cannot read as an object of its kind: values of another type than the field has.

Upstream: sigs.k8s.io/json, UnmarshalTypeError; apimachinery/pkg/api/resource/quantity.go,
ParseQuantity(); apimachinery/pkg/apis/meta/v1/time.go, UnmarshalJSON().
"""

import re
from collections.abc import Mapping
from typing import Any

from engine.objects.custom.structural import unknown_fields
from engine.objects.openapi.definitions import NEWEST, Schema
from engine.objects.openapi.fields import check_as
from engine.objects.openapi.findings import Findings, UnknownField, WrongType, type_name
from engine.objects.values import quantity
from kube.resources import Resource
from kube.status import ApiError, bad_request

_QUANTITY = "Quantity"
_WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$'"
)
_FORMAT = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)", re.ASCII)
_SCALARS = {"boolean": "bool", "integer": "int64", "number": "float64", "string": "string"}
# How the types of moments are written.
_LAYOUTS = {
    "MicroTime": "2006-01-02T15:04:05.000000Z07:00",
    "Time": "2006-01-02T15:04:05Z07:00",
}


def fields_of(resource: Resource, manifest: dict[str, Any], version: str = NEWEST) -> Findings:
    """What is wrong with the fields of an object of *resource*, in that version of Kubernetes."""
    if resource.custom is not None:
        name = resource.definition_name(resource.written_kind)
        found = unknown_fields(resource.custom.schema, manifest) if resource.custom.schema else []
        return Findings(version, name, unknown=tuple(UnknownField(path, name) for path in found))
    return check_as(resource.api_version, resource.kind, manifest, version)


def decoding_problem(found: Findings) -> str:
    """Why an object cannot be read as one of its kind; "" when it can be."""
    return _problem(found.wrong[0]) if found.wrong else ""


def undecodable(resource: Resource, problem: str) -> ApiError:
    """The answer to such an object."""
    kind = resource.written_kind
    return bad_request(
        f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {problem}'
    )


def _problem(wrong: WrongType) -> str:
    value, name = wrong.value, type_name(wrong.schema)
    if name == _QUANTITY:
        return _quantity_problem(value)
    if name in _LAYOUTS and isinstance(value, str):
        layout = _LAYOUTS[name]
        return f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
    is_by_its_own = name in _OWN
    place = f"Go struct field {wrong.struct}.{'.'.join(wrong.fields)}"
    place = place if wrong.fields and not is_by_its_own else "Go value"
    wanted = _OWN.get(name) or _go_type(wrong.schema)
    return f"json: cannot unmarshal {_found(value, wanted)} into {place} of type {wanted}"


# Types that read themselves, and do not know in which field they stand.
_OWN = {"IntOrString": "int32", "MicroTime": "string", "Time": "string"}


def _go_type(schema: Schema) -> str:
    if name := type_name(schema):
        return f"v1.{name}"
    match schema.get("type"):
        case "array":
            return f"[]{_go_type(schema.get('items') or {})}"
        case "object":
            others = schema.get("additionalProperties")
            of_others = dict(others) if isinstance(others, Mapping) else {}
            is_amounts = type_name(of_others) == _QUANTITY
            return "v1.ResourceList" if is_amounts else f"map[string]{_go_type(of_others)}"
        case kind:
            found = schema.get("format") or _SCALARS.get(str(kind), "interface {}")
            return "[]uint8" if found == "byte" else str(found)


def _found(value: Any, wanted: str) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        # The message quotes a number that is out of range or not an integer.
        return f"number {value}" if wanted in ("int32", "int64") else "number"
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

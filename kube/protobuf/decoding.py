"""A message of Kubernetes as the manifest that its JSON would be.

Upstream: apimachinery/pkg/runtime/serializer/protobuf; the messages are those of proto2 as gogo
writes them, in which only pointers can be absent, so that a zero elsewhere means nothing.
"""

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from engine.objects.openapi.names import kept_version

MAGIC = b"k8s\x00"
_DEEPEST = 64
# Structs that Go embeds, whose fields JSON has beside those around them.
_EMBEDDED = frozenset(
    {
        "admissionregistration.v1.Rule",
        "admissionregistration.v1.RuleWithOperations",
        "core.v1.EphemeralContainerCommon",
        "core.v1.LocalObjectReference",
        "core.v1.PersistentVolumeSource",
        "core.v1.ProbeHandler",
        "core.v1.VolumeSource",
        "networking.v1.IngressRuleValue",
        "resource.v1.DeviceConfiguration",
    }
)
_EMBEDDING = frozenset({"handler", "localObjectReference", "ephemeralContainerCommon"}) | {
    "deviceConfiguration",
    "ingressRuleValue",
    "persistentVolumeSource",
    "rule",
    "ruleWithOperations",
    "volumeSource",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NotProtobuf(ValueError):
    """The bytes are no message of Kubernetes, or one of a kind that is not served."""


class _Field(NamedTuple):
    name: str
    kind: str
    type: str


@cache
def _messages() -> dict[str, dict[int, _Field]]:
    """For each message its fields by number."""
    text = (files("kube.protobuf") / "fields.txt").read_text()
    found: dict[str, dict[int, _Field]] = {}
    for line in text.splitlines():
        message, *fields = line.split(" ")
        by_number = found[message] = {}
        for field in fields:
            name, _, rest = field.partition("=")
            digits = len(rest) - len(rest.lstrip("0123456789"))
            by_number[int(rest[:digits])] = _Field(name, rest[digits], rest[digits + 1 :])
    return found


def decoded(content: bytes) -> dict[str, Any]:
    """The manifest of a runtime.Unknown with its four bytes in front. Raises NotProtobuf."""
    if not content.startswith(MAGIC):
        raise NotProtobuf("it does not begin as a Kubernetes protobuf message does")
    try:
        unknown = {number: value for number, _, value in _values(memoryview(content)[len(MAGIC) :])}
        meant = _message("runtime.TypeMeta", unknown.get(1, b""), 0)
        api_version, kind = meant.get("apiVersion", ""), meant.get("kind", "")
        name = _message_name(api_version, kind)
        return {"kind": kind, "apiVersion": api_version, **_message(name, unknown[2], 0)}
    except NotProtobuf:
        raise
    except (IndexError, KeyError, ValueError, TypeError, OverflowError) as problem:
        raise NotProtobuf(f"the message is damaged: {problem}") from problem


def _message_name(api_version: str, kind: str) -> str:
    group, _, version = kept_version(api_version, kind).rpartition("/")
    # Options of a request are in the group of what they are sent to.
    place = "meta" if kind == "DeleteOptions" else group.partition(".")[0] or "core"
    name = f"{place}.{'v1' if place == 'meta' else version}.{kind}"
    if name not in _messages():
        raise NotProtobuf(f"{api_version}, {kind} is not served")
    return name


def _values(content: Any) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field."""
    place, end = 0, len(content)
    while place < end:
        tag, place = _varint(content, place)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, place = _varint(content, place)
        elif wire == 2:
            length, place = _varint(content, place)
            if place + length > end:
                raise NotProtobuf("a field is longer than its message")
            value, place = content[place : place + length], place + length
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            value, place = content[place : place + length], place + length
        else:
            raise NotProtobuf(f"there is no wire type {wire}")
        yield number, wire, value


def _varint(content: Any, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > 63:
            raise NotProtobuf("a number is longer than 64 bits")


def _message(name: str, content: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise NotProtobuf(f"messages are nested more than {_DEEPEST} deep")
    special = _SPECIAL.get(name)
    if special is not None:
        return special(content)
    if name in _OR_SCHEMA:
        return _or_schema(_by_number(content), _OR_SCHEMA[name], depth)
    fields = _messages()[name]
    found: dict[str, Any] = {}
    for number, _, raw in _values(content):
        field = fields.get(number)
        if field is None:
            continue  # of a newer version
        if field.kind == "%":
            key, value = _entry(field.type, raw, depth)
            found.setdefault(field.name, {})[key] = value
            continue
        value = _value(field.type, raw, depth)
        if field.kind == "*":
            found.setdefault(field.name, []).append(value)
        elif field.name in _EMBEDDING and field.type in _EMBEDDED:
            found |= value
        elif field.kind == "?" or value not in ("", 0, None, {}):
            found[field.name] = value
    return found


def _entry(type: str, raw: Any, depth: int) -> tuple[str, Any]:
    parts = {number: value for number, _, value in _values(raw)}
    key = _value("string", parts.get(1, b""), depth)
    return key, _value(type, parts.get(2, b""), depth)


def _value(type: str, raw: Any, depth: int) -> Any:
    match type:
        case "string":
            return bytes(raw).decode()
        case "bytes":
            return base64.b64encode(bytes(raw)).decode()
        case "bool":
            return bool(raw)
        case "int32" | "int64":
            return raw - (1 << 64) if raw >> 63 else raw
        case "double":
            return _number(raw)
        case _:
            return _message(type, raw, depth + 1)


def _number(raw: Any) -> int | float:
    found: float = struct.unpack("<d", bytes(raw))[0]
    return int(found) if found.is_integer() else found


def _or_schema(parts: dict[int, Any], other: int, depth: int) -> Any:
    """A schema, or what else may stand in its place: true or false, or several of them."""
    schema = "apiextensions.v1.JSONSchemaProps"
    number = _SCHEMA_NUMBER[other]
    if number in parts:
        return _message(schema, parts[number], depth + 1)
    return bool(parts.get(other)) if other == _ALLOWS else []


def _by_number(content: Any) -> dict[int, Any]:
    return {number: value for number, _, value in _values(content)}


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _quantity(content: Any) -> str:
    return bytes(_by_number(content).get(1, b"")).decode()


def _int_or_string(content: Any) -> int | str:
    parts = _by_number(content)
    return bytes(parts.get(3, b"")).decode() if parts.get(1) else _signed(parts.get(2, 0))


def _time(content: Any) -> str | None:
    """A time in whole seconds; None for the zero time, which JSON leaves out."""
    moment = _moment(content)
    return f"{_date(moment)}T{moment:%H:%M:%SZ}" if moment else None


def _micro_time(content: Any) -> str | None:
    moment = _moment(content)
    return f"{_date(moment)}T{moment:%H:%M:%S.%fZ}" if moment else None


def _date(moment: datetime) -> str:
    """With a year of four digits, which strftime does not pad."""
    return f"{moment.year:04d}-{moment:%m-%d}"


def _moment(content: Any) -> datetime | None:
    parts = _by_number(content)
    if not parts:
        return None
    nanoseconds = _signed(parts.get(2, 0))
    return _EPOCH + timedelta(seconds=_signed(parts.get(1, 0)), microseconds=nanoseconds // 1000)


def _raw(content: Any) -> Any:
    """A value that is JSON within the message."""
    text = bytes(_by_number(content).get(1, b""))
    return orjson.loads(text) if text else None


def _items(content: Any) -> list[str]:
    return [bytes(value).decode() for number, _, value in _values(content) if number == 1]


# What stands in a schema's place, by the number of the other field, and that of the schema.
_ALLOWS, _SCHEMAS = 1, 2
_SCHEMA_NUMBER = {_ALLOWS: 2, _SCHEMAS: 1}
_OR_SCHEMA = {
    "apiextensions.v1.JSONSchemaPropsOrArray": _SCHEMAS,
    "apiextensions.v1.JSONSchemaPropsOrBool": _ALLOWS,
}
_SPECIAL = {
    "apiextensions.v1.JSON": _raw,
    "authentication.v1.ExtraValue": _items,
    "authorization.v1.ExtraValue": _items,
    "intstr.IntOrString": _int_or_string,
    "meta.v1.FieldsV1": _raw,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.Time": _time,
    "resource.Quantity": _quantity,
    "runtime.RawExtension": _raw,
}

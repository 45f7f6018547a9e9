"""An OpenAPI document of version 2 as protobuf, by the schema of gnostic.

Every kubectl reads this form. Only what such a document of ours contains is written. Upstream:
google/gnostic, openapiv2/OpenAPIv2.proto, whose field numbers these are.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

Schema = Mapping[str, Any]

_VARINT, _BYTES = 0, 2
# Of a Schema message.
_TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4}
_OPERATIONS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def document_bytes(document: Schema) -> bytes:
    """The document as a message openapi.v2.Document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(
        _message(2, _named(path, _path_item(item))) for path, item in document["paths"].items()
    )
    definitions = b"".join(
        _message(1, _named(name, _schema(schema)))
        for name, schema in document["definitions"].items()
    )
    return (
        _text(1, document["swagger"])
        + _message(2, info)
        + _message(8, paths)
        + _message(9, definitions)
    )


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _true(field: int) -> bytes:
    return _varint(field << 3 | _VARINT) + b"\1"


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _message(2, value)


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return _text(2, orjson.dumps(value).decode())


def _extensions(field: int, schema: Schema) -> bytes:
    return b"".join(
        _message(field, _named(name, _any(value)))
        for name, value in schema.items()
        if name.startswith("x-")
    )


def _schema(schema: Schema) -> bytes:
    found = [_text(field, schema[name]) for name, field in _TEXTS.items() if name in schema]
    if "default" in schema:
        found.append(_message(5, _any(schema["default"])))
    found += [_text(19, name) for name in schema.get("required") or ()]
    found += [_message(20, _any(value)) for value in schema.get("enum") or ()]
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        found.append(_message(21, _message(1, _schema(additional))))
    if "type" in schema:
        found.append(_message(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), Mapping):
        found.append(_message(23, _message(1, _schema(schema["items"]))))
    if schema.get("properties"):
        found.append(_message(25, _properties(schema["properties"].items())))
    return b"".join(found) + _extensions(31, schema)


def _properties(named: Iterable[tuple[str, Schema]]) -> bytes:
    return b"".join(_message(1, _named(name, _schema(schema))) for name, schema in named)


def _path_item(item: Schema) -> bytes:
    return b"".join(
        _message(_OPERATIONS[name], _operation(operation)) for name, operation in item.items()
    )


def _operation(operation: Schema) -> bytes:
    found = [_text(7, media_type) for media_type in operation.get("consumes") or ()]
    found += [_message(8, _message(1, _parameter(one))) for one in operation["parameters"]]
    responses = b"".join(
        _message(1, _named(code, _message(1, _response(one))))
        for code, one in operation["responses"].items()
    )
    return b"".join(found) + _message(9, responses) + _extensions(13, operation)


def _parameter(one: Schema) -> bytes:
    if one["in"] == "body":
        body = _text(2, one["name"]) + _text(3, "body") + _true(4)
        return _message(1, body + _message(5, _schema(one["schema"])))
    query = _text(2, "query") + _text(4, one["name"]) + _text(6, one["type"])
    return _message(2, _message(3, query))


def _response(one: Schema) -> bytes:
    # A SchemaItem, which is a schema or a file.
    return _text(1, one["description"]) + _message(2, _message(1, _schema(one["schema"])))

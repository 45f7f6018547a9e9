"""What CEL sees of an object of a custom kind: the fields of its schema, and their values.

Upstream: apiserver/pkg/cel/common/{schemas,values}.go, apiserver/pkg/cel/escaping.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from engine.kernel.units import SECOND
from engine.objects.cel.programs import placed
from engine.objects.cel.rewriting import closing
from engine.objects.manifest_parts import section
from engine.objects.values.cel_text import Token, comprehension_at, tokens_of
from engine.objects.values.durations import parse_duration

Schema = Mapping[str, Any]

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_TEXT: Final[Schema] = {"type": "string"}
_METADATA: Final[Schema] = {
    "type": "object",
    "properties": {"name": _TEXT, "generateName": _TEXT},
}
# A type of which CEL knows nothing.
_DYNAMIC: Final[Schema] = {_INT_OR_STRING: True}
_NAME: Final = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)
_RESERVED: Final = frozenset(
    ("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function")
    + ("if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")
)
_SIGNS: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_MICROSECOND: Final = SECOND // 1_000_000


def with_root_fields(schema: Schema) -> Schema:
    """The schema of a whole object, with the fields that every object has for CEL.

    Upstream: pkg/apiserver/schema/cel/model/schemas.go, WithTypeAndObjectMeta().
    """
    known = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
    return {**schema, "type": "object", "properties": {**(schema.get("properties") or {}), **known}}


def escaped(name: str) -> str | None:
    """A field's name as expressions write it; None for one that they cannot write."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return re.sub(r"__|[./-]", lambda found: _SIGNS[found.group()], name)


def fields_of(schema: Schema) -> dict[str, Schema]:
    """The schemas of the fields that expressions can name, by their escaped names."""
    whole = with_root_fields(schema) if schema.get(_EMBEDDED) else schema
    properties: Mapping[str, Schema] = whole.get("properties") or {}
    found = {escaped(name): inner for name, inner in properties.items() if is_shown(inner)}
    return {name: inner for name, inner in found.items() if name is not None}


def is_shown(schema: Schema) -> bool:
    """Whether a schema has a type in CEL. Upstream: SchemaDeclType(), which returns nil."""
    kind = schema.get("type")
    if schema.get(_INT_OR_STRING) or schema.get(_EMBEDDED):
        return True
    if kind == "array":
        return is_shown(schema.get("items") or {})
    others: Any = schema.get("additionalProperties")
    if kind == "object" and isinstance(others, dict):
        return is_shown(cast("Schema", others))
    return bool(kind)


def shown_value(schema: Schema, value: Any) -> Any:
    """*value* as expressions see it."""
    if value is None or schema.get(_INT_OR_STRING):
        return value
    if isinstance(value, dict):
        return _shown_object(schema, cast("dict[str, Any]", value))
    if isinstance(value, list):
        inner: Schema = schema.get("items") or {}
        return [shown_value(inner, one) for one in cast("list[Any]", value)]
    kind = schema.get("type")
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "integer" and isinstance(value, float):
        return int(value)
    if isinstance(value, str) and schema.get("format"):
        try:
            return _of_format(str(schema["format"]), value)
        except (ValueError, binascii.Error):
            return value
    return value


def _shown_object(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    others: Any = schema.get("additionalProperties")
    if isinstance(others, dict):
        inner = cast("Schema", others)
        return {name: shown_value(inner, one) for name, one in value.items()}
    whole = with_root_fields(schema) if schema.get(_EMBEDDED) else schema
    found: dict[str, Any] = {}
    for name, inner in section(whole, "properties").items():
        written = escaped(name)
        if name in value and written is not None and is_shown(inner):
            found[written] = shown_value(inner, value[name])
    return found


def _of_format(name: str, text: str) -> Any:
    """Upstream: UnstructuredToVal(), of formats that are types of CEL."""
    match name:
        case "byte":
            return base64.b64decode(text, validate=True)
        case "date":
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        case "date-time":
            return datetime.fromisoformat(text)
        case "duration":
            return timedelta(microseconds=parse_duration(text) / _MICROSECOND)
        case _:
            return text


def most_elements_of(value: Any) -> int:
    """The length of the longest list or map in a value, and of texts a part."""
    most, left = 1, [value]
    while left:
        one: Any = left.pop()
        if isinstance(one, dict):
            parts = cast("dict[str, Any]", one)
            most = max(most, len(parts))
            left += parts.values()
        elif isinstance(one, list):
            most = max(most, len(cast("list[Any]", one)))
            left += cast("list[Any]", one)
        elif isinstance(one, str):
            most = max(most, len(one) // 100)
    return most


# -- the names in an expression -------------------------------------------------------------------


class _Variable(NamedTuple):
    """A variable with its schema, and the places among the tokens between which it is known."""

    name: str
    schema: Schema
    first: int
    last: int


def name_fault(expression: str, schema: Schema, variables: Sequence[str]) -> str | None:
    """What cel-go says of a field that *schema* does not have, of the first of them; or None.

    Looked at are the *variables*, which are of that schema, and the elements of their lists and
    maps; what a function returns is not.
    """
    tokens = tokens_of(expression)
    known = [_Variable(name, schema, 0, len(tokens)) for name in variables]
    for place, token in enumerate(tokens):
        if token.kind != "word" or (place and tokens[place - 1].text in ".?"):
            continue
        found = [one for one in known if one.name == token.text and one.first <= place <= one.last]
        if not found:
            continue
        end, inner, fault = _followed(tokens, place, found[-1].schema)
        if fault is not None:
            return placed(expression, tokens[end].start, fault)
        if inner is not None and end + 3 < len(tokens) and comprehension_at(tokens, end + 2):
            element = _element(inner)
            last = closing(tokens, end + 3)
            known.append(_Variable(tokens[end + 4].text, element, end + 4, last))
    return None


def type_of(expression: str, schema: Schema) -> str | None:
    """The type of an expression that is only a field of `self`, or a literal; None for others."""
    tokens = tokens_of(expression)
    if len(tokens) == 1 and tokens[0].kind in ("text", "number"):
        return "string" if tokens[0].kind == "text" else "integer"
    if not tokens or tokens[0].text != "self":
        return _of_operators(tokens)
    end, inner, fault = _followed(tokens, 0, schema)
    if end + 1 < len(tokens) or fault is not None or inner is None:
        return _of_operators(tokens)
    return None if inner.get(_INT_OR_STRING) else str(inner.get("type") or "") or None


def _of_operators(tokens: Sequence[Token]) -> str | None:
    """ "number" where an expression adds or multiplies, outside of brackets, and compares nothing."""
    depth, signs = 0, set[str]()
    for token in tokens:
        depth -= token.text in ")]}"
        if depth == 0:
            signs.add(token.text)
        depth += token.text in "([{"
    compares = {"&&", "||", "!", "=", "<", ">", "in", "?"}
    return "number" if signs & {"+", "*", "/", "%"} and not signs & compares else None


def _followed(
    tokens: Sequence[Token], place: int, schema: Schema
) -> tuple[int, Schema | None, str | None]:
    """The last token of the fields that follow a variable, their schema, and what is wrong there."""
    inner: Schema | None = schema
    while inner is not None and place + 2 < len(tokens):
        sign, name = tokens[place + 1].text, tokens[place + 2]
        is_call = place + 3 < len(tokens) and tokens[place + 3].text == "("
        if sign == "[":
            if name.text == "?":
                return place, None, None
            inner, place = _at_index(inner), closing(tokens, place + 1)
        elif sign == "." and name.kind == "word" and not is_call:
            below, fault = _at_field(inner, name.text)
            if fault is not None:
                return place + 1, None, fault
            inner, place = below, place + 2
        else:
            break
    return place, inner, None


def _at_field(schema: Schema, name: str) -> tuple[Schema | None, str | None]:
    if schema.get(_INT_OR_STRING) or not (schema.get("type") or schema.get(_EMBEDDED)):
        return None, None
    others: Any = schema.get("additionalProperties")
    if isinstance(others, dict):
        return cast("Schema", others), None
    kind = schema.get("type")
    if kind not in (None, "object"):
        cel_name = {"integer": "int", "boolean": "bool", "number": "double", "array": "list"}
        return None, f"type '{cel_name.get(str(kind), kind)}' does not support field selection"
    found = fields_of(schema).get(name)
    return found, None if found is not None else f"undefined field '{name}'"


def _at_index(schema: Schema) -> Schema | None:
    inner: Any = schema.get("items") or schema.get("additionalProperties")
    return cast("Schema", inner) if isinstance(inner, dict) else None


def _element(schema: Schema) -> Schema:
    """What a comprehension goes through: the items of a list, the keys of a map."""
    if schema.get("type") == "array":
        inner: Any = schema.get("items")
        return cast("Schema", inner) if isinstance(inner, dict) else _DYNAMIC
    return _TEXT if schema.get("type") == "object" else _DYNAMIC

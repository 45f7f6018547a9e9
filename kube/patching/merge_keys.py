"""Which lists a strategic merge patch merges, and by which key: what the schemas say of it."""

from functools import cache
from typing import Any, NamedTuple

from engine.objects.openapi.definitions import definitions


class FieldRule(NamedTuple):
    """What a patch has to know of a field.

    `content` is the definition of its value, of the items of a list, or of the values of a map; ""
    for plain values. `key` is the field that distinguishes the items of a merged list.
    """

    content: str = ""
    merges: bool = False
    key: str = ""


_PLAIN = FieldRule()


class FieldRules:
    """The rules of all fields, by definition; those of plain values are left out."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, FieldRule]] = {}
        for name, schema in definitions().items():
            properties: dict[str, Any] = schema.get("properties") or {}
            rules = {field: _rule(one) for field, one in properties.items()}
            self._fields[name] = {field: one for field, one in rules.items() if one != _PLAIN}

    def of(self, definition: str, field: str) -> FieldRule:
        """The rule of one field."""
        return self._fields.get(definition, {}).get(field, _PLAIN)


@cache
def field_rules() -> FieldRules:
    """The rules, read once."""
    return FieldRules()


def _rule(schema: dict[str, Any]) -> FieldRule:
    strategies = str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
    inner = schema.get("items") or schema.get("additionalProperties")
    refers = schema.get("$ref") or (inner.get("$ref") if isinstance(inner, dict) else "") or ""
    return FieldRule(
        content=str(refers).rpartition("/")[2],
        merges="merge" in strategies,
        key=str(schema.get("x-kubernetes-patch-merge-key", "")),
    )

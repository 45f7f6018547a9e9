"""What is wrong with a value that its checker does not pass: wrong types and unknown fields.

Upstream: sigs.k8s.io/json, UnmarshalTypeError and the strict errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from engine.objects.documents import Path
from engine.objects.openapi.checkers import INT32, INT64, OPAQUE, SPECIAL, Nulls, checker_of
from engine.objects.openapi.definitions import Definitions, Schema, definitions


@dataclass(frozen=True, slots=True)
class WrongType:
    """A value of another type than its field has.

    `schema` is that of the field, `struct` the name of the definition that has it (PodSpec), and
    `fields` its path in Go's form, in which items of lists and keys of maps do not count.
    """

    path: Path
    value: Any
    schema: Schema
    struct: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that its object does not have; `definition` is the one of that object."""

    path: Path
    definition: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong with one object: whose definition `name` is, in the `version` that has it."""

    version: str = ""
    name: str = ""
    wrong: tuple[WrongType, ...] = ()
    unknown: tuple[UnknownField, ...] = ()

    def below(self, field: str) -> Findings:
        """The wrong types of the value of *field*, as those of the object that has it."""
        wrong = (replace(one, path=(field, *one.path)) for one in self.wrong)
        return Findings(self.version, self.name, tuple(wrong))


NOTHING: Final = Findings()


def findings(version: str, name: str, value: Any, nulls: Nulls | None = None) -> Findings:
    """What is wrong with an object of the definition *name* of *version*.

    If it is nothing, *nulls* gets the objects in it that have fields which are null.
    """
    if checker_of(version, name)(value, [] if nulls is None else nulls):
        return NOTHING
    found = list(_Walk(definitions(version)).of({"$ref": name}, value, (), "", ()))
    wrong = tuple(each for each in found if isinstance(each, WrongType))
    unknown = tuple(each for each in found if isinstance(each, UnknownField))
    return Findings(version, name, wrong, unknown)


def type_name(schema: Schema) -> str:
    """The type that the schema refers to: "PodSpec"; "" when it is written out."""
    return str(schema.get("$ref") or "").rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Walk:
    known: Definitions

    def of(
        self, schema: Schema, value: Any, path: Path, struct: str, fields: tuple[str, ...]
    ) -> Iterator[WrongType | UnknownField]:
        """What is wrong with *value* at *path*. A null field counts as absent."""
        if value is None:
            return
        reference = str(schema.get("$ref") or "").rpartition("/")[2]
        meant = self.known.get(reference, {}) if reference else schema
        kind = meant.get("type")
        if not _is_of_type(reference, meant, value):
            # A reference tells the type in upstream's words; else the schema does.
            named = {**meant, "$ref": reference} if reference else meant
            yield WrongType(path, value, named, struct, fields)
        elif kind == "object" and isinstance(value, dict):
            parts = cast("dict[str, Any]", value)
            yield from self._of_object(reference, meant, parts, path, struct, fields)
        elif kind == "array" and isinstance(value, list):
            for place, item in enumerate(cast("list[Any]", value)):
                yield from self.of(meant.get("items") or {}, item, (*path, place), struct, fields)

    def _of_object(
        self,
        reference: str,
        meant: Schema,
        value: dict[str, Any],
        path: Path,
        struct: str,
        fields: tuple[str, ...],
    ) -> Iterator[WrongType | UnknownField]:
        others: Any = meant.get("additionalProperties")
        properties: dict[str, Schema] = meant.get("properties") or {}
        if isinstance(others, dict):
            for name, part in value.items():
                yield from self.of(cast("Schema", others), part, (*path, name), struct, fields)
        elif properties or (reference and reference not in OPAQUE):
            inner = reference.rpartition(".")[2] or struct
            for name, part in value.items():
                field = properties.get(name)
                if field is None:
                    yield UnknownField((*path, name), reference)
                else:
                    yield from self.of(field, part, (*path, name), inner, (*fields, name))


def _is_of_type(reference: str, meant: Schema, value: Any) -> bool:
    """Whether the value itself, without what is in it, is of its type."""
    special = SPECIAL.get(reference)
    if special is not None:
        return special(value, [])
    is_free = not meant.get("properties") and not meant.get("additionalProperties")
    match meant.get("type"):
        case "object":
            is_opaque = is_free and (not reference or reference in OPAQUE)
            return is_opaque or isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "integer":
            return _is_integer(value, INT32 if meant.get("format") == "int32" else INT64)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return True


def _is_integer(value: Any, span: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in span

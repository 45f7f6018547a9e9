"""How the values of a field are put together: which lists are maps by a key, which are one value.

Said by the OpenAPI definitions: x-kubernetes-list-type, -list-map-keys and -map-type, and for lists
without these the strategy of strategic merge patches. Upstream: kube-openapi/pkg/schemaconv.
"""

from collections.abc import Mapping
from enum import Enum
from functools import cache, lru_cache
from typing import Any

from engine.objects.custom.definition import CustomVersion
from engine.objects.openapi.definitions import (
    INT_OR_STRING,
    QUANTITY,
    Definitions,
    Schema,
    definitions,
)
from kube.apply.fields import field, item_equal_to, item_with
from kube.resources import Resource

# The defaults of keys, which the definitions leave out. Upstream: "+default" in core/v1/types.go.
_KEY_DEFAULTS = {"protocol": "TCP"}
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TEXT: Schema = {"type": "string"}
_PRESERVED = "x-kubernetes-preserve-unknown-fields"


class Form(Enum):
    """What a value is made of."""

    SCALAR = "scalar"
    MAP = "map"
    LIST = "list"


class Shape:
    """The form of a field's values.

    `form` is None for values of any form. An atomic value is managed as a whole. `keys` tell the
    items of a list apart; a list without keys that is not atomic is a set of plain values.
    """

    __slots__ = ("_fields", "_items", "_met", "_schemas", "form", "is_atomic", "keys", "scalar")

    def __init__(self, schemas: "Schemas", schema: Schema) -> None:
        self._schemas = schemas
        self._fields: Mapping[str, Schema] = schema.get("properties") or {}
        inner = schema.get("items") or schema.get("additionalProperties")
        self._items: Schema | None = inner if isinstance(inner, dict) else None
        is_open = bool(schema.get(_PRESERVED))
        if is_open and self._fields and self._items is None:
            self._items = {"type": "object"}
        # Of the fields that the schema names, as far as they were asked for.
        self._met: dict[str, tuple[str, Shape]] = {}
        self.scalar: str = ""
        self.keys: tuple[str, ...] = ()
        self.is_atomic = False
        match schema.get("type"):
            case "array":
                self.form: Form | None = Form.LIST
                self.is_atomic, self.keys = _relation(schema)
            case "object" if self._fields or self._items is not None:
                self.form = Form.MAP
                self.is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
            case "object":
                self.form = None
            case None if is_open:
                self.form = None
            case scalar:
                self.form = Form.SCALAR
                self.scalar = str(scalar or "")

    def form_of(self, value: Any) -> Form:
        """The form that *value* has here; null has the one that the schema says."""
        if isinstance(value, dict):
            actual = Form.MAP
        elif isinstance(value, list):
            actual = Form.LIST
        elif value is None:
            actual = self.form or Form.MAP
        else:
            actual = Form.SCALAR
        return actual

    def is_whole(self, form: Form) -> bool:
        """Whether values of this form are managed as a whole."""
        if self.form is None:
            return form is not Form.MAP
        return form is Form.SCALAR or form is not self.form or self.is_atomic

    def has_field(self, name: str) -> bool:
        """Whether the schema names such a field."""
        return name in self._fields

    def knows(self, name: str) -> bool:
        """Whether there may be such a field."""
        return self.form is None or name in self._fields or self._items is not None

    def of_field(self, name: str) -> "Shape":
        """The shape of the values of a field, or of a map's value."""
        return self.step(name)[1]

    def step(self, name: str) -> "tuple[str, Shape]":
        """The path element of a field, or of a map's value, and the shape of its values."""
        met = self._met.get(name)
        if met is not None:
            return met
        if name not in self._fields:
            return field(name), self.of_items
        found = self._met[name] = field(name), self._schemas.shape(self._fields[name])
        return found

    @property
    def of_items(self) -> "Shape":
        """The shape of a list's items."""
        return self._schemas.any_shape if self._items is None else self._schemas.shape(self._items)

    def element(self, item: Any) -> str:
        """The path element for an item of a list that is not atomic. Raises ValueError."""
        if not self.keys:
            return _element_of_set(item)
        if item is None:
            raise ValueError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise ValueError("associative list with keys may not have non-map elements")
        found = {
            key: item.get(key, _KEY_DEFAULTS.get(key))
            for key in self.keys
            if key in item or key in _KEY_DEFAULTS
        }
        if not found:
            keys = " ".join(f'"{key}"' for key in self.keys)
            raise ValueError(
                f"associative list with keys has an element that omits all key fields [{keys}] "
                "(and doesn't have default values for any key fields)"
            )
        return item_with(found)


class Schemas:
    """The shapes of all fields of some definitions."""

    def __init__(self, known: Definitions) -> None:
        self._known = known
        # By the identity of a schema, all of which stay alive in the definitions.
        self._shapes: dict[int, Shape] = {}
        self.any_shape = Shape(self, {"type": "object"})

    def named(self, definition: str) -> Shape:
        """The shape of the objects of a definition."""
        return self.shape(self._known[definition])

    def shape(self, schema: Schema) -> Shape:
        """The shape that a schema describes."""
        found = self._shapes.get(id(schema))
        if found is None:
            found = self._shapes[id(schema)] = Shape(self, self._followed(schema))
        return found

    def _followed(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        if not reference:
            return schema
        name = reference.rpartition("/")[2]
        meant = self._followed(self._known.get(name, {}))
        if "type" not in meant and name not in (INT_OR_STRING, QUANTITY):
            # Any value: a default in the schema of a custom kind, or a schema in its place.
            meant = {**meant, _PRESERVED: True}
        # What stands beside the reference wins.
        return {**meant, **schema}


def shape_of(resource: Resource) -> Shape:
    """The shape of the objects of a served kind."""
    if resource.custom is not None:
        return _custom_shape(resource.custom)
    return _served().named(resource.definition_name(resource.kind))


@lru_cache(maxsize=256)
def _custom_shape(version: CustomVersion) -> Shape:
    schema = version.schema or {"type": "object", _PRESERVED: True}
    own = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"$ref": _METADATA}}
    fields = {**(schema.get("properties") or {}), **own}
    name = f"{version.api_version}/{version.definition.kind}"
    return Schemas({**definitions(), name: {**schema, "properties": fields}}).named(name)


@cache
def _served() -> Schemas:
    return Schemas(definitions())


def _relation(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is atomic, and its keys."""
    kind = schema.get("x-kubernetes-list-type")
    if kind is not None:
        return kind == "atomic", tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if "merge" in str(schema.get("x-kubernetes-patch-strategy", "")).split(","):
        key = schema.get("x-kubernetes-patch-merge-key")
        return False, (key,) if key else ()
    return True, ()


def _element_of_set(item: Any) -> str:
    if isinstance(item, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return item_equal_to(item)

"""The types of upstream's cases, written as OpenAPI schemas."""

from engine.objects.openapi.definitions import Schema
from kube.apply.schemas import Schemas, Shape

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}


def fields(**properties: Schema) -> Schema:
    """An object with these fields."""
    return {"type": "object", "properties": properties}


def values(schema: Schema) -> Schema:
    """A map."""
    return {"type": "object", "additionalProperties": schema}


def keyed(items: Schema, *keys: str) -> Schema:
    """A list whose items are told apart by keys."""
    return _array(items, "map") | {"x-kubernetes-list-map-keys": list(keys)}


def a_set(items: Schema) -> Schema:
    """A list of different plain values."""
    return _array(items, "set")


def atomic(items: Schema) -> Schema:
    """A list that is managed as a whole."""
    return _array(items, "atomic")


def _array(items: Schema, kind: str) -> Schema:
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind}


def shape(schema: Schema) -> Shape:
    return Schemas({"type": schema}).named("type")


ELEMENT = fields(key=TEXT, id=NUMBER, value=values(TEXT), bv=FLAG, nv=NUMBER)
# Upstream: typed/merge_test.go, "associative list".
ASSOCIATIVE = shape(fields(list=keyed(ELEMENT, "key", "id"), atomicList=atomic(TEXT)))
# Upstream: merge/nested_test.go, merge/set_test.go, merge/multiple_appliers_test.go.
NESTED = shape(
    fields(
        list=keyed(fields(name=TEXT, value=NUMBER), "name"),
        set=a_set(TEXT),
        whole=atomic(TEXT),
        listOfLists=keyed(fields(name=TEXT, value=a_set(TEXT)), "name"),
        mapOfMaps=values(values(TEXT)),
        struct=fields(name=TEXT, value=NUMBER),
    )
)

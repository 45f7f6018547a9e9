"""The OpenAPI description of an answer that is a dataclass of plain values."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: dict[object, type[Field]] = {
    int: serializers.IntegerField,
    str: serializers.CharField,
    bool: serializers.BooleanField,
    Any: serializers.JSONField,
}


def answer_schema(kind: type, prefix: str, **more: Field) -> Field:
    """An object with the fields of dataclass *kind*, and *more*; names of parts begin with *prefix*.

    Raises TypeError for a field that is no plain value.
    """
    return inline_serializer(f"{prefix}{kind.__name__}", {**more, **_fields_of(kind, prefix)})


def _fields_of(kind: type, prefix: str) -> dict[str, Field]:
    hints = get_type_hints(kind)
    return {one.name: _field(hints[one.name], prefix) for one in fields(kind)}


def _field(hint: Any, prefix: str, **options: Any) -> Field:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = [one for one in arguments if one is not NoneType]
        return _field(inner, prefix, allow_null=True)
    if origin is Literal:
        return serializers.ChoiceField([*arguments], **options)
    if origin is tuple:
        return _list_of(arguments[0], prefix, options)
    if origin in (Mapping, dict):
        return serializers.DictField(child=_field(arguments[1], prefix), **options)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return inline_serializer(f"{prefix}{hint.__name__}", _fields_of(hint, prefix), **options)
    if hint is str:
        return serializers.CharField(allow_blank=True, **options)
    if hint not in _PLAIN:
        raise TypeError(f"a field of type {hint} cannot be described")
    return _PLAIN[hint](**options)


def _list_of(hint: Any, prefix: str, options: dict[str, Any]) -> Field:
    if is_dataclass(hint):
        assert isinstance(hint, type)
        described = _fields_of(hint, prefix)
        return inline_serializer(f"{prefix}{hint.__name__}", described, many=True, **options)
    return serializers.ListField(child=_field(hint, prefix), **options)

"""The OpenAPI description of an answer that is a dataclass or a TypedDict of plain values."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from rest_framework import serializers

from engine.kernel.sentences import Sentence

Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: dict[object, type[Field]] = {
    int: serializers.IntegerField,
    bool: serializers.BooleanField,
    float: serializers.FloatField,
    Any: serializers.JSONField,
}


def answer_schema(kind: type, prefix: str, **more: Field) -> Field:
    """An object with *more* fields and those of *kind*, a dataclass or TypedDict; its parts are named *prefix*….

    Raises TypeError for a field that is no plain value.
    """
    return _serializer(kind, prefix, more)()


def _serializer(kind: type, prefix: str, more: Mapping[str, Field]) -> type[Field]:
    hints = get_type_hints(kind)
    described = {name: _field(hint, prefix) for name, hint in hints.items()}
    return type(f"{prefix}{kind.__name__}", (serializers.Serializer,), {**more, **described})


@cache
def _part(kind: type, prefix: str) -> type[Field]:
    """One class for each dataclass, however often it is a part: the description names it once."""
    return _serializer(kind, prefix, {})


def _field(hint: Any, prefix: str, **options: Any) -> Field:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = [one for one in arguments if one is not NoneType]
        return _field(inner, prefix, allow_null=True)
    if origin is Literal:
        return serializers.ChoiceField([*arguments], **options)
    if origin in (tuple, list) and _is_object(arguments[0]):
        return _field(arguments[0], prefix, many=True, **options)
    if origin in (tuple, list):
        return serializers.ListField(child=_field(arguments[0], prefix), **options)
    if origin in (Mapping, dict):
        return serializers.DictField(child=_field(arguments[1], prefix), **options)
    if _is_object(hint):
        return _part(hint, prefix)(**options)
    if hint in (str, Sentence):
        return serializers.CharField(allow_blank=True, **options)
    if hint not in _PLAIN:
        raise TypeError(f"a field of type {hint} cannot be described")
    return _PLAIN[hint](**options)


def _is_object(hint: Any) -> bool:
    return is_typeddict(hint) or (isinstance(hint, type) and is_dataclass(hint))

"""The OpenAPI description of an answer that is a dataclass or a TypedDict of plain values."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from rest_framework import serializers

from engine.kernel.sentences import Sentence
from kscope.runs.web.shapes.open import OpenField

Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: dict[object, type[Field]] = {
    int: serializers.IntegerField,
    bool: serializers.BooleanField,
    float: serializers.FloatField,
    Any: serializers.JSONField,
}


def answer_schema(kind: type, prefix: str = "", **more: Field) -> Field:
    """An object with *more* fields and those of *kind*, a dataclass or TypedDict; its parts are named *prefix*….

    A text below a field of the class is its description. A hint may say by Annotated which field of
    rest_framework stands for it. Raises TypeError for a field that is no plain value.
    """
    return _serializer(kind, prefix, more)()


def answer_class(kind: type, prefix: str = "") -> type[serializers.Serializer]:
    """The same as a class: one for each type, however often it is a part, so that it is named once."""
    return _class(kind, prefix)


@cache
def _class(kind: type, prefix: str) -> type[serializers.Serializer]:
    return _serializer(kind, prefix, {})


def _serializer(kind: type, prefix: str, more: Mapping[str, Field]) -> type[serializers.Serializer]:
    hints, texts = get_type_hints(kind, include_extras=True), _texts(kind)
    described = {
        name: _field(hint, prefix, help_text=texts.get(name)) for name, hint in hints.items()
    }
    name = f"{prefix}{kind.__name__}"
    doc = (kind.__doc__ or "") if is_typeddict(kind) else ""
    return type(name, (serializers.Serializer,), {**more, **described, "__doc__": doc})


def _texts(kind: type) -> dict[str, str]:
    """The text below each field in the source of a class, and of those that it has fields from."""
    tree = _source(kind)
    if tree is None:
        return {}
    # A TypedDict does not remember what it was made from.
    names = vars(sys.modules[kind.__module__])
    bases = [names.get(base.id) for base in tree.bases if isinstance(base, ast.Name)]
    inherited = [_texts(base) for base in bases if isinstance(base, type)]
    return {name: text for one in [*inherited, _own_texts(tree)] for name, text in one.items()}


def _source(kind: type) -> ast.ClassDef | None:
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        return None
    return tree if isinstance(tree, ast.ClassDef) else None


def _own_texts(tree: ast.ClassDef) -> dict[str, str]:
    body = tree.body
    return {
        field.target.id: inspect.cleandoc(text.value.value).replace("\n", " ")
        for field, text in zip(body, body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _field(hint: Any, prefix: str, **options: Any) -> Field:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _field(arguments[0], prefix, **options, required=False)
    if origin is Annotated:
        return arguments[1](**options)
    if origin in (Union, UnionType):
        (inner,) = [one for one in arguments if one is not NoneType]
        return _field(inner, prefix, **options, allow_null=True)
    if origin is Literal:
        return serializers.ChoiceField([*arguments], allow_blank="" in arguments, **options)
    if origin in (tuple, list) and _is_object(arguments[0]):
        return _field(arguments[0], prefix, many=True, **options)
    if origin in (tuple, list):
        return serializers.ListField(child=_field(arguments[0], prefix), **options)
    if origin in (Mapping, dict) and arguments[1] is Any:
        return OpenField(**options)
    if origin in (Mapping, dict):
        return serializers.DictField(child=_field(arguments[1], prefix), **options)
    if _is_object(hint):
        return answer_class(hint, prefix)(**options)
    if hint in (str, Sentence):
        return serializers.CharField(allow_blank=True, **options)
    if hint not in _PLAIN:
        raise TypeError(f"a field of type {hint} cannot be described")
    return _PLAIN[hint](**options)


def _is_object(hint: Any) -> bool:
    return is_typeddict(hint) or (isinstance(hint, type) and is_dataclass(hint))

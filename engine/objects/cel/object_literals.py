"""Writes objects of CEL, `Object.spec{replicas: 2}` and `JSONPatch{op: "add"}`, as plain maps.

The library has no types of objects. Upstream: apiserver/pkg/cel/mutation/{typeresolver,jsonpatch}.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.objects.values.cel_text import CLOSING, OPENING, ExpressionError, Token, tokens_of

_TYPES: Final = frozenset(("Object", "JSONPatch"))
_OBJECT: Final = "object"
# `jsonpatch.escapeKey(…)`, which is a function of a library of its own.
_LIBRARY: Final = "jsonpatch"


def with_plain_objects(expression: str) -> str:
    """*expression* with a map for each object. Raises ExpressionError."""
    tokens, parts, copied = tokens_of(expression), list[str](), 0
    # What is open: an object, or another bracket.
    opened: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        begin = _begin_of_fields(tokens, place)
        if begin is not None:
            parts.append(expression[copied : token.start])
            place, copied = begin, tokens[begin].start
            opened.append(_OBJECT)
        elif _is_of_library(tokens, place):
            parts.append(expression[copied : token.start])
            place, copied = place + 1, tokens[place + 2].start
        elif token.text in OPENING:
            opened.append(token.text)
        elif token.text in CLOSING and opened:
            opened.pop()
        elif opened and opened[-1] == _OBJECT and _is_field(tokens, place):
            if tokens[place - 1].text == "?":
                raise ExpressionError("optional fields of objects are not known here")
            parts += (expression[copied : token.start], f'"{token.text}"')
            copied = token.end
        place += 1
    return "".join((*parts, expression[copied:]))


def _is_of_library(tokens: Sequence[Token], place: int) -> bool:
    """Whether a function of the library of JSON patches is called at *place*."""
    called = [token.text for token in tokens[place : place + 3]]
    is_part = place > 0 and tokens[place - 1].text == "."
    return called[:2] == [_LIBRARY, "."] and called[2:] == ["escapeKey"] and not is_part


def _begin_of_fields(tokens: Sequence[Token], place: int) -> int | None:
    """Where the brace of an object stands, whose type begins at *place*."""
    is_part = place > 0 and tokens[place - 1].text == "."
    if tokens[place].text not in _TYPES or is_part:
        return None
    end = place + 1
    while end + 1 < len(tokens) and tokens[end].text == "." and tokens[end + 1].kind == "word":
        end += 2
    return end if end < len(tokens) and tokens[end].text == "{" else None


def _is_field(tokens: Sequence[Token], place: int) -> bool:
    is_name = tokens[place].kind == "word" and place + 1 < len(tokens)
    return is_name and tokens[place + 1].text == ":" and tokens[place - 1].text in ("{", ",", "?")

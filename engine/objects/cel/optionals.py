"""Writes optional fields and indexes, `.?name` and `[?key]`, as calls: the library lacks them.

Upstream: cel-go cel/library.go, OptionalTypes(); after an optional field each further field is one.
"""

from __future__ import annotations

from typing import Any, Final, cast

from engine.objects.cel.rewriting import begin_of_operand, closing
from engine.objects.values.cel_text import OPENING, ExpressionError, Token, text_between, tokens_of

# The function below, in expressions.
OPTIONAL: Final = "optional_field"
_MOST: Final = 64


def with_optional_calls(expression: str) -> str:
    """*expression* with a call for each optional field or index. Raises ExpressionError."""
    for _ in range(_MOST):
        tokens = tokens_of(expression)
        place = _first(tokens)
        if place is None:
            return expression
        expression = _written(expression, tokens, place)
    raise ExpressionError("too many optional fields")


def optional_field(value: Any, key: Any) -> Any:
    """The value at *key* of a map, a list or of an optional one, as an optional value."""
    from cel import OptionalValue

    if isinstance(value, OptionalValue):
        if not value.has_value():
            return value
        value = value.value()
    if isinstance(value, dict):
        found = cast("dict[Any, Any]", value)
        return OptionalValue.of(found[key]) if key in found else OptionalValue.none()
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        given = cast("list[Any]", value)
        return OptionalValue.of(given[key]) if 0 <= key < len(given) else OptionalValue.none()
    raise TypeError("no such overload")


def _first(tokens: list[Token]) -> int | None:
    """Where the first `.?` or `[?` begins, as a place among the tokens."""
    for place in range(1, len(tokens) - 2):
        sign, mark = tokens[place], tokens[place + 1]
        if sign.text in (".", "[") and mark.text == "?" and sign.end == mark.start:
            return place
    return None


def _written(expression: str, tokens: list[Token], place: int) -> str:
    first = begin_of_operand(tokens, place - 1)
    found = text_between(expression, tokens[first:place])
    if tokens[place].text == "[":
        end = closing(tokens, place)
        found = f"{OPTIONAL}({found}, {text_between(expression, tokens[place + 2 : end])})"
    else:
        end = place + 2
        found = f'{OPTIONAL}({found}, "{tokens[end].text}")'
    while end + 2 < len(tokens):
        sign, name = tokens[end + 1], tokens[end + 2]
        is_call = end + 3 < len(tokens) and tokens[end + 3].text == "("
        if sign.text == "." and name.kind == "word" and not is_call:
            found, end = f'{OPTIONAL}({found}, "{name.text}")', end + 2
        elif sign.text == "[" and name.text != "?":
            last = closing(tokens, end + 1)
            key = text_between(expression, tokens[end + 2 : last])
            found, end = f"{OPTIONAL}({found}, {key})", last
        else:
            break
    assert tokens[end].text not in OPENING
    return f"{expression[: tokens[first].start]}{found}{expression[tokens[end].end :]}"

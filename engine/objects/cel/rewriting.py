"""Writes expressions so that the CEL library does with them what upstream's does.

The library ends `exists` and `all` at the first element for which the condition fails, where
upstream goes on: the error counts only if no other element decides. And it lets the negation of
the least integer be that integer. Upstream: cel-go common/ast and parser/macro.go
(@not_strictly_false), common/types/overflow.go negateInt64Checked().
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.objects.values.cel_text import (
    CLOSING,
    OPENING,
    ExpressionError,
    Token,
    arguments_of,
    comprehension_at,
    most_elements,
    text_between,
    tokens_of,
)

# The function of `functions` that looks at the result of a negation.
CHECKED: Final = "checked_negation"
# The name of a list while its elements are looked at one by one; no user's is likely to be this.
_ELEMENTS: Final = "elements__"
# An expression that takes more characters stays as it is.
_LONGEST: Final = 100_000
_OPERANDS: Final = frozenset(("word", "number", "text"))


def with_checked_negations(expression: str) -> str:
    """*expression* with a look at the result of each negation of what is no literal."""
    tokens = tokens_of(expression)
    # Text before a negation keeps its place when the negation is rewritten.
    for place in range(len(tokens) - 1, -1, -1):
        if not _is_negation(tokens, place) or _is_negation(tokens, place - 1):
            continue
        first = place
        while tokens[first].text == "-" and first + 1 < len(tokens):
            first += 1
        if (first - place) % 2 == 0 or tokens[first].kind == "number":
            continue
        start, end = tokens[place].start, tokens[_end_of_operand(tokens, first)].end
        checked = f"{CHECKED}({expression[start:end]})"
        expression = f"{expression[:start]}{checked}{expression[end:]}"
        tokens = tokens_of(expression)
    return expression


def with_absorbed_errors(expression: str) -> str | None:
    """*expression* in which each `exists` and `all` tries every element; None if it is too long.

    Each element has a comprehension of its own, joined by || or &&, which absorb errors.
    """
    tokens = tokens_of(expression)
    most = most_elements(tokens)
    for place in range(len(tokens) - 1, -1, -1):
        macro = comprehension_at(tokens, place)
        if macro not in ("exists", "all"):
            continue
        try:
            (variable, condition), end = arguments_of(tokens, place + 2)
        except (ExpressionError, ValueError):
            return None
        first = begin_of_operand(tokens, place - 2)
        receiver = text_between(expression, tokens[first : place - 1])
        name, body = variable[0].text, text_between(expression, condition)
        if most * (len(body) + len(receiver)) > _LONGEST:
            return None
        start, after = tokens[first].start, tokens[end].end
        written = _each(macro, receiver, name, body, most)
        expression = f"{expression[:start]}{written}{expression[after:]}"
        if len(expression) > _LONGEST:
            return None
        tokens = tokens_of(expression)
    return expression


def _each(macro: str, receiver: str, name: str, body: str, most: int) -> str:
    beyond, joined = (
        ("size({0}) > {1} && ", " || ")
        if macro == "exists"
        else (
            "size({0}) <= {1} || ",
            " && ",
        )
    )
    one_by_one = joined.join(
        f"({beyond.format(_ELEMENTS, n)}[{_ELEMENTS}[{n}]].{macro}({name}, {body}))"
        for n in range(most)
    )
    # The keys of a map come in another order each time: they are listed once.
    return f"[{receiver}.map({name}, {name})].{macro}({_ELEMENTS}, {one_by_one})"


def _is_negation(tokens: Sequence[Token], place: int) -> bool:
    if place < 0 or tokens[place].text != "-":
        return False
    return place == 0 or not _ends_operand(tokens[place - 1])


def _ends_operand(token: Token) -> bool:
    return (token.kind in _OPERANDS and token.text != "in") or token.text in CLOSING


def _end_of_operand(tokens: Sequence[Token], place: int) -> int:
    """The last token of the operand that begins at *place*, with its fields, calls and indexes."""
    if tokens[place].text in OPENING:
        place = closing(tokens, place)
    while place + 1 < len(tokens):
        following = tokens[place + 1].text
        if following == "." and place + 2 < len(tokens):
            place += 2
        elif following in ("(", "["):
            place = closing(tokens, place + 1)
        else:
            break
    return place


def begin_of_operand(tokens: Sequence[Token], place: int) -> int:
    """The first token of the operand that ends at *place*."""
    while place > 0:
        if tokens[place].text in CLOSING:
            place = _opening(tokens, place)
            if place and tokens[place].text != "{" and _ends_operand(tokens[place - 1]):
                # The value before it is called, or indexed.
                place -= 1
                continue
        if place < 2 or tokens[place - 1].text != ".":
            break
        place -= 2
    return place


def closing(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for at in range(place, len(tokens)):
        depth += (tokens[at].text in OPENING) - (tokens[at].text in CLOSING)
        if depth == 0:
            return at
    return len(tokens) - 1


def _opening(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for at in range(place, -1, -1):
        depth += (tokens[at].text in CLOSING) - (tokens[at].text in OPENING)
        if depth == 0:
            return at
    return 0

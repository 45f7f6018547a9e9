"""What the text of a CEL expression shows: whether it compiles, and how long it may run.

The library that evaluates expressions cannot be interrupted, so an expression that may run for
long is refused where the API server refuses it, before it is stored. cel.bind is written out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

# Upstream: resource/v1 CELSelectorExpressionMaxLength, in bytes.
LONGEST_EXPRESSION: Final = 10 * 1024
# A step is about a microsecond. Upstream's limit, CELSelectorExpressionMaxCost, counts otherwise.
MOST_STEPS: Final = 50_000

# What a device has at most of attributes and capacities, and one more.
# Upstream: ResourceSliceMaxAttributesAndCapacitiesPerDevice.
_DEVICE_VALUES: Final = 33
# Each of these evaluates its body once for every element. Upstream: CEL's macros.
_COMPREHENSIONS: Final = frozenset(("all", "exists", "exists_one", "map", "filter"))
# The library copies the list so far for each element of the result.
_COPIES: Final = {"map": 5, "filter": 5}
# Steps to compile a regular expression, and for each character that a repetition stands for: \\w
# and \\pL are long lists of characters.
_PATTERN, _UNKNOWN_PATTERN = 100, 20_000
_CHARACTER, _LISTED_CHARACTER = 30, 1_000
_LISTED: Final = re.compile(r"\\[wWdDpP]")
_REPETITION: Final = re.compile(r"\{(\d*)(?:,(\d*))?\}")
# So many characters are written in one step.
_CHARACTERS: Final = 100
_TOO_MANY: Final = 10**9
_MOST_BINDS: Final = 64
_LONGEST_WRITTEN_OUT: Final = 2 * LONGEST_EXPRESSION

_TOKEN: Final = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<sign>&&|\|\||[^\s])""",
    re.DOTALL,
)
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")


# What the library raises where an expression cannot be compiled, or evaluated.
CEL_ERRORS: Final = (
    ArithmeticError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)


# What an expression may begin with: the device, types, and libraries that have a name.
_KNOWN_NAMES: Final = frozenset(
    (
        *("device", "bool", "bytes", "double", "duration", "dyn", "int", "list", "map"),
        *("null_type", "string", "timestamp", "type", "uint", "google", "net", "optional"),
        *("math", "strings", "sets", "lists", "base64", "cel"),
    )
)


Result = TypeVar("Result")


def called(function: Callable[..., Result], *arguments: object) -> Result:
    """What a function of the library returns.

    Raises RuntimeError where the library, which is written in Rust, panics: that is no Exception.
    Upstream: cel-go, program.Eval() returns "internal error".
    """
    try:
        return function(*arguments)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("internal error") from None


class ExpressionError(ValueError):
    """The text of an expression shows that it cannot be compiled."""


class Token(NamedTuple):
    """A word, a number, a text or a sign, with its place in the expression."""

    kind: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=256)
def expression_fault(expression: str) -> str | None:
    """Why an expression is refused; None if it is not.

    Upstream: apis/resource/validation validateCELSelector(). Types and the names of functions are
    not checked: a newer cluster's expression may use what the library lacks.
    """
    if len(expression.encode()) > LONGEST_EXPRESSION:
        return f"may not be more than {LONGEST_EXPRESSION} bytes"
    try:
        steps = most_steps(without_bind(expression))
    except ExpressionError as error:
        return f"compilation failed: {error}"
    if steps > MOST_STEPS:
        return "too complex, exceeds cost limit"
    return _compile_fault(without_bind(expression))


def _compile_fault(expression: str) -> str | None:
    # Imported by the first expression: the library brings its command line with it, which costs
    # every process a third of a second.
    import cel

    try:
        program = called(cel.compile, expression)
    except CEL_ERRORS as error:
        return f"compilation failed: {error}"
    known = _KNOWN_NAMES | variables_of_comprehensions(expression)
    unknown = [name for name in sorted(program.variables()) if name not in known]
    if unknown:
        return f"compilation failed: undeclared reference to '{unknown[0]}' (in container '')"
    return None


def variables_of_comprehensions(expression: str) -> frozenset[str]:
    """The names that comprehensions give to the elements of what they go through."""
    tokens = tokens_of(expression)
    return frozenset(
        tokens[place + 2].text
        for place in range(len(tokens) - 2)
        if comprehension_at(tokens, place) and tokens[place + 1].text == "("
    )


def without_bind(expression: str) -> str:
    """*expression* with each cel.bind(name, value, body) written out, which the library lacks.

    Raises:
        ExpressionError: a cel.bind is not one, or what it stands for is too long.
    """
    for _ in range(_MOST_BINDS):
        tokens = tokens_of(expression)
        begin = _first_bind(tokens)
        if begin is None:
            return expression
        arguments, end = arguments_of(tokens, begin + 4)
        if len(arguments) != 3 or not all(arguments):
            raise ExpressionError("cel.bind takes three arguments")
        name, value = arguments[0][0].text, text_between(expression, arguments[1])
        body = _replaced(expression, arguments[2], name, f"({value})")
        start, after = tokens[begin].start, tokens[end].end
        expression = f"{expression[:start]}({body}){expression[after:]}"
        if len(expression) > _LONGEST_WRITTEN_OUT:
            break
    raise ExpressionError("what cel.bind stands for is too long")


def most_steps(expression: str, most: int = _DEVICE_VALUES) -> int:
    """How many steps one evaluation takes at most, by a coarse estimate; at most a billion.

    *most* is how many elements a value has that the expression is given.
    """
    tokens = tokens_of(expression)
    elements = most_elements(tokens, most)
    steps = 0
    times = [1]
    opens_body: str | None = None
    for place, token in enumerate(tokens):
        steps += times[-1] * _steps_of(tokens, place, elements)
        if token.text in OPENING:
            inner = elements * _COPIES.get(opens_body, 1) if opens_body else 1
            times.append(min(times[-1] * inner, _TOO_MANY))
        elif token.text in CLOSING and len(times) > 1:
            times.pop()
        opens_body = comprehension_at(tokens, place)
        if steps >= _TOO_MANY:
            return _TOO_MANY
    return steps


def most_elements(tokens: Sequence[Token], most: int = _DEVICE_VALUES) -> int:
    """How many elements, or characters, a value of the expression may have.

    A text that is added to itself in a `map` doubles each time, as its result may be the list of
    another; what takes the place of a part of a text may make every character that long.
    """
    words = [token.text for token in tokens if token.kind == "word"]
    longest = max((len(token.text) for token in tokens if token.kind == "text"), default=0)
    elements = most + sum(token.text == "," for token in tokens)
    if "split" in words:
        elements += longest
    for word in words:
        if word in ("replace", "join") and elements < _TOO_MANY:
            elements *= most + longest
    additions = sum(token.text == "+" for token in tokens)
    if "map" in words:
        elements <<= min(additions, 40)
    elif not _COMPREHENSIONS.isdisjoint(words):
        elements *= 1 + additions
    return min(elements, _TOO_MANY)


def _steps_of(tokens: Sequence[Token], place: int, elements: int) -> int:
    """The steps of one token by itself."""
    token = tokens[place]
    if token.kind != "word" or token.text not in ("matches", "replace", "join"):
        return 1
    if token.text != "matches":
        # Texts may grow outside of comprehensions too.
        return max(1, elements // _CHARACTERS)
    pattern = tokens[place + 2] if place + 2 < len(tokens) else None
    if pattern is None or pattern.kind != "text":
        return _UNKNOWN_PATTERN
    repeated = 1
    for least, most in _REPETITION.findall(pattern.text):
        repeated = min(repeated * max(int(least or 0), int(most or 0), 1), _TOO_MANY)
    each = _LISTED_CHARACTER if _LISTED.search(pattern.text) else _CHARACTER
    return _PATTERN + (each * repeated if repeated > 1 else len(pattern.text))


def comprehension_at(tokens: Sequence[Token], place: int) -> str | None:
    """The comprehension of which the token at *place* is the name, after a dot."""
    name = tokens[place].text
    return name if name in _COMPREHENSIONS and place and tokens[place - 1].text == "." else None


def _first_bind(tokens: Sequence[Token]) -> int | None:
    """Where the first cel.bind( begins, as a place among the tokens."""
    texts = [token.text for token in tokens]
    for place in range(len(texts) - 3):
        if texts[place : place + 4] == ["cel", ".", "bind", "("]:
            return place
    return None


def arguments_of(tokens: Sequence[Token], first: int) -> tuple[list[list[Token]], int]:
    """The arguments of a call, *first* after its parenthesis, and the place where it closes."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for place in range(first, len(tokens)):
        text = tokens[place].text
        if depth == 0 and text in CLOSING:
            return arguments, place
        if depth == 0 and text == ",":
            arguments.append([])
            continue
        depth += (text in OPENING) - (text in CLOSING)
        arguments[-1].append(tokens[place])
    raise ExpressionError("cel.bind is not closed")


def text_between(expression: str, tokens: Sequence[Token]) -> str:
    """The part of *expression* that *tokens* are, which follow each other."""
    return expression[tokens[0].start : tokens[-1].end]


def _replaced(expression: str, tokens: Sequence[Token], name: str, value: str) -> str:
    """The text of *tokens* with *value* for each variable of that name."""
    parts: list[str] = []
    copied = tokens[0].start
    for place, token in enumerate(tokens):
        is_field = place > 0 and tokens[place - 1].text == "."
        is_call = place + 1 < len(tokens) and tokens[place + 1].text == "("
        if token.kind == "word" and token.text == name and not is_field and not is_call:
            parts += (expression[copied : token.start], value)
            copied = token.end
    return "".join((*parts, expression[copied : tokens[-1].end]))


def tokens_of(expression: str) -> list[Token]:
    """The tokens of *expression*, without white space."""
    return [
        Token(found.lastgroup or "", found.group(), found.start(), found.end())
        for found in _TOKEN.finditer(expression)
    ]

"""Label selectors as text: "app=web,tier in (a, b),!old".

Upstream: apimachinery/pkg/labels/selector.go, Parser; its errors word for word.
"""

import re
from collections.abc import Iterable

import orjson

from engine.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, Requirement, int64
from kube.selecting.label_names import key_problems, value_problems
from kube.status import bad_request

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SIGNS = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_OPERATORS = {
    "in": IN,
    "notin": NOT_IN,
    "=": IN,
    "==": IN,
    "!=": NOT_IN,
    ">": GT,
    "<": LT,
}
_EXPECTED = "in, notin, =, ==, !=, gt, lt"
# What the parser sees after the last word.
_END = ""


def labels_selected(text: str) -> tuple[Requirement, ...]:
    """The conditions of a label selector, sorted by key. Raises ApiError for anything else."""
    try:
        return tuple(sorted(_Parser(text).requirements(), key=lambda one: one.key))
    except _Unreadable as problem:
        raise bad_request(str(problem)) from None


class _Unreadable(ValueError):
    """The text is no selector."""


class _Parser:
    """Reads a label selector word by word."""

    def __init__(self, text: str) -> None:
        self._words = _TOKEN.findall(text)
        self._place = 0

    def requirements(self) -> Iterable[Requirement]:
        """Each condition. Raises _Unreadable."""
        while self._next != _END:
            if self._next in _SIGNS and self._next != "!":
                raise _Unreadable(
                    f"found '{self._next}', expected: !, identifier, or 'end of string'"
                )
            try:
                yield self._requirement()
            except _Unreadable as problem:
                raise _Unreadable(f"unable to parse requirement: {problem}") from None
            self._end_requirement()

    def _end_requirement(self) -> None:
        word = self._take()
        if word == _END:
            return
        if word != ",":
            raise _Unreadable(f"found '{word}', expected: ',' or 'end of string'")
        if self._next == _END or (self._next in _SIGNS and self._next != "!"):
            raise _Unreadable(f"found '{self._next}', expected: identifier after ','")

    @property
    def _next(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else _END

    def _take(self) -> str:
        word = self._next
        self._place += 1
        return word

    def _requirement(self) -> Requirement:
        word = self._take()
        is_absent = word == "!"
        key = self._take() if is_absent else word
        if key == _END or key in _SIGNS:
            raise _Unreadable(f"found '{key}', expected: identifier")
        if problems := key_problems(key):
            raise _Unreadable(_invalid("<nil>", key, problems))
        if is_absent:
            return Requirement(key, DOES_NOT_EXIST)
        if self._next in (_END, ","):
            return Requirement(key, EXISTS)
        word = self._take()
        operator = _OPERATORS.get(word)
        if operator is None:
            raise _Unreadable(f"found '{word}', expected: {_EXPECTED}")
        values = self._values() if word in ("in", "notin") else (self._value(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _value(self) -> str:
        # "app=" selects the empty value.
        if self._next in (_END, ","):
            return ""
        word = self._take()
        if word in _SIGNS:
            raise _Unreadable(f"found '{word}', expected: identifier")
        return word

    def _values(self) -> tuple[str, ...]:
        word = self._take()
        if word != "(":
            raise _Unreadable(f"found '{word}' expected: '('")
        if self._next == _END or (self._next in _SIGNS and self._next not in (",", ")")):
            raise _Unreadable(f"found '{self._next}', expected: ',', ')' or identifier")
        values: dict[str, None] = {}
        while True:
            # Between two commas, or at an end, stands the empty value.
            word = "" if self._next in (",", ")") else self._take()
            if word in _SIGNS or (word == "" and self._next == _END):
                raise _Unreadable(f"found '{word}', expected: ',', or identifier")
            values[word] = None
            sign = self._take()
            if sign == ")":
                return tuple(sorted(values))
            if sign != ",":
                raise _Unreadable(f"found '{sign}', expected: ',' or ')'")


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    """Raises _Unreadable. Upstream: NewRequirement()."""
    found: list[str] = []
    for place, value in enumerate(values):
        where = f"values[{place}]"
        if operator in (GT, LT) and int64(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
            found.append(_invalid(where, value, [problem]))
    for place, value in enumerate(values):
        if problems := value_problems(value):
            found.append(_invalid(f"values[{place}][{key}]", value, problems))
    if found:
        raise _Unreadable(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _invalid(where: str, value: str, problems: list[str]) -> str:
    return f"{where}: Invalid value: {orjson.dumps(value).decode()}: {'; '.join(problems)}"

"""Regular expressions of schemas, in RE2's syntax, matched in a time that is linear in the text.

Upstream: Go's package regexp. The CEL library brings Rust's, which is alike; what it writes
otherwise is translated before. What Go says of a pattern: regexp/syntax/parse.go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from engine.objects.values.cel_text import CEL_ERRORS, called

if TYPE_CHECKING:
    import cel

# Characters of a pattern, and microseconds that the library takes to read it, which it does for
# each text. Go takes longer ones: its limit is the memory.
_LONGEST: Final = 10_000
_LARGEST: Final = 10_000
# What a character, a short list of them and one of Unicode's classes count for.
_CHARACTER, _SHORT_LIST, _UNICODE_CLASS = 1, 3, 300
# Upstream: repeatIsValid().
_MOST_REPEATED: Final = 1_000
_ANSWERS, _LONGEST_KEPT = 4_096, 256
_LONGEST_SHOWN: Final = 200

_ESCAPE: Final = (
    r"(?P<escape>\\(?:[pP](?:\{\^?\w+\}|[A-Z])|x(?:\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{2})|0[0-7]{0,2}"
    r"|[1-7][0-7]{1,2}|[^\w]|[A-Za-z_]))|(?P<no_escape>\\.?)"
)
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    rf"|{_ESCAPE}"
    r"|(?P<group>\((?:\?(?:[imsU]*(?:-[imsU]+)?:|P?<\w+>))?)(?!\?)|(?P<flags>\(\?[imsU]*(?:-[imsU]+)?\))"
    r"|(?P<no_group>\(\?.?)"
    r"|(?P<repetition>(?:\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\}|[*+?])\??)"
    r"|(?P<sign>[)\[|^$.])|(?P<other>.)",
    re.DOTALL | re.ASCII,
)
_IN_CLASS: Final = re.compile(rf"{_ESCAPE}|(?P<named>\[:\^?\w+:\])|(?P<other>.)", re.DOTALL | re.A)
# These mean ASCII alone to Go. Another escape of a letter means to Go what it means to Rust.
_ASCII: Final = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\n\f\r ]",
    "S": r"[^\t\n\f\r ]",
    "b": r"(?-u:\b)",
    "B": r"(?-u:\B)",
}
_LETTERS: Final = frozenset("AabBdDfnpPrsStvwWxz")
_ONLY_OUTSIDE: Final = frozenset("AbBz")
# What Rust's library says, and Go's.
_IN_GOS_WORDS: Final = {
    "repetition operator missing expression": "missing argument to repetition operator",
    "Unicode property not found": "invalid character class range",
}


class PatternError(ValueError):
    """A pattern that is no regular expression, in Go's words."""

    def __init__(self, why: str, part: str) -> None:
        shown = part if len(part) <= _LONGEST_SHOWN else f"{part[:_LONGEST_SHOWN]}…"
        super().__init__(f"error parsing regexp: {why}: `{shown}`")


def is_match(pattern: str, text: str) -> bool:
    """Whether *pattern* is found somewhere in *text*. Raises PatternError."""
    if len(text) <= _LONGEST_KEPT:
        return _kept_answer(pattern, text)
    return _found(pattern, _as_rust(pattern), text)


def pattern_fault(pattern: str) -> str | None:
    """Why *pattern* is no regular expression; None if it is one."""
    try:
        is_match(pattern, "")
    except PatternError as error:
        return str(error)
    return None


@lru_cache(maxsize=_ANSWERS)
def _kept_answer(pattern: str, text: str) -> bool:
    return _found(pattern, _as_rust(pattern), text)


def _found(pattern: str, written: str, text: str) -> bool:
    # Go has a sign in the place of half a character, too.
    variables = {"text": _whole(text), "pattern": _whole(written)}
    try:
        return called(_program().execute, variables) is True
    except CEL_ERRORS as error:
        # The library shows the pattern, and then says what is wrong on its last line.
        why = str(error).partition(". Check function arguments")[0].rpartition("\n")[2]
        why = why.removeprefix("error: ").rstrip(".")
        raise PatternError(_IN_GOS_WORDS.get(why, why), pattern) from None


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


@lru_cache(maxsize=1)
def _program() -> cel.Program:
    # Imported by the first pattern: the library costs a third of a second.
    import cel

    return called(cel.compile, "text.matches(pattern)")


@lru_cache(maxsize=256)
def _as_rust(pattern: str) -> str:
    if len(pattern) > _LONGEST:
        raise PatternError("expression too large", pattern)
    return _Translation(pattern).written()


class _Translation:
    """One pattern, as Rust's library writes it, with its size."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._parts: list[str] = []
        # Of each open group its size, and how often a part of it is repeated at most.
        self._groups: list[tuple[int, int]] = [(0, 1)]
        self._last = (0, 1)
        self._repetition = ""

    def written(self) -> str:
        """The pattern in Rust's syntax. Raises PatternError."""
        place = 0
        while place < len(self._pattern):
            token = _TOKEN.match(self._pattern, place)
            assert token is not None
            place = token.end()
            if token["repetition"]:
                self._repeat(token)
                continue
            self._repetition = ""
            if token["sign"] == "[":
                place = self._class(token.start())
            elif token["no_group"]:
                self._refuse("invalid or unsupported Perl syntax", token["no_group"])
            else:
                self._take(token)
        if len(self._groups) > 1:
            self._refuse("missing closing )", self._pattern)
        return "".join(self._parts)

    def _take(self, token: re.Match[str]) -> None:
        text = token.group()
        if token["quoted"] is not None:
            for char in token["quoted"]:
                self._add(f"\\x{{{ord(char):x}}}", _CHARACTER)
        elif token["group"]:
            self._groups.append((0, 1))
            self._parts.append(text)
        elif text == ")":
            if len(self._groups) == 1:
                self._refuse("unexpected )", self._pattern)
            size, times = self._groups.pop()
            self._add(text, size, times)
        elif text in "{}]":
            self._add(f"\\{text}", _CHARACTER)
        elif text.startswith("\\"):
            written, size = self._escape(token, is_inside=False)
            self._add(written, size)
        elif token["flags"] or text in "|^$":
            self._add(text, 0)
        else:
            self._add(text, _SHORT_LIST if text == "." else _CHARACTER)

    def _add(self, text: str, size: int, times: int = 1) -> None:
        self._parts.append(text)
        self._last = size, times
        self._grow(size, times)

    def _grow(self, size: int, times: int) -> None:
        before, most = self._groups[-1]
        self._groups[-1] = before + size, max(most, times)
        if self._groups[-1][0] > _LARGEST:
            self._refuse("expression too large", self._pattern)

    def _repeat(self, token: re.Match[str]) -> None:
        text = token.group()
        if self._repetition:
            self._refuse("invalid nested repetition operator", f"{self._repetition}{text}")
        self._repetition = text
        self._parts.append(text)
        if not token["least"]:
            return
        # A number of more digits than four is more than a thousand, too.
        least = int(token["least"][:5])
        most = int(token["most"][:5]) if token["most"] else least
        size, times = self._last
        if max(least, most) * times > _MOST_REPEATED or least > most:
            self._refuse("invalid repeat count", text)
        self._grow(size * max(most - 1, 0), times * max(most, 1))

    def _class(self, begin: int) -> int:
        """Take the class of characters that begins there, and return where it ends."""
        pattern = self._pattern
        place = begin + 2 if pattern.startswith("[^", begin) else begin + 1
        parts, first, size, before = [pattern[begin:place]], place, _SHORT_LIST, ""
        while not pattern.startswith("]", place) or place == first:
            token = _IN_CLASS.match(pattern, place)
            if token is None:
                self._refuse("missing closing ]", pattern[begin:])
            text = token.group()
            written = text
            if text.startswith("\\"):
                written, more = self._escape(token, is_inside=True)
                size += more
            elif text in "[]&~" or (text == before == "-"):
                # Rust has classes inside of classes, and what two of them have in common.
                written = f"\\{text}"
            parts.append(written)
            before, place = text, token.end()
            size += _CHARACTER
        self._add("".join((*parts, "]")), size)
        return place + 1

    def _escape(self, token: re.Match[str], *, is_inside: bool) -> tuple[str, int]:
        text, letter = token.group(), token.group()[1:2]
        if not letter:
            self._refuse("trailing backslash at end of expression", "")
        is_unknown = not letter.isascii() or (letter.isalpha() and letter not in _LETTERS)
        if token["no_escape"] or is_unknown or (is_inside and letter in _ONLY_OUTSIDE):
            self._refuse("invalid escape sequence", text)
        if letter in _ASCII:
            return _ASCII[letter], _SHORT_LIST
        if letter in "pP":
            return text, _UNICODE_CLASS
        if letter.isdigit():
            return f"\\x{{{int(text[1:], 8):x}}}", _CHARACTER
        if letter.isalpha():
            return text, _CHARACTER
        return f"\\x{{{ord(letter):x}}}", _CHARACTER

    def _refuse(self, why: str, part: str) -> NoReturn:
        raise PatternError(why, part)

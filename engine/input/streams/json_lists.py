"""Lists of objects in JSON, read item by item.

Where an item ends is found by its indentation: the text of a JSON string has no line breaks, so a
line that has the closing brace at the indentation of the opening one most likely ends it. If the
text up to there is a JSON value, it does: no value begins another one. Where it is not indented, or
that is not so, the scanner of the standard library finds the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from engine.input.sources.bundles import LOGS_BEGIN, LOGS_END
from engine.input.streams.pieces import ITEMS, Frame, Item, ItemTooLarge, Piece, item_too_large
from engine.input.streams.window import Window
from engine.kernel.sentences import grouped, say
from engine.objects.documents import DocumentError, Limits, json_document

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_OPENING: Final = re.compile(rb"\n([ \t]*)\Z")
_SCANNER: Final = json.JSONDecoder()
_FIRST_LOOK: Final = 4096
_LONGEST_MEMBER: Final = 1 << 20  # bytes of what stands in a list beside its items


def is_json_list(begin: bytes) -> bool:
    """Whether a file that begins so may be read item by item."""
    text = begin.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text[:1] == b"{" and _LIST.search(begin) is not None


_LIST: Final = re.compile(rb'"items"\s*:\s*\[')


@dataclass(slots=True)
class JsonLists:
    """The lists of a file, which stand one behind the other, with logs between them at most."""

    window: Window
    limits: Limits
    _document: int = 0
    _line: int = 0
    _members: dict[str, Any] = field(default_factory=dict[str, Any])
    _count: int = -1
    _length: int = _FIRST_LOOK

    def pieces(self) -> Iterator[Piece]:
        """The items of each list, then the list without them. Raises DocumentError."""
        if self.window.look(3) == b"\xef\xbb\xbf":
            self.window.take(3)
        while self._begins():
            self._document += 1
            self._line, self._members, self._count = self.window.line, {}, -1
            yield from self._list()
            if self._count >= 0:
                self._members[ITEMS] = []
            yield Frame(self._document, self._line, self._members, self._count)

    def _begins(self) -> bool:
        """Whether there is another document; the logs before it are passed."""
        while self._next() == LOGS_BEGIN[:1]:
            end = self.window.find(LOGS_END, 0, self.limits.stream_bytes)
            if self.window.look(len(LOGS_BEGIN)) != LOGS_BEGIN or end < 0:
                raise self._error(say("not JSON"))
            self.window.take(end + len(LOGS_END))
            self.window.take(self.window.find(b"\n", 0, self.limits.bytes) + 1)
        return bool(self._next())

    def _list(self) -> Iterator[Item]:
        self._expect(b"{")
        while self._next() != b"}":
            key, value_line = self._value("a key"), self.window.line
            if not isinstance(key, str) or key in self._members:
                raise self._error(f'the key "{key}" appears twice in one mapping')
            self._expect(b":")
            if key == ITEMS and self._count < 0 and self._next() == b"[":
                yield from self._items()
            else:
                self._members[key] = self._value(key)
            if self._next() != b"}":
                self._expect(b",", value_line)
                self._refuse_end(b"}")
        self._expect(b"}")

    def _items(self) -> Iterator[Item]:
        self._count = 0
        self._expect(b"[")
        indent = self._space()
        while self._next() != b"]":
            line = self.window.line
            text, value = self._item(indent)
            yield Item(self._document, self._count, line, value, text, self._members)
            self._count += 1
            if self._next() != b"]":
                self._expect(b",")
                indent = self._space()
                self._refuse_end(b"]")
        self._expect(b"]")

    def _refuse_end(self, end: bytes) -> None:
        if self._next() == end:
            raise self._error("not JSON: trailing comma is not allowed")

    # -- one value ----------------------------------------------------------------------------------

    def _item(self, indent: bytes | None) -> tuple[bytes, Any]:
        """The item that begins here, and its text."""
        if indent is not None and self._next() == b"{":
            end = b"\n" + indent + b"}"
            length = self.window.find(end, 0, self.limits.bytes)
            text = self.window.look(length + len(end)) if length >= 0 else b""
            for each in (without_managed_fields(text, indent), text):
                try:
                    value = json_document(each, self.limits).value
                except (orjson.JSONDecodeError, DocumentError):
                    continue
                return self.window.take(len(text)), value
        return self._scanned(self.limits.bytes)

    def _value(self, what: str) -> Any:
        try:
            return self._scanned(_LONGEST_MEMBER)[1]
        except ItemTooLarge as error:
            error.why = say(
                "{what} of the list is larger than {count} bytes",
                what=what,
                count=grouped(_LONGEST_MEMBER),
            )
            raise

    def _scanned(self, most: int) -> tuple[bytes, Any]:
        """The value that comes next, whose end the scanner finds, and its text."""
        self._next()
        size = self._length
        while (length := self._scan(size)) < 0:
            if size >= most:
                raise self._placed(item_too_large(1, self.limits))
            if not self.window.hold(size):
                raise self._broken(self.window.look(self.window.size))
            size = min(size * 4, most)
        self._length = max(2 * length, _FIRST_LOOK)
        text = self.window.look(length)
        try:
            value = json_document(text, self.limits).value
        except orjson.JSONDecodeError:
            raise self._broken(text) from None
        except DocumentError as error:
            raise self._placed(error) from None
        return self.window.take(length), value

    def _scan(self, size: int) -> int:
        """The length of the value in the next *size* bytes; -1 where it does not end in them."""
        text = self.window.look(size).decode(errors="ignore")
        try:
            _, end = _SCANNER.raw_decode(text)
        except ValueError:
            return -1
        except RecursionError:
            raise self._error(
                say("nested more than {depth} levels deep", depth=self.limits.depth)
            ) from None
        # A number at the end may go on.
        is_open = end == len(text) and self.window.hold(size + 1)
        return -1 if is_open else len(text[:end].encode())

    def _broken(self, text: bytes) -> DocumentError:
        """The error about *text*, which comes next and is no JSON."""
        try:
            text.decode()
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            return self._error(say("not a text file: it is not UTF-8"), line)
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return self._error(say("not JSON: {error}", error=error.msg), error.lineno)
        return self._error(say("not JSON"))

    # -- what is between values ---------------------------------------------------------------------

    def _next(self) -> bytes:
        """The next character that is no space; none at the end of the file."""
        self.window.skip(_SPACE)
        return self.window.look(1)

    def _space(self) -> bytes | None:
        """Pass the space before an item; its indentation, where it stands on a line of its own."""
        self.window.hold(_FIRST_LOOK)
        match = self.window.match(_SPACE)
        space = match[0] if match else b""
        self.window.skip(_SPACE)
        line = _OPENING.search(space)
        return line[1] if line else None

    def _expect(self, what: bytes, line: int = 0) -> None:
        found = self._next()
        if found != what:
            wanted = repr(what.decode())
            if not found:
                raise self._error(say("not JSON: expected {what}, found its end", what=wanted))
            shown = repr(found.decode(errors="replace"))
            raise self._error(
                say("not JSON: expected {what}, found {found}", what=wanted, found=shown)
            )
        self.window.take(1)

    def _error(self, why: str, line: int = 1) -> DocumentError:
        return DocumentError(
            why, document=max(self._document, 1), line=self.window.line + max(line, 1) - 1
        )

    def _placed(self, error: DocumentError) -> DocumentError:
        """*error*, whose line is counted from here, as one of the file."""
        return self._error(error.why, error.line)


_UNIT: Final = re.compile(rb"\{\n([ \t]+)\"")
_TIME: Final = re.compile(rb'"time": "(\d[-\dT:.]{9,40}Z)"')


def without_managed_fields(text: bytes, indent: bytes) -> bytes:
    """An item that is indented by *indent* with no more of its managed fields than their newest time.

    They are half of an object's text. Lines of the item are others then.
    """
    unit = _UNIT.match(text)
    if unit is None:
        return text
    outer = b"\n" + unit[1]
    inner = outer + unit[1][len(indent) :]
    begin = text.find(inner + b'"managedFields": [\n')
    opening = text.rfind(outer + b'"metadata": {\n', 0, max(begin, 0))
    if opening < 0 or text.find(outer + b"}", opening, begin) >= 0:
        return text
    end = text.find(inner + b"]", begin)
    newest = max(_TIME.findall(text, begin, end), default=b"") if end >= 0 else b""
    kept = b'"managedFields": [{"time": "' + newest + b'"}]'
    return text[:begin] + b"\n" + kept + text[end + len(inner) + 1 :] if newest else text

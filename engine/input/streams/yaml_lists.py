"""Lists of objects in YAML, as kubectl prints them, read item by item.

An item begins with a dash at the indentation of the first one. No line of an item stands as far to
the left, as YAML wants; where a file has it otherwise, a part of it is no YAML and is refused.

Managed fields are most of the text, and nothing depends on them but their newest time: the parser
sees only that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from engine.input.streams.pieces import ITEMS, Frame, Item, Manifest, Piece, item_too_large
from engine.input.streams.window import Window
from engine.objects.documents import DocumentError, Limits, yaml_documents

_HEAD: Final = re.compile(rb"\A(?:[^\n]*\n){0,200}?items:[ \t]*\r?\n(?P<indent> *)- ")
_LONGEST_HEAD: Final = 1 << 16
_LONGEST_TAIL: Final = 1 << 20


def is_yaml_list(begin: bytes) -> bool:
    """Whether a file that begins so may be read item by item."""
    text = begin.removeprefix(b"\xef\xbb\xbf")
    head = _HEAD.match(text)
    return (
        head is not None
        and text.lstrip()[:1] not in (b"{", b"[")
        and b"\n---" not in text[: head.end()]
    )


@dataclass(slots=True)
class YamlLists:
    """The list of a file."""

    window: Window
    limits: Limits
    _count: int = 0
    _dash: bytes = b""
    _end: re.Pattern[bytes] = field(default_factory=lambda: re.compile(b""))

    def pieces(self) -> Iterator[Piece]:
        """The items of the list, then the list without them. Raises DocumentError."""
        head = self._head()
        before = yaml_documents(head, self.limits)
        members = _mapping(before[0].value if before else None)
        while self.window.look(len(self._dash) - 1) == self._dash[1:]:
            line, text = self.window.line, self._item()
            yield Item(1, self._count, line, self._read(text, line)[0], text, members, (0,))
            self._count += 1
        line, tail = self.window.line, self.window.rest(_LONGEST_TAIL)
        if len(tail) > _LONGEST_TAIL:
            raise DocumentError("what follows the items is too large", document=1, line=line)
        yield self._frame(head, tail, line)

    def _head(self) -> bytes:
        """Pass what stands before the items."""
        match = _HEAD.match(self.window.look(_LONGEST_HEAD))
        assert match is not None, "is_yaml_list() has looked"
        self._dash = b"\n" + match["indent"] + b"- "
        # A line that belongs to no item: it stands as far to the left, or further.
        self._end = re.compile(rb"\n(?! {%d})(?=[^\r\n#])" % (len(match["indent"]) + 1))
        head = self.window.take(match.end() - len(self._dash) + 1)
        return head[: head.rindex(b"items:")]

    def _item(self) -> bytes:
        """The text of the item that begins here."""
        length = self.window.find(self._dash, 1, self.limits.bytes)
        if length < 0 and self.window.size >= self.limits.bytes:
            raise item_too_large(self.window.line, self.limits)
        text = self.window.look(length if length >= 0 else self.window.size)
        end = self._end.search(text)
        return self.window.take(end.start() + 1 if end else len(text) + (length >= 0))

    def _read(self, text: bytes, line: int) -> Any:
        shorter = without_managed_fields(text)
        try:
            (document,) = yaml_documents(shorter, self.limits) or [None]
        except DocumentError:
            # Lines are those of the whole text.
            document = None
        if document is None:
            document = self._whole(text, line)
        return document.value

    def _whole(self, text: bytes, line: int) -> Any:
        try:
            documents = yaml_documents(text, self.limits)
        except DocumentError as error:
            error.document, error.line = 1, line + max(error.line, 1) - 1
            raise
        if len(documents) != 1 or not isinstance(documents[0].value, list):
            raise DocumentError("not YAML: the list ends within an item", document=1, line=line)
        return documents[0]

    def _frame(self, head: bytes, tail: bytes, line: int) -> Frame:
        # The place of the items keeps the lines of what follows them apart.
        try:
            documents = yaml_documents(head + b"items: []\n" + tail, self.limits)
        except DocumentError as error:
            before = head.count(b"\n") + 1
            error.line = error.line if error.line <= before else error.line - before - 1 + line
            raise
        values: list[Any] = [each.value for each in documents]
        if len(values) != 1 or not isinstance(values[0], dict):
            raise DocumentError("only one list may stand in so large a file", document=1, line=line)
        document = documents[0]
        return Frame(1, document.line, _mapping(document.value) | {ITEMS: []}, self._count)


def _mapping(value: Any) -> Manifest:
    return cast("Manifest", value) if isinstance(value, dict) else {}


_METADATA: Final = re.compile(
    rb"^(?P<indent> +)metadata:\r?\n(?P<body>(?:(?P=indent) .*\n)*)", re.M
)
_FIELDS: Final = re.compile(rb"^(?P<indent> +)managedFields:\r?\n(?:(?P=indent)[- ] .*\n)+", re.M)
_TIME: Final = re.compile(rb"^\s+time: [\"'](\d[-\dT:.]{9,40}Z)[\"']\s*$", re.M)


def without_managed_fields(text: bytes) -> bytes:
    """An item with no more of its managed fields than their newest time."""
    metadata = _METADATA.search(text)
    if metadata is None or metadata["indent"] != _indent_of(text):
        return text
    begin, end = metadata.span("body")
    fields = _FIELDS.search(text, begin, end)
    inner = re.compile(rb" *").match(text, begin)
    if fields is None or inner is None or fields["indent"] != inner[0]:
        return text
    newest = max(_TIME.findall(fields[0]), default=b"")
    kept = (
        b"managedFields:\n" + fields["indent"] + b'- time: "' + newest + b'"\n' if newest else b""
    )
    kept = fields["indent"] + kept if kept else b""
    return text[: fields.start()] + kept + text[fields.end() :]


def _indent_of(text: bytes) -> bytes:
    """The indentation of the keys of an item: as far as its dash, and what follows it."""
    match = re.match(rb" *- *", text)
    return b" " * (match.end() if match else 0)

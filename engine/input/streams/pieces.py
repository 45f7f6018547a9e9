"""What a large file is read as: the items of its lists, one by one, and the lists without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from engine.kernel.sentences import grouped, say
from engine.objects.documents import DocumentError, Limits, Path

Manifest = dict[str, Any]

ITEMS: Final = "items"


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list: its document, its place in the list, its first line, and its text.

    In the text it stands at *path*. *head* is what stands in the list before its items.
    """

    document: int
    place: int
    line: int
    value: Any
    text: bytes
    head: Manifest
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A document whose items have been read: what is left of it, with an empty list of items.

    *count* is the number of the items. Without a list it is the document as it stands.
    """

    document: int
    line: int
    value: Any
    count: int


Piece = Item | Frame


class ItemTooLarge(DocumentError):
    """An item, or another part of a list, is beyond what is read as a whole."""


def item_too_large(line: int, limits: Limits) -> DocumentError:
    """The error about an item beyond what is read as a whole."""
    allowed = limits.bytes // (1024 * 1024)
    return ItemTooLarge(
        say("an item of the list is larger than {allowed} MiB", allowed=grouped(allowed)), line=line
    )

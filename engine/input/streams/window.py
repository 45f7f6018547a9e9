"""The part of a file that is being looked at. What was before it is forgotten."""

from __future__ import annotations

import re
from typing import Final, Protocol

_PIECE: Final = 1 << 18


class Readable(Protocol):
    """A file, a pipe, or a member of an archive that is being unpacked."""

    def read(self, size: int, /) -> bytes:
        """At most *size* bytes; none at the end."""
        ...


class Window:
    """Bytes of a file from a place on, with the number of its line; more are read as needed.

    Places are counted from the first byte that has not been passed. *total* is the size of the file,
    0 where it is not known.
    """

    def __init__(self, file: Readable, total: int = 0) -> None:
        self._file = file
        self._data = b""
        self._begin = 0
        self.total = total
        self._is_whole = False
        self.line = 1
        self.passed = 0

    @property
    def size(self) -> int:
        """How many bytes are at hand."""
        return len(self._data) - self._begin

    def more(self) -> bool:
        """Read on; False at the end of the file."""
        piece = b"" if self._is_whole else self._file.read(_PIECE)
        self._is_whole = not piece
        if piece:
            self._data = self._data[self._begin :] + piece
            self._begin = 0
        return bool(piece)

    def hold(self, size: int) -> bool:
        """Whether *size* bytes are at hand; they are read if need be."""
        while self.size < size:
            if not self.more():
                return False
        return True

    def look(self, size: int) -> bytes:
        """The next *size* bytes; fewer at the end of the file."""
        self.hold(size)
        return self._data[self._begin : self._begin + size]

    def find(self, what: bytes, place: int, most: int) -> int:
        """The first place of *what* from *place* on; -1 where it is not among *most* bytes."""
        found = self._data.find(what, self._begin + place)
        while found < 0 and self.size < most:
            place = max(place, self.size - len(what) + 1)
            if not self.more():
                return -1
            found = self._data.find(what, self._begin + place)
        return found - self._begin if found >= 0 else -1

    def match(self, pattern: re.Pattern[bytes], place: int = 0) -> re.Match[bytes] | None:
        """A match at *place* in what is at hand."""
        return pattern.match(self._data, self._begin + place)

    def skip(self, pattern: re.Pattern[bytes]) -> None:
        """Pass all that *pattern*, which matches any number of characters, matches from here on."""
        while True:
            match = self.match(pattern)
            self.take(match.end() - self._begin if match else 0)
            if self.size or not self.more():
                return

    def take(self, size: int) -> bytes:
        """Pass the next *size* bytes, which are at hand, and return them."""
        passed = self._data[self._begin : self._begin + size]
        self._begin += len(passed)
        self.passed += len(passed)
        self.line += passed.count(b"\n")
        return passed

    def rest(self, most: int) -> bytes:
        """All that is left, and one byte more where that is more than *most*."""
        while self.size <= most and self.more():
            pass
        return self.take(most + 1)

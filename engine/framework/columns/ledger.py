"""Columns of numbers that can be read as they were at any earlier position.

Each change notes the earlier value: of one row as three numbers in a journal, of many rows as one
compressed piece. To read a column at a position, the changes since then are undone in a copy. A
full ledger is replaced by a new one with the same columns; the old one stays for those who hold its
positions, and the two share columns that do not change.
"""

from __future__ import annotations

import zlib
from array import array
from dataclasses import dataclass

import numpy as np

from engine.framework.nodes.arrays import BoolArray, IntArray

# Up to this many rows are noted one by one.
_FEW_ROWS = 16
# A ledger with more notes than this is full: numbers in the journal, bytes in pieces.
_MOST_NUMBERS = 3 * 16_384
_MOST_BYTES = 1 << 19
_ZERO: IntArray = np.zeros((), np.int64)


@dataclass(frozen=True, slots=True)
class Piece:
    """What many rows of a column held before they changed.

    `packed` is the zlib of one bit per row of the column (`size` rows), followed by how much more
    than `lowest` each changed row held, in `width` bytes; nothing if all held `lowest`.
    """

    packed: bytes
    size: int
    lowest: int
    width: int

    @classmethod
    def of(cls, changed: BoolArray, before: IntArray) -> Piece:
        """*before* are the earlier values of the rows marked in *changed*."""
        lowest = int(before.min())
        above = before - lowest
        width = _width(int(above.max()))
        held = above.astype(f"u{width}").tobytes() if width else b""
        packed = zlib.compress(np.packbits(changed).tobytes() + held, 1)
        return cls(packed, len(changed), lowest, width)

    def undo(self, column: IntArray) -> None:
        """Put the earlier values back into *column*."""
        data = zlib.decompress(self.packed)
        bits = np.frombuffer(data, np.uint8, -(-self.size // 8))
        rows = np.flatnonzero(np.unpackbits(bits, count=self.size))
        held: IntArray = np.zeros(len(rows), np.int64)
        if self.width:
            held = np.frombuffer(data, f"u{self.width}", offset=len(bits)).astype(np.int64)
        column[rows] = held + self.lowest


def _width(most: int) -> int:
    """How many bytes a number up to *most* needs; none for 0."""
    if most == 0:
        return 0
    return next((width for width in (1, 2, 4) if most < 1 << 8 * width), 8)


class Ledger:
    """Columns of *size* rows, all zero at first; see the module.

    The journal holds (column, row, what was there), or (-1 - column, place of the piece, 0).
    """

    __slots__ = ("_blank", "_bytes", "_columns", "_journal", "_owned", "_pieces", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._blank: IntArray = np.broadcast_to(_ZERO, size)
        self._columns: list[IntArray] = []
        # A column that is not owned is all zero, or belongs to the previous ledger.
        self._owned: list[bool] = []
        self._journal: array[int] = array("q")
        self._pieces: list[Piece] = []
        self._bytes = 0

    @property
    def position(self) -> int:
        """The position after the newest change."""
        return len(self._journal)

    @property
    def is_full(self) -> bool:
        """Whether it should be replaced by a new one."""
        return len(self._journal) > _MOST_NUMBERS or self._bytes > _MOST_BYTES

    @property
    def weight(self) -> int:
        """The bytes that only this ledger holds."""
        owned = sum(8 * self.size for is_owned in self._owned if is_owned)
        return owned + 8 * len(self._journal) + self._bytes

    def turned(self) -> Ledger:
        """A new ledger with the same columns; do not change this one any more."""
        new = Ledger(self.size)
        new._columns = list(self._columns)
        new._owned = [False] * len(self._columns)
        return new

    def add(self) -> int:
        """A new column, all zero; returns its number."""
        self._columns.append(self._blank)
        self._owned.append(False)
        return len(self._columns) - 1

    def grow(self, size: int) -> None:
        """Make room for *size* rows; the new ones are zero."""
        if size == self.size:
            return
        self._blank = np.broadcast_to(_ZERO, size)
        for number, column in enumerate(self._columns):
            if _is_blank(column):
                self._columns[number] = self._blank
            else:
                self._columns[number] = np.pad(column, (0, size - self.size))
                self._owned[number] = True
        self.size = size

    def set(self, number: int, row: int, value: int) -> None:
        """Put *value* into one row."""
        before = self._columns[number].item(row)
        if before == value:
            return
        if not self._owned[number]:
            self._own(number)
        self._journal.extend((number, row, before))
        self._columns[number][row] = value

    def put(self, number: int, rows: IntArray, values: IntArray) -> None:
        """Put *values* into *rows*, which must be distinct."""
        held = self._columns[number][rows]
        places = np.flatnonzero(held != values)
        if len(places) == 0:
            return
        if len(places) <= _FEW_ROWS:
            for place in places.tolist():
                self.set(number, rows.item(place), values.item(place))
            return
        if not self._owned[number]:
            self._own(number)
        column, rows = self._columns[number], rows[places]
        changed = np.zeros(self.size, np.bool_)
        changed[rows] = True
        piece = Piece.of(changed, column[changed])
        self._journal.extend((-1 - number, len(self._pieces), 0))
        self._pieces.append(piece)
        self._bytes += len(piece.packed)
        column[rows] = values[places]

    def _own(self, number: int) -> None:
        self._columns[number] = self._columns[number].copy()
        self._owned[number] = True

    def at(self, number: int, position: int) -> IntArray | None:
        """The column as it was at *position*, not to be changed; None if it was always zero."""
        column = self._columns[number]
        if _is_blank(column):
            return None
        if position == len(self._journal):
            return column
        notes = np.frombuffer(self._journal, np.int64)[position:].reshape(-1, 3).copy()
        notes = notes[(notes[:, 0] == number) | (notes[:, 0] == -1 - number)][::-1]
        if len(notes) == 0:
            return column
        column = column.copy()
        self._undo(column, notes)
        return column

    def _undo(self, column: IntArray, notes: IntArray) -> None:
        """Undo *notes*, the newest first; the last note of a row counts."""
        pieces = np.flatnonzero(notes[:, 0] < 0).tolist()
        begin = 0
        for end in (*pieces, len(notes)):
            column[notes[begin:end, 1]] = notes[begin:end, 2]
            if end < len(notes):
                self._pieces[notes.item(end, 1)].undo(column)
            begin = end + 1


def _is_blank(column: IntArray) -> bool:
    """Whether *column* is still a single zero for all rows."""
    return column.strides == (0,)

"""Events as lines: NDJSON as they are, CSV with columns that need no quotes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from engine.run_file.writing import event_line
from kscope.exports.encoder import Heading

# Of CSV and Parquet; none is a word of SQL.
COLUMNS: Final = (
    *("seq", "t_seconds", "t_ns", "kind", "object", "component"),
    *("cause", "message", "data", "changes"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class Ndjson:
    """Each event as a line of JSON: see docs/events.md."""

    def __init__(self, heading: Heading) -> None:
        pass

    def begin(self) -> bytes:
        """See Encoder."""
        return b""

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        return b"".join(map(event_line, rows))

    def end(self) -> bytes:
        """See Encoder."""
        return b""


class Csv:
    """Each event as a row."""

    def __init__(self, heading: Heading) -> None:
        pass

    def begin(self) -> bytes:
        """See Encoder."""
        return _rows([COLUMNS])

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        return _rows(map(cells, rows))

    def end(self) -> bytes:
        """See Encoder."""
        return b""


def cells(row: EventRow) -> tuple[Any, ...]:
    """The values of an event in the order of COLUMNS."""
    return (row.seq, row.at / SECOND, row.at, *row[2:])


def _rows(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(
        [_harmless(cell) for cell in row] for row in rows
    )
    return text.getvalue().encode()


def _harmless(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a quote in front."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell

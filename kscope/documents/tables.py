"""The tables of a document in Markdown, each under its heading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

# A cell may hold a bar within a code span.
_CELL = re.compile(r"\|((?:`[^`]*`|[^|`])*)")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and the line that it is on."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows under a heading; `head` names the columns, and is empty where there is no table."""

    title: str
    line: int
    head: tuple[str, ...]
    rows: tuple[Row, ...]


def read_tables(name: str) -> list[Table]:
    """The tables of that document of docs/."""
    return list(tables_of(Path(settings.BASE_DIR, "docs", name).read_text()))


def tables_of(text: str) -> Iterator[Table]:
    """The tables of a document: one for each heading of the second level."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        rows = [
            Row(number + 1, _cells(lines[number]))
            for number in range(start, end)
            if lines[number].startswith("| ")
        ]
        head = rows[0].cells if rows else ()
        yield Table(lines[start].removeprefix("## "), start + 1, head, tuple(rows[1:]))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _CELL.findall(line)[:-1])

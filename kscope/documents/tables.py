"""The tables of a document in Markdown, each under its heading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

# A cell may hold a bar within a code span.
_CELL = re.compile(r"\|((?:`[^`]*`|[^|`])*)")
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows under a heading; `head` names the columns, and is empty where there is no table."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_tables(name: str) -> list[Table]:
    """The tables of that document of docs/."""
    return list(tables_of(Path(settings.BASE_DIR, "docs", name).read_text()))


def tables_of(text: str) -> Iterator[Table]:
    """The tables of a document: one for each heading of the second level."""
    for title, body in _SECTION.findall(text):
        rows = [_cells(line) for line in body.splitlines() if line.startswith("| ")]
        yield Table(title, rows[0] if rows else (), tuple(rows[1:]))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _CELL.findall(line)[:-1])

"""A list of rows of one kind, and the windows that are asked of it."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DIGITS = re.compile(r"\d+")
# Longer numbers in names are hashes rather than ordinals.
_WIDTH = 12

Key = Callable[["Row"], Any]


def natural(name: str) -> str:
    """What *name* is sorted by, so that node-2 comes before node-10."""
    return DIGITS.sub(lambda found: found[0].zfill(_WIDTH), name.lower())


@dataclass(slots=True)
class Row:
    """An object in a list.

    *text* is what a search looks through, in small letters, *name* what it is sorted by, *state* what
    it is filtered by. *values* are by what else it can be sorted.
    """

    id: str
    text: str
    name: str
    state: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows are wanted: *count* from place *first* on, or those around the object *around*."""

    search: str = ""
    states: frozenset[str] = frozenset()
    sort: str = ""
    is_descending: bool = False
    first: int = 0
    count: int = 50
    around: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """Some rows of a list in order.

    *first* is the place of the first of them among the *found* that match. *counts* are how many
    match the search in each state, *total* how many there are at all.
    """

    first: int
    rows: list[Row]
    found: int
    total: int
    counts: Mapping[str, int] = field(default_factory=dict)


class Table:
    """The rows of a kind, kept in each order that was asked for.

    *sorts* are what they can be sorted by; rows that are equal by that stand in order of name. The
    first is the usual order. An order that is kept needs few comparisons to be right again.
    """

    def __init__(self, sorts: Mapping[str, Key]) -> None:
        self.sorts = sorts
        self._rows: dict[str, Row] = {}
        self._orders: dict[tuple[str, bool], list[Row]] = {}
        self._stale: set[tuple[str, bool]] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, entity: str) -> Row | None:
        """The row of this id."""
        return self._rows.get(entity)

    def put(self, row: Row) -> None:
        """Put in a row, or put it in the place of the one with its id."""
        if self._rows.get(row.id) != row:
            self._rows[row.id] = row
            self._stale.update(self._orders)

    def remove(self, entity: str) -> None:
        """Take out the row of this id, if there is one."""
        if self._rows.pop(entity, None) is not None:
            self._stale.update(self._orders)

    def replace(self, rows: list[Row]) -> None:
        """Have these rows and no others."""
        self._rows = {row.id: row for row in rows}
        self._stale.update(self._orders)

    def window(self, wanted: Wanted) -> Window:
        """Some rows of those that match; past the last of them it is the last window."""
        text, states = wanted.search.strip().lower(), wanted.states
        order = self._order(wanted.sort or next(iter(self.sorts)), wanted.is_descending)
        matching = [row for row in order if text in row.text] if text else order
        counts = Counter(row.state for row in matching)
        found = [row for row in matching if row.state in states] if states else matching
        first = _place(found, wanted)
        shown = found[first : first + wanted.count]
        return Window(first, shown, len(found), len(self._rows), counts)

    def _order(self, sort: str, is_descending: bool) -> list[Row]:
        key = sort, is_descending
        kept = self._orders.get(key)
        if kept is not None and key not in self._stale:
            return kept
        by = self.sorts[sort]
        order = self._orders[key] = _merged(kept or [], self._rows)
        if is_descending:
            order.sort(key=lambda row: (row.name, row.id))
            order.sort(key=by, reverse=True)
        else:
            order.sort(key=lambda row: (by(row), row.name, row.id))
        self._stale.discard(key)
        return order


def _merged(kept: list[Row], rows: dict[str, Row]) -> list[Row]:
    """All *rows*, those that are *kept* in their old order, so that little has to be moved."""
    known = [row.id for row in kept if row.id in rows]
    seen = set(known)
    return [rows[each] for each in known] + [row for key, row in rows.items() if key not in seen]


def _place(found: list[Row], wanted: Wanted) -> int:
    """Where the window begins: at a multiple of its length where it was not asked for by place."""
    first = wanted.first
    if wanted.around:
        places = (i for i, row in enumerate(found) if row.id == wanted.around)
        first = next(places, 0) // wanted.count * wanted.count
    if first >= len(found):
        return max(0, len(found) - 1) // wanted.count * wanted.count
    return first

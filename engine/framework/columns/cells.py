"""Groups rows into cells, so that plugins that look at several nodes are asked once per cell.

Such plugins (spreading, pod affinity) depend on few properties of a node: its zone, or how many
matching pods it has. Rows with the same *traits* form a cell. Every such plugin gives all rows of a
cell the same verdict and the same raw score, so one row per cell is evaluated; for each cell its
highest local total is kept, and the rows that have it. A placed pod changes one row, whose total
changes within its cell, or which moves to another cell.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.kernel.rng import Stream

# With at most this many domains of a label the domain itself is the trait.
_FEW_DOMAINS = 32
_MOST_CELLS = 128
_EMPTY = -1
# To pick one row out of several sorted lists: from which distance on the lists are merged, and how
# often the place is guessed before the search halves the range.
_NEAR = 12
_GUESSES = 4

Places = list[int] | IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Trait:
    """A property by which a plugin distinguishes rows.

    With a *key*: the row's domain of that label, and what *tally* counts in that domain. Without:
    what *tally* counts on the row itself, or a *column* of values that change only with labels,
    taints and images.
    """

    key: str = ""
    tally: Tally | None = None
    column: IntArray | BoolArray | None = None
    # The number of domains matters as well: a row may only represent others of its domain.
    few_only: bool = False

    def is_same(self, other: Trait) -> bool:
        """Whether both distinguish the same rows, now and later."""
        return self is other or (
            self.key == other.key
            and self.tally is other.tally
            and self.column is other.column
            and self.few_only == other.few_only
        )


@dataclass(slots=True)
class Ties:
    """The rows with the highest total, each of `parts` in ascending order.

    Valid until the next decision. With `row_of` the entries are ranks of names.
    """

    parts: list[Places]
    count: int
    row_of: IntArray | None = None

    def __len__(self) -> int:
        return self.count

    def tolist(self) -> list[int]:
        """All rows, in ascending order."""
        rows = np.concatenate([np.array(part, np.int64) for part in self.parts])
        if self.row_of is not None:
            rows = self.row_of[rows]
        return np.sort(rows).tolist()

    def pick(self, ties: Stream | None) -> int:
        """The row with the smallest name, or with a stream any of them."""
        parts = self.parts
        if self.row_of is not None:
            return int(self.row_of[min([int(part[0]) for part in parts])])
        if self.count == 1:
            return int(parts[0][0])
        assert ties is not None, "rows by name need no draw"
        index = ties.below(self.count)
        return int(parts[0][index]) if len(parts) == 1 else self._at(index)

    def _at(self, index: int) -> int:
        """The row that is *index* places after the first.

        Rows are usually spread evenly, so a guess is close to the place; otherwise the search
        halves the range.
        """
        parts = self.parts
        # As many rows as are wanted, or fewer, lie below `low`; more lie below `high`.
        low = min([int(part[0]) for part in parts])
        high = max([int(part[-1]) for part in parts]) + 1
        spread = high - low
        edge = low + spread * index // self.count
        guesses = _GUESSES
        while True:
            places = [bisect_left(part, edge) for part in parts]
            off = index - sum(places)
            if -_NEAR <= off <= _NEAR:
                return self._near(places, off)
            if off >= 0:
                low = edge
            else:
                high = edge
            guesses -= 1
            edge += spread * off // self.count
            if guesses < 0 or not low < edge < high:
                edge = (low + high) // 2

    def _near(self, places: list[int], off: int) -> int:
        """The row that is *off* places after where *places* divide the parts."""
        rows: list[int] = []
        for part, place in zip(self.parts, places, strict=True):
            if off >= 0:
                rows.extend(part[place : place + off + 1])
            else:
                rows.extend(part[max(place + off, 0) : place])
        rows.sort()
        return int(rows[off])


@dataclass(slots=True)
class Cell:
    """How many rows fit, their highest total, and the rows that have it; None if not known."""

    count: int = 0
    best: int = _EMPTY
    tied: Places | None = field(default_factory=list[int])

    def add(self, place: int, total: int) -> None:
        """Add a row that fits."""
        self.count += 1
        if total > self.best and self.tied is not None:
            self.best = total
            self.tied = [place]
        elif total == self.best and self.tied is not None:
            insort(self._listed(self.tied), place)

    def remove(self, place: int, total: int) -> None:
        """Remove a row that fitted."""
        self.count -= 1
        if self.count == 0:
            self.best, self.tied = _EMPTY, []
        elif total == self.best and self.tied is not None:
            tied = self._listed(self.tied)
            del tied[bisect_left(tied, place)]
            if not tied:
                self.tied = None

    def forget(self) -> None:
        """Many rows have changed: the best are not known."""
        self.best, self.tied = _EMPTY, None if self.count else []

    def _listed(self, tied: Places) -> list[int]:
        if isinstance(tied, list):
            return tied
        listed: list[int] = tied.tolist()
        self.tied = listed
        return listed


@dataclass(slots=True)
class Cells:
    """The rows of one template by their traits.

    `masked` is the template's local total per row, -1 if the pod does not fit; `held` is the total
    that the cells have taken into account. By name, places are ranks of names instead of rows.
    """

    table: NodeTable
    masked: IntArray
    held: IntArray
    static: IntArray
    tallies: list[Tally]
    number_of: IntArray
    rank: IntArray | None
    row_of: IntArray | None
    # The same columns; single ints are read several times faster through a memoryview.
    row_masked: memoryview = field(init=False)
    row_held: memoryview = field(init=False)
    row_number: memoryview = field(init=False)
    cells: list[Cell] = field(default_factory=list[Cell])
    index: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    too_many: bool = False

    def __post_init__(self) -> None:
        self.row_masked = self.masked.data
        self.row_held = self.held.data
        self.row_number = self.number_of.data

    # -- keeping up ------------------------------------------------------------------------------

    def renew_few(self, rows: Iterable[int]) -> None:
        """Apply the changes of *rows*, one by one."""
        cells, rank = self.cells, self.rank
        for row in rows:
            old, new = self.row_held[row], self.row_masked[row]
            number = target = self.row_number[row]
            if self.tallies:
                target = self._number(row)
            if old == new and number == target:
                continue
            self.row_held[row], self.row_number[row] = new, target
            place = row if rank is None else rank.item(row)
            if old >= 0:
                cells[number].remove(place, old)
            if new >= 0:
                cells[target].add(place, new)

    def renew_many(self, rows: IntArray) -> None:
        """Apply the changes of *rows* at once; the best rows are then not known."""
        old, new = self.held.take(rows), self.masked.take(rows)
        self.held[rows] = new
        if len(self.cells) == 1 and not self.tallies:
            cell = self.cells[0]
            cell.count += int(np.count_nonzero(new >= 0) - np.count_nonzero(old >= 0))
            self._drop_changed(cell, new)
            return
        before = self.number_of.take(rows)
        if self.tallies:
            self.number_of[rows] = [self._number(row) for row in rows.tolist()]
        after = self.number_of.take(rows) if self.tallies else before
        size = len(self.cells)
        gone = np.bincount(before[old >= 0], minlength=size)
        come = np.bincount(after[new >= 0], minlength=size)
        for cell, change in zip(self.cells, (come - gone).tolist(), strict=True):
            cell.count += change
            cell.forget()

    def _drop_changed(self, cell: Cell, come: IntArray) -> None:
        """Keep the best rows of the only cell that did not change.

        *come* are the new totals of the changed rows. The best rows are not known if one of these
        reaches the highest total, or if all of the best changed.
        """
        tied = cell.tied
        if tied is None or self.rank is not None or np.maximum.reduce(come, initial=0) >= cell.best:
            cell.forget()
            return
        left = np.array(tied, np.int64) if isinstance(tied, list) else tied
        left = left[self.masked.take(left) == cell.best]
        if len(left):
            cell.tied = left
        else:
            cell.forget()

    def _number(self, row: int) -> int:
        """The cell to which the row belongs now."""
        key = (self.static.item(row), *[tally.counts.item(row) for tally in self.tallies])
        number = self.index.get(key)
        if number is None:
            number = self.index[key] = len(self.cells)
            self.cells.append(Cell())
            self.too_many = number >= _MOST_CELLS
        return number

    # -- asking ----------------------------------------------------------------------------------

    def best(self) -> Ties:
        """The best rows, if there is only one cell."""
        tied = self.cells[0].tied
        if tied is None:
            tied = self._find_best(0)
        return Ties([tied], len(tied), self.row_of)

    def representatives(self) -> tuple[list[Cell], list[int]]:
        """The cells with rows that fit, and one of the best rows of each."""
        found: list[Cell] = []
        rows: list[int] = []
        row_of = self.row_of
        for number, cell in enumerate(self.cells):
            if not cell.count:
                continue
            tied = cell.tied
            if tied is None:
                tied = self._find_best(number)
            place = int(tied[0])
            found.append(cell)
            rows.append(place if row_of is None else row_of.item(place))
        return found, rows

    def ties(self, cells: list[Cell]) -> Ties:
        """The best rows of all *cells*, which `representatives` returned."""
        parts = [cell.tied for cell in cells if cell.tied is not None]
        return Ties(parts, sum(map(len, parts)), self.row_of)

    def _find_best(self, number: int) -> Places:
        cell, totals = self.cells[number], self.masked
        if len(self.cells) > 1:
            totals = np.where(self.number_of == number, totals, _EMPTY)
        cell.best = int(np.maximum.reduce(totals))
        rows = (totals == cell.best).nonzero()[0]
        tied = cell.tied = rows if self.rank is None else np.sort(self.rank[rows])
        return tied


def cells_by(
    table: NodeTable, traits: Sequence[Trait], masked: IntArray, *, by_name: bool
) -> Cells | None:
    """The cells of the rows, whose local totals are *masked*; None if there are too many."""
    columns: list[IntArray | BoolArray] = []
    tallies: list[Tally] = []
    for trait in traits:
        if not _read(table, trait, columns, tallies):
            return None
    static = np.zeros(table.capacity, np.int64)
    static[table.active] = _combined(columns, table.active)
    rank = table.name_rank if by_name else None
    made = Cells(
        table=table,
        masked=masked,
        held=masked.copy(),
        static=static,
        tallies=tallies,
        number_of=np.zeros(table.capacity, np.int64),
        rank=rank,
        row_of=None if rank is None else rows_by_rank(table, rank),
    )
    return made if _fill(made) else None


def _read(
    table: NodeTable,
    trait: Trait,
    columns: list[IntArray | BoolArray],
    tallies: list[Tally],
) -> bool:
    """Add the trait as values per row; False if it is not a property of single rows."""
    if trait.column is not None:
        columns.append(trait.column)
    if trait.key:
        codes = table.topology(trait.key).codes
        present = codes[table.active]
        present = present[present >= 0]
        domains = len(np.unique(present))
        if domains <= _FEW_DOMAINS:
            columns.append(codes.astype(np.int64))
            return True
        if trait.few_only or domains < len(present):
            return False
        columns.append(codes >= 0)
    if trait.tally is not None and not any(trait.tally is known for known in tallies):
        tallies.append(trait.tally)
    return True


def _combined(columns: list[IntArray | BoolArray], rows: IntArray) -> IntArray:
    """One code per row; rows with the same values in all columns have the same code."""
    codes = np.zeros(len(rows), np.int64)
    for column in columns:
        values, inverse = np.unique(column[rows], return_inverse=True)
        _, codes = np.unique(codes * len(values) + inverse, return_inverse=True)
    return codes


def _fill(made: Cells) -> bool:
    """Sort every row into its cell."""
    active = made.table.active
    columns = [made.static, *[tally.counts.astype(np.int64) for tally in made.tallies]]
    codes = _combined([*columns], active) if len(columns) > 1 else made.static[active]
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) > _MOST_CELLS:
        return False
    for row in active[first].tolist():
        made._number(row)  # pyright: ignore[reportPrivateUsage]
    made.number_of[active] = inverse
    fitting = inverse[made.masked[active] >= 0]
    if not made.cells:
        made.cells.append(Cell())
    counts = np.bincount(fitting, minlength=len(made.cells))
    for cell, count in zip(made.cells, counts.tolist(), strict=True):
        cell.count = count
        cell.forget()
    return True


def rows_by_rank(table: NodeTable, rank: IntArray) -> IntArray:
    """The row of each rank."""
    rows = np.zeros(table.capacity, np.int64)
    rows[rank[table.active]] = table.active
    return rows

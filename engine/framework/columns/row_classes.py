"""Row classes: nodes with identical capacity, usage and kind are evaluated once.

Filters and scores that depend only on capacity and usage give the same answer for all rows where
these are equal, and labels, taints and images distinguish few kinds of nodes. Rows with the same
capacity, usage and kind form a *class*, and a template has one total per class. Clusters have few
kinds of nodes and pods, so there are few classes; a placed pod moves one row from one class to
another, once for all templates.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from hashlib import blake2b
from itertools import repeat
from operator import getitem
from typing import Protocol

import numpy as np

from engine.framework.columns.cells import Places, Ties, rows_by_rank
from engine.framework.columns.kept import Kept
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable

# If more than one row in this many has changed, all are sorted again.
_ROWS_FOR_A_CHANGE = 4
# How many kinds of nodes are distinguished.
_MOST_KINDS = 64
# Empty classes are dropped once there are this many more than twice the others.
_SPARE_CLASSES = 256
# Up to this many classes are computed one by one.
_FEW_CLASSES = 6
# If more than one row in this many would have to be evaluated, all are.
_ROWS_FOR_A_CLASS = 8
# One row is picked out of up to this many lists; more are merged.
_FEW_PARTS = 8
# Up to this many classes that do not fit are counted one by one.
_FEW_UNFIT = 32
NOT_FEASIBLE = -1


class RowClasses:
    """The class of each row; changed rows come from the table's log.

    Classes are numbered from 1 on; an empty one is never used again. `epoch` grows when numbering
    starts again. This holds the table's arrays themselves: make it anew when they are replaced, and
    do not pickle it. By name, members are ranks of names instead of rows.
    """

    def __init__(self, table: NodeTable, *, by_name: bool) -> None:
        self._table = table
        self.rank = table.name_rank if by_name else None
        self.row_of = None if self.rank is None else rows_by_rank(table, self.rank)
        self._kept = Kept()
        self._known: dict[tuple[int, ...], int] = {}
        self._keys: list[tuple[int, ...]] = []
        # By row; 0 where there is no node.
        self.numbers: IntArray = np.zeros(table.capacity, np.int64)
        self._row_number = self.numbers.data
        self._kinds: IntArray = np.zeros(table.capacity, np.int64)
        self._kind_count = 1
        self._distinguished: dict[bytes, bool] = {}
        self._columns = [
            column.data
            for column in (
                self._kinds,
                table.pod_count,
                table.allowed_pods,
                *table.allocatable,
                *table.requested,
                *table.scored,
            )
        ]
        self.row_count = len(table)
        # By class: its rows in ascending order, and their number.
        self.members: list[list[int]] = []
        self.counts: IntArray = np.zeros(0, np.int64)
        self._class_count = self.counts.data
        # The empty classes, in the order in which they became empty.
        self.left: list[int] = []
        self.epoch = 0

    def distinguish(self, fits: BoolArray, scores: IntArray) -> bool:
        """Put rows that differ in these columns into different classes.

        False if there would be too many classes, or if too few rows fit for them to pay off.
        """
        if np.count_nonzero(fits) * _MOST_KINDS < self.row_count:
            return False
        name = blake2b(fits.tobytes() + scores.tobytes(), digest_size=16).digest()
        known = self._distinguished.get(name)
        if known is None:
            known = self._distinguished[name] = self._refine(fits, scores)
        return known

    def _refine(self, fits: BoolArray, scores: IntArray) -> bool:
        rows = self._table.active
        if not len(rows):
            return True
        held = self._kinds[rows]
        _, codes = np.unique(np.where(fits[rows], scores[rows], -1), return_inverse=True)
        found, kinds = np.unique(held * (int(codes.max()) + 1) + codes, return_inverse=True)
        if len(found) > _MOST_KINDS:
            return False
        if len(found) > self._kind_count:
            self._kinds[rows] = kinds
            self._kind_count = len(found)
            self._kept.forget()
        return True

    def catch_up(self) -> None:
        """Move the rows that have changed."""
        log = self._table.log
        changed = self._kept.catch_up(log)
        if changed is None or len(changed) * _ROWS_FOR_A_CHANGE > self.row_count:
            self._begin_again()
            return
        for row in changed:
            self._move(row)
        if len(self.members) > _SPARE_CLASSES + 2 * len(self._known):
            self._begin_again()

    def row_in(self, number: int) -> int:
        """One of the rows of class *number*."""
        place = self.members[number][0]
        return place if self.row_of is None else self.row_of.item(place)

    def rows_in(self, numbers: Sequence[int]) -> IntArray:
        """One of the rows of each of these classes."""
        members = self.members
        places = np.array([members[number][0] for number in numbers], np.int64)
        return places if self.row_of is None else self.row_of.take(places)

    @property
    def rows(self) -> IntArray:
        """All rows that have a class."""
        return self._table.active

    def _move(self, row: int) -> None:
        old = self._row_number[row]
        key = tuple(map(getitem, self._columns, repeat(row)))
        new = self._known.get(key)
        if new == old:
            return
        place = row if self.rank is None else self.rank.item(row)
        members = self.members[old]
        del members[bisect_left(members, place)]
        self._class_count[old] -= 1
        if not members:
            del self._known[self._keys[old]]
            self.left.append(old)
        if new is None:
            new = self._new_class(key)
        self._row_number[row] = new
        insort(self.members[new], place)
        self._class_count[new] += 1

    def _new_class(self, key: tuple[int, ...]) -> int:
        number = self._known[key] = len(self.members)
        self._keys.append(key)
        self.members.append([])
        if number == len(self.counts):
            self.counts = np.pad(self.counts, (0, len(self.counts)))
            self._class_count = self.counts.data
        return number

    def _begin_again(self) -> None:
        rows = self._table.active
        states = zip(*[np.asarray(column)[rows].tolist() for column in self._columns], strict=True)
        places = rows if self.rank is None else self.rank[rows]
        self.epoch += 1
        self._known, self._keys, self.members, self.left = {}, [()], [[]], []
        known, members, numbers = self._known, self.members, self._row_number
        for row, place, key in zip(rows.tolist(), places.tolist(), states, strict=True):
            number = known.get(key)
            if number is None:
                number = known[key] = len(members)
                self._keys.append(key)
                members.append([])
            numbers[row] = number
            members[number].append(place)
        for one in members:
            one.sort()
        self.counts = np.zeros(2 * len(members) + _SPARE_CLASSES, np.int64)
        self.counts[: len(members)] = list(map(len, members))
        self._class_count = self.counts.data


class LocalTotals(Protocol):
    """The local totals of one template: -1 for a row that the pod does not fit."""

    def total_of(self, row: int, /) -> int:
        """Of one row, in plain ints."""
        ...

    def totals_of(self, rows: IntArray, /) -> IntArray:
        """Of many rows."""
        ...


class ClassTotals:
    """The local total of each class for one template; -1 if the pod does not fit.

    A class is computed once, from one of its rows.
    """

    __slots__ = (
        "_best",
        "_class_total",
        "_classes",
        "_epoch",
        "_left",
        "_of",
        "_seen",
        "_tied",
        "_totals",
        "_unfit",
    )

    def __init__(self, classes: RowClasses, of: LocalTotals) -> None:
        self._classes = classes
        self._of = of
        self._epoch = -1
        # How many classes are known, and how many of the empty ones.
        self._seen = self._left = 0
        self._totals: IntArray = np.zeros(0, np.int64)
        self._class_total = self._totals.data
        # The highest total and the classes that have it; None if they are not known.
        self._best = NOT_FEASIBLE
        self._tied: list[int] | None = None
        # The classes that do not fit, if they are few; None if they are not known.
        self._unfit: dict[int, None] | None = None

    def catch_up(self) -> None:
        """Compute the new classes, and forget the empty ones."""
        classes = self._classes
        classes.catch_up()
        if self._epoch != classes.epoch:
            self._epoch = classes.epoch
            self._seen, self._left = 1, 0
            self._totals = self._totals[:0]
            self._tied = self._unfit = None
        first, left = self._seen, self._left
        self._seen, self._left = len(classes.members), len(classes.left)
        if self._seen == first and self._left == left:
            return
        missing = len(classes.counts) - len(self._totals)
        if missing:
            self._totals = np.pad(self._totals, (0, missing), constant_values=NOT_FEASIBLE)
            self._class_total = self._totals.data
        if self._seen - first <= _FEW_CLASSES and self._left - left <= _FEW_CLASSES:
            for number in range(first, self._seen):
                if classes.members[number]:
                    self._come(number)
            for number in classes.left[left:]:
                self._leave(number)
        else:
            self._renew(range(first, self._seen), classes.left[left:])

    def _come(self, number: int) -> None:
        total = self._class_total[number] = self._of.total_of(self._classes.row_in(number))
        if total < 0:
            if self._unfit is not None:
                self._unfit[number] = None
                if len(self._unfit) > _FEW_UNFIT:
                    self._unfit = None
        elif self._tied is not None:
            if total > self._best:
                self._best, self._tied = total, [number]
            elif total == self._best:
                self._tied.append(number)

    def _leave(self, number: int) -> None:
        if self._tied is not None and self._class_total[number] == self._best:
            self._tied.remove(number)
            if not self._tied:
                self._tied = None
        self._class_total[number] = NOT_FEASIBLE
        if self._unfit is not None:
            self._unfit.pop(number, None)

    def _renew(self, come: range, left: list[int]) -> None:
        """Compute many at once; the best classes, and those that do not fit, are then not known."""
        classes = self._classes
        if len(come) * _ROWS_FOR_A_CLASS > classes.row_count:
            rows = classes.rows
            numbers = classes.numbers.take(rows)
        else:
            numbers = [number for number in come if classes.members[number]]
            rows = classes.rows_in(numbers)
        self._totals[numbers] = self._of.totals_of(rows)
        self._totals[left] = NOT_FEASIBLE
        self._tied = self._unfit = None

    @property
    def feasible(self) -> int:
        """How many rows the pod fits."""
        classes, unfit = self._classes, self._unfit
        if unfit is None:
            counts, fits = classes.counts[: self._seen], self._totals[: self._seen] >= 0
            unfits = (~fits & (counts > 0)).nonzero()[0]
            if len(unfits) <= _FEW_UNFIT:
                self._unfit = dict.fromkeys(unfits.tolist())
            return int(counts.dot(fits))
        if not unfit:
            return classes.row_count
        members = classes.members
        return classes.row_count - sum([len(members[number]) for number in unfit])

    @property
    def column(self) -> IntArray:
        """The total of every row."""
        return self._totals.take(self._classes.numbers)

    def totals_of(self, rows: IntArray) -> IntArray:
        """The totals of *rows*."""
        return self._totals.take(self._classes.numbers.take(rows))

    def best(self) -> Ties:
        """The rows with the highest total. The pod must fit some row."""
        classes, tied = self._classes, self._tied
        if tied is None:
            totals = self._totals[: self._seen]
            self._best = int(np.maximum.reduce(totals))
            tied = self._tied = (totals == self._best).nonzero()[0].tolist()
        if len(tied) > _FEW_PARTS:
            return self._best_by_rows()
        members = classes.members
        if len(tied) == 1:
            only = members[tied[0]]
            return Ties([only], len(only), classes.row_of)
        parts: list[Places] = [members[number] for number in tied]
        return Ties(parts, sum(map(len, parts)), classes.row_of)

    def _best_by_rows(self) -> Ties:
        rows = (self.column == self._best).nonzero()[0]
        rank, row_of = self._classes.rank, self._classes.row_of
        places = rows if rank is None else np.sort(rank[rows])
        return Ties([places], len(places), row_of)

"""Verdicts that are kept per pod template and priority, where other pods matter by requests only.

If taints, labels and the like are settled, and only the requests of other pods vary, the verdict on
a node changes only when pods arrive or leave there, or are nominated to it. So the verdicts on all
nodes are kept, with nominated pods on trial, as are the dry runs of evictions and how close each
node is to fitting. An attempt for a pod that fits nowhere then costs only what changed since the
last attempt for such a pod.

Nothing is kept for pods that depend on more (spreading, pod affinity, volumes, host ports); for
these every node is evaluated. Tests compare both ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.framework.columns.kept import Kept
from engine.framework.framework import FITS, CycleState, Detail, RoomFilter, Status
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.nominated import Nominated, Reserved
from engine.framework.runtime import Framework, Verdicts
from engine.scheduler.preemption.budgets import Budgets
from engine.scheduler.preemption.victims import KeptRuns, VictimColumns

# How many templates and priorities are kept.
_MOST_KEPT = 64
# Up to this many changed rows are counted one by one.
_FEW_ROWS = 32


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that the pod does not fit; the smaller `distance` is, the closer it is to fitting."""

    row: int
    node: str
    plugin: str
    failing: tuple[str, ...]
    detail: Detail
    distance: tuple[int, int, float, str]


@dataclass(slots=True)
class RoomVerdicts:
    """The first refusal of every row, as in `Verdicts`, and what follows from the row alone.

    `counts` are the numbers of rows per verdict, of feasible ones under (0, 0). `runs` are the dry
    runs of evictions. The explanation keeps two more for the rows that it evaluated: `closest` is
    how close they are to fitting; `tried`, whether they would fit the pod with its request lowered
    by what they are short of.
    """

    # In the node table's log, and in that of the nominations.
    kept: Kept
    nominations: Kept
    room: int
    plugin: IntArray
    code: IntArray
    runs: KeptRuns
    counts: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    closest: dict[int, Refusal] = field(default_factory=dict[int, Refusal])
    tried: dict[int, bool] = field(default_factory=dict[int, bool])

    def verdicts(self, rows: IntArray) -> Verdicts:
        """A copy of the verdicts on *rows*."""
        verdicts = Verdicts(rows, self.plugin.take(rows), self.code.take(rows))
        if not self.counts.get((FITS, FITS)) and len(rows) == sum(self.counts.values()):
            verdicts.counted = sorted((*kind, count) for kind, count in self.counts.items())
        return verdicts

    def depends_on_room(self, row: int) -> bool:
        """Whether the filter for room decides on *row*, as far as is known."""
        plugin = self.plugin.item(row)
        return plugin == FITS or plugin >= self.room

    def set_verdict(self, row: int, plugin: int, code: int) -> None:
        """Set the verdict on *row*."""
        kind = plugin, code
        before = self.plugin.item(row), self.code.item(row)
        if kind == before:
            return  # As with most rows: an eviction rarely frees enough.
        self._shift(before, -1)
        self._shift(kind, 1)
        self.plugin[row], self.code[row] = kind

    def _shift(self, kind: tuple[int, int], delta: int) -> None:
        count = self.counts.get(kind, 0) + delta
        if count:
            self.counts[kind] = count
        else:
            del self.counts[kind]

    def count(self, rows: IntArray) -> None:
        """Count the verdicts of all *rows* of the table from scratch."""
        verdicts = Verdicts(rows, self.plugin.take(rows), self.code.take(rows))
        self.counts = {(plugin, code): count for plugin, code, count in verdicts.kinds()}
        fitting = int(np.count_nonzero(verdicts.fits))
        if fitting:
            self.counts[FITS, FITS] = fitting


class KeptRoomVerdicts:
    """The room verdicts of a profile's templates; each is corrected when it is read."""

    def __init__(self, framework: Framework, nominated: Nominated) -> None:
        self._framework = framework
        self._table = framework.handle.table
        self.nominated = nominated
        self._columns = VictimColumns(self._table, Budgets(framework.handle.listers))
        self._kept: dict[tuple[int, int], RoomVerdicts] = {}
        filters = framework.plugins.filter
        # The filter for room, and its place among the filters; 0 if the profile has none.
        self._room = next((p for p in filters if isinstance(p, RoomFilter)), None)
        self._place = 0 if self._room is None else 1 + filters.index(self._room)

    def verdicts(self, state: CycleState, rows: IntArray) -> Verdicts | None:
        """A copy of the verdicts on *rows*, after PreFilter; None if more than room varies."""
        with self.nominated.without(state.pod):
            kept = self.of(state)
            return None if kept is None else kept.verdicts(rows)

    def forget(self) -> None:
        """Compute everything from scratch."""
        self._kept.clear()

    def lacks_room(self, state: CycleState, code: int) -> Status:
        """The status that *code* of the filter for room means."""
        return self._framework.explain(state, self._place, code)

    def of(self, state: CycleState) -> RoomVerdicts | None:
        """The room verdicts of the state's pod; None if more than room varies.

        To leave out the pod's own nomination, ask `nominated.without` the pod.
        """
        if self._room is None or not self._framework.only_room_varies(state):
            return None
        # First of all, so that every resource has its column.
        wanted = self._room.wanted(state)
        table = self._table
        generation = (table.static_generation, table.capacity, len(table.resource_names))
        key = state.template.number, state.pod.priority
        kept = self._kept.pop(key, None)
        if kept is None or kept.kept.generation != generation:
            kept = self._build(state, [*wanted], generation)
        else:
            self._refresh(state, kept)
        # To the end: the first one is that which was not used for the longest time.
        self._kept[key] = kept
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def _build(
        self, state: CycleState, wanted: list[tuple[int, int]], generation: tuple[int, ...]
    ) -> RoomVerdicts:
        table, rows = self._table, self._table.active
        reserved = self._reserved(state)
        verdicts = self._with_reserved(state, rows, reserved)
        kept = RoomVerdicts(
            Kept(generation),
            Kept(),
            self._place,
            np.zeros(table.capacity, np.int64),
            np.zeros(table.capacity, np.int64),
            KeptRuns(self._columns, state.pod.priority, wanted, reserved),
        )
        kept.kept.catch_up(table.log)
        kept.nominations.catch_up(self.nominated.log)
        kept.plugin[rows], kept.code[rows] = verdicts.plugin, verdicts.code
        kept.count(rows)
        return kept

    def _reserved(self, state: CycleState) -> Reserved:
        return self.nominated.reserved(state.pod.priority)

    def _refresh(self, state: CycleState, kept: RoomVerdicts) -> None:
        table, log = self._table, self.nominated.log
        rows = kept.kept.catch_up(table.log)
        nominated = kept.nominations.catch_up(log)
        if rows is None or nominated is None:
            changed = table.active.tolist()
        elif not rows and not nominated:
            return
        else:
            changed = list(dict.fromkeys((*rows, *nominated)))
        reserved = self._reserved(state)
        self._renew(state, kept, changed, reserved)
        kept.runs.forget(changed, reserved)
        for row in changed if kept.closest else ():
            kept.closest.pop(row, None)
            kept.tried.pop(row, None)

    def _renew(
        self, state: CycleState, kept: RoomVerdicts, changed: list[int], reserved: Reserved
    ) -> None:
        """Renew the verdicts on *changed* rows, unless a static filter refuses them anyway."""
        rows = [row for row in changed if kept.depends_on_room(row)]
        if len(rows) > _FEW_ROWS:
            some = np.array(rows, np.int64)
            verdicts = self._with_reserved(state, some, reserved, kept.room)
            kept.plugin[some], kept.code[some] = verdicts.plugin, verdicts.code
            kept.count(self._table.active)
            return
        for row in rows:
            kept.set_verdict(row, *self._verdict(state, row, reserved))

    def _with_reserved(
        self, state: CycleState, rows: IntArray, reserved: Reserved, first: int = 1
    ) -> Verdicts:
        """The verdicts on *rows* from the *first* filter on, beside the nominated pods."""
        with reserved.on_trial(self._table, rows):
            return self._framework.run_filters(state, rows, first)

    def _verdict(self, state: CycleState, row: int, reserved: Reserved) -> tuple[int, int]:
        """The verdict on one row that no filter before the one for room refuses."""
        assert self._room is not None
        code = self._room.code_beside(state, row, reserved)
        if code:
            return self._place, code
        if self._place == len(self._framework.plugins.filter):
            return FITS, FITS
        later = self._framework.run_filters(state, np.array([row], np.int64), self._place + 1)
        return int(later.plugin[0]), int(later.code[0])

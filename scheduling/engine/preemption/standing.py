"""What is kept per pod template and priority while only room keeps its pods off some nodes.

Where taints, labels and the like are settled and only the requests of other pods vary, the verdict
on a node changes only when pods come to or leave that node, or are nominated to it. So the verdicts
of all nodes are kept, nominated pods on trial included, with what evictions would achieve on each
and how close each is to fitting; rows that changed come from the logs of the node table and of the
nominations. A pod that fits nowhere then costs what has changed since its like was last tried.

Whatever else a pod's fate may depend on (spreading, pod affinity, volumes, host ports) is not kept:
such pods take the full path. Tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.framework.framework import FITS, CycleState, Detail, Status
from scheduling.engine.framework.runtime import Framework, Verdicts
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.nominated import Nominated, Reserved
from scheduling.engine.plugins.node_resources_fit import NodeResourcesFit
from scheduling.engine.preemption.budgets import Budgets
from scheduling.engine.preemption.victims import KeptRuns, VictimColumns

# Templates and priorities that are kept at a time.
_MANY_STANDINGS = 64
# Up to this many changed rows are counted one by one.
_FEW_ROWS = 32


@dataclass(frozen=True, slots=True)
class Refusal:
    """One node that did not fit, and how close it was: the smaller `distance` is, the closer."""

    row: int
    node: str
    plugin: str
    failing: tuple[str, ...]
    detail: Detail
    distance: tuple[int, int, float, str]


@dataclass(slots=True)
class Standing:
    """The first refusal of every row, as in `Verdicts`, and what else follows from the row alone.

    `counts` are the rows of each verdict, those that fit under (0, 0). `runs` are the dry runs of
    evictions. The other two are the explanation's, for the rows that it looked at: how close they
    are, and whether they would do for a pod that asks for just so much less as they are short of.
    """

    generation: tuple[int, ...]
    room: int
    plugin: IntArray
    code: IntArray
    runs: KeptRuns
    table_position: int
    nominated_position: int
    counts: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    closest: dict[int, Refusal] = field(default_factory=dict[int, Refusal])
    tried: dict[int, bool] = field(default_factory=dict[int, bool])

    def verdicts(self, rows: IntArray) -> Verdicts:
        """The verdicts on *rows*, to be changed at will."""
        verdicts = Verdicts(rows, self.plugin.take(rows), self.code.take(rows))
        if not self.counts.get((FITS, FITS)) and len(rows) == sum(self.counts.values()):
            verdicts.counted = sorted((*kind, count) for kind, count in self.counts.items())
        return verdicts

    def is_open(self, row: int) -> bool:
        """Whether it depends on room, as far as is known, if the pod fits *row*."""
        plugin = self.plugin.item(row)
        return plugin == FITS or plugin >= self.room

    def settle(self, row: int, plugin: int, code: int) -> None:
        """*row* has a new verdict."""
        self._shift(self.plugin.item(row), self.code.item(row), -1)
        self._shift(plugin, code, 1)
        self.plugin[row], self.code[row] = plugin, code

    def _shift(self, plugin: int, code: int, delta: int) -> None:
        kind = (plugin, code)
        count = self.counts.get(kind, 0) + delta
        if count:
            self.counts[kind] = count
        else:
            del self.counts[kind]

    def count(self, rows: IntArray) -> None:
        """Count the verdicts of all *rows* of the table anew."""
        verdicts = Verdicts(rows, self.plugin.take(rows), self.code.take(rows))
        self.counts = {(plugin, code): count for plugin, code, count in verdicts.kinds()}
        fitting = int(np.count_nonzero(verdicts.fits))
        if fitting:
            self.counts[FITS, FITS] = fitting


class Standings:
    """The standings of a profile's templates, brought up to date when they are asked for."""

    def __init__(self, framework: Framework, nominated: Nominated) -> None:
        self._framework = framework
        self._table = framework.handle.table
        self._nominated = nominated
        self._columns = VictimColumns(self._table, Budgets(framework.handle.listers))
        self._kept: dict[tuple[int, int], Standing] = {}
        filters = framework.plugins.filter
        # What varies, and its place among the filters; 0 where the profile does without.
        self._room = next((p for p in filters if isinstance(p, NodeResourcesFit)), None)
        self._place = 0 if self._room is None else 1 + filters.index(self._room)

    def verdicts(self, state: CycleState, rows: IntArray) -> Verdicts | None:
        """The verdicts on *rows*, to be changed at will, or None where not only room varies.

        PreFilter has to have run.
        """
        with self.apart(state) as standing:
            return None if standing is None else standing.verdicts(rows)

    @contextmanager
    def apart(self, state: CycleState) -> Generator[Standing | None]:
        """While this lasts: where the state's pod stands, its own nomination left out."""
        with self._nominated.without(state.pod):
            yield self.of(state)

    def forget(self) -> None:
        """Work everything out anew from here on."""
        self._kept.clear()

    def lacks_room(self, state: CycleState, code: int) -> Status:
        """What the filter for room says of *code*."""
        return self._framework.explain(state, self._place, code)

    def of(self, state: CycleState) -> Standing | None:
        """The standing of the state's pod as everybody else sees it: its own nomination counts."""
        if self._room is None or not self._framework.only_room_varies(state):
            return None
        # First of all, so that every resource has its column.
        wanted = self._room.wanted(state)
        table = self._table
        generation = (table.static_generation, table.capacity, len(table.resource_names))
        key = state.template.number, state.pod.priority
        standing = self._kept.pop(key, None)
        if standing is None or standing.generation != generation:
            standing = self._build(state, wanted, generation)
        else:
            self._refresh(state, standing)
        # At the end again: the first is the one that was not asked for the longest.
        self._kept[key] = standing
        if len(self._kept) > _MANY_STANDINGS:
            del self._kept[next(iter(self._kept))]
        return standing

    def _build(
        self, state: CycleState, wanted: list[tuple[int, int]], generation: tuple[int, ...]
    ) -> Standing:
        table, rows = self._table, self._table.active
        reserved = self._reserved(state)
        verdicts = self._with_reserved(state, rows, reserved)
        standing = Standing(
            generation,
            self._place,
            np.zeros(table.capacity, np.int64),
            np.zeros(table.capacity, np.int64),
            KeptRuns(self._columns, state.pod.priority, wanted, reserved),
            table.log.end,
            self._nominated.log.end,
        )
        standing.plugin[rows], standing.code[rows] = verdicts.plugin, verdicts.code
        standing.count(rows)
        return standing

    def _reserved(self, state: CycleState) -> Reserved:
        return self._nominated.reserved(state.pod.priority)

    def _refresh(self, state: CycleState, standing: Standing) -> None:
        table, log = self._table, self._nominated.log
        touched = table.log.since(standing.table_position)
        promised = log.since(standing.nominated_position)
        if touched is None or promised is None:
            changed = table.active.tolist()
        elif not touched and not promised:
            return
        else:
            changed = list(dict.fromkeys((*touched, *promised)))
        standing.table_position, standing.nominated_position = table.log.end, log.end
        reserved = self._reserved(state)
        self._renew(state, standing, changed, reserved)
        standing.runs.forget(changed, reserved)
        for row in changed if standing.closest else ():
            standing.closest.pop(row, None)
            standing.tried.pop(row, None)

    def _renew(
        self, state: CycleState, standing: Standing, changed: list[int], reserved: Reserved
    ) -> None:
        """The verdicts on the *changed* rows, but for those that something lasting settles."""
        rows = [row for row in changed if standing.is_open(row)]
        if len(rows) > _FEW_ROWS:
            some = np.array(rows, np.int64)
            verdicts = self._with_reserved(state, some, reserved, standing.room)
            standing.plugin[some], standing.code[some] = verdicts.plugin, verdicts.code
            standing.count(self._table.active)
            return
        for row in rows:
            standing.settle(row, *self._verdict(state, row, reserved))

    def _with_reserved(
        self, state: CycleState, rows: IntArray, reserved: Reserved, first: int = 1
    ) -> Verdicts:
        """What the filters say of *rows*, from the *first* on, while the room is reserved."""
        with reserved.on_trial(self._table, rows):
            return self._framework.run_filters(state, rows, first)

    def _verdict(self, state: CycleState, row: int, reserved: Reserved) -> tuple[int, int]:
        """What the filters say of one row that none before the one for room refuses."""
        assert self._room is not None
        code = self._room.code_of(state, row, reserved)
        if code:
            return self._place, code
        if self._place == len(self._framework.plugins.filter):
            return FITS, FITS
        later = self._framework.run_filters(state, np.array([row], np.int64), self._place + 1)
        return int(later.plugin[0]), int(later.code[0])

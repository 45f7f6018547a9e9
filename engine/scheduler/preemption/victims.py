"""Dry runs of preemption on many nodes at once, for pods that only lack room.

The pods of every row are kept sorted by importance in columns: one column per place, so that "put
the most important ones back as long as the preemptor fits" is one array operation per place for
all nodes together. It answers what the node-by-node dry run of `preemption` answers whenever the
only filter in question is the one for resources. Nodes on which disruption budgets cover pods are
run one by one here, too, and anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.framework.columns.kept import Kept
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.nominated import Reserved
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import nanoseconds_of
from engine.objects.pods.pod_resources import Resources
from engine.scheduler.preemption.budgets import Budgets

# No pod is below this, so that empty places never count as victims.
_EMPTY = np.iinfo(np.int64).max
# In place of what a row misses: it has no pods of lower priority.
NO_LOWER_PODS = -1
# Keeps a few victims of negative priority from looking worse than many.
PRIORITY_OFFSET = 1 << 31
# Up to this many rows are run one by one.
_FEW_ROWS = 8
# A pod that has not started yet counts as the most recent.
NOT_STARTED = 1 << 62

# The rungs of the choice. Upstream: pickOneNodeForPreemption().
RUNGS = (
    "fewest PDB violations",
    "lowest highest priority",
    "smallest priority sum",
    "fewest victims",
    "latest start time",
)

Grid = NDArray[np.int64]
Mask = NDArray[np.bool_]
PodLists = NDArray[np.object_]
# (column, amount) of each resource that a pod asks for.
Wanted = list[tuple[int, int]]


def _empty_grid() -> Grid:
    return np.zeros((0, 0), np.int64)


def _no_lists() -> PodLists:
    return np.zeros(0, np.object_)


def _empty_cube() -> NDArray[np.int64]:
    return np.zeros((0, 0, 0), np.int64)


@dataclass(slots=True)
class DryRuns:
    """For each of `rows`: whether the pod would fit, its victims, or what is missing.

    `victims` are marks in the grid of places; `missing` is the resource filter's code without its
    top bit, 0 where the pod fits after all evictions, and `NO_LOWER_PODS` where there is no pod to
    evict.
    """

    rows: IntArray
    fits: BoolArray
    missing: IntArray
    victims: Mask


@dataclass(frozen=True, slots=True)
class RowRun:
    """One dry run: what is `missing`, as in `DryRuns`; else victims, reprieved pods and `costs`.

    Both are in upstream's order, `victims` as places among the row's pods.
    """

    missing: int
    victims: Sequence[int] = ()
    put_back: Sequence[PodInfo] = ()
    costs: Sequence[int] = ()


@dataclass(slots=True)
class Room:
    """The room on a node with the preemptor: `places` for pods, and what it requests, by column.

    `missing` is as in `DryRuns`.
    """

    missing: int
    places: int
    free: dict[int, int]

    def take(self, amounts: Mapping[int, int]) -> bool:
        """Put a pod back that holds *amounts*, if it fits; whether it did."""
        if self.places <= 0 or any(left < amounts.get(c, 0) for c, left in self.free.items()):
            return False
        self.places -= 1
        for column in self.free:
            self.free[column] -= amounts.get(column, 0)
        return True


@dataclass(slots=True)
class VictimColumns:
    """The pods of all nodes, most important first: as lists, and as columns to run many rows.

    Both are brought up to date from the node table's log, the columns only when they are needed.
    """

    table: NodeTable
    budgets: Budgets
    kept: Kept = field(default_factory=Kept)
    version: int = 0
    # How often all lists were dropped.
    starts: int = 0
    # Never 0, since a row without places has no minimum.
    width: int = 1
    # The list of each row, None where it has not been read.
    lists: PodLists = field(default_factory=_no_lists)
    behind: dict[int, None] = field(default_factory=dict[int, None])
    # Whether some budget covers some pod of the row, as far as that is known.
    covered: dict[int, bool] = field(default_factory=dict[int, bool])
    priority: Grid = field(default_factory=_empty_grid)
    started: Grid = field(default_factory=_empty_grid)
    amounts: NDArray[np.int64] = field(default_factory=_empty_cube)

    def refresh(self) -> None:
        """Read what changed since the last call."""
        self.budgets.refresh()
        if self.version != self.budgets.version:
            self.version = self.budgets.version
            self.covered.clear()
        table = self.table
        # A new resource is in no log.
        has_all = self.amounts.shape[:2] == self._shape
        if has_all and self.kept.is_current(table.log):
            return
        changed = self.kept.catch_up(table.log)
        if changed is None or not has_all:
            self._start_over()
            return
        for row in changed:
            self.lists[row] = None
            self.behind[row] = None
            self.covered.pop(row, None)
            if len(table.pods[row]) > self.width:
                self._start_over()
                return

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.table.resource_names), self.table.capacity

    def _start_over(self) -> None:
        capacity = self.table.capacity
        self.starts += 1
        self.width = max(self.width, *map(len, self.table.pods))
        self.lists = np.full(capacity, None)
        self.behind = dict.fromkeys(range(capacity))
        self.covered.clear()
        self.priority = np.full((capacity, self.width), _EMPTY, np.int64)
        self.started = np.zeros((capacity, self.width), np.int64)
        self.amounts = np.zeros((*self._shape, self.width), np.int64)

    def pods_of(self, row: int) -> list[PodInfo]:
        """The pods on *row*, most important first; a row that changes gets another list."""
        pods: list[PodInfo] | None = self.lists[row]
        if pods is None:
            pods = self.lists[row] = by_importance(self.table.listed(row))
        return pods

    def is_covered(self, row: int) -> bool:
        """Whether a budget covers a pod on *row*; such a row is run by itself."""
        covered = self.covered.get(row)
        if covered is None:
            pods = self.pods_of(row)
            covered = self.covered[row] = any(self.budgets.covering(pod) for pod in pods)
        return covered

    def _catch_up(self) -> None:
        behind = np.array([*self.behind], np.int64)
        self.behind.clear()
        self.priority[behind] = _EMPTY
        self.amounts[:, behind] = 0
        lists = [self.pods_of(row) for row in behind.tolist()]
        lengths = list(map(len, lists))
        rows = np.repeat(behind, lengths)
        places = np.array([place for length in lengths for place in range(length)], np.int64)
        pods = [pod for one in lists for pod in one]
        self.priority[rows, places] = [pod.priority for pod in pods]
        self.started[rows, places] = [start_time(pod) for pod in pods]
        # Many pods share what they ask for.
        vectors: dict[int, list[int]] = {}
        for pod in pods:
            requested = pod.resources.requested
            if id(requested) not in vectors:
                vectors[id(requested)] = self._vector(requested)
        asked = [vectors[id(pod.resources.requested)] for pod in pods]
        self.amounts[:, rows, places] = np.array(asked, np.int64).reshape(-1, self._shape[0]).T

    def _vector(self, resources: Resources) -> list[int]:
        amounts = [0] * len(self.table.resource_names)
        for column, amount in self.table.amounts(resources):
            amounts[column] = amount
        return amounts

    def try_row(self, priority: int, wanted: Wanted, row: int, reserved: Reserved) -> RowRun:
        """As `dry_run` and `costs`, for one row."""
        pods = self.pods_of(row)
        first = next((at for at, pod in enumerate(pods) if pod.priority < priority), len(pods))
        lower = pods[first:]
        if not lower:
            return RowRun(NO_LOWER_PODS)
        held = {pod.key: dict(self.table.amounts(pod.resources.requested)) for pod in lower}
        room = self._room_without(wanted, row, held, reserved)
        if room.missing:
            return RowRun(room.missing)
        violating, others = [], lower
        if len(self.budgets) and self.is_covered(row):
            violating, others = self.budgets.split(lower)
        put_back = [pod for pod in (*violating, *others) if room.take(held[pod.key])]
        stays = {pod.key for pod in put_back}
        places = [at for at, pod in enumerate(lower, first) if pod.key not in stays]
        if not places:
            # An extender has refused the node, which the filters would not.
            return RowRun(0, put_back=put_back, costs=(0,) * len(RUNGS))
        broken = {pod.key for pod in violating if pod.key not in stays}
        if violating and others:
            # Those that break a budget come first into the sort, as they were tried first.
            victims = [pod for pod in (*violating, *others) if pod.key not in stays]
            place_of = {pod.key: at for at, pod in enumerate(lower, first)}
            places = [place_of[pod.key] for pod in by_importance(victims)]
        violations = len(broken)
        costs = violations, *cost_of([pods[place] for place in places])
        return RowRun(0, places, put_back, costs)

    def _room_without(
        self, wanted: Wanted, row: int, held: dict[str, dict[int, int]], reserved: Reserved
    ) -> Room:
        """The room on *row* with the preemptor, and without the pods in *held*."""
        table = self.table
        taken = table.pod_count.item(row) + reserved.pods.item(row)
        places = table.allowed_pods.item(row) - taken + len(held) - 1
        missing = int(places < 0)
        free: dict[int, int] = {}
        for bit, (column, amount) in enumerate(wanted, 1):
            used = table.requested.item(column, row) + reserved.requested.item(column, row)
            evicted = sum(amounts.get(column, 0) for amounts in held.values())
            free[column] = table.allocatable.item(column, row) - used + evicted - amount
            missing |= (free[column] < 0) << bit
        return Room(missing, places, free)

    def dry_run(self, priority: int, wanted: Wanted, rows: IntArray, reserved: Reserved) -> DryRuns:
        """Evict all pods below *priority* on each of *rows*, then put back those that may stay.

        *wanted* are the columns and amounts that the pod requests; *reserved* is what nominated
        pods request. Nominated pods are too important to be among the victims, and a node that
        fits with them fits without them as well.
        """
        self._catch_up()
        table = self.table
        lower = self.priority[rows] < priority
        taken = table.pod_count[rows] + reserved.pods[rows]
        places_left = table.allowed_pods[rows] - taken + lower.sum(axis=1) - 1
        missing = (places_left < 0).astype(np.int64)
        free: list[IntArray] = []
        held: list[Grid] = []
        for bit, (column, amount) in enumerate(wanted, 1):
            amounts = self.amounts[column][rows]
            room = table.allocatable[column][rows] - table.requested[column][rows]
            room = room - reserved.requested[column][rows]
            room = room + np.where(lower, amounts, 0).sum(axis=1) - amount
            missing |= (room < 0).astype(np.int64) << bit
            free.append(room)
            held.append(amounts)
        missing[~lower.any(axis=1)] = NO_LOWER_PODS
        fits = missing == 0
        victims = lower & fits[:, None]
        for place in range(self.width):
            stays = victims[:, place] & (places_left > 0)
            if not victims[:, place].any():
                continue
            for room, amounts in zip(free, held, strict=True):
                stays &= room >= amounts[:, place]
            places_left -= stays
            for room, amounts in zip(free, held, strict=True):
                room -= np.where(stays, amounts[:, place], 0)
            victims[:, place] &= ~stays
        return DryRuns(rows, fits, missing, victims)

    def costs(self, runs: DryRuns) -> NDArray[np.int64]:
        """What each of the runs would cost, by `RUNGS`: less is better.

        No pod is covered by a budget here.
        """
        priority = np.where(runs.victims, self.priority[runs.rows], np.iinfo(np.int64).min)
        highest = priority.max(axis=1)
        started = self.started[runs.rows]
        oldest = np.where(runs.victims & (priority == highest[:, None]), started, _EMPTY)
        return np.stack(
            (
                np.zeros(len(runs.rows), np.int64),
                highest,
                np.where(runs.victims, priority + PRIORITY_OFFSET, 0).sum(axis=1),
                runs.victims.sum(axis=1),
                -oldest.min(axis=1),
            )
        )


class KeptRuns:
    """The dry runs of pods that ask for the same at the same priority, as columns over all rows.

    `look_at` runs a row the first time and after `forget`, and each time if a budget covers one of
    its pods.
    """

    def __init__(
        self, columns: VictimColumns, priority: int, wanted: Wanted, reserved: Reserved
    ) -> None:
        capacity = columns.table.capacity
        self._columns = columns
        self._priority = priority
        self._wanted = wanted
        self._reserved = reserved
        self._seen = columns.budgets.version, columns.starts
        # Of the rows on which budgets cover pods.
        self._covered: dict[int, RowRun] = {}
        self._known = np.zeros(capacity, np.bool_)
        self.fits = np.zeros(capacity, np.bool_)
        self.missing = np.zeros(capacity, np.int64)
        # Marks in the grid of places: the pods to evict.
        self.victims = np.zeros((capacity, columns.width), np.bool_)
        self._costs = np.zeros((len(RUNGS), capacity), np.int64)

    def forget(self, rows: list[int], reserved: Reserved) -> None:
        """*rows* have changed; from now on this is *reserved*."""
        for row in rows:
            self._known[row] = False
        self._reserved = reserved

    def look_at(self, rows: IntArray) -> None:
        """Make sure that *rows* are up to date."""
        columns = self._columns
        columns.refresh()
        if columns.width > self.victims.shape[1]:
            wider = columns.width - self.victims.shape[1]
            self.victims = np.pad(self.victims, ((0, 0), (0, wider)))
        seen = columns.version, columns.starts
        if self._seen != seen:
            self._seen = seen
            self._known[:] = False
            self._covered.clear()
        known = self._known.take(rows)
        if np.logical_and.reduce(known):
            return
        stale = rows[~known]
        if len(columns.budgets):
            covered = np.fromiter(map(columns.is_covered, stale.tolist()), np.bool_, len(stale))
            for row in stale[covered].tolist():
                self._covered[row] = self._run(row)
            stale = stale[~covered]
        self._known[stale] = True
        if len(stale) > _FEW_ROWS:
            self._run_together(stale)
            return
        for row in stale.tolist():
            self._run(row)
            self._covered.pop(row, None)

    def _run(self, row: int) -> RowRun:
        run = self._columns.try_row(self._priority, self._wanted, row, self._reserved)
        self.fits[row] = run.missing == 0
        self.missing[row] = run.missing
        self.victims[row] = False
        # A few numbers are written faster one by one.
        for place in run.victims:
            self.victims[row, place] = True
        for rung, cost in enumerate(run.costs):
            self._costs[rung, row] = cost
        return run

    def _run_together(self, rows: IntArray) -> None:
        columns = self._columns
        runs = columns.dry_run(self._priority, self._wanted, rows, self._reserved)
        self.fits[rows], self.missing[rows] = runs.fits, runs.missing
        self.victims[rows] = runs.victims
        self._costs[:, rows] = columns.costs(runs)
        for row in rows.tolist() if self._covered else ():
            self._covered.pop(row, None)

    def harmless(self, rows: IntArray, fits: BoolArray) -> BoolArray:
        """Which of *rows* fit the pod after evictions that break no budget."""
        if not len(self._columns.budgets):
            return fits
        return fits & (self.violations.take(rows) == 0)

    @property
    def violations(self) -> IntArray:
        """How many evictions would break a budget, for the rows that fit the pod."""
        return self._costs[0]

    def covered_on(self, rows: IntArray) -> dict[int, RowRun]:
        """The runs of those of *rows* on which budgets cover pods."""
        if not self._covered:
            return {}
        return {row: self._covered[row] for row in rows.tolist() if row in self._covered}

    def rungs(self, rows: IntArray) -> list[tuple[str, IntArray]]:
        """The criteria of the choice among *rows*, which all fit, and the rows left after each."""
        rungs: list[tuple[str, IntArray]] = []
        for name, costs in zip(RUNGS, self._costs, strict=True):
            values = costs.take(rows)
            rows = rows[values == np.minimum.reduce(values)]
            rungs.append((name, rows))
            if len(rows) == 1:
                break
        return rungs

    def pods_of(self, rows: IntArray) -> PodLists:
        """The pods on each of *rows*, which were looked at: the most important first.

        A row that changes gets another list.
        """
        return self._columns.lists.take(rows)


def start_time(pod: PodInfo) -> int:
    """When the pod started, in virtual nanoseconds; NOT_STARTED if it has not.

    Upstream: util.GetPodStartTime(), which returns the current time for a pod that has not started.
    """
    started = pod.pod.status.get("startTime")
    return nanoseconds_of(started) if started else NOT_STARTED


def importance(pod: PodInfo) -> tuple[int, int]:
    """Sort key, the most important first. Upstream: util.MoreImportantPod()."""
    return -pod.priority, start_time(pod)


def by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """*pods*, the most important first; those that are equal stay in order.

    Those that have not started are reversed: upstream takes the current time for each, which is
    later for the next. Upstream: sort.Slice() by MoreImportantPod(), of up to twelve pods.
    """
    started: list[PodInfo] = []
    waiting: list[PodInfo] = []
    for pod in pods:
        (started if pod.pod.status.get("startTime") else waiting).append(pod)
    return sorted((*started, *reversed(waiting)), key=importance)


def cost_of(victims: Sequence[PodInfo]) -> tuple[int, ...]:
    """What *victims* of one node cost by the `RUNGS` but the first: the less the better.

    The last is the earliest start among those of the highest priority, negated: the latest is best.
    Upstream: pickOneNodeForPreemption(), util.GetEarliestPodStartTime().
    """
    highest = max(pod.priority for pod in victims)
    oldest = min(start_time(pod) for pod in victims if pod.priority == highest)
    total = sum(pod.priority + PRIORITY_OFFSET for pod in victims)
    # Upstream takes the first for the highest, which is only right if they are sorted.
    return victims[0].priority, total, len(victims), -oldest

"""Dry runs of preemption on many nodes at once, for pods that only lack room.

The pods of every row are kept sorted by importance in columns: one column per place, so that "put
the most important ones back as long as the preemptor fits" is one array operation per place for
all nodes together. It answers what the node-by-node dry run of `preemption` answers whenever the
only filter in question is the one for resources and no disruption budget is involved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kscope.sim.units import nanoseconds_of
from scheduling.engine.framework import BoolArray, IntArray
from scheduling.engine.node_table import NodeTable
from scheduling.engine.pod_info import PodInfo

# No pod is below this, so that empty places never count as victims.
_NOBODY = np.iinfo(np.int64).max
_PRIORITY_OFFSET = 1 << 31
# A pod that has not started yet counts as the most recent.
_NOT_STARTED = 1 << 62

Grid = NDArray[np.int64]
Mask = NDArray[np.bool_]


def _empty_grid() -> Grid:
    return np.zeros((0, 0), np.int64)


def _empty_cube() -> NDArray[np.int64]:
    return np.zeros((0, 0, 0), np.int64)


@dataclass(slots=True)
class DryRuns:
    """For each of `rows`: whether it would do, who would have to go, or why not.

    `victims` are marks in the grid of places; `missing` the resource filter's code without its top
    bit, 0 where the pod fits after all evictions; `nobody` marks rows without lower pods.
    """

    rows: IntArray
    fits: BoolArray
    nobody: BoolArray
    missing: IntArray
    lower: Mask
    victims: Mask


@dataclass(slots=True)
class VictimColumns:
    """The pods of all nodes, most important first, as columns brought up to date from the log."""

    table: NodeTable
    position: int = -1
    width: int = 0
    pods: list[list[PodInfo]] = field(default_factory=list[list[PodInfo]])
    priority: Grid = field(default_factory=_empty_grid)
    started: Grid = field(default_factory=_empty_grid)
    amounts: NDArray[np.int64] = field(default_factory=_empty_cube)

    def refresh(self) -> None:
        """Take over what changed since the last call."""
        table = self.table
        changed = None if self.position < 0 else table.changed_since(self.position)
        widest = int(table.pod_count.max()) if table.capacity else 0
        shape = len(table.resource_names), table.capacity
        if changed is None or widest > self.width or self.amounts.shape[:2] != shape:
            self.width = max(widest, self.width)
            self.pods = [[] for _ in range(table.capacity)]
            self.priority = np.full((table.capacity, self.width), _NOBODY, np.int64)
            self.started = np.zeros((table.capacity, self.width), np.int64)
            self.amounts = np.zeros((*shape, self.width), np.int64)
            changed = [row for row in range(table.capacity) if table.pods[row]]
        for row in dict.fromkeys(changed):
            self._read(row)
        self.position = table.log_end

    def _read(self, row: int) -> None:
        pods = sorted(self.table.pods[row].values(), key=importance)
        self.pods[row] = pods
        self.priority[row] = _NOBODY
        self.amounts[:, row] = 0
        for place, pod in enumerate(pods):
            self.priority[row, place] = pod.priority
            self.started[row, place] = start_time(pod)
            for column, amount in self.table.amounts(pod.resources.requested):
                self.amounts[column, row, place] = amount

    def dry_run(self, pod: PodInfo, rows: IntArray) -> DryRuns:
        """Evict everybody below *pod* on each of *rows*, then put back who may stay."""
        table = self.table
        lower = self.priority[rows] < pod.priority
        wanted = table.amounts(pod.resources.fit)
        places_left = table.allowed_pods[rows] - table.pod_count[rows] + lower.sum(axis=1) - 1
        missing = (places_left < 0).astype(np.int64)
        free: list[IntArray] = []
        held: list[Grid] = []
        for bit, (column, amount) in enumerate(wanted, 1):
            amounts = self.amounts[column][rows]
            room = table.allocatable[column][rows] - table.requested[column][rows]
            room = room + np.where(lower, amounts, 0).sum(axis=1) - amount
            missing |= (room < 0).astype(np.int64) << bit
            free.append(room)
            held.append(amounts)
        nobody: BoolArray = np.logical_not(np.any(lower, axis=1))
        fits = (missing == 0) & ~nobody
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
        return DryRuns(rows, fits, nobody, missing, lower, victims)

    def cheapest(self, runs: DryRuns, kept: BoolArray) -> list[tuple[str, BoolArray]]:
        """The rungs of the choice among the *kept* rows: name and who is left after each.

        Nobody breaks a budget here, so the first rung leaves everybody.
        """
        priority = np.where(runs.victims, self.priority[runs.rows], np.iinfo(np.int64).min)
        highest = priority.max(axis=1)
        started = self.started[runs.rows]
        oldest = np.where(runs.victims & (priority == highest[:, None]), started, _NOBODY)
        costs = (
            ("fewest PDB violations", np.zeros(len(runs.rows), np.int64)),
            ("lowest highest priority", highest),
            (
                "smallest priority sum",
                np.where(runs.victims, priority + _PRIORITY_OFFSET, 0).sum(axis=1),
            ),
            ("fewest victims", runs.victims.sum(axis=1)),
            ("latest start time", -oldest.min(axis=1)),
        )
        left = kept
        rungs: list[tuple[str, BoolArray]] = []
        for name, cost in costs:
            left = left & (cost == cost[left].min())
            rungs.append((name, left))
            if int(left.sum()) == 1:
                break
        return rungs

    def split(self, runs: DryRuns, place: int) -> tuple[list[PodInfo], list[PodInfo]]:
        """Victims and reprieved pods of one dry run."""
        pods = self.pods[int(runs.rows[place])]
        victims = [pod for at, pod in enumerate(pods) if runs.victims[place, at]]
        stay = runs.lower[place] & ~runs.victims[place]
        return victims, [pod for at, pod in enumerate(pods) if stay[at]]


def start_time(pod: PodInfo) -> int:
    """When the pod started, in virtual nanoseconds; beyond all times when it has not.

    Upstream: util.GetPodStartTime() says "now" of a pod that has not started.
    """
    started = pod.pod.status.get("startTime")
    return nanoseconds_of(started) if started else _NOT_STARTED


def importance(pod: PodInfo) -> tuple[int, int]:
    """Sort key, the most important first. Upstream: util.MoreImportantPod()."""
    return -pod.priority, start_time(pod)

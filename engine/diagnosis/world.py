"""What one scheduler knows, copied: where a change would put the pod, decided and nothing else.

No time passes here and no controller acts. It takes milliseconds where a fork of the whole cluster
takes a good part of a second, so most changes are ruled out here; what is left is shown in a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.cluster.commands import Command
from engine.diagnosis.fork import Original
from engine.framework.explaining.manifests import CORDON_TAINT
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import PodTemplate
from engine.framework.simple import author_of
from engine.objects.kinds import split_entity_id
from engine.objects.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    from_manifest,
)
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult

_KINDS = {
    "csistoragecapacity": "CSIStorageCapacity",
    "csinode": "CSINode",
    "namespace": "Namespace",
}


@dataclass(slots=True)
class Undo:
    """What takes a trial back, newest last."""

    steps: list[tuple[Callable[..., object], tuple[Any, ...]]] = field(
        default_factory=list[tuple[Callable[..., object], tuple[Any, ...]]]
    )

    def later(self, method: Callable[..., object], *args: Any) -> None:
        self.steps.append((method, args))

    def run(self) -> None:
        for method, args in reversed(self.steps):
            method(*args)


class World:
    """A copy of the scheduler's node table and listers, and the pod in question.

    Extenders are left out: they are not asked about what is only tried.
    """

    def __init__(self, algorithm: SchedulingAlgorithm, pod: Pod) -> None:
        # The order in which the cache holds the pods of a node is read from the cache itself, which
        # stands still meanwhile, and so does the clock. A copy of either would be one of the whole
        # cluster.
        shared = [algorithm.table.lister, algorithm.handle.loop]
        handle, nominated = Original(
            (algorithm.handle, algorithm.nominated), shared, shares_pods=True
        ).copy()
        # Every node is looked at, whatever the profile samples.
        profile = replace(algorithm.profile, percentage=100)
        self.algorithm = SchedulingAlgorithm(profile, handle, nominated=nominated)
        self.table = handle.table
        self.listers = handle.listers
        self.pod = pod

    @classmethod
    def over(cls, algorithm: SchedulingAlgorithm, pod: Pod) -> World:
        """The view that *algorithm* itself has, not a copy of it: trials are taken back as ever.

        For a cluster without other users meanwhile, and for many pods in turn.
        """
        world = cls.__new__(cls)
        world.algorithm = algorithm
        world.table = algorithm.table
        world.listers = algorithm.handle.listers
        world.pod = pod
        return world

    def info(self, pod: Pod | None = None) -> PodInfo:
        """The pod, or another version of it, as the scheduler sees it."""
        return PodInfo(self.pod if pod is None else pod, self.algorithm.profile.resource_rules)

    def template(self) -> PodTemplate:
        """What the scheduler reads from the manifest of the pod."""
        return self.algorithm.handle.templates.of(self.info())

    def plugin(self, name: str) -> object:
        """The plugin of that name as its author wrote it; None where the profile has none."""
        found = self.algorithm.framework.plugins.by_name.get(name)
        return None if found is None else author_of(found)

    def gates(self, pod: Pod) -> tuple[str, ...]:
        """The reasons why *pod* may not even enter the queue."""
        info = self.info(pod)
        statuses = [
            plugin.pre_enqueue(info) for plugin in self.algorithm.framework.plugins.pre_enqueue
        ]
        return tuple(status.message for status in statuses if not status.is_success)

    def decide(self) -> ScheduleResult:
        """The decision on the pod as it is, gates aside, with every verdict kept."""
        self.algorithm.handle.next_start = 0
        return self.algorithm.schedule(self.info(), by_columns=True)

    def node_after(self, command: Command, *, evicting: bool = False) -> str:
        """The node the pod would go to once *command* has been carried out; "" for none.

        With *evicting* also one where evictions would make room.
        """
        undo = Undo()
        try:
            pod = self._changed(command, undo)
            if self.gates(pod):
                return ""
            self.algorithm.handle.next_start = 0
            decided = self.algorithm.schedule(self.info(pod), explain=False)
            if decided.result == SCHEDULED:
                return decided.node or ""
            preemption = self.algorithm.preempt(decided) if evicting else None
            return preemption.chosen.node if preemption and preemption.chosen else ""
        finally:
            undo.run()

    @contextmanager
    def laid(self, command: Command) -> Generator[None]:
        """*command* laid over the world, to look at it then."""
        undo, before = Undo(), self.pod
        try:
            self.pod = self._changed(command, undo)
            yield
        finally:
            self.pod = before
            undo.run()

    def fits_without(self, row: int, other: PodInfo, other_row: int) -> bool:
        """Whether the pod fits the node at *row* once *other* has left its own."""
        self.table.remove_pod(other_row, other.key)
        try:
            rows = np.array([row], np.int64)
            search = self.algorithm.framework.find_feasible(
                self.info(), rows, self.algorithm.nominated
            )
            return len(search.feasible) > 0
        finally:
            self.table.add_pod(other_row, other)

    @property
    def has_lower_priorities(self) -> bool:
        """Whether any node has a pod less important than the one in question."""
        return self.table.lowest_priority < self.pod.priority

    def nodes(self) -> Iterable[tuple[int, Node]]:
        """All nodes with their rows, in the order they were added."""
        nodes = self.table.nodes
        rows: list[int] = self.table.active.tolist()
        return [(row, node) for row in rows if (node := nodes[row]) is not None]

    def nodes_beside(self, names: Iterable[str]) -> list[Node]:
        """The nodes without those of *names*, in the order they were added."""
        table, others = self.table, frozenset(names)
        left = (row for name, row in table.rows.items() if name not in others)
        return [table.node(row) for row in left]

    def volumes(self) -> list[PersistentVolume]:
        """All volumes."""
        found = self.listers.all(PersistentVolume.KIND)
        return [obj for obj in found if isinstance(obj, PersistentVolume)]

    def storage_classes(self) -> list[StorageClass]:
        """All storage classes, the default ones first, then by name."""
        found = [
            obj for obj in self.listers.all(StorageClass.KIND) if isinstance(obj, StorageClass)
        ]
        return sorted(found, key=_default_first)

    # -- commands, as far as they concern a decision ---------------------------------------------

    def _changed(self, command: Command, undo: Undo) -> Pod:
        """Lay *command* over the world; returns the pod as it is then."""
        if command.verb in ("create", "replace"):
            return self._put_new(from_manifest(command.manifest or {}), undo)
        kind, key = split_entity_id(command.object)
        if kind == "pod":
            return self._changed_pod(command, key, undo)
        if kind == "node":
            node = self.table.node(self.table.rows[key])
            self._put_node(_changed_node(node, command), undo)
            return self.pod
        old = self.listers.get(_KINDS.get(kind, kind), key)
        assert old is not None, f"{command.object} is not known here"
        self._put(old.patched(command.patch or {}), undo)
        return self.pod

    def _changed_pod(self, command: Command, key: str, undo: Undo) -> Pod:
        if command.verb == "delete":
            self._remove_pod(key, undo)
            return self.pod
        assert key == self.pod.key, f"{key} is not the pod in question"
        return self.pod.patched(command.patch or {})

    def _put_new(self, obj: ApiObject, undo: Undo) -> Pod:
        if isinstance(obj, Pod):
            assert obj.key == self.pod.key, f"{obj.key} is not the pod in question"
            # The node nominated to the old pod is not kept free for its successor.
            for node, nominated in self._nominations():
                self.algorithm.nominated.remove(nominated.key)
                undo.later(self.algorithm.nominated.add, node, nominated)
            return obj
        if isinstance(obj, Node):
            self._put_node(obj, undo)
        else:
            self._put(_settled(obj), undo)
        return self.pod

    def _nominations(self) -> list[tuple[str, PodInfo]]:
        nominated = self.algorithm.nominated
        return [
            (self.table.name(row), info)
            for row in self.table.active.tolist()
            for info in nominated.at(row)
            if info.key == self.pod.key
        ]

    def _put_node(self, node: Node, undo: Undo) -> None:
        row = self.table.rows.get(node.name)
        if row is None:
            self.table.add_node(node)
            undo.later(self.table.remove_node, node.name)
        else:
            undo.later(self.table.add_node, self.table.node(row))
            self.table.add_node(node)

    def _put(self, obj: ApiObject, undo: Undo) -> None:
        old = self.listers.get(obj.kind, obj.key)
        if old is None:
            undo.later(self.listers.remove, obj.kind, obj.key)
        else:
            undo.later(self.listers.put, old)
        self.listers.put(obj)

    def _remove_pod(self, key: str, undo: Undo) -> None:
        for row in self.table.active.tolist():
            if key in self.table.pods[row]:
                undo.later(self.table.add_pod, row, self.table.remove_pod(row, key))


def _changed_node(node: Node, command: Command) -> Node:
    if command.verb != "uncordon":
        return node.patched(command.patch or {})
    # The node controller takes the taint away that it put there for the cordon.
    taints = [each for each in node.taints if each.get("key") != CORDON_TAINT]
    spec: Manifest = {"unschedulable": None}
    if len(taints) != len(node.taints):
        spec["taints"] = taints
    return node.patched({"spec": spec})


def _settled(obj: ApiObject) -> ApiObject:
    """As its controller leaves it: a volume is Available, a claim waits."""
    phases = {PersistentVolume.KIND: "Available", PersistentVolumeClaim.KIND: "Pending"}
    phase = phases.get(obj.kind)
    return (
        obj
        if phase is None or obj.status.get("phase")
        else obj.patched({"status": {"phase": phase}})
    )


def _default_first(storage_class: StorageClass) -> tuple[bool, str]:
    return not storage_class.is_default, storage_class.name

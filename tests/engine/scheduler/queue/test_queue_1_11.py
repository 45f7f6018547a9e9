"""The queue of v1.11: activeQ in the order of Go's heap, unschedulableQ, and no backoff.

Upstream: v1.11 pkg/scheduler/core/scheduling_queue.go PriorityQueue.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest

from engine.cluster.cluster import Cluster
from engine.framework import cluster_events as events
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.queue.go_heap import GoHeap
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from engine.versions.registry import VERSIONS
from tests.builders import node, pod, scene
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod


def queue_of(version: str = "v1.11") -> SchedulingQueue:
    return SchedulingQueue(VERSIONS[version].queue, ManualClock())


def failed(queue: SchedulingQueue, *, fits_nowhere: bool = True) -> QueuedPodInfo:
    """Pop a pod and give it back."""
    info = queue.pop()
    assert info is not None
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle, fits_nowhere=fits_nowhere)
    return info


def popped(queue: SchedulingQueue) -> str:
    """The names of all pods in the order in which they are popped."""
    found: list[str] = []
    while (info := queue.pop()) is not None:
        found.append(info.pod.name)
    return "".join(found)


@pytest.mark.parametrize(("version", "order"), [("v1.11", "aedcb"), ("v1.16", "abcde")])
def test_equal_pods_leave_in_heap_order(version: str, order: str) -> None:
    queue = queue_of(version)
    for name in "abcde":
        queue.add(make_pod(name))
    listed = "".join(entry[3].pod.name for entry in queue.places.active.ordered())
    assert (listed, popped(queue)) == (order, order)


def test_higher_priority_still_goes_first() -> None:
    queue = queue_of()
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", 9)):
        queue.add(make_pod(name, priority=priority))
    assert popped(queue)[:3] in ("ebd", "edb")


@dataclass
class LiteralHeap:
    """container/heap on pairs of priority and name, as Go writes it."""

    items: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def less(self, i: int, j: int) -> bool:
        return self.items[i][0] > self.items[j][0]

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def up(self, j: int) -> None:
        while True:
            i = (j - 1) // 2 if j else 0
            if i == j or not self.less(j, i):
                break
            self.swap(i, j)
            j = i

    def down(self, i0: int, n: int) -> bool:
        i = i0
        while True:
            j1 = 2 * i + 1
            if j1 >= n:
                break
            j = j1
            if j1 + 1 < n and self.less(j1 + 1, j1):
                j = j1 + 1
            if not self.less(j, i):
                break
            self.swap(i, j)
            i = j
        return i > i0

    def push(self, priority: int, name: str) -> None:
        place = next((at for at, item in enumerate(self.items) if item[1] == name), None)
        if place is None:
            self.items.append((priority, name))
            self.up(len(self.items) - 1)
            return
        self.items[place] = (priority, name)
        if not self.down(place, len(self.items)):
            self.up(place)

    def pop(self) -> str:
        self.swap(0, len(self.items) - 1)
        self.down(0, len(self.items) - 1)
        return self.items.pop()[1]

    def remove(self, name: str) -> None:
        place = next(at for at, item in enumerate(self.items) if item[1] == name)
        last = len(self.items) - 1
        if place != last:
            self.swap(place, last)
            if not self.down(place, last):
                self.up(place)
        self.items.pop()


@pytest.mark.parametrize("seed", range(20))
def test_the_heap_moves_like_the_literal_one(seed: int) -> None:
    draw, ours, literal = Random(seed), GoHeap(), LiteralHeap()
    queue = queue_of()
    infos = {name: queue.add(make_pod(name)) for name in map(str, range(30))}
    for _ in range(400):
        waiting = [name for _, name in literal.items]
        what = draw.randrange(4)
        if what < 2:
            name, priority = draw.choice([*infos]), draw.randrange(4)
            ours.put(infos[name], (-priority,))
            literal.push(priority, name)
        elif waiting and what == 2:
            name = draw.choice(waiting)
            assert ours.remove(f"default/{name}") is infos[name]
            literal.remove(name)
        elif waiting:
            assert ours.pop() is infos[literal.pop()]
        assert len(ours) == len(literal.items)
        order = LiteralHeap(list(literal.items))
        listed = [entry[3].pod.name for entry in ours.ordered()]
        assert listed == [order.pop() for _ in listed]


def test_an_unschedulable_pod_waits_for_a_move() -> None:
    queue = queue_of()
    queue.add(make_pod("p"))
    assert failed(queue).place == "unschedulable"
    assert queue.flush_times.next_leftover_due() == 10 * SECOND
    queue.move_all_to_active_or_backoff(events.NODE_ADD, None, make_node("n"))
    # There is no backoff, however often it failed.
    assert popped(queue) == "p"


@pytest.mark.parametrize(("fits_nowhere", "place"), [(True, "unschedulable"), (False, "backoff")])
def test_only_unschedulable_pods_are_laid_aside(fits_nowhere: bool, place: str) -> None:
    """Upstream: AddUnschedulableIfNotPresent(), isPodUnschedulable()."""
    queue = queue_of()
    queue.add(make_pod("p"))
    info = failed(queue, fits_nowhere=fits_nowhere)
    assert info.place == place
    if place == "backoff":
        # In place of the read of the pod that upstream makes first.
        assert queue.flush_times.next_backoff_expiry() == 100 * MILLISECOND


def test_move_during_an_attempt_counts_until_the_next() -> None:
    """Upstream: receivedMoveRequest, which Pop() clears."""
    queue = queue_of()
    for name in "ab":
        queue.add(make_pod(name))
    first = queue.pop()
    assert first is not None
    queue.move_all_to_active_or_backoff(events.NODE_ADD, None, make_node("n"))
    queue.add_unschedulable_if_not_present(first, queue.scheduling_cycle)
    assert first.place == "backoff"
    assert failed(queue).place == "unschedulable"


@pytest.mark.parametrize(
    ("event", "kind", "moves"),
    [
        (events.CLAIM_ADD, "PersistentVolumeClaim", ("v1.11", "v1.16")),
        (events.CLAIM_UPDATE, "PersistentVolumeClaim", ("v1.11", "v1.16")),
        (events.SERVICE_UPDATE, "Service", ("v1.11", "v1.16")),
        (events.VOLUME_ADD, "PersistentVolume", ("v1.16",)),
        (events.VOLUME_UPDATE, "PersistentVolume", ("v1.16",)),
        (events.STORAGE_CLASS_ADD, "StorageClass", ("v1.16",)),
        (events.CSI_NODE_ADD, "CSINode", ("v1.16",)),
        (events.CLAIM_DELETE, "PersistentVolumeClaim", ()),
    ],
)
def test_some_kinds_move_no_pod_yet(
    event: events.ClusterEvent, kind: str, moves: tuple[str, ...]
) -> None:
    """Upstream: v1.11 factory.go NewConfigFactory()."""
    fields = {"volumeBindingMode": "WaitForFirstConsumer"} if kind == "StorageClass" else {}
    changed = from_manifest({"kind": kind, "metadata": {"name": "o"}, **fields})
    for version in ("v1.11", "v1.16"):
        queue = queue_of(version)
        queue.add(make_pod("p"))
        info = failed(queue)
        queue.move_all_to_active_or_backoff(event, None, changed)
        assert (info.place != "unschedulable") is (version in moves)


@pytest.mark.parametrize(("version", "place"), [("v1.11", "active"), ("v1.16", "unschedulable")])
def test_any_update_of_a_node_moves_pods(version: str, place: str) -> None:
    """Upstream: v1.11 factory.go updateNodeInCache()."""
    queue = queue_of(version)
    queue.add(make_pod("p"))
    info = failed(queue)
    old = make_node("n")
    queue.node_updated(old, old.with_metadata(annotations={"seen": "again"}))
    assert info.place == place


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda one: one.patched({"status": {"reason": "x"}}), "unschedulable"),
        (lambda one: one.with_metadata(labels={"a": "b"}), "active"),
    ],
)
def test_update_moves_a_pod_unless_it_is_status(change: Callable[[Pod], Pod], place: str) -> None:
    queue, old = queue_of(), make_pod("p")
    queue.add(old)
    info = failed(queue)
    queue.update(old, change(old))
    assert info.place == place


def test_kubelets_that_report_wake_all_pods() -> None:
    cluster = Cluster.create(scene(node("n", cpu="1"), pod("big", cpu="2")), profile="v1.11")
    cluster.advance(60 * SECOND)
    tried = [one.at for one in cluster.take().attempts]
    assert len(tried) == 6
    assert all(later - earlier == 10 * SECOND for earlier, later in pairwise(tried[1:]))

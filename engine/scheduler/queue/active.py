"""activeQ: the pods to be tried, highest priority first. And the pods being tried right now."""

from __future__ import annotations

from typing import Any, Protocol

from engine.framework.cluster_events import ClusterEvent
from engine.scheduler.queue.go_heap import GoHeap
from engine.scheduler.queue.heap import Entry, KeyedHeap, SortKey
from engine.scheduler.queue.queued_pod import QueuedPodInfo


class QueueSort(Protocol):
    """Orders activeQ. A QueueSort plugin gives a key, which must not change while a pod waits."""

    def sort_key(self, info: QueuedPodInfo) -> SortKey:
        """Smaller goes first."""
        ...


class PrioritySort:
    """Priority, highest first; then the pod that has been in the queue longest."""

    name = "PrioritySort"

    def sort_key(self, info: QueuedPodInfo) -> SortKey:
        """Upstream: plugins/queuesort/priority_sort.go Less()."""
        return (-info.pod_info.priority, info.timestamp)


class ByPriorityOnly:
    """Priority, highest first. Upstream: v1.11 util.HigherPriorityPod()."""

    name = "HigherPriorityPod"

    def sort_key(self, info: QueuedPodInfo) -> SortKey:
        """See QueueSort."""
        return (-info.pod_info.priority,)


class ActiveQueue:
    """The heap of pods that are ready to be tried."""

    __slots__ = ("_heap", "_sort", "live")

    def __init__(self, sort: QueueSort) -> None:
        self._heap = GoHeap() if isinstance(sort, ByPriorityOnly) else KeyedHeap()
        # By key; only to be looked at from outside.
        self.live = self._heap.live
        self._sort = sort

    def __len__(self) -> int:
        return len(self._heap)

    def __contains__(self, key: object) -> bool:
        return key in self._heap

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with this key, if it is here."""
        return self._heap.get(key)

    def put(self, info: QueuedPodInfo) -> None:
        """Add the pod, or find its place again after it changed."""
        self._heap.put(info, self._sort.sort_key(info))

    def pop(self) -> QueuedPodInfo | None:
        """Take out the first pod."""
        return self._heap.pop()

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take out the pod with this key, if it is here."""
        return self._heap.remove(key)

    def ordered(self) -> list[Entry]:
        """Every entry, first to last."""
        return self._heap.ordered()

    def sort_key(self, info: QueuedPodInfo) -> SortKey:
        """What this queue would order the pod by."""
        return self._sort.sort_key(info)


class EventInFlight:
    """A cluster event that arrived while some pod was being tried."""

    __slots__ = ("event", "new", "old")

    def __init__(self, event: ClusterEvent, old: Any, new: Any) -> None:
        self.event = event
        self.old = old
        self.new = new


class InFlight:
    """The pods between pop and done, and the events each has missed.

    Upstream: active_queue.go inFlightPods and inFlightEvents: one list of events in which every
    popped pod marks where it began; events before the oldest mark are dropped.
    """

    __slots__ = ("_dropped", "_events", "pods")

    def __init__(self) -> None:
        self._events: list[EventInFlight] = []
        self._dropped = 0
        # By uid: the mark, and the pod. Only to be looked at from outside.
        self.pods: dict[str, tuple[int, QueuedPodInfo]] = {}

    def __len__(self) -> int:
        return len(self.pods)

    def __contains__(self, uid: object) -> bool:
        return uid in self.pods

    def start(self, info: QueuedPodInfo) -> None:
        """The pod was popped."""
        uid = info.pod_info.uid
        present = self.pods.get(uid)
        # A pod that is in flight twice keeps its first mark, or events would be lost to it.
        mark = self._dropped + len(self._events) if present is None else present[0]
        self.pods[uid] = mark, info

    def done(self, uid: str) -> QueuedPodInfo | None:
        """The attempt is over; what the pod was, or None when it was not in flight."""
        present = self.pods.pop(uid, None)
        if present is None:
            return None
        if self._events:
            marks = (mark for mark, _ in self.pods.values())
            oldest = next(marks, self._dropped + len(self._events))
            if oldest > self._dropped:
                del self._events[: oldest - self._dropped]
                self._dropped = oldest
        return present[1]

    def by_key(self, key: str) -> QueuedPodInfo | None:
        """The pod in flight with this namespace/name; the last of several."""
        found = (info for _, info in reversed(self.pods.values()) if info.key == key)
        return next(found, None)

    def add_event(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Remember the event for the pods in flight."""
        if self.pods:
            self._events.append(EventInFlight(event, old, new))

    def events_for(self, uid: str) -> list[EventInFlight]:
        """The events since the pod was popped. Raises KeyError when it is not in flight."""
        mark, _ = self.pods[uid]
        return self._events[mark - self._dropped :]

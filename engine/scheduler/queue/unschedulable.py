"""The pods that were tried, or held back at a gate, and wait for the cluster to change."""

from __future__ import annotations

from engine.scheduler.queue.heap import ChangeCount, KeyedHeap
from engine.scheduler.queue.queued_pod import QueuedPodInfo


class UnschedulablePods:
    """Pods by key, in order of arrival. Upstream: unschedulable_pods.go UnschedulablePods.

    A heap by timestamp beside them finds the pod that has been there longest. Gated pods are not in
    it, because a plugin opens their gates, and waiting does not.
    """

    __slots__ = ("_by_age", "gated_count", "pods")

    def __init__(self, changes: ChangeCount | None = None) -> None:
        # By key. Only to be looked at from outside.
        self.pods: dict[str, QueuedPodInfo] = {}
        self._by_age = KeyedHeap(changes)
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self.pods)

    def __contains__(self, key: object) -> bool:
        return key in self.pods

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with this key, if it is here."""
        return self.pods.get(key)

    def put(self, info: QueuedPodInfo) -> None:
        """Add the pod, or replace the one with its key."""
        present = self.pods.get(info.key)
        if present is not None and present.place == "gated":
            self.gated_count -= 1
        self.pods[info.key] = info
        if info.gated:
            self.gated_count += 1
            self._by_age.remove(info.key)
        else:
            self._by_age.put(info, (info.timestamp,))

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take out the pod with this key, if it is here."""
        info = self.pods.pop(key, None)
        if info is None:
            return None
        if info.place == "gated":
            self.gated_count -= 1
        else:
            self._by_age.remove(key)
        return info

    def infos(self) -> list[QueuedPodInfo]:
        """Every pod, gated ones too, in order of arrival."""
        return list(self.pods.values())

    def oldest(self) -> QueuedPodInfo | None:
        """The pod that came back first, gated ones aside."""
        return self._by_age.peek()

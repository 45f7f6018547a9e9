"""The pods that were tried, or held back at a gate, and wait for the cluster to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.framework.cluster_events import PERSISTENT_VOLUME_CLAIM, RESOURCE_CLAIM
from engine.framework.registrations import Subject
from engine.kernel.groups import Groups
from engine.objects.objects import Pod
from engine.objects.pods.resource_claims import claims_named
from engine.scheduler.queue.heap import ChangeCount, KeyedHeap
from engine.scheduler.queue.queued_pod import QueuedPodInfo

# Who "rejected" a pod that no plugin did.
_NOBODY = ("",)


class UnschedulablePods:
    """Pods by key, in order of arrival. Upstream: unschedulable_pods.go UnschedulablePods.

    A heap by timestamp beside them finds the pod that has been there longest. Gated pods are not in
    it, because a plugin opens their gates, and waiting does not.
    """

    __slots__ = ("_by_age", "_groups", "gated_count", "pods")

    def __init__(self, changes: ChangeCount | None = None) -> None:
        # By key. Only to be looked at from outside.
        self.pods: dict[str, QueuedPodInfo] = {}
        self._by_age = KeyedHeap(changes)
        # By what they name, and by the plugins that rejected them.
        self._groups: Groups[str] = Groups()
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
        self.note(info)
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
        self._groups.drop(key)
        if info.place == "gated":
            self.gated_count -= 1
        else:
            self._by_age.remove(key)
        return info

    def infos(self) -> list[QueuedPodInfo]:
        """Every pod, gated ones too, in order of arrival."""
        return list(self.pods.values())

    def note(self, info: QueuedPodInfo) -> None:
        """The pod, which is here, has changed."""
        plugins = {**info.unschedulable_plugins, **info.pending_plugins} or _NOBODY
        self._groups.put(info.key, [*_objects_named(info.pod), *((name,) for name in plugins)])

    def concerned(self, subjects: Iterable[Subject], plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """Pods that name one of *subjects*, or that one of *plugins*, or none, rejected.

        In order of arrival.
        """
        groups = [*subjects, *((name,) for name in (*plugins, *_NOBODY))]
        return [self.pods[key] for key in self._groups.of(groups)]

    def oldest(self) -> QueuedPodInfo | None:
        """The pod that came back first, gated ones aside."""
        return self._by_age.peek()


def _objects_named(pod: Pod) -> Iterator[Subject]:
    """The objects that events of which are about the pod."""
    for name in claims_named(pod):
        yield RESOURCE_CLAIM, f"{pod.namespace}/{name}"
    for name in pod.claim_names:
        yield PERSISTENT_VOLUME_CLAIM, f"{pod.namespace}/{name}"

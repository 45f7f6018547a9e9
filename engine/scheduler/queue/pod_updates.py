"""What the update of a waiting pod does to its place in the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import UNSCHEDULED_POD_UPDATE, ClusterEvent
from engine.framework.rules.queue import QueueRules
from engine.scheduler.queue.backoff import BackoffPolicy
from engine.scheduler.queue.nominator import Nominator
from engine.scheduler.queue.places import QueuePlaces
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.requeueing import Requeueing

if TYPE_CHECKING:
    from engine.objects.objects import Pod


class PodUpdates:
    """Gives waiting pods their newer versions, and moves those that may fit now.

    Upstream: scheduling_queue.go Update().
    """

    __slots__ = ("_backoff_policy", "_nominator", "_places", "_requeueing", "rules")

    def __init__(
        self,
        rules: QueueRules,
        places: QueuePlaces,
        requeueing: Requeueing,
        backoff_policy: BackoffPolicy,
        nominator: Nominator,
    ) -> None:
        self.rules = rules
        self._places = places
        self._requeueing = requeueing
        self._backoff_policy = backoff_policy
        self._nominator = nominator

    def update(self, old: Pod | None, new: Pod, events: list[ClusterEvent]) -> bool:
        """Update the pod, whose change means *events* (v1.34); False when it is not waiting."""
        if old is not None and self._update_ready(old, new):
            return True
        info = self._places.unschedulable.get(new.key)
        if info is None:
            return False
        info.update(new)
        self._places.unschedulable.note(info)
        self._nominator.update(old, info.pod_info)
        self._update_unschedulable(info, old, new, events)
        return True

    def _update_ready(self, old: Pod, new: Pod) -> bool:
        """Update the pod in activeQ or backoffQ; False when it is in neither."""
        info = self._places.active.get(old.key)
        if info is not None:
            info.update(new)
            self._nominator.update(old, info.pod_info)
            self._places.active.put(info)
            return True
        info = self._places.backoff.get(old.key)
        if info is None:
            return False
        info.update(new)
        self._nominator.update(old, info.pod_info)
        if self.rules.update_leaves_backoff:
            self._places.backoff.remove(info.key)
            self._places.active.put(info)
            self._places.arrive(info, "active", self.rules.event_name(UNSCHEDULED_POD_UPDATE))
        else:
            self._places.backoff.put(info)
        return True

    def _update_unschedulable(
        self, info: QueuedPodInfo, old: Pod | None, new: Pod, events: list[ClusterEvent]
    ) -> None:
        if self.rules.hints:
            for event in events:
                strategy = self._requeueing.worth_requeuing(info, event, old, new)
                self._places.requeue(info, strategy, event.label)
                if info.place in ("active", "backoff"):
                    return
        elif old is None or is_pod_updated(old, new) or self._is_status_updated(old, new):
            self._backoff_policy.clear(info.key)
            self._places.move_to_active(info, self.rules.event_name(UNSCHEDULED_POD_UPDATE))
        # Otherwise the update cannot have made it schedulable, and it stays.

    def _is_status_updated(self, old: Pod, new: Pod) -> bool:
        return self.rules.status_counts and _fields(old.status) != _fields(new.status)


def is_pod_updated(old: Pod, new: Pod) -> bool:
    """Did more change than status, resourceVersion and generation? Upstream: isPodUpdated()."""
    return _stripped(old) != _stripped(new)


def _stripped(pod: Pod) -> dict[str, Any]:
    bare = {name: value for name, value in pod.raw.items() if name != "status"}
    bare["metadata"] = {
        name: value
        for name, value in pod.metadata.items()
        if name not in ("resourceVersion", "generation")
    }
    return bare


def _fields(status: Mapping[str, Any]) -> list[str]:
    """The fields that have an owner: those that managedFields lists, whatever their values."""
    fields = [name for name, value in status.items() if value]
    for condition in status.get("conditions") or ():
        fields += [f"{condition['type']}/{name}" for name in condition]
    return sorted(fields)

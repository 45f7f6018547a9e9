"""What the scheduler's watches bring: informer events become moves of the cache and the queue.

Upstream: pkg/scheduler/eventhandlers.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from engine.api_server.store.watches import AT_ONCE, WatchEvent
from engine.framework import cluster_events as cluster_events
from engine.framework.cluster_events import ClusterEvent
from engine.framework.pod_groups.groups import POD_GROUP, group_of, groups_of
from engine.framework.pods.pod_info import PodInfo, requests_changed
from engine.framework.waiting_pods import WaitingPod
from engine.kernel.view import Attributes
from engine.objects.device_taint_rules import DEVICE_TAINT_RULE
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, Pod
from engine.scheduler.cycle.binding.binding_cycle import BindingCycle
from engine.scheduler.cycle.state import SchedulerState

# Under this name the boundary holds back a pod whose attempt has failed unexpectedly.
COMPONENT = "scheduler"
# So many of the last changes are remembered beside a client that decides.
_MOST_CHANGES = 64


class Arrivals:
    """The pods that wait in the queue of a client, by namespace/name, in the order they came.

    Those that it could not place are not among them: when it tries them again is not known.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def number(self, key: str) -> int:
        """The pod's number; the next one if it has none."""
        found = self._numbers.get(key)
        if found is None:
            self._last = found = self._last + 1
            self._numbers[key] = found
        return found

    def forget(self, key: str) -> None:
        """The pod waits no more."""
        self._numbers.pop(key, None)


class Watches:
    """The informer handlers of one scheduler."""

    def __init__(
        self, state: SchedulerState, binding: BindingCycle, wake: Callable[[], None]
    ) -> None:
        self._state = state
        self._neighbours = state.neighbours
        self._rules = state.rules
        self._kubernetes = state.profile.kubernetes
        self._cycle_rules = state.profile.rules
        self._known = state.known
        self._bindings = state.bindings
        self._store = state.store
        self._latencies = state.latencies
        self._chronicle = state.chronicle
        self._gauges = state.gauges
        self._handle = state.handle
        self._groups = groups_of(state.handle)
        # Of the pods of an external scheduler.
        self.arrived = Arrivals()
        # The pods that left their nodes last, and when.
        self.left: deque[tuple[int, Pod]] = deque(maxlen=_MOST_CHANGES)
        # When which other objects changed last, by kind and key.
        self.changed: deque[tuple[int, str, str]] = deque(maxlen=_MOST_CHANGES)
        self._began = 0
        self._has_listed = False
        self._cache = state.cache
        self._queue = state.queue
        self._volume_work = state.volume_work
        self._binding = binding
        self._wake = wake
        profiles = [one.profile for one in state.algorithms.values()]
        # Until v1.20 any update of an assigned pod may wake others. Later, no plugin in the tree
        # listens to a change of its status alone.
        self._queue_needs_every_update = (
            not state.profile.kubernetes.queue.hints
            or bool(state.extenders)
            or any(one.custom_plugins for one in profiles)
        )

    def start(self) -> None:
        """Watch every kind that can change a decision; the first events list what exists.

        Beside a client that decides, the cluster is known as it is: the client's delays are its own.
        The scheduler of a cluster that begins as it stood has known it for long.
        """
        loop = self._state.loop
        self._began = loop.now
        if loop.ahead and not loop.steps:
            self.list_at_once()
            return
        delay = AT_ONCE if self._state.external else self._latencies.draw("watch")
        for kind, handler in self._handlers():
            is_late = kind == "Node" and delay != AT_ONCE
            later = self._latencies.draw("node_watch") if is_late else 0
            self._store.watch(kind, handler, delay + later)

    @property
    def has_listed(self) -> bool:
        """Whether it was told at once of everything that exists."""
        return self._has_listed

    def list_at_once(self) -> None:
        """Know everything that exists without waiting for it; later writes come as late as usual."""
        if self._has_listed:
            return
        self._has_listed = True
        for kind, handler in self._handlers():
            self._store.watch(kind, handler, AT_ONCE)
        if not self._state.external:
            self._store.watches.slow_down(self, self._latencies.draw("watch"))

    def _handlers(self) -> Iterator[tuple[str, Callable[[WatchEvent], None]]]:
        """The kinds that are watched, in order, with the handlers of their events."""
        attachments = ("VolumeAttachment",) if self._cycle_rules.counts_attachments else ()
        handlers = {"Pod": self.observe_pod, "Node": self.observe_node}
        devices = _DEVICE_KINDS if self._cycle_rules.allocates_devices else ()
        groups = (POD_GROUP,) if self._groups is not None else ()
        if self._cycle_rules.watches_taint_rules:
            yield DEVICE_TAINT_RULE, self.observe_taint_rule
        for kind in (*attachments, *devices, *groups, *_WATCHED_KINDS):
            yield kind, handlers.get(kind, self.observe_other)

    def observe_pod(self, event: WatchEvent) -> None:
        new = event.new
        if self._state.stopped or not isinstance(new, Pod):
            return
        key = new.key
        old = self._known.get(key)
        gone = event.type == "DELETED" or new.is_terminated
        if self._state.external:
            self._follow_nomination(new, gone=gone)
            self._follow_queue(old, new, gone=gone)
        if gone:
            self._known.pop(key, None)
        else:
            self._known[key] = new
        if self._groups is not None:
            self._groups.observe(new, gone=gone)
        if old is not None and old.node_name:
            self._assigned_pod_changed(old, new, gone)
        elif gone:
            if old is not None and self._state.is_mine(old):
                self._pending_pod_deleted(old, new, is_seen=not event.final_state_unknown)
                if event.final_state_unknown:
                    self._forget_unconfirmed(old)
        elif new.node_name:
            self.pod_assigned(old, new)
        elif self._state.is_mine(new):
            self._pending_pod_changed(old, new)
        self._wake()

    def _follow_queue(self, old: Pod | None, new: Pod, *, gone: bool) -> None:
        """Keep the order in which pods came to the queue of a client."""
        if gone or new.node_name:
            self.arrived.forget(new.key)
        elif old is None and new.scheduler_name in self._state.names:
            self.arrived.number(new.key)
        if gone:
            self.forget_assumed(new.key)

    def forget_assumed(self, key: str) -> None:
        """The pod does not come to the node on which it was counted."""
        assumed = self._cache.pod(self._cache.assumed.get(key, ""))
        if assumed is not None:
            self._state.change_cache(f"pod/{key}", self._cache.forget_pod, assumed.info)

    def _follow_nomination(self, pod: Pod, *, gone: bool) -> None:
        """Keep the node that a client has nominated one of its pods to, until the pod counts there.

        Upstream: the handlers skip a pod that is assumed; eventhandlers.go updatePodInSchedulingQueue().
        """
        nominated = self._state.nominated
        counts = bool(pod.node_name) or pod.key in self._cache.assumed
        node = "" if gone or counts else pod.nominated_node_name
        if pod.scheduler_name not in self._state.names:
            return
        if not node:
            nominated.remove(pod.key)
        elif nominated.node_of(pod.key) != node:
            nominated.add(node, PodInfo(pod, self._rules))

    def slow_down(self) -> None:
        """Hear of writes as late as other schedulers do, from now on."""
        self._store.watches.slow_down(self, self._latencies.draw("watch"))

    def _pending_pod_changed(self, old: Pod | None, new: Pod) -> None:
        if old is None:
            binding = self._bindings.get(new.key)
            if binding is not None:
                # The cache knows pods by name, so the old pod of that name leaves it before the new one.
                self._binding.forget(binding)
            if self._is_held(new.key):
                return
            self._queue.add(PodInfo(new, self._rules))
            if self._groups is not None and group_of(new):
                self._queue.move_all_to_active_or_backoff(
                    cluster_events.UNSCHEDULED_POD_ADD, None, new
                )
        elif new.key in self._cache.assumed:
            return  # It has its place; the rest of its life is the binding cycle's.
        elif not (self._state.loop.held and self._state.loop.is_held(COMPONENT, new.key)):
            self._queue.update(old, new)
            if old.nominated_node_name != new.nominated_node_name:
                self._nomination_ended(old)

    def _is_held(self, key: str) -> bool:
        """Whether the pod comes to the queue later, because its last attempt has failed unexpectedly."""
        loop = self._state.loop
        if not loop.held or not loop.is_held(COMPONENT, key):
            return False
        loop.call_at(loop.held[COMPONENT, key], self._release, key)
        return True

    def _release(self, key: str) -> None:
        pod = self._known.get(key)
        if pod is not None and not pod.node_name and self._queue.get(key) is None:
            self._pending_pod_changed(None, pod)
            self._wake()

    def _nomination_ended(self, pod: Pod) -> None:
        """Requeue the pods of at most its priority, which could not use the node nominated to *pod*.

        Since v1.33. Upstream: updatePodInSchedulingQueue(), deletePodFromSchedulingQueue().
        """
        if pod.nominated_node_name and self._cycle_rules.requeues_after_lost_nomination:
            self._queue.move_all_to_active_or_backoff(
                cluster_events.ASSIGNED_POD_DELETE, pod, None, at_most=pod.priority
            )

    def _pending_pod_deleted(self, old: Pod, new: Pod, *, is_seen: bool) -> None:
        waits = self._queue.get(old.key) is not None or old.key in self._bindings
        if waits and is_seen and self._cycle_rules.reports_deleted_pods:
            # Its deletion is an update first, which brings it back to be skipped. A pod that a new
            # list lacks has had no such update.
            message = f"skip schedule deleting pod: {old.key}"
            self._chronicle.record_event(new, "FailedScheduling", "Warning", message)
        self._chronicle.end_series(old.uid)
        self._queue.delete(old)
        self._nomination_ended(new)
        # A binding under way goes on until its write finds no pod.
        waiting = self._handle.waiting_pods.get(old.uid)
        if waiting is not None:
            self._waiting_pod_deleted(old, waiting)
        elif (binding := self._bindings.get(old.key)) is not None:
            self._binding.pod_deleted(binding)

    def _waiting_pod_deleted(self, pod: Pod, waiting: WaitingPod) -> None:
        """A deleted pod no longer waits in Permit. Upstream: deletePodFromSchedulingQueue()."""
        waiting.reject("", "removed")
        if self._cycle_rules.requeues_after_permit_deletion:
            binding = self._bindings.get(pod.key)
            freed = pod if binding is None else binding.assumed
            self._queue.move_all_to_active_or_backoff(
                cluster_events.ASSIGNED_POD_DELETE, freed, None
            )

    def _forget_unconfirmed(self, gone: Pod) -> None:
        """It may have got its node unseen, and then nothing will come to confirm it.

        Upstream: eventhandlers.go, DeletedFinalStateUnknown (since 1.22); before, the assumption
        runs out.
        """
        binding = self._bindings.get(gone.key)
        if binding is not None and self._kubernetes.cache.removes_assumed:
            self._binding.forget(binding)
            self._queue.assigned_pod_deleted(binding.info.pod)

    def pod_assigned(self, old: Pod | None, new: Pod) -> None:
        """The pod has a node: our own binding is confirmed, or another client bound it."""
        binding = self._bindings.pop(new.key, None)
        assumed = new.key in self._cache.assumed
        if assumed and binding is not None:
            self._gauges.settled(binding.node, binding.info)
        counted = self._cache.confirm_pod(new)
        if not counted:
            info = binding.info.updated(new) if binding else PodInfo(new, self._rules)
            counted = self._state.change_cache(new.id, self._cache.add_pod, info)
        waited = old if old is not None and self._state.is_mine(old) else None
        if waited is not None and (not assumed or self._queue.may_hold_assumed):
            self._queue.delete(waited)
        if counted:
            self._record_assigned(new)
        self._queue.assigned_pod_added(new)
        if waited is not None and self._cycle_rules.requeues_after_nominated_binding:
            # Until v1.35 the queue loses a bound pod as if it was deleted: the informer's filter for
            # pods without a node does not tell the two apart. Upstream: updatePod(), inBinding.
            self._nomination_ended(waited)

    def _record_assigned(self, pod: Pod) -> None:
        if self._state.shows(pod):
            shown: Attributes = {"cache": "added", "assumed": None}
            self._chronicle.record_pod("PodConfirmed", pod, f"on {pod.node_name}", None, shown)
        elif self._neighbours is not None:
            self._chronicle.record(
                "PodObserved", pod.id, f"of {pod.scheduler_name}, on {pod.node_name}"
            )

    def _assigned_pod_changed(self, old: Pod, new: Pod, gone: bool) -> None:
        if gone:
            self._state.change_cache(new.id, self._cache.remove_pod, PodInfo(old, self._rules))
            if self._state.external:
                self.left.append((self._state.loop.now, old))
            if self._neighbours is not None:
                self._chronicle.record("PodReleased", new.id, f"left {old.node_name}")
            self._queue.assigned_pod_deleted(new)
            return
        if (
            new.template is not old.template
            or new.deletion_timestamp != old.deletion_timestamp
            or requests_changed(old, new, self._rules)
        ):
            before, after = PodInfo(old, self._rules), PodInfo(new, self._rules)
            self._state.change_cache(new.id, self._cache.update_pod, before, after)
            self._queue.assigned_pod_updated(old, new)
            return
        self._state.change_cache(new.id, self._cache.renew_pod, new)
        if self._queue_needs_every_update:
            self._queue.assigned_pod_updated(old, new)

    def observe_node(self, event: WatchEvent) -> None:
        node, old = event.new, event.old
        if self._state.stopped or not isinstance(node, Node):
            return
        if self._state.external and (not isinstance(old, Node) or _is_decisive(old, node)):
            self._note_change("Node", node.name)
        known = self._cache.node(node.name)
        if event.type == "DELETED":
            self._state.change_cache(node.id, self._cache.remove_node, node)
            self._queue.move_all_to_active_or_backoff(cluster_events.NODE_DELETE, node, None)
        elif known is None or known.node is None or not isinstance(old, Node):
            self._cache.add_node(node)
            self._queue.move_all_to_active_or_backoff(cluster_events.NODE_ADD, None, node)
        else:
            self._cache.update_node(node)
            self._queue.node_updated(old, node)
        self._wake()

    def _note_change(self, kind: str, key: str) -> None:
        """Remember beside a client that decides what has changed since the cluster began."""
        now = self._state.loop.now
        if now > self._began:
            self.changed.append((now, kind, key))

    def observe_taint_rule(self, event: WatchEvent) -> None:
        """Its devices have other taints, as if their slices had changed. Upstream: resourceslice/tracker."""
        if self._state.stopped:
            return
        rule, listers = event.new, self._handle.listers
        if event.type == "DELETED":
            listers.remove(rule.kind, rule.key)
        else:
            listers.put(rule)
        changed = event.type != "MODIFIED" or event.old is None or event.old.spec != rule.spec
        one = next(listers.all("ResourceSlice"), None)
        if changed and one is not None:
            self._queue.move_all_to_active_or_backoff(
                cluster_events.RESOURCE_SLICE_UPDATE, one, one
            )
        self._wake()

    def observe_other(self, event: WatchEvent) -> None:
        if self._state.stopped:
            return
        obj = event.new
        if self._state.external:
            self._note_change(obj.kind, obj.key)
        if obj.kind in _STORAGE:
            self._volume_work.observe(event)
        elif event.type == "DELETED":
            self._handle.listers.remove(obj.kind, obj.key)
        else:
            self._handle.listers.put(obj)
        change = _CHANGES.get((obj.kind, event.type))
        if change is not None:
            old = obj if event.type == "DELETED" else event.old
            new = None if event.type == "DELETED" else obj
            self._queue.move_all_to_active_or_backoff(change, old, new)
        self._wake()


def _is_decisive(old: Node, new: Node) -> bool:
    """Whether the node changed in more than what its kubelet reports again and again."""
    return (
        old.raw.get("spec") != new.raw.get("spec")
        or old.labels != new.labels
        or old.allocatable != new.allocatable
    )


# What of the other kinds may help a waiting pod. Upstream: eventhandlers.go addAllEventHandlers().
_CHANGES: dict[tuple[str, str], ClusterEvent] = {
    ("PersistentVolume", "ADDED"): cluster_events.VOLUME_ADD,
    ("PersistentVolume", "MODIFIED"): cluster_events.VOLUME_UPDATE,
    ("PersistentVolumeClaim", "ADDED"): cluster_events.CLAIM_ADD,
    ("PersistentVolumeClaim", "MODIFIED"): cluster_events.CLAIM_UPDATE,
    ("StorageClass", "ADDED"): cluster_events.STORAGE_CLASS_ADD,
    ("StorageClass", "MODIFIED"): cluster_events.STORAGE_CLASS_UPDATE,
    ("CSINode", "ADDED"): cluster_events.CSI_NODE_ADD,
    ("CSINode", "MODIFIED"): cluster_events.CSI_NODE_UPDATE,
    ("CSIDriver", "ADDED"): cluster_events.CSI_DRIVER_ADD,
    ("CSIDriver", "MODIFIED"): cluster_events.CSI_DRIVER_UPDATE,
    ("CSIStorageCapacity", "ADDED"): cluster_events.STORAGE_CAPACITY_ADD,
    ("CSIStorageCapacity", "MODIFIED"): cluster_events.STORAGE_CAPACITY_UPDATE,
    ("PersistentVolume", "DELETED"): cluster_events.VOLUME_DELETE,
    ("PersistentVolumeClaim", "DELETED"): cluster_events.CLAIM_DELETE,
    ("StorageClass", "DELETED"): cluster_events.STORAGE_CLASS_DELETE,
    ("CSINode", "DELETED"): cluster_events.CSI_NODE_DELETE,
    ("CSIDriver", "DELETED"): cluster_events.CSI_DRIVER_DELETE,
    ("CSIStorageCapacity", "DELETED"): cluster_events.STORAGE_CAPACITY_DELETE,
    ("VolumeAttachment", "DELETED"): cluster_events.VOLUME_ATTACHMENT_DELETE,
    ("DeviceClass", "ADDED"): cluster_events.DEVICE_CLASS_ADD,
    ("DeviceClass", "MODIFIED"): cluster_events.DEVICE_CLASS_UPDATE,
    ("DeviceClass", "DELETED"): cluster_events.DEVICE_CLASS_DELETE,
    ("ResourceSlice", "ADDED"): cluster_events.RESOURCE_SLICE_ADD,
    ("ResourceSlice", "MODIFIED"): cluster_events.RESOURCE_SLICE_UPDATE,
    ("ResourceSlice", "DELETED"): cluster_events.RESOURCE_SLICE_DELETE,
    ("ResourceClaim", "ADDED"): cluster_events.RESOURCE_CLAIM_ADD,
    ("ResourceClaim", "MODIFIED"): cluster_events.RESOURCE_CLAIM_UPDATE,
    ("ResourceClaim", "DELETED"): cluster_events.RESOURCE_CLAIM_DELETE,
    ("PodGroup", "ADDED"): cluster_events.POD_GROUP_ADD,
    ("PodGroup", "MODIFIED"): cluster_events.POD_GROUP_UPDATE,
    ("PodGroup", "DELETED"): cluster_events.POD_GROUP_DELETE,
    ("Service", "ADDED"): cluster_events.SERVICE_ADD,
    ("Service", "MODIFIED"): cluster_events.SERVICE_UPDATE,
    ("Service", "DELETED"): cluster_events.SERVICE_DELETE,
}

_DEVICE_KINDS = ("DeviceClass", "ResourceSlice", "ResourceClaim")

_STORAGE = (PersistentVolume.KIND, PersistentVolumeClaim.KIND)

_WATCHED_KINDS = (
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "PodDisruptionBudget",
    "Node",
    "Pod",
)

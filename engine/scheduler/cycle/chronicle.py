"""Records what a scheduler does, and what the pages show of its pods, nodes and queue."""

from collections.abc import Container, Mapping
from typing import Any

from engine.api_server.store.store import ObjectStore
from engine.framework import names
from engine.framework.nodes.gauges import NodeGauges
from engine.kernel.recorder import Recorder
from engine.kernel.view import Attributes, Changes
from engine.objects.objects import Pod
from engine.objects.unmodelled import KSCOPE, NOT_MODELLED_FACT
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.scheduling_queue import SKIPPED, SchedulingQueue

COMPONENT = "scheduler"
# Upstream: core/validation/events.go.
NOTE_LENGTH_LIMIT = 1024

_PLACE_FACTS: dict[Place, str] = {
    "active": "PodQueued",
    "backoff": "PodBackedOff",
    "unschedulable": "PodParked",
    "gated": "PodGated",
    "in_flight": "AttemptStarted",
    "": "PodDequeued",
}


class Chronicle:
    """The events of one scheduler.

    *known* are the pods that its watches have shown. The pages show nodes as they are in the cache
    of the scheduler whose name is "". Repeated Kubernetes Events are counted in series as the
    version of *profile* does.
    """

    def __init__(
        self,
        recorder: Recorder,
        store: ObjectStore,
        known: Mapping[str, Pod],
        gauges: NodeGauges,
        *,
        scheduler: str,
        profile: Profile,
    ) -> None:
        self._recorder = recorder
        self._pods = store.live("Pod")
        # As with pods, a deleted node does not return to the pages.
        self._nodes: Container[str] = () if scheduler else store.live("Node")
        self._known = known
        self._scheduler = scheduler
        self._entity = f"queue/{scheduler}" if scheduler else "queue"
        self._profile = profile
        self._has_series = profile.rules.events_in_series
        self._series: dict[str, tuple[str, int, str]] = {}
        self._changes: Changes = {}
        self.gauges = gauges
        self.queue: SchedulingQueue | None = None

    @property
    def seq(self) -> int:
        """Of the newest event of the run, whichever component recorded it."""
        return self._recorder.seq

    # Recording

    def show_pod(self, key: str, **attributes: Any) -> None:
        """Show these attributes of the pod with the next event; None removes one.

        A pod that the API server has deleted does not return to the pages, even if the scheduler
        does not know of its deletion yet.
        """
        if key not in self._pods:
            return
        entity = f"pod/{key}"
        shown = self._changes.get(entity)
        if shown is None:
            self._changes[entity] = attributes
        else:
            shown.update(attributes)

    def record(
        self, fact: str, entity: str, message: str = "", data: dict[str, Any] | None = None
    ) -> int:
        """Record *fact* with all attributes that changed since the last event; returns its seq."""
        changes, self._changes = self._changes, {}
        if self.gauges.stale:
            self.gauges.show(changes, self._nodes)
        return self._recorder.record(fact, entity, COMPONENT, message, data, changes or None)

    def record_pod(
        self, fact: str, pod: Pod, message: str, data: dict[str, Any] | None, shown: Attributes
    ) -> int:
        """Record *fact* about *pod*, and show these attributes of the pod."""
        changes, entity = self._changes, pod.id
        if changes:
            self._changes = {}
            if entity in changes:
                shown = {**(changes[entity] or {}), **shown}
        else:
            changes = {}
        if pod.key in self._pods:
            changes[entity] = shown
        if self.gauges.stale:
            self.gauges.show(changes, self._nodes)
        return self._recorder.record(fact, entity, COMPONENT, message, data, changes or None)

    # Kubernetes Events

    def record_event(self, pod: Pod, reason: str, kind: str, message: str) -> int:
        """Record a Kubernetes Event of type *kind* about *pod*."""
        data: dict[str, Any] = {"event": True, "type": kind}
        if reason == "FailedScheduling" and self._has_series:
            message = _truncated(message)
            count, note = self._count_in_series(pod, message)
            if count:
                data["series"] = count
            if note != message:
                data["note"] = note
        return self.record(reason, pod.id, message, data)

    def _count_in_series(self, pod: Pod, message: str) -> tuple[int, str]:
        """How often this Event came before for the same version of the pod, and its first text.

        The second occurrence starts a series; later ones are written every half hour, and the text
        stays that of the first. Upstream: client-go tools/events/event_broadcaster.go,
        recordToSink().
        """
        version, count, note = self._series.get(pod.uid, ("", -1, ""))
        if version == pod.resource_version:
            count += 1
        else:
            count, note = 0, message
        self._series[pod.uid] = pod.resource_version, count, note
        return count, note

    def end_series(self, uid: str) -> None:
        """End the series of this pod's Events."""
        self._series.pop(uid, None)

    # Listening to the queue

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        """Record a move, and the event that caused it. See QueueListener."""
        place, queue, pod = info.place, self.queue, info.pod_info.pod
        if place == "":
            known = self._known.get(info.key)
            leaves = known is not None
            if place_from == "in_flight":
                # One that got a node by its attempt left the queue when it was assumed.
                leaves = event_name == SKIPPED and known is not None and known.uid == pod.uid
            if leaves:
                self.show_pod(info.key, queue=None, queue_since=None, backoff_until=None)
                self.record("PodDequeued", pod.id, event_name)
            return
        assert queue is not None
        shown: Attributes = {
            "queue": place,
            "queue_since": info.since,
            "attempts": info.attempts,
            "flushed": True if flushed else None,
            "backoff_until": queue.backoff_until(info) if place == "backoff" else None,
        }
        if place == "in_flight":
            number = queue.scheduling_cycle
            self._changes[self._entity] = (
                {"cycle": number, "scheduler": self._scheduler}
                if self._scheduler
                else {"cycle": number}
            )
            message = f"cycle {number}, attempt {info.attempts}"
            self.record_pod("AttemptStarted", pod, message, None, shown)
            return
        gating_plugin = info.gating_plugin if place == "gated" else ""
        if gating_plugin == names.NOT_MODELLED:
            self._record_not_modelled(pod)
        data = (
            {"plugin": gating_plugin} if gating_plugin not in ("", names.SCHEDULING_GATES) else None
        )
        shown["mover"] = event_name
        if place_from == "" and info.attempts == 0:
            shown["first_queued"] = info.since
        self.record_pod(_PLACE_FACTS[place], pod, event_name, data, shown)

    def _record_not_modelled(self, pod: Pod) -> None:
        """Record why the pod stays pending, as an event of kscope, not of the scheduler."""
        need = self._profile.unmodelled_need(pod)
        blocker = {"plugin": names.NOT_MODELLED, "sentence": f"{need}.", "short": "Not modelled"}
        changes: Changes = {pod.id: {"blocker": blocker}} if pod.key in self._pods else {}
        self._recorder.record(NOT_MODELLED_FACT, pod.id, KSCOPE, need, None, changes or None)


def _truncated(message: str) -> str:
    """*message*, cut to the bytes that the note of an Event may hold.

    Upstream: schedule_one.go truncateMessage(), since 1.20.
    """
    text = message.encode()
    if len(text) <= NOTE_LENGTH_LIMIT:
        return message
    suffix = " ..."
    return text[: NOTE_LENGTH_LIMIT - len(suffix)].decode(errors="replace") + suffix

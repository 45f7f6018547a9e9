"""Kubernetes Events: how they are recorded, and how many a component may emit per object.

Upstream: client-go tools/record (event.go and events_cache.go).
"""

from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import SECOND
from engine.kernel.view import Attributes, Changes, diff
from engine.objects.objects import ApiObject
from engine.storage.ports import WARNING, EventSink

# What fails and is tried again: the reason of its Event, and those that tell that it came to pass.
_ENDS: Final = {
    "ProvisioningFailed": ("ProvisioningSucceeded",),
    "VolumeFailedDelete": (),
    "VolumeFailedRecycle": ("VolumeRecycled",),
    "VolumeResizeFailed": ("Resizing", "VolumeResizeSuccessful"),
    "VolumeModifyFailed": ("VolumeModifySuccessful",),
    "FailedCreate": ("SuccessfulCreate",),
    "FailedPrepareDynamicResources": (),
}
# What only the files told of a pod: there, its node shows what fails of its volumes in the run.
_TOLD_ENDS: Final = {
    "FailedAttachVolume": ("FailedAttachVolume", "SuccessfulAttachVolume"),
    "FailedMount": ("FailedMount",),
    "FailedMapVolume": ("FailedMapVolume",),
}
# The reasons that tell that it is tried again.
_BEGINS: Final = {"Provisioning": "ProvisioningFailed", "VolumeModify": "VolumeModifyFailed"}

BURST: Final = 25
REFILL: Final = 300 * SECOND


class RecordedEvents:
    """An EventSink that records the Kubernetes Events of one component, each as an event of its reason.

    An Event that follows a slow write is recorded when the API server has answered it. The writes are
    those of *author*, by default the component.
    """

    __slots__ = ("_author", "_component", "_loop", "_recorder", "_store")

    def __init__(
        self,
        recorder: Recorder,
        component: str,
        loop: EventLoop,
        store: ObjectStore,
        author: str = "",
    ) -> None:
        self._recorder = recorder
        self._component = component
        self._loop = loop
        self._store = store
        self._author = author or component

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        """See EventSink."""
        at = self._store.answers.answered_at(self._author)
        retry = retry_at, missed
        if at > self._loop.now:
            self._loop.call_at(at, self._record, obj.id, type, reason, message, retry)
        else:
            self._record(obj.id, type, reason, message, retry)

    def _record(
        self, target: str, type: str, reason: str, message: str, retry: tuple[int | None, int]
    ) -> None:
        data = {"event": True, "type": type}
        changes = self._trouble(target, type, reason, message, retry)
        self._recorder.record(reason, target, self._component, message, data, changes)
        if type == WARNING or not target.startswith("pod/"):
            # Events of success about a pod are soon old, and there are many pods.
            self._recorder.note(target, reason, message)

    def _trouble(
        self, target: str, type: str, reason: str, message: str, retry: tuple[int | None, int]
    ) -> Changes | None:
        """What the Event changes of the failure that pages show of the object.

        An operation that was tried before and failed has the attributes of those of a node: see
        docs/events.md.
        """
        troubles = self._recorder.troubles
        known = troubles.get(target)
        if type == WARNING and reason in _ENDS:
            # A deleted object must not come back into the view.
            if not self._store.record.events_of(target).created:
                return None
            retry_at, missed = retry
            before = known["failures"] if known is not None and known["name"] == reason else 0
            now: Attributes = {"name": reason, "failures": before + missed + 1, "error": message}
            now["failed"] = self._loop.now
            if retry_at is not None:
                now["retry_at"] = retry_at
        elif known is None:
            return None
        elif reason in (_ENDS.get(known["name"]) or _TOLD_ENDS.get(known["name"], ())):
            del troubles[target]
            return {target: {"trouble": None}}
        elif _BEGINS.get(reason) == known["name"]:
            ended = ("failed", "retry_at")
            now = {name: value for name, value in known.items() if name not in ended}
            now["started"] = self._loop.now
        else:
            return None
        troubles[target] = now
        return {target: {"trouble": now if known is None else diff(known, now)}}


class SpamFilter:
    """An EventSink that passes on 25 Events per object at once, then one in five minutes.

    It drops the others. Upstream: EventSourceObjectSpamFilter.
    """

    __slots__ = ("_buckets", "_loop", "_missed", "_sink", "dropped")

    def __init__(self, loop: EventLoop, sink: EventSink) -> None:
        self._loop = loop
        self._sink = sink
        # Object → what was left of its Events, in ns of refilling time, and when.
        self._buckets: dict[str, tuple[int, int]] = {}
        self.dropped: dict[str, int] = {}
        # By object and reason, since the last Event that was passed on.
        self._missed: dict[tuple[str, str], int] = {}

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        """See EventSink."""
        key = f"{obj.id}/{obj.uid}"
        if self._take(key):
            missed += self._missed.pop((key, reason), 0)
            self._sink.event(obj, type, reason, message, retry_at, missed)
        else:
            self.dropped[key] = self.dropped.get(key, 0) + 1
            self._missed[key, reason] = self._missed.get((key, reason), 0) + 1

    def _take(self, key: str) -> bool:
        now = self._loop.now
        left, at = self._buckets.get(key, (BURST * REFILL, now))
        left = min(left + now - at, BURST * REFILL)
        taken = left >= REFILL
        self._buckets[key] = (left - REFILL if taken else left, now)
        return taken

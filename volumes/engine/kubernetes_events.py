"""Kubernetes Events: how they are recorded, and how many a component may emit per object.

Upstream: client-go tools/record (event.go and events_cache.go).
"""

from typing import Final

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import ApiObject
from volumes.engine.ports import WARNING, EventSink

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

    def event(self, obj: ApiObject, type: str, reason: str, message: str) -> None:
        """See EventSink."""
        at = self._store.answers.answered_at(self._author)
        if at > self._loop.now:
            self._loop.call_at(at, self._record, obj.id, type, reason, message)
        else:
            self._record(obj.id, type, reason, message)

    def _record(self, target: str, type: str, reason: str, message: str) -> None:
        data = {"event": True, "type": type}
        self._recorder.record(reason, target, self._component, message, data)
        if type == WARNING or not target.startswith("pod/"):
            # Events of success about a pod are soon old, and there are many pods.
            self._recorder.note(target, reason, message)


class SpamFilter:
    """An EventSink that passes on 25 Events per object at once, then one in five minutes.

    It drops the others. Upstream: EventSourceObjectSpamFilter.
    """

    __slots__ = ("_buckets", "_loop", "_sink", "dropped")

    def __init__(self, loop: EventLoop, sink: EventSink) -> None:
        self._loop = loop
        self._sink = sink
        # Object → what was left of its Events, in ns of refilling time, and when.
        self._buckets: dict[str, tuple[int, int]] = {}
        self.dropped: dict[str, int] = {}

    def event(self, obj: ApiObject, type: str, reason: str, message: str) -> None:
        """See EventSink."""
        key = f"{obj.id}/{obj.uid}"
        if self._take(key):
            self._sink.event(obj, type, reason, message)
        else:
            self.dropped[key] = self.dropped.get(key, 0) + 1

    def _take(self, key: str) -> bool:
        now = self._loop.now
        left, at = self._buckets.get(key, (BURST * REFILL, now))
        left = min(left + now - at, BURST * REFILL)
        taken = left >= REFILL
        self._buckets[key] = (left - REFILL if taken else left, now)
        return taken

"""The recorder's manners: a controller may not flood one object with Events.

Per component and object 25 Events in a burst, then one in five minutes; the others are dropped
before they are written. Upstream: client-go tools/record/events_cache.go, EventSourceObjectSpamFilter.
"""

from typing import Final

from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import ApiObject
from volumes.engine.ports import EventSink

BURST: Final = 25
REFILL: Final = 300 * SECOND


class SpamFilter:
    """An EventSink in front of another that lets only so many Events per object through."""

    __slots__ = ("_buckets", "_loop", "_sink", "dropped")

    def __init__(self, loop: EventLoop, sink: EventSink) -> None:
        self._loop = loop
        self._sink = sink
        # Object → what is left, in ns of refilling time, and when that was so.
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

"""When the periodic flushes of the scheduling queue next have something to do."""

from __future__ import annotations

from engine.framework.rules.queue import QueueRules
from engine.scheduler.queue.places import Clock, QueuePlaces


class FlushTimes:
    """The ticks of the flushes. `started_at` is their phase, in nanoseconds."""

    __slots__ = ("_clock", "_places", "_rules", "started_at")

    def __init__(
        self, rules: QueueRules, clock: Clock, places: QueuePlaces, started_at: int
    ) -> None:
        self._rules = rules
        self._clock = clock
        self._places = places
        self.started_at = started_at

    def next_backoff_expiry(self) -> int | None:
        """The tick at which flush_backoff_completed() next has something to do; None for never."""
        over_at = self._places.backoff.next_over_at()
        if over_at is None:
            return None
        at = max(over_at, self._clock.now)
        if self._rules.backoff_window:
            # The flush is aligned with the windows. Upstream: waitUntilAlignedWithOrderingWindow().
            return at + -at % self._rules.backoff_flush_period
        return self._tick(at, self._rules.backoff_flush_period)

    def next_leftover_due(self) -> int | None:
        """The tick at which flush_unschedulable_leftover() next moves a pod; None for never."""
        oldest = self._places.unschedulable.oldest()
        if oldest is None:
            return None
        if self._rules.heartbeat_period:
            return self._tick(self._clock.now + 1, self._rules.heartbeat_period)
        if not self._rules.leftover_age:
            return None
        due = oldest.timestamp + self._rules.leftover_age + 1
        return self._tick(max(due, self._clock.now), self._rules.leftover_flush_period)

    def _tick(self, at: int, period: int) -> int:
        """The first tick of a period at or after *at*."""
        return at + (self.started_at - at) % period

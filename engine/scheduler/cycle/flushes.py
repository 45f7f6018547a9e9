"""The timers of one scheduler: backoffs that end, leftover pods, and assumptions that expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.kernel.loop import Timer
from engine.scheduler.cycle.state import SchedulerState


class PeriodicFlushes:
    """The periodic flushes of the queue and the cache.

    Upstream runs them every second or so; here a timer fires only at a tick that has work.
    """

    def __init__(self, state: SchedulerState, wake: Callable[[], None]) -> None:
        self._loop = state.loop
        self._bindings = state.bindings
        self._chronicle = state.chronicle
        self._gauges = state.gauges
        self._cache = state.cache
        self._queue = state.queue
        self._wake = wake
        self._backoff_timer: Timer | None = None
        self._leftover_timer: Timer | None = None
        self._expiry_timer: Timer | None = None
        # The queue's change count when the timers were set; -1 once one has fired.
        self.waits = state.queue.places.waits
        self.waits_seen = 0
        self.assumptions_expire = bool(state.profile.kubernetes.cache.assume_ttl)

    def set_timers(self) -> None:
        """Set each timer to the next tick at which its flush has something to do."""
        if self.waits.count != self.waits_seen:
            self._set_flush_timers()
        if self.assumptions_expire and (self._expiry_timer or self._cache.may_expire):
            self._expiry_timer = self._reset(
                self._expiry_timer, self._cache.next_expiry(), self._expire_assumed
            )

    def stop(self) -> None:
        """Cancel all timers."""
        for timer in (self._backoff_timer, self._leftover_timer, self._expiry_timer):
            if timer is not None:
                timer.cancel()

    def _set_flush_timers(self) -> None:
        self._backoff_timer = self._reset(
            self._backoff_timer, self._queue.flush_times.next_backoff_expiry(), self._flush_backoff
        )
        self._leftover_timer = self._reset(
            self._leftover_timer, self._queue.flush_times.next_leftover_due(), self._flush_leftover
        )
        self.waits_seen = self.waits.count

    def _reset(self, timer: Timer | None, at: int | None, callback: Any) -> Timer | None:
        if timer is not None and timer.callback is not None:
            if timer.at == at:
                return timer
            timer.cancel()
        return None if at is None else self._loop.call_at(at, callback)

    def _flush_backoff(self) -> None:
        self._loop.cause, self.waits_seen = 0, -1
        self._queue.flush_backoff_completed()
        self._wake()

    def _flush_leftover(self) -> None:
        self._loop.cause, self.waits_seen = 0, -1
        self._queue.flush_unschedulable_leftover()
        self._wake()

    def _expire_assumed(self) -> None:
        """Give up assumptions that no update has confirmed in time (v1.16, v1.20)."""
        self._loop.cause = 0
        for info in self._cache.cleanup_assumed_pods():
            self._gauges.settled(info.node_name, info)
            self._bindings.pop(info.key, None)
            self._chronicle.show_pod(info.key, cache=None, assumed=None)
            self._chronicle.record("AssumptionExpired", info.pod.id, f"on {info.node_name}")
        self._wake()

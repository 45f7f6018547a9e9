"""When the loops of a volume manager run.

Upstream runs the populator and the reconciler every 100 ms. Here they run at the same instants, whole
multiples of 100 ms, but only when something can have changed: a pod, a claim or the node's status was
written, an operation ended, or a backoff has passed.
"""

from collections.abc import Callable
from typing import Final

from engine.kernel.loop import EventLoop, Timer
from engine.kernel.units import MILLISECOND
from engine.kubelet.volume_manager.state import NodeState
from engine.storage.operations.pending import next_tick

# Upstream: reconcilerLoopSleepPeriod and desiredStateOfWorldPopulatorLoopSleepPeriod.
LOOP_SLEEP_PERIOD: Final = 100 * MILLISECOND


class Ticks:
    """Calls *tick* at the earliest instant that was asked for; not while the kubelet is down."""

    __slots__ = ("_failed_at", "_loop", "_state", "_tick", "_timer")

    def __init__(self, loop: EventLoop, state: NodeState, tick: Callable[[], None]) -> None:
        self._loop = loop
        self._state = state
        self._tick = tick
        self._timer: Timer | None = None
        # When an operation on a volume failed last.
        self._failed_at: dict[str, int] = {}

    @property
    def is_armed(self) -> bool:
        """Whether a tick is coming."""
        return self._timer is not None

    def wake(self) -> None:
        """Run the loops at the next tick."""
        self.wake_at(next_tick(self._loop.now, LOOP_SLEEP_PERIOD))

    def wake_after_failure(self, volume: str) -> None:
        """Run the loops at the next tick, which is not this one if *volume* has failed here before.

        Two kinds of operation that fail without delay end each other's backoff: without this they
        would take turns at one instant for ever. Upstream's loops run once in it.
        """
        now = self._loop.now
        has_failed = self._failed_at.get(volume) == now
        self._failed_at[volume] = now
        self.wake_at(next_tick(now + has_failed, LOOP_SLEEP_PERIOD))

    def wake_at(self, at: int) -> None:
        """Run the loops at *at*, if not before."""
        if self._state.is_down:
            return
        timer = self._timer
        if timer is not None:
            if timer.at <= at:
                return
            timer.cancel()
        self._timer = self._loop.call_at(at, self._run)

    def cancel(self) -> None:
        """The kubelet ends."""
        self._failed_at.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        self._tick()

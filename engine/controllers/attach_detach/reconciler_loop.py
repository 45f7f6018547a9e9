"""The loop of the controller, which runs only when there is a volume to look at.

Upstream looks at every volume every 100 ms. Here a pass falls on the same instants, but only when
something has changed, and looks only at the volumes that it concerns.
"""

from collections.abc import Callable, Iterable
from typing import Final

from engine.kernel.loop import EventLoop, Timer
from engine.kernel.units import MILLISECOND
from engine.storage.operations.pending import next_tick

# Upstream: DefaultTimerConfig.
RECONCILER_LOOP_PERIOD: Final = 100 * MILLISECOND


class ReconcilerLoop:
    """Collects the names of volumes to look at, and calls *reconcile* with them once per period."""

    __slots__ = ("_loop", "_reconcile", "_timer", "_volumes")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._volumes: dict[str, None] = {}
        self._timer: Timer | None = None
        self._reconcile: Callable[[Iterable[str]], None] | None = None

    def connect(self, reconcile: Callable[[Iterable[str]], None]) -> None:
        """Call *reconcile*, a bound method, in every pass from now on."""
        self._reconcile = reconcile

    def wake(self, volume: str) -> None:
        """Look at *volume* in the next pass."""
        self._volumes[volume] = None
        self.arm()

    def wake_at(self, at: int, volume: str) -> Timer:
        """Look at *volume* in the first pass at or after *at*."""
        return self._loop.call_at(next_tick(at, RECONCILER_LOOP_PERIOD), self.wake, volume)

    def arm(self) -> None:
        """Run a next pass, even when there is no volume to look at."""
        if self._timer is None:
            at = next_tick(self._loop.now, RECONCILER_LOOP_PERIOD)
            self._timer = self._loop.call_at(at, self._run)

    def _run(self) -> None:
        self._timer = None
        volumes, self._volumes = self._volumes, {}
        assert self._reconcile is not None
        self._reconcile(volumes)

"""A periodic loop that costs nothing while it has nothing to do."""

from kscope.sim.loop import Callback, EventLoop


class Ticker:
    """Calls *callback*, a bound method, at the next tick after `arm`.

    Ticks lie whole periods after the controller's start, wherever in between it was armed.
    """

    __slots__ = ("_armed", "_callback", "_loop", "_origin", "_period")

    def __init__(self, loop: EventLoop, period: int, callback: Callback) -> None:
        self._loop = loop
        self._period = period
        self._callback = callback
        self._origin = loop.now
        self._armed = False

    def start_from(self, origin: int) -> None:
        """Let ticks lie whole periods after *origin*; only before the first `arm`."""
        self._origin = origin

    def arm(self) -> None:
        """Let the callback run at the next tick, once."""
        if not self._armed:
            self._armed = True
            passed = (self._loop.now - self._origin) // self._period
            self._loop.call_at(self._origin + (passed + 1) * self._period, self._tick)

    def _tick(self) -> None:
        self._armed = False
        self._callback()

"""A periodic loop that costs nothing while it has nothing to do."""

from engine.kernel.loop import Callback, EventLoop


class Ticker:
    """Calls *callback*, a bound method, at the next tick after `arm`.

    Ticks lie whole periods after the controller's start, wherever in between it was armed.
    """

    __slots__ = ("_callback", "_due", "_loop", "_origin", "_period")

    def __init__(self, loop: EventLoop, period: int, callback: Callback) -> None:
        self._loop = loop
        self._period = period
        self._callback = callback
        self._origin = loop.now
        self._due: int | None = None

    def start_from(self, origin: int) -> None:
        """Let ticks lie whole periods after *origin*; only before the first `arm`."""
        self._origin = origin

    def arm(self, after: int = 0) -> None:
        """Let the callback run once at the next tick, or at the first one after *after* (ns).

        The earliest requested tick counts; a caller that needs a later one requests it again then.
        """
        passed = (max(self._loop.now, after) - self._origin) // self._period
        tick = self._origin + (passed + 1) * self._period
        if self._due is None or tick < self._due:
            self._due = tick
            self._loop.call_at(tick, self._tick)

    def _tick(self) -> None:
        if self._due == self._loop.now:
            self._due = None
            self._callback()

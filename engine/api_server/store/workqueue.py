"""A controller's work queue: keys, each at most once, worked off one at a time on the event loop."""

from collections import deque
from collections.abc import Callable

from engine.api_server.store.answers import Answers
from engine.kernel.loop import EventLoop, held_name
from engine.kernel.units import MILLISECOND, SECOND


class WorkQueue:
    """Keys to sync, without duplicates, in the order they came.

    Follows client-go's rate-limited queue (util/workqueue): `add_rate_limited` waits 5 ms doubling
    to 1000 s per key until `forget`. *sync* is a bound method that takes a key; *interval* is how
    long one sync keeps the worker busy. With *answers* no key is worked off while the worker still
    waits for the API server's answers to what it wrote before.
    """

    __slots__ = (
        "_answers",
        "_draining",
        "_failures",
        "_interval",
        "_keys",
        "_loop",
        "_owner",
        "_queued",
        "_sync",
    )

    BASE_DELAY = 5 * MILLISECOND
    MAX_DELAY = 1000 * SECOND

    def __init__(
        self,
        loop: EventLoop,
        sync: Callable[[str], None],
        interval: int = 0,
        answers: Answers | None = None,
    ) -> None:
        self._loop = loop
        self._answers = answers
        self._sync = sync
        self._interval = interval
        # Under this name the boundary holds back a key whose sync has failed unexpectedly.
        self._owner = held_name(sync)
        self._keys: deque[tuple[str, int]] = deque()
        self._queued: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        self._draining = False

    @property
    def owner(self) -> str:
        """The name under which its keys are held back."""
        return self._owner

    @property
    def keys(self) -> list[str]:
        """What waits to be synced, in order."""
        return [key for key, _ in self._keys]

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: str) -> None:
        """Queue *key*, unless it is queued already."""
        if key in self._queued:
            return
        if self._loop.held and self._loop.is_held(self._owner, key):
            self._loop.call_at(self._loop.held[self._owner, key], self.add, key)
            return
        self._queued[key] = None
        self._keys.append((key, self._loop.cause))
        if not self._draining:
            self._draining = True
            self._loop.call_after(0, self._work)

    def add_after(self, key: str, delay: int) -> None:
        """Queue *key* once *delay* nanoseconds have passed."""
        self._loop.call_after(delay, self.add, key)

    def add_rate_limited(self, key: str) -> None:
        """Queue *key* after its own exponential delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(self.BASE_DELAY << min(failures, 40), self.MAX_DELAY))

    def next_try(self, key: str) -> int:
        """When *key* would be synced again if its sync failed now."""
        failures = min(self._failures.get(key, 0), 40)
        return self._loop.now + min(self.BASE_DELAY << failures, self.MAX_DELAY)

    def forget(self, key: str) -> None:
        """Reset the exponential delay of *key*."""
        self._failures.pop(key, None)

    def _work(self) -> None:
        if self._answers is not None and self._answers.until > self._loop.now:
            self._loop.call_at(self._answers.until, self._work)
            return
        key, cause = self._keys.popleft()
        del self._queued[key]
        self._loop.cause = cause
        self._sync(key)
        if self._keys:
            self._loop.call_after(self._interval, self._work)
        else:
            self._draining = False

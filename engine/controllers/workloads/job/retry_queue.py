"""A key's delayed returns to its work queue.

Upstream: client-go util/workqueue, delaying_queue.go and ItemExponentialFailureRateLimiter.
"""

from typing import Final

from engine.api_server.store.workqueue import WorkQueue
from engine.kernel.loop import EventLoop, Timer

_MANY: Final = 40


class RetryQueue:
    """Puts keys into *queue* later. A key waits once only: of two times the earlier counts.

    `add_rate_limited` waits *base* ns, doubling with each time up to *longest*, until `forget`.
    """

    __slots__ = ("_base", "_longest", "_loop", "_queue", "_requeues", "_waiting")

    def __init__(self, loop: EventLoop, queue: WorkQueue, base: int, longest: int) -> None:
        self._loop = loop
        self._queue = queue
        self._base = base
        self._longest = longest
        self._requeues: dict[str, int] = {}
        self._waiting: dict[str, Timer] = {}

    def add_after(self, key: str, delay: int) -> None:
        """Queue *key* once *delay* nanoseconds have passed, if it does not come back sooner."""
        if delay <= 0:
            self._queue.add(key)
            return
        at = self._loop.now + delay
        waiting = self._waiting.get(key)
        if waiting is not None:
            if waiting.at <= at:
                return
            waiting.cancel()
        self._waiting[key] = self._loop.call_at(at, self._due, key)

    def add_rate_limited(self, key: str) -> None:
        """Queue *key* after its own exponential delay."""
        requeues = self.requeues(key)
        self._requeues[key] = requeues + 1
        self.add_after(key, self._delay(requeues))

    def add_after_backoff(self, key: str) -> None:
        """Queue *key* after the delay of its latest failure; at once when it has had none.

        Upstream: job_controller.go, getBackoff().
        """
        requeues = self.requeues(key)
        self.add_after(key, self._delay(requeues - 1) if requeues else 0)

    def requeues(self, key: str) -> int:
        """How often *key* failed since it was last forgotten."""
        return self._requeues.get(key, 0)

    def forget(self, key: str) -> None:
        """Reset the exponential delay of *key*."""
        self._requeues.pop(key, None)

    def _delay(self, requeues: int) -> int:
        return min(self._base << min(requeues, _MANY), self._longest)

    def _due(self, key: str) -> None:
        del self._waiting[key]
        self._queue.add(key)

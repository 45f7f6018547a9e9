"""Places for work that only so many may do at once, and who waits for one.

    asked ──▶ taken ──▶ given back
      │         ▲
      └─ waits ─┘ in turns: addresses first, then their accounts, clients and runs
           └──▶ refused: too many wait, or it has waited too long

Nobody holds all places, not even while nobody else wants one: who comes later would wait until the
work ends. One account has at most half of them, all accounts of an address three quarters.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.utils.translation import gettext

from kscope.runs.capacity.fair_queue import FairQueue, Key, QueueFull
from kscope.runs.errors import ApplicationError

WAITING = 256  # requests
WAIT_SECONDS = 15.0
RETRY_AFTER = 2
_Turn = asyncio.Future[None]


class Places:
    """So many places; where they are all taken, those who want one take turns.

    A key begins with an address and an account; see `askers.asker_key`. An account counts as one at
    whatever addresses it is.
    """

    def __init__(self, count: int, wait_seconds: float | None = None) -> None:
        self._free = count
        self._most = (max(1, count * 3 // 4), max(1, count // 2))
        self._wait_seconds = wait_seconds
        self._held: Counter[tuple[int, str]] = Counter()
        self._waiting: FairQueue[tuple[Key, _Turn]] = FairQueue(WAITING)

    @asynccontextmanager
    async def hold(self, key: Key) -> AsyncIterator[None]:
        """Have a place meanwhile. Raises as `take` does."""
        await self.take(key)
        try:
            yield
        finally:
            self.give_back(key)

    async def take(self, key: Key) -> None:
        """Return when a place is free. Raises ApplicationError when none will be free in time."""
        if self._free > 0 and not self._has_its_share(key):
            self._give(key)
            return
        turn: _Turn = asyncio.get_running_loop().create_future()
        try:
            dropped = self._waiting.put(key, (key, turn))
        except QueueFull:
            raise busy() from None
        if dropped:
            dropped[1].set_exception(busy())
        try:
            async with asyncio.timeout(self._wait_seconds or WAIT_SECONDS):
                await turn
        except (TimeoutError, asyncio.CancelledError) as over:
            if not self._waiting.remove(key, (key, turn)) and _was_given(turn):
                self.give_back(key)
            if isinstance(over, TimeoutError):
                raise busy() from None
            raise

    def give_back(self, key: Key) -> None:
        """Let the next ones have the place."""
        self._free += 1
        self._held.subtract(_names(key))
        self._held += Counter()  # Forgets who holds none.
        while self._free > 0 and (found := self._waiting.take(skip=self._has_its_share)):
            next_key, turn = found
            if not turn.done():
                self._give(next_key)
                turn.set_result(None)

    def _give(self, key: Key) -> None:
        self._free -= 1
        self._held.update(_names(key))

    def _has_its_share(self, key: Key) -> bool:
        """Whether the address or the account at the beginning of *key* has all that it may have."""
        return any(self._held[name] >= self._most[name[0]] for name in _names(key))


def _names(key: Key) -> list[tuple[int, str]]:
    return list(enumerate(key[:2]))


def _was_given(turn: _Turn) -> bool:
    return turn.done() and not turn.cancelled() and turn.exception() is None


def busy() -> ApplicationError:
    """The refusal of those for whom there is no place."""
    return ApplicationError(
        gettext("kscope is busy; try again in a moment."), status=503, retry_after=RETRY_AFTER
    )

"""Asks the database once for all that several requests want to know at the same time."""

import asyncio
from asyncio import Future, Task
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# What is asked at a time.
MOST = 200


class Together(Generic[K, V]):
    """Collects questions while the ones before are answered; *ask* answers many of them.

    Each question is asked after it came, so that no answer is older than its question.
    """

    def __init__(self, ask: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._ask = ask
        self._waiting: dict[K, Future[V | None]] = {}
        self._asking: Task[None] | None = None

    async def of(self, key: K) -> V | None:
        """The answer; None when there is none. Raises what *ask* raises."""
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = asyncio.get_running_loop().create_future()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all())
        # Others may wait for the same answer.
        return await asyncio.shield(waiting)

    async def _ask_all(self) -> None:
        while self._waiting:
            keys = [*self._waiting][:MOST]
            waiting = {key: self._waiting.pop(key) for key in keys}
            try:
                found = await self._ask(keys)
            except Exception as problem:  # noqa: BLE001  # each of them is told
                for each in waiting.values():
                    each.set_exception(problem)
                    each.exception()  # who asked may be gone
                continue
            for key, each in waiting.items():
                each.set_result(found.get(key))

"""Cancels an asyncio task and waits until it has ended."""

import asyncio
from typing import Any

AGAIN_SECONDS = 0.5


async def end(task: "asyncio.Task[Any]") -> None:
    """Cancel *task* until it has ended, whatever it ends with.

    Once is not always enough: `asyncio.wait_for` before Python 3.12, which libraries use, forgets
    that it was cancelled when what it waits for comes at the same moment.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=AGAIN_SECONDS)
    if not task.cancelled():
        task.exception()  # looked at, so that it is not reported as forgotten

"""Stores commands for the engine of a run, several at a time, and wakes its driver.

No thread takes part: with many clients, each question that a thread asks the database would wait
for the event loop to let go of the interpreter.
"""

import logging
from collections.abc import Sequence

from channels.db import database_sync_to_async
from psycopg_pool import PoolTimeout

from kscope.runs.nudges import Waker
from kscope.runs.served.commands import commands_store
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.services import CommandColumns, run_wake
from kscope.runs.write_keys import TakenOver
from kube.server.handover import NotStored, Pledge, storing

log = logging.getLogger(__name__)


class Submitter:
    """Hands commands over, on connections of its own."""

    def __init__(self, links: SnapshotLinks) -> None:
        self.links = links
        self._waker = Waker()

    async def submit(
        self, run_id: int, commands: Sequence[CommandColumns], pledge: Pledge | None = None
    ) -> list[int]:
        """Store prepared commands of one run in their order; returns their numbers.

        Raises NotStored where nothing was stored; after any other error that is not known.
        """
        held, promise = (pledge.held, pledge.promise) if pledge is not None else (None, None)
        try:
            async with self.links.link() as link:
                with storing():
                    stored = await commands_store(link, run_id, commands, held, promise)
        except PoolTimeout as problem:
            raise NotStored from problem
        if stored is None:
            raise NotStored from TakenOver()
        if held is not None:
            held.version += 1
        await self._wake(run_id, has_driver=stored.has_driver)
        return stored.commands

    async def _wake(self, run_id: int, *, has_driver: bool) -> None:
        """Have a driver look. A stored command stays stored: the sweeper finds it, too."""
        try:
            if has_driver:
                await self._waker.wake_drivers(run_id)
            else:
                await database_sync_to_async(run_wake)(run_id)
        except Exception:
            log.exception("run %s waits for the sweeper", run_id)

    async def close(self) -> None:
        """Close its connections."""
        await self._waker.close()
        await self.links.close()

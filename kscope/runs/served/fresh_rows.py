"""Rows of a run's objects that are as of its newest event, for who reads them.

    a reader ──▶ are the rows of an earlier event? ──no──▶ reads them
                            │ yes
                            └──▶ asks the run's driver, which writes them ──▶ reads them

Whoever asks says so for a while: the driver then writes the rows with each slice. See docs/adr/0056.
"""

import asyncio
import time

from channels.db import database_sync_to_async

from kscope.runs.served.links import SnapshotLinks
from kscope.runs.services import rows_ask, rows_refusal

# So long a request waits for rows. Those of a large run may take as long as its first state.
WAIT_SECONDS = 20.0
_SHORTEST, _LONGEST, _GROWTH = 0.01, 0.2, 1.3
_BEHIND = "SELECT rows_seq IS NOT NULL AND rows_seq < %s FROM runs_run WHERE id = %s"


async def rows_awaited(links: SnapshotLinks, run_id: int) -> None:
    """Until the rows are as of the event that is the newest now, or of a later one.

    Raises ApplicationError where no worker writes them.
    """
    head = await database_sync_to_async(rows_ask)(run_id)
    deadline, pause = time.monotonic() + WAIT_SECONDS, _SHORTEST
    while head is not None:
        async with links.link() as link:
            found = await (await link.execute(_BEHIND, [head, run_id])).fetchone()
        if found is None or not found[0]:
            return
        if time.monotonic() > deadline:
            raise await database_sync_to_async(rows_refusal)(run_id)
        await asyncio.sleep(pause)
        pause = min(pause * _GROWTH, _LONGEST)

"""Rows of a run's objects that are as of its newest event, for who reads them.

    a reader ──▶ are the rows of an earlier event? ──no──▶ reads them
                            │ yes
                            └──▶ asks the run's driver, which writes them ──▶ reads them

Whoever asks says so for a while: the driver then writes the rows with each slice. See docs/adr/0056.
"""

import asyncio
import time
from functools import partial

from channels.db import database_sync_to_async

from kscope.runs.served.links import SnapshotLinks
from kscope.runs.services import rows_ask, rows_refusal

# So long a request waits for rows. Those of a large run may take as long as its first state.
WAIT_SECONDS = 20.0
_SHORTEST, _LONGEST, _GROWTH = 0.01, 0.2, 1.3
_ROWS = "SELECT rows_seq FROM runs_run WHERE id = %s"
# By run, the next look at how far its rows are: many wait for them at once.
_looks: dict[int, asyncio.Task[int | None]] = {}


async def rows_awaited(links: SnapshotLinks, run_id: int) -> None:
    """Until the rows are as of the event that is the newest now, or of a later one.

    Raises ApplicationError where no worker writes them.
    """
    head = await database_sync_to_async(rows_ask)(run_id)
    deadline, pause = time.monotonic() + WAIT_SECONDS, _SHORTEST
    while head is not None:
        rows = await _looked(links, run_id, pause)
        if rows is None or rows >= head:
            return
        if time.monotonic() > deadline:
            raise await database_sync_to_async(rows_refusal)(run_id)
        pause = min(pause * _GROWTH, _LONGEST)


async def _looked(links: SnapshotLinks, run_id: int, pause: float) -> int | None:
    """The event that the rows are as of soon; None where that is the newest, or the run is gone."""
    look = _looks.get(run_id)
    if look is None or look.get_loop() is not asyncio.get_running_loop():
        look = _looks[run_id] = asyncio.create_task(_look(links, run_id, pause))
        look.add_done_callback(partial(_note_look, run_id))
    # A client that leaves does not end what others wait for.
    return await asyncio.shield(look)


def _note_look(run_id: int, look: asyncio.Task[int | None]) -> None:
    if _looks.get(run_id) is look:
        del _looks[run_id]
    if not look.cancelled():
        look.exception()  # whoever still waits is told


async def _look(links: SnapshotLinks, run_id: int, pause: float) -> int | None:
    await asyncio.sleep(pause)
    async with links.link() as link:
        found = await (await link.execute(_ROWS, [run_id])).fetchone()
    return found[0] if found else None

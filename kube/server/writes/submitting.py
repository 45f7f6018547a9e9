"""Stores commands for the engine of a run, several at a time, and wakes its driver.

No thread takes part: with many clients, each question that a thread asks the database would wait
for the event loop to let go of the interpreter.
"""

from collections.abc import Sequence

import orjson
from channels.db import database_sync_to_async

from kscope.runs import leases
from kscope.runs.nudges import Waker
from kscope.runs.services import CommandColumns, run_wake
from kube.server.objects.links import SnapshotLinks

# One document holds all commands: an array for each column takes several times as long to write.
_INSERT = (
    "WITH stored AS ("
    " INSERT INTO runs_command (run_id, body, verb, object, status, reason, created)"
    " SELECT %(run)s, one->'body', one->>'verb', one->>'object', 'pending', '', clock_timestamp()"
    " FROM jsonb_array_elements(%(commands)s::text::jsonb) WITH ORDINALITY AS given (one, place)"
    " ORDER BY place RETURNING id)"
    f" SELECT id, (SELECT {leases.held()} FROM runs_run WHERE id = %(run)s)"
    " FROM stored ORDER BY id"
).encode()


class Submitter:
    """Hands commands over, on connections of its own."""

    def __init__(self, links: SnapshotLinks) -> None:
        self.links = links
        self._waker = Waker()

    async def submit(self, run_id: int, commands: Sequence[CommandColumns]) -> list[int]:
        """Store prepared commands of one run in their order; returns their numbers."""
        given = {"run": run_id, "commands": orjson.dumps(commands).decode()}
        async with self.links.link() as link:
            rows = await (await link.execute(_INSERT, given)).fetchall()
        has_driver = rows[0][1]
        if has_driver:
            await self._waker.wake_drivers(run_id)
        else:
            await database_sync_to_async(run_wake)(run_id)
        return [number for number, _ in rows]

    async def close(self) -> None:
        """Close its connections."""
        await self._waker.close()
        await self.links.close()

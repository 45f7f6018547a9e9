"""Stores commands for the engine of a run, several at a time, and wakes its driver.

No thread takes part: with many clients, each question that a thread asks the database would wait
for the event loop to let go of the interpreter.
"""

import logging
from collections.abc import Sequence

import orjson
from channels.db import database_sync_to_async
from psycopg_pool import PoolTimeout

from kscope.runs import leases
from kscope.runs.engine import Manifest
from kscope.runs.nudges import Waker
from kscope.runs.services import CommandColumns, run_wake
from kscope.runs.write_keys import TakenOver
from kube.server.handover import NotStored, Pledge, storing
from kube.server.objects.links import SnapshotLinks

log = logging.getLogger(__name__)

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
# The same for commands of one request that has a key: in one statement with the step of the key.
_INSERT_HELD = (
    "WITH held AS ("
    " SELECT id FROM runs_writekey WHERE id = %(id)s AND version = %(version)s FOR UPDATE"
    "), stored AS ("
    " INSERT INTO runs_command (run_id, body, verb, object, status, reason, created)"
    " SELECT %(run)s, one->'body', one->>'verb', one->>'object', 'pending', '', clock_timestamp()"
    " FROM held, jsonb_array_elements(%(commands)s::text::jsonb) WITH ORDINALITY AS given (one, place)"
    " ORDER BY place RETURNING id"
    "), stepped AS ("
    " UPDATE runs_writekey SET version = version + 1, promise = %(promise)s::text::jsonb,"
    " commands = (SELECT jsonb_agg(id ORDER BY id) FROM stored) WHERE id IN (SELECT id FROM held))"
    f" SELECT id, (SELECT {leases.held()} FROM runs_run WHERE id = %(run)s)"
    " FROM stored ORDER BY id"
).encode()


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
        given: Manifest = {"run": run_id, "commands": orjson.dumps(commands).decode()}
        if pledge is not None:
            given |= {**pledge.held.place, "promise": orjson.dumps(pledge.promise).decode()}
        try:
            async with self.links.link() as link:
                with storing():
                    found = await link.execute(_INSERT if pledge is None else _INSERT_HELD, given)
                rows = await found.fetchall()
        except PoolTimeout as problem:
            raise NotStored from problem
        if pledge is not None:
            if not rows:
                raise NotStored from TakenOver()
            pledge.held.version += 1
        await self._wake(run_id, has_driver=rows[0][1])
        return [number for number, _ in rows]

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

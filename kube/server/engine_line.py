"""Has the engine of a run carry a command out, and waits for what came of it."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from channels.db import database_sync_to_async

from kscope.runs.engine import Manifest
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, Run
from kscope.runs.services import command_submit
from kube.addresses import Target
from kube.server.feed import Feed
from kube.server.links import SnapshotLinks
from kube.status import ApiError, already_exists, not_found, timed_out

WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.25
# HTTP status by the reason of an engine's refusal.
_CODES = {
    "AlreadyExists": 409,
    "Conflict": 409,
    "Forbidden": 403,
    "Invalid": 422,
    "NotFound": 404,
    "TooManyRequests": 429,
}


@dataclass(frozen=True, slots=True)
class EngineLine:
    """Commands to the engine of one run."""

    run: Run
    feed: Feed
    links: SnapshotLinks

    async def carry_out(self, body: Manifest, target: Target | None) -> None:
        """Have the engine do it. Raises ApiError when it refuses, or does not answer in time."""
        command_id = await self._submit(body)
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            change = self.feed.change
            status, reason = await self._outcome(command_id)
            if status == Command.Status.APPLIED:
                return
            if status == Command.Status.REJECTED:
                raise _refusal(reason, target)
            left = ends - time.monotonic()
            if left <= 0:
                raise timed_out("the engine of the run has not answered yet; ask for the object")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await change.wait()

    @database_sync_to_async
    def _submit(self, body: Manifest) -> int:
        try:
            return command_submit(run=self.run, body=body).pk
        except ApplicationError as refusal:
            raise ApiError(
                refusal.status if refusal.status != 400 else 422, "Invalid", refusal.message
            ) from refusal

    async def _outcome(self, command_id: int) -> tuple[str, str]:
        async with self.links.link() as link:
            found = await link.execute(
                "SELECT status, reason FROM runs_command WHERE id = %s", [command_id]
            )
            row = await found.fetchone()
        return (row[0], row[1]) if row else ("rejected", "NotFound: the run is gone")


def _refusal(reason: str, target: Target | None) -> ApiError:
    """The engine's "Reason: message" as a Status."""
    name, _, message = reason.partition(": ")
    code = _CODES.get(name, 422)
    if target is None:
        return ApiError(code, name, message)
    if name == "AlreadyExists":
        return already_exists(target.resource, target.name)
    if name == "NotFound":
        return not_found(target.resource, target.name)
    details = {"name": target.name, "kind": target.resource.plural}
    if target.resource.group:
        details["group"] = target.resource.group
    return ApiError(code, name, message, details)

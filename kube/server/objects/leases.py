"""Leases of clients, which are no part of the run: a row each, and no history.

A client that elects a leader renews a Lease every two seconds, and gives up after ten. So it asks
neither the engine of the run nor waits for it.
"""

import uuid
from typing import Any

import orjson
import psycopg
from psycopg_pool import PoolTimeout

from engine.kernel.units import timestamp
from engine.objects.objects import Manifest
from kscope.runs.nudges import Outcome
from kscope.runs.served.client_leases import (
    MOST,
    lease_at,
    lease_create,
    lease_delete,
    lease_update,
)
from kscope.runs.served.keys import key_promise
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.runs import Run
from kscope.runs.write_keys import TakenOver
from kube import patching
from kube.addresses import Target
from kube.server.handover import NotStored, Pledge, storing
from kube.status import MODIFIED, ApiError, already_exists, conflict, not_found

KIND = "Lease"
# Characters.
LONGEST = 20_000

Link = psycopg.AsyncConnection[Any]


async def carry_out(
    links: SnapshotLinks, run: Run, command: Manifest, target: Target, pledge: Pledge | None
) -> Outcome:
    """Do what a command would do to a Lease of the run; returns what came of it.

    Raises NotStored where nothing was stored.
    """
    try:
        async with links.link() as link:
            if pledge is None:
                return await _done(link, run, command, target)
            async with link.transaction():
                await _step(link, pledge)
                outcome = await _done(link, run, command, target)
            pledge.held.version += 1
            return outcome
    except (ApiError, PoolTimeout) as problem:
        raise NotStored from problem


async def _step(link: Link, pledge: Pledge) -> None:
    """Take the step of the key, in the transaction of what it promises."""
    try:
        with storing():
            await key_promise(link, pledge.held, pledge.promise)
    except TakenOver as taken:
        raise NotStored from taken


async def _done(link: Link, run: Run, command: Manifest, target: Target) -> Outcome:
    with storing():
        if command["verb"] == "create":
            return await _create(link, run, command["manifest"], target)
        return await _change(link, run, command, target)


async def _create(link: Link, run: Run, manifest: Manifest, target: Target) -> Outcome:
    made = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(run.clock)}
    stored = {**manifest, "metadata": {**manifest["metadata"], **made}}
    version, text = run.head_seq + 1, _text(stored)
    if not await lease_create(link, run.pk, _key(target), version, text):
        if await lease_at(link, run.pk, _key(target)) is not None:
            raise already_exists(target.resource, target.name)
        raise ApiError(429, "TooManyRequests", f"run {run.pk} has {MOST:,} Leases of clients")
    return _outcome(run.head_seq + 1, stored)


async def _change(link: Link, run: Run, command: Manifest, target: Target) -> Outcome:
    found = await lease_at(link, run.pk, _key(target))
    if found is None:
        raise not_found(target.resource, target.name)
    if command.get("uid", found.manifest["metadata"]["uid"]) != found.manifest["metadata"]["uid"]:
        raise conflict(target.resource, target.name, "the UID in the precondition is another one")
    if command.get("expect", found.seq) != found.seq:
        raise conflict(target.resource, target.name, MODIFIED)
    place = run.pk, _key(target), found.seq
    left: Manifest | None = None
    if command["verb"] == "delete":
        is_done = await lease_delete(link, *place)
    else:
        left = changed = patching.merge_patched(found.manifest, command["patch"])
        is_done = await lease_update(link, *place, _text(changed))
    if not is_done:
        raise conflict(target.resource, target.name, MODIFIED)
    return _outcome(found.seq + 1, left)


def _outcome(version: int, left: Manifest | None) -> Outcome:
    """The outcome of a write that is not a command of the engine."""
    return Outcome(0, True, "", version, None if left is None else (version, version, left))


def _key(target: Target) -> str:
    return f"{target.namespace}/{target.name}"


def _text(manifest: Manifest) -> str:
    text = orjson.dumps(manifest).decode()
    if len(text) > LONGEST:
        raise ApiError(
            413, "RequestEntityTooLarge", f"a Lease has at most {LONGEST:,} characters here"
        )
    return text

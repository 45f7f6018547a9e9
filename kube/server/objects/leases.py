"""Leases of clients, which are no part of the run: a row each, and no history.

A client that elects a leader renews a Lease every two seconds, and gives up after ten. So it asks
neither the engine of the run nor waits for it.
"""

import uuid
from typing import Any

import orjson
import psycopg
from psycopg_pool import PoolTimeout

from kscope.runs.engine import Manifest
from kscope.runs.models import Run
from kscope.runs.nudges import Outcome
from kscope.runs.write_keys import PROMISE, TakenOver
from kscope.sim.kernel.units import timestamp
from kube import patching
from kube.addresses import Target
from kube.server.handover import NotStored, Pledge, storing
from kube.server.objects.links import SnapshotLinks
from kube.server.objects.versions import Version
from kube.status import MODIFIED, ApiError, already_exists, conflict, not_found

KIND = "Lease"
# Of a run; and characters of one of them.
MOST = 1_000
LONGEST = 20_000

_READ = "SELECT version, manifest::text FROM runs_clientlease WHERE run_id = %s"
_INSERT = (
    "INSERT INTO runs_clientlease (run_id, key, version, manifest)"
    " SELECT %(run)s, %(key)s, %(version)s, %(manifest)s::jsonb"
    " WHERE (SELECT count(*) FROM runs_clientlease WHERE run_id = %(run)s) < %(most)s"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = (
    "UPDATE runs_clientlease SET version = version + 1, manifest = %s::jsonb"
    " WHERE run_id = %s AND key = %s AND version = %s"
)

Link = psycopg.AsyncConnection[Any]


async def leases_in(link: Link, run_id: int, namespace: str) -> list[Version]:
    """Those of a namespace, or all, by key."""
    prefix = f"{namespace}/" if namespace else ""
    statement = f"{_READ} AND starts_with(key, %s) ORDER BY key"
    found = await link.execute(statement, [run_id, prefix])
    return [_version(row) for row in await found.fetchall()]


async def lease_at(link: Link, run_id: int, key: str) -> Version | None:
    """The one of this key, or None."""
    row = await (await link.execute(f"{_READ} AND key = %s", [run_id, key])).fetchone()
    return _version(row) if row else None


def _version(row: Any) -> Version:
    version, text = row
    return Version(version, orjson.loads(text), version)


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
    given = {**pledge.held.place, "promise": orjson.dumps(pledge.promise).decode()}
    with storing():
        done = await link.execute(PROMISE, {**given, "commands": "[]"})
    if not done.rowcount:
        raise NotStored from TakenOver()


async def _done(link: Link, run: Run, command: Manifest, target: Target) -> Outcome:
    with storing():
        if command["verb"] == "create":
            return await _create(link, run, command["manifest"], target)
        return await _change(link, run, command, target)


async def _create(link: Link, run: Run, manifest: Manifest, target: Target) -> Outcome:
    made = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(run.clock)}
    stored = {**manifest, "metadata": {**manifest["metadata"], **made}}
    given = {
        "run": run.pk,
        "key": _key(target),
        "version": run.head_seq + 1,
        "manifest": _text(stored),
        "most": MOST,
    }
    if not (await link.execute(_INSERT, given)).rowcount:
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
    place = [run.pk, _key(target), found.seq]
    left: Manifest | None = None
    if command["verb"] == "delete":
        statement = "DELETE FROM runs_clientlease WHERE run_id = %s AND key = %s AND version = %s"
        done = await link.execute(statement, place)
    else:
        left = changed = patching.merge_patched(found.manifest, command["patch"])
        done = await link.execute(_UPDATE, [_text(changed), *place])
    if not done.rowcount:
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

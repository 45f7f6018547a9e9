"""Leases of clients, which are no part of the run: a row each, and no history."""

from typing import Any

import orjson
import psycopg

from kscope.runs.served.versions import Version

# Of a run.
MOST = 1_000

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
_DELETE = "DELETE FROM runs_clientlease WHERE run_id = %s AND key = %s AND version = %s"

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


async def lease_create(link: Link, run_id: int, key: str, version: int, text: str) -> bool:
    """Store a new one, whose manifest is JSON; False where there is one, or there are too many."""
    given = {"run": run_id, "key": key, "version": version, "manifest": text, "most": MOST}
    return (await link.execute(_INSERT, given)).rowcount > 0


async def lease_update(link: Link, run_id: int, key: str, version: int, text: str) -> bool:
    """Store the next version; False where *version* is not the newest any more."""
    return (await link.execute(_UPDATE, [text, run_id, key, version])).rowcount > 0


async def lease_delete(link: Link, run_id: int, key: str, version: int) -> bool:
    """Delete one; False where *version* is not the newest any more."""
    return (await link.execute(_DELETE, [run_id, key, version])).rowcount > 0

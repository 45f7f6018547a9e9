"""What changed in a run between two events, as watchers are told it.

Several writes of one object within a range are one change to its newest version, as informers
allow. An object that went within the range is told with its last manifest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import psycopg
from psycopg import sql

from kube.server.objects import kubernetes_events
from kube.server.objects.kubernetes_events import keys_by_table
from kube.server.objects.versions import Version


@dataclass(frozen=True, slots=True)
class Change:
    """A newer version of an object, or, for `is_gone`, the last one of an object that went."""

    entity: str
    version: Version
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed after event *after*, up to event *upto*, at virtual time *at*, in order.

    `texts` keeps what was encoded for one watcher for those that want the same.
    """

    after: int
    upto: int
    at: int
    by_entity: Sequence[Change]
    events: Sequence[Version] = ()
    texts: dict[Any, bytes] = field(default_factory=dict[Any, bytes])
    size: int = 0


async def read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, after: int, upto: int, at: int
) -> Changes:
    """What changed. Within a transaction, which may see events beyond *upto*."""
    found = await link.execute(
        "SELECT DISTINCT object FROM runs_runevent WHERE run_id = %s AND seq > %s AND seq <= %s",
        [run_id, after, upto],
    )
    entities = sorted(row[0] for row in await found.fetchall())
    changes: list[Change] = []
    size = 0
    for table, keys in keys_by_table(entities).items():
        found = await link.execute(
            sql.SQL(
                "SELECT key, seq, created_seq, manifest::text FROM {}"
                " WHERE run_id = %s AND key = ANY(%s) AND seq > %s"
            ).format(sql.Identifier(table)),
            [run_id, [*keys], after],
        )
        for key, seq, created, text in await found.fetchall():
            # What was written again later is told then, but that it came is told here.
            if seq <= upto or after < created <= upto:
                size += len(text)
                seq = seq if seq <= upto else created
                changes.append(Change(keys[key], Version(seq, orjson.loads(text), created)))
    found = await link.execute(
        "SELECT object, seq, created_seq, manifest::text FROM runs_removedobject"
        " WHERE run_id = %s AND seq > %s AND created_seq <= %s"
        " AND (seq <= %s OR created_seq > %s)",
        [run_id, after, upto, upto, after],
    )
    for entity, seq, created, text in await found.fetchall():
        size += len(text)
        manifest = orjson.loads(text)
        # What came and went is two changes, each of an event of its own: a client may have heard
        # of the first only, when it comes back.
        if created > after:
            changes.append(Change(entity, Version(created, manifest, created)))
        if seq <= upto:
            changes.append(Change(entity, Version(seq, manifest, created), is_gone=True))
    changes.sort(key=_seq)
    events = await kubernetes_events.read_newer(link, run_id, after=after, upto=upto, at=at)
    return Changes(after, upto, at, changes, events, size=size)


def _seq(change: Change) -> int:
    return change.version.seq

"""What changed in a run between two events, as watchers are told it.

Several writes of one object within a range are one change to its newest version, as informers
allow. An object that went within the range is told with its last manifest.

A client may come back after any change that it was told of, and has to know all that came before.
An object that came before that change and was written again after it is therefore two changes.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import psycopg
from psycopg import sql

from kube.server.objects import kubernetes_events
from kube.server.objects.kubernetes_events import keys_by_table
from kube.server.objects.versions import Version


@dataclass(frozen=True, slots=True)
class Change:
    """A newer version of an object, or, for `is_gone`, the last one of an object that went.

    `has_come`: that the object came is a change of its own, earlier in the same range.
    """

    entity: str
    version: Version
    is_gone: bool = False
    has_come: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed after event *after*, up to event *upto*, at virtual time *at*, in order.

    `texts` keeps what was encoded for one watcher for those that want the same.
    """

    after: int
    upto: int
    at: int
    by_entity: Sequence[Change]
    events: Sequence[Change] = ()
    """Of the Kubernetes Events, which are no entities."""
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
    changes = _with_arrivals(changes, after)
    said = await kubernetes_events.read_newer(link, run_id, after=after, upto=upto, at=at)
    events = _with_arrivals([Change("", one) for one in said], after)
    return Changes(after, upto, at, changes, events, size=size)


def _with_arrivals(changes: Sequence[Change], after: int) -> list[Change]:
    """The changes in order, with one more for each object that came before another was told.

    Only objects of the same kind matter, because a watch is of one kind.
    """
    seqs: dict[str, list[int]] = {}
    for change in changes:
        version, of_kind = change.version, seqs.setdefault(_kind(change), [])
        of_kind.append(version.seq)
        if after < version.created < version.seq and not change.is_gone:
            of_kind.append(version.created)
    for of_kind in seqs.values():
        of_kind.sort()
    found: list[Change] = []
    for change in changes:
        version, of_kind = change.version, seqs[_kind(change)]
        came = version.created
        if not change.is_gone and after < came < version.seq:
            following = of_kind[bisect_right(of_kind, came)]
            if following < version.seq:
                found.append(Change(change.entity, Version(came, version.manifest, came)))
                change = replace(change, has_come=True)
        found.append(change)
    found.sort(key=_seq)
    return found


def _kind(change: Change) -> str:
    return change.entity.partition("/")[0]


def _seq(change: Change) -> int:
    return change.version.seq

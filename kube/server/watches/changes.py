"""The changes in a run between two events, as watchers get them.

A watch sends each write of a command as the command left the object, whatever was written afterwards:
clients are promised every change. Several writes of controllers to one object within a range are one
change, with the newest version. A deletion within the range comes with the last manifest.

A client may come back after any change that it got, and has to know all that came before.
An object that came before that change and was written again after it is therefore two changes.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import psycopg

from kscope.runs.served.changes import (
    Row,
    entities_between,
    removed_since,
    written_by_commands,
    written_since,
)
from kscope.runs.served.versions import Version
from kube.server.objects import kubernetes_events


@dataclass(frozen=True, slots=True)
class Change:
    """A newer version of an object, or, for `is_gone`, the last one of an object that went.

    `has_come`: an earlier change of the same range tells that the object came.
    """

    entity: str
    version: Version
    is_gone: bool = False
    has_come: bool = False
    size: int = 0
    """Of the manifest's text."""


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
    """The changes of Kubernetes Events, which are not entities."""
    texts: dict[Any, bytes] = field(default_factory=dict[Any, bytes])
    size: int = 0


async def read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, after: int, upto: int, at: int
) -> Changes:
    """What changed. Within a transaction, which may see events beyond *upto*."""
    entities = await entities_between(link, run_id, after, upto)
    changes = [_change(row) for row in await written_by_commands(link, run_id, after, upto)]
    seqs = {change.version.seq for change in changes}
    lives = {(change.entity, change.version.created) for change in changes}
    async for row in written_since(link, run_id, entities, after):
        if row.seq <= upto and row.seq not in seqs:
            changes.append(_change(row))
        # A later change sends the object as it was written then; its arrival is sent here.
        elif (
            row.seq > upto
            and after < row.created <= upto
            and (row.entity, row.created) not in lives
        ):
            changes.append(_change(row._replace(seq=row.created)))
    for row in await removed_since(link, run_id, after, upto):
        # An object that came and went is two changes, each of its own event: a client may have heard
        # of the first only, when it comes back.
        if row.created > after and (row.entity, row.created) not in lives:
            changes.append(_change(row._replace(seq=row.created)))
        if row.seq <= upto:
            changes.append(_change(row, is_gone=True))
    size = sum(change.size for change in changes)
    changes = _with_arrivals(changes, after)
    said = await kubernetes_events.read_newer(link, run_id, after=after, upto=upto, at=at)
    told = [Change("", one.version, is_gone=one.is_gone) for one in said]
    events = _with_arrivals(told, after)
    return Changes(after, upto, at, changes, events, size=size)


def _change(row: Row, *, is_gone: bool = False) -> Change:
    version = Version(row.seq, orjson.loads(row.text), row.created)
    return Change(row.entity, version, is_gone=is_gone, size=len(row.text))


def _with_arrivals(changes: Sequence[Change], after: int) -> list[Change]:
    """The changes in order, with one more for each object that came before another change.

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
    come: set[int] = set()
    for change in sorted(changes, key=_seq):
        version, of_kind = change.version, seqs[_kind(change)]
        came = version.created
        if not change.is_gone and came > after:
            is_late = came not in come and came < version.seq
            if is_late and of_kind[bisect_right(of_kind, came)] < version.seq:
                found.append(replace(change, version=Version(came, version.manifest, came)))
                come.add(came)
            change = replace(change, has_come=came in come)
            come.add(came)
        found.append(change)
    found.sort(key=_seq)
    return found


def _kind(change: Change) -> str:
    return change.entity.partition("/")[0]


def _seq(change: Change) -> int:
    return change.version.seq

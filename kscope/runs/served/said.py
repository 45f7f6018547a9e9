"""What the history of a run says of its objects, and the lives of these: for Kubernetes Events."""

from typing import Any, NamedTuple

import orjson
import psycopg

from engine.objects.kubernetes_events import Life, Said
from engine.objects.manifest_parts import section
from kscope.runs.selectors import SEQS_BEFORE
from kscope.runs.served.objects import Row, removals_read, rows_of, uid_of
from kscope.runs.served.versions import Version

Link = psycopg.AsyncConnection[Any]

# Events have virtual time, Kubernetes Events the time of the clock.
_AHEAD = "(SELECT coalesce(ahead, 0) FROM runs_run WHERE id = %(run)s)"
_SELECT = (
    "SELECT object, coalesce(data->>'reason', kind), component, coalesce(data->>'note', message),"
    f" data->>'type', min(seq), max(seq), min(at) + {_AHEAD}, max(at) + {_AHEAD}, count(*)"
    " FROM events_between(%(run)s, %(after)s, %(upto)s)"
    " WHERE data @> '{\"event\": true}' AND data->'kept' IS NULL GROUP BY 1, 2, 3, 4, 5"
    " HAVING max(seq) > %(newer)s ORDER BY max(seq)"
)
_NEWEST = (
    "SELECT EXISTS (SELECT FROM events_between(%s, %s, %s)"
    " WHERE data @> '{\"event\": true}' OR data->'kept' IS NOT NULL)"
)
_KEPT = (
    "SELECT seq, min(seq) OVER (PARTITION BY data #> '{kept,metadata,namespace}',"
    " data #> '{kept,metadata,name}'), (data->'kept')::text, coalesce((data->>'gone')::bool, false)"
    " FROM events_between(%(run)s, %(after)s, %(upto)s)"
    " WHERE data->'kept' IS NOT NULL ORDER BY seq"
)


async def is_something_said(link: Link, run_id: int, *, after: int, upto: int) -> bool:
    """Whether anything was said after event *after*, up to *upto*."""
    [(are_there,)] = await (await link.execute(_NEWEST, [run_id, after, upto])).fetchall()
    return are_there


async def said_before(link: Link, run_id: int, *, newer: int, upto: int, since: int) -> list[Said]:
    """What was said from virtual time *since* on, up to event *upto*, and last after *newer*."""
    before = {"head": upto, "moments": [since], "run": run_id}
    [(after,)] = await (await link.execute(SEQS_BEFORE, before)).fetchall()
    given = {"run": run_id, "after": after, "upto": upto, "newer": newer}
    return [Said(*row) for row in await (await link.execute(_SELECT, given)).fetchall()]


class Kept(NamedTuple):
    """An Event that a client has written, as of event *seq*, or deleted then."""

    version: Version
    is_gone: bool


async def kept_before(link: Link, run_id: int, *, upto: int, since: int) -> list[Kept]:
    """What clients wrote of Events from virtual time *since* on, up to event *upto*, in order."""
    before = {"head": upto, "moments": [since], "run": run_id}
    [(after,)] = await (await link.execute(SEQS_BEFORE, before)).fetchall()
    found = await link.execute(_KEPT, {"run": run_id, "after": after, "upto": upto})
    return [
        Kept(Version(seq, orjson.loads(text), first), is_gone)
        for seq, first, text, is_gone in await found.fetchall()
    ]


async def lives_of(link: Link, run_id: int, entities: list[str]) -> dict[str, list[Life]]:
    """The lives of each object, oldest first: one that was made again has several."""
    lives: dict[str, list[Life]] = {}
    for row in await removals_read(link, run_id, "object = ANY(%s) ORDER BY seq", entities):
        lives.setdefault(row.entity, []).append(_life(row))
    async for row in rows_of(link, run_id, entities):
        lives.setdefault(row.entity, []).append(_life(row))
    return lives


def _life(row: Row) -> Life:
    manifest = orjson.loads(row.text)
    spec = section(manifest, "spec")
    scheduler, node = str(spec.get("schedulerName") or ""), str(spec.get("nodeName") or "")
    return Life(uid_of(manifest), scheduler, node, row.created)

"""The Kubernetes Events of a run, made of what its history recorded.

Messages about one object with the same reason and words become one Event with a count, as in an API
server. Like there, an Event is kept for an hour after it was last seen.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from kscope.runs.engine import Manifest, wiring
from kscope.runs.models import OtherObject
from kscope.runs.selectors import SEQS_BEFORE
from kscope.sim.kernel.units import HOUR, timestamp
from kscope.sim.objects.kinds import entity_id
from kube.resources import SERVED, Resource
from kube.server.objects.versions import Version

KEPT = HOUR

# Events have virtual time, Kubernetes Events the time of the clock.
_AHEAD = "(SELECT coalesce(ahead, 0) FROM runs_run WHERE id = %(run)s)"
_SELECT = (
    "SELECT object, coalesce(data->>'reason', kind), component, coalesce(data->>'note', message),"
    f" data->>'type', min(seq), max(seq), min(at) + {_AHEAD}, max(at) + {_AHEAD}, count(*)"
    " FROM runs_runevent WHERE run_id = %(run)s AND seq > %(after)s AND seq <= %(upto)s"
    " AND data @> '{\"event\": true}' GROUP BY 1, 2, 3, 4, 5"
    " HAVING max(seq) > %(newer)s ORDER BY max(seq)"
)
_NEWEST = (
    "SELECT EXISTS (SELECT FROM runs_runevent WHERE run_id = %s AND seq > %s AND seq <= %s"
    " AND data @> '{\"event\": true}')"
)


_OF_MANIFEST = (
    "coalesce(manifest #>> '{metadata,uid}', ''),"
    " coalesce(manifest #>> '{spec,schedulerName}', ''),"
    " coalesce(manifest #>> '{spec,nodeName}', '')"
)
# The names under which components report Events, where the history calls them otherwise.
# Upstream: the EventSource of each component's recorder.
_REPORTERS = {
    "attach-detach": "attachdetach-controller",
    "pv-controller": "persistentvolume-controller",
    "volume-expand": "volume_expand",
}
_DEFAULT_SCHEDULER = "default-scheduler"


class Said(NamedTuple):
    """What was said of an object with the same words: how often, and when by the clock."""

    object: str
    reason: str
    component: str
    message: str
    type: str
    first_seq: int
    last_seq: int
    first_at: int
    last_at: int
    count: int


async def read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, seq: int, at: int, resource: Resource
) -> list[Version]:
    """The Events after event *seq*, at virtual time *at*, in the shape of *resource*'s group."""
    events = await _read(link, run_id, newer=0, upto=seq, at=at)
    return [in_group(resource, one) for one in events] if resource.group else events


async def read_newer(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, after: int, upto: int, at: int
) -> list[Version]:
    """The Events that came or were seen again after event *after*, in the shape of core/v1."""
    [(are_there,)] = await (await link.execute(_NEWEST, [run_id, after, upto])).fetchall()
    return await _read(link, run_id, newer=after, upto=upto, at=at) if are_there else []


async def _read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, newer: int, upto: int, at: int
) -> list[Version]:
    before = {"head": upto, "moments": [max(at - KEPT, 0)], "run": run_id}
    [(after,)] = await (await link.execute(SEQS_BEFORE, before)).fetchall()
    given = {"run": run_id, "after": after, "upto": upto, "newer": newer}
    said = [Said(*row) for row in await (await link.execute(_SELECT, given)).fetchall()]
    lives = await _lives(link, run_id, sorted({one.object for one in said}))
    return [
        Version(one.last_seq, _core_event(one, _life(one, lives)), one.first_seq) for one in said
    ]


def in_group(resource: Resource, event: Version) -> Version:
    """An Event of core/v1 in the shape of *resource*'s group."""
    if not resource.group:
        return event
    return Version(event.seq, _event_v1(event.manifest), event.created)


class _Life(NamedTuple):
    """An object: its uid, a pod's scheduler and node, and the event that created it."""

    uid: str
    scheduler: str
    node: str
    created: int


async def _lives(
    link: "psycopg.AsyncConnection[Any]", run_id: int, entities: list[str]
) -> dict[str, list[_Life]]:
    """The lives of each object, oldest first: one that was made again has several."""
    lives: dict[str, list[_Life]] = {}
    found = await link.execute(
        f"SELECT object, {_OF_MANIFEST}, created_seq FROM runs_removedobject"
        " WHERE run_id = %s AND object = ANY(%s) ORDER BY seq",
        [run_id, entities],
    )
    for entity, uid, scheduler, node, created in await found.fetchall():
        lives.setdefault(entity, []).append(_Life(uid, scheduler, node, created))
    for table, keys in keys_by_table(entities).items():
        found = await link.execute(
            sql.SQL(
                "SELECT key, {}, created_seq FROM {} WHERE run_id = %s AND key = ANY(%s)"
            ).format(sql.SQL(_OF_MANIFEST), sql.Identifier(table)),
            [run_id, [*keys]],
        )
        for key, uid, scheduler, node, created in await found.fetchall():
            lives.setdefault(keys[key], []).append(_Life(uid, scheduler, node, created))
    return lives


def keys_by_table(entities: Iterable[str]) -> dict[str, dict[str, str]]:
    """For each table of objects the keys of its rows, with their entity ids."""
    by_table: dict[str, dict[str, str]] = {}
    for entity in entities:
        prefix, _, key = entity.partition("/")
        model = wiring.projections.get(prefix, OtherObject)
        keys = by_table.setdefault(model._meta.db_table, {})
        keys[entity if model is OtherObject else key] = entity
    return by_table


_OF_PREFIX: dict[str, Resource] = {}
for _resource in SERVED:
    _OF_PREFIX.setdefault(entity_id(_resource.kind, "").removesuffix("/"), _resource)


def _life(said: Said, lives: dict[str, list[_Life]]) -> _Life | None:
    """The object that it was said of: the newest that had been created by then.

    Messages after a deletion are about the deleted object, also when it is made again.
    """
    known = reversed(lives.get(said.object, ()))
    return next((one for one in known if one.created <= said.last_seq), None)


def _source(said: Said, life: _Life | None) -> Manifest:
    if said.component == "scheduler":
        return {"component": (life.scheduler if life else "") or _DEFAULT_SCHEDULER}
    source = {"component": _REPORTERS.get(said.component, said.component)}
    node = life.node if life and said.component == "kubelet" else ""
    return {**source, "host": node} if node else source


def _reference(said: Said, life: _Life | None) -> Manifest:
    prefix, _, key = said.object.partition("/")
    resource = _OF_PREFIX.get(prefix)
    namespace, _, name = key.rpartition("/")
    reference: Manifest = {"kind": resource.kind if resource else prefix, "name": name}
    if namespace:
        reference["namespace"] = namespace
    if resource:
        reference["apiVersion"] = resource.api_version
    if life is not None:
        # Events about nodes name the node where its uid would stand, as a kubelet does.
        reference["uid"] = name if prefix == "node" else life.uid
    return reference


def _metadata(said: Said, reference: Manifest) -> Manifest:
    return {
        "name": f"{reference['name']}.{said.first_seq:016x}",
        "namespace": reference.get("namespace", "default"),
        "uid": f"00000000-0000-4000-8000-{said.first_seq:012x}",
        "creationTimestamp": timestamp(said.first_at),
    }


def _core_event(said: Said, life: _Life | None) -> Manifest:
    reference, source = _reference(said, life), _source(said, life)
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": _metadata(said, reference),
        "involvedObject": reference,
        "reason": said.reason,
        "message": said.message,
        "source": source,
        "firstTimestamp": timestamp(said.first_at),
        "lastTimestamp": timestamp(said.last_at),
        "count": said.count,
        "type": said.type,
        "eventTime": None,
        "reportingComponent": source["component"],
        "reportingInstance": source.get("host", ""),
    }


def _event_v1(core: Manifest) -> Manifest:
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": core["metadata"],
        "eventTime": None,
        "reportingController": core["reportingComponent"],
        "reportingInstance": core["reportingInstance"],
        "reason": core["reason"],
        "regarding": core["involvedObject"],
        "note": core["message"],
        "type": core["type"],
        "deprecatedSource": core["source"],
        "deprecatedFirstTimestamp": core["firstTimestamp"],
        "deprecatedLastTimestamp": core["lastTimestamp"],
        "deprecatedCount": core["count"],
    }

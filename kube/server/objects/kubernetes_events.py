"""The Kubernetes Events of a run, made of what its history recorded.

Messages about one object with the same reason and words become one Event with a count, as in an API
server. Like there, an Event is kept for an hour after it was last seen.
"""

from typing import Any

import psycopg

from engine.kernel.units import HOUR, timestamp
from engine.objects.kinds import entity_id
from engine.objects.objects import Manifest
from kscope.runs.served.said import Life, Said, is_something_said, lives_of, said_before
from kscope.runs.served.versions import Version
from kube.resources import SERVED, Resource

KEPT = HOUR

# The names under which components report Events, where the history calls them otherwise.
# Upstream: the EventSource of each component's recorder.
_REPORTERS = {
    "attach-detach": "attachdetach-controller",
    "pv-controller": "persistentvolume-controller",
    "volume-expand": "volume_expand",
}
_DEFAULT_SCHEDULER = "default-scheduler"


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
    if not await is_something_said(link, run_id, after=after, upto=upto):
        return []
    return await _read(link, run_id, newer=after, upto=upto, at=at)


async def _read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, newer: int, upto: int, at: int
) -> list[Version]:
    said = await said_before(link, run_id, newer=newer, upto=upto, since=max(at - KEPT, 0))
    lives = await lives_of(link, run_id, sorted({one.object for one in said}))
    return [
        Version(one.last_seq, _core_event(one, _life(one, lives)), one.first_seq) for one in said
    ]


def in_group(resource: Resource, event: Version) -> Version:
    """An Event of core/v1 in the shape of *resource*'s group."""
    if not resource.group:
        return event
    return Version(event.seq, _event_v1(event.manifest), event.created)


_OF_PREFIX: dict[str, Resource] = {}
for _resource in SERVED:
    _OF_PREFIX.setdefault(entity_id(_resource.kind, "").removesuffix("/"), _resource)


def _life(said: Said, lives: dict[str, list[Life]]) -> Life | None:
    """The object that it was said of: the newest that had been created by then.

    Messages after a deletion are about the deleted object, also when it is made again.
    """
    known = reversed(lives.get(said.object, ()))
    return next((one for one in known if one.created <= said.last_seq), None)


def _source(said: Said, life: Life | None) -> Manifest:
    if said.component == "scheduler":
        return {"component": (life.scheduler if life else "") or _DEFAULT_SCHEDULER}
    source = {"component": _REPORTERS.get(said.component, said.component)}
    node = life.node if life and said.component == "kubelet" else ""
    return {**source, "host": node} if node else source


def _reference(said: Said, life: Life | None) -> Manifest:
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


def _core_event(said: Said, life: Life | None) -> Manifest:
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

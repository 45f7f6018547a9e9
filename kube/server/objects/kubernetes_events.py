"""The Kubernetes Events of a run, made of what its history recorded.

Messages about one object with the same reason and words become one Event with a count, as in an API
server. Like there, an Event is kept for an hour after it was last seen.
"""

from typing import Any

import psycopg

from engine.kernel.units import HOUR
from engine.objects.kubernetes_events import Life, Said, core_event
from engine.objects.objects import Manifest
from kscope.runs.served.said import is_something_said, lives_of, said_before
from kscope.runs.served.versions import Version
from kube.resources import Resource

KEPT = HOUR


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
        Version(one.last_seq, core_event(one, _life(one, lives)), one.first_seq) for one in said
    ]


def in_group(resource: Resource, event: Version) -> Version:
    """An Event of core/v1 in the shape of *resource*'s group."""
    if not resource.group:
        return event
    return Version(event.seq, _event_v1(event.manifest), event.created)


def _life(said: Said, lives: dict[str, list[Life]]) -> Life | None:
    """The object that it was said of: the newest that had been created by then.

    Messages after a deletion are about the deleted object, also when it is made again.
    """
    known = reversed(lives.get(said.object, ()))
    return next((one for one in known if one.created <= said.last_seq), None)


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

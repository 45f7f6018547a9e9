"""The Kubernetes Events of a run, made of what its history recorded.

Messages about one object with the same reason and words become one Event with a count, as in an API
server. Like there, an Event is kept for an hour after it was last seen.
"""

from dataclasses import dataclass
from typing import Any, Final

import psycopg

from engine.kernel.units import HOUR
from engine.objects.kinds import entity_id
from engine.objects.kubernetes_events import Life, Said, core_event
from engine.objects.objects import Manifest
from kscope.runs.served.said import is_something_said, kept_before, lives_of, said_before
from kscope.runs.served.versions import Version
from kube.resources import Resource

KEPT = HOUR
# Characters, as upstream.
LONGEST_NOTE = 1_024


@dataclass(frozen=True, slots=True)
class Written:
    """An Event as it came, was seen again, or was changed; the last version of one that `is_gone`."""

    version: Version
    is_gone: bool = False


async def read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, seq: int, at: int, resource: Resource
) -> list[Version]:
    """The Events after event *seq*, at virtual time *at*, in the shape of *resource*'s group."""
    found = await _read(link, run_id, newer=0, upto=seq, at=at)
    return [in_group(resource, one.version) for one in found if not one.is_gone]


async def read_newer(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, after: int, upto: int, at: int
) -> list[Written]:
    """The Events that came or were seen again after event *after*, in the shape of core/v1."""
    if not await is_something_said(link, run_id, after=after, upto=upto):
        return []
    return await _read(link, run_id, newer=after, upto=upto, at=at)


async def _read(
    link: "psycopg.AsyncConnection[Any]", run_id: int, *, newer: int, upto: int, at: int
) -> list[Written]:
    since = max(at - KEPT, 0)
    said = await said_before(link, run_id, newer=newer, upto=upto, since=since)
    lives = await lives_of(link, run_id, sorted({one.object for one in said}))
    made = [
        Version(one.last_seq, core_event(one, _life(one, lives)), one.first_seq) for one in said
    ]
    found = {_place(one): Written(one) for one in made}
    # What a client wrote last counts, of its own Events and of others.
    for kept in await kept_before(link, run_id, upto=upto, since=since):
        place, version = _place(kept.version), kept.version
        other = found.get(place)
        if other is not None and (kept.is_gone and other.version.seq > version.seq):
            continue
        found[place] = Written(version, kept.is_gone)
    newest = [one for one in found.values() if one.version.seq > newer]
    return sorted(newest, key=lambda one: one.version.seq)


def _place(event: Version) -> tuple[str, str]:
    metadata = event.manifest["metadata"]
    return metadata["namespace"], metadata["name"]


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


# By what core/v1 calls a field, what events.k8s.io/v1 calls it.
_OTHERWISE: Final = {
    "reportingComponent": "reportingController",
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_IN_CORE: Final = {other: name for name, other in _OTHERWISE.items()}


def _event_v1(core: Manifest) -> Manifest:
    renamed = {_OTHERWISE.get(name, name): part for name, part in core.items()}
    return {**renamed, "kind": "Event", "apiVersion": "events.k8s.io/v1"}


def in_core(event: Manifest) -> Manifest:
    """An Event of either group in the shape of core/v1, with what a typed client insists on."""
    named = {_IN_CORE.get(name, name): part for name, part in event.items()}
    given = {name: part for name, part in named.items() if part is not None}
    bare = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None}
    empty = {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}
    return {**bare, **empty, **given, "kind": "Event", "apiVersion": "v1"}


def completed(resource: Resource, event: Manifest) -> Manifest:
    """An Event of *resource*'s group with all that a typed client insists on."""
    return in_group(resource, Version(0, in_core(event))).manifest


def note_of(core: Manifest) -> tuple[str, Manifest]:
    """The object that an Event of core/v1 is about, and what a run says of it."""
    about: Manifest = core["involvedObject"]
    metadata = core["metadata"]
    key = "/".join(str(part) for part in (about.get("namespace"), about.get("name")) if part)
    source: Manifest = core["source"]
    note = {
        "reason": str(core.get("reason") or "Event"),
        "message": str(core.get("message") or "")[:LONGEST_NOTE],
        "type": core.get("type") or "Normal",
        "component": str(core.get("reportingComponent") or source.get("component") or "client"),
    }
    if about.get("kind") and about.get("name"):
        return entity_id(str(about["kind"]), key), note
    return entity_id("Event", f"{metadata['namespace']}/{metadata['name']}"), note


def note_command(event: Manifest, *, is_gone: bool = False) -> Manifest:
    """The command that keeps an Event of either group as it is, or that deletes it."""
    core = in_core(event)
    metadata = {name: part for name, part in core["metadata"].items() if name != "resourceVersion"}
    entity, note = note_of({**core, "metadata": metadata})
    gone = {"gone": True} if is_gone else {}
    kept = {**core, "metadata": metadata}
    return {"verb": "note", "object": entity, "patch": {**note, **gone}, "manifest": kept}

"""The objects of a run at one instant: as they are now, or as they were.

An object's resourceVersion is the seq of the event that wrote it, and that of a list is the run's
newest event: the numbers that the pages show.

Now: rows of the database, read in one transaction, so that all are of one event. Then: a replay from
the checkpoint before, in a process beside this one; what was asked once is kept there for a while.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

import orjson
import psycopg
from anyio import CancelScope
from channels.db import database_sync_to_async

from engine.objects.kinds import entity_id
from engine.objects.objects import Manifest
from kscope.runs import aside
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.selectors import run_seq_at
from kscope.runs.served.client_leases import lease_at, leases_in
from kscope.runs.served.fresh_rows import rows_awaited
from kscope.runs.served.links import SnapshotLinks, head_of
from kscope.runs.served.objects import (
    Place,
    namespaces_used,
    object_read,
    objects_at,
    objects_count,
    objects_read,
    place_of,
    removed_last,
)
from kscope.runs.served.runs import Run, event_time
from kscope.runs.served.versions import Version
from kscope.runs.web.past import log_replayed
from kube.addresses import Moment
from kube.resources import NAMESPACES, NODES, PODS, SERVICES, Resource
from kube.server.objects import endpoints, furniture, kubernetes_events, leases
from kube.server.objects.together import Together
from kube.status import ApiError

PIECE = 500  # objects of the past that are asked for at a time
TURN = 10  # objects that are made into text before others have their turn


class Instant(Protocol):
    """All objects of a run at an instant: after event *seq*, at virtual time *at*, in nanoseconds."""

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> int: ...

    def objects(self, resource: Resource, namespace: str = "") -> AsyncIterator[list[Version]]:
        """The objects of one namespace, or of all, in batches."""
        ...

    def ordered(
        self, resource: Resource, namespace: str = "", after: str = ""
    ) -> AsyncIterator[list[Version]]:
        """The same in the order of `place_in_list`, those that come after the place *after*."""
        ...

    async def count(self, resource: Resource, namespace: str, after: str) -> int:
        """How many those are."""
        ...

    async def find(self, resource: Resource, namespace: str, name: str) -> Version | None:
        """One object, or None."""
        ...


# What is not, or not only, stored as objects of the run.
_MADE = frozenset({"Event", "Namespace"}) | furniture.KINDS | endpoints.KINDS


def place_in_list(resource: Resource, version: Version, namespace: str) -> str:
    """Where an object comes in the lists of *namespace*, or of all: by its key, an Event by its time."""
    metadata = version.manifest["metadata"]
    within = "" if namespace else metadata.get("namespace") or ""
    key = _key_of(resource, within, metadata["name"])
    return f"{version.created:018}/{key}" if resource.kind == "Event" else key


def _rest(
    resource: Resource, versions: Iterable[Version], namespace: str, after: str
) -> list[Version]:
    """Those that come after the place *after*, in order."""
    placed = [(place_in_list(resource, one, namespace), one) for one in versions]
    return [one for place, one in sorted(placed, key=itemgetter(0)) if place > after]


async def in_turns(batches: AsyncIterator[list[Version]]) -> AsyncIterator[list[Version]]:
    """The same objects in pieces, between which the event loop serves others."""
    async for versions in batches:
        for start in range(0, len(versions), TURN):
            yield versions[start : start + TURN]
            await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Now:
    """The newest objects of a run, within one transaction of *link*.

    Clocks of the run are *ahead* of virtual time. *cursors* is closed before the transaction ends. Who stops reading in the middle leaves an open
    cursor; later it would close the one of the same name of whoever has the connection then.
    """

    link: "psycopg.AsyncConnection[Any]"
    run_id: int
    seq: int
    at: int
    ahead: int
    cursors: AsyncExitStack

    async def objects(
        self, resource: Resource, namespace: str = ""
    ) -> AsyncGenerator[list[Version]]:
        """See Instant."""
        if resource.kind == "Event":
            events = await kubernetes_events.read(
                self.link, self.run_id, self.seq, self.at, resource
            )
            yield _chosen(events, namespace)
        elif resource.kind == "Namespace":
            yield await self._namespaces()
        elif resource.kind in furniture.KINDS:
            held = [version async for batch in self._rows(resource, namespace) for version in batch]
            places = await self._places(namespace)
            removals = await self._removals(resource.kind, places)
            yield furniture.furnished(resource.kind, held, places, removals)
        elif resource.kind in endpoints.KINDS:
            yield await self._endpoints(resource, namespace)
        elif resource.kind == leases.KIND:
            held = [version async for batch in self._rows(resource, namespace) for version in batch]
            of_clients = await leases_in(self.link, self.run_id, namespace)
            yield sorted([*held, *of_clients], key=_place)
        else:
            async for versions in self._rows(resource, namespace):
                yield versions

    async def ordered(
        self, resource: Resource, namespace: str = "", after: str = ""
    ) -> AsyncGenerator[list[Version]]:
        """See Instant."""
        if self._is_stored(resource):
            async for versions in self._rows(resource, namespace, after):
                yield versions
        else:
            found = [one async for batch in self.objects(resource, namespace) for one in batch]
            yield _rest(resource, found, namespace, after)

    async def count(self, resource: Resource, namespace: str, after: str) -> int:
        """See Instant."""
        if self._is_stored(resource):
            return await objects_count(self.link, self.run_id, resource.kind, namespace, after)
        batches = self.ordered(resource, namespace, after)
        return sum([len(batch) async for batch in batches])

    def _is_stored(self, resource: Resource) -> bool:
        return resource.kind not in _MADE and resource.kind != leases.KIND

    async def find(self, resource: Resource, namespace: str, name: str) -> Version | None:
        """See Instant."""
        if resource.kind in ("Event", "Namespace"):
            found = [one async for batch in self.objects(resource, namespace) for one in batch]
            return _named(found, name)
        key = _key_of(resource, namespace, name)
        found = await object_read(self.link, self.run_id, resource.kind, key)
        if found is None and resource.kind == leases.KIND:
            return await lease_at(self.link, self.run_id, key)
        if resource.kind in endpoints.KINDS:
            return _named(await self._endpoints(resource, namespace), name)
        if found is None and furniture.is_named(resource.kind, namespace, name):
            places = await self._places(namespace)
            removals = await self._removals(resource.kind, places)
            places = [furniture.after_removal(resource.kind, one, removals) for one in places]
            return furniture.made_in(resource.kind, places[0]) if places else None
        return found

    async def _removals(self, kind: str, places: list[furniture.Place]) -> furniture.Removals:
        return await _removals(self.link, self.run_id, kind, places, self.seq)

    async def _endpoints(self, resource: Resource, namespace: str) -> list[Version]:
        held = [version async for batch in self._rows(resource, namespace) for version in batch]
        parts = [
            [one async for batch in self.objects(part, of) for one in batch]
            for part, of in ((SERVICES, namespace), (PODS, namespace), (NODES, ""))
        ]
        made = await asyncio.to_thread(endpoints.made, resource.kind, self.seq, *parts)
        return _with(held, made)

    async def _namespaces(self) -> list[Version]:
        held = [version async for batch in self._rows(NAMESPACES) for version in batch]
        used = await namespaces_used(self.link, self.run_id)
        return furniture.namespaces_of(held, used, self.ahead)

    async def _places(self, namespace: str) -> list[furniture.Place]:
        """Those of one namespace that there is, or of all."""
        found = map(furniture.place_of, await self._namespaces())
        return [one for one in found if not namespace or one.name == namespace]

    def _rows(
        self, resource: Resource, namespace: str = "", after: str = ""
    ) -> AsyncIterator[list[Version]]:
        within = namespace if resource.namespaced else ""
        return objects_read(self.link, self.cursors, self.run_id, resource.kind, within, after)


async def _removals(
    link: "psycopg.AsyncConnection[Any]",
    run_id: int,
    kind: str,
    places: Iterable[furniture.Place],
    seq: int,
) -> furniture.Removals:
    entities = [furniture.entity_in(kind, place.name) for place in places]
    return await removed_last(link, run_id, entities, seq)


def _key_of(resource: Resource, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if resource.namespaced and namespace else name


@asynccontextmanager
async def now(links: SnapshotLinks, run_id: int) -> AsyncIterator[Now]:
    """The run as it is. Raises ApiError when it is gone, and ApplicationError; see `rows_awaited`."""
    is_given = False
    while not is_given:
        held = AsyncExitStack()
        try:
            link = await held.enter_async_context(links.snapshot())
            head = await head_of(link, run_id)
            if head is None:
                raise ApiError(404, "NotFound", f"there is no run {run_id}")
            if not head.is_past_rows:
                is_given = True
                yield Now(link, run_id, head.seq, head.at, head.ahead, held)
        finally:
            # A client that leaves cancels each further wait, too, of which closing has some.
            with CancelScope(shield=True):
                await held.aclose()
        if not is_given:
            await rows_awaited(links, run_id)


class Newest:
    """Finds single objects as they are now; all that is asked at the same time in one question."""

    def __init__(self, links: SnapshotLinks) -> None:
        self.links = links
        self._rows = Together(self._read)

    async def find(
        self, run_id: int, resource: Resource, namespace: str, name: str
    ) -> Version | None:
        """One object, or None."""
        is_made = resource.kind in endpoints.KINDS or furniture.is_named(
            resource.kind, namespace, name
        )
        if is_made or resource.kind in ("Event", "Namespace"):
            async with now(self.links, run_id) as instant:
                return await instant.find(resource, namespace, name)
        found = await self.in_run(run_id, resource, namespace, name)
        if found is None and resource.kind == leases.KIND:
            async with self.links.link() as link:
                return await lease_at(link, run_id, f"{namespace}/{name}")
        return found

    async def in_run(
        self, run_id: int, resource: Resource, namespace: str, name: str
    ) -> Version | None:
        """One object that is part of the run, which not every Lease is."""
        key = _key_of(resource, namespace, name)
        return await self._rows.of(place_of(run_id, resource.kind, key))

    async def _read(self, places: Sequence[Place]) -> Mapping[Place, Version]:
        async with self.links.link() as link:
            return await objects_at(link, places)


@dataclass(frozen=True, slots=True)
class Then:
    """The objects of a run after event *seq*. *asker* is who takes turns with other askers.

    Clocks of the run are *ahead* of virtual time, in nanoseconds.
    """

    links: SnapshotLinks
    run_id: int
    seq: int
    at: int
    ahead: int
    asker: str

    async def objects(
        self, resource: Resource, namespace: str = ""
    ) -> AsyncIterator[list[Version]]:
        """See Instant."""
        yield await self._all(resource, namespace)

    async def ordered(
        self, resource: Resource, namespace: str = "", after: str = ""
    ) -> AsyncIterator[list[Version]]:
        """See Instant."""
        if resource.kind in _MADE:
            yield _rest(resource, await self._all(resource, namespace), namespace, after)
            return
        prefix = _prefix(resource, namespace)
        while True:
            told = await self._asked(objects_then, prefix=prefix, after=after, most=PIECE)
            found = [Version(seq, manifest, created) for seq, created, manifest in told]
            yield found
            if len(found) < PIECE:
                return
            after = place_in_list(resource, found[-1], namespace)

    async def count(self, resource: Resource, namespace: str, after: str) -> int:
        """See Instant."""
        if resource.kind in _MADE:
            return sum([len(batch) async for batch in self.ordered(resource, namespace, after)])
        prefix = _prefix(resource, namespace)
        return await self._asked(objects_counted, prefix=prefix, after=after)

    async def find(self, resource: Resource, namespace: str, name: str) -> Version | None:
        """See Instant."""
        return _named(await self._all(resource, namespace), name)

    async def _all(self, resource: Resource, namespace: str) -> list[Version]:
        if resource.kind == "Event":
            async with self.links.link() as link:
                events = await kubernetes_events.read(
                    link, self.run_id, self.seq, self.at, resource
                )
            return _chosen(events, namespace)
        found = await self._asked(objects_then, prefix=_prefix(resource, namespace))
        versions = [Version(seq, manifest, created) for seq, created, manifest in found]
        if resource.kind == "Namespace":
            return await self._namespaces(versions)
        if resource.kind in furniture.KINDS:
            held = await self._all(NAMESPACES, "")
            places = [furniture.place_of(one) for one in held]
            there = [one for one in places if not namespace or one.name == namespace]
            async with self.links.link() as link:
                removals = await _removals(link, self.run_id, resource.kind, there, self.seq)
            return furniture.furnished(resource.kind, versions, there, removals)
        if resource.kind in endpoints.KINDS:
            parts = ((SERVICES, namespace), (PODS, namespace), (NODES, ""))
            made_of = [await self._all(*part) for part in parts]
            made = await asyncio.to_thread(endpoints.made, resource.kind, self.seq, *made_of)
            return _with(versions, made)
        return versions

    async def _namespaces(self, held: list[Version]) -> list[Version]:
        return furniture.namespaces_of(held, await self._asked(namespaces_then), self.ahead)

    async def _asked(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """What *function* finds out in a process beside this one. Raises ApiError."""
        given = {"run_id": self.run_id, "seq": self.seq, **arguments}
        try:
            text = await aside.ask(Question(function, given, self.run_id, lasts=True), self.asker)
        except ApplicationError as refusal:
            raise ApiError(refusal.status, "InternalError", refusal.message) from refusal
        return orjson.loads(text)


def objects_then(
    run_id: int, prefix: str, seq: int, after: str = "", most: int | None = None
) -> list[tuple[int, int, Manifest]]:
    """What existed after event *seq* under ids that begin with *prefix*, and come after *after* there.

    At most so many. For a process beside ours.
    """
    return [*islice(log_replayed(run_id, seq).versions_at(prefix, seq, after), most)]


def objects_counted(run_id: int, prefix: str, seq: int, after: str) -> int:
    """How many those are."""
    return sum(1 for _ in log_replayed(run_id, seq).versions_at(prefix, seq, after))


def namespaces_then(run_id: int, seq: int) -> list[str]:
    """The namespaces in which there were objects after event *seq*. For a process beside ours."""
    found = log_replayed(run_id, seq).versions_at("", seq)
    return sorted({manifest["metadata"].get("namespace") or "" for *_, manifest in found})


def _prefix(resource: Resource, namespace: str) -> str:
    """What the ids of the objects in one namespace, or in all, begin with."""
    return entity_id(resource.kind, f"{namespace}/" if namespace else "")


def _with(held: Iterable[Version], made: Iterable[Version]) -> list[Version]:
    """Those that are held and those that are made, which count where both are there."""
    found = {_place(one): one for one in (*held, *made)}
    return [found[place] for place in sorted(found)]


def _chosen(versions: Iterable[Version], namespace: str) -> list[Version]:
    return [
        version
        for version in versions
        if not namespace or version.manifest["metadata"].get("namespace") == namespace
    ]


def _place(version: Version) -> tuple[str, str]:
    metadata = version.manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _named(versions: Iterable[Version], name: str) -> Version | None:
    return next((one for one in versions if one.manifest["metadata"]["name"] == name), None)


@database_sync_to_async
def event_at(run: Run, moment: Moment) -> tuple[int, int]:
    """The event that *moment* means, and its virtual time. Raises ApiError for one to come."""
    if moment.at is not None:
        if moment.at > run.head_at:
            raise ApiError(404, "NotFound", f"run {run.pk} has not come to that instant yet")
        return run_seq_at(run, at=moment.at), moment.at
    seq = moment.seq or 0
    if seq > run.head_seq:
        raise ApiError(404, "NotFound", f"run {run.pk} has events 1 to {run.head_seq}, not {seq}")
    return seq, event_time(run, seq)

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
from functools import cache
from typing import Any, Protocol

import orjson
import psycopg
from anyio import CancelScope
from channels.db import database_sync_to_async
from psycopg import sql

from kscope.runs import aside
from kscope.runs.aside import Question
from kscope.runs.engine import Manifest, wiring
from kscope.runs.errors import ApplicationError
from kscope.runs.models import OtherObject, Run, RunEvent
from kscope.runs.selectors import run_seq_at
from kscope.runs.web.past import log_replayed
from kscope.sim.objects.kinds import entity_id
from kube.addresses import Moment
from kube.resources import Resource
from kube.server.objects import kubernetes_events, leases
from kube.server.objects.links import SnapshotLinks, head_of
from kube.server.objects.namespaces import with_implied
from kube.server.objects.together import Together
from kube.server.objects.versions import Version
from kube.status import ApiError

BATCH = 200  # objects that are read at a time
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

    async def find(self, resource: Resource, namespace: str, name: str) -> Version | None:
        """One object, or None."""
        ...


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
            held = [version async for batch in self._rows(resource) for version in batch]
            yield with_implied(held, await self._namespaces(), self.ahead)
        elif resource.kind == leases.KIND:
            held = [version async for batch in self._rows(resource, namespace) for version in batch]
            of_clients = await leases.leases_in(self.link, self.run_id, namespace)
            yield sorted([*held, *of_clients], key=_place)
        else:
            async for versions in self._rows(resource, namespace):
                yield versions

    async def find(self, resource: Resource, namespace: str, name: str) -> Version | None:
        """See Instant."""
        if resource.kind in ("Event", "Namespace"):
            found = [one async for batch in self.objects(resource, namespace) for one in batch]
            return _named(found, name)
        statement, values = _query(self.run_id, resource, namespace, name)
        row = await (await self.link.execute(statement, values)).fetchone()
        if row is None and resource.kind == leases.KIND:
            return await leases.lease_at(self.link, self.run_id, f"{namespace}/{name}")
        return Version(row[0], orjson.loads(row[2]), row[1]) if row else None

    async def _rows(self, resource: Resource, namespace: str = "") -> AsyncIterator[list[Version]]:
        statement, values = _query(self.run_id, resource, namespace, "")
        cursor = _Cursor(self.link, "objects")
        self.cursors.push_async_callback(cursor.close)
        async with cursor:
            await cursor.execute(statement, values)
            while rows := await cursor.fetchmany(BATCH):
                yield [Version(seq, orjson.loads(text), made) for seq, made, text in rows]

    async def _namespaces(self) -> list[str]:
        """Those in which there are objects."""
        models = dict.fromkeys([OtherObject, *wiring.projections.values()])
        each = sql.SQL("SELECT namespace FROM {} WHERE run_id = %(run)s")
        parts = [each.format(sql.Identifier(model._meta.db_table)) for model in models]
        found = await self.link.execute(sql.SQL(" UNION ").join(parts), {"run": self.run_id})
        return [row[0] for row in await found.fetchall()]


class _Cursor(psycopg.AsyncServerCursor[Any]):
    """Closed with its connection: a client that leaves may end both at once."""

    @property
    def closed(self) -> bool:
        """See psycopg.AsyncServerCursor."""
        return super().closed or self.connection.closed


def table_of(resource: Resource) -> tuple[str, str]:
    """The table with the objects of a resource, and what their keys in it begin with."""
    prefix = entity_id(resource.kind, "").removesuffix("/")
    model = wiring.projections.get(prefix, OtherObject)
    # Other objects share a table, in which the key begins with the kind.
    return model._meta.db_table, f"{prefix}/" if model is OtherObject else ""


def _query(run_id: int, resource: Resource, namespace: str, name: str) -> tuple[Any, list[Any]]:
    name_of_table, before = table_of(resource)
    key = before + (f"{namespace}/" if resource.namespaced and namespace else "")
    table = sql.Identifier(name_of_table)
    if name:
        one = sql.SQL(
            "SELECT seq, created_seq, manifest::text FROM {} WHERE run_id = %s AND key = %s"
        )
        return one.format(table), [run_id, key + name]
    several = sql.SQL(
        "SELECT seq, created_seq, manifest::text FROM {}"
        " WHERE run_id = %s AND starts_with(key, %s) ORDER BY key"
    )
    return several.format(table), [run_id, key]


@asynccontextmanager
async def now(links: SnapshotLinks, run_id: int) -> AsyncIterator[Now]:
    """The run as it is. Raises ApiError when it is gone."""
    held = AsyncExitStack()
    try:
        link = await held.enter_async_context(links.snapshot())
        head = await head_of(link, run_id)
        if head is None:
            raise ApiError(404, "NotFound", f"there is no run {run_id}")
        yield Now(link, run_id, *head, held)
    finally:
        # A client that leaves cancels each further wait, too, of which closing has some.
        with CancelScope(shield=True):
            await held.aclose()


# A run, a table, and a key in it.
Place = tuple[int, str, str]


class Newest:
    """Finds single objects as they are now; all that is asked at the same time in one question."""

    def __init__(self, links: SnapshotLinks) -> None:
        self.links = links
        self._rows = Together(self._read)

    async def find(
        self, run_id: int, resource: Resource, namespace: str, name: str
    ) -> Version | None:
        """One object, or None."""
        if resource.kind in ("Event", "Namespace"):
            async with now(self.links, run_id) as instant:
                return await instant.find(resource, namespace, name)
        found = await self.in_run(run_id, resource, namespace, name)
        if found is None and resource.kind == leases.KIND:
            async with self.links.link() as link:
                return await leases.lease_at(link, run_id, f"{namespace}/{name}")
        return found

    async def in_run(
        self, run_id: int, resource: Resource, namespace: str, name: str
    ) -> Version | None:
        """One object that is part of the run, which not every Lease is."""
        table, before = table_of(resource)
        key = before + (f"{namespace}/{name}" if resource.namespaced and namespace else name)
        return await self._rows.of((run_id, table, key))

    async def _read(self, places: Sequence[Place]) -> Mapping[Place, Version]:
        keys: dict[tuple[int, str], list[str]] = {}
        for run_id, table, key in places:
            keys.setdefault((run_id, table), []).append(key)
        found: dict[Place, Version] = {}
        async with self.links.link() as link:
            for (run_id, table), several in keys.items():
                statement = _of_keys(table)
                rows = await (await link.execute(statement, [run_id, several])).fetchall()
                for key, seq, made, text in rows:
                    found[run_id, table, key] = Version(seq, orjson.loads(text), made)
        return found


@cache
def _of_keys(table: str) -> bytes:
    statement = sql.SQL(
        "SELECT key, seq, created_seq, manifest::text FROM {} WHERE run_id = %s AND key = ANY(%s)"
    )
    return statement.format(sql.Identifier(table)).as_bytes()


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
        prefix = entity_id(resource.kind, f"{namespace}/" if namespace else "")
        found = await self._asked(objects_then, prefix=prefix)
        versions = [Version(seq, manifest) for seq, manifest in found]
        if resource.kind == "Namespace":
            versions = with_implied(versions, await self._asked(namespaces_then), self.ahead)
        return versions

    async def _asked(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """What *function* finds out in a process beside this one. Raises ApiError."""
        given = {"run_id": self.run_id, "seq": self.seq, **arguments}
        try:
            text = await aside.ask(Question(function, given, self.run_id, lasts=True), self.asker)
        except ApplicationError as refusal:
            raise ApiError(refusal.status, "InternalError", refusal.message) from refusal
        return orjson.loads(text)


def objects_then(run_id: int, prefix: str, seq: int) -> list[tuple[int, Manifest]]:
    """What existed after event *seq* under ids that begin with *prefix*. For a process beside ours."""
    return log_replayed(run_id, seq).versions_at(prefix, seq)


def namespaces_then(run_id: int, seq: int) -> list[str]:
    """The namespaces in which there were objects after event *seq*. For a process beside ours."""
    found = log_replayed(run_id, seq).versions_at("", seq)
    return sorted({manifest["metadata"].get("namespace") or "" for _, manifest in found})


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
    if seq == run.head_seq:
        return seq, run.head_at
    found = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True)
    return seq, found.first() or 0

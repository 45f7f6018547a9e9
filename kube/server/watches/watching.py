"""Watches: what changed after a version that the client names, as long as it listens.

A client that selects by labels or fields gets DELETED for an object that no longer matches, and ADDED
for one that matches from now on. Where a watch begins at an earlier event it is not
known which objects it selected then; those that have changed since count as selected, so that the
client may get an event too many, and never one too few.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from engine.objects.kinds import entity_id
from engine.objects.objects import Manifest
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.versions import Version
from kscope.runs.stream.watching import RECHECK_SECONDS
from kube.resources import Resource
from kube.server.objects import furniture, kubernetes_events
from kube.server.objects.instants import Instant, in_turns, now
from kube.server.reading import Read
from kube.server.watches.changes import Change, Changes
from kube.server.watches.feed import Feed

BOOKMARK_SECONDS = 60.0
LAST_BOOKMARK_SECONDS = 2.0  # before a watch ends
LONGEST_SECONDS = 1_800
# After so many events each watcher sends its changes before any continues.
EVENTS_OF_TURN = 8
_OF_NAMESPACES = entity_id("Namespace", "")
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

MayWatch = Callable[[], Awaitable[bool]]
HasListed = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Watch:
    """The changes that a client wants.

    They begin after event *after*, where it is None with the newest one. `has_initial`: the objects
    that there are come first.
    """

    read: Read
    after: int | None
    has_initial: bool
    seconds: float

    @classmethod
    def of(cls, read: Read) -> "Watch":
        """The watch that a request asks for."""
        options = read.options
        seconds = min(options.seconds or LONGEST_SECONDS, LONGEST_SECONDS)
        after = None if options.has_initial else options.version or None
        return cls(read, after, options.has_initial, seconds)

    @property
    def with_bookmarks(self) -> bool:
        """Whether the client is told now and then how far it is, and where the first objects end."""
        return self.read.options.with_bookmarks

    def bookmarks_at(self, ends: float) -> float:
        """When the next bookmark is due, by the monotonic clock.

        Upstream: cacher/cache_watcher.go, nextBookmarkTime().
        """
        due, last = time.monotonic() + BOOKMARK_SECONDS, ends - LAST_BOOKMARK_SECONDS
        return min(due, last) if last > time.monotonic() else due

    def bookmark(self, seq: int, annotations: dict[str, str] | None = None) -> bytes:
        """What tells the client that it has all up to event *seq*."""
        read, resource = self.read, self.read.target.resource
        metadata: dict[str, Any] = {"resourceVersion": str(seq), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        one = {
            "kind": resource.written_kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        if read.form.is_table:
            row = {"cells": [], "object": {**one, "kind": "PartialObjectMetadata"}}
            one = {**read.rows(0).head(str(seq)), "columnDefinitions": None, "rows": [row]}
        return line_of("BOOKMARK", one)


class Watcher:
    """One watch: its place, and the objects that it has sent."""

    def __init__(self, watch: Watch, *, namespace: str, name: str) -> None:
        self._watch = watch
        self._resource: Resource = watch.read.target.resource
        self._prefix = entity_id(self._resource.kind, f"{namespace}/" if namespace else "")
        self._name = name
        self._namespace = namespace
        self._selection = watch.read.selection
        # The ids of the objects that the client has, where it does not want all of them.
        self._held: set[str] | None = None if self._selection.is_all and not name else set()
        # The event up to which `_held` does not know what has gone.
        self._began = 0
        # The ids of the objects of which a change up to then has been looked at.
        self._followed: set[str] = set()
        self._cursor = 0

    async def texts(
        self, feed: Feed, links: SnapshotLinks, may_watch: MayWatch, has_listed: HasListed
    ) -> AsyncGenerator[bytes, None]:
        """The events as JSON, each on a line, until the client may not watch any more.

        *has_listed* is called once the objects of the beginning have been sent.
        """
        watch = self._watch
        ends = time.monotonic() + watch.seconds
        async with now(links, feed.run_id) as instant:
            async for text in self._begin(instant):
                yield text
            yield b""  # the client learns at once that the watch has begun
        await has_listed()
        await feed.ready.wait()
        bookmark_at = watch.bookmarks_at(ends)
        while not feed.is_gone:
            change = feed.change
            async for changes in feed.after(self._cursor):
                async for text in self._told(changes):
                    yield text
                self._cursor = changes.upto
            left = min(ends, bookmark_at, time.monotonic() + RECHECK_SECONDS) - time.monotonic()
            if left > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await change.wait()
            if time.monotonic() >= ends or not await may_watch():
                return
            if time.monotonic() >= bookmark_at:
                bookmark_at = watch.bookmarks_at(ends)
                if watch.with_bookmarks:
                    yield watch.bookmark(self._cursor)

    async def of_past(self, instant: Instant) -> AsyncGenerator[bytes, None]:
        """What there was at an instant of the past; nothing follows."""
        if self._watch.has_initial:
            async for text in self._begin(instant):
                yield text
        yield b""
        await asyncio.sleep(self._watch.seconds)

    async def _begin(self, instant: Instant) -> AsyncIterator[bytes]:
        watch, after = self._watch, self._watch.after
        self._began = instant.seq
        self._cursor = instant.seq if after is None else after
        if not watch.has_initial and self._held is None:
            return
        async for versions in self._there(instant):
            for version in await self._watch.read.opened(versions):
                manifest = self._watch.read.shown(version)
                is_selected = self._selection.matches(manifest)
                if watch.has_initial and is_selected:
                    yield self._text("ADDED", manifest, instant.at)
                if self._held is not None and self._had(version, after, is_selected):
                    self._held.add(_key(version.manifest))
        if watch.has_initial and watch.with_bookmarks:
            yield watch.bookmark(instant.seq, {INITIAL_EVENTS_END: "true"})

    async def _there(self, instant: Instant) -> AsyncIterator[list[Version]]:
        """The objects that may be meant."""
        if self._name:
            found = await instant.find(self._resource, self._namespace, self._name)
            yield [found] if found else []
        else:
            async for versions in in_turns(instant.objects(self._resource, self._namespace)):
                yield versions

    def _had(self, version: Version, after: int | None, is_selected: bool) -> bool:
        """Whether the client may have the object."""
        if after is None or version.seq <= after:
            return is_selected
        return version.created <= after

    # -- how changes are sent --------------------------------------------------------------------

    async def _told(self, changes: Changes) -> AsyncIterator[bytes]:
        """The text of each change, in turn with the other watchers of the run.

        A client with several watches, such as a scheduler, so hears of a ReplicaSet before it hears
        of most of its pods, however many there are.
        """
        meant = await self._opened([*self._meant(changes)])
        turn = 0
        for change, its_turn in zip(meant, _turns(meant, changes.after), strict=True):
            while turn < its_turn:
                await asyncio.sleep(0)
                turn += 1
            for text in self._told_of(change, changes):
                yield text

    async def _opened(self, meant: list[Change]) -> list[Change]:
        versions = await self._watch.read.opened([one.version for one in meant])
        pairs = zip(meant, versions, strict=True)
        return [replace(one, version=version) for one, version in pairs]

    def _meant(self, changes: Changes) -> Iterator[Change]:
        """The changes of the watched objects that have not been sent."""
        if self._resource.kind == "Event":
            for change in changes.events:
                version = kubernetes_events.in_group(self._resource, change.version)
                if self._is_meant(_key(version.manifest)):
                    yield replace(change, version=version)
            return
        for change in self._with_furniture(changes):
            key = change.entity.removeprefix(self._prefix)
            is_meant = change.entity.startswith(self._prefix) and self._is_meant(self._full(key))
            if is_meant and change.version.seq > self._cursor:
                yield change

    def _with_furniture(self, changes: Changes) -> Iterator[Change]:
        """The changes, and what comes and goes with a namespace."""
        kind = self._resource.kind
        for change in changes.by_entity:
            yield change
            if kind in furniture.KINDS and change.entity.startswith(_OF_NAMESPACES):
                version = change.version
                is_new = version.created == version.seq and not change.is_gone
                made = furniture.made_in(kind, furniture.place_of(version))
                if made is not None and (is_new or change.is_gone):
                    made = replace(made, seq=version.seq)
                    yield replace(change, entity=furniture.entity_of(kind, made), version=made)

    def _full(self, key: str) -> str:
        return f"{self._namespace}/{key}" if self._namespace else key

    def _is_meant(self, key: str) -> bool:
        namespace, _, name = key.rpartition("/")
        return (not self._name or name == self._name) and (
            not self._namespace or namespace == self._namespace
        )

    def _told_of(self, change: Change, changes: Changes) -> Iterator[bytes]:
        version, is_gone = change.version, change.is_gone
        manifest = self._watch.read.shown(version)
        is_new = version.created > self._cursor and not change.has_come
        if self._held is None:
            is_selected = True
            had = is_gone or not is_new
        else:
            key = _key(version.manifest)
            is_selected = self._selection.matches(manifest)
            had = key in self._held or self._may_have(key, version, is_new=is_new)
            if version.seq <= self._began:
                self._followed.add(key)
            (self._held.add if is_selected and not is_gone else self._held.discard)(key)
        at = changes.at
        if is_gone:
            if had:
                yield self._text("DELETED", manifest, at)
        elif is_selected:
            yield self._shared("MODIFIED" if had else "ADDED", manifest, version, changes)
        elif had:
            yield self._text("DELETED", manifest, at)

    def _may_have(self, key: str, version: Version, *, is_new: bool) -> bool:
        """Whether the client may have an object that the first look did not find.

        It was there when the watch begins, and has gone before the first look. It may have been
        selected then, even if this version is not, as that of a pod that has ended. After its first
        change it is known whether the client has it.
        """
        return not is_new and version.seq <= self._began and key not in self._followed

    def _shared(self, kind: str, manifest: Manifest, version: Version, changes: Changes) -> bytes:
        """The text of an event, encoded once for all watchers that want the same form."""
        read = self._watch.read
        included = read.request.query_params.get("includeObject", "") if read.form.is_table else ""
        seen = read.hides, read.secrets is not None and read.secrets.are_shown
        name = (kind, self._resource, read.form, included, seen, version.seq, _key(manifest))
        text = changes.texts.get(name)
        if text is None:
            text = changes.texts[name] = self._text(kind, manifest, changes.at)
        return text

    def _text(self, kind: str, manifest: Manifest, at: int) -> bytes:
        read = self._watch.read
        if read.form.is_table:
            rows = read.rows(at)
            head = rows.head(manifest["metadata"]["resourceVersion"])
            return line_of(kind, {**head, "rows": [rows.row(manifest)]})
        return line_of(kind, read.item(at)(manifest))


def _turns(meant: Sequence[Change], after: int) -> list[int]:
    """The turn in which each change is sent, by how far its event is after event *after*.

    An object that came in this range has its turn when it came. A change that has to be sent
    after another one does not delay that one.
    """
    found: list[int] = []
    earliest = math.inf
    for change in reversed(meant):
        version = change.version
        since = version.created if version.created > after else version.seq
        earliest = min(earliest, since)
        found.append(int(earliest - after) // EVENTS_OF_TURN)
    return found[::-1]


def _key(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def line_of(kind: str, one: Manifest) -> bytes:
    """The text of a watch event."""
    return orjson.dumps({"type": kind, "object": one}) + b"\n"

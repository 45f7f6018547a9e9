"""Watches of Endpoints and EndpointSlices, which no run stores.

They are looked at again after each range of changes in which a Service, a pod or a node has a part, and
what differs from what the client has is sent. Several changes that are read together are one.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator

import orjson

from engine.objects.objects import Manifest
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.stream.watching import RECHECK_SECONDS
from kube.server.objects.endpoints import MADE_OF
from kube.server.objects.instants import Instant, now
from kube.server.watches.feed import Feed
from kube.server.watches.watching import INITIAL_EVENTS_END, HasListed, MayWatch, Watch, line_of

# What is sent of an object, without its version.
_Sent = dict[str, tuple[str, Manifest]]


class EndpointsWatcher:
    """One watch: what the client has."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._sent: _Sent = {}

    async def texts(
        self, feed: Feed, links: SnapshotLinks, may_watch: MayWatch, has_listed: HasListed
    ) -> AsyncGenerator[bytes, None]:
        """See `Watcher.texts`."""
        watch, ends = self._watch, time.monotonic() + self._watch.seconds
        await feed.ready.wait()
        async with now(links, feed.run_id) as instant:
            cursor = instant.seq
            found = await self._found(instant)
            if watch.has_initial:
                for text in self._differences(found, instant):
                    yield text
            elif watch.after is not None and watch.after < instant.seq:
                # What the client has is not known: it gets an event too many rather than too few.
                for _, manifest in found.values():
                    yield self._line("MODIFIED", manifest, instant)
            self._sent = found
        if watch.has_initial and watch.with_bookmarks:
            yield watch.bookmark(cursor, {INITIAL_EVENTS_END: "true"})
        yield b""
        await has_listed()
        bookmark_at = watch.bookmarks_at(ends)
        while not feed.is_gone:
            change, is_due = feed.change, False
            async for changes in feed.after(cursor):
                is_due |= any(one.entity.startswith(MADE_OF) for one in changes.by_entity)
                cursor = changes.upto
            if is_due:
                async with now(links, feed.run_id) as instant:
                    found = await self._found(instant)
                    for text in self._differences(found, instant):
                        yield text
                    self._sent = found
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
                    yield watch.bookmark(cursor)

    async def _found(self, instant: Instant) -> _Sent:
        read, target = self._watch.read, self._watch.read.target
        found: _Sent = {}
        async for versions in instant.objects(target.resource, target.namespace):
            for manifest in map(read.shown, versions):
                if read.selection.matches(manifest):
                    metadata = manifest["metadata"]
                    bare = {**metadata, "resourceVersion": ""}
                    text = orjson.dumps({**manifest, "metadata": bare}).decode()
                    found[f"{metadata['namespace']}/{metadata['name']}"] = text, manifest
        return found

    def _differences(self, found: _Sent, instant: Instant) -> list[bytes]:
        version = str(instant.seq)
        texts: list[bytes] = []
        for key, (text, manifest) in found.items():
            before = self._sent.get(key)
            if before is None or before[0] != text:
                texts.append(
                    self._line("ADDED" if before is None else "MODIFIED", manifest, instant)
                )
        for key in self._sent.keys() - found.keys():
            manifest = self._sent[key][1]
            gone = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
            texts.append(self._line("DELETED", gone, instant))
        return texts

    def _line(self, kind: str, manifest: Manifest, instant: Instant) -> bytes:
        read = self._watch.read
        one = read.item(instant.at)(manifest)
        if read.form.is_table:
            head = read.rows(instant.at).head(manifest["metadata"]["resourceVersion"])
            one = {**head, "rows": [one]}
        return line_of(kind, one)

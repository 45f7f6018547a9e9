"""Lists: whole, or page by page over the objects of one version."""

from collections.abc import AsyncIterator
from time import time

import orjson
from starlette.responses import Response

from engine.objects.objects import Manifest
from kscope.runs.served.versions import Version
from kube.server.answers import joined
from kube.server.list_options import FAR_BEHIND, NEWEST, TOKEN_SECONDS, Token
from kube.server.objects import leases
from kube.server.objects.instants import Instant, in_turns, place_in_list
from kube.server.reading import Read
from kube.status import expired_list

PIECE = 100  # objects that are sent at a time, at least


def older_version(read: Read, newest: int) -> int | None:
    """The version before the newest one that a list has to be of, if it has to.

    Raises ApiError for one that is still to come, or can no longer be had.
    """
    options = read.options
    read.check_version(newest)
    seq, token = options.exact, options.token
    # Leases of clients are no part of the history.
    if not seq or seq == newest or read.target.resource.kind == leases.KIND:
        return None
    is_old = newest - seq > FAR_BEHIND
    if token is not None:
        is_old |= time() > token.taken + TOKEN_SECONDS
        if is_old or seq > newest:
            raise expired_list(token._replace(version=NEWEST).text)
    if is_old:
        raise expired_list()
    return seq


async def list_read(read: Read, instant: Instant) -> Response:
    """The objects that are asked for, in one answer, or a page of them."""
    return await joined(read.request, _pieces(read, instant))


async def _pieces(read: Read, instant: Instant) -> AsyncIterator[bytes]:
    head, field = read.head(instant)
    metadata = head.pop("metadata")
    yield orjson.dumps(head)[:-1] + f',"{field}":['.encode()
    item, page, comma = read.item(instant.at), Page(read, instant), b""
    found: list[bytes] = []
    async for chosen in page.chosen():
        found += [orjson.dumps(item(manifest)) for _, manifest in chosen]
        if len(found) >= PIECE:
            yield comma + b",".join(found)
            found, comma = [], b","
    # What comes after a page is known at its end.
    told = orjson.dumps({**metadata, **await page.rest()})
    yield (comma if found else b"") + b",".join(found) + b'],"metadata":' + told + b"}"


class Page:
    """The objects of a list from where it begins or goes on, as many as are asked for."""

    def __init__(self, read: Read, instant: Instant) -> None:
        self._read = read
        self._instant = instant
        self._place = read.options.token.start if read.options.token else ""
        self._is_cut = False

    async def chosen(self) -> AsyncIterator[list[tuple[Version, Manifest]]]:
        """The objects that are selected, each with what the client is shown, in pieces."""
        read, count = self._read, 0
        resource, namespace = read.target.resource, read.target.namespace
        objects = self._instant.ordered(resource, namespace, self._place)
        async for versions in in_turns(objects):
            found: list[tuple[Version, Manifest]] = []
            for version in await read.opened(versions):
                self._is_cut = 0 < read.options.most == count
                if self._is_cut:
                    break
                self._place = place_in_list(resource, version, namespace)
                manifest = read.shown(version)
                if read.selection.matches(manifest):
                    found.append((version, manifest))
                    count += 1
            yield found
            if self._is_cut:
                return

    async def rest(self) -> Manifest:
        """What the metadata of a list says of the pages after this one.

        Upstream: storage/continue.go, PrepareContinueToken().
        """
        if not self._is_cut:
            return {}
        read, before = self._read, self._read.options.token
        is_later = before is not None and before.version != NEWEST
        taken = before.taken if before is not None and is_later else int(time())
        told: Manifest = {"continue": Token(self._instant.seq, self._place, taken).text}
        if read.selection.is_all:
            target = read.target
            left = await self._instant.count(target.resource, target.namespace, self._place)
            told["remainingItemCount"] = left
        return told

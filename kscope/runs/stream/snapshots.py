"""The whole state of a run at one event, as messages, encoded once for all who come.

Large ones, and what differs between two of them, come in parts, which a page takes one by one.
"""

import asyncio
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from engine.kernel.view import State

PART = 5_000  # objects of one message; a browser takes it between two frames
PACKED_LEVEL = 1  # of what is compressed; higher ones take twice the time for a seventh less


class Snapshot:
    """One message of text, or compressed ones with a part of the objects each.

    What the state is now; the state may change afterwards.
    """

    def __init__(self, facts: Mapping[str, Any], state: State) -> None:
        self._head = b'{"type":"snapshot",%b,"state":' % orjson.dumps(facts)[1:-1]
        self._parts = [*parted(state)]
        self._text: str | None = None
        self._packed: asyncio.Task[list[bytes]] | None = None
        self.size = len(self._head) + sum(map(len, self._parts))
        """Bytes of its text, roughly; what is compressed is small beside it."""

    def text(self) -> str:
        """The message for those who read text."""
        if self._text is None:
            objects = b",".join(part[1:-1] for part in self._parts)
            self._text = (self._head + b"{%b}}" % objects).decode()
        return self._text

    async def packed(self) -> list[bytes]:
        """The messages for those who read them compressed; a thread compresses them."""
        if self._packed is None:
            self._packed = asyncio.create_task(asyncio.to_thread(self._pack))
        # Who leaves meanwhile does not take it from the others.
        return await asyncio.shield(self._packed)

    def _pack(self) -> list[bytes]:
        messages = with_more(self._parts, self._head, b'{"type":"state","state":')
        return [zlib.compress(message, PACKED_LEVEL) for message in messages]


def parted(objects: Mapping[str, Any]) -> Iterator[bytes]:
    """The JSON of *objects* by id, so many of them in each part; one part where there is none."""
    left = iter(objects.items())
    yield orjson.dumps(dict(islice(left, PART)))
    while part := dict(islice(left, PART)):
        yield orjson.dumps(part)


def with_more(parts: Iterable[bytes], first: bytes, later: bytes) -> Iterator[bytes]:
    """Each part as a message that says whether another one follows.

    *first* and *later* begin the first message and the others, up to what a part is the value of.
    """
    before, begins = None, first
    for part in parts:
        if before is not None:
            yield begins + before + b',"more":true}'
            begins = later
        before = part
    yield begins + (before or b"{}") + b',"more":false}'

"""Plays what was said in a spec on a run of the same cluster, and finds what is answered otherwise.

The time of the run stands still unless it is moved: to the second of each step, and on from there
while a read, or the next line of a watch, is not yet what was recorded. No step waits for the clock
of the wall, but for lines that are on their way: once the watches have told all that there is, none is.

What is compared: the status of each answer; its document, word for word but for what differs in each
run (uids, versions, names that a server makes, addresses, times), which is compared by whether it is
the same wherever it is said. Of objects with names that a server makes, the order in a list is that
of these names, and not compared. Of a watch the lines that were recorded come in their order; others
may come between them, for it depends on the clock which changes of controllers a watch tells together.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import orjson

from tests.kube.server.client import Kube
from tests.kube.upstream.golden.matching import Differs, Names, match, substituted
from tests.kube.upstream.golden.steps import ACCEPTS, JSON, SOCKET, Step, shortened
from tests.waiting import HANG_SECONDS

Move = Callable[[float], Awaitable[None]]
# Whether so many watches have begun, and none of them has anything left to tell.
HaveTold = Callable[[int], Awaitable[bool]]
# Time is moved on by so many seconds, one after the other, until an answer is what was recorded.
_PAUSES = (0.1, 0.2, 0.3, 0.5, 1, 1, 2, 3, 5, 10, 10)
# A change that is too small to be waited for.
_SOON_SECONDS = 0.4
# So long a line may be on its way, from a watch that has more to tell, and from one that has not.
_LINE_SECONDS = 1.5
_SENT_SECONDS = 0.05
_PROTOCOL = "v5.channel.k8s.io"
# The status with which a server changes to a WebSocket.
_ACCEPTED = 101
# Fields belong to it.
AGENT = "e2e.test"


class Player:
    """Plays one spec: *move* brings the run to a second of its time."""

    def __init__(self, kube: Kube, move: Move, have_told: HaveTold, at: float) -> None:
        self._kube = kube
        self._move = move
        self._have_told = have_told
        self._at = at
        self._names: Names = {}
        self._streams: dict[int, AsyncIterator[bytes]] = {}
        # Lines that no step was about, and the next line of each.
        self._come: dict[int, list[Any]] = {}
        self._coming: dict[int, asyncio.Task[bytes]] = {}

    async def play(self, steps: Sequence[Step]) -> list[str]:
        """What was answered otherwise than it was recorded; the first few such steps."""
        wrong: list[str] = []
        async with AsyncExitStack() as stack:
            stack.callback(self._leave)
            for number, step in enumerate(steps):
                if step.at > self._at + (0 if step.changes else _SOON_SECONDS):
                    await self._go_to(step.at)
                try:
                    await self._until_matched(step, stack)
                except Differs as difference:
                    what = f"{step.method} {step.path}" if step.method else f"line of {step.stream}"
                    wrong.append(f"step {number} at {step.at}: {what}: {difference}")
                    # What follows in a watch is no better than the line before it.
                    if step.is_line or len(wrong) > 3:
                        break
        return wrong

    async def _go_to(self, at: float) -> None:
        await self._move(at)
        self._at = at

    async def _until_matched(self, step: Step, stack: AsyncExitStack) -> None:
        for pause in (*_PAUSES, None):
            try:
                if step.is_line:
                    await self._line(step)
                else:
                    await self._ask(step, stack)
            except Differs:
                if pause is None or step.changes:
                    raise
                await self._go_to(self._at + pause)
            else:
                return

    async def _ask(self, step: Step, stack: AsyncExitStack) -> None:
        path = substituted(step.path, self._names)
        if step.method == SOCKET:
            await self._command(path, step.status)
            return
        headers = {"content-type": JSON, "accept": ACCEPTS, "user-agent": AGENT}
        headers |= {name.lower(): value for name, value in step.headers.items()}
        if step.stream:
            reading = self._kube.reading(path, accept=headers["accept"])
            self._streams[step.stream] = await stack.enter_async_context(reading)
            return
        content_type = headers.pop("content-type")
        body = substituted(step.body, self._names).encode()
        answer = await self._kube.ask(step.method, path, body, content_type=content_type, **headers)
        found = shortened(step.method, step.path, _document(answer.body))
        if answer.status != step.status:
            raise Differs("status", step.status, f"{answer.status} {found!r}")
        self._names = (
            match(step.answer, found, self._names) if step.answer is not None else self._names
        )

    async def _command(self, path: str, status: int) -> None:
        """Run a command in a container, whatever it answers, or be refused with *status*."""
        async with self._kube.socket(path, _PROTOCOL) as socket:
            found = socket.first.get("status", _ACCEPTED)
            if found != status:
                raise Differs("socket", status, socket.first)
            if found != _ACCEPTED:
                return
            while (await socket.communicator.receive_output(int(HANG_SECONDS)))[
                "type"
            ] != "websocket.close":
                pass

    async def _line(self, step: Step) -> None:
        """Find the line among those that have come; what else comes may be meant by a later step."""
        come = self._come.setdefault(step.stream, [])
        last = Differs("", step.answer, "no line")
        while True:
            for line in come:
                try:
                    self._names = match(step.answer, line, self._names)
                except Differs as difference:
                    last = difference
                else:
                    come.remove(line)
                    return
            coming = self._coming.get(step.stream)
            if coming is None:
                coming = asyncio.ensure_future(_next(self._streams[step.stream]))
                self._coming[step.stream] = coming
            await self._on_its_way(coming)
            if not coming.done() or not coming.result():
                raise last
            come.append(_document(coming.result()))
            del self._coming[step.stream]

    async def _on_its_way(self, coming: asyncio.Task[bytes]) -> None:
        """Wait for a line as long as it may be on its way."""
        is_over = False
        waits = round(_LINE_SECONDS / _SENT_SECONDS)
        while not coming.done() and waits and not is_over:
            is_over = await self._have_told(len(self._streams))
            await asyncio.wait({coming}, timeout=_SENT_SECONDS)
            waits -= 1

    def _leave(self) -> None:
        for one in self._coming.values():
            one.cancel()


async def _next(lines: AsyncIterator[bytes]) -> bytes:
    """The next line; none once the answer is over."""
    return await anext(lines, b"")


def _document(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        return content.decode(errors="replace")

"""The WebSocket of one run. See docs/streaming.md for the messages."""

import asyncio
import contextlib
import logging
import time
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError
from django.utils import translation

from kscope.accounts import limits
from kscope.accounts.sockets import address_of, credential_of
from kscope.runs.capacity.sending import sending
from kscope.runs.languages.reader import language_of, said
from kscope.runs.stream.ending import end
from kscope.runs.stream.stream_room import StreamsFull
from kscope.runs.stream.streaming import FAR_BEHIND, PIECES, Hub, hubs
from kscope.runs.stream.watching import RECHECK_SECONDS, open_sockets, watcher_of

NO_SUCH_RUN = 4404  # also for a run that the visitor may not see
TOO_SLOW = 4408
TOO_MANY = 4429
TRY_AGAIN = 1011
TRY_LATER = 1013
# A page that hears nothing for five seconds takes its connection for dead.
HEARTBEAT_SECONDS = 2.0
# A client that takes no message for so long, or stops answering heartbeats, is dropped.
DEAF_SECONDS = 30.0
# So long may it take a reader that is dropped to hear why.
FAREWELL_SECONDS = 2.0
HEARTBEAT = '{"type": "heartbeat"}'
STALLED_HEARTBEAT = '{"type": "heartbeat", "stalled": true}'
# The exception of servers for a message on a closed connection.
_CLOSED = (OSError, RuntimeError)
log = logging.getLogger(__name__)


class ReaderGone(Exception):
    """The client takes no message any more, or has stopped answering."""


class RunConsumer(AsyncWebsocketConsumer):
    """Sends a snapshot, or continues after `?after=SEQ`; then frames without gap or repetition.

    `?events=all` asks for every event in the frames instead of the newest fifty, `?packed=deflate`
    for compressed snapshots. Where there is nothing to send, a heartbeat says that the connection
    lives.
    """

    # When the oldest heartbeat was sent that is not answered yet.
    asked_at: float | None = None
    has_answered = False
    is_dropped = False
    has_left = False
    # The name under which the socket is counted; see OpenSockets.
    counted: str | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the connection until it closes or is dropped."""
        self.serving = asyncio.current_task()
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            if not self.is_dropped:
                raise
        finally:
            await self._leave()

    async def connect(self) -> None:
        """Join the hub and begin to send, if there is such a run for the visitor."""
        route: Any = self.scope.get("url_route")
        self.run_id: int = route["kwargs"]["run_id"]
        self.credential = credential_of(self.scope)
        try:
            visitor = await watcher_of(self.credential, self.run_id)
        except DatabaseError as problem:
            log.warning("connection to run %s: %s", self.run_id, problem)
            await self._refuse(TRY_AGAIN)
            return
        if visitor is None:
            await self._refuse(TOO_MANY if await self._guesses() else NO_SUCH_RUN)
            return
        self.counted = open_sockets.enter(visitor, address_of(self.scope))
        if self.counted is None:
            await self._refuse(TOO_MANY)
            return
        # A cursor that no run can have is ignored: the client gets a snapshot.
        query = parse_qs(self.scope["query_string"].decode("utf-8", "replace"))
        after = query.get("after", [""])[0]
        self.cursor = int(after) if after.isdecimal() and len(after) < 19 else None
        self.full = query.get("events", [""])[0] == "all"
        self.packed = query.get("packed", [""])[0] == "deflate"
        try:
            self.hub: Hub = hubs.enter(self.run_id)
        except StreamsFull:
            await self._refuse(TRY_LATER)
            return
        await self.accept()
        self.sender = asyncio.create_task(self._send())
        self.guard = asyncio.create_task(self._close_when_hidden())

    @database_sync_to_async
    def _guesses(self) -> bool:
        """Whether the address has sent too many wrong tokens, this one counted."""
        if not self.credential.token or self.credential.visitor() is not None:
            return False
        return limits.take("login", f"token {address_of(self.scope)}") > 0

    async def _refuse(self, code: int) -> None:
        """Close, so that the client learns the code, which it would not before accepting."""
        await self.accept()
        await self._close(code)

    async def _close(self, code: int) -> None:
        """Close, unless the client has done so, or the server: for a frame that is no UTF-8."""
        with contextlib.suppress(*_CLOSED):
            await self.close(code)

    async def _close_when_hidden(self) -> None:
        """Close once the visitor may not see the run any more: logged out, or not shared now."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            with contextlib.suppress(DatabaseError):  # then the hub has nothing to send, either
                if await watcher_of(self.credential, self.run_id) is None:
                    await self._close(NO_SUCH_RUN)
                    return

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Whatever a client says is an answer to a heartbeat; what it says does not matter."""
        self.asked_at, self.has_answered = None, True

    async def disconnect(self, code: int) -> None:
        """Leave the hub."""
        await self._leave()

    async def _leave(self) -> None:
        if self.has_left:
            return
        self.has_left = True
        for name in ("guard", "sender"):
            task = getattr(self, name, None)
            if task is not None:
                await end(task)
        if self.counted is not None:
            open_sockets.leave(self.counted)
        if hasattr(self, "hub"):
            await hubs.leave(self.hub)

    async def _send(self) -> None:
        """Send until the client leaves; when that breaks, close, so that the client comes back."""
        try:
            await self._send_for_ever()
        except ReaderGone:
            log.info("a reader of run %s is gone without a word", self.hub.run_id)
            await self._drop()
        except Exception:
            log.exception("connection to run %s", self.hub.run_id)
            await self._close(TRY_AGAIN)

    async def _send_for_ever(self) -> None:
        hub = self.hub
        told_run, generation = None, hub.generation
        while not hub.is_gone:
            change = hub.change
            if not hub.ready.is_set():
                await self._wait(change)
                continue
            if generation != hub.generation:
                self.cursor, generation = None, hub.generation
            await self._catch_up()
            if hub.run != told_run:
                told_run = hub.run
                await self._say(self._of_run(told_run))
            if self.cursor == hub.last:
                await self._wait(change)
        await self._close(NO_SUCH_RUN)

    def _of_run(self, run: dict[str, Any]) -> str:
        """The message about the run itself, with its sentences in the reader's language."""
        with translation.override(language_of(self.scope)):
            return orjson.dumps({"type": "run", "run": said(run)}).decode()

    async def _wait(self, change: asyncio.Event) -> None:
        """Until there is something new, with a heartbeat now and then."""
        while not change.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await change.wait()
                return
            await self._beat()

    async def _beat(self) -> None:
        """Send a heartbeat, unless none was answered for too long."""
        now = time.monotonic()
        # A client that has answered once is held to it; others need not answer.
        if self.asked_at is None:
            self.asked_at = now
        elif self.has_answered and now - self.asked_at > DEAF_SECONDS:
            raise ReaderGone
        await self._say(STALLED_HEARTBEAT if self.hub.is_stalled else HEARTBEAT)

    async def _say(self, message: str | bytes) -> None:
        """Send it; it is counted for as long as the client takes to take it.

        Raises ReaderGone when the client does not.
        """
        try:
            with sending.hold(len(message), self._abort):
                async with asyncio.timeout(DEAF_SECONDS):
                    if isinstance(message, str):
                        await self.send(message)
                    else:
                        await self.send(bytes_data=message)
        except TimeoutError as late:
            raise ReaderGone from late
        except _CLOSED as closed:
            raise ReaderGone from closed

    async def _drop(self) -> None:
        """End the connection without its help.

        A reader that still takes what is sent learns the reason: the close comes after that. No
        frame can come between the bytes of one that a reader does not take.
        """
        self.is_dropped = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._close(TOO_SLOW)
                await asyncio.sleep(FAREWELL_SECONDS)
        self._abort()
        if self.serving:
            self.serving.cancel()

    def _abort(self) -> None:
        """Close the connection at once, with what is still to be sent."""
        self.scope.get("kscope.abort", lambda: None)()

    async def _catch_up(self) -> None:
        """Send one message that brings a reader forward, in the cheapest form.

        Sending waits for a slow reader. Meanwhile the run goes on, so the next message is chosen
        afterwards: nothing is kept for a reader but what is on its way.
        """
        hub = self.hub
        if self.cursor is None or not hub.last - FAR_BEHIND <= self.cursor <= hub.last:
            await self._send_snapshot()
            return
        if self.cursor == hub.last:
            return
        frame = hub.frame_after(self.cursor, full=self.full)
        frames = [frame] if frame else await hub.range_after(self.cursor)
        if len(frames) > PIECES and not self.full:
            await self._send_snapshot()
            return
        for each in frames:
            self.cursor = each.last
            await self._say(each.text(full=self.full))

    async def _send_snapshot(self) -> None:
        self.cursor, snapshot = self.hub.last, self.hub.snapshot()
        for message in await snapshot.packed() if self.packed else [snapshot.text()]:
            await self._say(message)

"""The WebSocket of one run. See docs/streaming.md for the messages."""

import asyncio
import contextlib
import logging
from urllib.parse import parse_qs

import orjson
from channels.generic.websocket import AsyncWebsocketConsumer

from kscope.runs.streaming import FAR_BEHIND, PIECES, Hub, hubs

NO_SUCH_RUN = 4404
TRY_AGAIN = 1011
log = logging.getLogger(__name__)


class RunConsumer(AsyncWebsocketConsumer):
    """Sends a snapshot, or continues after `?after=SEQ`; then frames without gap or repetition.

    `?events=all` asks for every event in the frames instead of the newest fifty.
    """

    async def connect(self) -> None:
        """Join the hub and begin to send."""
        query = parse_qs(self.scope["query_string"].decode())
        after = query.get("after", [""])[0]
        self.cursor = int(after) if after.isdecimal() else None
        self.full = query.get("events", [""])[0] == "all"
        self.hub: Hub = hubs.enter(self.scope["url_route"]["kwargs"]["run_id"])
        await self.accept()
        self.sender = asyncio.create_task(self._send())

    async def disconnect(self, code: int) -> None:
        """Leave the hub."""
        if hasattr(self, "sender"):
            self.sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.sender
        if hasattr(self, "hub"):
            await hubs.leave(self.hub)

    async def _send(self) -> None:
        """Send until the client leaves; when that breaks, close, so that the client comes back."""
        try:
            await self._send_for_ever()
        except Exception:
            log.exception("connection to run %s", self.hub.run_id)
            with contextlib.suppress(Exception):
                await self.close(TRY_AGAIN)

    async def _send_for_ever(self) -> None:
        hub = self.hub
        while not hub.ready.is_set() and not hub.gone:
            await hub.change.wait()
        told_run = None
        while not hub.gone:
            change = hub.change
            await self._catch_up()
            if hub.run != told_run:
                told_run = hub.run
                await self.send(orjson.dumps({"type": "run", "run": told_run}).decode())
            if self.cursor == hub.last:
                await change.wait()
        await self.close(NO_SUCH_RUN)

    async def _catch_up(self) -> None:
        """Send one message that brings a reader on, by whichever way is cheapest.

        Sending waits for a slow reader. Meanwhile the run goes on, so what follows is chosen anew
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
            await self.send(each.text(full=self.full))

    async def _send_snapshot(self) -> None:
        text, self.cursor = self.hub.snapshot(), self.hub.last
        await self.send(text)

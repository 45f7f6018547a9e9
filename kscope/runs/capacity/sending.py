"""Limits the memory of what is being sent: a text is kept until its reader has taken it.

The bytes of all responses and of all large messages to sockets count against one budget. When it is
exceeded, the readers that have taken the longest are cut off; pages come back by themselves.
"""

import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

Abort = Callable[[], None]
SMALL_BYTES = 65_536  # a message below this is not worth counting
_MEBIBYTE = 1_048_576
log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Held:
    """One text on its way to one reader."""

    size: int
    abort: Abort
    is_cut: bool = False


class Sending:
    """The texts on their way, oldest first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.readers_cut = 0
        self._held: dict[Held, None] = {}

    @contextlib.contextmanager
    def hold(self, size: int, abort: Abort) -> Iterator[None]:
        """Count *size* bytes while they are sent; *abort* cuts the reader off."""
        if size < SMALL_BYTES:
            yield
            return
        held = Held(size, abort)
        self._held[held] = None
        self.size += size
        self._shed(held)
        try:
            yield
        finally:
            del self._held[held]
            if not held.is_cut:
                self.size -= size

    def _shed(self, newest: Held) -> None:
        """Cut the oldest off until the rest fits; those that have just begun are not among them."""
        for held in list(self._held):
            if self.size <= self.limit:
                return
            if held is newest or held.is_cut:
                continue
            held.is_cut = True
            self.size -= held.size
            self.readers_cut += 1
            log.warning(
                "a reader that was sent %d bytes was cut off: too much is on its way", held.size
            )
            held.abort()


sending = Sending(settings.WEB_SENDING_MIB * _MEBIBYTE)


def abort_of(send: Callable[..., Any]) -> Abort:
    """The function that closes the connection at once, without sending the rest.

    ASGI knows no such thing, so the transport is taken from the server's object whose method
    *send* is. Where there is none, as in tests, nothing happens.
    """
    transport = _transport(send)
    return transport.abort if transport is not None else _nothing


def bound_silence(send: Callable[..., Any], seconds: float) -> None:
    """Have the kernel close the connection when its reader takes nothing for so long.

    A closed socket whose reader takes nothing would otherwise keep its buffer for a quarter of an
    hour.
    """
    transport = _transport(send)
    connection = transport.get_extra_info("socket") if transport is not None else None
    if connection is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
        with contextlib.suppress(OSError):
            milliseconds = round(seconds * 1000)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def _transport(send: Callable[..., Any]) -> Any:
    return getattr(getattr(send, "__self__", None), "transport", None)


def _nothing() -> None:
    pass

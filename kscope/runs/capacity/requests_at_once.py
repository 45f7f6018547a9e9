"""How many requests are served at once, and who waits or is refused.

Django serves each request in a thread of its own. Without a bound, many requests become many
threads, each with a connection to the database and a response in memory. So the ASGI application
is wrapped:

    body read ──▶ a place is taken, in turns ──▶ Django ──▶ place given back ──▶ response sent

A response is sent after Django has finished the request. So a slow client occupies memory for the
text, which counts against the budget in `sending`, but neither a thread nor a connection.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from kscope.runs.capacity import askers
from kscope.runs.capacity.fair_queue import Key
from kscope.runs.capacity.places import Places, busy
from kscope.runs.capacity.sending import abort_of, bound_silence, sending
from kscope.runs.errors import ApplicationError

STALL_SECONDS = 30.0  # for a reader to take a piece
PIECE_BYTES = 65_536
HEAVY_PART = 4  # heavy requests have their own places: WEB_PLACES divided by this
# Whoever watches the process asks these, and starts it again where it gets no answer. That it serves
# is answered at once, without a thread; whether it can do its work has a few places of its own.
ALIVE, READY = "/healthz", "/readyz"
READY_PLACES = 4
NOBODY: Key = ("unknown", "nobody")  # who asks, where there is no request

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

# These requests read much of a run, or ask an engine about it, and hold the interpreter's lock
# meanwhile. Only few are served at once, so that pages and lists need not wait for them.
_HEAVY = re.compile(
    r"^/api/v1/runs/\d+/"
    r"(state|events|histogram|attempts|compare|objects|rows|pods|claims|volumes)/"
)
_HEAVY_TO_READ = re.compile(r"^/api/v1/runs/\d+/commands/")
_RUN = re.compile(r"/runs/(\d+)/")
_READS = ("GET", "HEAD")


def admission(application: Application) -> Application:
    """*application*, limited to as many requests and sockets at once as the settings allow."""
    places = Places(settings.WEB_PLACES)
    few_places = Places(max(1, settings.WEB_PLACES // HEAVY_PART))
    ready_places = Places(READY_PLACES)
    sockets = Sockets(settings.WEB_SOCKETS)

    async def admitted(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == ALIVE and scope["method"] in _READS:
            await _answer_alive(send)
        elif scope["type"] == "http":
            own = few_places if _is_heavy(scope) else places
            own = ready_places if scope["path"] == READY else own
            await _serve(application, own, scope, receive, send)
        elif scope["type"] == "websocket":
            await sockets.serve(application, scope, receive, send)
        else:
            await application(scope, receive, send)

    return admitted


def _is_heavy(scope: dict[str, Any]) -> bool:
    is_read = scope["method"] == "GET"
    return bool(_HEAVY.search(scope["path"]) or (is_read and _HEAVY_TO_READ.search(scope["path"])))


class Turn:
    """The place of one request, from the end of its body until Django has its response."""

    def __init__(self, places: Places, key: Key) -> None:
        self._places = places
        self.key = key
        self._held = False
        self._asked = False
        self._is_over = False
        self._loop = asyncio.get_running_loop()

    def after_body(self, receive: Receive) -> Receive:
        """*receive*, which takes the place before it hands over the end of the body."""

        async def received() -> Message:
            message = await receive()
            is_end = message["type"] == "http.request" and not message.get("more_body", False)
            # A response that streams listens for the client's leaving by reading on.
            if is_end and not self._asked and not self._is_over:
                self._asked = True
                await self._places.take(self.key)
                self._held = True
                if self._is_over:
                    self.leave()
            return message

        return received

    def leave(self) -> None:
        """Give the place back, if it is still held, and take none any more."""
        self._is_over = True
        if self._held:
            self._held = False
            self._places.give_back(self.key)

    def leave_from_anywhere(self) -> None:
        """The same, from any thread: at once from that of the loop, soon from another one."""
        if _running_loop() is self._loop:
            self.leave()
        else:
            self._loop.call_soon_threadsafe(self.leave)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


def leave() -> None:
    """Give the place of the current request to another one: what follows only waits."""
    turn = _turn.get()
    if turn is not None:
        turn.leave_from_anywhere()


def asker() -> Key:
    """The key of the visitor whose request is being served; visitors take turns."""
    turn = _turn.get()
    return NOBODY if turn is None else turn.key


async def _serve(
    application: Application, places: Places, scope: dict[str, Any], receive: Receive, send: Send
) -> None:
    turn = Turn(places, request_key(scope))
    _turn.set(turn)
    response = _Response(send, turn)
    try:
        await application(scope, turn.after_body(receive), response.take)
    except ApplicationError as refusal:
        await _refuse(send, refusal)
        return
    finally:
        turn.leave()
    await response.send_rest()


def request_key(scope: Mapping[str, Any]) -> Key:
    """Whose turn a request needs: what is known of who asks, then its run."""
    run = _RUN.search(scope["path"])
    return askers.asker_key(scope, run[1] if run else "")


class _Response:
    """A response in the making: its place is held until Django has made it, unless it streams."""

    def __init__(self, send: Send, turn: Turn) -> None:
        self._send = send
        self._turn = turn
        self._kept: list[Message] = []
        self._is_whole = False

    async def take(self, message: Message) -> None:
        """Take what Django sends."""
        if message["type"] == "http.response.start":
            self._is_whole = any(
                name.lower() == b"content-length" for name, _ in message["headers"]
            )
            if not self._is_whole:
                self._turn.leave()
        if self._is_whole:
            self._kept.append(message)
        else:
            await self._pass_on(message)

    async def send_rest(self) -> None:
        """Send what was kept, piece by piece, so that little of it lies in the server's buffer."""
        kept, self._kept = self._kept, []
        size = sum(len(message.get("body", b"")) for message in kept)
        with sending.hold(size, abort_of(self._send)):
            for message in kept:
                await self._pass_on(message)

    async def _pass_on(self, message: Message) -> None:
        body = message.get("body", b"")
        for start in range(0, max(len(body), 1), PIECE_BYTES):
            piece = body[start : start + PIECE_BYTES]
            more = start + PIECE_BYTES < len(body) or message.get("more_body", False)
            part = (
                message
                if len(body) <= PIECE_BYTES
                else {**message, "body": piece, "more_body": more}
            )
            await self._pass_piece(part)

    async def _pass_piece(self, message: Message) -> None:
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self._send(message)
        except TimeoutError:
            abort_of(self._send)()


class Sockets:
    """Serves at most *limit* WebSockets at once; refuses others before any work is done.

    One address has at most three quarters of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limit_each = max(1, limit * 3 // 4)
        self._open: Counter[str] = Counter()

    async def serve(
        self, application: Application, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        """Serve one until it is closed."""
        address = askers.address_of(scope)
        if self._open[address] >= self._limit_each or self._open.total() >= self._limit:
            await receive()  # websocket.connect
            await _refuse(send, busy(), "websocket.http.response")
            return
        bound_silence(send, STALL_SECONDS)
        self._open[address] += 1
        try:
            await application({**scope, "kscope.abort": abort_of(send)}, receive, send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


class OneThreadMiddleware:
    """The last middleware: it cannot run as async, so Django runs all middleware in one thread.

    Otherwise Django changes threads for each middleware that can run as async, before and after
    the view, which takes longer than most views.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        scope = getattr(request, "scope", None)  # of a request that came by ASGI
        if scope is not None:
            askers.remember(scope, _account_of(request))
        return response


def _account_of(request: HttpRequest) -> int | None:
    """The account that a view has found. Where no view has looked, nobody is looked up for this."""
    user = request.__dict__.get("_cached_user", request.__dict__.get("user"))
    return None if type(user) is SimpleLazyObject else getattr(user, "pk", None)


async def _answer_alive(send: Send) -> None:
    """What the view `healthz` answers."""
    headers = [
        (b"Content-Type", b"text/plain"),
        (b"Content-Length", b"2"),
        (b"Cache-Control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def _refuse(send: Send, refusal: ApplicationError, kind: str = "http.response") -> None:
    body = orjson.dumps(refusal.body)
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    raw = [(name.encode(), value.encode()) for name, value in (headers | refusal.headers).items()]
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": raw})
    await send({"type": f"{kind}.body", "body": body})

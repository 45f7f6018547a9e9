"""Views whose answer is computed beside the web process."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import wraps
from typing import Any, Self

import orjson
from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from kscope.runs import aside
from kscope.runs.aside import Question
from kscope.runs.aside.child import answer_text
from kscope.runs.capacity import requests_at_once
from kscope.runs.errors import PROBLEM_JSON, ApplicationError
from kscope.runs.web.rest import RestView

# Content and its type, of the JSON text that an engine process gave.
Show = Callable[[bytes], tuple[bytes | str, str]]
JSON, JSON_LINES = "application/json", "application/x-ndjson"
# File systems take 255 bytes for a name, and a letter may have four.
_MOST_OF_NAME = 50


def saved_as(name: str, ending: str) -> str:
    """The header Content-Disposition of a file to keep; *name* may hold what a header may not."""
    kept = re.sub(r"[^\w.-]+", "-", name[:_MOST_OF_NAME])
    header = content_disposition_header(as_attachment=True, filename=f"{kept}{ending}")
    return header or "attachment"


def _as_it_is(text: bytes) -> tuple[bytes, str]:
    return text, JSON


class LateAnswer(HttpResponse):
    """A response whose content is known later: it holds neither a thread nor a place until then.

    Only an `EngineView` or a `filled` view may return it.
    """

    async def fill(self, asker: str) -> None:
        """Wait for the content."""
        raise NotImplementedError


class EngineAnswer(LateAnswer):
    """A response that waits for the answer to a question; *show* makes content of it.

    It holds nothing until `fill`.
    """

    def __init__(self, question: Question, show: Show = _as_it_is) -> None:
        super().__init__(content_type=JSON)
        self.question = question
        self._show = show

    async def fill(self, asker: str) -> None:
        """Wait for the answer, or for the refusal."""
        try:
            text = await aside.ask(self.question, asker)
            self.content, self.headers["Content-Type"] = await sync_to_async(self._show)(text)
        except ApplicationError as refusal:
            self.status_code = refusal.status
            self.content = orjson.dumps(refusal.body)
            for name in ("ETag", "Content-Disposition"):
                del self[name]
            for name, value in {"Content-Type": PROBLEM_JSON, **refusal.headers}.items():
                self.headers[name] = value


class EngineParts(StreamingHttpResponse):
    """The parts of an answer, each a line of JSON that is sent as soon as it is known.

    Only an `EngineView` or a `filled` view may return it. A refusal after the first part is the last line:
    {"problem": …}, with problem details.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(content_type=JSON_LINES)
        # A proxy that collects the whole answer first would take the point of it away.
        self.headers["X-Accel-Buffering"] = "no"
        self.question = question

    async def begin(self, asker: str) -> HttpResponse | Self:
        """Wait for the first part; a refusal that comes instead is a response of its own."""
        lines = self._lines(asker)
        try:
            first = await anext(lines)
        except ApplicationError as refusal:
            return refused(refusal)
        self.streaming_content = _rejoined(first, lines)
        return self

    async def _lines(self, asker: str) -> AsyncGenerator[bytes]:
        """Each part as it comes. Leaving gives the question up."""
        parts: asyncio.Queue[bytes] = asyncio.Queue()
        asked = asyncio.create_task(aside.ask(self.question, asker, parts.put_nowait))
        asked.add_done_callback(lambda _: parts.put_nowait(b""))
        try:
            while part := await parts.get():
                yield part + b"\n"
            await asked
        finally:
            asked.cancel()


async def _rejoined(first: bytes, lines: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    try:
        yield first
        async for line in lines:
            yield line
    except ApplicationError as refusal:
        yield orjson.dumps({"problem": refusal.body}) + b"\n"
    finally:
        await lines.aclose()


def kept_answer(parts: list[dict[str, Any]], *, in_parts: bool) -> HttpResponseBase:
    """What an engine process has answered before, for readers of the active language."""
    lines = [answer_text(each) for each in parts]
    if in_parts:
        return lines_sent(lines)
    return HttpResponse(lines[0], content_type=JSON)


def lines_sent(lines: Iterable[bytes]) -> StreamingHttpResponse:
    """*lines* of JSON, each of which is made once those before it are on their way."""
    return StreamingHttpResponse(_sent(lines), content_type=JSON_LINES)


async def _sent(lines: Iterable[bytes]) -> AsyncGenerator[bytes]:
    for line in lines:
        yield line + b"\n"


def refused(refusal: ApplicationError) -> HttpResponse:
    """The refusal as a response."""
    return HttpResponse(
        orjson.dumps(refusal.body),
        status=refusal.status,
        content_type=PROBLEM_JSON,
        headers=dict(refusal.headers),
    )


class EngineView(RestView):
    """A view that may return an `EngineAnswer` or `EngineParts`.

    Its handlers run in a thread, as those of other views do. Before the wait begins, the request's
    place and its connection to the database are given back; its thread sleeps. When the client
    leaves, the question is given up.
    """

    asks_engine = True

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        """See APIView."""
        return filled(super().as_view(**initkwargs))


def filled(view: Callable[..., Any]) -> Callable[..., Any]:
    """*view*, which may return an `EngineAnswer` or `EngineParts`."""

    @wraps(view)
    async def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = await sync_to_async(view)(request, *args, **kwargs)
        if isinstance(response, LateAnswer | EngineParts):
            asker = await sync_to_async(_leave)(request)
            requests_at_once.leave()
            if isinstance(response, EngineParts):
                return await response.begin(asker)
            await response.fill(asker)
        return response

    return answered


def _leave(request: HttpRequest) -> str:
    """Give the thread's connection to the database back; returns whose question it is."""
    asker = asker_of(request)
    if not connection.in_atomic_block:  # as it is around a test
        close_old_connections()
    return asker


def asker_of(request: HttpRequest) -> str:
    """Who takes turns with others: an account, or an address for those without one."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return f"account {user.pk}"
    return f"address {request.META.get('REMOTE_ADDR', '')}"

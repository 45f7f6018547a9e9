"""Bodies that are too long are refused before they are stored.

Django writes a request's body to disk before it looks at the request. So the ASGI application is
wrapped: a body whose announced length is too much is not read at all, one of unknown length only
as far as is allowed, and Django gets an empty or cut body together with a mark. The middleware then
answers in words before any view would parse what there is.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from kscope.runs.web.upload_report import upload_report
from kscope.sim.input.load_result import LoadResult, Problem

MULTIPART_BYTES = 1_048_576  # what a form puts around its files
TOO_LONG = "kscope.body_too_long"  # in the scope of a request whose body was cut
_MIB = 1_048_576

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

_END: Message = {"type": "http.request", "body": b"", "more_body": False}


def body_limit(application: Application) -> Application:
    """The ASGI application, which reads no more of a body than an upload may hold."""

    async def limited(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            receive = _Body(scope, receive).receive
        await application(scope, receive, send)

    return limited


class _Body:
    """The body of one request."""

    def __init__(self, scope: dict[str, Any], receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._length = 0
        self._is_cut = False

    async def receive(self) -> Message:
        if self._is_cut:
            # What follows stays unread. Django only asks whether the client has left.
            await asyncio.Event().wait()
        if _is_too_long(_announced(dict(self._scope["headers"]).get(b"content-length", b""))):
            return self._cut()
        message = await self._receive()
        self._length += len(message.get("body", b""))
        return self._cut() if _is_too_long(self._length) else message

    def _cut(self) -> Message:
        self._is_cut = self._scope[TOO_LONG] = True
        return _END


class BodyLimitMiddleware:
    """Answers requests whose body is too long, in front of everything that would parse it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """The refusal, if there is one; it comes before the CSRF token is looked for in the body."""
        announced = _announced(request.META.get("CONTENT_LENGTH") or "")
        is_cut = getattr(request, "scope", {}).get(TOO_LONG, False)
        if not is_cut and not _is_too_long(announced):
            return None
        return _refusal(request, announced)


def _announced(text: str | bytes) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _is_too_long(length: int) -> bool:
    return length > settings.UPLOAD_MAX_BYTES + MULTIPART_BYTES


def _refusal(request: HttpRequest, announced: int) -> HttpResponse:
    allowed = settings.UPLOAD_MAX_BYTES // _MIB
    size = f"{announced / _MIB:.1f} MiB" if announced else f"more than {allowed} MiB"
    return _refused(request, f"{size} were sent; an upload may hold {allowed} MiB in all", 413)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What a request gets that Django cannot accept, such as one with too many files."""
    return _refused(request, *why_refused(exception))


def why_refused(problem: Exception) -> tuple[str, int]:
    """What is wrong with a request that Django does not accept, and the status of the answer."""
    if isinstance(problem, TooManyFilesSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        words = (
            f"more than {most:,} files were sent; an upload may hold {most:,}. One file may hold "
            "many objects, as `kubectl get … -A -o yaml` prints them"
        )
        return words, 413
    if isinstance(problem, TooManyFieldsSent):
        return f"more than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields were sent", 413
    if isinstance(problem, RequestDataTooBig):
        allowed = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // _MIB
        return f"more than {allowed} MiB were sent; larger things go into a file", 413
    return "the request cannot be understood", 400


def _refused(request: HttpRequest, words: str, status: int) -> HttpResponse:
    """*words* as JSON, as the upload page's report, or as plain text: what the client can show."""
    if request.path.startswith("/api/"):
        return JsonResponse({"message": f"Nothing was saved: {words}."}, status=status)
    if request.path != reverse("scenario-upload"):
        return HttpResponse(f"{words}\n", content_type="text/plain", status=status)
    result = LoadResult()
    result.problems.append(
        Problem(file="Your files", document=0, line=0, field="", value="", message=words)
    )
    context = {"report": upload_report(["Your files"], result), "scenario": None}
    return render(request, "runs/upload.html", context, status=status)

"""Answers about the history of a run are sent compressed, where the client takes that (ADR 0045).

The length of a compressed answer tells something about what is in it, if somebody else can put
text beside it (BREACH). So what is compressed are a few answers that hold no secret of the
visitor: no page, which has a CSRF token, and nothing that a form or a login answers.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.middleware.gzip import GZipMiddleware

Application = Callable[[Any, Any, Any], Awaitable[None]]

# Much more than the first level takes twice the time and saves a seventh.
_LEVEL = 1
_LEAST_BYTES = 1_000
_PACKED = re.compile(r"/api/v1/runs/\d+/(?:state|events|rows/\w+|counters|histogram)/")


def packed(application: Application) -> Application:
    """*application*, some of whose answers are compressed."""
    inner = _with_small_names(application)
    packing = GZipMiddleware(inner, minimum_size=_LEAST_BYTES, compresslevel=_LEVEL)

    async def answered(scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_packed = scope["method"] == "GET" and _PACKED.fullmatch(scope["path"])
        await (packing if is_packed else application)(scope, receive, send)

    return answered


def _with_small_names(application: Application) -> Application:
    """*application*, whose headers Starlette finds: ASGI has their names in small letters, Django not."""

    async def answered(scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def pass_on(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.lower(), value) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        await application(scope, receive, pass_on)

    return answered

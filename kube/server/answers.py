"""Sending answers: JSON in one piece where it is short, piece by piece where it is long."""

import zlib
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kscope.runs.hidden_values import without_hidden
from kube.status import ApiError

JSON = "application/json"
# From here on an answer is compressed where the client can, and sent before its end is known.
LONG = 128 * 1024
_GZIP_LEVEL = 1
_OF_BODY = ("content-length", "content-type")


def answered(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """*content* as JSON."""
    return Response(orjson.dumps(content), status, headers, JSON)


def refused(error: ApiError) -> Response:
    """The Status object of an error."""
    return answered(error.body, error.code, error.headers)


def without_values(response: Response) -> Response:
    """An answer to a write, without what may be secret in its objects; see `hidden_values`."""
    if response.media_type != JSON or isinstance(response, StreamingResponse):
        return response
    kept = without_hidden(orjson.loads(response.body))
    headers = {name: value for name, value in response.headers.items() if name not in _OF_BODY}
    return answered(kept, response.status_code, headers)


async def joined(request: Request, pieces: AsyncIterator[bytes]) -> Response:
    """The pieces of a JSON text as one answer; a long one is sent while the rest is read."""
    begun: list[bytes] = []
    length = 0
    async for piece in pieces:
        begun.append(piece)
        length += len(piece)
        if length >= LONG:
            break
    else:
        return Response(b"".join(begun), media_type=JSON)
    rest = _all(begun, pieces)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return StreamingResponse(rest, media_type=JSON)
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return StreamingResponse(_compressed(rest), headers=headers, media_type=JSON)


async def _all(begun: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    first = b"".join(begun)
    begun.clear()
    yield first
    async for piece in rest:
        yield piece


async def _compressed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=zlib.MAX_WBITS | 16)
    async for piece in pieces:
        # Each piece is sent at once, so that the client sees the first objects early.
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()

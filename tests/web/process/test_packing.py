"""Answers about a run's history are compressed for those who take it, and no others."""

import gzip
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from kscope.runs.web.packing import packed

BODY = b'{"state": "' + b"much of the same, " * 500 + b'"}'


async def plain(scope: Any, receive: Any, send: Any) -> None:
    # As Django writes them.
    headers = [(b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(BODY))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


async def asked(path: str, accepts: str = "gzip, br", method: str = "GET") -> tuple[Any, bytes]:
    """The headers and the body of the answer."""
    headers = [(b"accept-encoding", accepts.encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    client = ApplicationCommunicator(packed(plain), scope)
    await client.send_input({"type": "http.request", "body": b""})
    start, body = await client.receive_output(), await client.receive_output()
    headers = [(name.lower(), value) for name, value in start["headers"]]
    assert len(dict(headers)) == len(headers)
    return dict(headers), body["body"]


@pytest.mark.parametrize("room", ["state/", "events/", "rows/pods/", "counters/", "histogram/"])
async def test_history_is_compressed_for_who_takes_it(room: str) -> None:
    headers, body = await asked(f"/api/v1/runs/7/{room}")
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert int(headers[b"content-length"]) == len(body) < len(BODY) // 10
    assert gzip.decompress(body) == BODY


async def test_who_takes_no_gzip_gets_the_text() -> None:
    headers, body = await asked("/api/v1/runs/7/state/", accepts="identity")
    assert (headers.get(b"content-encoding"), body) == (None, BODY)
    assert headers[b"vary"] == b"Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    ["/runs/7/", "/login/", "/api/v1/runs/", "/api/v1/runs/7/", "/api/v1/runs/7/events/export/"],
)
async def test_what_may_hold_a_secret_is_not_compressed(path: str) -> None:
    headers, body = await asked(path)
    assert (headers.get(b"content-encoding"), body) == (None, BODY)


async def test_answers_to_posts_are_not_compressed() -> None:
    _, body = await asked("/api/v1/runs/7/state/", method="POST")
    assert body == BODY

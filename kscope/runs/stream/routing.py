"""WebSocket addresses."""

from typing import Any

from django.urls import path, re_path

from kscope.runs.stream.consumers import RunConsumer


async def no_such_socket(_scope: Any, receive: Any, send: Any) -> None:
    """What a socket at an unknown address gets: 404, as a page does."""
    await receive()
    headers = [(b"content-type", b"text/plain")]
    start = {"type": "websocket.http.response.start", "status": 404, "headers": headers}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": b"There is no such socket.\n"})


# The type of `path` accepts only HTTP views, so these are Any.
_consumer: Any = RunConsumer.as_asgi()
_nothing: Any = no_such_socket
websocket_urlpatterns = [path("ws/runs/<int:run_id>/", _consumer), re_path("", _nothing)]

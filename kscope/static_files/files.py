"""Static files, served in front of Django.

A page has seventy of them, and Django would start a thread for each request. WhiteNoise knows the
files, their types and what a browser has already; only the way out is ours.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware

Application = Callable[[Any, Any, Any], Awaitable[None]]


def static_files(application: Application) -> Application:
    """The ASGI application, with the static files in front of it."""
    known = WhiteNoiseMiddleware()

    def found(path: str) -> Any:
        if not path.startswith(known.static_prefix):
            return None
        return known.find_file(path) if known.autorefresh else known.files.get(path)

    async def served(scope: dict[str, Any], receive: Any, send: Any) -> None:
        file = found(scope["path"]) if scope["type"] == "http" else None
        if file is None:
            await application(scope, receive, send)
        else:
            await _send(file, scope, send)

    return served


async def _send(file: Any, scope: dict[str, Any], send: Any) -> None:
    asked = {
        f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}": value.decode("latin-1")
        for name, value in scope["headers"]
    }
    response = file.get_response(scope["method"], asked)
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers
    ]
    start = {"type": "http.response.start", "status": int(response.status), "headers": headers}
    body = b""
    if response.file is not None:
        with response.file as opened:
            body = opened.read()
    await send(start)
    await send({"type": "http.response.body", "body": body})

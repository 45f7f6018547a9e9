"""The whole ASGI application, loaded by the first request: its start looks at the database."""

from typing import Any


async def application(scope: Any, receive: Any, send: Any) -> None:
    """As `kscope.asgi.application`, which a test may not import before there is its database."""
    from kscope.asgi import application as whole

    await whole(scope, receive, send)

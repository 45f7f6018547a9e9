"""Runs in the test database, as tests/web has them, and the whole application."""

from collections.abc import AsyncIterator, Iterator

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from kube.server.application import Server
from tests.contract import kept
from tests.security.client import Asgi


@pytest.fixture(autouse=True)
def contract() -> Iterator[None]:
    """Every answer of the REST API is what its document says."""
    with kept():
        yield


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""


@pytest.fixture
async def asgi(monkeypatch: pytest.MonkeyPatch, django_db_setup: None) -> AsyncIterator[Asgi]:
    """A client of the application that the web process serves, whose start needs the database."""
    from kscope.asgi import serving

    # Each request has a thread of its own, which would leave its connection behind.
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    kubernetes = Server()
    yield Asgi(serving(kubernetes))
    await kubernetes.close()
    await sync_to_async(connections.close_all)()

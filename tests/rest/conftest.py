"""A server of the whole application, and what drives its runs, in threads of the test."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from django.db import connection, connections
from django.test import Client

from kscope.runs.drive import runner
from kscope.runs.drive.slices import run_needs_driver
from tests.contract import kept
from tests.serving import application


@pytest.fixture(autouse=True)
def contract() -> Iterator[None]:
    """Every answer of the REST API is what its document says."""
    with kept():
        yield


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""


@pytest.fixture
def driver() -> Iterator[None]:
    """Another thread drives what has to be driven, as a worker would."""
    over = threading.Event()

    def drive() -> None:
        try:
            while not over.wait(0.05):
                with connection.cursor() as cursor:
                    waiting = run_needs_driver(cursor)
                for run_id in waiting:
                    runner.run_drive(run_id)
        finally:
            connections.close_all()

    with _thread(drive):
        yield
        over.set()


@pytest.fixture
def address(transactional_db: None, driver: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the whole application is served."""
    # The database of a test can only be emptied by who is alone with it.
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_level="warning"))
        with _thread(lambda: asyncio.run(server.serve(sockets=[listening]))):
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            server.should_exit = server.force_exit = True


@contextmanager
def _thread(work: Any) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.fixture
def client() -> Client:
    """A client that gets the answer to a fault as others get it."""
    return Client(raise_request_exception=False)

"""A PostgreSQL and a Valkey of the bench's own, with the settings that `make up` gives them."""

import contextlib
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kscope.up.account import own_directory, server_account, sockets_folder
from kscope.up.children import Child, ProcessContext, start_child, wait_until
from kscope.up.postgres import Postgres
from kscope.up.valkey import Valkey

ROOM = Path(__file__).resolve().parent.parent


class Servers:
    """What runs, and where its logs are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: list[Child] = []
        self.port = 0

    def start_web(self) -> None:
        """The web process as `make up` starts it; returns when it answers."""
        self.port, _ = self.start_another_web()

    def start_another_web(self, **environment: str) -> tuple[int, int]:
        """A web process with other settings; returns its port and its pid when it answers."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        words = f"-m uvicorn kscope.asgi:application --host 127.0.0.1 --port {port}"
        options = (
            "--lifespan off --ws-per-message-deflate false --no-access-log --log-level warning"
            " --ws-max-size 16384 --limit-concurrency 4096"
            " --http kscope.runs.capacity.connections:HttpProtocol"
        )
        child = self._start("web", *words.split(), *options.split(), **environment)
        wait_until(lambda: _answers(port), child, patience_s=60, what="answer")
        return port, child.pid

    def start_python(self, name: str, *words: str) -> Child:
        """A Python process with the settings of these servers."""
        return self._start(name, *words)

    def start_worker(self, run: Any, *words: str) -> Child:
        """A process that drives *run*, with *words* for bench.drive; returns when it has started."""
        from kscope.runs.models import Run

        worker = self.start_python("worker", "-m", "bench.drive", str(run.pk), *words)
        is_started = Run.objects.filter(pk=run.pk, is_started=True).exists
        wait_until(is_started, worker, patience_s=600, what="begin the run")
        return worker

    def _start(self, name: str, *words: str, **environment: str) -> Child:
        log = self.folder / f"{name}.log"
        context = ProcessContext({**os.environ, "PYTHONUNBUFFERED": "1", **environment}, ROOM)
        child = start_child(name, [sys.executable, *words], log=log, context=context)
        self.children.append(child)
        return child


def _answers(port: int) -> bool:
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), 5) as s,
    ):
        s.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return b" 200 " in s.recv(64)
    return False


@contextlib.contextmanager
def servers() -> Iterator[Servers]:
    """Both started and migrated, Django set up on them; gone afterwards.

    Inside of it, it gives the same ones again: Django reads its settings once per process.
    """
    if _current:
        yield _current[0]
        return
    user = server_account()
    folder = sockets_folder("kscope-bench-", user)
    sockets = own_directory(folder, user)
    started = Servers(folder)
    postgres = Postgres(folder / "postgres", sockets, folder / "postgres.log", user)
    valkey = Valkey(sockets, folder / "valkey.log", user)
    try:
        started.children += [postgres.start(), valkey.start()]
        os.environ |= {
            "DATABASE_URL": postgres.url,
            "REDIS_URL": valkey.url,
            "KSCOPE_DATA": str(folder),
            "KSCOPE_LOCAL": "1",
            "KSCOPE_SECRET_KEY": secrets.token_urlsafe(),
            "KSCOPE_LOG": "WARNING",
            "DJANGO_SETTINGS_MODULE": "kscope.settings",
        }
        _migrate()
        _current.append(started)
        yield started
    finally:
        _current.clear()
        for child in reversed(started.children):
            child.stop()
        shutil.rmtree(folder, ignore_errors=True)


_current: list[Servers] = []


def _migrate() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def origin_of(address: str) -> Any:
    """The Origin header that a browser would send to *address*."""
    return "http://" + address.split("/")[2]


def store_run(
    scenario: Any, *, play: bool = False, speed: str = "max", profile: str = "v1.34"
) -> Any:
    """A run of *scenario*, as a user would have made it."""
    from kscope.runs.contents import packed, pieces_keep
    from kscope.runs.models import Run, Scenario

    content = packed(scenario.to_dict())
    row = Scenario.objects.create(
        name=scenario.name, digest=os.urandom(8).hex(), header=content.header
    )
    pieces_keep(row, content.pieces)
    status = Run.Status.PLAYING if play else Run.Status.PAUSED
    return Run.objects.create(
        scenario=row, name=scenario.name, speed=speed, status=status, profile=profile
    )


def wait_until_finished(run: Any, seconds: float) -> None:
    """Until a worker has played the run to its end. Raises TimeoutError after so many seconds."""
    until = time.monotonic() + seconds
    while run.status != "finished":
        if time.monotonic() > until:
            raise TimeoutError(f"the run is {run.status} at event {run.head_seq}")
        time.sleep(0.2)
        run.refresh_from_db()

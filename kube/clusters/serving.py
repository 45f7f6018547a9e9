"""What the service process does: `python -m kube.clusters.serving FOLDER SERVERS`.

It starts a PostgreSQL and a Valkey of its own, serves kscope on a free port of the loopback, drives
the runs itself, and answers over a socket in FOLDER what `Service.ask` asks. It ends with its
standard input, which is a pipe from the process that started it.
"""

import contextlib
import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import orjson

from kscope.up.account import server_account
from kscope.up.postgres import Postgres
from kscope.up.valkey import Valkey
from kube.clusters.service import SOCKET

Answer = Callable[..., dict[str, Any]]


def main(folder: Path, servers: Path) -> None:
    """Serve until the standard input ends, and remove the folders then."""
    with _servers(servers, folder / "servers.log"):
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        _serve(folder / SOCKET)
    # Who started this does it, too, unless they were killed.
    shutil.rmtree(servers, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _servers(folder: Path, log: Path) -> Iterator[None]:
    """The two servers, where Django's settings find them."""
    user = server_account()
    postgres = Postgres(folder / "postgres", folder, log, user, throwaway=True)
    valkey = Valkey(folder, log, user)
    with contextlib.ExitStack() as stack:
        for server in (postgres, valkey):
            stack.callback(server.start().stop)
        os.environ |= {"DATABASE_URL": postgres.url, "REDIS_URL": valkey.url}
        yield


def _serve(control: Path) -> None:
    import uvicorn

    from kube.clusters.answers import answers

    with socket.create_server(("127.0.0.1", 0)) as listening:
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            "kscope.asgi:application",
            lifespan="off",
            http="kscope.runs.capacity.connections:HttpProtocol",
            access_log=False,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)

        def end_with_input() -> None:
            sys.stdin.buffer.read()
            server.should_exit = True

        for work in (end_with_input, lambda: _answer_all(control, answers(origin))):
            threading.Thread(target=work, daemon=True).start()
        server.run(sockets=[listening])


def _answer_all(path: Path, answers: dict[str, Answer]) -> None:
    """Answer each connection in a thread of its own; the file appears when it can be asked."""
    draft = path.with_suffix(".new")
    with Listener(str(draft), "AF_UNIX", backlog=64) as listener:
        draft.rename(path)
        while True:
            link = listener.accept()
            threading.Thread(target=_answer, args=[link, answers], daemon=True).start()


def _answer(link: Connection, answers: dict[str, Answer]) -> None:
    from django.db import connection

    from kscope.runs.errors import ApplicationError

    try:
        name, arguments = orjson.loads(link.recv_bytes())
        try:
            answer = answers[name](**arguments)
        except ApplicationError as refusal:
            details = [str(one) for one in refusal.extra.get("problems", [])]
            answer = {"error": "\n".join([refusal.message, *details])}
        link.send_bytes(orjson.dumps(answer))
    finally:
        link.close()
        connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""The loader, and what is forked from it: web, worker, and the preparation of a database."""

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kscope.up.address import Servers
from kscope.up.children import Child, ProcessContext, fork_child, start_child
from kscope.up.options import Options
from kscope.up.processes import LOADER, Call


def start_loader(address: Path, env: Mapping[str, str], *, room: Path, log: Path) -> Child:
    """Begin to load kscope, in a process that forks others for those who connect to *address*."""
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        # Who reaches it can run anything in our name.
        address.chmod(0o600)
        return start_child(
            "loader",
            [sys.executable, "-m", "kscope.process_loader"],
            log=log,
            context=ProcessContext({**env, LOADER: str(address)}, room),
            stdin=listener.fileno(),
        )


def loader_answers(address: Path) -> bool:
    """Whether a loader has loaded, and forks what it is asked for."""
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(str(address)) == 0


@dataclass(frozen=True, slots=True)
class Services:
    """Starts the services. They keep nothing of their own, so each can be started again."""

    options: Options
    servers: Servers
    env: Mapping[str, str]
    sockets: Path
    """The folder in which the loader gets a socket."""

    @property
    def _socket(self) -> Path:
        return self.sockets / "loader.sock"

    def start_loader(self) -> Child:
        """Begin to load kscope."""
        return start_loader(
            self._socket, self.env, room=self.options.room, log=self.options.logs / "loader.log"
        )

    def loader_answers(self) -> bool:
        """Whether it has loaded, and forks what it is asked for."""
        return loader_answers(self._socket)

    def start_preparing(self, report: Path) -> Child:
        """Begin to make the database ready; `manage.py prepare` says what *report* gets."""
        words = ("prepare", "--report", os.fspath(report))
        (self.options.logs / "prepare.log").unlink(missing_ok=True)
        return self._fork("prepare", "django.core.management:execute_from_command_line", words)

    def start_web(self) -> Child:
        """Start the web process."""
        words = (self.options.host, str(self.options.port))
        return self._fork("web", "kscope.runs.capacity.connections:serve", words)

    @property
    def worker_is_ready(self) -> Path:
        """The file that the worker makes once it takes tasks."""
        return self.options.data / "worker-ready"

    def start_worker(self) -> Child:
        """Start the worker, which has runs driven, and finds those that nobody drives."""
        self.worker_is_ready.unlink(missing_ok=True)
        return self._fork(
            "worker",
            "kscope.celery:work",
            [str(self.options.workers)],
            # Warm first: drivers give their runs back within a slice. Then cold; the lease covers
            # the rest.
            stop_signals=((signal.SIGTERM, 10.0), (signal.SIGQUIT, 3.0)),
        )

    def _fork(
        self,
        name: str,
        function: str,
        words: Sequence[str],
        stop_signals: Sequence[tuple[int, float]] = ((signal.SIGTERM, 10.0),),
    ) -> Child:
        log = self.options.logs / f"{name}.log"
        call = Call(name, function, words)
        return fork_child(call, loader=self._socket, log=log, stop_signals=stop_signals)

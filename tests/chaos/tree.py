"""kscope as it is started by people, its processes, and its servers, which can be killed apart."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg

from kscope.up.account import own_directory, server_account, sockets_folder
from kscope.up.children import Child
from kscope.up.postgres import Postgres
from kscope.up.valkey import Valkey
from tests.up.up_process import ROOM, Up, free_port, is_alive, wait_until_ended
from tests.waiting import wait_for

SERVERS = ("PostgreSQL", "Valkey")


class Tree:
    """A running `up` with two workers, on servers of its own or on given ones.

    Servers of its own are children of `up`: if one of them dies, all end, and `revive` starts all
    again. Given servers are ours: everything else has to live through their death.
    """

    def __init__(self, *, embedded: bool, disk: Path | None = None) -> None:
        """*disk*: an empty folder for everything that is written, in place of a new one in /tmp."""
        self.embedded = embedded
        self.folder = disk or sockets_folder("kscope-chaos-", server_account())
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir()
        self.user = server_account()
        own_directory(self.sockets, self.user)
        self.servers: dict[str, Child] = {}
        self.seen: dict[int, psutil.Process] = {}
        self.port = free_port()
        self.ports: tuple[int, ...] = (self.port,)
        self._link: psycopg.Connection[Any] | None = None
        if not embedded:
            for name in SERVERS:
                self.start_server(name)
        self.up = self._start()
        # Without servers of its own it asks everybody for an account.
        self.token = "" if embedded else self._made_token()

    # What runs

    def start_server(self, name: str) -> None:
        """Start a given server, anew when it was killed."""
        if name == "Valkey":
            (self.sockets / "valkey.sock").unlink(missing_ok=True)
        self.servers[name] = self._given(name).start()

    def _given(self, name: str) -> Postgres | Valkey:
        if name == "Valkey":
            return Valkey(self.sockets, self.folder / "valkey.log", self.user)
        return Postgres(
            self.folder / "postgres", self.sockets, self.folder / "postgres.log", self.user
        )

    def _start(self) -> Up:
        up = Up(self.data, self.port, workers=2, env=self._environment())
        try:
            up.wait_until_serving()
        except BaseException:
            up.__exit__(None, None, None)
            raise
        self.note_family(up)
        return up

    def _environment(self) -> dict[str, str]:
        """Of the programs, besides what they have from the machine."""
        env = {"KSCOPE_WRITER_EVENTS": "20", "TMPDIR": str(self.folder)}
        # An episode ends when its runs do, and clients have used them.
        env["KSCOPE_CLIENT_CLOCK"] = "2"
        # With accounts, many runs are those of one.
        env["KSCOPE_QUOTA_PLAYING"] = "100"
        if not self.embedded:
            env["DATABASE_URL"] = self._given("PostgreSQL").url
            env["REDIS_URL"] = self._given("Valkey").url
        return env

    def _made_token(self) -> str:
        made = subprocess.run(
            [sys.executable, ROOM / "manage.py", "token", "create", "admin", "chaos"]
            + ["--scope", "write"],
            env={**os.environ, "DATABASE_URL": self.database_url(), "REDIS_URL": self.redis_url()},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return made.stdout.strip()

    def revive(self) -> None:
        """Start again what was killed: given servers, and all the rest if it has ended."""
        for name, child in self.servers.items():
            if child.exit_code() is not None:
                self.start_server(name)
        if self.up.process.poll() is not None:
            wait_until_ended(self.processes())
            self.up = self._start()

    def note_family(self, up: Up | None = None) -> None:
        """Remember every process there is, to look for orphans later."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in (up or self.up).family():
                self.seen[process.pid] = process

    def processes(self) -> list[psutil.Process]:
        """All that ever ran below `up`."""
        return list(self.seen.values())

    def children(self, name: str) -> list[psutil.Process]:
        """Processes by what they do: a name of run.json, "driver", "writer" or "web's child"."""
        self.note_family()
        if name == "up":
            return _existing([self.up.process.pid])
        if name in self.servers:
            return _existing([self.servers[name].pid])
        if name in ("driver", "writer"):
            return [each for each in self._below("loader") if f"kscope {name}" in _words(each)]
        return _existing([self._listed()[name]] if name in self._listed() else [])

    def _below(self, name: str) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for parent in self.children(name):
                found += parent.children(recursive=True)
        return [each for each in found if is_alive(each)]

    def _listed(self) -> dict[str, int]:
        try:
            content = json.loads((self.data / "run.json").read_text())
        except (OSError, ValueError):
            return {}
        return {child["name"]: child["pid"] for child in content["children"]}

    # What can be done to it

    def kill(self, name: str, signum: int = signal.SIGKILL) -> bool:
        """Send a signal to the first process of that name; whether there was one."""
        for process in self.children(name)[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signum)
                return True
        return False

    def ask(self, query: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        """What the database answers, on a connection that is kept for as long as it holds.

        A new one for each question would cost the database many times what the question does.
        """
        if self._link is not None:
            with contextlib.suppress(psycopg.OperationalError):
                return self._asked(self._link, query, values)
            self._link.close()
        self._link = psycopg.connect(self.database_url(), autocommit=True)
        return self._asked(self._link, query, values)

    def _asked(
        self, link: psycopg.Connection[Any], query: LiteralString, values: tuple[Any, ...]
    ) -> list[tuple[Any, ...]]:
        found = link.execute(query, values)
        return found.fetchall() if found.description else []

    def insist(self, query: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        """What the database answers, once it does."""
        rows: list[list[tuple[Any, ...]]] = []

        def is_answered() -> bool:
            with contextlib.suppress(psycopg.OperationalError):
                rows.append(self.ask(query, *values))
            return bool(rows)

        wait_for(is_answered, "the database does not come back", every=0.1)
        return rows[0]

    def crash_database(self) -> bool:
        """Kill one of its processes: PostgreSQL then ends all of them and recovers from its log."""
        (row,) = self.ask(
            "SELECT min(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        if row[0] is None:
            return False
        os.kill(row[0], signal.SIGKILL)
        return True

    def database_url(self) -> str:
        """As in DATABASE_URL."""
        return self._address("database_url") if self.embedded else self._given("PostgreSQL").url

    def redis_url(self) -> str:
        """As in REDIS_URL."""
        return self._address("redis_url") if self.embedded else self._given("Valkey").url

    def _address(self, name: str) -> str:
        return str(json.loads((self.data / "run.json").read_text())[name])

    # The end

    def stop(self) -> None:
        """End everything; AssertionError when a process is left that nobody holds."""
        self.note_family()
        if self._link is not None:
            self._link.close()
        self.up.__exit__(None, None, None)
        try:
            wait_until_ended(self.processes())
            wait_for(lambda: not self._orphans(), lambda: f"orphans: {self._orphans()}")
        finally:
            for child in reversed(self.servers.values()):
                child.stop()
            state = (self.data / "postgres").resolve()
            if self.embedded and state.parent.parent == Path("/var/lib/kscope"):
                shutil.rmtree(state.parent, ignore_errors=True)
            shutil.rmtree(self.folder, ignore_errors=True)

    def logs(self) -> str:
        """The last lines of every log."""
        return "\n".join(
            f"== {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
            for path in sorted(self.folder.rglob("*.log"))
        )

    def _orphans(self) -> list[str]:
        """Processes that were started for a data directory of ours, whoever their parent is."""
        ours = {str(folder) for folder in self._data_folders()}
        found: list[str] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("KSCOPE_DATA") in ours and is_alive(process):
                    found.append(" ".join(process.cmdline()))
        return found

    def _data_folders(self) -> tuple[Path, ...]:
        return (self.data,)


def _existing(pids: list[int]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if is_alive(process):
                found.append(process)
    return found


def _words(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""

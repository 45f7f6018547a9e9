"""Health: `/healthz` says that the web process serves, `/readyz` that it can do its work."""

import logging
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import redis
from django.conf import settings
from psycopg.errors import DiskFull

from kscope import database_format
from kscope.operations import presence
from kscope.runs.nudges import has_room, was_full

# The parts are checked in parallel, so this also limits the time of the whole answer.
PATIENCE_SECONDS = 3.0
_MIB = 1_048_576
# An upload may take twice as much; below this, writes that are under way will fail.
LEAST_BYTES = 32 * _MIB
LEAST_FILES = 100
log = logging.getLogger(__name__)
_pool = ThreadPoolExecutor(6, thread_name_prefix="health")


class NotReady(Exception):
    """A part that kscope needs does not work; the message says what is wrong with it."""


def readiness(parts: list[str] | None = None) -> dict[str, Any]:
    """`{"ready": …, "parts": {name: {"ok", "detail", "seconds"}}}`, for all parts or only *parts*.

    Takes at most PATIENCE_SECONDS, whatever the servers do.
    """
    wanted = {name: CHECKS[name] for name in (parts or CHECKS)}
    deadline = monotonic() + PATIENCE_SECONDS
    checks = {name: _pool.submit(_checked, check) for name, check in wanted.items()}
    found = {name: _answer(future, deadline) for name, future in checks.items()}
    return {"ready": all(part["ok"] for part in found.values()), "parts": found}


def _answer(future: "Future[dict[str, Any]]", deadline: float) -> dict[str, Any]:
    try:
        return future.result(max(0.0, deadline - monotonic()))
    except TooLate:
        future.cancel()
        detail = f"no answer within {PATIENCE_SECONDS:g} s"
        return {"ok": False, "detail": detail, "seconds": PATIENCE_SECONDS}


def _checked(check: Callable[[], str]) -> dict[str, Any]:
    began = monotonic()
    try:
        ok, detail = True, check()
    except NotReady as problem:
        ok, detail = False, str(problem)
    except (psycopg.Error, redis.RedisError, OSError) as problem:
        # The answer is public, so the addresses of our servers go to the log only.
        log.warning("not ready: %s", problem)
        ok, detail = False, "cannot be reached"
    return {"ok": ok, "detail": detail, "seconds": round(monotonic() - began, 4)}


def _check_database() -> str:
    """PostgreSQL answers, and has the format and every migration that this version knows."""
    with database_format.connect() as link:
        why = database_format.why_refused(link)
        if why:
            raise NotReady(why)
        if _was_full():
            _check_room(link)
    return "reachable and migrated"


def _was_full() -> bool:
    try:
        return was_full()
    except redis.RedisError:  # Valkey's own part says so
        return False


def _check_room(link: "psycopg.Connection[Any]") -> None:
    """A database that has refused to write is asked to, a megabyte that goes at once."""
    try:
        with link.transaction():
            link.execute(_WRITE)
    except DiskFull:
        raise NotReady("the disk of the database is full") from None
    with suppress(redis.RedisError):
        has_room()


_WRITE = (
    "CREATE TEMPORARY TABLE kscope_room ON COMMIT DROP AS"
    " SELECT md5(line::text) AS text FROM generate_series(1, 20000) AS line"
)


def _check_disk() -> str:
    """The folders that this process and the servers of `up` write to have room."""
    for name, folder in _folders():
        try:
            found = os.statvfs(folder)
        except OSError:  # it is not there, or another account's
            continue
        free = found.f_bavail * found.f_frsize
        if free < LEAST_BYTES:
            raise NotReady(
                f"the disk of the {name} is full: {free / _MIB:.1f} MiB are free, "
                f"{LEAST_BYTES // _MIB} MiB are needed"
            )
        if found.f_files and found.f_favail < LEAST_FILES:
            raise NotReady(f"the disk of the {name} is full: it takes no more files")
    return "has room"


def _folders() -> list[tuple[str, Path]]:
    data = Path(settings.DATA_DIR)
    try:
        temporary = Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise NotReady("no temporary folder can be written to") from None
    return [
        ("data folder", data),
        ("database", data / "postgres"),
        ("log folder", data / "log"),
        ("temporary folder", temporary),
    ]


def _check_valkey() -> str:
    """Valkey answers."""
    presence.client().ping()
    return "reachable"


def _check_worker() -> str:
    """At least one process that drives runs has reported lately."""
    workers = [one for one in presence.processes() if one.role == "worker"]
    if not workers:
        raise NotReady(f"no worker was heard of for {presence.SECONDS_KNOWN} s")
    return f"{len(workers)} alive"


CHECKS: dict[str, Callable[[], str]] = {
    "database": _check_database,
    "disk": _check_disk,
    "valkey": _check_valkey,
    "worker": _check_worker,
}

"""Which databases this version of kscope can work with: one number, which migrations raise.

A version that is older than its database would misread what is there, or fail at some column. So
the database names its format, each version knows the format that it reads and writes, and whoever
works with the database compares the two:

    a process at its start ─┐
    each new connection ────┼─▶ the same: go on; any other: refuse, say why, and what helps
    a worker, before a run ─┤
    /readyz, and watchers ──┘

A migration that raises the number also takes all runs from their workers: what an older worker has
computed but not written yet is refused with its lease. See docs/adr/0031.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import psycopg
from django.db import OperationalError, ProgrammingError, connection, migrations
from django.db.migrations.loader import MigrationLoader

FORMAT = 8
TABLE = "kscope_database_format"
PREPARE = "run `manage.py prepare`"
LOOK_SECONDS = 1.0  # between two looks of the connections of a process
WATCH_SECONDS = 3.0
log = logging.getLogger(__name__)


class WrongFormat(OperationalError):
    """This version cannot work with the database; the message says why, and what helps."""


def raise_format(number: int) -> migrations.RunPython:
    """The operation of a migration after which versions that know only lower formats must stop."""
    return migrations.RunPython(partial(_write, number), partial(_write, number - 1))


def _write(number: int, _apps: Any, editor: Any) -> None:
    editor.execute(f"UPDATE {TABLE} SET number = %s, since = now()", [number])
    # Drivers of the version before learn with their next slice that they have lost their runs.
    editor.execute("UPDATE runs_run SET lease_epoch = lease_epoch + 1, lease_until = NULL")


def format_of(ask: Callable[[str], Any]) -> int:
    """The number in the database that *ask* asks; 0 for one that was made before there was any.

    *ask* takes a statement and returns its first row.
    """
    (known,) = ask(f"SELECT to_regclass('{TABLE}') IS NOT NULL")
    return int(ask(f"SELECT number FROM {TABLE}")[0]) if known else 0


def why_newer(number: int) -> str:
    """Why this version must not touch a database of format *number*; "" where it may."""
    if number <= FORMAT:
        return ""
    return (
        f"The database has format {number}, written by a newer version of kscope; this version "
        f"reads format {FORMAT}. Start the newer version, or restore a backup that this version "
        "or an older one made (docs/operations.md, Versions)"
    )


def why_refused(link: "psycopg.Connection[Any]") -> str:
    """What keeps this version from working with the database of *link*; "" for nothing."""
    number = format_of(lambda statement: link.execute(statement.encode()).fetchone())
    if number > FORMAT:
        return why_newer(number)
    found = link.execute("SELECT to_regclass('django_migrations') IS NOT NULL").fetchone()
    if not found or not found[0]:
        return f"The database is empty: {PREPARE}"
    applied = set(link.execute("SELECT app, name FROM django_migrations").fetchall())
    missing = sorted(known_migrations() - applied)
    if not missing and number == FORMAT:
        return ""
    app, name = missing[0] if missing else ("runs", "0015_database_format")
    return (
        f"The database has format {number}, this version of kscope reads format {FORMAT}: "
        f"{len(missing)} migrations are missing, such as {app}.{name}; {PREPARE}"
    )


@cache
def known_migrations() -> frozenset[tuple[str, str]]:
    """The migrations of this version: (app, name)."""
    return frozenset(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def connect(patience_s: int = 2) -> "psycopg.Connection[Any]":
    """A connection of its own to Django's database, which waits no longer. Raises psycopg.Error."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold", "server_side_binding", "pool"):
        parameters.pop(name, None)
    patience = {
        "connect_timeout": patience_s,
        "options": f"-c statement_timeout={patience_s * 1000}",
    }
    return psycopg.connect(**{**parameters, **patience}, autocommit=True)


# Connections of this process: whether it was refused when it last looked, and when that was.
_refusal = ""
_looked_at: dict[str, float] = {}


def refusal() -> str:
    """Why this process must not work with its database, as far as it knows; "" if it may."""
    return _refusal


def check_connection(link: Any, *, afresh: bool = False) -> None:
    """Raises WrongFormat where the database of *link*, Django's, is newer than this version.

    Looks once a second at most, unless *afresh*.
    """
    global _refusal
    name = str(link.settings_dict["NAME"])
    now = time.monotonic()
    if afresh or now - _looked_at.get(name, -LOOK_SECONDS) >= LOOK_SECONDS:
        with link.cursor() as cursor:

            def ask(statement: str) -> Any:
                cursor.execute(statement)
                return cursor.fetchone()

            _refusal = why_newer(format_of(ask))
        _looked_at[name] = now
    if _refusal:
        raise WrongFormat(_refusal)


def look_at_new_connection(connection: Any, **_kwargs: Any) -> None:
    """Django calls it for each connection that is made, whoever makes it: page, worker, command."""
    check_connection(connection)


def reason_of(problem: BaseException) -> str:
    """The reason of an error of the database, if that is its format; "" for any other."""
    if isinstance(problem, WrongFormat):
        return str(problem)
    if not isinstance(problem, ProgrammingError):
        return ""
    # A table or a column that is not there.
    try:
        with connect() as link:
            return why_refused(link)
    except psycopg.Error:
        return ""


def check_start() -> None:
    """End a process that begins, with the reason, unless it can work with its database.

    A database that does not answer ends nothing: it may come back.
    """
    try:
        with connect() as link:
            why = why_refused(link)
    except psycopg.Error as problem:
        log.warning("the format of the database is not known yet: %s", problem)
        return
    if why:
        raise SystemExit(f"kscope does not start. {why}.")


def watch(stop: Callable[[str], None]) -> None:
    """From now on, call *stop* with the reason once another version has migrated the database."""
    threading.Thread(target=_watch, args=(stop,), name="database format", daemon=True).start()


def _watch(stop: Callable[[str], None]) -> None:
    while not (why := look()):
        time.sleep(WATCH_SECONDS)
    stop(why)


def look() -> str:
    """Why this process must not work with its database any more; "" if it may, or none answers."""
    global _refusal
    try:
        with connect() as link:
            number = format_of(lambda statement: link.execute(statement.encode()).fetchone())
    except psycopg.Error as problem:
        log.debug("the format of the database was not read: %s", problem)
        return ""
    _refusal = why_newer(number)
    return _refusal

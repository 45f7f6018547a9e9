"""Saving the database to a file, and restoring it: pg_dump and pg_restore in one snapshot.

The tools come with the embedded PostgreSQL, so they are there for given servers as well.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F

from engine.kernel.recorder import GENESIS, EventRow, chain, encode
from kscope.database_format import TABLE, why_newer
from kscope.runs.models import HistoryPart, Run
from kscope.runs.record.parts import Part, parts_of
from kscope.up.children import StartError
from kscope.up.postgres import find_binaries

_BATCH = 2_000
_EVENTS = (
    "SELECT seq, at, kind, object, component, cause, message, data_text, changes_text"
    " FROM events_between(%s, %s, %s) ORDER BY seq"
)
# Sessions mean nothing in another database.
_LEFT_OUT = ("django_session",)
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}


class BackupError(Exception):
    """Saving or restoring failed; the message says why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A run whose events were read and put through the digest again."""

    run: Run
    is_whole: bool


def backup_write(file: Path) -> int:
    """Save the whole database to *file*; returns its size. Raises BackupError.

    One snapshot: runs that play meanwhile are in it as of one moment.
    """
    draft = file.with_name(f"{file.name}.partial")
    draft.touch(mode=0o600)
    excluded = [f"--exclude-table-data={table}" for table in _LEFT_OUT]
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", *excluded, "--file", draft)
    draft.replace(file)
    return file.stat().st_size


def backup_restore(file: Path, *, replace: bool = False) -> None:
    """Fill the database from *file* and bring it to this version's schema. Raises BackupError.

    Its old contents are deleted. It must not hold any run, unless *replace*.
    """
    if not file.is_file():
        raise BackupError(f"{file} is not a file")
    _run("pg_restore", "--list", file, connected=False)
    why = why_newer(_format_in(file))
    if why:
        raise BackupError(f"{file} cannot be restored. {why.replace('The database', 'It', 1)}.")
    held = 0 if replace else _runs_held()
    if held:
        raise BackupError(
            f"The database holds {held:,} runs, which would be lost. Restore into an empty one, or "
            "say --replace."
        )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
    _run(
        "pg_restore",
        *("--single-transaction", "--no-owner", "--no-privileges", "--exit-on-error"),
        *("--dbname", connection.get_connection_params()["dbname"], file),
    )
    call_command("migrate", interactive=False, verbosity=0)
    # Those who held the runs were other processes, perhaps on another machine.
    Run.objects.update(lease_until=None)


def _format_in(file: Path) -> int:
    """The format of the database in a backup; 0 for one that was made before there was any."""
    rows = _run("pg_restore", "--data-only", "--table", TABLE, "--file", "-", file, connected=False)
    found = re.search(r"^COPY [^\n]*\(number,[^\n]*\n(\d+)\t", rows, re.MULTILINE)
    return int(found[1]) if found else 0


def histories_checked() -> Iterator[Checked]:
    """Every run, and whether its events have the digest that was recorded with them.

    What forks read is read once: the digest of a history is known where forks of it begin.
    """
    known = _Known()
    for run in Run.objects.defer("scenario").order_by("pk"):
        yield Checked(run, history_digest(run, known) == (run.head_digest or GENESIS.hex()))


class _Known:
    """The digests of histories after the events up to which forks read them, by run and event."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], bytes] = {}
        self._wanted: dict[int, list[int]] = {}
        ends = HistoryPart.objects.filter(upto__gt=F("after")).order_by("upto").distinct()
        for source, upto in ends.values_list("source", "upto"):
            self._wanted.setdefault(source, []).append(upto)

    def wanted(self, parts: Sequence[Part]) -> dict[int, int]:
        """By event of a history, the run whose digest is to be kept there."""
        return {
            upto: part.source
            for part in parts
            for upto in self._wanted.get(part.source, ())
            if part.after < upto <= part.upto
        }


def history_digest(run: Run, known: _Known) -> str:
    """The digest over the events of *run* as they are stored (ADR 0005)."""
    parts = parts_of(run.pk)
    wanted = known.wanted(parts)
    digest, last = GENESIS, 0
    for part in parts:
        if part.upto <= run.head_seq and (found := known.found.get((part.source, part.upto))):
            digest, last = found, part.upto
    with connection.cursor() as cursor:
        while last < run.head_seq:
            cursor.execute(_EVENTS, [run.pk, last, min(run.head_seq, last + _BATCH)])
            rows = cursor.fetchall()
            if not rows:
                break
            for row in rows:
                # jsonb orders keys in its own way.
                texts = (text and encode(orjson.loads(text)) for text in row[7:])
                digest = chain(digest, EventRow(*row[:7], *texts))
                if row[0] in wanted:
                    known.found[wanted[row[0]], row[0]] = digest
            last = rows[-1][0]
    return digest.hex()


def _runs_held() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('runs_run') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute("SELECT count(*) FROM runs_run")
        return int(cursor.fetchone()[0])


def _run(tool: str, *words: Any, connected: bool = True) -> str:
    """Run a tool of PostgreSQL; the password goes through the environment, where `ps` shows it not."""
    try:
        binary = find_binaries(None) / tool
    except StartError as problem:
        raise BackupError(str(problem)) from problem
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    if connected:
        parameters = connection.get_connection_params()
        for name, variable in _VARIABLES.items():
            if parameters.get(name):
                environment[variable] = str(parameters[name])
    done = subprocess.run(
        [binary, *words], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise BackupError(f"{tool} failed: {said}")
    return done.stdout

"""What a worker writes to the database: its lease, and each slice of a run in one transaction."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Literal, LiteralString

import orjson
import psycopg
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import Connection, Cursor, sql
from psycopg.errors import (
    DivisionByZero,
    DuplicatePreparedStatement,
    FeatureNotSupported,
    InvalidSqlStatementName,
)
from psycopg.rows import TupleRow

from engine.api_server.store.write_record import Left
from engine.cluster.cluster import Slice
from engine.cluster.source import fingerprint
from engine.input.budget import Budget, Stop
from engine.objects.objects import Manifest
from engine.scheduler.cycle.attempt import SchedulingAttempt
from kscope.runs import leases, measures
from kscope.runs.app_registry import registry
from kscope.runs.drive.checkpoints import Saved, saved_insert
from kscope.runs.drive.ending import cut_off
from kscope.runs.drive.tables.dictionaries import dictionaries_keep
from kscope.runs.drive.tables.run_table import FEW_ROWS, Row, RunTable, records, typed
from kscope.runs.drive.tables.unwritten import Objects
from kscope.runs.languages.kept import sentence_kept
from kscope.runs.manifests.fields import OfManifest, columns_of
from kscope.runs.manifests.packer import Dictionary, Packer
from kscope.runs.models import RemovedObject, Run
from kscope.runs.nudges import Outcome
from kscope.runs.record.chunks import events_add
from kscope.runs.record.work import tally, work_of

LEASE = f"{leases.LEASE_SECONDS} seconds"
LONG_LEASE = f"{leases.LONG_LEASE_SECONDS} seconds"
_NEVER = 2**31 - 1
# In one statement: PostgreSQL holds what comes in it several times over.
MANY_OBJECTS = 1_000
SLOW_SECONDS = 1.0  # of a commit, after which its lease is renewed


class LostLease(Exception):
    """Another worker has the run now, or the run is gone: nothing of the slice was written.

    It is also raised when the run's head is not where the slice begins. Then the database has lost
    the previous slice, as may happen when a replica that lags behind takes over.
    """


@dataclass(frozen=True, slots=True)
class Done:
    """A command that the slice carried out or refused, and where.

    `left` is its object as the command left it, whatever else of the slice wrote it afterwards.
    """

    id: int
    left: Left | None
    applied: bool
    reason: str
    seq: int | None
    ordinal: int
    position: int
    at: int


def outcomes_of(done: Sequence[Done]) -> list[Outcome]:
    """The outcomes of the commands, for those who sent them."""
    return [Outcome(each.id, each.applied, each.reason, each.seq or 0, each.left) for each in done]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the run stands once the slice is written."""

    seq: int
    at: int
    steps: int
    commands: int
    digest: str
    next_at: int | None
    objects: int = 0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Controls:
    """What the user wants of the run, as of the commit, and the run's budget."""

    status: str
    speed: str
    step_unit: str
    steps_wanted: int
    until: int | None
    until_pod: str = ""
    # When the pod is expected to be bound, until when the run waits for that, and on which node.
    until_pod_at: int | None = None
    until_pod_by: int | None = None
    until_pod_node: str | None = None
    stopped_by: str = ""
    events: int = 0
    objects: int = 0
    time: int = 0
    memory: int = 0
    # What its scenario or its maker names, in virtual ns; and whether clients use the run.
    duration: int | None = None
    is_used: bool = False
    # Somebody reads the rows of its objects.
    reads_rows: bool = False

    @property
    def budget(self) -> Budget:
        """What the run may take."""
        return Budget(events=self.events, objects=self.objects, time=self.time, memory=self.memory)

    @property
    def awaited_pod(self) -> str:
        """The pod whose binding or refusal ends the wait; "" if only an instant was expected."""
        is_instant = self.until_pod_at is not None and not self.until_pod_node
        return "" if is_instant else self.until_pod


# The columns of a run that are its Controls, in their order.
CONTROLS = (
    "status, speed, step_unit, steps_wanted, until, until_pod,"
    " (trial->>'at')::bigint, (trial->>'by')::bigint, trial->>'node',"
    " stopped_by,"
    " budget_events, budget_objects, budget_time, budget_memory,"
    f" duration, {leases.used()}, {leases.read()}"
)

_REMOVALS = RunTable(
    RemovedObject._meta.db_table,
    {"seq": "bigint", "created_seq": "bigint", "object": "text", "manifest": "bytea"},
)

# A slice that does not belong where the run stands divides by zero, so that the statements which
# have been sent after this one are not carried out.
_MOVE_HEAD = (
    "UPDATE runs_run SET"
    " lease_epoch = lease_epoch / (CASE WHEN lease_epoch = %(epoch)s AND (%(is_first)s"
    "  OR (head_seq, head_steps, head_commands) = (%(old_seq)s, %(old_steps)s, %(old_commands)s))"
    "  THEN 1 ELSE 0 END),"
    " lease_until = clock_timestamp() + %(lease)s::interval,"
    " head_seq = %(seq)s, head_at = %(at)s, head_steps = %(steps)s, head_commands = %(commands)s,"
    " head_digest = %(digest)s, next_at = %(next_at)s, head_objects = %(objects)s,"
    " rows_seq = CASE %(rows)s::text WHEN 'newest' THEN NULL"
    "  WHEN 'behind' THEN coalesce(%(rows_upto)s::bigint, rows_seq, CASE WHEN is_started THEN head_seq ELSE -1 END)"
    "  ELSE rows_seq END,"
    " memory_used = CASE WHEN %(memory)s > 0 THEN %(memory)s ELSE memory_used END,"
    " is_started = true, building = NULL, driver_deaths = 0, engine_digest = %(engine)s, differs_from = NULL, differs_for = '',"
    " goal_at = CASE WHEN %(at_goal)s THEN NULL ELSE goal_at END,"
    " until_pod = CASE WHEN %(forgets_pod)s THEN '' ELSE until_pod END,"
    " stopped_by = CASE WHEN %(stops)s THEN %(stopped_by)s ELSE stopped_by END,"
    " stop_reason = CASE WHEN %(stops)s THEN %(stop_reason)s ELSE stop_reason END,"
    " steps_wanted = CASE WHEN %(stops)s THEN 0"
    "  ELSE greatest(steps_wanted - %(steps_taken)s, 0) END,"
    " status = CASE WHEN %(wake)s AND status = 'finished' THEN 'playing'"
    "  WHEN %(pauses)s AND status = 'playing' THEN 'paused'"
    "  WHEN %(at_end)s AND status = 'playing' THEN 'finished' ELSE status END"
    f" WHERE id = %(run_id)s AND {cut_off.MARK} RETURNING {CONTROLS}"
).encode()

_READ_CONTROLS = f"SELECT {CONTROLS} FROM runs_run WHERE id = %s AND lease_epoch = %s".encode()
_READ_AT_HEAD = _READ_CONTROLS + (
    b" AND (head_seq, head_steps, head_commands, head_digest) = (%s, %s, %s, %s)"
)
_READ_COMMANDS = (
    b"SELECT id, object, body::text FROM runs_command"
    b" WHERE run_id = %s AND status = 'pending' ORDER BY id"
)
_MARK_COMMANDS = (
    b"UPDATE runs_command SET status = CASE WHEN done.applied THEN 'applied' ELSE 'rejected' END,"
    b" reason = done.reason, outcome_seq = done.seq, ordinal = done.ordinal,"
    b' position = done.position, at = done.at, written_seq = (done."left"->>0)::bigint,'
    b' created_seq = (done."left"->>1)::bigint, manifest = done."left"->2'
    # The limit says how many there are: else PostgreSQL expects a hundred, and reads whole tables.
    b" FROM (SELECT * FROM jsonb_to_recordset(%s::jsonb) AS marks (id bigint, applied boolean,"
    b'  reason text, seq bigint, ordinal integer, position bigint, at bigint, "left" jsonb)'
    b"  LIMIT %s) AS done"
    b" WHERE runs_command.id = done.id"
)


# Columns of a table, by name and SQL type.
Columns = tuple[tuple[str, LiteralString], ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """What a slice changes in one table of objects: deleted keys, and the other rows.

    These have a key, the packed manifest, the events that created and last wrote the object, and the
    *columns* that say what stands in the manifest.
    """

    table: str
    columns: Columns
    gone: list[str]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Packed:
    """A slice, encoded: writing it takes hardly any time of this process."""

    rows: list[Row]
    projections: list[Projection]
    removals: list[Row]
    attempts: Sequence[SchedulingAttempt]
    # What its manifests are packed with, as far as it is not certainly stored.
    dictionaries: list[Dictionary]

    @property
    def most_rows(self) -> int:
        """How many rows it adds to a table, at most."""
        objects = (len(each.rows) for each in self.projections)
        return max(len(self.rows), len(self.removals), len(self.attempts), *objects)


def slice_packed(
    piece: Slice, objects: Objects | None = None, packer: Packer | None = None
) -> Packed:
    """*piece* encoded, with *objects* sorted into tables: those whose rows are written with it.

    Without any named they are those that it touched. *packer* is that of the run.
    """
    packer = packer or Packer()
    if objects is None:
        objects = {each: (one, piece.written[each]) for each, one in piece.touched.items()}
    removals: list[Row] = [
        (one.seq, one.created, one.entity, packer.packed(one.entity, one.manifest))
        for one in piece.removals
    ]
    rows: list[Row] = [tuple(row) for row in piece.rows]
    projections = projections_of(objects, packer)
    return Packed(rows, projections, removals, piece.attempts, packer.unsaved)


def rows_packed(objects: Objects, packer: Packer) -> Packed:
    """The rows of *objects* alone."""
    projections = projections_of(objects, packer)
    return Packed([], projections, [], [], packer.unsaved)


def projections_of(objects: Objects, packer: Packer) -> list[Projection]:
    """*objects* sorted into tables and encoded."""
    by_table: dict[str, tuple[Projection, list[OfManifest]]] = {}
    for entity, (manifest, written) in objects.items():
        model, key = registry.place_of(entity)
        table = model._meta.db_table
        if table not in by_table:
            columns = columns_of(model)
            named: Columns = tuple((each.attname, each.SQL_TYPE) for each in columns)
            by_table[table] = Projection(table, named, [], []), columns
        projection, columns = by_table[table]
        if manifest is None:
            projection.gone.append(key)
            continue
        found = [each.value_in(manifest) for each in columns]
        packed = packer.packed(entity, manifest)
        projection.rows.append((key, packed, written.created, written.newest, *found))
    return [projection for projection, _ in by_table.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One slice of a run as it is committed, and what it changes in the run's row."""

    packed: Packed
    head: Head
    # The head that this slice must follow; None if it may follow any.
    before: Head | None = None
    # Commands that the slice carried out or refused, and the outcomes that their senders get.
    done: Sequence[Done] = ()
    outcomes: Sequence[Outcome] = ()
    # How many steps of those wanted it took.
    steps_taken: int = 0
    # A finished run becomes a playing one, because a command gave it more to do.
    wake: bool = False
    # A playing run is finished.
    at_end: bool = False
    # A fork has reached the instant where it begins.
    at_goal: bool = False
    # The pod that the user waits for was bound or refused; the run pauses.
    at_decision: bool = False
    # The part of the budget that is used up; the run pauses.
    stop: Stop | None = None
    saved: Saved | None = None
    # How the rows of objects stand once it is written: as of its head, or behind that.
    rows: Literal["newest", "behind", "as before"] = "as before"
    # The earlier event that they are as of, where that changes.
    rows_upto: int | None = None
    # None of the objects whose rows are written had one before.
    rows_are_new: bool = False


def slice_commit(run_id: int, epoch: int, commit: Commit) -> Controls:
    """Write events, rows, outcomes and the head together, if the lease is still ours.

    The commit waits for the disk: pages show events as soon as they can be read, and what they
    have shown must not be lost.

    Raises LostLease.
    """
    packed = commit.packed
    with measures.COMMIT_SECONDS.time(), transaction.atomic():
        began = time.monotonic()
        with _own_link() as link:
            moved = Cursor(link)
            try:
                # Statements that are sent together cost one round trip, and the engine, which
                # computes in another thread, gives the interpreter away once instead of for each.
                is_small = packed.most_rows <= FEW_ROWS
                with link.pipeline() if is_small else nullcontext():
                    _move_head(moved, run_id, epoch, commit)
                    events_add(link, run_id, packed.rows)
                    # They go with what is written after the event before.
                    before = commit.before.seq if commit.before else 0
                    dictionaries_keep(link, run_id, before, packed.dictionaries)
                    for projection in packed.projections:
                        _write_objects(link, run_id, projection, are_new=commit.rows_are_new)
                    _REMOVALS.add(link, run_id, packed.removals)
                    for write in registry.writers:
                        write(link, run_id, packed.attempts)
                    _mark_commands(link, commit.done)
            except DivisionByZero as refused:
                raise _not_ours(run_id, epoch, commit.before) from refused
            row = moved.fetchone()
        if row is None:
            raise LostLease(f"run {run_id} is gone")
        if commit.saved:
            saved_insert(commit.saved)
        if time.monotonic() - began > SLOW_SECONDS:
            # The lease began before the slice was written, or before somebody let go of the row.
            lease_renew(run_id, epoch)
    _count(run_id, commit)
    return Controls(*row)


@contextmanager
def _own_link() -> Iterator[Connection[TupleRow]]:
    """This thread's connection, for what is asked many times a second.

    A statement that is executed with `prepare` is planned once: what has one good plan, however large the tables
    are, and takes longer to plan than to do. Errors become Django's: any other exception counts as a
    defect of the engine and ends the run for good.
    """
    with connection.wrap_database_errors:
        connection.ensure_connection()
        link = connection.connection
        # psycopg prepares only statements that ask for it.
        link.prepare_threshold = _NEVER
        try:
            yield link
        except (FeatureNotSupported, InvalidSqlStatementName, DuplicatePreparedStatement) as stale:
            raise psycopg.OperationalError(f"a prepared statement is stale: {stale}") from stale
        finally:
            # Else psycopg keeps the text of whatever Django executes, with the values in it.
            link.prepare_threshold = None


def _count(run_id: int, commit: Commit) -> None:
    measures.SLICES.inc()
    measures.EVENTS.inc(len(commit.packed.rows))
    done = work_of(commit.packed.rows)
    tally.note(run_id, done)
    for what, times in done.items():
        measures.WORK.labels(what).inc(times)
    for each in commit.done:
        measures.COMMANDS.labels("applied" if each.applied else "rejected").inc()
    if commit.saved and commit.saved.checkpoint:
        measures.CHECKPOINTS.inc()


def lease_take(run_id: int, owner: str) -> int | None:
    """Become the owner of a run that has none; returns the new epoch."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET lease_epoch = lease_epoch + 1, lease_owner = %s,"
            " lease_since = clock_timestamp(), lease_until = clock_timestamp() + %s::interval"
            # A row that is locked is being written, by its owner most likely: who waited for that
            # would find an old lease, and take the run from an owner that lives.
            " WHERE id = (SELECT id FROM runs_run"
            f"  WHERE id = %s AND {leases.free()} FOR NO KEY UPDATE SKIP LOCKED)"
            " RETURNING lease_epoch",
            [owner, LONG_LEASE, run_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def lease_renew(run_id: int, epoch: int, *, lease: str = "") -> None:
    """Extend the lease by *lease*, or by LEASE. Raises LostLease."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET lease_until = clock_timestamp() + %s::interval"
            " WHERE id = %s AND lease_epoch = %s",
            [lease or LEASE, run_id, epoch],
        )
        if cursor.rowcount != 1:
            raise _not_ours(run_id, epoch)


def controls_read(run_id: int, epoch: int) -> Controls:
    """What the user wants now. Raises LostLease."""
    with _own_link() as link:
        row = Cursor(link).execute(_READ_CONTROLS, [run_id, epoch], prepare=True).fetchone()
    if row is None:
        raise _not_ours(run_id, epoch)
    return Controls(*row)


def controls_at(run_id: int, epoch: int, head: Head) -> Controls | None:
    """What the user wants now, if the run is still ours and stands at *head*."""
    place = (head.seq, head.steps, head.commands, head.digest)
    with _own_link() as link:
        row = Cursor(link).execute(_READ_AT_HEAD, [run_id, epoch, *place]).fetchone()
    return None if row is None else Controls(*row)


def commands_pending(run_id: int) -> list[tuple[int, str, Manifest]]:
    """The commands that the engine has not seen yet, in their order: number, object and body."""
    with _own_link() as link:
        found = Cursor(link).execute(_READ_COMMANDS, [run_id], prepare=True).fetchall()
    return [(key, entity, orjson.loads(body)) for key, entity, body in found]


def lease_release(run_id: int, epoch: int) -> None:
    """Let the next worker take the run at once. Harmless when the lease was lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET lease_until = NULL, building = NULL"
            " WHERE id = %s AND lease_epoch = %s",
            [run_id, epoch],
        )


def _not_ours(run_id: int, epoch: int, before: Head | None = None) -> LostLease:
    place = f", or does not stand where it left it, at event {before.seq}" if before else ""
    return LostLease(f"run {run_id} has another owner than epoch {epoch}{place}")


def _move_head(cursor: Cursor[TupleRow], run_id: int, epoch: int, commit: Commit) -> None:
    """Move the run on to the slice's head, where *cursor* finds its Controls.

    The first statement of a slice: it locks the run's row.
    """
    head, before, stop = commit.head, commit.before or commit.head, commit.stop
    cursor.execute(
        _MOVE_HEAD,
        {
            "run_id": run_id,
            "epoch": epoch,
            "lease": LEASE,
            "is_first": commit.before is None,
            "old_seq": before.seq,
            "old_steps": before.steps,
            "old_commands": before.commands,
            "seq": head.seq,
            "at": head.at,
            "steps": head.steps,
            "commands": head.commands,
            "digest": head.digest,
            "next_at": head.next_at,
            "objects": head.objects,
            "memory": head.memory,
            "rows": commit.rows,
            "rows_upto": commit.rows_upto,
            "engine": fingerprint(),
            "at_goal": commit.at_goal,
            "forgets_pod": commit.at_decision or commit.at_end or stop is not None,
            "stops": stop is not None,
            "stopped_by": stop.part if stop else "",
            "stop_reason": sentence_kept(stop.message) if stop else "",
            "steps_taken": commit.steps_taken,
            "wake": commit.wake,
            "pauses": commit.at_decision or stop is not None,
            "at_end": commit.at_end,
        },
        prepare=True,
    )


def _write_objects(
    link: Connection[TupleRow], run_id: int, projection: Projection, *, are_new: bool
) -> None:
    delete, upsert, find, copy = _statements(projection.table, projection.columns)
    rows = projection.rows
    if projection.gone:
        Cursor(link).execute(delete, [run_id, projection.gone])
    if len(rows) > FEW_ROWS and (are_new or not _has_rows(link, find, run_id)):
        with Cursor(link).copy(copy) as copied:
            for row in rows:
                copied.write_row((run_id, *row))
        return
    names = (*_OF_EACH, *(name for name, _ in projection.columns))
    for start in range(0, len(rows), MANY_OBJECTS):
        several = rows[start : start + MANY_OBJECTS]
        objects = [dict(zip(names, row, strict=True)) for row in several]
        Cursor(link).execute(upsert, [run_id, records(objects)], prepare=True)


def _has_rows(link: Connection[TupleRow], find: bytes, run_id: int) -> bool:
    return Cursor(link).execute(find, [run_id]).fetchone() is not None


# The columns of every table of objects, and their types.
_OF_EACH: dict[str, LiteralString] = {
    "key": "text",
    "manifest": "bytea",
    "created_seq": "bigint",
    "seq": "bigint",
}


@cache
def _statements(table: str, columns: Columns) -> tuple[bytes, bytes, bytes, bytes]:
    """What deletes objects of a run from the table, what writes others there, or finds any.

    The last one copies objects of a run of which there are none yet: that takes half the time.
    """
    name = sql.Identifier(table)
    types: dict[str, LiteralString] = {**_OF_EACH, **dict(columns)}
    names = sql.SQL(", ").join(map(sql.Identifier, types))
    written = [each for each in types if each != "key"]
    changed = sql.SQL(", ").join(
        sql.SQL("{column} = EXCLUDED.{column}").format(column=sql.Identifier(each))
        for each in written
    )
    delete = sql.SQL("DELETE FROM {} WHERE run_id = %s AND key = ANY(%s)").format(name)
    upsert = sql.SQL(
        "INSERT INTO {table} (run_id, {names})"
        " SELECT %s, {names} FROM jsonb_to_recordset(%s::jsonb) AS kept ({typed})"
        " ON CONFLICT (run_id, key) DO UPDATE SET {changed}"
    ).format(table=name, names=names, typed=typed(types), changed=changed)
    find = sql.SQL("SELECT FROM {} WHERE run_id = %s LIMIT 1").format(name)
    copy = sql.SQL("COPY {} (run_id, {}) FROM STDIN").format(name, names)
    return delete.as_bytes(), upsert.as_bytes(), find.as_bytes(), copy.as_bytes()


def _mark_commands(link: Connection[TupleRow], done: Sequence[Done]) -> None:
    if done:
        Cursor(link).execute(_MARK_COMMANDS, [records(done), len(done)])


def run_needs_driver(cursor: CursorWrapper, run_ids: list[int] | None = None) -> list[int]:
    """The runs without an owner that have something to do, oldest first."""
    only = "AND r.id = ANY(%s)" if run_ids is not None else ""
    cursor.execute(
        "SELECT r.id FROM runs_run r WHERE r.status <> 'failed'"
        f" AND {leases.free('r')}"
        " AND (r.differs_from IS NULL OR r.differs_for <> %s)"
        " AND (r.status = 'playing' OR r.steps_wanted > 0 OR NOT r.is_started"
        "  OR r.goal_at IS NOT NULL OR r.rows_seq IS NOT NULL OR EXISTS"
        "  (SELECT FROM runs_command c WHERE c.run_id = r.id AND c.status = 'pending'))"
        # A fork that uses up its budget before it begins takes no commands either.
        f" AND (r.goal_at IS NULL OR r.stopped_by = '') {only}"
        " ORDER BY r.id",
        [fingerprint(), *([run_ids] if run_ids is not None else [])],
    )
    return [row[0] for row in cursor.fetchall()]


def run_fail(*, run_id: int, epoch: int, error: str) -> None:
    """Write down that the engine broke, if the run is still ours."""
    Run.objects.filter(pk=run_id, lease_epoch=epoch).update(
        status=Run.Status.FAILED, error=error, lease_until=None, steps_wanted=0, building=None
    )


def run_stop_continuing(*, run_id: int, epoch: int, differs_from: int, reason: str) -> None:
    """Record that this version cannot continue the run, and reject pending commands, if it is ours.

    Its record stays as it is, and can be read.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET differs_from = %s, differs_for = %s, lease_until = NULL,"
            " steps_wanted = 0, until_pod = '',"
            " status = CASE WHEN status <> 'playing' THEN status"
            "  WHEN next_at IS NULL OR head_at >= until THEN 'finished' ELSE 'paused' END"
            " WHERE id = %s AND lease_epoch = %s",
            [differs_from, fingerprint(), run_id, epoch],
        )
        if cursor.rowcount != 1:
            raise _not_ours(run_id, epoch)
        cursor.execute(
            "UPDATE runs_command SET status = 'rejected', reason = %s"
            " WHERE run_id = %s AND status = 'pending'",
            [reason, run_id],
        )

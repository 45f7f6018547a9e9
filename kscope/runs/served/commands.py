"""Commands that clients hand to the engine of a run, and what came of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import psycopg

from kscope.runs import leases
from kscope.runs.languages.kept import sentence_read
from kscope.runs.models import Command, Run
from kscope.runs.nudges import Outcome
from kscope.runs.services import CommandColumns
from kscope.runs.write_keys import Held

Link = psycopg.AsyncConnection[Any]

# One document holds all commands: an array for each column takes several times as long to write.
_STORE = (
    "WITH stored AS ("
    " INSERT INTO runs_command (run_id, body, verb, object, status, reason, created)"
    " SELECT %(run)s, one->'body', one->>'verb', one->>'object', 'pending', '', clock_timestamp()"
    " FROM jsonb_array_elements(%(commands)s::text::jsonb) WITH ORDINALITY AS given (one, place)"
    " ORDER BY place RETURNING id)"
    f" SELECT id, (SELECT {leases.held()} FROM runs_run WHERE id = %(run)s)"
    " FROM stored ORDER BY id"
).encode()
# The same for commands of one request that has a key: in one statement with the step of the key.
_STORE_HELD = (
    "WITH held AS ("
    " SELECT id FROM runs_writekey WHERE id = %(id)s AND version = %(version)s FOR UPDATE"
    "), stored AS ("
    " INSERT INTO runs_command (run_id, body, verb, object, status, reason, created)"
    " SELECT %(run)s, one->'body', one->>'verb', one->>'object', 'pending', '', clock_timestamp()"
    " FROM held, jsonb_array_elements(%(commands)s::text::jsonb) WITH ORDINALITY AS given (one, place)"
    " ORDER BY place RETURNING id"
    "), stepped AS ("
    " UPDATE runs_writekey SET version = version + 1, promise = %(promise)s::text::jsonb,"
    " commands = (SELECT jsonb_agg(id ORDER BY id) FROM stored) WHERE id IN (SELECT id FROM held))"
    f" SELECT id, (SELECT {leases.held()} FROM runs_run WHERE id = %(run)s)"
    " FROM stored ORDER BY id"
).encode()
_OUTCOMES = (
    "SELECT c.id, c.status, c.reason, c.outcome_seq, r.status, r.error FROM runs_command c"
    " JOIN runs_run r ON r.id = c.run_id WHERE c.id = ANY(%s) ORDER BY c.id"
)
_ANSWERED = (
    "SELECT id, status, reason, outcome_seq FROM runs_command"
    " WHERE id = ANY(%s) AND status <> 'pending'"
)
_LEFT = (
    b"SELECT written_seq, created_seq, manifest::text FROM runs_command"
    b" WHERE id = %s AND written_seq IS NOT NULL"
)


class Stored(NamedTuple):
    """Numbers of commands that are stored, and whether a worker has their run."""

    commands: list[int]
    has_driver: bool


async def commands_store(
    link: Link,
    run_id: int,
    commands: Sequence[CommandColumns],
    held: Held | None = None,
    promise: Mapping[str, Any] | None = None,
) -> Stored | None:
    """Store prepared commands of a run in their order, together.

    With *held*, in one statement with the step of the key that promises what is to be answered;
    None where another request has taken that over.
    """
    given: dict[str, Any] = {"run": run_id, "commands": orjson.dumps(commands).decode()}
    if held is not None:
        given |= {**held.place, "promise": orjson.dumps(promise).decode()}
    found = await link.execute(_STORE if held is None else _STORE_HELD, given)
    rows = await found.fetchall()
    return Stored([number for number, _ in rows], rows[0][1]) if rows else None


async def outcomes_answered(link: Link, commands: Sequence[int]) -> list[Outcome]:
    """What came of those of the commands that the engine has answered."""
    rows = await (await link.execute(_ANSWERED, [[*commands]])).fetchall()
    return [_outcome(*row) for row in rows]


async def outcomes_of_all(link: Link, commands: Sequence[int]) -> list[Outcome] | None:
    """What came of all of them, in their order; None while one of them waits.

    Raises RunFailed where none of those that wait will be carried out.
    """
    rows = await (await link.execute(_OUTCOMES, [[*commands]])).fetchall()
    waiting = [row for row in rows if row[1] == Command.Status.PENDING]
    for *_, of_run, error in waiting:
        if of_run == Run.Status.FAILED:
            raise RunFailed(sentence_read(error))
    return None if waiting else [_outcome(*row[:4]) for row in rows]


async def check_alive(link: Link, run_id: int) -> None:
    """Raises RunFailed if the run has ended with an error, and RunDeleted if there is none any more."""
    found = await link.execute("SELECT status, error FROM runs_run WHERE id = %s", [run_id])
    row = await found.fetchone()
    if row is None:
        raise RunDeleted
    if row[0] == Run.Status.FAILED:
        raise RunFailed(sentence_read(row[1]))


async def left_by(link: Link, command: int) -> Sequence[Any] | None:
    """The object as a command has left it: see `Outcome.left`."""
    row = await (await link.execute(_LEFT, [command])).fetchone()
    return row and (*row[:2], orjson.loads(row[2]))


class RunFailed(Exception):
    """The run has ended with this error: nothing comes of a command any more."""


class RunDeleted(Exception):
    """The run was deleted, with the commands that waited for it."""


def _outcome(command: int, status: str, reason: str, seq: int | None) -> Outcome:
    return Outcome(command, status == Command.Status.APPLIED, reason, seq or 0)

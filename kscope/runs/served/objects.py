"""The objects of a run as they are now: rows of the tables that its slices are written to."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from typing import Any, LiteralString, NamedTuple

import orjson
import psycopg
from psycopg import sql

from engine.objects.kinds import entity_id
from engine.objects.objects import Manifest
from kscope.runs.app_registry import registry
from kscope.runs.served.texts import with_texts
from kscope.runs.served.versions import Version

BATCH = 200  # objects that are read at a time
# The objects that are gone, of the history of one run.
REMOVED: LiteralString = (
    "runs_runpart AS part JOIN runs_removedobject AS removed"
    " ON removed.run_id = part.source AND removed.seq > part.after AND removed.seq <= part.upto"
    " WHERE part.run_id = %s"
)
_OF_KEYS: LiteralString = "key = ANY(%s)"
_NEWER: LiteralString = "key = ANY(%s) AND seq > %s"
_OF_KIND_NEWER: LiteralString = "starts_with(key, %s) AND seq > %s"
# A run, a table, and a key in it.
Place = tuple[int, str, str]
Link = psycopg.AsyncConnection[Any]


class _Cursor(psycopg.AsyncServerCursor[Any]):
    """Closed with its connection: a client that leaves may end both at once."""

    @property
    def closed(self) -> bool:
        """See psycopg.AsyncServerCursor."""
        return super().closed or self.connection.closed


async def objects_read(
    link: Link,
    cursors: AsyncExitStack,
    run_id: int,
    kind: str,
    namespace: str = "",
    after: str = "",
) -> AsyncIterator[list[Version]]:
    """The objects of a kind in a namespace, or in all, by key and in batches.

    Those whose key within the namespace, or within all, comes after *after*. *cursors* closes what is
    open of them when the reader stops in the middle.
    """
    table, key = _within(kind, namespace)
    cursor = _Cursor(link, "objects")
    cursors.push_async_callback(cursor.close)
    async with cursor:
        await cursor.execute(_several(table), [run_id, key, key + after])
        while rows := await cursor.fetchmany(BATCH):
            yield [
                Version(seq, orjson.loads(text), made)
                for seq, made, text in await with_texts(link, rows)
            ]


async def objects_count(link: Link, run_id: int, kind: str, namespace: str, after: str) -> int:
    """How many objects `objects_read` has."""
    table, key = _within(kind, namespace)
    found = await (await link.execute(_number(table), [run_id, key, key + after])).fetchone()
    return found[0] if found else 0


async def versions_of(link: Link, run_id: int, kind: str) -> dict[str, int]:
    """By the key of each object of a kind, the event that wrote it."""
    table, before = _table_of(kind)
    rows = await (await link.execute(_written(table), [run_id, before])).fetchall()
    return {key.removeprefix(before): seq for key, seq in rows}


async def object_read(link: Link, run_id: int, kind: str, key: str) -> Version | None:
    """One object, or None; *key* is its name, after its namespace and a slash if it has one."""
    place = place_of(run_id, kind, key)
    return (await objects_at(link, [place])).get(place)


def place_of(run_id: int, kind: str, key: str) -> Place:
    """Where an object stands; see `object_read`."""
    table, before = _table_of(kind)
    return run_id, table, before + key


async def objects_at(link: Link, places: Iterable[Place]) -> dict[Place, Version]:
    """The objects that there are at *places*: those of one run and table in one question."""
    keys: dict[tuple[int, str], list[str]] = {}
    for run_id, table, key in places:
        keys.setdefault((run_id, table), []).append(key)
    found: dict[Place, Version] = {}
    for (run_id, table), several in keys.items():
        rows = await (await link.execute(_rows(table, _OF_KEYS), [run_id, several])).fetchall()
        for key, seq, made, text in await with_texts(link, rows):
            found[run_id, table, key] = Version(seq, orjson.loads(text), made)
    return found


async def namespaces_used(link: Link, run_id: int) -> list[str]:
    """The namespaces in which there are objects."""
    each = sql.SQL("SELECT namespace FROM {} WHERE run_id = %(run)s")
    parts = [each.format(sql.Identifier(model._meta.db_table)) for model in registry.tables]
    found = await link.execute(sql.SQL(" UNION ").join(parts), {"run": run_id})
    return [row[0] for row in await found.fetchall()]


class Row(NamedTuple):
    """An object as event *seq* wrote it; event *created* made it. The manifest is JSON."""

    entity: str
    seq: int
    created: int
    text: bytes


async def rows_of(
    link: Link, run_id: int, entities: Sequence[str], newer: int = -1
) -> AsyncIterator[Row]:
    """Those of *entities* that there are and were written after event *newer*."""
    for table, keys in _keys_by_table(entities).items():
        rows = await (await link.execute(_rows(table, _NEWER), [run_id, [*keys], newer])).fetchall()
        for key, *row in await with_texts(link, rows):
            yield Row(keys[key], *row)


async def kind_after(link: Link, run_id: int, kind: str, seq: int) -> list[Row]:
    """The objects of a kind that were written after event *seq*."""
    table, before = _table_of(kind)
    found = await link.execute(_rows(table, _OF_KIND_NEWER), [run_id, before, seq])
    return [Row(*row) for row in await with_texts(link, await found.fetchall())]


async def removals_read(
    link: Link, run_id: int, condition: LiteralString, *values: object, each: LiteralString = ""
) -> list[Row]:
    """The objects that are gone, of the history of a run, as they were; which, *condition* says.

    *each* may be a DISTINCT ON.
    """
    found = await link.execute(
        f"SELECT {each} object, seq, created_seq, manifest FROM {REMOVED} AND {condition}",
        [run_id, *values],
    )
    return [Row(*row) for row in await with_texts(link, await found.fetchall())]


def _keys_by_table(entities: Iterable[str]) -> Mapping[str, dict[str, str]]:
    """For each table of objects the keys of its rows, with their entity ids."""
    by_table: dict[str, dict[str, str]] = {}
    for entity in entities:
        model, key = registry.place_of(entity)
        by_table.setdefault(model._meta.db_table, {})[key] = entity
    return by_table


def _table_of(kind: str) -> tuple[str, str]:
    """The table with the objects of a kind, and what their keys in it begin with."""
    model, first = registry.place_of(entity_id(kind, ""))
    return model._meta.db_table, first


def _within(kind: str, namespace: str) -> tuple[str, str]:
    """The same of a kind in a namespace, or in all."""
    table, before = _table_of(kind)
    return table, before + (f"{namespace}/" if namespace else "")


@cache
def _rows(table: str, condition: LiteralString) -> bytes:
    statement = sql.SQL(
        f"SELECT key, seq, created_seq, manifest FROM {{}} WHERE run_id = %s AND {condition}"
    )
    return statement.format(sql.Identifier(table)).as_bytes()


# By the bytes of their keys, as etcd orders them, and as those of the past are.
_AFTER: LiteralString = (
    'FROM {} WHERE run_id = %s AND starts_with(key, %s) AND key COLLATE "C" > %s'
)


@cache
def _written(table: str) -> bytes:
    statement = sql.SQL(
        "SELECT key, seq FROM {} WHERE run_id = %s AND starts_with(key, %s) ORDER BY key"
    )
    return statement.format(sql.Identifier(table)).as_bytes()


@cache
def _several(table: str) -> sql.Composed:
    statement = sql.SQL(f'SELECT seq, created_seq, manifest {_AFTER} ORDER BY key COLLATE "C"')
    return statement.format(sql.Identifier(table))


@cache
def _number(table: str) -> bytes:
    return sql.SQL(f"SELECT count(*) {_AFTER}").format(sql.Identifier(table)).as_bytes()


async def removed_last(
    link: Link, run_id: int, entities: Sequence[str], upto: int
) -> dict[str, tuple[int, str]]:
    """For each of *entities* that was removed up to event *upto*, the last event that did, and its uid."""
    condition = "object = ANY(%s) AND seq <= %s ORDER BY object, seq DESC"
    found = await removals_read(
        link, run_id, condition, [*entities], upto, each="DISTINCT ON (object)"
    )
    return {each.entity: (each.seq, uid_of(orjson.loads(each.text))) for each in found}


def uid_of(manifest: Manifest) -> str:
    """The uid of an object, or ""."""
    return str((manifest.get("metadata") or {}).get("uid") or "")

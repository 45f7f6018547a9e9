"""The nodes of a run, as far as others name them: which addresses they have."""

from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from engine.objects.kinds import entity_id
from kscope.runs.app_registry import registry

Link = psycopg.AsyncConnection[Any]


class NodeRow(NamedTuple):
    """A node: the event that created it, and the addresses that it says it has."""

    name: str
    created: int
    addresses: list[Any]


async def nodes_of(link: Link, run_id: int) -> list[NodeRow]:
    """All nodes of a run."""
    model, before = registry.place_of(entity_id("Node", ""))
    statement = sql.SQL(
        "SELECT manifest #>> '{{metadata,name}}', created_seq,"
        " coalesce(manifest #> '{{status,addresses}}', '[]') FROM {}"
        " WHERE run_id = %s AND starts_with(key, %s)"
    ).format(sql.Identifier(model._meta.db_table))
    found = await link.execute(statement, [run_id, before])
    return [
        NodeRow(name, created, addresses) for name, created, addresses in await found.fetchall()
    ]

"""The nodes of a run, as far as others name them: which addresses they have."""

from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from engine.objects.kinds import entity_id
from kscope.runs.app_registry import registry

Link = psycopg.AsyncConnection[Any]


class NodeRow(NamedTuple):
    """A node: the events that wrote and created it, and the addresses that it says it has."""

    name: str
    seq: int
    created: int
    addresses: list[Any]


async def nodes_since(link: Link, run_id: int, seq: int) -> tuple[int, list[NodeRow]]:
    """The nodes that were written after event *seq*, those that are gone first, in their order.

    Before them comes the event up to which that is known. The *link* reads one moment.
    """
    found = await (await link.execute(_UPTO, [run_id])).fetchone()
    if found is None:
        return seq, []
    model, before = registry.place_of(entity_id("Node", ""))
    statement = _NODES.format(table=sql.Identifier(model._meta.db_table))
    given = {"run": run_id, "after": seq, "before": before}
    rows = await (await link.execute(statement, given)).fetchall()
    return found[0], [NodeRow(*row) for row in rows]


_UPTO = "SELECT coalesce(rows_seq, head_seq) FROM runs_run WHERE id = %s"
# The condition that is written out is that of an index of the few removed nodes.
_NODES = sql.SQL(
    "SELECT manifest #>> '{{metadata,name}}', created_seq AS since, created_seq,"
    " coalesce(manifest #> '{{status,addresses}}', '[]')"
    " FROM runs_runpart AS part JOIN runs_removedobject AS gone ON gone.run_id = part.source"
    " AND gone.seq > part.after AND gone.seq <= part.upto"
    " WHERE part.run_id = %(run)s AND gone.seq > %(after)s AND gone.object LIKE 'node/%%'"
    " UNION ALL SELECT manifest #>> '{{metadata,name}}', seq, created_seq,"
    " coalesce(manifest #> '{{status,addresses}}', '[]')"
    " FROM {table} WHERE run_id = %(run)s AND starts_with(key, %(before)s) AND seq > %(after)s"
    " ORDER BY since"
)

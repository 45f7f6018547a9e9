"""The nodes of a run, as far as others name them: which addresses they have."""

from typing import Any, NamedTuple

import orjson
import psycopg

from engine.objects.manifest_parts import section
from kscope.runs.served.objects import Row, kind_after, removals_read

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
    # The condition that is written out is that of an index of the few removed nodes.
    gone = await removals_read(
        link, run_id, "removed.seq > %s AND removed.object LIKE 'node/%%'", seq
    )
    kept = await kind_after(link, run_id, "Node", seq)
    nodes = [_node(row, row.created) for row in gone] + [_node(row, row.seq) for row in kept]
    return found[0], sorted(nodes, key=lambda each: each.seq)


def _node(row: Row, since: int) -> NodeRow:
    manifest = orjson.loads(row.text)
    addresses = section(manifest, "status").get("addresses") or []
    return NodeRow(str(manifest["metadata"]["name"]), since, row.created, addresses)


_UPTO = "SELECT coalesce(rows_seq, head_seq) FROM runs_run WHERE id = %s"

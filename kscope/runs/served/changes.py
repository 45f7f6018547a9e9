"""What was written in a run between two events: for who tells others of each change."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import psycopg

from kscope.runs.served.objects import Row, removals_read, rows_of

Link = psycopg.AsyncConnection[Any]


async def entities_between(link: Link, run_id: int, after: int, upto: int) -> list[str]:
    """The ids of all objects that an event after *after*, up to *upto*, is about, sorted."""
    found = await link.execute(
        "SELECT DISTINCT object FROM events_between(%s, %s, %s)",
        [run_id, after, upto],
    )
    return sorted(row[0] for row in await found.fetchall())


async def changes_of(
    link: Link, run_id: int, entities: Sequence[str], kinds: Sequence[str], after: int, upto: int
) -> list[tuple[int, int]]:
    """The events of *kinds* about *entities* after event *after*, up to *upto*, and their times in ns."""
    found = await link.execute(
        "SELECT seq, at FROM events_of_kinds(%s, %s, %s, %s) WHERE object = ANY(%s) ORDER BY seq",
        [run_id, after, upto, [*kinds], [*entities]],
    )
    return [(seq, at) for seq, at in await found.fetchall()]


async def written_by_commands(link: Link, run_id: int, after: int, upto: int) -> list[Row]:
    """What commands wrote, each version once: one that changed nothing left what was there."""
    found = await link.execute(
        "SELECT DISTINCT ON (written_seq) object, written_seq, created_seq, convert_to(manifest::text, 'UTF8')"
        " FROM runs_command WHERE run_id = %s AND written_seq > %s AND written_seq <= %s"
        " ORDER BY written_seq",
        [run_id, after, upto],
    )
    return [Row(*row) for row in await found.fetchall()]


async def written_since(
    link: Link, run_id: int, entities: Sequence[str], after: int
) -> AsyncIterator[Row]:
    """The newest versions of those of *entities* that were written after event *after*."""
    async for row in rows_of(link, run_id, entities, newer=after):
        yield row


async def removed_since(link: Link, run_id: int, after: int, upto: int) -> list[Row]:
    """The objects that went after event *after*, and before *upto* or had come before that."""
    condition = "seq > %s AND created_seq <= %s AND (seq <= %s OR created_seq > %s)"
    return await removals_read(link, run_id, condition, after, upto, upto, after)


async def time_of(link: Link, run_id: int, seq: int) -> int:
    """The virtual time of event *seq*, in nanoseconds; 0 where there is none."""
    found = await link.execute("SELECT at FROM event_at(%s, %s)", [run_id, seq])
    row = await found.fetchone()
    return row[0] if row else 0

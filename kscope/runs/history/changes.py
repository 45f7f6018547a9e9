"""What events changed, in order: the one place where histories are read from the database."""

from collections.abc import Iterator

import orjson
from django.db import connection

from engine.kernel.view import Changes

_FETCHED = 4_096
_CHANGES = """
SELECT seq, at, changes_text FROM events_between(%s, %s, %s) ORDER BY seq
"""
_NEWEST = "SELECT at FROM event_at(%s, %s)"


def changes_between(run_id: int, after: int, upto: int) -> Iterator[tuple[int, int, Changes]]:
    """(seq, at, changes) of the events after *after* up to *upto*; an event may change nothing."""
    while after < upto:
        until = min(upto, after + _FETCHED)
        with connection.cursor() as cursor:
            cursor.execute(_CHANGES, [run_id, after, until])
            rows = cursor.fetchall()
        for seq, at, text in rows:
            yield seq, at, orjson.loads(text) if text else {}
        after = until


def time_of(run_id: int, seq: int) -> int:
    """The virtual time of event *seq*, in ns; 0 before the first."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [run_id, seq])
        found = cursor.fetchone()
    return found[0] if found else 0

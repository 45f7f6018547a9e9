"""The dictionaries that a run's manifests are packed with: read by a new driver, written with a slice."""

from collections.abc import Sequence

from django.db import connection
from psycopg import Connection, Cursor
from psycopg.rows import TupleRow

from kscope.runs.manifests.packer import Dictionary

_NEWEST = (
    "SELECT DISTINCT ON (kind) kind, digest, content FROM runs_manifestdictionary"
    " WHERE run_id = %s ORDER BY kind, id DESC"
)
_KEEP = (
    b"INSERT INTO runs_manifestdictionary (run_id, seq, kind, digest, content)"
    b" VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)


def dictionaries_of(run_id: int) -> list[Dictionary]:
    """The newest one of each kind."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [run_id])
        return [Dictionary(kind, bytes(digest), bytes(content)) for kind, digest, content in cursor]


def dictionaries_keep(
    link: Connection[TupleRow], run_id: int, seq: int, found: Sequence[Dictionary]
) -> None:
    """Store those of *found* that are not there yet, for what is written after event *seq*."""
    for kind, digest, content in found:
        Cursor(link).execute(_KEEP, [run_id, seq, kind, digest, content])

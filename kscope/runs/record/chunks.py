"""Writing the record: the events of a slice become a row, and small rows become larger ones.

A row has up to BLOCK events, whose columns are arrays: PostgreSQL compresses each of them. No row
goes beyond a multiple of BLOCK, so that the row of an event is found by its number.

    slices of a few events     a row each
    FEW events later           one row of all these
    BLOCK events later         one row of all these

So an event is written three times at most, a run has some eighty rows that are not full, and
nobody has to tidy up after a run that stops.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection
from psycopg import Connection, Cursor
from psycopg.rows import TupleRow

BLOCK = 1024
FEW = 64

# An event: seq, at, kind, object, component, cause, message, data, changes; the last two are JSON.
Row = Sequence[Any]

_COLUMNS = (
    "run_id, first_seq, last_seq, first_at, last_at,"
    " ats, kinds, entities, components, causes, messages, datas, changes, marks"
)
# The order of the rows that are aggregated is the order of the arrays.
_GATHERED = (
    "min(seq), max(seq), min(at), max(at), array_agg(at), array_agg(kind), array_agg(object),"
    " array_agg(component), array_agg((seq - cause)::integer), array_agg(message),"
    " array_agg(data), array_agg(changes), event_marks(array_agg(kind), array_agg(object))"
)
# JSON is stored as jsonb writes it, so that it reads the same whether or not it was jsonb between.
_AS_JSONB = "ARRAY(SELECT each::jsonb::text FROM unnest(%s::text[]) AS each)"
_ADD = (
    f"INSERT INTO runs_eventchunk ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s::bigint[],"
    " %s::text[], %s::text[], %s::text[], %s::integer[], %s::text[],"
    f" {_AS_JSONB}, {_AS_JSONB}, %s::integer[])"
).encode()
_MERGE = (
    "WITH old AS (DELETE FROM runs_eventchunk AS chunk WHERE run_id = %(run)s"
    "  AND first_seq >= %(first)s AND last_seq BETWEEN %(first)s AND %(last)s"
    # Only the small ones after the last large one: what is merged has no gaps.
    "  AND first_seq > (SELECT coalesce(max(large.last_seq), 0) FROM runs_eventchunk AS large"
    "   WHERE large.run_id = %(run)s AND large.last_seq BETWEEN %(first)s AND %(last)s"
    "   AND large.last_seq - large.first_seq + 1 >= %(large)s)"
    "  RETURNING *)"
    f" INSERT INTO runs_eventchunk ({_COLUMNS}) SELECT %(run)s, {_GATHERED} FROM ("
    " SELECT first_seq + place - 1 AS seq, at, kind, object, component,"
    "  first_seq + place - 1 - distance AS cause, message, data, change AS changes"
    " FROM old CROSS JOIN LATERAL unnest(ats, kinds, entities, components, causes, messages, datas,"
    "  changes) WITH ORDINALITY AS event (at, kind, object, component, distance, message, data,"
    "  change, place) ORDER BY 1) AS event HAVING count(*) > 0"
).encode()
# Of a row that goes beyond the last event there is left what comes before.
_CUT = (
    "UPDATE runs_eventchunk SET last_seq = %(last)s, last_at = ats[upto], ats = ats[:upto],"
    " kinds = kinds[:upto], entities = entities[:upto], components = components[:upto],"
    " causes = causes[:upto], messages = messages[:upto], datas = datas[:upto],"
    " changes = changes[:upto], marks = event_marks(kinds[:upto], entities[:upto])"
    " FROM (SELECT run_id AS run, first_seq AS first, (%(last)s - first_seq + 1)::integer AS upto"
    "  FROM runs_eventchunk WHERE run_id = %(run)s AND first_seq <= %(last)s AND last_seq > %(last)s"
    " ) AS place WHERE run_id = place.run AND first_seq = place.first"
)


def mark_of(word: str) -> int:
    """The mark of a kind or an object; as `event_marks` makes it in the database."""
    digest = hashlib.md5(word.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], signed=True)


def events_add(link: Connection[TupleRow], run_id: int, rows: Sequence[Row]) -> None:
    """Add *rows* of the run, without gaps and after all that it has; data and changes as JSON text.

    It may be one of several statements that are sent together.
    """
    for piece in _pieces(rows):
        chunk_add(link, run_id, piece)
        _merge(link, run_id, piece[0][0], piece[-1][0])


def chunk_add(link: Connection[TupleRow], run_id: int, rows: Sequence[Row]) -> None:
    """Add *rows* as one row of the record: they have no gaps, and are of one block."""
    seqs, ats, kinds, entities, components, causes, messages, datas, changes = zip(
        *rows, strict=True
    )
    distances = (
        "NULL" if cause is None else str(seq - cause)
        for seq, cause in zip(seqs, causes, strict=True)
    )
    marks = sorted({mark_of(word) for word in {*kinds, *entities}})
    values: list[int | str] = [run_id, seqs[0], seqs[-1], ats[0], ats[-1], _numbers(map(str, ats))]
    values += [*map(_texts, (kinds, entities, components)), _numbers(distances)]
    values += [*map(_texts, (messages, datas, changes)), _numbers(map(str, marks))]
    Cursor(link).execute(_ADD, values, prepare=True)


def _numbers(numbers: Iterable[str]) -> str:
    return f"{{{','.join(numbers)}}}"


def _texts(texts: Iterable[str | None]) -> str:
    """An array as PostgreSQL reads it: psycopg's own way takes several times as long."""
    return _numbers("NULL" if text is None else f'"{_escaped(text)}"' for text in texts)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def events_cut(run_id: int, last: int) -> None:
    """Delete the rows of the run after event *last*, which may be in the middle of one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM runs_eventchunk WHERE run_id = %s AND first_seq > %s", [run_id, last]
        )
        cursor.execute(_CUT, {"run": run_id, "last": last})


def _pieces(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows, cut where a block ends."""
    start = 0
    while start < len(rows):
        end = start + BLOCK - (rows[start][0] - 1) % BLOCK
        yield rows[start:end]
        start = end


def _merge(link: Connection[TupleRow], run_id: int, first: int, last: int) -> None:
    """Merge the rows of the block where events *first* to *last* have filled it, or a part of it."""
    begin = (first - 1) // BLOCK * BLOCK + 1
    if last % BLOCK == 0:
        if first > begin:
            _merge_all(link, run_id, begin, last, large=BLOCK)
    elif last - first + 1 < FEW and (first - 1) // FEW < last // FEW:
        _merge_all(link, run_id, begin, last, large=FEW)


def _merge_all(link: Connection[TupleRow], run_id: int, first: int, last: int, large: int) -> None:
    span = {"run": run_id, "first": first, "last": last, "large": large}
    Cursor(link).execute(_MERGE, span, prepare=True)

"""Writing scheduling attempts, as part of a slice of a run."""

import zlib
from collections.abc import Sequence
from typing import Any

import orjson
from psycopg import Connection
from psycopg.rows import TupleRow

from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.score_columns import ScoreColumns
from kscope.runs.drive.tables.run_table import RunTable
from scheduling.models import RecordedAttempt

ATTEMPTS = RecordedAttempt._meta.db_table
_ATTEMPTS = RunTable(
    ATTEMPTS,
    {
        "pod": "text",
        "number": "integer",
        "seq": "bigint",
        "at": "bigint",
        "cycle": "bigint",
        "result": "text",
        "node": "text",
        "evidence": "bytea",
    },
)


def attempts_write(
    link: Connection[TupleRow], run_id: int, attempts: Sequence[SchedulingAttempt]
) -> None:
    """Keep a slice's scheduling attempts, their evidence compressed."""
    rows = [
        (
            each.pod,
            each.number,
            each.seq,
            each.at,
            each.cycle,
            each.result,
            each.node,
            None if each.evidence is None else _compressed(each.evidence),
        )
        for each in attempts
    ]
    _ATTEMPTS.add(link, run_id, rows)


def _compressed(evidence: dict[str, Any]) -> bytes:
    """The evidence as `selectors.evidence_kept` reads it."""
    return zlib.compress(orjson.dumps(evidence, default=_columns), 1)


def _columns(value: object) -> list[Any]:
    assert isinstance(value, ScoreColumns)
    return value.to_list()

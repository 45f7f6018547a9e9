"""What an operator wants to see on one page: workers, leases, queues, what waits, what is large."""

from datetime import UTC, datetime
from typing import Any

import redis
from django.db import connection
from django.utils.translation import gettext, gettext_lazy

from engine.cluster.source import fingerprint
from kscope.operations import presence, retention
from kscope.runs import leases
from kscope.runs.drive.slices import run_needs_driver
from kscope.runs.models import Run

SHOWN = 20
_COUNTED = {
    Run.Status.PAUSED: gettext_lazy("{number} paused"),
    Run.Status.PLAYING: gettext_lazy("{number} playing"),
    Run.Status.FINISHED: gettext_lazy("{number} finished"),
    Run.Status.FAILED: gettext_lazy("{number} failed"),
}
# The larger ones of these are worth a row; others are a few kilobytes.
_BIG_TABLES = 8

_LEASES = f"""
SELECT id, name, status, lease_owner, lease_epoch,
    extract(epoch FROM clock_timestamp() - lease_since)::float8,
    extract(epoch FROM lease_until - clock_timestamp())::float8
FROM runs_run WHERE {leases.held()} ORDER BY lease_since
"""
_PENDING = """
SELECT c.id, c.run_id, c.verb, c.object, extract(epoch FROM clock_timestamp() - c.created)::float8
FROM runs_command c WHERE c.status = 'pending' ORDER BY c.created LIMIT %s
"""
_LARGEST = """
SELECT r.id, r.name, r.status, r.kept, r.head_seq, count(c.id),
    coalesce(sum(octet_length(c.engine) + octet_length(c.view)), 0)::bigint
FROM (SELECT * FROM runs_run ORDER BY head_seq DESC, id LIMIT %s) r
    LEFT JOIN runs_checkpoint c ON c.run_id = r.id
GROUP BY r.id, r.name, r.status, r.kept, r.head_seq ORDER BY r.head_seq DESC, r.id
"""
_TABLES = """
SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables
ORDER BY 4 DESC LIMIT %s
"""
_FAILURES = """
SELECT id, name, status, error, CASE WHEN differs_for = %s THEN differs_from END, lease_since
FROM runs_run WHERE status = 'failed' OR differs_from IS NOT NULL
ORDER BY lease_since DESC NULLS LAST, id DESC LIMIT %s
"""


def overview() -> dict[str, Any]:
    """Everything on the page, as JSON. Raises django.db.Error."""
    leases = _rows(_LEASES, "run", "name", "status", "owner", "epoch", "held_s", "left_s")
    with connection.cursor() as cursor:
        waiting = run_needs_driver(cursor)
    return {
        **_from_valkey(leases),
        "runs": _runs_by_status(),
        "waiting": waiting[:SHOWN],
        "waiting_count": len(waiting),
        "leases": leases,
        "commands": _rows(_PENDING, "id", "run", "verb", "object", "age_s", limit=SHOWN),
        "largest": _rows(
            _LARGEST,
            *("run", "name", "status", "kept", "events", "checkpoints", "checkpoint_bytes"),
            limit=SHOWN,
        ),
        "tables": _rows(_TABLES, "table", "rows", "dead_rows", "bytes", limit=_BIG_TABLES),
        "database_bytes": _rows("SELECT pg_database_size(current_database())", "bytes")[0]["bytes"],
        "failures": _failures(),
        "retention": retention.policy_of_settings().describe(),
    }


def summary(found: dict[str, Any]) -> dict[str, str]:
    """The counts of an `overview` in words, for the page."""
    runs = [
        _COUNTED[status].format(number=f"{number:,}") for status, number in found["runs"].items()
    ]
    queues = [f"{name} {length:,}" for name, length in found["queues"].items()]
    return {
        "runs": " · ".join(runs),
        "queues": " · ".join(queues) or gettext("unknown"),
        "retention": retention.Policy(**found["retention"]).sentence,
    }


def _from_valkey(leases: list[dict[str, Any]]) -> dict[str, Any]:
    """Processes and queues; what is wrong with Valkey where it does not answer."""
    try:
        processes, queues = presence.processes(), presence.queue_lengths()
    except redis.RedisError as problem:
        return {"processes": [], "queues": {}, "valkey_problem": str(problem)}
    driven: dict[str, list[int]] = {}
    for lease in leases:
        driven.setdefault(lease["owner"], []).append(lease["run"])
    return {
        "processes": [
            {
                "role": process.role,
                "owner": process.owner,
                "since": _moment(process.since),
                "memory_bytes": process.memory_bytes,
                "sockets": process.sockets,
                "drives": driven.get(process.owner, []),
            }
            for process in processes
        ],
        "queues": queues,
        "valkey_problem": "",
    }


def _runs_by_status() -> dict[str, int]:
    found = _rows("SELECT status, count(*) FROM runs_run GROUP BY status", "status", "runs")
    counted = {row["status"]: row["runs"] for row in found}
    return {str(status): counted.get(status, 0) for status in Run.Status}


def _failures() -> list[dict[str, Any]]:
    """Runs that failed or cannot be continued, the newest first, each with the reason."""
    names = ("run", "name", "status", "error", "differs_from", "at")
    found = _rows(_FAILURES, *names, first=(fingerprint(),), limit=SHOWN)
    for row in found:
        differs, at = row.pop("differs_from"), row["at"]
        if row["status"] != Run.Status.FAILED:
            row["error"] = "" if differs is None else _differs(differs)
        row["at"] = _moment(at) if at else None
    return [row for row in found if row["error"]]


def _differs(seq: int) -> str:
    return gettext(
        "recorded by another version of kscope; this one decides differently from event {seq} on"
    ).format(seq=f"{seq:,}")


def _moment(at: datetime) -> str:
    """2026-11-22T19:03:18Z"""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rows(
    query: str, *names: str, first: tuple[Any, ...] = (), limit: int | None = None
) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(query, [*first, *([limit] if limit is not None else [])])
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

"""Rows with the sealed data of Secrets, by their tokens."""

from collections.abc import Sequence
from typing import Any

import psycopg

Link = psycopg.AsyncConnection[Any]

# Bytes of all Secrets of a run, in all their versions.
MOST_BYTES = 64 * 1024 * 1024

_LOCK = 0x4B54  # that nothing else locks by
_ADD = (
    "INSERT INTO runs_sealeddata (run_id, token, sealed) SELECT %(run)s, %(token)s, %(sealed)s"
    " WHERE (SELECT coalesce(sum(length(sealed)), 0) FROM runs_sealeddata WHERE run_id = %(run)s)"
    " + length(%(sealed)s) <= %(most)s"
)


async def sealed_add(link: Link, run_id: int, token: str, sealed: bytes) -> bool:
    """Keep sealed data; False where a run has too many."""
    given = {"run": run_id, "token": token, "sealed": sealed, "most": MOST_BYTES}
    async with link.transaction():
        # Of several at a time, each counts those before it.
        await link.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, run_id % 2**31])
        return (await link.execute(_ADD, given)).rowcount > 0


async def sealed_drop(link: Link, run_id: int, token: str) -> None:
    """Forget sealed data that no Secret came to have."""
    await link.execute(
        "DELETE FROM runs_sealeddata WHERE run_id = %s AND token = %s", [run_id, token]
    )


async def sealed_of(link: Link, run_id: int, tokens: Sequence[str]) -> dict[str, bytes]:
    """The sealed data of a run by their tokens, of those that there are."""
    found = await link.execute(
        "SELECT token, sealed FROM runs_sealeddata WHERE run_id = %s AND token = ANY(%s)",
        [run_id, [*tokens]],
    )
    return {token: bytes(sealed) for token, sealed in await found.fetchall()}

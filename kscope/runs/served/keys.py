"""The keys of writes that happen once: each step on a connection; see `kscope.runs.write_keys`."""

from typing import Any

import orjson
import psycopg
from psycopg.rows import tuple_row

from kscope.runs import write_keys
from kscope.runs.write_keys import AskedOnce, Held, KeptAnswer, KnownKey, TakenOver

Link = psycopg.AsyncConnection[Any]


async def key_take(link: Link, asked: AskedOnce) -> Held | None:
    """The key, where this is the first request that has it."""
    row = await (await link.execute(write_keys.TAKE.encode(), asked.columns)).fetchone()
    return Held(*row) if row else None


async def key_take_over(link: Link, known: KnownKey) -> Held | None:
    """The key at its next version, unless another request was quicker."""
    found = await link.execute(write_keys.TAKE_OVER.encode(), known.held.place)
    row = await found.fetchone()
    return Held(known.held.id, row[0]) if row else None


async def key_known(link: Link, asked: AskedOnce) -> KnownKey | None:
    """The key as it is stored, if it is."""
    cursor = link.cursor(row_factory=tuple_row)
    await cursor.execute(write_keys.READ.encode(), asked.columns)
    row = await cursor.fetchone()
    return KnownKey.of(row, asked) if row else None


async def key_promise(link: Link, held: Held, promise: dict[str, Any]) -> None:
    """Note what is answered once the write is done, without commands. Raises TakenOver."""
    given = {**held.place, "promise": orjson.dumps(promise).decode(), "commands": "[]"}
    if not (await link.execute(write_keys.PROMISE.encode(), given)).rowcount:
        raise TakenOver


async def key_answer(link: Link, held: Held, answer: KeptAnswer) -> bool:
    """Keep the answer; returns whether the key was still this request's."""
    done = await link.execute(write_keys.ANSWER.encode(), held.place | answer.columns)
    return done.rowcount > 0


async def key_give_back(link: Link, held: Held) -> None:
    """Nothing was stored: the same request may come again as a first one."""
    await link.execute(write_keys.GIVE_BACK.encode(), held.place)

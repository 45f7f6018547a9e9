"""The texts of stored manifests, for who reads rows without the ORM."""

from collections.abc import Sequence
from typing import Any

import psycopg

from kscope.runs.manifests.packed import (
    DICTIONARY,
    UnknownDictionary,
    dictionary_note,
    loss_note,
    text_of,
)

Link = psycopg.AsyncConnection[Any]


async def with_texts(link: Link, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """*rows* with the JSON of the manifest that each has in its last column.

    *link* reads the dictionaries that this process does not know yet. A row whose dictionary went is
    left out: its run was deleted after the row was read.
    """
    found: list[tuple[Any, ...]] = []
    for row in rows:
        text = await _text_read(link, row[-1])
        if text is not None:
            found.append((*row[:-1], text))
    return found


async def _text_read(link: Link, stored: bytes) -> bytes | None:
    try:
        return text_of(stored)
    except UnknownDictionary as unknown:
        row = await (await link.execute(DICTIONARY, [unknown.digest])).fetchone()
        if row is None:
            loss_note(unknown)
            return None
    dictionary_note(*row)
    return text_of(stored)

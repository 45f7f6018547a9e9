"""The texts of stored manifests, for who reads rows without the ORM."""

from collections.abc import Iterable
from typing import Any

import psycopg

from kscope.runs.manifests.packed import (
    DICTIONARY,
    UnknownDictionary,
    dictionary_note,
    text_of,
)


async def texts_read(link: "psycopg.AsyncConnection[Any]", stored: Iterable[bytes]) -> list[bytes]:
    """The JSON of each; *link* reads the dictionaries that this process does not know yet."""
    found: list[bytes] = []
    for each in stored:
        try:
            text = text_of(each)
        except UnknownDictionary as unknown:
            row = await (await link.execute(DICTIONARY, [unknown.digest])).fetchone()
            if row is None:
                raise
            dictionary_note(*row)
            text = text_of(each)
        found.append(text)
    return found

"""Levels of a view state as chunks: their texts, and the digests that they are kept by.

A level holds entities with their attributes; None says that an entity is gone. Its entities are
sorted into chunks by kind, and those of a kind by a hash of their ids, so that one entity is found
in one chunk. The text of a chunk has a line for each entity: its id, a tab, canonical JSON. Equal
attributes have equal texts, so that most entities are compared without being read. The text of a
level lists the digests of its chunks.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self
from zlib import crc32

import orjson

from engine.kernel.view import Attributes

# A chunk has so many entities, or some fewer.
ENTITIES = 256
GONE = b"null"

# Kind → the digests of its chunks, in order; "" for one without entities.
Index = dict[str, list[str]]
Texts = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Part:
    """What a page shows of a state: all entities of some kinds, and some others by their ids."""

    kinds: frozenset[str]
    ids: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Of names such as `node` and `pod/shop/web-1`."""
        found = frozenset(names)
        ids = frozenset(each for each in found if "/" in each)
        return cls(found - ids, ids)

    def __contains__(self, entity: str) -> bool:
        return entity in self.ids or kind_of(entity) in self.kinds


def text_of(attributes: Attributes) -> bytes:
    """Canonical JSON."""
    return orjson.dumps(attributes, option=orjson.OPT_SORT_KEYS)


def digest_of(text: bytes) -> str:
    """What a text is kept by."""
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def level_made(
    entities: Iterable[str], state: Mapping[str, Attributes]
) -> tuple[str, dict[str, bytes]]:
    """The digest of the level of these *entities* as they are in *state*, and its texts by digest."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for entity in entities:
        by_kind[kind_of(entity)].append(entity)
    texts: dict[str, bytes] = {}
    index: Index = {}
    for kind, found in sorted(by_kind.items()):
        index[kind] = [_kept(text, texts) for text in _chunks(found, state)]
    return _kept(orjson.dumps(index), texts), texts


def kind_of(entity: str) -> str:
    """The kind that an id names."""
    return entity.partition("/")[0]


def place_of(entity: str, chunks: int) -> int:
    """In which of so many chunks of its kind an entity is."""
    return crc32(entity.encode()) % chunks


def chunk_read(text: bytes) -> Texts:
    """The entities of a chunk with the JSON of their attributes, or GONE."""
    found: Texts = {}
    for line in text.split(b"\n"):
        entity, _, attributes = line.partition(b"\t")
        found[entity.decode()] = attributes
    return found


def _chunks(entities: list[str], state: Mapping[str, Attributes]) -> Iterable[bytes]:
    """The texts of the chunks of a kind, which depend on what is in them alone."""
    number = -(-len(entities) // ENTITIES)
    lines: list[list[bytes]] = [[] for _ in range(number)]
    for entity in sorted(entities):
        shown = state.get(entity)
        text = GONE if shown is None else text_of(shown)
        lines[place_of(entity, number)].append(b"%b\t%b" % (entity.encode(), text))
    return map(b"\n".join, lines)


def _kept(text: bytes, texts: dict[str, bytes]) -> str:
    if not text:
        return ""
    digest = digest_of(text)
    texts[digest] = text
    return digest

"""The view state after an event, whole or of some entities, as JSON texts or as values.

    keyframe before the event ──▶ its levels, the newest first ──▶ texts of entities
                                                                       │
    events from there on ─────────────── folded over those ────────────▶ the state

The texts of chunks are kept in this process for a while: pages look at events near to each other.
"""

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import cast

import orjson
from django.db import connection

from engine.kernel.view import Attributes, State, merge
from kscope.runs.history.changes import changes_between
from kscope.runs.history.chunks import (
    GONE,
    Index,
    Part,
    Texts,
    chunk_read,
    digest_of,
    kind_of,
    place_of,
    text_of,
)
from kscope.runs.models import Checkpoint, Keyframe, ViewChunk
from kscope.runs.record.parts import in_history

MOST_BYTES = 64 * 1_048_576
"""So many bytes of chunks a process keeps, in texts."""
_AT_ONCE = 500


class CorruptHistory(Exception):
    """What is stored of a view state does not have the digest that it is kept by."""


class _Kept:
    """Texts of chunks by digest; those that were longest unused go first."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, tuple[int, Texts]] = OrderedDict()
        self._lock = Lock()
        self._bytes = 0

    def get(self, digest: str) -> Texts | None:
        with self._lock:
            found = self._found.get(digest)
            if found is not None:
                self._found.move_to_end(digest)
        return found[1] if found else None

    def put(self, digest: str, size: int, texts: Texts) -> None:
        with self._lock:
            if digest not in self._found:
                self._found[digest] = size, texts
                self._bytes += size
            while self._bytes > MOST_BYTES and len(self._found) > 1:
                _, (dropped, _) = self._found.popitem(last=False)
                self._bytes -= dropped


_kept = _Kept()


@dataclass(slots=True)
class Base:
    """What is kept of the state after event *seq*: levels of chunks, or all of it as texts."""

    run_id: int
    seq: int
    levels: list[str] = field(default_factory=list[str])
    whole: Texts | None = None
    # How many entities the first level has.
    count: int = 0

    def texts(self, part: Part | None = None) -> Texts:
        """All entities, or those of a *part*: of kinds that are not wanted nothing is read."""
        if self.whole is not None:
            return {each: text for each, text in self.whole.items() if not part or each in part}
        found: Texts = {}
        for level in self.levels:
            for chunk in _chunks_of(self.run_id, level, part.kinds if part else None):
                found.update(chunk)
        of_kinds = {entity: text for entity, text in found.items() if text != GONE}
        return of_kinds | self.some(part.ids) if part else of_kinds

    def some(self, entities: Iterable[str]) -> Texts:
        """Those of *entities* that were there."""
        if self.whole is not None:
            return {each: self.whole[each] for each in entities if each in self.whole}
        found: Texts = {}
        wanted = set(entities)
        for level in reversed(self.levels):
            if not wanted:
                break
            here = _looked_up(self.run_id, level, wanted)
            found.update(here)
            wanted -= here.keys()
        return {entity: text for entity, text in found.items() if text != GONE}


def base_before(run_id: int, seq: int) -> Base:
    """What is kept of the newest state at or before event *seq*; an empty one of event 0."""
    keyframe = (
        Keyframe.objects.filter(in_history(run_id)).filter(seq__lte=seq).order_by("-seq").first()
    )
    if keyframe is not None:
        levels = [digest for digest, _ in keyframe.levels]
        return Base(run_id, keyframe.seq, levels, count=keyframe.levels[0][1])
    # Older versions kept the view with the checkpoint; keyframes came after all of these.
    old = (
        Checkpoint.objects.filter(in_history(run_id))
        .filter(seq__lte=seq)
        .exclude(view=b"")
        .order_by("-seq")
        .defer("engine")
        .first()
    )
    if old is None:
        return Base(run_id, 0, whole={})
    return Base(run_id, old.seq, whole=_of_checkpoint(old))


def texts_at(run_id: int, seq: int, part: Part | None = None) -> Texts:
    """The state after event *seq*, or a *part* of it: the JSON of the attributes of each entity."""
    return texts_from(base_before(run_id, seq), seq, part)


def texts_from(base: Base, seq: int, part: Part | None = None) -> Texts:
    """The same, where its *base* is known."""
    texts = base.texts(part)
    return laid_over(texts, folded(base, seq, texts, part))


def state_at(run_id: int, seq: int) -> State:
    """The state after event *seq*."""
    base = base_before(run_id, seq)
    texts = base.texts()
    changed = folded(base, seq, texts)
    state = state_of(texts)
    for entity, shown in changed.items():
        if shown is None:
            state.pop(entity, None)
        else:
            state[entity] = shown
    return state


def state_of(texts: Mapping[str, bytes]) -> State:
    """The attributes of all entities."""
    return cast("State", orjson.loads(joined(texts)))


def folded(
    base: Base, seq: int, texts: Mapping[str, bytes], only: Container[str] | None = None
) -> dict[str, Attributes | None]:
    """The entities that changed between *base* and event *seq*, as they are then; None for gone.

    *texts* are those of the base. *only* names those that are wanted; None: all.
    """
    changed: dict[str, Attributes | None] = {}
    for _, _, changes in changes_between(base.run_id, base.seq, seq):
        for entity, patch in changes.items():
            if only is not None and entity not in only:
                continue
            if patch is None:
                changed[entity] = None
                continue
            before = changed[entity] if entity in changed else read(texts.get(entity))
            changed[entity] = cast("Attributes", merge(before, patch))
    return changed


def laid_over(texts: Texts, changed: Mapping[str, Attributes | None]) -> Texts:
    """*texts*, with what changed put into it."""
    for entity, shown in changed.items():
        if shown is None:
            texts.pop(entity, None)
        else:
            texts[entity] = text_of(shown)
    return texts


def read(text: bytes | None) -> Attributes | None:
    """The attributes of a text."""
    return None if text is None else cast("Attributes", orjson.loads(text))


def joined(texts: Mapping[str, bytes]) -> bytes:
    """The JSON object of all entities."""
    return b"{%b}" % b",".join(
        b"%b:%b" % (orjson.dumps(each), text) for each, text in texts.items()
    )


def entities_of(run_id: int, level: str) -> set[str]:
    """The ids of the entities of a level."""
    return {entity for chunk in _chunks_of(run_id, level) for entity in chunk}


def index_of(run_id: int, level: str) -> Index:
    """The digests of the chunks of a level, by kind."""
    return cast("Index", orjson.loads(_stored(run_id, [level])[level]))


def _chunks_of(run_id: int, level: str, kinds: Container[str] | None = None) -> Iterator[Texts]:
    """The chunks of a level, or of some *kinds* in it."""
    index = _index(run_id, level)
    found = (chunks for kind, chunks in index.items() if kinds is None or kind in kinds)
    digests = [each for chunks in found for each in chunks if each]
    for start in range(0, len(digests), _AT_ONCE):
        part = digests[start : start + _AT_ONCE]
        found = _chunks(run_id, part)
        yield from (found[digest] for digest in part)


def _looked_up(run_id: int, level: str, entities: set[str]) -> Texts:
    """What the level says of *entities*."""
    index = _index(run_id, level)
    if len(entities) > sum(map(len, index.values())):
        # They are in nearly all chunks.
        every = _chunks_of(run_id, level)
        return {each: chunk[each] for chunk in every for each in chunk if each in entities}
    wanted: dict[str, list[str]] = {}
    for entity in entities:
        chunks = index.get(kind_of(entity))
        digest = chunks[place_of(entity, len(chunks))] if chunks else ""
        if digest:
            wanted.setdefault(digest, []).append(entity)
    found = _chunks(run_id, list(wanted))
    return {
        entity: found[digest][entity]
        for digest, those in wanted.items()
        for entity in those
        if entity in found[digest]
    }


def _index(run_id: int, level: str) -> Index:
    """As `index_of`, kept like a chunk: a line for each kind."""
    known = _kept.get(level)
    if known is None:
        index = index_of(run_id, level)
        known = {kind: ",".join(chunks).encode() for kind, chunks in index.items()}
        _kept.put(level, sum(map(len, known.values())), known)
    return {kind: chunks.decode().split(",") for kind, chunks in known.items()}


def _chunks(run_id: int, digests: list[str]) -> dict[str, Texts]:
    found = {digest: known for digest in digests if (known := _kept.get(digest)) is not None}
    missing = [digest for digest in digests if digest not in found]
    if missing:
        for digest, text in _stored(run_id, missing).items():
            found[digest] = chunk_read(text)
            _kept.put(digest, len(text), found[digest])
    return found


def _stored(run_id: int, digests: list[str]) -> dict[str, bytes]:
    """The texts of these digests, from the database. Raises CorruptHistory."""
    found: dict[str, bytes] = {}
    table = ViewChunk._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT digest, body FROM {table} WHERE digest = ANY(%s)"
            " AND run_id IN (SELECT source FROM runs_runpart WHERE run_id = %s)",
            [digests, run_id],
        )
        for digest, body in cursor.fetchall():
            found[digest] = zlib.decompress(body)
            if digest_of(found[digest]) != digest:
                raise CorruptHistory(f"run {run_id}: chunk {digest} has other content")
    if len(found) < len(set(digests)):
        missing = sorted(set(digests) - found.keys())
        raise CorruptHistory(f"run {run_id}: chunks are missing: {', '.join(missing[:5])}")
    return found


def old_digest(text: bytes) -> str:
    """What older versions kept with the view of a checkpoint."""
    return hashlib.sha256(text).hexdigest()


def _of_checkpoint(checkpoint: Checkpoint) -> Texts:
    """The state that an older version kept with a checkpoint. Raises CorruptHistory."""
    text = zlib.decompress(checkpoint.view)
    if old_digest(text) != checkpoint.view_digest:
        raise CorruptHistory(f"{checkpoint}: the view state differs from its digest")
    state = cast("State", orjson.loads(text))
    return {entity: text_of(shown) for entity, shown in state.items()}
